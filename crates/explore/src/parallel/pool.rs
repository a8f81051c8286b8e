//! Exhaustive exploration by several workers.
//!
//! Each worker explores a subtree of the search tree: everything that begins with one step from one
//! node. The nodes above it are shared, because a race with an event up there is reversed up there.
//! When a worker is idle, another one shares the nodes of its own path down to the first one from
//! which something is left to explore, and the idle worker takes a step from there.
//!
//! This is correct because of a property of wakeup trees that are explored in order: **at a leaf,
//! the sleep set is empty**. A sequence is inserted into the tree only if it does not begin,
//! however it is reordered, with a step that was taken before or is to the left of it; so it
//! contains something that wakes each of them. Hence what is explored from a leaf does not depend
//! on what is found elsewhere, nor on when, and it is complete. So a worker takes a leaf. The nodes
//! between the shared node and the leaf whose sleep sets are not empty become shared nodes too,
//! since more may be planned there: a sequence that begins with a step that was taken is inserted
//! at the node after that step, unless a worker's subtree begins there.
//!
//! When nobody explores anything that is asleep at a node, or below it, one worker reclaims the
//! node and explores the rest of it alone.
//!
//! A leaf can be as little as one execution, so the cost of going from one to the next decides how
//! well the search scales. A worker looks for the next leaf upwards from where it is, as a single
//! worker does. So it replays only the part of the path that differs, and needs no information from
//! others. That also keeps the number of shared nodes small. Only if it finds nothing does it wait
//! for others, which check for idle workers every few steps.
//!
//! All this relies on the footprints of planned steps. Where they are not known in advance, because
//! a thread spins, an operation touches several objects or has several outcomes, the sleep set at a
//! leaf may not be empty, and classes would be lost (brute force shows it). One worker explores
//! such programs; if nodes were shared before that was noticed, it starts over
//! ([`Pool::force_single_worker`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};

use rustc_hash::FxHashMap;

use crate::dpor::wakeup::{Forest, Sleeper};
use crate::execution::log::NONE;
use crate::schedule::Turn;

/// A shared node, as workers hold it.
pub(crate) type NodeRef = Arc<SharedNode>;

/// A node of the search tree that several workers use.
pub(crate) struct SharedNode {
    /// The node above, and the step from there.
    pub(crate) parent: Option<(NodeRef, Turn)>,
    /// The number of steps from the root.
    depth: usize,
    /// Whether the sleep set was not empty when the step to this node was taken.
    is_interior: bool,
    plans: Mutex<Plans>,
}

/// The sleep set and the wakeup tree of a shared node.
pub(crate) struct Plans {
    /// The inherited sleep set, then the steps that workers took from here. Of the latter, those
    /// that are not explored are being explored.
    pub(crate) sleep: Vec<Sleeper>,
    pub(crate) forest: Forest,
    pub(crate) tree: u32,
    /// The size of the inherited sleep set.
    inherited: usize,
    /// The shared nodes after steps that were taken from here. After other steps a worker's subtree
    /// begins.
    pub(crate) children: Vec<(Turn, Weak<SharedNode>)>,
    /// Whether a worker is about to take a step from here.
    pub(crate) is_reserved: bool,
    /// Whether the node is queued. Every node with available steps is.
    is_queued: bool,
    /// Whether the node is not shared any more: a worker has reclaimed it, or everything below it
    /// is explored.
    pub(crate) is_closed: bool,
    /// Estimated fraction of the search tree below this node that nobody has taken.
    pub(crate) estimated_share: f64,
}

