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
//! A leaf can be as little as one execution, so what it costs to go from one to the next decides what several workers
//! cost. A worker looks for the next one upwards from where it is, as one that is alone does. So it repeats only what
//! is different on the way there, and finds it without looking at what others do. That also keeps the number of shared nodes
//! small. Only if it finds nothing it waits for others, and these look for who waits only now and then.
//!
//! All this rests on knowing what a planned step touches. Where that is not so, because a thread waits in
//! a loop, an operation touches several objects or has several outcomes, something may stay asleep at a
//! leaf after all, and classes would be lost (brute force shows it). Such programs are explored by one worker;
//! if nodes were shared before that was noticed, from the beginning ([`Pool::force_single_worker`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};

use rustc_hash::FxHashMap;

use crate::dpor::wakeup::{Forest, Sleeper};
use crate::execution::log::NONE;
use crate::schedule::Turn;

/// A node as workers hold it.
pub(crate) type NodeRef = Arc<SharedNode>;

/// A node that several workers can see.
pub(crate) struct SharedNode {
    /// The node above, and the step from there.
    pub(crate) parent: Option<(NodeRef, Turn)>,
    /// How many steps it is from the root.
    depth: usize,
    /// Whether something was asleep that was being explored when the step to here was taken.
    is_on_the_way: bool,
    plans: Mutex<Plans>,
}

/// What is known and planned at a shared node.
pub(crate) struct Plans {
    /// The steps that were asleep before, and after them those that were taken from here, by anyone. Those of the
    /// latter that are not firm are what is explored below.
    pub(crate) sleep: Vec<Sleeper>,
    pub(crate) forest: Forest,
    pub(crate) tree: u32,
    /// How many were asleep before.
    inherited: usize,
    /// The shared nodes after steps that were taken from here. After other steps, a part begins.
    pub(crate) children: Vec<(Turn, Weak<SharedNode>)>,
    /// A worker is about to take a step from here.
    pub(crate) is_busy: bool,
    /// It is in the list of nodes from which something can be taken. All are from which something can.
    is_listed: bool,
    /// It is not shared any more: a worker has taken it back, or all of it is explored.
    pub(crate) is_gone: bool,
    /// The part of all executions that go through here, estimated.
    pub(crate) weight: f64,
}

