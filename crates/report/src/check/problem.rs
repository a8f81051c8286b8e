//! What a check can find: the input of the report.

use std::collections::BTreeSet;

use fencepost_memory::{Access, ThreadId};
use fencepost_monitor::{ExplainError, Finding, Violation};

use crate::source::SourcePosition;

/// One problem, and the execution that shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckFinding {
    /// What is wrong.
    pub problem: Problem,
    /// The execution, of all threads, up to its end or to the problem: sequentially consistent, unless there are
    /// `buffers`. Positions in the problem count from its first access.
    pub interleaving: Vec<Access>,
    /// What waits in buffers, for an execution on the machine with store buffers.
    pub buffers: Option<Buffers>,
    /// The schedule, which only the explorer understands.
    pub schedule: String,
    /// The line of code, or the command, that runs this execution again. If this and the schedule are
    /// empty, nothing does.
    pub replay: String,
    /// Which execution it was, from 1.
    pub execution: u64,
    /// What comes of a store-buffer violation, if that was asked for.
    pub consequence: Option<Consequence>,
}

/// Which accesses of an execution have to do with store buffers, by their positions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Buffers {
    /// Stores that go into a buffer.
    pub stores: BTreeSet<usize>,
    /// Stores that were issued before, and reach memory now.
    pub commits: BTreeSet<usize>,
}

/// What comes of a store-buffer violation when the program is run on, on the machine with store buffers.
#[derive(Clone, PartialEq, Debug)]
pub enum Consequence {
    /// An execution is wrong.
    Failure {
        /// What is wrong, and the execution.
        finding: Box<CheckFinding>,
        /// Whether the execution goes on from the witness.
        continues_witness: bool,
        /// Whether the same goes wrong without store buffers.
        also_under_sc: bool,
    },
    /// No execution that was run is wrong.
    NoFailure {
        /// How many were run.
        executions: u64,
        /// What is left.
        unexplored: Unexplored,
        /// What that rests on, each to follow "assuming that".
        assumptions: Vec<String>,
        /// Why the program could not be run on from the witness, if so.
        trouble: Option<String>,
    },
}

/// The executions with store buffers that were not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unexplored {
    /// None.
    Nothing,
    /// Some.
    Remaining,
    /// Some, in which stores wait where the library does not let them wait.
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

/// What is wrong. All but [`StoreBuffer`](Problem::StoreBuffer) are errors of the program
/// without any store buffer.
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
        /// Who.
        thread: ThreadId,
        /// The message of the panic.
        message: String,
        /// Where.
        location: Option<SourcePosition>,
    },
    /// Threads are left that wait, and none can go on.
    Deadlock {
        /// The threads that wait.
        waits: Vec<Wait>,
    },
    /// Threads spin, and nobody is left who could end that.
    Livelock {
        /// The threads that spin; or that wait for those who do.
        waits: Vec<Wait>,
    },
    /// Two accesses to the same plain memory, one of which writes, are not ordered.
    Race {
        /// What is accessed.
        cell: String,
        /// The access that came first in this execution.
        first: RaceAccess,
        /// The other.
        second: RaceAccess,
    },
    /// Something was still there at the end that should have been freed or ended.
    Leak {
        /// What: `` the `Arc` `node` ``.
        what: String,
        /// Where it was made.
        location: Option<SourcePosition>,
    },
    /// A thread needs more stack than it has.
    StackOverflow {
        /// Who.
        thread: ThreadId,
        /// Where it was last seen.
        location: Option<SourcePosition>,
    },
    /// An execution did not end within the limit.
    StepLimit {
        /// The limit.
        steps: u64,
        /// Who was running.
        thread: ThreadId,
        /// Where.
        location: Option<SourcePosition>,
    },
    /// The same schedule led to something else than before.
    NonDeterminism {
        /// What the thread did before.
        expected: String,
        /// What it did now.
        found: String,
        /// Who.
        thread: ThreadId,
        /// Where.
        location: Option<SourcePosition>,
    },
    /// The library was used in a way that it does not support.
    BadUse {
        /// What was done, and what to do instead.
        message: String,
        /// Where.
        location: Option<SourcePosition>,
    },
}

/// A thread that waits or spins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Who.
    pub thread: ThreadId,
    /// For what, to follow "waits for" or "spins on": `` mutex `a`, held by T2 ``. If it spins, it may be
    /// empty.
    pub what: String,
    /// Whether it spins. Where nobody does, all wait.
    pub spins: bool,
    /// Where.
    pub location: Option<SourcePosition>,
}

/// One side of a data race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaceAccess {
    /// Who.
    pub thread: ThreadId,
    /// Whether it writes.
    pub writes: bool,
    /// Where.
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
            Problem::Leak { .. } => "leak",
            Problem::StackOverflow { .. } => "stack-overflow",
            Problem::StepLimit { .. } => "step-limit",
            Problem::NonDeterminism { .. } => "non-determinism",
            Problem::BadUse { .. } => "bad-use",
        }
    }
}
