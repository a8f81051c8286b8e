//! The failures that a check can find: the input of the report.

use std::collections::BTreeSet;

use fencepost_memory::{Access, ThreadId};
use fencepost_monitor::{ExplainError, Finding, Violation};

use super::Assumption;
use super::native_problem::{BadMemory, FailureKind, LeakedBlocks, LockMisuse, ThreadPlace};
use crate::source::SourcePosition;

/// A failure, and the execution that shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckFinding {
    /// The failure.
    pub problem: Problem,
    /// The execution up to its end or to the failure: sequentially consistent, unless there are
    /// `buffers`. Positions in the problem count from its first access.
    pub interleaving: Vec<Access>,
    /// The accesses that concern store buffers, for an execution on the machine with store buffers.
    pub buffers: Option<Buffers>,
    /// The schedule, which only the explorer can read.
    pub schedule: String,
    /// The line of code, or the command, that replays this execution. If this and the schedule are
    /// empty, the failure cannot be replayed.
    pub replay: String,
    /// Another command that replays it, if there is one.
    pub command: Option<String>,
    /// The number of the execution, from 1.
    pub execution: u64,
    /// The consequence of a store-buffer violation, if the user asked for it.
    pub consequence: Option<Consequence>,
}

/// The accesses of an execution that concern store buffers, by position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Buffers {
    /// Stores that enter a buffer.
    pub stores: BTreeSet<usize>,
    /// Commits: the moments at which earlier stores reach memory.
    pub commits: BTreeSet<usize>,
}

/// The consequence of a store-buffer violation when the program continues on the machine with store
/// buffers.
#[derive(Clone, PartialEq, Debug)]
pub enum Consequence {
    /// An execution fails.
    Failure {
        /// The failure, and the execution.
        finding: Box<CheckFinding>,
        /// Whether the execution continues from the witness.
        continues_witness: bool,
        /// Whether the program fails in the same way without store buffers.
        also_under_sc: bool,
    },
    /// No explored execution fails.
    NoFailure {
        /// The number of explored executions.
        executions: u64,
        /// The executions that were not explored.
        unexplored: Unexplored,
        /// The assumptions of this result.
        assumptions: Vec<Assumption>,
        /// Why the search did not get further.
        obstacle: Option<Obstacle>,
    },
}

/// Why the search for a consequence did not get further.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Obstacle {
    /// An execution failed, but not when it was replayed.
    NotReproduced,
    /// The program could not be run further, because it is not deterministic or was used wrongly.
    CannotContinue,
    /// The program could not follow the witness to the violation.
    CannotFollowWitness,
    /// Another error, as a clause.
    Error(String),
}

/// The executions with store buffers that were not explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unexplored {
    /// None.
    Nothing,
    /// Some.
    Remaining,
    /// Those in which a store stays in the buffer where the library drains it.
    Unsupported,
}

impl Consequence {
    /// The name for scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Consequence::Failure {
                also_under_sc: true,
                ..
            } => "wrong-anyway",
            Consequence::Failure { .. } => "harmful",
            Consequence::NoFailure {
                unexplored: Unexplored::Nothing,
                ..
            } => "harmless",
            Consequence::NoFailure { .. } => "none-found",
        }
    }
}

