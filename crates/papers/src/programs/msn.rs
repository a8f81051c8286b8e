//! The non-blocking queue of Michael and Scott (*Simple, fast, and practical non-blocking and blocking
//! concurrent queue algorithms*, 1996), `msn` in BSS (Burnim, Sen and Stergiou, *Sound and complete monitoring
//! of sequential consistency in relaxed memory models*, 2010).
//!
//! **The bug**, under PSO only: the compare-exchange that links a node can overtake the stores that have
//! filled it, so that another thread takes a value that is not there yet. Under TSO it drains the store
//! buffer. **The fix:** a store barrier before it.

use fencepost::sync::atomic::Ordering::{Relaxed, Release};
use fencepost::sync::atomic::{AtomicU32, AtomicUsize};
use fencepost::thread;

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("msn.rs"));

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
            version,
        }
    }

    /// Puts an item at the end, in a node that was not used before.
    fn enqueue(&self, node: usize, value: u32) {
        self.nodes[node].value.store(value, Relaxed);
        self.nodes[node].next.store(NIL, Relaxed);
        self.version.fence(Release);
        let last = loop {
            let last = self.tail.load(Relaxed);
            let next = self.nodes[last].next.load(Relaxed);
            if last != self.tail.load(Relaxed) {
                continue;
            }
            if next != NIL {
                // Helps who has linked a node.
                exchange(&self.tail, last, next);
            } else if exchange(&self.nodes[last].next, NIL, node) {
                break last;
            }
        };
        exchange(&self.tail, last, node);
    }

    /// Takes the first item.
    fn dequeue(&self) -> Option<u32> {
        loop {
            let first = self.head.load(Relaxed);
            let last = self.tail.load(Relaxed);
            let next = self.nodes[first].next.load(Relaxed);
            if first != self.head.load(Relaxed) {
                continue;
            }
            if first != last {
                let value = self.nodes[next].value.load(Relaxed);
                if exchange(&self.head, first, next) {
                    return Some(value);
                }
            } else if next == NIL {
                return None;
            } else {
                exchange(&self.tail, last, next);
            }
        }
    }
}

#[track_caller]
fn exchange(variable: &AtomicUsize, expected: usize, new: usize) -> bool {
    let exchanged = variable.compare_exchange(expected, new, Relaxed, Relaxed);
    exchanged.is_ok()
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
