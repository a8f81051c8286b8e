//! Limits, progress and pauses of a running search.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::callbacks::{SearchCallbacks, SearchProgress};
use super::checkpoint::SearchCheckpoint;
use crate::outcome::Bound;
use crate::state::Store;

/// The time between two checks of the limits, and two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// State that all workers of a search share: stop flag, deadline and counters.
pub(super) struct Control<'w> {
    callbacks: &'w dyn SearchCallbacks,
    stop: Arc<AtomicBool>,
    is_done: AtomicBool,
    /// Whether the deadline stopped the search.
    is_late: AtomicBool,
    begin: Instant,
    deadline: Option<Instant>,
    /// In a cache line of its own, since all workers update it.
    counts: CachePadded<Counts>,
    depth: AtomicU64,
    tail: Mutex<LevelWidths>,
    /// The number of random walks.
    walks: AtomicU64,
    /// The time between two checkpoints.
    checkpoint_interval: Option<Duration>,
    is_paused: AtomicBool,
}

/// Counters for the progress reports.
#[derive(Default)]
struct Counts {
    rules_fired: AtomicU64,
    expanded: AtomicU64,
    queue: AtomicU64,
    /// The states of random walks, and the walks that ended.
    walked: AtomicU64,
    walks: AtomicU64,
}

/// The number of states of the last four levels.
#[derive(Default)]
struct LevelWidths {
    depth: u64,
    widths: [u64; 4],
}

impl LevelWidths {
    fn add(&mut self, depth: u64, width: u64) {
        // A search that was saved continues on the same level.
        if depth != self.depth || self.widths[3] == 0 {
            self.depth = depth;
            self.widths.rotate_left(1);
            self.widths[3] = width;
        }
    }

    /// The estimated number of states beyond this level, if the last levels have become smaller and
    /// smaller: assumes that later levels shrink at the slowest of these rates.
    fn beyond(&self) -> Option<f64> {
        let mut slowest: f64 = 0.0;
        for pair in self.widths.windows(2) {
            if pair[0] == 0 || pair[1] >= pair[0] {
                return None;
            }
            slowest = slowest.max(pair[1] as f64 / pair[0] as f64);
        }
        Some(self.widths[3] as f64 * slowest / (1.0 - slowest))
    }
}