impl SharedNode {
    pub(crate) fn new(parent: Option<(NodeRef, Turn)>, plans: Plans) -> NodeRef {
        let depth = parent.as_ref().map_or(0, |(above, _)| above.depth + 1);
        Arc::new(SharedNode {
            parent,
            depth,
            is_on_the_way: plans.inherited > 0,
            plans: Mutex::new(plans),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().expect("no worker panics while it plans")
    }

    /// The steps from the root to here.
    pub(crate) fn turns(&self) -> Vec<Turn> {
        let mut turns = Vec::with_capacity(self.depth);
        let mut node = self;
        while let Some((parent, turn)) = &node.parent {
            turns.push(*turn);
            node = parent;
        }
        turns.reverse();
        turns
    }

    /// What can be taken from here, if anything; all that is left, if it can be only that. Others leave the node alone
    /// until it is taken.
    pub(crate) fn reserve(self: &Arc<Self>, only_all: bool) -> Option<Task> {
        let mut plans = self.lock();
        if !plans.can_be_taken() {
            return None;
        }
        let is_all = plans.is_firm();
        (is_all || !only_all).then(|| {
            plans.is_busy = true;
            let node = Arc::clone(self);
            Task { node, is_all }
        })
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

/// The most nodes that are shared on the way to parts. They cannot be closed as long as something is asleep there that
/// is being explored, so without a bound there could be one for each execution. Above it, a worker takes only all
/// that is left at a node, or waits, unless the others wait too.
pub(crate) const MOST_ON_THE_WAY: usize = 1 << 13;

/// What the workers share.
pub(crate) struct Pool {
    most_on_the_way: usize,
    state: Mutex<PoolState>,
    changed: Condvar,
    idle: AtomicUsize,
    is_full: AtomicBool,
    is_stopped: AtomicBool,
    has_shared: AtomicBool,
    is_single_worker: AtomicBool,
}

#[derive(Default)]
struct PoolState {
    /// The nodes that are shared, by their addresses.
    open: FxHashMap<usize, NodeRef>,
    /// Those from which something can be taken, or could when they were put here: nearest to the root first, where
    /// the most is left.
    listed: BTreeMap<(usize, usize), NodeRef>,
    /// Those of which all that is left can be taken back, or could.
    whole: Vec<NodeRef>,
    /// How many nodes are shared on the way to parts.
    on_the_way: usize,
    /// How many workers there are, and how many of them have nothing to do.
    workers: usize,
    waiting: usize,
}

impl Pool {
    /// The pool of one worker; others may come. There is a bound for nodes on the way to parts.
    pub(crate) fn new(most_on_the_way: usize) -> Self {
        Pool {
            most_on_the_way,
            state: Mutex::new(PoolState {
                workers: 1,
                ..PoolState::default()
            }),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
            is_full: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            has_shared: AtomicBool::new(false),
            is_single_worker: AtomicBool::new(false),
        }
    }

    /// So many more workers will come.
    #[cold]
    pub(crate) fn expect(&self, workers: usize) {
        self.lock().workers += workers;
    }

    /// A worker that was to come will not.
    #[cold]
    pub(crate) fn deregister_worker(&self) {
        self.lock().workers -= 1;
        self.changed.notify_all();
    }

    /// The program has operations of which it is not known beforehand what they touch.
    #[cold]
    pub(crate) fn force_single_worker(&self) {
        self.is_single_worker.store(true, Ordering::SeqCst);
    }

    /// Whether nodes may be shared.
    #[inline]
    pub(crate) fn is_single_worker(&self) -> bool {
        self.is_single_worker.load(Ordering::SeqCst)
    }

    /// Whether nodes were shared that should not have been: one worker has to do it all again.
    #[inline]
    pub(crate) fn needs_restart(&self) -> bool {
        self.is_single_worker() && self.has_shared.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().expect("no worker panics while it waits")
    }

    /// Whether a worker has nothing to do.
    #[inline]
    pub(crate) fn has_idle_workers(&self) -> bool {
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

    /// Whether there are so many shared nodes that there should be no more.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Makes nodes known to all.
    pub(crate) fn open(&self, nodes: &[NodeRef]) {
        self.has_shared.store(true, Ordering::SeqCst);
        let mut state = self.lock();
        for node in nodes {
            state.open.insert(address(node), Arc::clone(node));
            state.on_the_way += usize::from(node.is_on_the_way);
        }
        self.note_fullness(&state);
        drop(state);
        nodes.iter().for_each(|node| self.list(node));
    }

    /// A worker has taken what is left at a node, and it is not shared any more.
    pub(crate) fn close(&self, node: &NodeRef) {
        let mut state = self.lock();
        if state.open.remove(&address(node)).is_some() {
            state.on_the_way -= usize::from(node.is_on_the_way);
        }
        self.note_fullness(&state);
    }

    fn note_fullness(&self, state: &PoolState) {
        let is_full = state.on_the_way >= self.most_on_the_way;
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Something may have been planned at a shared node, or is left there.
    pub(crate) fn list(&self, node: &NodeRef) {
        let mut plans = node.lock();
        if !plans.is_listed && plans.can_be_taken() {
            plans.is_listed = true;
            // The pool is never locked by one who has locked a node.
            drop(plans);
            let place = (node.depth, address(node));
            self.lock().listed.insert(place, Arc::clone(node));
        }
    }

    /// Tells a worker that has nothing to do that there is something, if so.
    pub(crate) fn offer(&self) -> bool {
        let is_any = self.lock().is_any_left(self.is_full());
        if is_any {
            self.changed.notify_one();
        }
        is_any
    }

    /// What begins with this step from a node is explored, if there was a step.
    pub(crate) fn end_of(&self, node: &NodeRef, turn: Option<Turn>) {
        let mut told = vec![(Arc::clone(node), turn.map(Explored::Here))];
        while let Some((node, explored)) = told.pop() {
            let mut plans = node.lock();
            if let Some(explored) = explored {
                let Some(turn) = plans.make_firm(explored) else {
                    continue;
                };
                let below = plans.children.iter().filter_map(|(_, node)| node.upgrade());
                told.extend(below.map(|node| (node, Some(Explored::Above(turn)))));
            }
            if plans.is_busy || plans.is_gone || !plans.is_firm() {
                continue;
            }
            if plans.tree != NONE {
                drop(plans);
                self.lock().whole.push(node);
                continue;
            }
            // Nothing is planned there, and nobody is left who could plan anything.
            plans.is_gone = true;
            drop(plans);
            self.close(&node);
            if let Some((parent, turn)) = &node.parent {
                told.push((Arc::clone(parent), Some(Explored::Here(*turn))));
            }
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
            let is_last = state.waiting == state.workers;
            let only_all = self.is_full() && !is_last;
            if let Some(task) = state.find(only_all) {
                state.waiting -= 1;
                self.idle.store(state.waiting, Ordering::Relaxed);
                if state.waiting > 0 && state.is_any_left(self.is_full()) {
                    self.changed.notify_one();
                }
                return Some(task);
            }
            if is_last {
                // Nobody is left who could plan anything. The others find out the same way.
                debug_assert!(state.open.is_empty(), "what is explored is closed");
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).expect("no worker panics");
        }
    }
}

fn address(node: &NodeRef) -> usize {
    Arc::as_ptr(node).addr()
}

impl PoolState {
    fn is_any_left(&self, only_all: bool) -> bool {
        !self.whole.is_empty() || !only_all && !self.listed.is_empty()
    }

    /// Looks for a node of which all is left to explore for one worker; else for one from which a sequence can be
    /// taken.
    fn find(&mut self, only_all: bool) -> Option<Task> {
        while let Some(node) = self.whole.pop() {
            if let Some(task) = node.reserve(only_all) {
                return Some(task);
            }
        }
        if only_all {
            return None;
        }
        while let Some((_, node)) = self.listed.pop_first() {
            node.lock().is_listed = false;
            if let Some(task) = node.reserve(false) {
                return Some(task);
            }
        }
        None
    }
}

/// A step of which all is explored that begins with it.
#[derive(Clone, Copy)]
enum Explored {
    /// From this node.
    Here(Turn),
    /// From one above it. It may be asleep here.
    Above(Turn),
}

impl Plans {
    /// Of a node at which this is planned. Of those that are asleep, the first were so before.
    pub(crate) fn new(
        sleep: Vec<Sleeper>,
        inherited: usize,
        forest: Forest,
        tree: u32,
        weight: f64,
    ) -> Self {
        Plans {
            sleep,
            inherited,
            forest,
            tree,
            children: Vec::new(),
            is_busy: false,
            is_listed: false,
            is_gone: false,
            weight,
        }
    }

    /// Whether something is planned that nobody is about to take.
    fn can_be_taken(&self) -> bool {
        !self.is_busy && self.tree != NONE
    }

    /// Whether nobody explores anything that is asleep here, or below.
    fn is_firm(&self) -> bool {
        self.sleep.iter().all(|sleeper| sleeper.is_firm)
    }

    /// Notes that a step is explored. Returns it if it is asleep here and that was not known.
    fn make_firm(&mut self, explored: Explored) -> Option<Turn> {
        // The same step may have been woken and taken again from here.
        let (turn, sleepers) = match explored {
            Explored::Here(turn) => (turn, &mut self.sleep[self.inherited..]),
            Explored::Above(turn) => (turn, &mut self.sleep[..self.inherited]),
        };
        let is_it = |s: &&mut Sleeper| s.is(turn) && !s.is_firm;
        sleepers.iter_mut().find(is_it)?.is_firm = true;
        if let Explored::Here(turn) = explored {
            self.children.retain(|(step, _)| *step != turn);
        }
        Some(turn)
    }

    /// Takes all that is planned here, and who is asleep. It is not shared any more.
    pub(crate) fn take_back(&mut self) -> (Vec<Sleeper>, u32) {
        self.inherited = 0;
        self.is_gone = true;
        let tree = std::mem::replace(&mut self.tree, NONE);
        (std::mem::take(&mut self.sleep), tree)
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
        let pool = Pool::new(MOST_ON_THE_WAY);
        pool.expect(3);
        pool.deregister_worker();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| pool.take().is_none());
            let third = scope.spawn(|| pool.take().is_none());
            assert!(pool.take().is_none());
            assert!(other.join().unwrap() && third.join().unwrap());
        });
    }
}
