//! What can be wrong with an execution, apart from store-buffer violations.

use fencepost_memory::{LocationId, ThreadId};
use fencepost_monitor::MemoryLimitExceeded;

use crate::program::{Intent, ThreadStatus};

/// A thread that has not finished, and its next operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockedThread {
    /// The thread.
    pub thread: ThreadId,
    /// What it is about to do.
    pub intent: Intent,
    /// The source location of that operation.
    pub location: Option<LocationId>,
}

/// A fault of an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault<E> {
    /// The program reported an error.
    Program(E),
    /// No thread is enabled, and some have not finished.
    Deadlock(Vec<BlockedThread>),
    /// All remaining threads spin and wait for a change that no thread makes.
    Livelock(Vec<BlockedThread>),
    /// The execution has more operations than allowed.
    StepLimit {
        /// The limit.
        steps: u64,
        /// The thread that took the last step, or the first that has not finished if that one has.
        /// It follows from the schedule alone, so a replay names the same.
        last: BlockedThread,
    },
    /// The program did something else than in an earlier execution with the same prefix.
    NonDeterminism {
        /// The thread that diverged.
        thread: ThreadId,
        /// The step of the execution, from 1.
        step: usize,
        /// What it did earlier.
        expected: Intent,
        /// Its status now.
        found: ThreadStatus,
        /// The source location.
        location: Option<LocationId>,
    },
    /// The schedule of a replay names a thread that is not enabled.
    InfeasibleSchedule {
        /// The step, from 1.
        step: usize,
        /// The thread.
        thread: ThreadId,
    },
    /// The monitor needs more memory than allowed.
    OutOfMemory(MemoryLimitExceeded),
}

impl<E> Fault<E> {
    /// Whether it is a fault of the program, not a limit or an unsuitable schedule.
    pub fn is_program_fault(&self) -> bool {
        matches!(
            self,
            Fault::Program(_) | Fault::Deadlock(_) | Fault::Livelock(_) | Fault::StepLimit { .. }
        )
    }

    /// Whether it counts as a fault. A memory limit does not: each worker may reach it.
    pub(crate) fn is_counted(&self) -> bool {
        !matches!(self, Fault::OutOfMemory(_))
    }
}
