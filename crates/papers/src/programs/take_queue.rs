//! A queue of work: its owner pushes and pops at one end, and others steal from the other end. SOBER
//! (Burckhardt and Musuvathi, 2008) has such a queue of a production library, as `takequeue`; this one is the
//! protocol of Frigo, Leiserson and Randall (*The implementation of the Cilk-5 multithreaded language*, 1998),
//! in which the owner takes no lock unless it meets a thief.
//!
//! **The bug:** owner and thief each announce what they take, by `tail` and `head`, and look at the other's
//! announcement. While one waits in a store buffer, both take the last item. **The fix:** a fence between the
//! two; under PSO also `Release` for the store by which a pushed item can be seen.

use fencepost::sync::Mutex;
use fencepost::sync::atomic::Ordering::{Relaxed, SeqCst};
use fencepost::sync::atomic::{AtomicIsize, AtomicU32};
use fencepost::thread;

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("take_queue.rs"));

/// Items are from `head` to below `tail`.
struct TakeQueue {
    items: [AtomicU32; 2],
    head: AtomicIsize,
    tail: AtomicIsize,
    stealing: Mutex<()>,
    version: Version,
}

impl TakeQueue {
    fn new(version: Version) -> Self {
        TakeQueue {
            items: ["item0", "item1"].map(|name| AtomicU32::new(0).named(name)),
            head: AtomicIsize::new(0),
            tail: AtomicIsize::new(0),
            stealing: Mutex::new(()),
            version,
        }
    }

    fn item(&self, at: isize) -> &AtomicU32 {
        &self.items[usize::try_from(at).expect("it is not below the first")]
    }

    /// For the owner.
    fn push(&self, item: u32) {
        let tail = self.tail.load(Relaxed);
        self.item(tail).store(item, Relaxed);
        self.tail.store(tail + 1, self.version.release());
    }

    /// For the owner.
    fn pop(&self) -> Option<u32> {
        let last = self.tail.load(Relaxed) - 1;
        self.tail.store(last, Relaxed);
        self.version.fence(SeqCst);
        if self.head.load(Relaxed) <= last {
            return Some(self.item(last).load(Relaxed));
        }
        // It is empty, or a thief is there.
        let _guard = self.stealing.lock().unwrap();
        if self.head.load(Relaxed) <= last {
            return Some(self.item(last).load(Relaxed));
        }
        self.tail.store(last + 1, Relaxed);
        None
    }

    /// For thieves.
    fn steal(&self) -> Option<u32> {
        let _guard = self.stealing.lock().unwrap();
        let first = self.head.load(Relaxed);
        self.head.store(first + 1, Relaxed);
        self.version.fence(SeqCst);
        if first < self.tail.load(Relaxed) {
            return Some(self.item(first).load(Relaxed));
        }
        self.head.store(first, Relaxed);
        None
    }
}

/// The owner pushes two items and pops until there are none, while a thief steals one: six operations. Each
/// item is taken once.
pub fn program(version: Version) {
    let queue = TakeQueue::new(version);
    queue.push(1);

    let (popped, stolen) = thread::scope(|scope| {
        let thief = scope.spawn(|| queue.steal());
        let first = queue.pop();
        queue.push(2);
        let popped = [first, queue.pop(), queue.pop()];
        (popped, thief.join().unwrap())
    });
    let mut taken: Vec<u32> = popped.into_iter().chain([stolen]).flatten().collect();
    taken.sort_unstable();
    assert_eq!(taken, [1, 2], "each item is taken once");
}