/// A failure. All but [`StoreBuffer`](Problem::StoreBuffer) are errors of the program under
/// sequential consistency too.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant)] // There are few of them.
#[non_exhaustive]
pub enum Problem {
    /// The program is not store-buffer safe.
    StoreBuffer {
        /// The three events that show it.
        violation: Violation,
        /// The cycle and the witness, or why there are none.
        explained: Result<Finding, ExplainError>,
    },
    /// A thread panicked.
    Panic {
        /// The thread that panicked.
        thread: ThreadId,
        /// The message of the panic.
        message: String,
        /// The location of the panic.
        location: Option<SourcePosition>,
    },
    /// All remaining threads are blocked.
    Deadlock {
        /// The blocked threads.
        waits: Vec<Wait>,
    },
    /// All remaining threads spin, or wait for threads that do.
    Livelock {
        /// The remaining threads.
        waits: Vec<Wait>,
    },
    /// Two accesses to the same plain memory, one of which writes, are not ordered.
    Race {
        /// The memory that is accessed.
        cell: RacedCell,
        /// The access that came first in this execution.
        first: RaceAccess,
        /// The other access.
        second: RaceAccess,
    },
    /// A thread failed in a way that ends a process.
    Failed {
        /// The thread.
        thread: ThreadId,
        /// How it failed.
        kind: FailureKind,
        /// The message, such as the condition of an assertion. It may be empty.
        message: String,
        /// The location of the failure.
        location: Option<SourcePosition>,
    },
    /// A heap block is used wrongly.
    BadMemory(BadMemory),
    /// Heap blocks were not freed by the end of the execution.
    LeakedBlocks(Vec<LeakedBlocks>),
    /// A lock is used wrongly.
    LockMisuse {
        /// What is wrong.
        misuse: LockMisuse,
        /// The lock in words: ``mutex `m` ``.
        lock: String,
        /// Who uses it, and where.
        by: ThreadPlace,
    },
    /// An object was not dropped by the end of the execution.
    Leak {
        /// The type of the object: `Arc`.
        kind: String,
        /// The name of the object, if it has one.
        name: Option<String>,
        /// Where the object was created.
        location: Option<SourcePosition>,
    },
    /// A thread needs more stack than it has.
    StackOverflow {
        /// The thread whose stack overflowed.
        thread: ThreadId,
        /// The location of its last checked operation.
        location: Option<SourcePosition>,
    },
    /// An execution did not end within the limit.
    StepLimit {
        /// The limit.
        steps: u64,
        /// The thread whose step exceeds the limit.
        thread: ThreadId,
        /// The location of that step.
        location: Option<SourcePosition>,
    },
    /// The same schedule led to another operation than before.
    NonDeterminism {
        /// The step, from 1.
        step: usize,
        /// The operation in an earlier execution.
        expected: PlannedOperation,
        /// The operation in this execution.
        found: PlannedOperation,
        /// The thread that behaved differently.
        thread: ThreadId,
        /// The location of the operation.
        location: Option<SourcePosition>,
    },
    /// The schedule to replay is not one of the program.
    InfeasibleSchedule {
        /// The step that cannot be taken, from 1.
        step: usize,
        /// Why it cannot be taken.
        mismatch: ScheduleMismatch,
    },
    /// The library was used in a way that it does not support.
    BadUse {
        /// What is wrong, and what to do instead.
        message: String,
        /// The location of the unsupported use.
        location: Option<SourcePosition>,
    },
    /// A replay did not reproduce a failure, so the program is not deterministic.
    Unreproduced(Unreproduced),
}

/// A failure that a replay of its schedule did not reproduce. As text, it is a sentence that says
/// so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreproduced {
    /// A store-buffer violation.
    Violation,
    /// A deadlock.
    Deadlock,
    /// An error of the program, as a clause.
    Error(String),
    /// Another failure.
    Other,
}

/// An operation that a thread is about to perform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlannedOperation {
    /// An access to the object with this name.
    Access(String),
    /// A join of this thread.
    Join(ThreadId),
    /// A spin hint.
    SpinHint,
    /// A fence.
    Fence,
    /// None: an assumption of the program has stopped the thread.
    Stopped,
    /// None: the thread has finished.
    Finished,
    /// None: the thread was not spawned.
    NotSpawned,
}

/// Why a step of a schedule cannot be taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScheduleMismatch {
    /// The thread cannot continue.
    Blocked {
        /// The thread.
        thread: ThreadId,
        /// Whether threads were kept waiting in spin loops, which they are not with a spin bound.
        has_waited: bool,
    },
    /// There is no buffered store with this number.
    NoSuchCommit(u32),
    /// There is no thread with this number; with store buffers it may be a commit.
    NoSuchThread(u32),
}

