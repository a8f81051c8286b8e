//! From a violation to a finding: the happens-before cycle, and a witness.
//!
//! The interleaving from the pending write to the overtaking event is cut down to what
//! happens before the overtaking event. On the store-buffer machine these events are then
//! performed again, with the same results, except that the pending write is held back (in its
//! buffer, or not performed yet if it is a locked one), and with it whatever must wait for it,
//! until the overtaking event is done. What does not happen after the pending write is performed
//! first, so that a reader can skip it: the [`prelude`](Witness::prelude).
//!
//! That is a run of the same program: each thread performs a prefix of what it performs in the
//! interleaving, every read but the overtaking event (the last of its thread) returns what it
//! returns there, and everything before the pending write can have been performed as in the
//! interleaving, with all buffers empty. What the overtaking event does with another value than
//! in the interleaving is up to the program: a compare-exchange may fail, or succeed. The trace
//! is not sequentially consistent either way.
//!
//! `slice` cuts the interleaving down and checks the trace, `run` performs it, `cycle` finds the
//! cycle.
//!
//! Nothing of this relies on the monitor's clocks. The run is replayed on the machine, its
//! trace must be allowed by the model's axioms and forbidden by those of SC, and each edge
//! of the cycle is checked. If any of this fails the monitor has a bug, and
//! [`ExplainError::Unsound`] says so.

use std::collections::HashMap;

use fencepost_memory::{Access, Event, MemoryModel};
use thiserror::Error;

use crate::violation::{PlacedEvent, Violation};

mod cycle;
mod run;
mod slice;

use run::Run;
use slice::{Counters, Slice};

/// Why a violation has no explanation.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The violation spans more accesses than the witness window.
    #[error("the violation spans {length} events, but only the last {window} are kept")]
    OutsideWindow {
        /// The number of accesses from the pending write to the overtaking event.
        length: u64,
        /// The size of the witness window.
        window: usize,
    },
    /// The witness does not check. This is a bug in Fencepost.
    #[error(
        "internal error: the witness of a violation does not check ({reason}); this is a bug in \
         Fencepost, please report it with the trace"
    )]
    Unsound {
        /// What went wrong.
        reason: String,
    },
}

/// How two neighbours of a cycle are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// Program order: the same thread, earlier to later.
    ProgramOrder,
    /// The second reads what the first wrote.
    ReadsFrom,
    /// The second overwrites what the first wrote.
    Coherence,
    /// The second overwrites what the first read.
    FromRead,
    /// The second reads a value that overwrote what the first wrote.
    CoherenceThenReadsFrom,
}

impl Relation {
    /// The short name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Relation::ProgramOrder => "po",
            Relation::ReadsFrom => "rf",
            Relation::Coherence => "co",
            Relation::FromRead => "fr",
            Relation::CoherenceThenReadsFrom => "co;rf",
        }
    }
}

/// An event of a cycle and how it is ordered before the next one (the last before the
/// first).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleEvent {
    /// The event.
    pub event: PlacedEvent,
    /// How it is ordered before the next.
    pub relation: Relation,
    /// Whether the model keeps that order, by itself or because of what the thread does in
    /// between. Only program order may not be kept. A fence between two such events rules the
    /// cycle out, if all such pairs of the cycle get one.
    pub is_kept: bool,
}

/// The action of a step of a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A store went into its thread's buffer.
    Buffer,
    /// A load took the value of this store from its thread's buffer.
    Forward(PlacedEvent),
    /// A load (plain or locked) read memory: this write, or what was there at the start.
    Read(Option<PlacedEvent>),
    /// A read-modify-write read this write, or what was there at the start, and wrote memory.
    Exchange(Option<PlacedEvent>),
    /// A locked store, a fence or a barrier was performed.
    Perform,
    /// A buffered store reached memory.
    Commit,
}

/// One step of a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WitnessStep {
    /// The event. The overtaking event has its coherence index in the witness, and no value if it
    /// reads.
    pub event: PlacedEvent,
    /// The action.
    pub action: Action,
}

/// A run of the store-buffer machine whose trace is not sequentially consistent; checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The machine.
    pub model: MemoryModel,
    /// The number of events of the interleaving before the run. They are performed as in the
    /// interleaving, with empty buffers at the end.
    pub starts_after: u64,
    /// The steps.
    pub steps: Vec<WitnessStep>,
    /// The number of first steps that belong to events that do not happen after the pending
    /// write. They end with empty buffers, too.
    pub prelude: usize,
}

