//! The two-lock queue of Michael and Scott (*Simple, fast, and practical non-blocking and blocking concurrent
//! queue algorithms*, 1996), `ms2` in BSS (Burnim, Sen and Stergiou, *Sound and complete monitoring of
//! sequential consistency in relaxed memory models*, 2010).
//!
//! **The bug**, under PSO only: the locks of the two ends are different ones, so nothing but the link orders a
//! node's contents before who takes it, and the store of the link can overtake those of the contents.
//! **The fix:** `Release` for the link.

use fencepost::sync::Mutex;
use fencepost::sync::atomic::Ordering::Relaxed;
use fencepost::sync::atomic::{AtomicU32, AtomicUsize};
use fencepost::thread;

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("ms2.rs"));

/// No node.
const NIL: usize = 0;
/// The node that is there at the beginning. Its value is no item.
const DUMMY: usize = 1;
const NODES: usize = 5;

struct Node {
    value: AtomicU32,
    next: AtomicUsize,
}

struct Queue {
    nodes: [Node; NODES],
    head: AtomicUsize,
    tail: AtomicUsize,
    taking: Mutex<()>,
    putting: Mutex<()>,
    version: Version,
}

impl Queue {
    fn new(version: Version) -> Self {
        Queue {
            nodes: std::array::from_fn(|node| Node {
                value: AtomicU32::new(0).named(&format!("node{node}.value")),
                next: AtomicUsize::new(NIL).named(&format!("node{node}.next")),
            }),
            head: AtomicUsize::new(DUMMY),
            tail: AtomicUsize::new(DUMMY),
            taking: Mutex::new(()),
            putting: Mutex::new(()),
            version,
        }
    }

    /// Puts an item at the end, in a node that was not used before.
    fn enqueue(&self, node: usize, value: u32) {
        self.nodes[node].value.store(value, Relaxed);
        self.nodes[node].next.store(NIL, Relaxed);
        let _guard = self.putting.lock().unwrap();
        let last = self.tail.load(Relaxed);
        self.nodes[last].next.store(node, self.version.release());
        self.tail.store(node, Relaxed);
    }

    /// Takes the first item.
    fn dequeue(&self) -> Option<u32> {
        let _guard = self.taking.lock().unwrap();
        let first = self.head.load(Relaxed);
        let next = self.nodes[first].next.load(Relaxed);
        if next == NIL {
            return None;
        }
        let value = self.nodes[next].value.load(Relaxed);
        self.head.store(next, Relaxed);
        Some(value)
    }
}

/// One thread puts in two items, one puts in one, and one tries to take two. Each item comes out once, and the
/// two in their order.
pub fn program(version: Version) {
    let queue = Queue::new(version);

    let mut taken: Vec<u32> = thread::scope(|scope| {
        scope.spawn(|| {
            queue.enqueue(2, 10);
            queue.enqueue(3, 20);
        });
        scope.spawn(|| queue.enqueue(4, 30));
        let taking = scope.spawn(|| [queue.dequeue(), queue.dequeue()]);
        taking.join().unwrap().into_iter().flatten().collect()
    });
    taken.extend(std::iter::from_fn(|| queue.dequeue()));
    let others: Vec<u32> = taken.iter().copied().filter(|item| *item != 30).collect();
    assert_eq!(taken.len(), 3, "each item comes out once");
    assert_eq!(others, [10, 20], "first in, first out");
}
