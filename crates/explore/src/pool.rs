//! Exhaustive exploration by several workers.
//!
//! Each worker explores a part of the tree of executions: all that begins with one step from one
//! node. The nodes above it are shared, because a race with an event up there is turned around up
//! there. When a worker has nothing to do, another one shares the nodes of its own path down to
//! the first from which something is left to explore, and the idle one takes a step from there.
//!
//! A step is asleep for all others from the moment when it is taken, so no class is run twice. But
//! while its exploration goes on, it cannot be relied on as with one worker. There, what the
//! exploration of a step finds out about executions that begin otherwise is planned before those
//! are explored. Suppose that what begins with `q` is explored while `p` is asleep and still being
//! explored. Executions that begin with `q`, but could begin with `p`, are left to `p`. In one
//! of these a race may show that there is another execution, which cannot begin with `p`. So it
//! belongs to `q`; but whoever explores `q` never sees the execution that shows it, and when
//! it is planned at last, `q` is taken or even done.
//!
//! Hence the rule: **a step is taken only if all that stays asleep after it has been explored**
//! ([`Sleeper::is_firm`]). Steps that conflict with those that are being explored can be taken at
//! once, and mostly these are what is planned; others wait. So each part of the tree is explored as
//! it would be by one worker, and what begins with a step that was taken can be left to it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use rustc_hash::FxHashMap;

use crate::checkpoint::{Part, SavedNode, SavedPlans, Tree};
use crate::fingerprint::Fingerprint;
use crate::past::NONE;
use crate::schedule::Turn;
use crate::wakeup::{Branch, Forest, Sleeper};

/// A node as workers hold it.
pub(crate) type NodeRef = Arc<SharedNode>;

/// A node that several workers can see.
pub(crate) struct SharedNode {
    /// The node above, and the step from there.
    pub(crate) parent: Option<(NodeRef, Turn)>,
    /// Of the execution up to here.
    pub(crate) fingerprint: Fingerprint,
    pub(crate) plans: Mutex<Plans>,
}

/// What is known and planned at a shared node.
pub(crate) struct Plans {
    /// The steps that were taken from here, by anyone, and those that were asleep before.
    pub(crate) sleep: Vec<Sleeper>,
    pub(crate) forest: Forest,
    pub(crate) tree: u32,
    /// A step was taken of which it is not known yet what it touches. Until it is, no other step
    /// is taken from here.
    pub(crate) is_busy: bool,
    /// The part of all executions that go through here, estimated.
    pub(crate) weight: f64,
}

