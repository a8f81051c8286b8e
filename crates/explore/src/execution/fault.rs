//! What can be wrong with an execution, apart from store buffers.

use fencepost_memory::{LocationId, ThreadId};
use fencepost_monitor::MemoryLimitExceeded;

use crate::program::{Intent, ThreadStatus};

/// A thread that cannot go on, and what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockedThread {
    /// The thread.
    pub thread: ThreadId,
    /// What it would do next.
    pub intent: Intent,
    /// Where that is.
    pub location: Option<LocationId>,
}

/// What was wrong with an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault<E> {
    /// The program says so.
    Program(E),
    /// No thread can go on, and some have not ended.
    Deadlock(Vec<BlockedThread>),
    /// The threads that have not ended wait in loops for something that no one will do.
    Livelock(Vec<BlockedThread>),
    /// The execution has had more operations than allowed.
    StepLimit {
        /// How many are allowed.
        steps: u64,
        /// The thread that was about to go on.
        last: BlockedThread,
    },
    /// The program did something else than when it was last run in the same way.
    NonDeterminism {
        /// The thread that did.
        thread: ThreadId,
        /// At which step of the execution, from 1.
        step: usize,
        /// What it did before.
        expected: Intent,
        /// Where it stands now.
        found: ThreadStatus,
        /// Where that is in the source.
        location: Option<LocationId>,
    },
    /// A schedule to be replayed lets a thread go on that cannot.
    InfeasibleSchedule {
        /// At which step, from 1.
        step: usize,
        /// The thread.
        thread: ThreadId,
    },
    /// The monitor would need more memory than allowed.
    OutOfMemory(MemoryLimitExceeded),
}

impl<E> Fault<E> {
    /// Whether it is about the program, and not about a limit or a mistake in how it is run.
    pub fn is_program_fault(&self) -> bool {
        matches!(
            self,
            Fault::Program(_) | Fault::Deadlock(_) | Fault::Livelock(_) | Fault::StepLimit { .. }
        )
    }

    /// Whether it is counted. Each worker may reach a limit of memory, and it is no error of the program.
    pub(crate) fn counts(&self) -> bool {
        !matches!(self, Fault::OutOfMemory(_))
    }
}
