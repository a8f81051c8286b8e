//! Limits on executions and time, progress, and the schedule of checkpoints.
//!
//! All workers share one [`Budget`]. Each has a [`WorkerBudget`], which asks the clock and the
//! progress callback only once every few executions.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::driver::estimate::{Estimate, SizeEstimator};
use crate::driver::report::Limit;
use crate::driver::results::SearchResults;
use crate::driver::settings::{Settings, Strategy};

/// Progress information passed to the callback.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Executions that ran to their end.
    pub executions: u64,
    /// Executions abandoned as redundant, and executions before a restart.
    pub abandoned: u64,
    /// Steps taken, without those of replayed prefixes.
    pub steps: u64,
    /// The time since the start.
    pub elapsed: Duration,
    /// The estimated total number of executions, from the explored share of the search tree.
    pub estimate: Option<Estimate>,
    /// The preemption bound that is being explored.
    pub bound: Option<u32>,
}

/// Receives the progress at intervals, and returns whether to continue.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// The number of executions between two polls of the clock and the callback.
const EXECUTIONS_PER_POLL: u64 = 64;

/// What all workers share: the limits, the counts so far, and whether to stop.
pub(super) struct Budget<'a> {
    started: Instant,
    pub(super) settings: &'a Settings,
    /// Executions started by all workers.
    runs: AtomicU64,
    /// Counts of all workers, as of each worker's last poll.
    executions: AtomicU64,
    abandoned: AtomicU64,
    steps: AtomicU64,
    limit: Mutex<Option<Limit>>,
    is_stopped: AtomicBool,
    /// Executions and time before the checkpoint that was resumed.
    previous_runs: u64,
    previous_time: Duration,
    checkpoint_interval: Option<Duration>,
    /// When the next checkpoint is due, in milliseconds from the start.
    next_checkpoint: AtomicU64,
}

impl<'a> Budget<'a> {
    pub(super) fn new<E, R>(
        settings: &'a Settings,
        previous: &SearchResults<E, R>,
        checkpoint_interval: Option<Duration>,
    ) -> Self {
        Budget {
            started: Instant::now(),
            settings,
            runs: AtomicU64::new(0),
            executions: AtomicU64::new(previous.executions),
            abandoned: AtomicU64::new(previous.abandoned),
            steps: AtomicU64::new(previous.steps),
            limit: Mutex::new(None),
            is_stopped: AtomicBool::new(false),
            previous_runs: previous.executions + previous.abandoned,
            previous_time: previous.previous_time,
            checkpoint_interval,
            next_checkpoint: AtomicU64::new(checkpoint_interval.map_or(u64::MAX, milliseconds)),
        }
    }

    /// Resets all counts, for a search that starts over.
    pub(super) fn restart<E, R>(&self, previous: &SearchResults<E, R>) {
        self.runs.store(0, Ordering::Relaxed);
        self.executions
            .store(previous.executions, Ordering::Relaxed);
        self.abandoned.store(previous.abandoned, Ordering::Relaxed);
        self.steps.store(previous.steps, Ordering::Relaxed);
    }

    /// Whether a checkpoint is due. Returns true to only one worker.
    fn is_checkpoint_due(&self, elapsed: Duration) -> bool {
        let (Some(interval), now) = (self.checkpoint_interval, milliseconds(elapsed)) else {
            return false;
        };
        let due = self.next_checkpoint.load(Ordering::Relaxed);
        let next = now.saturating_add(milliseconds(interval));
        let claim = |next| {
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            self.next_checkpoint
                .compare_exchange(due, next, success, failure)
        };
        now >= due && claim(next).is_ok()
    }

