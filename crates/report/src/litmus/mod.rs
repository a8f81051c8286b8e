//! Pictures of one execution of a litmus test, or of a candidate that a model forbids.
//!
//! [`svg`] and [`dot`] draw the graph of its events, [`step_table`] shows a run of the store-buffer
//! machine step by step, [`event_list`] is the witness as text. All of them use the same letters
//! for the events, and show the same cycle with the same edges.
//!
//! Read in this order: [`words`] (the names of events, threads and values), `cycle_text`, [`why`],
//! [`contents`] and [`metrics`] (what is written in the boxes, and how large that is), [`layout`]
//! (where everything is), `frame` (title, caption and legend), `svg`, `dot`, `steps`, `events`.
//!
//! The graph and its cycle come from [`event_graph`](fencepost_litmus::event_graph).
//! This module does not judge whether a model allows an execution; that is the task of
//! [`judge`](fencepost_litmus::judge).

pub mod contents;
mod cycle_text;
mod dot;
mod events;
mod frame;
pub mod layout;
pub mod metrics;
mod steps;
mod svg;
pub mod why;
pub mod words;

use fencepost_litmus::event_graph::{Edge, EventGraph, Relation};
use fencepost_litmus::execution::{Candidate, EventId, Execution};
use fencepost_litmus::forbidden::{Axiom, Forbidden};
use fencepost_litmus::run::Run;
use fencepost_litmus::test::Test;
use fencepost_memory::MemoryModel;

pub use cycle_text::cycle_text;
pub use dot::dot;
pub use events::event_list;
pub use steps::step_table;
pub use svg::svg;

/// The parts of a picture besides the events.
#[derive(Clone, Copy, Default, Debug)]
pub struct PictureOptions<'a> {
    /// The model that the execution is one of, for the title, and to tell which steps of program
    /// order it keeps.
    pub model: Option<&'a MemoryModel>,
    /// The contents of [`Test::observables`](fencepost_litmus::test::Test::observables) at the end,
    /// for the title.
    pub final_state: Option<&'a [u64]>,
    /// A run of the machine that is this execution: events then have the numbers of its steps, as
    /// [`step_table`] has them.
    pub run: Option<&'a Run>,
}

/// An execution to be shown, or a candidate that a model forbids.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    test: &'a Test,
    options: PictureOptions<'a>,
    candidate: Candidate,
    graph: EventGraph,
    /// The order of memory; a candidate has none.
    memory_order: Option<&'a [EventId]>,
    /// The axiom that a candidate breaks.
    broken: Option<Axiom>,
    edges: EdgeKinds,
}

impl<'a> Picture<'a> {
    /// Of an execution.
    pub fn of_execution(
        test: &'a Test,
        execution: &'a Execution,
        options: &PictureOptions<'a>,
    ) -> Self {
        Picture {
            test,
            options: *options,
            candidate: execution.candidate(),
            graph: EventGraph::new(execution, options.model),
            memory_order: Some(&execution.memory_order),
            broken: None,
            edges: EdgeKinds::default(),
        }
    }

    /// Of a candidate, with the cycle by which the model forbids it.
    pub fn of_forbidden(test: &'a Test, model: &'a MemoryModel, forbidden: &'a Forbidden) -> Self {
        let Forbidden {
            candidate,
            state,
            violation,
        } = forbidden;
        Picture {
            test,
            options: PictureOptions {
                model: Some(model),
                final_state: Some(state),
                run: None,
            },
            candidate: candidate.clone(),
            graph: EventGraph::with_cycle(candidate, model, &violation.cycle),
            memory_order: None,
            broken: Some(violation.axiom),
            edges: EdgeKinds::default(),
        }
    }

    /// With these kinds of edges only, besides those of the cycle.
    #[must_use]
    pub fn with_edges(mut self, edges: EdgeKinds) -> Self {
        self.edges = edges;
        self
    }

    /// The graph of the events, with all edges.
    pub fn graph(&self) -> &EventGraph {
        &self.graph
    }

    /// The graph with the edges that are drawn.
    fn drawn(&self) -> EventGraph {
        let mut graph = self.graph.clone();
        let cycle = graph.cycle.as_ref();
        let is_on_cycle = |edge: &Edge| cycle.is_some_and(|cycle| cycle.contains(edge));
        graph.edges = graph
            .edges
            .iter()
            .filter(|edge| self.edges.has(edge.relation) || is_on_cycle(edge))
            .copied()
            .collect();
        graph
    }
}

/// Which kinds of edges are drawn; those of the cycle always are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeKinds([bool; Relation::ALL.len()]);

impl Default for EdgeKinds {
    fn default() -> Self {
        EdgeKinds([true; Relation::ALL.len()])
    }
}

impl EdgeKinds {
    /// These only.
    pub fn of(relations: &[Relation]) -> Self {
        EdgeKinds(Relation::ALL.map(|relation| relations.contains(&relation)))
    }

    /// Whether edges of this kind are drawn.
    pub fn has(self, wanted: Relation) -> bool {
        let kinds = Relation::ALL.into_iter().zip(self.0);
        kinds
            .into_iter()
            .any(|(relation, is_drawn)| is_drawn && relation == wanted)
    }
}
