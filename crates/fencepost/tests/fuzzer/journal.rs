//! What the threads of a program have seen, collected over all executions of a check.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The results of each thread's operations, in their order.
pub type Results = Vec<Vec<u32>>;

/// The results of all executions of a check. The lock is one of `std`, which a check does not see.
pub type AllResults = Arc<Mutex<BTreeSet<Results>>>;

/// Collects the results of one execution. All threads have it until they end, so that its drop is the end of the
/// execution. The results of one that is blocked, or that the check stops in the middle, are forgotten.
pub struct Journal {
    results: Mutex<Results>,
    /// How many threads and thread-local values there are that have not ended.
    running: AtomicUsize,
    all: AllResults,
}

impl Journal {
    pub fn new(all: AllResults) -> Self {
        Journal {
            results: Mutex::default(),
            running: AtomicUsize::new(0),
            all,
        }
    }

    /// A thread or a thread-local value is there.
    pub fn begin(&self) {
        self.running.fetch_add(1, Relaxed);
    }

    /// A thread or the destructor of a thread-local value has ended.
    pub fn end(&self) {
        self.running.fetch_sub(1, Relaxed);
    }

    pub fn add(&self, thread: usize, result: u32) {
        let mut results = self.results.lock().unwrap();
        if results.len() <= thread {
            results.resize(thread + 1, Vec::new());
        }
        results[thread].push(result);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if *self.running.get_mut() > 0 {
            return;
        }
        let results = std::mem::take(self.results.get_mut().unwrap());
        self.all.lock().unwrap().insert(results);
    }
}
