//! The settings of an exploration.

use std::time::Duration;

use fencepost_monitor::MonitoredModel;

use crate::schedule::Schedule;

/// Which executions to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// One execution per equivalence class.
    Exhaustive,
    /// All executions with 0, then 1, 2, … preemptions, up to a bound.
    Bounded {
        /// The largest bound.
        preemptions: u32,
    },
    /// `Bounded` and `Exhaustive` in turns, until one of the two has finished.
    BoundedOrExhaustive {
        /// The largest bound.
        preemptions: u32,
    },
    /// A random walk: the next thread is drawn uniformly from the enabled ones.
    Random {
        /// The seed of the random numbers.
        seed: u64,
        /// The number of executions.
        executions: u64,
    },
    /// As `Random`, but the thread that ran last mostly continues, even if it spins, so that loops
    /// with many rounds come to their end.
    StickyRandom {
        /// The seed of the random numbers.
        seed: u64,
        /// The number of executions.
        executions: u64,
    },
    /// Probabilistic concurrency testing (Burckhardt and others, 2010): threads have random
    /// priorities, which change at a few random points.
    Pct {
        /// The seed of the random numbers.
        seed: u64,
        /// The number of executions.
        executions: u64,
        /// The depth of the bugs to look for: one more than the number of priority changes.
        depth: u32,
    },
    /// The execution with this schedule.
    Replay(Schedule),
}

/// When a thread that spins continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpinRule {
    /// When something that it read has changed. This assumes that its loop only waits.
    UntilChange,
    /// After at most this many rounds without a change. Executions that need more are not run.
    Bound(u32),
}

/// The settings of an exploration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Which executions to run.
    pub strategy: Strategy,
    /// The memory model whose store-buffer violations the monitor detects.
    pub monitored_model: MonitoredModel,
    /// Every execution starts with these turns. They are not explored: no race with them is
    /// reversed, and steps and bounds are counted from their end on. Joins are not turns, so a
    /// prefix has none. The schedules of counterexamples start with the prefix; the schedule of
    /// [`Strategy::Replay`] follows it. An exploration with a prefix has no checkpoints and no
    /// monitor.
    pub prefix: Schedule,
    /// Whether to continue after the first finding.
    pub continue_after_failure: bool,
    /// When spinning threads continue.
    pub spin: SpinRule,
    /// How often a spinning thread may find nothing changed, while no other thread is enabled,
    /// before the execution is a livelock.
    pub livelock_after: u32,
    /// Stop an execution after this many operations.
    pub max_steps: u64,
    /// Stop after this many executions, including abandoned ones.
    pub max_executions: Option<u64>,
    /// Stop after this time.
    pub max_time: Option<Duration>,
    /// The number of threads of the operating system that explore.
    pub workers: usize,
    /// The memory limit of the explorer per worker, in bytes.
    pub memory: usize,
    /// Whether workers share their work even if none is idle. For tests: sharing does not depend on
    /// timing then.
    #[doc(hidden)]
    pub always_share_work: bool,
    /// The number of findings that are kept; all are counted.
    pub kept_findings: usize,
}

/// The default of [`Settings::livelock_after`]: a loop may count its rounds and give up.
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