impl SharedNode {
    pub(crate) fn new(parent: Option<(NodeRef, Turn)>, plans: Plans) -> NodeRef {
        let depth = parent.as_ref().map_or(0, |(above, _)| above.depth + 1);
        Arc::new(SharedNode {
            parent,
            depth,
            is_interior: plans.inherited > 0,
            plans: Mutex::new(plans),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().expect("no worker panics while it plans")
    }

    /// The steps from the root to this node.
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

    /// Reserves the node for this worker if it has steps to take, and with `only_whole` if this
    /// worker can take all of them.
    pub(crate) fn reserve(self: &Arc<Self>, only_whole: bool) -> Option<Task> {
        let mut plans = self.lock();
        if !plans.has_available_steps() {
            return None;
        }
        let takes_whole_node = plans.is_sleep_set_explored();
        (takes_whole_node || !only_whole).then(|| {
            plans.is_reserved = true;
            let node = Arc::clone(self);
            Task {
                node,
                takes_whole_node,
            }
        })
    }
}

/// Drops the chain of parents without recursion: it may be long.
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

/// A node that a worker has reserved.
pub(crate) struct Task {
    pub(crate) node: NodeRef,
    /// Whether the worker takes everything that is planned there, since nobody explores anything
    /// that is asleep there or below it. Otherwise it takes the first sequence.
    pub(crate) takes_whole_node: bool,
}

/// The limit on interior nodes: shared nodes between the node that a worker took a sequence from
/// and its subtree. They stay open as long as something in their sleep sets is being explored, so
/// without a limit there could be one for each execution. Above it, a worker takes only whole
/// nodes, or waits, unless all others wait too.
pub(crate) const MAX_INTERIOR_NODES: usize = 1 << 13;

/// The work that workers share.
pub(crate) struct Pool {
    max_interior_nodes: usize,
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
    /// Nodes that have steps to take, or had when they were queued: nearest to the root first,
    /// where the most is left.
    queued: BTreeMap<(usize, usize), NodeRef>,
    /// Nodes that one worker can reclaim, or could when they were added.
    whole: Vec<NodeRef>,
    /// The number of interior nodes.
    interior_nodes: usize,
    /// The number of workers, and how many of them are idle.
    workers: usize,
    waiting: usize,
}

impl Pool {
    /// A pool with one registered worker.
    pub(crate) fn new(max_interior_nodes: usize) -> Self {
        Pool {
            max_interior_nodes,
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

    /// Registers workers that are about to be spawned.
    #[cold]
    pub(crate) fn register_workers(&self, workers: usize) {
        self.lock().workers += workers;
    }

    /// Notes that a registered worker could not be spawned.
    #[cold]
    pub(crate) fn deregister_worker(&self) {
        self.lock().workers -= 1;
        self.changed.notify_all();
    }

    /// Notes that the program has operations whose footprints are not known in advance.
    #[cold]
    pub(crate) fn force_single_worker(&self) {
        self.is_single_worker.store(true, Ordering::SeqCst);
    }

    /// Whether nodes must not be shared.
    #[inline]
    pub(crate) fn is_single_worker(&self) -> bool {
        self.is_single_worker.load(Ordering::SeqCst)
    }

    /// Whether nodes were shared although they must not be: one worker has to start over.
    #[inline]
    pub(crate) fn needs_restart(&self) -> bool {
        self.is_single_worker() && self.has_shared.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().expect("no worker panics while it waits")
    }

    /// Whether a worker is idle.
    #[inline]
    pub(crate) fn has_idle_workers(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let _state = self.lock();
        self.changed.notify_all();
    }

    /// Stops the others if this worker panics while the guard lives.
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

    /// Whether the limit on interior nodes is reached.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Shares nodes.
    pub(crate) fn open(&self, nodes: &[NodeRef]) {
        self.has_shared.store(true, Ordering::SeqCst);
        let mut state = self.lock();
        for node in nodes {
            state.open.insert(address(node), Arc::clone(node));
            state.interior_nodes += usize::from(node.is_interior);
        }
        self.update_is_full(&state);
        drop(state);
        nodes.iter().for_each(|node| self.queue(node));
    }

    /// Removes a node that is not shared any more.
    pub(crate) fn close(&self, node: &NodeRef) {
        let mut state = self.lock();
        if state.open.remove(&address(node)).is_some() {
            state.interior_nodes -= usize::from(node.is_interior);
        }
        self.update_is_full(&state);
    }

    fn update_is_full(&self, state: &PoolState) {
        let is_full = state.interior_nodes >= self.max_interior_nodes;
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Queues a node if it has steps to take.
    pub(crate) fn queue(&self, node: &NodeRef) {
        let mut plans = node.lock();
        if !plans.is_queued && plans.has_available_steps() {
            plans.is_queued = true;
            // Lock order: the pool before a node, never after.
            drop(plans);
            let key = (node.depth, address(node));
            self.lock().queued.insert(key, Arc::clone(node));
        }
    }

    /// Wakes an idle worker if the pool has work. Returns whether it has.
    pub(crate) fn notify_idle_worker(&self) -> bool {
        let has_work = self.lock().has_work(self.is_full());
        if has_work {
            self.changed.notify_one();
        }
        has_work
    }

    /// Marks the subtree of a step from a node as explored, if there was a step, and closes nodes
    /// that have nothing left.
    pub(crate) fn finish_step(&self, node: &NodeRef, turn: Option<Turn>) {
        let mut pending = vec![(Arc::clone(node), turn.map(Explored::Here))];
        while let Some((node, explored)) = pending.pop() {
            let mut plans = node.lock();
            if let Some(explored) = explored {
                let Some(turn) = plans.mark_explored(explored) else {
                    continue;
                };
                let below = plans.children.iter().filter_map(|(_, node)| node.upgrade());
                pending.extend(below.map(|node| (node, Some(Explored::Above(turn)))));
            }
            if plans.is_reserved || plans.is_closed || !plans.is_sleep_set_explored() {
                continue;
            }
            if plans.tree != NONE {
                drop(plans);
                self.lock().whole.push(node);
                continue;
            }
            // Nothing is planned there, and nobody can plan anything there any more.
            plans.is_closed = true;
            drop(plans);
            self.close(&node);
            if let Some((parent, turn)) = &node.parent {
                pending.push((Arc::clone(parent), Some(Explored::Here(*turn))));
            }
        }
    }

    /// Waits for work. Returns `None` if nothing is left for anyone.
    pub(crate) fn take(&self) -> Option<Task> {
        let mut state = self.lock();
        state.waiting += 1;
        self.idle.store(state.waiting, Ordering::Relaxed);
        loop {
            if self.is_stopped() {
                return None;
            }
            let is_last = state.waiting == state.workers;
            let only_whole = self.is_full() && !is_last;
            if let Some(task) = state.find(only_whole) {
                state.waiting -= 1;
                self.idle.store(state.waiting, Ordering::Relaxed);
                if state.waiting > 0 && state.has_work(self.is_full()) {
                    self.changed.notify_one();
                }
                return Some(task);
            }
            if is_last {
                // Nobody can plan anything any more. The others find out the same way.
                debug_assert!(state.open.is_empty(), "explored nodes are closed");
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
    fn has_work(&self, only_whole: bool) -> bool {
        !self.whole.is_empty() || !only_whole && !self.queued.is_empty()
    }

    /// Reserves a node that this worker can take as a whole, or else one from which it can take a
    /// sequence.
    fn find(&mut self, only_whole: bool) -> Option<Task> {
        while let Some(node) = self.whole.pop() {
            if let Some(task) = node.reserve(only_whole) {
                return Some(task);
            }
        }
        if only_whole {
            return None;
        }
        while let Some((_, node)) = self.queued.pop_first() {
            node.lock().is_queued = false;
            if let Some(task) = node.reserve(false) {
                return Some(task);
            }
        }
        None
    }
}

/// A step whose subtree is explored.
#[derive(Clone, Copy)]
enum Explored {
    /// It was taken from this node.
    Here(Turn),
    /// It was taken from a node above. It may be in the inherited sleep set.
    Above(Turn),
}

impl Plans {
    /// The plans of a node. The first `inherited` elements of the sleep set are from above.
    pub(crate) fn new(
        sleep: Vec<Sleeper>,
        inherited: usize,
        forest: Forest,
        tree: u32,
        estimated_share: f64,
    ) -> Self {
        Plans {
            sleep,
            inherited,
            forest,
            tree,
            children: Vec::new(),
            is_reserved: false,
            is_queued: false,
            is_closed: false,
            estimated_share,
        }
    }

    /// Whether a step is planned and the node is not reserved.
    fn has_available_steps(&self) -> bool {
        !self.is_reserved && self.tree != NONE
    }

    /// Whether nobody explores anything in the sleep set.
    fn is_sleep_set_explored(&self) -> bool {
        self.sleep.iter().all(|sleeper| sleeper.is_explored)
    }

    /// Marks a step as explored. Returns it if it is in the sleep set and was not marked.
    fn mark_explored(&mut self, explored: Explored) -> Option<Turn> {
        // The same step may have been inherited, woken, and taken again from here.
        let (turn, sleepers) = match explored {
            Explored::Here(turn) => (turn, &mut self.sleep[self.inherited..]),
            Explored::Above(turn) => (turn, &mut self.sleep[..self.inherited]),
        };
        let is_match = |s: &&mut Sleeper| s.is(turn) && !s.is_explored;
        sleepers.iter_mut().find(is_match)?.is_explored = true;
        if let Explored::Here(turn) = explored {
            self.children.retain(|(step, _)| *step != turn);
        }
        Some(turn)
    }

    /// Takes the sleep set and the wakeup tree. The node is not shared any more.
    pub(crate) fn reclaim(&mut self) -> (Vec<Sleeper>, u32) {
        self.inherited = 0;
        self.is_closed = true;
        let tree = std::mem::replace(&mut self.tree, NONE);
        (std::mem::take(&mut self.sleep), tree)
    }

    /// The shared node after a step that was taken from here.
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
        let pool = Pool::new(MAX_INTERIOR_NODES);
        pool.register_workers(3);
        pool.deregister_worker();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| pool.take().is_none());
            let third = scope.spawn(|| pool.take().is_none());
            assert!(pool.take().is_none());
            assert!(other.join().unwrap() && third.join().unwrap());
        });
    }
}