    /// Stops all workers. The first limit counts.
    pub(super) fn stop(&self, limit: Limit) {
        let mut first = self.limit.lock().expect("no worker panics here");
        first.get_or_insert(limit);
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// The limit that stopped the workers, if one did.
    pub(super) fn take_limit(&self) -> Option<Limit> {
        self.limit.lock().expect("no worker panics here").take()
    }

    /// The time since the start, including the time before a checkpoint.
    pub(super) fn elapsed(&self) -> Duration {
        self.previous_time + self.started.elapsed()
    }

    /// Whether one more execution may start.
    fn allows_another(&self) -> bool {
        if self.is_stopped() {
            return false;
        }
        if let Some(most) = self.settings.max_executions {
            if self.runs.fetch_add(1, Ordering::Relaxed) >= most {
                self.stop(Limit::Executions(self.previous_runs.saturating_add(most)));
                return false;
            }
        }
        true
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What one worker has done so far.
#[derive(Default)]
pub(super) struct WorkerProgress {
    pub(super) executions: u64,
    pub(super) abandoned: u64,
    pub(super) steps: u64,
    /// The share of the search tree that the worker has explored, if it can be estimated.
    pub(super) share: Option<SearchedShare>,
    pub(super) bound: Option<u32>,
}

/// The estimated share of the search tree that has been explored.
pub(super) struct SearchedShare {
    pub(super) fraction: f64,
    /// Whether the tree is not expected to branch further above the explored part.
    pub(super) is_stable: bool,
}

/// One worker's view of the budget.
pub(super) struct WorkerBudget<'a, 'b> {
    pub(super) budget: &'a Budget<'a>,
    /// Only one worker calls it.
    on_progress: Option<ProgressCallback<'b>>,
    estimator: SizeEstimator,
    until_poll: u64,
    executions_per_poll: u64,
    /// The executions, abandoned executions and steps that were added to the budget's counts.
    reported: (u64, u64, u64),
    is_checkpoint_due: bool,
}

impl<'a, 'b> WorkerBudget<'a, 'b> {
    pub(super) fn new(budget: &'a Budget<'a>, on_progress: Option<ProgressCallback<'b>>) -> Self {
        let executions_per_poll = match budget.checkpoint_interval {
            Some(Duration::ZERO) => 1,
            // These are few and may be long.
            _ if matches!(budget.settings.strategy, Strategy::StickyRandom { .. }) => 1,
            _ => EXECUTIONS_PER_POLL,
        };
        WorkerBudget {
            budget,
            on_progress,
            estimator: SizeEstimator::default(),
            until_poll: executions_per_poll,
            executions_per_poll,
            reported: (0, 0, 0),
            is_checkpoint_due: false,
        }
    }

    /// Whether this worker is to start a checkpoint now. Returns true once for each checkpoint.
    #[inline]
    pub(super) fn take_checkpoint_due(&mut self) -> bool {
        std::mem::take(&mut self.is_checkpoint_due)
    }

    /// Whether one more execution may start. Polls the clock and the callback every few executions.
    /// The argument of `progress` says whether the share is needed, which takes time to compute.
    #[inline]
    pub(super) fn allows_another(&mut self, progress: impl FnOnce(bool) -> WorkerProgress) -> bool {
        self.until_poll -= 1;
        if self.until_poll == 0 {
            let executions = self.budget.executions.load(Ordering::Relaxed);
            let needs_share = self.on_progress.is_some() && self.estimator.is_due(executions);
            self.poll(&progress(needs_share));
        }
        self.budget.allows_another()
    }

    /// Adds what is new to the counts of the budget, checks the time, and calls the callback.
    #[cold]
    pub(super) fn poll(&mut self, progress: &WorkerProgress) {
        self.until_poll = self.executions_per_poll;
        let budget = self.budget;
        let (executions, abandoned, steps) = self.reported;
        let add = |total: &AtomicU64, now: u64, reported: u64| {
            let more = now.wrapping_sub(reported);
            total.fetch_add(more, Ordering::Relaxed).wrapping_add(more)
        };
        let executions = add(&budget.executions, progress.executions, executions);
        let abandoned = add(&budget.abandoned, progress.abandoned, abandoned);
        let steps = add(&budget.steps, progress.steps, steps);
        self.reported = (progress.executions, progress.abandoned, progress.steps);
        let elapsed = budget.started.elapsed();
        if let Some(most) = budget.settings.max_time {
            if elapsed >= most {
                budget.stop(Limit::Time(most));
            }
        }
        self.is_checkpoint_due = budget.is_checkpoint_due(elapsed);
        let Some(on_progress) = &mut self.on_progress else {
            return;
        };
        if let Some(share) = &progress.share {
            let workers = budget.settings.workers as f64;
            let fraction = (share.fraction * workers).clamp(1e-300, 1.0);
            let total = executions as f64 / fraction;
            self.estimator.record(executions, total, share.is_stable);
        }
        let progress = Progress {
            executions,
            abandoned,
            steps,
            elapsed: budget.previous_time + elapsed,
            estimate: self.estimator.estimate(executions),
            bound: progress.bound,
        };
        if on_progress(&progress) == ControlFlow::Break(()) {
            budget.stop(Limit::Cancelled);
        }
    }
}
