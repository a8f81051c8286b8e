//! A shortest cycle of program order, reads-from, coherence and from-reads. There is one if and only
//! if the execution is not sequentially consistent.
//!
//! The nodes are those of the [`EventGraph`], so a locked instruction is one of them. A step of program
//! order may pass over any number of nodes; fences are always passed over. Among cycles with as few
//! steps, one that passes over few nodes is taken, and among those the first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fencepost_litmus::execution::EventId;

use super::graph::{Edge, EventGraph, Relation};
use super::words::letter;

/// A step of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleStep {
    /// The relation.
    pub relation: Relation,
    /// Where the step begins: an event of the node in which the step before ended.
    pub from: EventId,
    /// Where it ends.
    pub to: EventId,
}

/// A cycle: the last step ends in the node in which the first begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The steps.
    pub steps: Vec<CycleStep>,
}

impl Cycle {
    /// Whether an arrow of the picture is a part of the cycle.
    pub fn contains(&self, graph: &EventGraph, edge: &Edge) -> bool {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        self.steps.iter().any(|step| {
            step.relation == edge.relation
                && match step.relation {
                    Relation::ProgramOrder => {
                        graph.node(step.from) <= from && to <= graph.node(step.to)
                    }
                    _ => (step.from, step.to) == (edge.from, edge.to),
                }
        })
    }

    /// Whether a node is on the cycle. One that program order passes over is not.
    pub fn visits(&self, graph: &EventGraph, node: usize) -> bool {
        self.steps.iter().any(|step| graph.node(step.to) == node)
    }

    /// The cycle in words, piece by piece: nodes, and between them the relations.
    pub fn pieces(&self, graph: &EventGraph) -> Vec<CyclePiece> {
        let mut pieces = Vec::new();
        for step in &self.steps {
            pieces.push(CyclePiece::Node(node_name(graph, graph.node(step.from))));
            pieces.push(CyclePiece::Relation(step.relation));
        }
        let first = self
            .steps
            .first()
            .map(|step| node_name(graph, graph.node(step.from)));
        pieces.extend(first.map(CyclePiece::Node));
        pieces
    }

    /// The cycle in words: `a →po b →fr c →po d →fr a`.
    pub fn text(&self, graph: &EventGraph) -> String {
        let pieces = self.pieces(graph);
        let texts: Vec<String> = pieces.iter().map(CyclePiece::text).collect();
        texts.join(" ")
    }
}

/// A part of a cycle in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CyclePiece {
    /// A node, by the letters of its events.
    Node(String),
    /// A relation.
    Relation(Relation),
}

impl CyclePiece {
    /// As text.
    pub fn text(&self) -> String {
        match self {
            CyclePiece::Node(name) => name.clone(),
            CyclePiece::Relation(relation) => format!("→{}", relation.label()),
        }
    }
}

/// A node by the letters of its events: `a`, or `(c,d)` for a locked instruction.
pub fn node_name(graph: &EventGraph, node: usize) -> String {
    let letters: Vec<String> = graph.nodes[node]
        .events
        .iter()
        .map(|&id| letter(id))
        .collect();
    match letters.as_slice() {
        [letter] => letter.clone(),
        _ => format!("({})", letters.join(",")),
    }
}

/// One step costs more than passing over all nodes.
const STEP: u64 = 1 << 32;

/// Where a search is: at a node, or on the way of a step of program order that may end at it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    At(usize),
    Passing(usize),
}

struct Search<'a> {
    graph: &'a EventGraph,
    /// The next node in program order that is no fence.
    next: Vec<Option<usize>>,
    /// The arrows between threads, by the node in which they begin.
    arrows: Vec<Vec<CycleStep>>,
}

