//! Snark, a deque whose ends are changed by double compare-and-swap (Detlefs, Flood, Garthwaite, Martin, Shavit
//! and Steele, *Even better DCAS-based concurrent deques*, 2000), `snark` in BSS (Burnim, Sen and Stergiou, *Sound
//! and complete monitoring of sequential consistency in relaxed memory models*, 2010).
//!
//! **The bug**, under PSO only: the operation that links a node can overtake the stores that have filled it.
//! Under TSO it drains the store buffer. **The fix:** a store barrier before it.
//!
//! Snark is also wrong under sequential consistency (Doherty and others, *DCAS is not a silver bullet for
//! nonblocking algorithm design*, 2004): [`is_never_empty`] shows it. And what is left out here, to clear a node
//! that was taken, for a garbage collector, would make it unsafe under TSO, if not in a way that matters.

use fencepost::sync::atomic::Ordering::{Relaxed, Release};
use fencepost::sync::atomic::{AtomicU32, AtomicUsize, double_compare_exchange};
use fencepost::thread;

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("snark.rs"));

/// The node beyond both ends, whose links are to itself.
const DUMMY: usize = 0;
const NODES: usize = 3;

const LEFT: usize = 0;
const RIGHT: usize = 1;

struct Node {
    value: AtomicU32,
    /// To the left and to the right. A link to itself is in a node that is no part of the deque.
    links: [AtomicUsize; 2],
}

struct Deque {
    nodes: [Node; NODES],
    /// The nodes at the left and at the right end.
    hats: [AtomicUsize; 2],
    version: Version,
}

impl Deque {
    fn new(version: Version) -> Self {
        let link = |node, side| AtomicUsize::new(DUMMY).named(&format!("node{node}.{side}"));
        Deque {
            nodes: std::array::from_fn(|node| Node {
                value: AtomicU32::new(0).named(&format!("node{node}.value")),
                links: ["left", "right"].map(|side| link(node, side)),
            }),
            hats: ["left_hat", "right_hat"].map(|name| AtomicUsize::new(DUMMY).named(name)),
            version,
        }
    }

    /// Adds an item at one side, in a node that was not used before.
    fn push(&self, side: usize, node: usize, value: u32) {
        let new = &self.nodes[node];
        new.links[side].store(DUMMY, Relaxed);
        new.value.store(value, Relaxed);
        loop {
            let end = self.hats[side].load(Relaxed);
            let beyond = self.nodes[end].links[side].load(Relaxed);
            let (other, expected) = if beyond == end {
                // It is empty, so the node is at the other end too.
                new.links[1 - side].store(DUMMY, Relaxed);
                let other = &self.hats[1 - side];
                (other, other.load(Relaxed))
            } else {
                new.links[1 - side].store(end, Relaxed);
                (&self.nodes[end].links[side], beyond)
            };
            self.version.fence(Release);
            if double_compare_exchange([&self.hats[side], other], [end, expected], [node, node]) {
                return;
            }
        }
    }

    /// Takes the item at one side.
    fn pop(&self, side: usize) -> Option<u32> {
        let hats = [&self.hats[side], &self.hats[1 - side]];
        loop {
            let end = self.hats[side].load(Relaxed);
            let other_end = self.hats[1 - side].load(Relaxed);
            let node = &self.nodes[end];
            if node.links[side].load(Relaxed) == end {
                return None;
            }
            if end == other_end {
                if double_compare_exchange(hats, [end, end], [DUMMY, DUMMY]) {
                    return Some(node.value.load(Relaxed));
                }
                continue;
            }
            let link = &node.links[1 - side];
            let inner = link.load(Relaxed);
            if double_compare_exchange([&self.hats[side], link], [end, inner], [inner, end]) {
                return Some(node.value.load(Relaxed));
            }
        }
    }
}

/// One thread pushes at the left and tries to pop there, one pushes at the right, and one tries to pop there.
/// Each item is taken once.
pub fn program(version: Version) {
    let deque = Deque::new(version);

    let mut taken: Vec<u32> = thread::scope(|scope| {
        let left = scope.spawn(|| {
            deque.push(LEFT, 1, 10);
            deque.pop(LEFT)
        });
        scope.spawn(|| deque.push(RIGHT, 2, 20));
        let right = scope.spawn(|| deque.pop(RIGHT));
        let taken = [left, right].map(|thread| thread.join().unwrap());
        taken.into_iter().flatten().collect()
    });
    taken.extend(std::iter::from_fn(|| deque.pop(LEFT)));
    taken.sort_unstable();
    assert_eq!(taken, [10, 20], "each item is taken once");
}

/// There is always an item, but a thread that tries to pop one may find none: it has looked at the node that
/// was at the end, and that was taken from the other side.
pub fn is_never_empty(version: Version) {
    let deque = Deque::new(version);
    deque.push(RIGHT, 1, 10);

    let taken = thread::scope(|scope| {
        scope.spawn(|| {
            deque.push(RIGHT, 2, 20);
            deque.pop(LEFT)
        });
        scope.spawn(|| deque.pop(RIGHT)).join().unwrap()
    });
    assert!(taken.is_some(), "the deque is never empty");
}
