//! The result of a check: the input of the summary.

use std::path::PathBuf;
use std::time::Duration;

use crate::source::SourcePosition;

/// The result of a check. The outcome is not stored: it follows from the failures and the gaps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckSummary {
    /// Executions that were explored.
    pub executions: u64,
    /// Of these, the executions that an assumption of the program has ended.
    pub pruned: u64,
    /// Executions with a store-buffer violation.
    pub borderline: u64,
    /// Steps of all executions. A common prefix counts once.
    pub steps: u64,
    /// Executions that were started and abandoned, because others cover them or a bound excludes
    /// them.
    pub abandoned: u64,
    /// All failures, with repetitions.
    pub problems: u64,
    /// Distinct failures.
    pub distinct: u64,
    /// Whether `distinct` is only a lower bound.
    pub distinct_is_lower_bound: bool,
    /// Why some executions were not explored. Empty if all were.
    pub gaps: Vec<Gap>,
    /// The preemption bound within which every execution was explored, if there is one.
    pub covered_preemptions: Option<u32>,
    /// Spin loops that are assumed to only wait: the locations of their spin hints.
    pub waiting_loops: Vec<SourcePosition>,
    /// If these loops, or those that are declared to only wait, were run in sampled executions to test the assumption: the smallest number of
    /// rounds over all loops, where each loop counts its longest run.
    pub tried_rounds: Option<u32>,
    /// Loops that the program declares to only wait: the locations of the declarations.
    pub declared_waits: Vec<SourcePosition>,
    /// Waits that are assumed not to wake up spuriously again and again.
    pub repeated_waits: Vec<SourcePosition>,
    /// What was compared before these loops and waits were taken to come back to the same state: the
    /// assumption is about the rest.
    pub compared: Compared,
    /// Whether the program was executed with store buffers, and not under sequential consistency.
    pub store_buffers: bool,
    /// Further assumptions, which follow from the settings.
    pub assumptions: Vec<Assumption>,
    /// Remarks that do not depend on the outcome.
    pub notes: Vec<Note>,
}

/// What is compared before a loop is taken to come back to the same state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compared {
    /// Nothing.
    #[default]
    Nothing,
    /// The stack and the registers of its thread, and the stacks of the others.
    Stacks,
    /// These, and most other memory of the execution: some blocks were too large.
    MostMemory,
    /// These, and all other memory of the execution.
    Memory,
}

/// An assumption on which a result rests.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Assumption {
    /// Every store reaches memory at once, because the monitor is off.
    ImmediateStores,
    /// No `Arc` leaks, because the leak check is off.
    NoLeaks,
    /// No wait wakes up spuriously, because the setting is off.
    NoSpuriousWakeups,
    /// Spin loops only wait; the report does not list them.
    SpinLoopsOnlyWait,
    /// The compiler translates each plain access to one instruction, because races are allowed.
    PlainAccessesKept,
    /// Values that the program leaves open are between these.
    OpenValues {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
    },
    /// The program has a fence that is not in its source.
    InsertedFence {
        /// The ordering of the fence.
        fence: FenceOrdering,
        /// The operation after the fence.
        before: SourcePosition,
    },
}

/// The ordering of a fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceOrdering {
    /// `Ordering::Release`.
    Release,
    /// `Ordering::SeqCst`.
    SeqCst,
}

impl FenceOrdering {
    /// The variant of `Ordering`: `SeqCst`.
    pub fn name(self) -> &'static str {
        match self {
            FenceOrdering::Release => "Release",
            FenceOrdering::SeqCst => "SeqCst",
        }
    }
}

/// A remark on a check.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// No operation was executed at the location before which a fence was to be inserted.
    UnusedFence(SourcePosition),
    /// The program used no thread and no object of Fencepost.
    NothingChecked,
    /// The program spawned threads, but none of them used an object of Fencepost.
    NothingShared,
    /// The failure was found in sampled executions in which spin loops run for up to so many
    /// rounds, not in the search in which they only wait.
    FoundInRounds(u32),
    /// The last checkpoint could not be written, so the check cannot be resumed from there.
    CheckpointNotWritten {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: String,
    },
}

/// The outcome of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every execution was explored, and none fails.
    Verified,
    /// No failure was found, but some executions were not explored.
    Incomplete,
    /// A failure was found.
    Found,
}

impl Outcome {
    /// The name for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Verified => "verified",
            Outcome::Incomplete => "incomplete",
            Outcome::Found => "found",
        }
    }
}

/// Why some executions were not explored.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Gap {
    /// Executions with more preemptions than this were excluded.
    PreemptionBound(u32),
    /// The limit on executions was reached.
    ExecutionBudget(u64),
    /// The limit on executions since the checkpoint was reached.
    FurtherExecutions(u64),
    /// The time limit was reached.
    TimeBudget(Duration),
    /// Spin loops were left after so many rounds.
    SpinBound(u32),
    /// A wait in a loop that does not come back to the same state returned at most so often in a
    /// row without a notification.
    WaitBound(u32),
    /// The memory limit, in bytes, was reached.
    MemoryBudget(u64),
    /// Executions were sampled at random.
    Random {
        /// The seed.
        seed: u64,
    },
    /// A single execution was replayed.
    Replay,
    /// The user interrupted the check.
    Interrupted,
    /// The check stopped at the first failure.
    StoppedAtProblem,
    /// An operation of the library drained stores that may stay in the buffer on the machine.
    EarlyDrain,
    /// These loops change nothing, do not come back to the same state, and go round without end, as far as
    /// is known. A thread went round at most so often, unless something changed.
    EndlessLoops(u32, Vec<SourcePosition>),
    /// These loops depend on memory that is not compared: they did something else although they had
    /// come back to the same state and read the same values.
    UnseenMemory(Vec<SourcePosition>),
}

impl CheckSummary {
    /// Where loops and waits were taken to come back to the same state.
    pub fn loops_and_waits(&self) -> Vec<SourcePosition> {
        let mut all = self.waiting_loops.clone();
        all.extend_from_slice(&self.repeated_waits);
        all.sort();
        all.dedup();
        all
    }

    /// The outcome of the check.
    pub fn outcome(&self) -> Outcome {
        match (self.problems, self.gaps.is_empty()) {
            (0, true) => Outcome::Verified,
            (0, false) => Outcome::Incomplete,
            _ => Outcome::Found,
        }
    }
}
