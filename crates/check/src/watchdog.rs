//! Warns if a program performs no step for a while: it probably never will.
//!
//! A thread of the program that loops without a checked operation, or waits for a lock of `std` that another
//! thread holds across a step, blocks its worker forever, and nothing can interrupt it. One background thread
//! polls the workers of all checks; it ends when there are none.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use fencepost_report::check::progress::stall_warning;
use fencepost_runtime::heartbeat::{Heartbeat, RunningThread};
use fencepost_runtime::{Names, Registry};

/// Time between two polls.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time without a step after which the warning is printed. Our own tests set a shorter one.
fn patience() -> Duration {
    let ours = std::env::var("FENCEPOST_TEST_PATIENCE").ok();
    let seconds = ours.and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(10))
}

/// A worker that is polled.
struct WatchedWorker {
    heartbeat: Weak<Heartbeat>,
    registry: Arc<Registry>,
    /// The latest turn, when it was first seen, and whether a warning was printed.
    seen: Option<(RunningThread, Instant, bool)>,
}

#[derive(Default)]
struct Watchdog {
    workers: Vec<WatchedWorker>,
    is_running: bool,
}

static WATCHDOG: Mutex<Option<Watchdog>> = Mutex::new(None);

fn watchdog() -> MutexGuard<'static, Option<Watchdog>> {
    WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Polls a worker until it is dropped.
pub(super) fn watch(heartbeat: &Arc<Heartbeat>, registry: &Arc<Registry>) {
    let mut guard = watchdog();
    let watchdog = guard.get_or_insert_default();
    watchdog.workers.push(WatchedWorker {
        heartbeat: Arc::downgrade(heartbeat),
        registry: Arc::clone(registry),
        seen: None,
    });
    if !watchdog.is_running {
        let thread = std::thread::Builder::new().name("fencepost watchdog".to_owned());
        // The check works without it.
        watchdog.is_running = thread.spawn(poll_all).is_ok();
    }
}

fn poll_all() {
    loop {
        std::thread::sleep(POLL_INTERVAL);
        let mut guard = watchdog();
        let watchdog = guard.get_or_insert_default();
        let now = Instant::now();
        watchdog.workers.retain_mut(|worker| worker.poll(now));
        if watchdog.workers.is_empty() {
            watchdog.is_running = false;
            return;
        }
    }
}

impl WatchedWorker {
    /// Warns if the worker has stalled. False if the worker is gone.
    fn poll(&mut self, now: Instant) -> bool {
        let Some(heartbeat) = self.heartbeat.upgrade() else {
            return false;
        };
        let Some(turn) = heartbeat.turn() else {
            self.seen = None;
            return true;
        };
        match &mut self.seen {
            Some((seen, first, is_reported)) if *seen == turn => {
                let stalled_for = now.duration_since(*first);
                if stalled_for >= patience() && !std::mem::replace(is_reported, true) {
                    let names = Names::new(&self.registry, |_, _| None);
                    // Not `eprintln!`, which the test harness captures.
                    let warning = stall_warning(names.thread(turn.thread), &turn.since, patience());
                    let _ = writeln!(std::io::stderr().lock(), "{warning}");
                }
            }
            seen => *seen = Some((turn, now, false)),
        }
        true
    }
}
