//! What the threads of a program have seen.

use std::sync::Mutex;

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

/// Collects the results of one execution. Its lock is one of `std`, which a check does not see: no thread reads what
/// another one has written.
#[derive(Default)]
pub struct Journal(Mutex<Results>);

impl Journal {
    pub fn add(&self, thread: usize, result: u32) {
        let mut results = self.0.lock().unwrap();
        if results.len() <= thread {
            results.resize(thread + 1, Vec::new());
        }
        results[thread].push(result);
    }

    /// A thread or a thread-local value is there. Here an execution ends when nobody has the journal.
    pub fn begin(&self) {}

    /// A thread or the destructor of a thread-local value has ended.
    pub fn end(&self) {}

    pub fn results(&self) -> Results {
        self.0.lock().unwrap().clone()
    }

    /// Forgets the results, for the next execution.
    pub fn clear(&self) {
        self.0.lock().unwrap().clear();
    }
}
