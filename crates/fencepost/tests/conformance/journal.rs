//! What the threads of a program have seen.
#![allow(dead_code)] // Not every test uses all of it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The results of each thread's operations, in their order.
pub type Results = Vec<Vec<u32>>;

/// How an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// All threads have ended.
    Done,
    /// The threads that have not ended wait for each other.
    Blocked,
}

/// The outcome of an execution.
pub type Outcome = (End, Results);

/// The results of all executions of a check. The lock is one of `std`, which a check does not see.
pub type AllResults = Arc<Mutex<BTreeSet<Results>>>;

/// Collects the results of one execution. Its lock is one of `std`, which a check does not see: no thread reads what
/// another one has written. All threads have it until they end, and so have thread-local values until they are dropped.
#[derive(Default)]
pub struct Journal {
    results: Mutex<Results>,
    /// How many threads and thread-local values there are that have not ended.
    running: AtomicUsize,
    /// Where the results are added at the end of the execution. Those of one that is blocked, or that the check stops in
    /// the middle, are not.
    all: Option<AllResults>,
}

impl Journal {
    /// Adds the results to those of other executions when it is dropped, if all threads have ended.
    pub fn adding_to(all: AllResults) -> Self {
        let mut journal = Journal::default();
        journal.all = Some(all);
        journal
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

    pub fn results(&self) -> Results {
        self.results.lock().unwrap().clone()
    }

    /// Forgets the results, for the next execution.
    pub fn clear(&self) {
        self.results.lock().unwrap().clear();
        self.running.store(0, Relaxed);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if *self.running.get_mut() > 0 {
            return;
        }
        if let Some(all) = &self.all {
            let results = std::mem::take(self.results.get_mut().unwrap());
            all.lock().unwrap().insert(results);
        }
    }
}
