//! Why a model forbids a candidate, in words.

use fencepost_litmus::event_graph::cycle::CycleStep;
use fencepost_litmus::event_graph::{Relation, Strength};
use fencepost_litmus::execution::{Action, Candidate};
use fencepost_litmus::forbidden::Axiom;
use fencepost_litmus::test::Test;
use fencepost_memory::MemoryModel;

use super::words::{cell_name, content, fence_name, letter, model_name, thread_name};

/// The axiom that a candidate breaks, as a sentence.
pub fn broken_axiom(model: &MemoryModel, axiom: Axiom) -> String {
    let model = model_name(model);
    match axiom {
        Axiom::Order => format!("{model} keeps each step of this cycle"),
        Axiom::Atomicity => {
            "a write comes between the read and the write of a locked instruction".to_owned()
        }
        Axiom::Coherence => {
            "the accesses to one location are not sequentially consistent".to_owned()
        }
    }
}

/// What is said of a final state that no candidate has.
pub const IMPOSSIBLE: &str = "impossible by values: whatever the order of memory, the threads cannot read and write these \
     values";

/// What is said if not all final states were found.
pub const INCOMPLETE: &str = "not among the final states that were found, and there may be more";

/// What is said if the search for a candidate ended early.
pub const UNKNOWN: &str = "no final state; the search for the reason reached a limit";

/// Why one event of a cycle comes before the next.
pub(super) fn step_reason(
    test: &Test,
    candidate: &Candidate,
    model: &MemoryModel,
    axiom: Axiom,
    step: &CycleStep,
) -> String {
    let (from, to) = (letter(step.from), letter(step.to));
    let event = candidate.event(step.from);
    let thread = thread_name(test, event.thread);
    let cell = event
        .action
        .cell()
        .map_or("?", |cell| cell_name(test, cell));
    match (step.relation, step.strength) {
        (Relation::ProgramOrder, Strength::ByFence(fence)) => {
            format!(
                "{thread} has an {} between {from} and {to}",
                fence_name(fence)
            )
        }
        (Relation::ProgramOrder, _) if axiom == Axiom::Coherence => {
            format!("{thread} accesses {cell} first by {from}, then by {to}")
        }
        (Relation::ProgramOrder, _) => {
            format!(
                "{thread} performs {from} first, and {} keeps that",
                model_name(model)
            )
        }
        (Relation::ReadsFrom, _) => format!("{to} reads what {from} writes"),
        (Relation::Coherence, _) => format!("{from} writes {cell} before {to} does"),
        (Relation::FromReads, _) => {
            let read = match event.action {
                Action::Read(cell, value) => content(test, cell, value),
                Action::Write(..) | Action::Fence(_) => String::new(),
            };
            format!("{from} reads {read}, which {to} overwrites")
        }
    }
}