impl SharedNode {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().expect("no worker panics while it plans")
    }

    /// What begins with this step from here is explored.
    pub(crate) fn end_of(&self, turn: Turn) {
        let mut plans = self.lock();
        let same = |s: &&mut Sleeper| s.thread == turn.thread && s.outcome == turn.outcome;
        if let Some(sleeper) = plans.sleep.iter_mut().find(same) {
            sleeper.is_firm = true;
        }
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

/// A part of the tree for a worker: what begins with this step from this node.
pub(crate) struct Task {
    pub(crate) node: Arc<SharedNode>,
    pub(crate) turn: Turn,
    /// What was asleep at the node.
    pub(crate) sleep: Vec<Sleeper>,
    /// What to explore after the step, in the worker's own forest.
    pub(crate) tree: u32,
    pub(crate) weight: f64,
}

/// What a worker without work gets.
pub(crate) enum Taken {
    Task(Task),
    /// A part of the tree that was being explored when a checkpoint was made.
    Part(Part<NodeRef>),
    /// It is called to a meeting.
    Call,
    /// There is nothing left for anyone.
    Nothing,
}

/// What the workers share.
pub(crate) struct Pool {
    workers: usize,
    state: Mutex<PoolState>,
    changed: Condvar,
    idle: AtomicUsize,
    is_stopped: AtomicBool,
}

#[derive(Default)]
struct PoolState {
    /// The shared nodes from which something may be left to explore.
    open: Vec<NodeRef>,
    /// Parts of the tree from a checkpoint that no worker has gone on with yet, the last one first.
    parts: Vec<Part<NodeRef>>,
    waiting: usize,
}

impl Pool {
    pub(crate) fn new(workers: usize) -> Self {
        Pool {
            workers,
            state: Mutex::default(),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// A pool as it was when a checkpoint was made.
    pub(crate) fn restored(workers: usize, tree: &Tree) -> Self {
        let mut open: Vec<NodeRef> = Vec::new();
        for node in &tree.nodes {
            let parent = node
                .parent
                .map(|(parent, turn)| (Arc::clone(&open[parent]), turn));
            let mut forest = Forest::new();
            let first = forest.plant(&node.plans.planned);
            open.push(Arc::new(SharedNode {
                parent,
                fingerprint: node.fingerprint,
                plans: Mutex::new(Plans {
                    sleep: node.plans.asleep.clone(),
                    forest,
                    tree: first,
                    is_busy: node.is_busy,
                    weight: node.weight,
                }),
            }));
        }
        let part = |part: &Part<usize>| Part {
            node: part.node.map(|node| Arc::clone(&open[node])),
            weight: part.weight,
            work: part.work.clone(),
        };
        let parts = tree.parts.iter().rev().map(part).collect();
        let pool = Pool::new(workers);
        *pool.lock() = PoolState {
            open,
            parts,
            waiting: 0,
        };
        pool
    }

    /// Writes down the shared nodes, these parts of the tree, and those that nobody has gone on with yet.
    pub(crate) fn save(&self, parts: Vec<Part<NodeRef>>, tree: &mut Tree) {
        let state = self.lock();
        // Nodes are opened from the root downwards: what is above a node comes before it. They are
        // closed when nobody holds them any more: what is above a node is open.
        let numbers: FxHashMap<*const SharedNode, usize> =
            state.open.iter().map(Arc::as_ptr).zip(0..).collect();
        let number = |node: &NodeRef| numbers[&Arc::as_ptr(node)];
        for node in &state.open {
            let plans = node.lock();
            tree.nodes.push(SavedNode {
                parent: node
                    .parent
                    .as_ref()
                    .map(|(parent, turn)| (number(parent), *turn)),
                fingerprint: node.fingerprint,
                weight: plans.weight,
                is_busy: plans.is_busy,
                plans: SavedPlans {
                    asleep: plans.sleep.clone(),
                    planned: plans.forest.walk(plans.tree),
                },
            });
        }
        let left = state.parts.iter().rev().cloned();
        let parts = parts.into_iter().chain(left);
        tree.parts.extend(parts.map(|part| Part {
            node: part.node.as_ref().map(number),
            weight: part.weight,
            work: part.work,
        }));
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

    /// Lets those that wait look around.
    pub(crate) fn wake(&self) {
        let _state = self.lock();
        self.changed.notify_all();
    }

    /// Makes nodes known to all.
    pub(crate) fn open(&self, nodes: &[NodeRef]) {
        self.lock().open.extend_from_slice(nodes);
        self.changed.notify_all();
    }

    /// Something was planned at a shared node.
    pub(crate) fn planned(&self) {
        if self.is_hungry() {
            let _state = self.lock();
            self.changed.notify_all();
        }
    }

    /// Something to do for a worker that has nothing to do, unless it is called.
    pub(crate) fn take(&self, forest: &mut Forest, is_called: &dyn Fn() -> bool) -> Taken {
        let mut state = self.lock();
        state.waiting += 1;
        self.idle.store(state.waiting, Ordering::Relaxed);
        loop {
            if self.is_stopped() {
                return Taken::Nothing;
            }
            let taken = if is_called() {
                Some(Taken::Call)
            } else if let Some(part) = state.parts.pop() {
                Some(Taken::Part(part))
            } else {
                state.find(forest).map(Taken::Task)
            };
            if let Some(taken) = taken {
                state.waiting -= 1;
                self.idle.store(state.waiting, Ordering::Relaxed);
                return taken;
            }
            if state.waiting == self.workers && state.open.iter().any(|n| n.lock().tree != NONE) {
                state.end_all();
                continue;
            }
            if state.waiting == self.workers {
                // Nobody is left who could plan anything. The others find out the same way.
                self.changed.notify_all();
                return Taken::Nothing;
            }
            state = self.changed.wait(state).expect("no worker panics");
        }
    }
}

impl PoolState {
    /// Looks at the nodes nearest to the root first, where the most is left to explore.
    fn find(&mut self, forest: &mut Forest) -> Option<Task> {
        let mut at = 0;
        while at < self.open.len() {
            let node = &self.open[at];
            let mut plans = node.lock();
            if let Some(task) = plans.take(node, forest) {
                return Some(task);
            }
            // If no one else has the node, nothing can be planned there any more.
            let is_closed = plans.tree == NONE && !plans.is_busy && Arc::strong_count(node) == 1;
            drop(plans);
            if !is_closed {
                at += 1;
                continue;
            }
            let node = self.open.remove(at);
            if let Some((parent, turn)) = &node.parent {
                parent.end_of(*turn);
                // There may be steps now that can be taken.
                at = 0;
            }
        }
        None
    }

    /// Nobody explores anything any more.
    fn end_all(&mut self) {
        for node in &self.open {
            let mut plans = node.lock();
            plans.is_busy = false;
            plans.sleep.iter_mut().for_each(|s| s.is_firm = true);
        }
    }
}

impl Plans {
    fn take(&mut self, node: &Arc<SharedNode>, forest: &mut Forest) -> Option<Task> {
        if self.is_busy || self.tree == NONE {
            return None;
        }
        let left = self.forest.count(self.tree);
        let can_be_taken = |branch: &Branch| {
            let is_awake = |s: &Sleeper| {
                let depends = branch.footprint.depends_on(&s.footprint);
                s.thread == branch.thread || branch.footprint.is_exact && depends
            };
            self.sleep.iter().all(|s| s.is_firm || is_awake(s))
        };
        let (branch, child) = self.forest.take_if(&mut self.tree, can_be_taken)?;
        let tree = forest.copy(&self.forest, child);
        self.forest.cut(child);
        let sleep = self.sleep.clone();
        self.is_busy = !branch.footprint.is_exact;
        self.sleep.push(Sleeper {
            thread: branch.thread,
            outcome: branch.outcome,
            footprint: branch.footprint,
            intent: None,
            is_firm: false,
        });
        let weight = self.weight / f64::from(left);
        self.weight -= weight;
        Some(Task {
            node: Arc::clone(node),
            turn: Turn {
                thread: branch.thread,
                outcome: branch.outcome,
            },
            sleep,
            tree,
            weight,
        })
    }
}
