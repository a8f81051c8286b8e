//! The lazy list, a set whose `contains` takes no lock (Heller, Herlihy, Luchangco, Moir, Scherer and Shavit, *A
//! lazy concurrent list-based set algorithm*, 2005), `lazylist` in BSS (Burnim, Sen and Stergiou, *Sound and
//! complete monitoring of sequential consistency in relaxed memory models*, 2010).
//!
//! **The bug**, under PSO only: the store that links a node can overtake those that have filled it, and who
//! looks for a key without a lock goes on from there by a wrong key or link. **The fix:** `Release` for the
//! link.

use fencepost::sync::Mutex;
use fencepost::sync::atomic::Ordering::Relaxed;
use fencepost::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use fencepost::thread;

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("lazylist.rs"));

/// The nodes at both ends of the list. They have no keys.
const HEAD: usize = 0;
const TAIL: usize = 1;
const NODES: usize = 6;

struct Node {
    key: AtomicU32,
    next: AtomicUsize,
    is_removed: AtomicBool,
    lock: Mutex<()>,
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
                next: AtomicUsize::new(TAIL).named(&format!("node{node}.next")),
                is_removed: AtomicBool::new(false).named(&format!("node{node}.is_removed")),
                lock: Mutex::new(()).named(&format!("node{node}.lock")),
            }),
            version,
        }
    }

    #[track_caller]
    fn holds(&self, node: usize, key: u32) -> bool {
        node != TAIL && self.nodes[node].key.load(Relaxed) == key
    }

    /// The last node with a lower key, and the node after it. Takes no lock.
    fn search(&self, key: u32) -> (usize, usize) {
        let mut left = HEAD;
        let mut right = self.nodes[left].next.load(Relaxed);
        while right != TAIL && self.nodes[right].key.load(Relaxed) < key {
            left = right;
            right = self.nodes[left].next.load(Relaxed);
        }
        (left, right)
    }

    /// Changes the list around a key, with both nodes locked.
    fn change(&self, key: u32, change: impl Fn(usize, usize) -> bool) -> bool {
        loop {
            let (left, right) = self.search(key);
            let nodes = [left, right].map(|node| &self.nodes[node]);
            let _guards = nodes.map(|node| node.lock.lock().unwrap());
            let is_there = |node: &Node| !node.is_removed.load(Relaxed);
            if is_there(nodes[0]) && is_there(nodes[1]) && nodes[0].next.load(Relaxed) == right {
                return change(left, right);
            }
        }
    }

    /// Adds a key, in a node that was not used before. False if it is there.
    fn insert(&self, node: usize, key: u32) -> bool {
        self.change(key, |left, right| {
            if self.holds(right, key) {
                return false;
            }
            let new = &self.nodes[node];
            new.key.store(key, Relaxed);
            new.is_removed.store(false, Relaxed);
            new.next.store(right, Relaxed);
            let link = &self.nodes[left].next;
            link.store(node, self.version.release());
            true
        })
    }

    /// Takes a key away. False if it is not there.
    fn remove(&self, key: u32) -> bool {
        self.change(key, |left, right| {
            if !self.holds(right, key) {
                return false;
            }
            self.nodes[right].is_removed.store(true, Relaxed);
            let next = self.nodes[right].next.load(Relaxed);
            self.nodes[left].next.store(next, Relaxed);
            true
        })
    }

    fn contains(&self, key: u32) -> bool {
        let (_, right) = self.search(key);
        self.holds(right, key) && !self.nodes[right].is_removed.load(Relaxed)
    }
}

/// Three threads all add one key, remove another, and look for the first. Each key is added or removed by one of
/// them, and all of them find the first.
pub fn program(version: Version) {
    let set = Set::new(version);
    set.insert(2, 20);

    let results = thread::scope(|scope| {
        let threads = [3, 4, 5].map(|node| {
            let set = &set;
            scope.spawn(move || (set.insert(node, 10), set.remove(20), set.contains(10)))
        });
        threads.map(|thread| thread.join().unwrap())
    });
    let added = results.iter().filter(|result| result.0).count();
    let removed = results.iter().filter(|result| result.1).count();
    assert_eq!(added, 1, "the key 10 is added once");
    assert_eq!(removed, 1, "the key 20 is removed once");
    assert!(results.iter().all(|result| result.2), "the key 10 stays");
}