impl<'w> Control<'w> {
    pub fn new(
        callbacks: &'w dyn SearchCallbacks,
        time: Option<Duration>,
        checkpoint_interval: Option<Duration>,
    ) -> Self {
        let begin = Instant::now();
        Control {
            callbacks,
            stop: Arc::new(AtomicBool::new(false)),
            is_done: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
            begin,
            deadline: time.and_then(|time| begin.checked_add(time)),
            counts: CachePadded::default(),
            depth: AtomicU64::new(0),
            tail: Mutex::default(),
            walks: AtomicU64::new(0),
            checkpoint_interval,
            is_paused: AtomicBool::new(false),
        }
    }

    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether workers stop before the next state, to end the search or to save a checkpoint. A
    /// running rule is interrupted only to end the search.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.is_paused.load(Ordering::Relaxed)
    }

    /// Why the search was stopped.
    pub fn reason(&self) -> Bound {
        match self.is_late.load(Ordering::Relaxed) {
            true => Bound::Time,
            false => Bound::Stopped,
        }
    }

    /// Reports the depth and the length of the queue.
    pub fn at(&self, depth: u64, queue: u64) {
        self.depth.store(depth, Ordering::Relaxed);
        self.counts.queue.store(queue, Ordering::Relaxed);
    }

    /// Reports a new level of `width` states.
    pub fn at_level(&self, depth: u64, width: u64) {
        if let Ok(mut tail) = self.tail.lock() {
            tail.add(depth, width);
        }
        self.at(depth, width);
    }

    /// Counts rules fired and states expanded.
    pub fn count(&self, rules_fired: u64, states: u64) {
        self.counts
            .rules_fired
            .fetch_add(rules_fired, Ordering::Relaxed);
        self.counts.expanded.fetch_add(states, Ordering::Relaxed);
        // Workers may count more states than the queue has left.
        let queue = &self.counts.queue;
        let mut now = queue.load(Ordering::Relaxed);
        while let Err(other) = queue.compare_exchange_weak(
            now,
            now.saturating_sub(states),
            Ordering::Relaxed,
            Ordering::Relaxed,
        ) {
            now = other;
        }
    }

    /// Sets the number of random walks.
    pub fn expect_walks(&self, walks: u64) {
        self.walks.store(walks, Ordering::Relaxed);
    }

    /// Counts a finished random walk with its states and rules fired.
    pub fn walked(&self, states: u64, rules_fired: u64) {
        self.counts.walked.fetch_add(states, Ordering::Relaxed);
        self.counts
            .rules_fired
            .fetch_add(rules_fired, Ordering::Relaxed);
        self.counts.walks.fetch_add(1, Ordering::Relaxed);
    }

    /// The estimated remaining time, where there is an estimate.
    fn remaining(&self) -> Option<Duration> {
        let elapsed = self.begin.elapsed().as_secs_f64();
        let (walks, ended) = (&self.walks, &self.counts.walks);
        let (walks, ended) = (walks.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
        let seconds = if walks > 0 {
            elapsed / (ended > 0).then_some(ended)? as f64 * walks.saturating_sub(ended) as f64
        } else {
            let beyond = self.tail.lock().ok()?.beyond()?;
            let queue = self.counts.queue.load(Ordering::Relaxed);
            let expanded = self.counts.expanded.load(Ordering::Relaxed) as f64;
            (queue as f64 + beyond) * elapsed / (expanded > 0.0).then_some(expanded)?
        };
        let remaining = Duration::try_from_secs_f64(seconds).ok()?;
        let until = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        Some(
            self.deadline
                .map_or(remaining, |at| until(at).min(remaining)),
        )
    }

    /// Whether the workers stopped for a checkpoint; clears the request.
    pub fn take_pause(&self) -> bool {
        let is_pause = self.is_paused.swap(false, Ordering::Relaxed);
        is_pause && !self.stop.load(Ordering::Relaxed)
    }

    pub fn save(&self, saved: &SearchCheckpoint<'_>) {
        self.callbacks.checkpoint(saved);
    }

    /// Runs a search beside a thread that checks limits and reports progress.
    pub fn monitored<T>(&self, store: &Store, run: impl FnOnce() -> T) -> T {
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| self.keep_watching(store));
            let result = run();
            self.is_done.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            result
        })
    }

    fn keep_watching(&self, store: &Store) {
        let mut saved = Instant::now();
        let before = store.count();
        while !self.is_done.load(Ordering::Relaxed) {
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                self.is_late.store(true, Ordering::Relaxed);
                self.stop.store(true, Ordering::Relaxed);
            } else if self.callbacks.should_stop() {
                self.stop.store(true, Ordering::Relaxed);
            } else if self
                .checkpoint_interval
                .is_some_and(|every| now - saved >= every)
            {
                saved = now;
                self.is_paused.store(true, Ordering::Relaxed);
            }
            let states = store
                .count()
                .max(self.counts.walked.load(Ordering::Relaxed));
            self.callbacks.progress(&SearchProgress {
                states,
                new_states: states.saturating_sub(before),
                rules_fired: self.counts.rules_fired.load(Ordering::Relaxed),
                queue: self.counts.queue.load(Ordering::Relaxed),
                depth: self.depth.load(Ordering::Relaxed),
                memory: store.bytes(),
                elapsed: self.begin.elapsed(),
                remaining: self.remaining(),
            });
            let until = self.deadline.map_or(TICK, |deadline| {
                deadline.saturating_duration_since(now).min(TICK)
            });
            std::thread::park_timeout(until.max(Duration::from_millis(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(widths: &[u64]) -> LevelWidths {
        let mut tail = LevelWidths::default();
        for (depth, &width) in (0..).zip(widths) {
            tail.add(depth, width);
        }
        tail
    }

    #[test]
    fn nothing_is_said_while_there_are_more_and_more_states() {
        assert_eq!(tail(&[]).beyond(), None);
        assert_eq!(tail(&[8, 4, 2]).beyond(), None);
        assert_eq!(tail(&[1, 10, 100, 1000]).beyond(), None);
        assert_eq!(tail(&[1000, 900, 900, 800]).beyond(), None);
        assert_eq!(tail(&[1000, 900, 800, 801]).beyond(), None);
    }

    #[test]
    fn fewer_and_fewer_states_come_to_an_end() {
        // 50 + 25 + ...
        assert_eq!(tail(&[1, 800, 400, 200, 100]).beyond(), Some(100.0));
        // The slowest rate counts: three quarters.
        let beyond = tail(&[1000, 500, 375, 100]).beyond();
        assert!(beyond.is_some_and(|beyond| (beyond - 300.0).abs() < 1e-6));
    }

    #[test]
    fn going_on_at_the_same_distance_is_no_new_one() {
        let mut tail = tail(&[1, 800, 400, 200, 100]);
        tail.add(4, 60);
        assert_eq!(tail.widths, [800, 400, 200, 100]);
    }
}
