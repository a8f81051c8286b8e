//! What was seen of a test.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::parameters::{Parameters, Tuner};

/// A final state that was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// How often.
    pub count: u64,
    /// The time for which the test had run when it was seen first.
    pub first: Duration,
}

/// What was seen of a test so far. It can be run several times, and continues where it was.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// By the contents of the test's observables: how often. States that the test's filter does not
    /// let pass are not here.
    pub states: BTreeMap<Vec<u64>, Seen>,
    /// Executions that were observed, those included that the filter did not let pass.
    pub executions: u64,
    /// Executions whose states were not kept, because there are too many different ones.
    pub not_kept: u64,
    /// Slots that were not run by all threads, because one was late.
    pub skipped: u64,
    /// For how long it was run.
    pub time: Duration,
    /// How often it was run.
    pub runs: u32,
    /// Whether all runs were confined by seccomp.
    pub is_confined: bool,
    pub(crate) tuner: Option<Tuner>,
    pub(crate) goal: Option<Goal>,
}

impl Record {
    /// Executions that count.
    pub fn observations(&self) -> u64 {
        self.states.values().map(|seen| seen.count).sum()
    }

    /// The best parameters so far; none if it was not run.
    pub fn parameters(&self) -> Option<Parameters> {
        self.tuner.as_ref().map(Tuner::best)
    }
}

/// What parameters are searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// Final states that are rare, or were not seen.
    Variety,
    /// Final states in which the condition of the test holds (for `forall`, does not hold).
    Condition,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ending {
    /// Its time was over.
    Completed,
    /// The caller stopped it.
    Stopped,
    /// An instruction faulted. Thread and instruction are indices.
    Fault {
        /// The signal's number.
        signal: i32,
        /// Its name.
        name: &'static str,
        /// The address of the access, if it is one.
        address: Option<u64>,
        /// The thread and the instruction; none if it was not one of the test's.
        instruction: Option<(usize, usize)>,
    },
    /// A thread did not end.
    NoEnd {
        /// For how long nothing happened.
        after: Duration,
    },
    /// Someone killed the process of the test.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The process could not do what it had to, such as start threads.
    Failed {
        /// What.
        what: &'static str,
    },
}

impl Ending {
    /// Whether the test may be run again.
    pub fn is_usual(&self) -> bool {
        matches!(self, Ending::Completed | Ending::Stopped)
    }
}
