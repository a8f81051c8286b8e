//! Snark, a deque whose ends are changed by double compare-and-swap (Detlefs, Flood, Garthwaite, Martin, Shavit
//! and Steele, *Even better DCAS-based concurrent deques*, 2000), `snark` in BSS (Burnim, Sen and Stergiou, *Sound
//! and complete monitoring of sequential consistency in relaxed memory models*, 2010).
//!
//! **The bug**, under PSO only: the operation that links a node can overtake the stores that have filled it.
//! Under TSO it drains the store buffer. **The fix:** a store barrier before it.
//!
//! Snark is also wrong under sequential consistency (Doherty and others, *DCAS is not a silver bullet for
//! nonblocking algorithm design*, 2004), which takes more operations than the program here has.

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
            if double_compare_exchange([other, &self.hats[side]], [expected, end], [node, node]) {
                return;
            }
        }
    }

    /// Takes the item at one side.
    fn pop(&self, side: usize) -> Option<u32> {
        let hats = [&self.hats[1 - side], &self.hats[side]];
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
            if double_compare_exchange([link, &self.hats[side]], [inner, end], [end, inner]) {
                let value = node.value.load(Relaxed);
                node.links[side].store(DUMMY, Relaxed);
                node.value.store(0, Relaxed);
                return Some(value);
            }
        }
    }
}

/// Two threads, one at each side, both push an item and try to pop one. Each item is taken once.
pub fn program(version: Version) {
    let deque = Deque::new(version);

    let mut taken: Vec<u32> = thread::scope(|scope| {
        let threads = [(LEFT, 1), (RIGHT, 2)].map(|(side, node)| {
            let deque = &deque;
            scope.spawn(move || {
                deque.push(side, node, node as u32);
                deque.pop(side)
            })
        });
        let taken = threads.map(|thread| thread.join().unwrap());
        taken.into_iter().flatten().collect()
    });
    taken.extend(std::iter::from_fn(|| deque.pop(LEFT)));
    taken.sort_unstable();
    assert_eq!(taken, [1, 2], "each item is taken once");
}
