//! Where workers come together between two executions, each with what it has done, so that one of
//! them can write down where all of them are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

/// A place to meet.
pub(crate) struct CheckpointBarrier<T> {
    workers: usize,
    is_called: AtomicBool,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    brought: Vec<T>,
    /// How many workers were to be there, and are not.
    absent: usize,
    /// How many meetings there were.
    held: u64,
    /// A worker has left for good: there is no barrier any more.
    is_over: bool,
}

impl<T> CheckpointBarrier<T> {
    pub(crate) fn new(workers: usize) -> Self {
        let state = State {
            brought: Vec::new(),
            absent: 0,
            held: 0,
            is_over: false,
        };
        CheckpointBarrier {
            workers,
            is_called: AtomicBool::new(false),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("no worker panics at a barrier")
    }

    /// Asks all workers to come.
    pub(crate) fn call(&self) {
        self.is_called.store(true, Ordering::Relaxed);
    }

    /// A worker that was to be there will not. Said before anybody is called.
    #[cold]
    pub(crate) fn deregister_worker(&self) {
        self.lock().absent += 1;
    }

    /// Whether this worker is to come.
    #[inline]
    pub(crate) fn is_called(&self) -> bool {
        self.is_called.load(Ordering::Relaxed)
    }

    /// Comes and waits for the others. The last one does what is to be done, while the others wait.
    pub(crate) fn attend(&self, brought: T, act: impl FnOnce(Vec<T>)) {
        let mut state = self.lock();
        if state.is_over {
            self.is_called.store(false, Ordering::Relaxed);
            return;
        }
        state.brought.push(brought);
        if state.brought.len() + state.absent >= self.workers {
            let brought = std::mem::take(&mut state.brought);
            act(brought);
            state.held += 1;
            self.is_called.store(false, Ordering::Relaxed);
            self.changed.notify_all();
            return;
        }
        let held = state.held;
        while state.held == held && !state.is_over {
            state = self.changed.wait(state).expect("no worker panics");
        }
    }

    /// While it lives, the worker can be waited for.
    pub(crate) fn stay(&self) -> impl Drop + use<'_, T> {
        struct Stay<'a, T>(&'a CheckpointBarrier<T>);
        impl<T> Drop for Stay<'_, T> {
            fn drop(&mut self) {
                // A panic of one worker is handed on by the explorer.
                let state = self.0.state.lock();
                state.unwrap_or_else(|e| e.into_inner()).is_over = true;
                self.0.changed.notify_all();
            }
        }
        Stay(self)
    }
}
