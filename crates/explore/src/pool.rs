//! Exhaustive exploration by several workers.
//!
//! Each worker explores a part of the tree of executions: all that begins with one step from one
//! node. The nodes above it are shared, because a race with an event up there is turned around up
//! there. When a worker has nothing to do, another one shares the nodes of its own path down to
//! the first from which something is left to explore, and the idle one takes a step from there.
//!
//! What makes this right is a property of wakeup trees that are explored from the left to the right:
//! **at a leaf, nothing is asleep**. A sequence is put into the tree only if it does not begin
//! with a step that was taken before, however it is reordered, nor with one that is to the left of
//! it; so it has something that wakes each of them. Hence what is explored from a leaf does not depend
//! on what is found elsewhere, nor on when that is, and it is complete: all that begins with it
//! can be left to it. So a worker takes a leaf. The nodes on the way to it where something is
//! still asleep become shared nodes too, since there more may be planned: what begins with a step
//! that was taken is planned at the node after it, unless the part of a worker begins there.
//!
//! When nobody explores anything that is asleep at a node, or below it, a worker takes the node back and
//! explores all that is left there by itself.
//!
//! All this rests on knowing what a planned step touches. Where that is not so, because a thread waits in
//! a loop, an operation touches several objects or has several outcomes, something may stay asleep at a
//! leaf after all, and classes would be lost (brute force shows it). Such programs are explored by one worker;
//! if nodes were shared before that was noticed, from the beginning ([`Pool::be_unsure`]).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};

use crate::past::NONE;
use crate::schedule::Turn;
use crate::wakeup::{Forest, Sleeper};

/// A node as workers hold it.
pub(crate) type NodeRef = Arc<SharedNode>;

/// A node that several workers can see.
pub(crate) struct SharedNode {
    /// The node above, and the step from there.
    pub(crate) parent: Option<(NodeRef, Turn)>,
    pub(crate) plans: Mutex<Plans>,
}

/// What is known and planned at a shared node.
pub(crate) struct Plans {
    /// The steps that were taken from here, by anyone, and those that were asleep before.
    pub(crate) sleep: Vec<Sleeper>,
    pub(crate) forest: Forest,
    pub(crate) tree: u32,
    /// How many of those were asleep before.
    pub(crate) inherited: usize,
    /// The shared nodes after steps that were taken from here. After other steps, a part begins.
    pub(crate) children: Vec<(Turn, Weak<SharedNode>)>,
    /// A worker is about to take a step from here.
    pub(crate) is_busy: bool,
    /// The part of all executions that go through here, estimated.
    pub(crate) weight: f64,
}

impl SharedNode {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().expect("no worker panics while it plans")
    }

    /// The steps from the root to here.
    pub(crate) fn turns(&self) -> Vec<Turn> {
        let mut turns = Vec::new();
        let mut node = self;
        while let Some((parent, turn)) = &node.parent {
            turns.push(*turn);
            node = parent;
        }
        turns.reverse();
        turns
    }
}

/// Without recursion: the chain of parents may be long.
impl Drop for SharedNode {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some((node, _)) = parent {
            match Arc::try_unwrap(node) {
                Ok(mut node) => parent = node.parent.take(),
                Err(_) => break,
            }
        }
    }
}

/// A node from which something is left to explore.
pub(crate) struct Task {
    pub(crate) node: NodeRef,
    /// Whether all of it is for one worker: nobody explores anything that is asleep there, or
    /// below it. Else the first sequence that is planned there is to be taken.
    pub(crate) is_all: bool,
}

/// What the workers share.
pub(crate) struct Pool {
    workers: usize,
    state: Mutex<PoolState>,
    changed: Condvar,
    idle: AtomicUsize,
    is_stopped: AtomicBool,
    has_shared: AtomicBool,
    is_unsure: AtomicBool,
}

#[derive(Default)]
struct PoolState {
    /// The shared nodes from which something may be left to explore.
    open: Vec<NodeRef>,
    waiting: usize,
    /// Workers that were to be there, and are not.
    absent: usize,
}

impl Pool {
    pub(crate) fn new(workers: usize) -> Self {
        Pool {
            workers,
            state: Mutex::default(),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
            has_shared: AtomicBool::new(false),
            is_unsure: AtomicBool::new(false),
        }
    }

    /// A worker that was to come will not.
    #[cold]
    pub(crate) fn do_without_one(&self) {
        self.lock().absent += 1;
        self.changed.notify_all();
    }

    /// The program has operations of which it is not known beforehand what they touch.
    #[cold]
    pub(crate) fn be_unsure(&self) {
        self.is_unsure.store(true, Ordering::SeqCst);
    }

    /// Whether nodes may be shared.
    #[inline]
    pub(crate) fn is_unsure(&self) -> bool {
        self.is_unsure.load(Ordering::SeqCst)
    }

    /// Whether nodes were shared that should not have been: one worker has to do it all again.
    #[inline]
    pub(crate) fn is_in_vain(&self) -> bool {
        self.is_unsure() && self.has_shared.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().expect("no worker panics while it waits")
    }

