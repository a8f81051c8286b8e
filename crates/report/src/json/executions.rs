//! Executions of litmus tests and candidates that a model forbids, as JSON.

use std::collections::BTreeMap;

use fencepost_litmus::event_graph::cycle::Cycle;
use fencepost_litmus::event_graph::{EventGraph, Strength};
use fencepost_litmus::execution::{Action, Candidate, EventId};
use fencepost_litmus::forbidden::{Axiom, Explanation, Forbidden};
use fencepost_litmus::run::{Run, RunAction};
use fencepost_litmus::test::{CellId, Test};
use fencepost_memory::MemoryModel;
use serde::Serialize;

use crate::litmus::words::{cell_name, cell_value, fence_name, instruction, letter};

/// An event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct EventObject {
    /// Its letter, as text and pictures have it.
    event: String,
    thread: u32,
    instruction: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<&'static str>,
    locked: bool,
    /// Of a read: the write, or null for the initial content.
    #[serde(skip_serializing_if = "Option::is_none")]
    reads_from: Option<Option<String>>,
}

/// A step of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct StepObject {
    from: String,
    relation: &'static str,
    to: String,
    /// Of program order: the fence without which the model would not keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<&'static str>,
    /// Whether the order of memory has to keep it.
    kept: bool,
}

/// A step of the machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct RunStepObject {
    thread: u32,
    instruction: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

/// A run that ends in a final state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WitnessObject {
    state: String,
    events: Vec<EventObject>,
    memory_order: Vec<String>,
    /// Why it is not sequentially consistent; null if it is.
    cycle: Option<Vec<StepObject>>,
    steps: Vec<RunStepObject>,
}

impl WitnessObject {
    /// The witness of a final state: the contents of the observables.
    pub fn new(test: &Test, model: &MemoryModel, state: &[u64], run: &Run) -> Self {
        let execution = run.execution();
        let graph = EventGraph::new(&execution, Some(model));
        let order = execution.memory_order.iter();
        WitnessObject {
            state: test.format_state(state),
            events: events(test, &execution.candidate()),
            memory_order: order.map(|&id| letter(id)).collect(),
            cycle: graph.cycle.as_ref().map(cycle),
            steps: run_steps(test, run),
        }
    }
}

/// Why a final state that is asked about does not occur.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NoWitnessObject {
    /// What is asked about: the condition, or the state that was given.
    asked: String,
    /// `forbidden`, `impossible` (by values) or `unknown`.
    result: &'static str,
    #[serde(flatten)]
    candidate: Option<CandidateObject>,
}

/// A candidate that the model forbids.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct CandidateObject {
    state: String,
    events: Vec<EventObject>,
    /// By location, the writes in the order in which memory sees them.
    coherence: BTreeMap<String, Vec<String>>,
    /// The axiom that it breaks.
    axiom: &'static str,
    cycle: Vec<StepObject>,
}

impl NoWitnessObject {
    /// Why there is none.
    pub fn new(test: &Test, asked: &str, explanation: &Explanation) -> Self {
        let (result, candidate) = match explanation {
            Explanation::Forbidden(found) => ("forbidden", Some(CandidateObject::new(test, found))),
            Explanation::Impossible => ("impossible", None),
            Explanation::Allowed(_) | Explanation::Unknown => ("unknown", None),
        };
        NoWitnessObject {
            asked: asked.to_owned(),
            result,
            candidate,
        }
    }
}

impl CandidateObject {
    fn new(test: &Test, found: &Forbidden) -> Self {
        let candidate = &found.candidate;
        let cells = candidate.coherence.iter().enumerate();
        let coherence = cells.filter(|(_, writes)| !writes.is_empty());
        let coherence = coherence.map(|(cell, writes)| {
            let name = cell_name(test, CellId(cell as u32)).to_owned();
            (name, writes.iter().map(|&id| letter(id)).collect())
        });
        CandidateObject {
            state: test.format_state(&found.state),
            events: events(test, candidate),
            coherence: coherence.collect(),
            axiom: match found.violation.axiom {
                Axiom::Order => "order",
                Axiom::Atomicity => "atomicity",
                Axiom::Coherence => "coherence",
            },
            cycle: cycle(&found.violation.cycle),
        }
    }
}

fn events(test: &Test, candidate: &Candidate) -> Vec<EventObject> {
    let event = |id: EventId| {
        let event = candidate.event(id);
        let (kind, fence) = match event.action {
            Action::Read(..) => ("read", None),
            Action::Write(..) => ("write", None),
            Action::Fence(fence) => ("fence", Some(fence_name(fence))),
        };
        let (location, value) = match event.action {
            Action::Read(cell, value) | Action::Write(cell, value) => (
                Some(cell_name(test, cell).to_owned()),
                Some(cell_value(test, cell, value)),
            ),
            Action::Fence(_) => (None, None),
        };
        let source = candidate.reads_from[id.index()];
        EventObject {
            event: letter(id),
            thread: test.threads[event.thread as usize].number,
            instruction: instruction(test, event.thread, event.instruction).to_owned(),
            kind,
            location,
            value,
            fence,
            locked: event.locked,
            reads_from: event.action.is_read().then(|| source.map(letter)),
        }
    };
    candidate.ids().map(event).collect()
}

fn cycle(cycle: &Cycle) -> Vec<StepObject> {
    let steps = cycle.steps.iter().map(|step| StepObject {
        from: letter(step.from),
        relation: step.relation.label(),
        to: letter(step.to),
        fence: match step.strength {
            Strength::ByFence(fence) => Some(fence_name(fence)),
            Strength::Plain | Strength::Relaxed | Strength::FromBuffer => None,
        },
        kept: !matches!(step.strength, Strength::Relaxed | Strength::FromBuffer),
    });
    steps.collect()
}

fn run_steps(test: &Test, run: &Run) -> Vec<RunStepObject> {
    let steps = run.steps.iter().map(|step| {
        let (kind, access) = match step.action {
            RunAction::ReadMemory(cell, value) => ("read", Some((cell, value))),
            RunAction::ReadBuffer(cell, value) => ("read-buffer", Some((cell, value))),
            RunAction::Issue(cell, value) => ("issue", Some((cell, value))),
            RunAction::Commit(cell, value) => ("commit", Some((cell, value))),
            RunAction::Write(cell, value) => ("write", Some((cell, value))),
            RunAction::LockedRead(cell, value) => ("locked-read", Some((cell, value))),
            RunAction::LockedWrite(cell, value) => ("locked-write", Some((cell, value))),
            RunAction::Fence(_) => ("fence", None),
        };
        RunStepObject {
            thread: test.threads[step.thread as usize].number,
            instruction: instruction(test, step.thread, step.instruction).to_owned(),
            kind,
            location: access.map(|(cell, _)| cell_name(test, cell).to_owned()),
            value: access.map(|(cell, value)| cell_value(test, cell, value)),
        }
    });
    steps.collect()
}
