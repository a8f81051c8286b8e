//! Harris's non-blocking set, a sorted list (*A pragmatic implementation of non-blocking linked-lists*, 2001),
//! `harris` in BSS (Burnim, Sen and Stergiou, *Sound and complete monitoring of sequential consistency in
//! relaxed memory models*, 2010).
//!
//! **The bug**, under PSO only: the compare-exchange that links a node can overtake the stores that have
//! filled it, so that another thread goes on from there by a wrong key or link. Under TSO it drains the store
//! buffer. **The fix:** a store barrier before it.

use fencepost::sync::atomic::Ordering::{Relaxed, Release};
use fencepost::sync::atomic::{AtomicU32, AtomicUsize};
use fencepost::thread;

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("harris.rs"));

/// The nodes at both ends of the list. They have no keys.
const HEAD: usize = 0;
const TAIL: usize = 1;
const NODES: usize = 6;

struct Node {
    key: AtomicU32,
    next: AtomicUsize,
}

/// A link is the number of a node, and whether the node that has the link was removed.
fn link(node: usize, is_removed: bool) -> usize {
    2 * node + usize::from(is_removed)
}

fn is_removed(link: usize) -> bool {
    link % 2 == 1
}

fn node_of(link: usize) -> usize {
    link / 2
}

struct Set {
    nodes: [Node; NODES],
    version: Version,
}

impl Set {
    fn new(version: Version) -> Self {
        Set {
            nodes: std::array::from_fn(|node| Node {
                key: AtomicU32::new(0).named(&format!("node{node}.key")),
                next: AtomicUsize::new(link(TAIL, false)).named(&format!("node{node}.next")),
            }),
            version,
        }
    }

    #[track_caller]
    fn key(&self, node: usize) -> u32 {
        self.nodes[node].key.load(Relaxed)
    }

    #[track_caller]
    fn next(&self, node: usize) -> usize {
        self.nodes[node].next.load(Relaxed)
    }

    #[track_caller]
    fn relink(&self, node: usize, expected: usize, new: usize) -> bool {
        let next = &self.nodes[node].next;
        next.compare_exchange(expected, new, Relaxed, Relaxed)
            .is_ok()
    }

    #[track_caller]
    fn holds(&self, node: usize, key: u32) -> bool {
        node != TAIL && self.key(node) == key
    }

    /// The last node with a lower key, and the node after it. Unlinks removed nodes between them.
    fn search(&self, key: u32) -> (usize, usize) {
        loop {
            let mut left = (HEAD, self.next(HEAD));
            let mut right = node_of(left.1);
            while right != TAIL {
                let next = self.next(right);
                if !is_removed(next) {
                    if self.key(right) >= key {
                        break;
                    }
                    left = (right, next);
                }
                right = node_of(next);
            }
            let is_linked = node_of(left.1) == right;
            if !is_linked && !self.relink(left.0, left.1, link(right, false)) {
                continue;
            }
            if right == TAIL || !is_removed(self.next(right)) {
                return (left.0, right);
            }
        }
    }

    /// Adds a key, in a node that was not used before. False if it is there.
    fn insert(&self, node: usize, key: u32) -> bool {
        self.nodes[node].key.store(key, Relaxed);
        loop {
            let (left, right) = self.search(key);
            if self.holds(right, key) {
                return false;
            }
            self.nodes[node].next.store(link(right, false), Relaxed);
            self.version.fence(Release);
            if self.relink(left, link(right, false), link(node, false)) {
                return true;
            }
        }
    }

    /// Takes a key away. False if it is not there.
    fn remove(&self, key: u32) -> bool {
        loop {
            let (left, right) = self.search(key);
            if !self.holds(right, key) {
                return false;
            }
            let next = self.next(right);
            if is_removed(next) || !self.relink(right, next, link(node_of(next), true)) {
                continue;
            }
            if !self.relink(left, link(right, false), next) {
                self.search(key);
            }
            return true;
        }
    }

    fn contains(&self, key: u32) -> bool {
        let (_, right) = self.search(key);
        self.holds(right, key)
    }
}

/// Three threads all add one key and remove another. Each key is added or removed by one of them.
pub fn program(version: Version) {
    let set = Set::new(version);
    set.insert(2, 20);

    let results = thread::scope(|scope| {
        let threads = [3, 4, 5].map(|node| {
            let set = &set;
            scope.spawn(move || (set.insert(node, 10), set.remove(20)))
        });
        threads.map(|thread| thread.join().unwrap())
    });
    let added = results.iter().filter(|(added, _)| *added).count();
    let removed = results.iter().filter(|(_, removed)| *removed).count();
    assert_eq!(added, 1, "the key 10 is added once");
    assert_eq!(removed, 1, "the key 20 is removed once");
    assert!(set.contains(10) && !set.contains(20));
}