/// A violation, explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The three events.
    pub violation: Violation,
    /// The happens-before cycle of the witness, beginning with the pending write.
    pub cycle: Vec<CycleEvent>,
    /// The run that shows it.
    pub witness: Witness,
}

impl Finding {
    /// For each event of the cycle, whether the witness reorders it with the next one: both are in
    /// program order, the model does not keep that order, and the event takes effect after the next.
    pub fn reordered_edges(&self) -> Vec<bool> {
        // The last step of an event is the one with which it takes effect.
        let effect: HashMap<u64, usize> = (self.witness.steps.iter().enumerate())
            .map(|(index, step)| (step.event.position, index))
            .collect();
        let at = |event: &CycleEvent| effect.get(&event.event.position);
        let next = self.cycle.iter().cycle().skip(1);
        let is_reordered = self.cycle.iter().zip(next).map(|(from, to)| {
            let is_relaxed = from.relation == Relation::ProgramOrder && !from.is_kept;
            is_relaxed && at(from) > at(to)
        });
        is_reordered.collect()
    }
}

fn unsound(reason: impl Into<String>) -> ExplainError {
    ExplainError::Unsound {
        reason: reason.into(),
    }
}

/// Explains the violation that the last event of an interleaving shows.
///
/// # Errors
/// If the witness does not check.
pub fn explain_interleaving(
    violation: &Violation,
    interleaving: &[Access],
) -> Result<Finding, ExplainError> {
    let (events, before_pending) = from_pending(violation, interleaving)?;
    explain(violation, &events, before_pending)
}

/// Checks the violation that the last event of an interleaving shows by the axioms: the model
/// allows its trace, and SC does not. That is less than the [witness](explain_interleaving), and
/// faster.
///
/// # Errors
/// If it does not check.
pub fn check_interleaving(
    violation: &Violation,
    interleaving: &[Access],
) -> Result<(), ExplainError> {
    let (events, _) = from_pending(violation, interleaving)?;
    let slice = Slice::new(violation, &events)?;
    let trace = slice.expected_trace()?;
    slice.check_by_axioms(violation.model, &trace)
}

/// The events from the pending write on, and the write to its address before it.
fn from_pending(
    violation: &Violation,
    interleaving: &[Access],
) -> Result<(Vec<PlacedEvent>, Option<PlacedEvent>), ExplainError> {
    // How many events each thread has had, and how many writes each address.
    let (mut issued, mut written) = (Counters::default(), Counters::default());
    let mut place = |position: usize| {
        let access = interleaving[position];
        let (_, issued) = issued.entry(access.thread.index());
        let address = access.operation.address();
        let written = address.map(|address| written.entry(address.index()).1);
        let event = Event::next(access, *issued, written.as_deref().copied().unwrap_or(0));
        *issued += 1;
        if let Some(written) = written {
            *written += u64::from(access.operation.writes());
        }
        PlacedEvent {
            event,
            position: position as u64,
        }
    };
    let start = violation.pending.position as usize;
    let mut before_pending = None;
    for position in 0..start.min(interleaving.len()) {
        let placed = place(position);
        if placed.event.operation().writes() && placed.address() == violation.pending.address() {
            before_pending = Some(placed);
        }
    }
    let events: Vec<PlacedEvent> = (start..interleaving.len()).map(place).collect();
    match events.first() == Some(&violation.pending) {
        true => Ok((events, before_pending)),
        false => Err(unsound("the pending write is not in the interleaving")),
    }
}

/// Explains a violation from the events between its pending write and its overtaking event,
/// both included. `before_pending` is the write to the same address before the pending one, if
/// the caller knows it: a load that overtakes reads it.
pub(crate) fn explain(
    violation: &Violation,
    events: &[PlacedEvent],
    before_pending: Option<PlacedEvent>,
) -> Result<Finding, ExplainError> {
    let slice = Slice::new(violation, events)?;
    let mut run = Run::new(violation.model, &slice, before_pending);
    run.perform_prelude()?;
    let prelude = run.steps.len();
    run.perform_without_pending_write()?;
    run.overtake()?;
    run.perform_the_rest()?;
    let steps = run.steps;
    let trace = run.machine.finish().map_err(|e| unsound(e.to_string()))?;
    let in_trace = slice.in_trace(&trace)?;
    slice.check_trace(violation.model, &trace, &in_trace)?;
    let cycle = slice.cycle(violation.model, &in_trace)?;
    Ok(Finding {
        violation: *violation,
        cycle,
        witness: Witness {
            model: violation.model,
            starts_after: violation.pending.position,
            steps,
            prelude,
        },
    })
}
