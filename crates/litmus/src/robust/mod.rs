//! Whether a test is store-buffer safe: whether every execution under a model has an acyclic
//! happens-before, so that it is sequentially consistent as a trace.
//!
//! The explorer and the monitor that check Rust programs decide that, from sequentially consistent
//! executions only. Tests compare the answer with all executions that the axioms allow
//! ([`axioms`](crate::axioms)).

mod program;

use std::ops::ControlFlow;
use std::time::Duration;

use fencepost_explore::{Failure, Fault, MonitoredModel, Settings, explore};
use fencepost_memory::{LocationId, LockedDrains, MemoryModel};
use fencepost_monitor::Violation;

use crate::test::{Instruction, Test};
use crate::thread::FaultKind;

use program::LitmusProgram;

/// The limits of the search.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The maximum number of executions.
    pub max_executions: u64,
    /// The maximum number of steps of an execution, in addition to one per operation of the test:
    /// only loops have more.
    pub max_steps: u64,
    /// The maximum time.
    pub max_time: Option<Duration>,
    /// Polled from time to time; `true` stops the search.
    pub stop: &'a dyn Fn() -> bool,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Limits {
            max_executions: 10_000_000,
            max_steps: 1_000,
            max_time: None,
            stop: &|| false,
        }
    }
}

/// The maximum number of executions after one was too long.
const MOST_BESIDE_LONG_ONES: u64 = 50;

/// An instruction that takes part in a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstructionId {
    /// The thread: an index into [`Test::threads`].
    pub thread: usize,
    /// The instruction: an index into the thread's instructions.
    pub instruction: usize,
}

impl InstructionId {
    /// The instruction itself.
    pub fn of<'t>(&self, test: &'t Test) -> &'t Instruction {
        &test.threads[self.thread].instructions[self.instruction]
    }

    fn of_location(test: &Test, location: Option<LocationId>) -> Option<InstructionId> {
        let mut index = location?.index();
        for (thread, code) in test.threads.iter().enumerate() {
            // The end of a thread has an id too.
            if index < code.instructions.len() {
                return Some(InstructionId {
                    thread,
                    instruction: index,
                });
            }
            index = index.checked_sub(code.instructions.len() + 1)?;
        }
        None
    }
}

/// Whether a test is store-buffer safe.
#[derive(Clone, Debug)]
pub enum Safety {
    /// Every execution is sequentially consistent.
    Safe,
    /// Some execution is not.
    Unsafe {
        /// The write that can be overtaken.
        pending: Option<InstructionId>,
        /// The event that overtakes it.
        event: Option<InstructionId>,
        /// The violation, as the monitor reported it.
        violation: Box<Violation>,
    },
    /// The witness of the violation was rejected. This is a bug in Fencepost.
    Contradiction(String),
    /// Not all sequentially consistent executions were run, and those that were have no violation.
    Unknown(Unfinished),
}

/// Why the answer is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfinished {
    /// A limit was reached.
    Budget,
    /// An execution had more steps than allowed.
    TooLong,
    /// A thread faults.
    Fault(crate::thread::Fault),
}

fn monitored_model(model: &MemoryModel) -> MonitoredModel {
    use fencepost_memory::Buffering;
    match model.buffering() {
        Buffering::None => MonitoredModel::None,
        Buffering::Fifo => MonitoredModel::Tso,
        Buffering::PerAddress => match model.locked_drains() {
            LockedDrains::Everything => MonitoredModel::Pso(LockedDrains::Everything),
            LockedDrains::OwnAddress => MonitoredModel::Pso(LockedDrains::OwnAddress),
        },
    }
}

/// Decides whether a test is store-buffer safe under a model.
pub fn check(test: &Test, model: &MemoryModel, limits: &Limits<'_>) -> Safety {
    let operations: usize = test
        .threads
        .iter()
        .map(|thread| thread.operations.len())
        .sum();
    let mut settings = Settings {
        monitored_model: monitored_model(model),
        max_steps: limits.max_steps + operations as u64,
        // A thread signals that it spins only when it returns to a state in which it was before.
        livelock_after: 2,
        max_executions: Some(limits.max_executions),
        max_time: limits.max_time,
        ..Settings::default()
    };
    let run = |settings: &Settings| {
        let program = || LitmusProgram::new(test);
        explore(program, settings, &mut |_| match (limits.stop)() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    };
    let mut report = run(&settings);
    let first_fault = report
        .findings
        .iter()
        .find_map(|found| match &found.failure {
            Failure::Fault(fault) => Some(fault),
            Failure::StoreBuffer(_) => None,
        });
    if let Some(fault) = first_fault {
        // After a deadlock or an execution that is too long, the other executions still count. But
        // with executions that are too long the answer is never `Safe`, and there may be very many
        // of them.
        if let Fault::StepLimit { .. } = fault {
            settings.max_executions = Some(limits.max_executions.min(MOST_BESIDE_LONG_ONES));
        }
        settings.continue_after_failure = true;
        report = run(&settings);
    }
    let mut unfinished = None;
    for found in &report.findings {
        match &found.failure {
            Failure::StoreBuffer(violation) => {
                // Replayed on the machine and checked by the axioms of crates/memory.
                if let Some(Err(error)) = found.explain() {
                    return Safety::Contradiction(error.to_string());
                }
                let place = |placed: &fencepost_monitor::PlacedEvent| {
                    InstructionId::of_location(test, placed.event.access.location)
                };
                return Safety::Unsafe {
                    pending: place(&violation.pending),
                    event: place(&violation.event),
                    violation: violation.clone(),
                };
            }
            // The monitor has seen an execution whose threads wait forever.
            Failure::Fault(Fault::Deadlock(_) | Fault::Livelock(_)) => {}
            Failure::Fault(Fault::Program(fault)) if fault.kind == FaultKind::SilentLoop => {
                unfinished = Some(Unfinished::TooLong);
            }
            Failure::Fault(Fault::Program(fault)) => unfinished = Some(Unfinished::Fault(*fault)),
            Failure::Fault(Fault::StepLimit { .. }) => unfinished = Some(Unfinished::TooLong),
            Failure::Fault(_) => unfinished = Some(Unfinished::Budget),
        }
    }
    match unfinished {
        Some(unfinished) => Safety::Unknown(unfinished),
        None if report.is_complete() => Safety::Safe,
        None => Safety::Unknown(Unfinished::Budget),
    }
}
