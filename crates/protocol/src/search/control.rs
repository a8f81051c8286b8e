//! What a search listens to while it runs, and what it tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::checkpoint::Saved;
use super::report::{Progress, Watch};
use crate::reference::Bound;
use crate::state::Store;

/// How often it is looked whether to end, and progress is told.
const TICK: Duration = Duration::from_millis(100);

/// What all threads of a search look at.
pub(super) struct Control<'w> {
    watch: &'w dyn Watch,
    stop: Arc<AtomicBool>,
    is_done: AtomicBool,
    /// Why it ends, if it does: whether there was no time left.
    is_late: AtomicBool,
    begin: Instant,
    deadline: Option<Instant>,
    /// In a cache line of its own, since threads change it often.
    counts: CachePadded<Counts>,
    depth: AtomicU64,
    /// How often the search is saved.
    saved_every: Option<Duration>,
    is_paused: AtomicBool,
}

/// What is counted for the progress that is shown.
#[derive(Default)]
struct Counts {
    rules_fired: AtomicU64,
    queue: AtomicU64,
    walked: AtomicU64,
}

impl<'w> Control<'w> {
    pub fn new(
        watch: &'w dyn Watch,
        time: Option<Duration>,
        saved_every: Option<Duration>,
    ) -> Self {
        let begin = Instant::now();
        Control {
            watch,
            stop: Arc::new(AtomicBool::new(false)),
            is_done: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
            begin,
            deadline: time.and_then(|time| begin.checked_add(time)),
            counts: CachePadded::default(),
            depth: AtomicU64::new(0),
            saved_every,
            is_paused: AtomicBool::new(false),
        }
    }

    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether to end, or to wait for a search to be saved, before the next state. What is
    /// running is interrupted only to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.is_paused.load(Ordering::Relaxed)
    }

    /// Why the search was told to end.
    pub fn reason(&self) -> Bound {
        match self.is_late.load(Ordering::Relaxed) {
            true => Bound::Time,
            false => Bound::Stopped,
        }
    }

    /// States at this distance are looked at next.
    pub fn at(&self, depth: u64, queue: u64) {
        self.depth.store(depth, Ordering::Relaxed);
        self.counts.queue.store(queue, Ordering::Relaxed);
    }

    /// So many rules were fired in so many states.
    pub fn count(&self, rules_fired: u64, states: u64) {
        self.counts
            .rules_fired
            .fetch_add(rules_fired, Ordering::Relaxed);
        // Another thread may count what is not in the queue any more.
        let less = |queue: u64| Some(queue.saturating_sub(states));
        let _ = self
            .counts
            .queue
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Random walks looked at so many more states, and fired so many rules, by this thread so far.
    pub fn walked(&self, states: u64, rules_fired: u64) {
        self.counts.walked.fetch_max(states, Ordering::Relaxed);
        self.counts
            .rules_fired
            .fetch_max(rules_fired, Ordering::Relaxed);
    }

    /// Whether the search is to be saved and go on; then it may.
    pub fn take_pause(&self) -> bool {
        let is_pause = self.is_paused.swap(false, Ordering::Relaxed);
        is_pause && !self.stop.load(Ordering::Relaxed)
    }

    pub fn save(&self, saved: &Saved<'_>) {
        self.watch.save(saved);
    }

    /// Runs a search, with a thread beside it that watches.
    pub fn watched<T>(&self, store: &Store, run: impl FnOnce() -> T) -> T {
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
        while !self.is_done.load(Ordering::Relaxed) {
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                self.is_late.store(true, Ordering::Relaxed);
                self.stop.store(true, Ordering::Relaxed);
            } else if self.watch.is_stopped() {
                self.stop.store(true, Ordering::Relaxed);
            } else if self.saved_every.is_some_and(|every| now - saved >= every) {
                saved = now;
                self.is_paused.store(true, Ordering::Relaxed);
            }
            self.watch.progress(&Progress {
                states: store
                    .count()
                    .max(self.counts.walked.load(Ordering::Relaxed)),
                rules_fired: self.counts.rules_fired.load(Ordering::Relaxed),
                queue: self.counts.queue.load(Ordering::Relaxed),
                depth: self.depth.load(Ordering::Relaxed),
                memory: store.bytes(),
                elapsed: self.begin.elapsed(),
            });
            let until = self.deadline.map_or(TICK, |deadline| {
                deadline.saturating_duration_since(now).min(TICK)
            });
            std::thread::park_timeout(until.max(Duration::from_millis(1)));
        }
    }
}
