//! How to explore.

use std::time::Duration;

use crate::execution::monitor_feed::MonitoredModel;
use crate::schedule::Schedule;

/// Which executions to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// One of each equivalence class.
    Exhaustive,
    /// Those with at most 0, then 1, 2, … preemptions, up to this many.
    Bounded {
        /// The most preemptions.
        preemptions: u32,
    },
    /// As `Bounded`, and in turns with it as `Exhaustive`, until one of the two is through.
    BoundedOrExhaustive {
        /// The most preemptions.
        preemptions: u32,
    },
    /// The next thread is drawn uniformly from those that can go on.
    Random {
        /// Where the random numbers begin.
        seed: u64,
        /// How many executions.
        executions: u64,
    },
    /// As `Random`, but mostly the thread that went last goes on, also if it says that it spins: it comes through loops
    /// with many rounds.
    StickyRandom {
        /// Where the random numbers begin.
        seed: u64,
        /// How many executions.
        executions: u64,
    },
    /// Probabilistic concurrency testing (Burckhardt and others, 2010): threads have random
    /// priorities, which change at a few random points.
    Pct {
        /// Where the random numbers begin.
        seed: u64,
        /// How many executions.
        executions: u64,
        /// The depth of the bugs to look for: one more than the points of change.
        depth: u32,
    },
    /// One given execution.
    Replay(Schedule),
}

/// When a thread that says that it spins goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpinRule {
    /// When something that it read has changed. Assumes that its loop does nothing but wait.
    UntilChange,
    /// At most so many rounds without a change; what would need more is not explored.
    Bound(u32),
}

/// How to explore.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Which executions to run.
    pub strategy: Strategy,
    /// What to monitor for.
    pub monitored_model: MonitoredModel,
    /// Every execution starts with these turns. They are not explored: no race with them is reversed, and steps and
    /// bounds are counted from their end on. Joins are not turns, so a prefix has none. The schedules of
    /// counterexamples start with the prefix; the schedule of [`Strategy::Replay`] follows it. An exploration with a
    /// prefix has no checkpoints.
    pub prefix: Schedule,
    /// Whether to go on after the first finding.
    pub continue_after_failure: bool,
    /// When spinning threads go on.
    pub spin: SpinRule,
    /// How often a spinning thread may find nothing changed, when no one else can go on, before it is said to wait for
    /// ever.
    pub livelock_after: u32,
    /// The most operations in one execution.
    pub max_steps: u64,
    /// The most executions, those that were given up included.
    pub max_executions: Option<u64>,
    /// The most time.
    pub max_time: Option<Duration>,
    /// How many threads of the operating system explore.
    pub workers: usize,
    /// The most bytes for the explorer, per worker.
    pub memory: usize,
    /// Whether workers share their work even if all are busy. For tests: it makes what
    /// otherwise depends on timing happen always.
    #[doc(hidden)]
    pub always_share_work: bool,
    /// How many findings are kept in full; all are counted.
    pub kept_findings: usize,
}

/// [`Settings::livelock_after`] where nothing is said: a loop may count its turns and give up.
pub(crate) const LIVELOCK_AFTER: u32 = 1000;

impl Default for Settings {
    fn default() -> Self {
        Settings {
            strategy: Strategy::Exhaustive,
            monitored_model: MonitoredModel::Tso,
            prefix: Schedule::default(),
            continue_after_failure: false,
            spin: SpinRule::UntilChange,
            livelock_after: LIVELOCK_AFTER,
            max_steps: 100_000,
            max_executions: None,
            max_time: None,
            workers: 1,
            memory: 4 << 30,
            always_share_work: false,
            kept_findings: 64,
        }
    }
}