    /// Whether a worker has nothing to do.
    #[inline]
    pub(crate) fn is_hungry(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let _state = self.lock();
        self.changed.notify_all();
    }

    /// If this worker panics, the others must not wait for it for ever.
    pub(crate) fn stop_on_panic(&self) -> impl Drop + use<'_> {
        struct Guard<'a>(&'a Pool);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.stop();
                }
            }
        }
        Guard(self)
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Makes nodes known to all.
    pub(crate) fn open(&self, nodes: &[NodeRef]) {
        self.has_shared.store(true, Ordering::SeqCst);
        self.lock().open.extend_from_slice(nodes);
        self.changed.notify_all();
    }

    /// A node is not shared any more.
    pub(crate) fn take_back(&self, node: &NodeRef) {
        self.lock().open.retain(|open| !Arc::ptr_eq(open, node));
    }

    /// Something was planned at a shared node.
    pub(crate) fn planned(&self) {
        if self.is_hungry() {
            let _state = self.lock();
            self.changed.notify_all();
        }
    }

    /// Something to do for a worker that has nothing to do, if there is anything left for anyone.
    pub(crate) fn take(&self) -> Option<Task> {
        let mut state = self.lock();
        state.waiting += 1;
        self.idle.store(state.waiting, Ordering::Relaxed);
        loop {
            if self.is_stopped() {
                return None;
            }
            if let Some(task) = state.find() {
                state.waiting -= 1;
                self.idle.store(state.waiting, Ordering::Relaxed);
                return Some(task);
            }
            if state.waiting + state.absent == self.workers {
                // Nobody is left who could plan anything. The others find out the same way.
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).expect("no worker panics");
        }
    }
}

impl PoolState {
    /// Looks for a node of which all is left to explore for one worker, the deepest first; else for
    /// one from which a sequence can be taken, those nearest to the root first, where the most
    /// is left.
    fn find(&mut self) -> Option<Task> {
        for node in &self.open {
            node.ask_above();
        }
        // What is below a node comes after it, so that it is closed before.
        for at in (0..self.open.len()).rev() {
            let node = &self.open[at];
            if Arc::strong_count(node) > 1 {
                continue;
            }
            // Nobody is below it, and nobody else has it.
            let mut plans = node.lock();
            let is_firm = |sleep: &[Sleeper]| sleep.iter().all(|s| s.is_firm);
            if plans.can_be_taken() && is_firm(&plans.sleep) {
                plans.is_busy = true;
                drop(plans);
                let node = Arc::clone(node);
                return Some(Task { node, is_all: true });
            }
            // If nothing that was asleep before is being explored, nothing can be planned there
            // any more.
            let is_closed = plans.tree == NONE && is_firm(&plans.sleep[..plans.inherited]);
            drop(plans);
            if is_closed {
                let node = self.open.remove(at);
                if let Some((parent, turn)) = &node.parent {
                    parent.end_of(*turn);
                }
            }
        }
        for node in &self.open {
            let mut plans = node.lock();
            if plans.can_be_taken() {
                plans.is_busy = true;
                drop(plans);
                let node = Arc::clone(node);
                let is_all = false;
                return Some(Task { node, is_all });
            }
        }
        None
    }
}

impl SharedNode {
    /// What begins with this step from here is explored.
    pub(crate) fn end_of(&self, turn: Turn) {
        let mut plans = self.lock();
        if let Some(sleeper) = plans.sleep.iter_mut().find(|s| s.is(turn)) {
            sleeper.is_firm = true;
        }
        plans.children.retain(|(step, _)| *step != turn);
    }

    /// Hears of steps that were asleep before and have been explored meanwhile.
    fn ask_above(&self) {
        let Some((parent, _)) = &self.parent else {
            return;
        };
        let is_open = |s: &Sleeper| !s.is_firm;
        let mut plans = self.lock();
        let inherited = plans.inherited;
        if !plans.sleep[..inherited].iter().any(is_open) {
            return;
        }
        // Nodes are locked one at a time.
        drop(plans);
        let above = parent.lock();
        let explored: Vec<Turn> = above
            .sleep
            .iter()
            .filter(|s| s.is_firm)
            .map(Sleeper::turn)
            .collect();
        drop(above);
        plans = self.lock();
        for sleeper in &mut plans.sleep[..inherited] {
            sleeper.is_firm |= explored.contains(&sleeper.turn());
        }
    }
}

impl Plans {
    /// Whether something is planned that nobody is about to take.
    fn can_be_taken(&self) -> bool {
        !self.is_busy && self.tree != NONE
    }

    /// The shared node after a step that was taken.
    pub(crate) fn child(&self, turn: Turn) -> Option<NodeRef> {
        let mut children = self.children.iter();
        children
            .find(|(step, _)| *step == turn)
            .and_then(|(_, child)| child.upgrade())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_workers_that_do_not_come() {
        let pool = Pool::new(4);
        pool.do_without_one();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| pool.take().is_none());
            let third = scope.spawn(|| pool.take().is_none());
            assert!(pool.take().is_none());
            assert!(other.join().unwrap() && third.join().unwrap());
        });
    }
}
