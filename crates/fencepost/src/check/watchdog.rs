//! Says that a program has come to no step for long: probably it never will.
//!
//! A thread of the program that loops without a checked operation, or waits for a lock of `std` that
//! another one holds across a step, keeps the worker for ever, and nobody can take it away. One thread looks
//! after the workers of all checks; it ends when there are none.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use fencepost_runtime::heartbeat::{Heartbeat, RunningThread};
use fencepost_runtime::{Names, Registry};

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Without a step for so long, it is said. Our own tests are less patient.
fn patience() -> Duration {
    let ours = std::env::var("FENCEPOST_TEST_PATIENCE").ok();
    let seconds = ours.and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(10))
}

/// A worker that is looked after.
struct Watched {
    heartbeat: Weak<Heartbeat>,
    registry: Arc<Registry>,
    /// The turn that was seen last, when it was seen first, and whether it was spoken of.
    seen: Option<(RunningThread, Instant, bool)>,
}

#[derive(Default)]
struct Watching {
    workers: Vec<Watched>,
    is_running: bool,
}

static WATCHING: Mutex<Option<Watching>> = Mutex::new(None);

fn watching() -> MutexGuard<'static, Option<Watching>> {
    WATCHING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks after a worker until it is gone.
pub(super) fn watch(heartbeat: &Arc<Heartbeat>, registry: &Arc<Registry>) {
    let mut guard = watching();
    let watching = guard.get_or_insert_default();
    watching.workers.push(Watched {
        heartbeat: Arc::downgrade(heartbeat),
        registry: Arc::clone(registry),
        seen: None,
    });
    if !watching.is_running {
        let thread = std::thread::Builder::new().name("fencepost watchdog".to_owned());
        // Without it the check is as good.
        watching.is_running = thread.spawn(look_after_all).is_ok();
    }
}

fn look_after_all() {
    loop {
        std::thread::sleep(PAUSE);
        let mut guard = watching();
        let watching = guard.get_or_insert_default();
        let now = Instant::now();
        watching.workers.retain_mut(|worker| worker.look(now));
        if watching.workers.is_empty() {
            watching.is_running = false;
            return;
        }
    }
}

impl Watched {
    /// Whether the worker is still there.
    fn look(&mut self, now: Instant) -> bool {
        let Some(heartbeat) = self.heartbeat.upgrade() else {
            return false;
        };
        let Some(turn) = heartbeat.turn() else {
            self.seen = None;
            return true;
        };
        match &mut self.seen {
            Some((seen, first, is_told)) if *seen == turn => {
                let stood = now.duration_since(*first);
                if stood >= patience() && !std::mem::replace(is_told, true) {
                    let names = Names::new(&self.registry, |_, _| None);
                    // Not `eprintln!`, which tests keep until their end.
                    let line = complaint(names.thread(turn.thread), turn);
                    let _ = std::io::stderr().lock().write_all(line.as_bytes());
                }
            }
            seen => *seen = Some((turn, now, false)),
        }
        true
    }
}

fn complaint(thread: &str, turn: RunningThread) -> String {
    format!(
        "fencepost: no step for {} s: {thread} has been running since {} without coming to an operation that is \
         checked. Is there a loop without one, or a lock of `std` that another thread holds?\n",
        patience().as_secs(),
        turn.since,
    )
}
