//! What a check came to: the input of the summary.

use std::time::Duration;

use crate::source::SourcePosition;

/// What a check came to. Its outcome is not stored: it follows from what was found and what was
/// left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckSummary {
    /// The executions that were run.
    pub executions: u64,
    /// The steps of all of them.
    pub steps: u64,
    /// The executions that were begun and abandoned, because others cover them or a bound forbids
    /// them.
    pub abandoned: u64,
    /// All problems, with repetitions.
    pub problems: u64,
    /// The distinct problems.
    pub distinct: u64,
    /// Whether there may be more distinct ones, which were not told apart.
    pub distinct_is_lower_bound: bool,
    /// Why some executions were not run. Empty if all were.
    pub gaps: Vec<Gap>,
    /// If every execution with at most so many preemptions was run: how many.
    pub covered_preemptions: Option<u32>,
    /// The loops that were taken to do nothing but wait: where they say that they spin.
    pub waiting_loops: Vec<SourcePosition>,
    /// If these were let go round in some executions, to try whether they do nothing else: how often each was at least, where it was most often.
    pub tried_rounds: Option<u32>,
    /// The waits that were taken not to return without a notification again and again.
    pub repeated_waits: Vec<SourcePosition>,
    /// Whether the executions were run on the machine with store buffers, and not under sequential consistency.
    pub store_buffers: bool,
    /// What else the result rests on, to follow "assuming that".
    pub assumptions: Vec<String>,
    /// What else to know, whatever the outcome.
    pub notes: Vec<String>,
}

/// How a check ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All executions were run, and nothing is wrong.
    Verified,
    /// Nothing wrong was found, but not all executions were run.
    Incomplete,
    /// Something is wrong.
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

/// Why some executions were not run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Gap {
    /// Only executions with at most so many preemptions were run.
    PreemptionBound(u32),
    /// The budget of executions was used up.
    ExecutionBudget(u64),
    /// The same, of a check that went on from a checkpoint: of the executions since then.
    FurtherExecutions(u64),
    /// The budget of time was used up.
    TimeBudget(Duration),
    /// Waiting loops were left after so many rounds.
    SpinBound(u32),
    /// The budget of memory, in bytes, was used up.
    MemoryBudget(u64),
    /// Executions were chosen at random.
    Random {
        /// The seed.
        seed: u64,
    },
    /// Only one execution was run again.
    Replay,
    /// The user stopped the check.
    Interrupted,
    /// The check was to stop at the first problem.
    StoppedAtProblem,
    /// Anything else: a sentence.
    Other(String),
}

impl CheckSummary {
    /// How the check ended.
    pub fn outcome(&self) -> Outcome {
        match (self.problems, self.gaps.is_empty()) {
            (0, true) => Outcome::Verified,
            (0, false) => Outcome::Incomplete,
            _ => Outcome::Found,
        }
    }
}