/// A thread that waits or spins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The thread.
    pub thread: ThreadId,
    /// What the thread waits for, or spins on.
    pub awaited: Awaited,
    /// Whether the thread spins.
    pub spins: bool,
    /// The location of the wait.
    pub location: Option<SourcePosition>,
    /// The threads that hold the lock that the thread waits for.
    pub holders: Vec<Holder>,
}

/// A thread that holds a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The thread.
    pub thread: ThreadId,
    /// Where it has taken the lock.
    pub location: Option<SourcePosition>,
}

/// What a thread waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Awaited {
    /// An `unpark`.
    Unpark,
    /// A notification of the condition variable with this name.
    Notification(String),
    /// Another thread that wakes it.
    Wakeup,
    /// More threads at a barrier.
    Barrier {
        /// The name of the barrier.
        name: String,
        /// The number of threads that have arrived, if it is known.
        arrived: Option<u64>,
    },
    /// Queued writers of an `RwLock`, which may block readers: `writers that wait for lock`.
    QueuedWriters(String),
    /// The object with this name: `a`, or ``mutex `a`, held by T2``.
    Object(String),
    /// The end of a thread.
    ThreadEnd(ThreadId),
    /// The end of the function of the thread with this name.
    Return(String),
    /// A handle of a scoped thread, which was leaked.
    LeakedHandle,
    /// A change of a value that the thread reads in a loop.
    Change,
    /// Its next turn: nothing blocks the thread.
    Turn,
    /// Nothing: an assumption of the program has stopped the thread.
    Nothing,
}

/// The memory of a data race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RacedCell {
    /// A cell with a name.
    Named(String),
    /// A cell that was created here.
    CreatedAt(SourcePosition),
    /// Memory without a name, at this address.
    At(u64),
}

/// How one side of a data race accesses the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// It reads, not atomically.
    Read,
    /// It writes, not atomically.
    Write,
    /// It reads atomically.
    AtomicRead,
    /// It writes atomically, and perhaps reads.
    AtomicWrite,
    /// It allocates the memory.
    Allocation,
    /// It frees the memory.
    Free,
}

impl AccessKind {
    /// Whether it is no read.
    pub fn writes(self) -> bool {
        !matches!(self, AccessKind::Read | AccessKind::AtomicRead)
    }

    /// What the thread does: `reads`.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::AtomicRead => "atomically reads",
            AccessKind::AtomicWrite => "atomically writes",
            AccessKind::Allocation => "allocates",
            AccessKind::Free => "frees",
        }
    }

    /// The name for scripts.
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::AtomicRead => "atomic-read",
            AccessKind::AtomicWrite => "atomic-write",
            AccessKind::Allocation => "allocation",
            AccessKind::Free => "free",
        }
    }
}

/// One side of a data race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaceAccess {
    /// The thread that accesses the cell.
    pub thread: ThreadId,
    /// How it does.
    pub kind: AccessKind,
    /// How many bytes it accesses; none if it is the whole cell.
    pub size: Option<u32>,
    /// The location of the access.
    pub location: Option<SourcePosition>,
}

impl Problem {
    /// The name of its kind, for scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Problem::StoreBuffer { .. } => "store-buffer",
            Problem::Panic { .. } => "panic",
            Problem::Deadlock { .. } => "deadlock",
            Problem::Livelock { .. } => "livelock",
            Problem::Race { .. } => "race",
            Problem::Failed { .. } => "failed",
            Problem::BadMemory(_) => "bad-memory",
            Problem::LeakedBlocks(_) => "leaked-blocks",
            Problem::LockMisuse { .. } => "lock-misuse",
            Problem::Leak { .. } => "leak",
            Problem::StackOverflow { .. } => "stack-overflow",
            Problem::StepLimit { .. } => "step-limit",
            Problem::NonDeterminism { .. } => "non-determinism",
            Problem::InfeasibleSchedule { .. }
            | Problem::BadUse { .. }
            | Problem::Unreproduced(_) => "bad-use",
        }
    }
}
