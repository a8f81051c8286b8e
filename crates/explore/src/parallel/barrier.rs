//! A barrier between two executions, at which each worker hands in its results, so that one of them
//! can save a checkpoint of all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

/// The barrier. It is open until a worker requests a checkpoint.
pub(crate) struct CheckpointBarrier<T> {
    workers: usize,
    is_requested: AtomicBool,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    /// The results of the workers that have arrived.
    results: Vec<T>,
    /// The number of workers that could not be spawned.
    missing: usize,
    /// The number of checkpoints so far.
    generation: u64,
    /// Whether a worker has finished. From then on nobody waits.
    is_over: bool,
}

impl<T> CheckpointBarrier<T> {
    pub(crate) fn new(workers: usize) -> Self {
        let state = State {
            results: Vec::new(),
            missing: 0,
            generation: 0,
            is_over: false,
        };
        CheckpointBarrier {
            workers,
            is_requested: AtomicBool::new(false),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("no worker panics at a barrier")
    }

    /// Asks all workers to come to the barrier.
    pub(crate) fn request(&self) {
        self.is_requested.store(true, Ordering::Relaxed);
    }

    /// Notes that a worker could not be spawned. Called before any request.
    #[cold]
    pub(crate) fn deregister_worker(&self) {
        self.lock().missing += 1;
    }

    /// Whether workers are to come to the barrier.
    #[inline]
    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Relaxed)
    }

    /// Hands in this worker's results and waits for the others. The last worker to arrive runs
    /// `save` with all results while the others wait.
    pub(crate) fn wait(&self, results: T, save: impl FnOnce(Vec<T>)) {
        let mut state = self.lock();
        if state.is_over {
            self.is_requested.store(false, Ordering::Relaxed);
            return;
        }
        state.results.push(results);
        if state.results.len() + state.missing >= self.workers {
            let results = std::mem::take(&mut state.results);
            save(results);
            state.generation += 1;
            self.is_requested.store(false, Ordering::Relaxed);
            self.changed.notify_all();
            return;
        }
        let generation = state.generation;
        while state.generation == generation && !state.is_over {
            state = self.changed.wait(state).expect("no worker panics");
        }
    }

    /// The others can wait for this worker while the guard lives.
    pub(crate) fn membership(&self) -> impl Drop + use<'_, T> {
        struct Membership<'a, T>(&'a CheckpointBarrier<T>);
        impl<T> Drop for Membership<'_, T> {
            fn drop(&mut self) {
                // The driver propagates a worker's panic.
                let state = self.0.state.lock();
                state.unwrap_or_else(|e| e.into_inner()).is_over = true;
                self.0.changed.notify_all();
            }
        }
        Membership(self)
    }
}