/// A shortest cycle of the graph, if it has one.
pub(super) fn shortest_cycle(graph: &EventGraph) -> Option<Cycle> {
    let mut search = Search {
        graph,
        next: vec![None; graph.nodes.len()],
        arrows: vec![Vec::new(); graph.nodes.len()],
    };
    for (index, node) in graph.nodes.iter().enumerate() {
        let mut later = (index + 1..graph.nodes.len())
            .take_while(|&later| graph.nodes[later].thread == node.thread);
        search.next[index] = later.find(|&later| !graph.nodes[later].is_fence);
    }
    for edge in &graph.edges {
        // What agrees with program order is a step of that.
        if edge.relation != Relation::ProgramOrder && !graph.is_program_ordered(edge.from, edge.to)
        {
            search.arrows[graph.node(edge.from)].push(CycleStep {
                relation: edge.relation,
                from: edge.from,
                to: edge.to,
            });
        }
    }
    let mut best: Option<(u64, Vec<CycleStep>)> = None;
    for start in (0..graph.nodes.len()).filter(|&node| !graph.nodes[node].is_fence) {
        let bound = best.as_ref().map_or(u64::MAX, |(cost, _)| *cost);
        best = search.cycle_through(start, bound).or(best);
    }
    let (_, mut steps) = best?;
    let first = (0..steps.len()).min_by_key(|&index| graph.node(steps[index].from));
    steps.rotate_left(first.unwrap_or(0));
    Some(Cycle { steps })
}

impl Search<'_> {
    /// A cheapest cycle through a node that costs less than `bound`, with its cost.
    fn cycle_through(&self, start: usize, bound: u64) -> Option<(u64, Vec<CycleStep>)> {
        let nodes = self.next.len();
        let number = |place: Place| match place {
            Place::At(node) => node,
            Place::Passing(node) => nodes + node,
        };
        // How each place was reached: the cost, the place before, and the step if one ended here.
        let mut reached: Vec<Option<(u64, Place, Option<CycleStep>)>> = vec![None; 2 * nodes];
        let mut queue = BinaryHeap::from([Reverse((0, Place::At(start)))]);
        while let Some(Reverse((cost, place))) = queue.pop() {
            if cost > 0 && place == Place::At(start) {
                break;
            }
            if reached[number(place)].is_some_and(|(known, ..)| known < cost) {
                continue;
            }
            let mut reach = |target: Place, cost: u64, step: Option<CycleStep>| {
                let known = &mut reached[number(target)];
                if cost < bound && known.is_none_or(|(known, ..)| cost < known) {
                    *known = Some((cost, place, step));
                    queue.push(Reverse((cost, target)));
                }
            };
            match place {
                Place::At(node) => {
                    if let Some(next) = self.next[node] {
                        reach(Place::Passing(next), cost + STEP, None);
                    }
                    for &step in &self.arrows[node] {
                        let target = self.graph.node(step.to);
                        reach(Place::At(target), cost + STEP, Some(step));
                    }
                }
                Place::Passing(node) => {
                    reach(Place::At(node), cost, None);
                    if let Some(next) = self.next[node] {
                        reach(Place::Passing(next), cost + 1, None);
                    }
                }
            }
        }
        let (cost, ..) = reached[start]?;
        Some((cost, self.steps_to(start, |place| reached[number(place)])))
    }

    /// Goes back from `start` to `start`.
    fn steps_to(
        &self,
        start: usize,
        reached: impl Fn(Place) -> Option<(u64, Place, Option<CycleStep>)>,
    ) -> Vec<CycleStep> {
        let mut steps = Vec::new();
        let mut place = Place::At(start);
        // Where the step of program order ends that is being gone back.
        let mut passing_to = start;
        while let Some((_, before, step)) = reached(place) {
            match (before, place) {
                (Place::Passing(node), Place::At(_)) => passing_to = node,
                (Place::At(node), Place::Passing(_)) => {
                    let last = self.graph.nodes[node].events.len() - 1;
                    steps.push(CycleStep {
                        relation: Relation::ProgramOrder,
                        from: self.graph.nodes[node].events[last],
                        to: self.graph.nodes[passing_to].events[0],
                    });
                }
                _ => steps.extend(step),
            }
            place = before;
            if place == Place::At(start) {
                break;
            }
        }
        steps.reverse();
        steps
    }
}
