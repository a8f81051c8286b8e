//! Wakeup trees (Abdulla, Aronis, Jonsson, Sagonas: *Source sets*, JACM 2017, section 6): the
//! sequences that still have to be explored from a node.
//!
//! A branch is one step of a thread; the paths of a tree from the root to the leaves are the
//! sequences to explore. A sequence is inserted only if no path of the tree can be extended to an
//! equivalent execution, and at a position where it wakes all steps that are explored before it,
//! which are asleep then. So no execution that was started has to be abandoned.
//!
//! The trees of all nodes are in one arena, so that descending a branch moves no memory.

use std::ops::Range;

use fencepost_memory::ThreadId;

use crate::dpor::footprint::Footprint;
use crate::execution::log::{ExecutionLog, NONE};
use crate::program::Intent;
use crate::schedule::Turn;

/// One step of a sequence to explore.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) thread: ThreadId,
    pub(crate) outcome: u32,
    pub(crate) footprint: Footprint,
    pub(crate) child: u32,
    pub(crate) sibling: u32,
}

/// A branch of a tree in a checkpoint: `level` steps are above it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PlannedStep {
    pub(crate) level: u32,
    pub(crate) thread: ThreadId,
    pub(crate) outcome: u32,
    pub(crate) footprint: Footprint,
}

/// An element of a sleep set: a step that was explored from this node, or from one above without a
/// dependent step since. Executions that can begin with it are redundant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sleeper {
    pub(crate) thread: ThreadId,
    pub(crate) outcome: u32,
    pub(crate) footprint: Footprint,
    /// What the thread was about to do, if that is known.
    pub(crate) intent: Option<Intent>,
    /// Whether its exploration has ended, so that all reversals that it reveals for other steps
    /// have been planned. It can be false only at a node that workers share.
    pub(crate) is_explored: bool,
}

impl Sleeper {
    pub(crate) fn turn(&self) -> Turn {
        let (thread, outcome) = (self.thread, self.outcome);
        Turn { thread, outcome }
    }

    /// Whether it is this step.
    pub(crate) fn is(&self, turn: Turn) -> bool {
        self.turn() == turn
    }
}

/// The result of inserting a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Insertion {
    /// The execution was explored or planned before. `is_settled`: so is every other extension of
    /// the sequence.
    Covered { is_settled: bool },
    /// The tree has a new leaf.
    Added { is_settled: bool },
}

impl Insertion {
    /// Whether every extension of the sequence is explored or planned.
    pub(crate) fn is_settled(self) -> bool {
        match self {
            Insertion::Covered { is_settled } | Insertion::Added { is_settled } => is_settled,
        }
    }
}

/// The position of the reversed event in a [`Reversal`]'s steps.
const REVERSED: u32 = NONE - 1;

/// One event of a reversed execution.
#[derive(Clone, Copy, Debug)]
struct Step {
    position: u32,
    thread: ThreadId,
    /// The index of the event in its thread.
    index: u32,
}

/// A reversed race: the events that do not happen after the earlier event of the race, with the
/// later event before those that followed it.
#[derive(Debug)]
pub(crate) struct Reversal {
    /// In an order in which they can be performed.
    steps: Vec<Step>,
    /// The objects that the steps may touch, without those of the reversed event: one bit for each.
    objects: u64,
    /// Whether one of the steps depends on everything.
    has_barrier: bool,
    /// The positions of the two events of the race.
    earlier: u32,
    later: u32,
    /// The number of steps before the later event when the reversal began.
    steps_before_later: usize,
    /// The outcome and the footprint of the later event in the reversed execution.
    outcome: u32,
    footprint: Footprint,
}

/// The later event of a race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaterEvent {
    /// Its position, or the length of the execution if it is blocked at its end.
    pub(crate) position: u32,
    pub(crate) thread: ThreadId,
    pub(crate) outcome: u32,
}

impl Reversal {
    pub(crate) fn new() -> Self {
        Reversal {
            steps: Vec::new(),
            objects: 0,
            has_barrier: false,
            earlier: NONE,
            later: NONE,
            steps_before_later: 0,
            outcome: 0,
            footprint: Footprint::empty(false),
        }
    }

    /// Starts with the events up to the later one.
    #[inline]
    pub(crate) fn begin(&mut self, log: &ExecutionLog, earlier: u32, later: LaterEvent) {
        self.steps.clear();
        (self.objects, self.has_barrier) = (0, false);
        (self.earlier, self.later) = (earlier, later.position);
        self.add_not_after(log, earlier + 1..later.position);
        self.steps_before_later = self.steps.len();
        self.outcome = later.outcome;
        self.steps.push(Step {
            position: REVERSED,
            thread: later.thread,
            index: NONE,
        });
    }

    /// Whether no step is before the later event.
    pub(crate) fn is_first(&self) -> bool {
        self.steps_before_later == 0
    }

    /// Sets what the later event touches when it comes first.
    #[inline]
    pub(crate) fn set_footprint(&mut self, footprint: Footprint) {
        self.footprint = footprint;
    }

    /// Adds the events after the later one.
    #[inline]
    pub(crate) fn complete(&mut self, log: &ExecutionLog) {
        self.add_not_after(log, self.later + 1..log.len() as u32);
    }

    /// Adds those of the events that do not happen after the earlier event of the race.
    #[inline]
    fn add_not_after(&mut self, log: &ExecutionLog, positions: Range<u32>) {
        let happens_after = log.happens_after(self.earlier);
        let events = log
            .events()
            .get(positions.start as usize..positions.end as usize);
        // An operation that is blocked at the end has no event after it.
        for (position, event) in (positions.start..).zip(events.unwrap_or_default()) {
            if !happens_after(event) {
                self.objects |= event.objects;
                self.has_barrier |= event.is_forced;
                self.steps.push(Step {
                    position,
                    thread: event.thread,
                    index: event.index,
                });
            }
        }
    }

    fn outcome_of(&self, log: &ExecutionLog, step: Step) -> u32 {
        match step.position {
            REVERSED => self.outcome,
            position => log.event(position).outcome,
        }
    }

    /// Whether the step at `index` can come first: no step before it happens before it.
    #[inline]
    fn is_initial(&self, log: &ExecutionLog, index: usize) -> bool {
        let (in_front, step) = (&self.steps[..index], self.steps[index]);
        if in_front.is_empty() {
            return true;
        }
        if step.position == REVERSED {
            return self.is_reversed_initial(log, in_front, step.thread);
        }
        let row = log.clock(step.position);
        let is_before = |front: &Step| match front.position {
            REVERSED => step.thread == front.thread || log.depends(step.position, &self.footprint),
            _ => row[front.thread.index()] >= front.index,
        };
        !in_front.iter().any(is_before)
    }

    /// Whether the reversed event, which is of this thread, can come first.
    fn is_reversed_initial(&self, log: &ExecutionLog, in_front: &[Step], thread: ThreadId) -> bool {
        let later = self.later;
        let is_before = |front: &Step| {
            front.thread == thread
                || match (later as usize) < log.len() {
                    true => log.is_known_before(front.position, later),
                    false => log.precedes_end_of(front.position, thread),
                }
                || log.depends(front.position, &self.footprint)
        };
        !in_front.iter().any(is_before)
    }

    /// Whether an operation that is not among the steps is independent of them all.
    fn is_independent(&self, log: &ExecutionLog, footprint: &Footprint) -> bool {
        // In most cases they have no object in common.
        if !self.has_barrier && !footprint.is_barrier && !footprint.may_meet(self.objects) {
            let has_reversed = |step: &Step| step.position == REVERSED;
            return !footprint.depends_on(&self.footprint) || !self.steps.iter().any(has_reversed);
        }
        self.steps.iter().all(|step| match step.position {
            REVERSED => !footprint.depends_on(&self.footprint),
            position => !log.depends(position, footprint),
        })
    }

    /// The index of the first step of a thread.
    #[inline]
    fn index_of(&self, thread: ThreadId) -> Option<usize> {
        self.steps.iter().position(|step| step.thread == thread)
    }

    /// Whether the step at `index` has this outcome and can come first.
    #[inline]
    fn begins_at(&self, log: &ExecutionLog, index: usize, outcome: u32) -> bool {
        self.outcome_of(log, self.steps[index]) == outcome && self.is_initial(log, index)
    }

    /// Whether this step is a *weak initial*: the reversed execution, or an extension of it, can
    /// begin with it. If so, returns its index, or `None` if it is not among the steps and is
    /// independent of them all.
    fn weak_initial(
        &self,
        log: &ExecutionLog,
        thread: ThreadId,
        outcome: u32,
        footprint: &Footprint,
    ) -> Option<Option<usize>> {
        match self.index_of(thread) {
            Some(index) => self.begins_at(log, index, outcome).then_some(Some(index)),
            None => self.is_independent(log, footprint).then_some(None),
        }
    }

    /// Whether a step in the sleep set that is not after the reversed event covers the reversed
    /// execution. That settles the race. The reversal need not be complete, and if no step is
    /// before the reversed event, the footprint of that event does not matter.
    pub(crate) fn is_settled_by<'a>(
        &self,
        log: &ExecutionLog,
        mut sleep: impl Iterator<Item = &'a Sleeper>,
    ) -> bool {
        sleep.any(|sleeper| {
            let index = self.index_of(sleeper.thread);
            index.is_some_and(|at| self.settles(at) && self.begins_at(log, at, sleeper.outcome))
        })
    }

    /// Whether a step in the sleep set that is after the reversed event, or independent of all
    /// steps, covers the reversed execution.
    pub(crate) fn is_covered_without_settling<'a>(
        &self,
        log: &ExecutionLog,
        mut sleep: impl Iterator<Item = &'a Sleeper>,
    ) -> bool {
        sleep.any(|sleeper| match self.index_of(sleeper.thread) {
            Some(at) => !self.settles(at) && self.begins_at(log, at, sleeper.outcome),
            None => self.is_independent(log, &sleeper.footprint),
        })
    }

    /// Whether a step that workers took from a shared node covers the reversed execution. If so,
    /// returns whether that settles the race, and the step if it is among the steps of the
    /// reversal, from which it is removed.
    ///
    /// Of several such steps it is the one that was taken first: it explores what begins with the
    /// others, where they commute.
    pub(crate) fn take_covering_step(
        &mut self,
        log: &ExecutionLog,
        sleep: &[Sleeper],
    ) -> Option<(bool, Option<Turn>)> {
        for sleeper in sleep {
            let (thread, outcome) = (sleeper.thread, sleeper.outcome);
            match self.weak_initial(log, thread, outcome, &sleeper.footprint) {
                // The step commutes with the whole execution. If a later event does not commute
                // with it, the race is found where the step is explored.
                Some(None) => return Some((false, None)),
                Some(Some(index)) => {
                    let is_settled = self.settles(index);
                    self.steps.remove(index);
                    return Some((is_settled, Some(Turn { thread, outcome })));
                }
                None => {}
            }
        }
        None
    }

    /// Whether the step at `index` covers every extension. A step in the causal past of the
    /// reversed event can come first in all of them. One that is only independent of the steps here
    /// may depend on later events of another extension.
    fn settles(&self, index: usize) -> bool {
        index <= self.steps_before_later
    }
}

/// The link that a copied branch is attached to.
enum CopyTarget {
    Root,
    ChildOf(u32),
    After(u32),
}

/// An arena of wakeup trees. A tree is the index of its first branch.
#[derive(Debug)]
pub(crate) struct Forest {
    branches: Vec<Branch>,
    /// The head of the list of free branches.
    free_list: u32,
}

impl Forest {
    pub(crate) fn new() -> Self {
        Forest {
            branches: Vec::new(),
            free_list: NONE,
        }
    }

    pub(crate) fn branch(&self, number: u32) -> &Branch {
        &self.branches[number as usize]
    }

    pub(crate) fn add(&mut self, thread: ThreadId, outcome: u32, footprint: Footprint) -> u32 {
        let number = self.allocate();
        self.branches[number as usize] = Branch {
            thread,
            outcome,
            footprint,
            child: NONE,
            sibling: NONE,
        };
        number
    }

    /// Allocates a branch; the caller fills it in.
    #[inline]
    fn allocate(&mut self) -> u32 {
        match self.free_list {
            NONE => {
                self.branches.push(Branch {
                    thread: ThreadId(0),
                    outcome: 0,
                    footprint: Footprint::empty(false),
                    child: NONE,
                    sibling: NONE,
                });
                self.branches.len() as u32 - 1
            }
            number => {
                self.free_list = self.branches[number as usize].sibling;
                number
            }
        }
    }

    /// Removes the first branch of a tree. Returns its thread, its outcome and its subtree.
    pub(crate) fn take_first(&mut self, tree: &mut u32) -> Option<(ThreadId, u32, u32)> {
        let number = *tree;
        if number == NONE {
            return None;
        }
        let branch = &mut self.branches[number as usize];
        *tree = branch.sibling;
        let taken = (branch.thread, branch.outcome, branch.child);
        branch.sibling = self.free_list;
        self.free_list = number;
        Some(taken)
    }

    /// Whether a tree has this step at its root.
    pub(crate) fn has(&self, tree: u32, thread: ThreadId, outcome: u32) -> bool {
        let mut number = tree;
        while number != NONE {
            let branch = &self.branches[number as usize];
            if branch.thread == thread && branch.outcome == outcome {
                return true;
            }
            number = branch.sibling;
        }
        false
    }

    /// Frees a tree.
    #[inline]
    pub(crate) fn free(&mut self, tree: u32) {
        if tree != NONE {
            self.free_nonempty(tree);
        }
    }

    fn free_nonempty(&mut self, tree: u32) {
        let mut number = tree;
        let mut open = Vec::new();
        while number != NONE || !open.is_empty() {
            if number == NONE {
                number = open.pop().expect("it is not empty");
                continue;
            }
            if let Some((_, _, subtree)) = self.take_first(&mut number) {
                if subtree != NONE {
                    open.push(subtree);
                }
            }
        }
    }

    /// The number of branches at the root of a tree.
    pub(crate) fn count(&self, tree: u32) -> u32 {
        let mut count = 0;
        let mut number = tree;
        while number != NONE {
            count += 1;
            number = self.branches[number as usize].sibling;
        }
        count
    }

    /// Copies a tree of another forest.
    pub(crate) fn copy(&mut self, from: &Forest, tree: u32) -> u32 {
        let mut first = NONE;
        // Pairs of a branch there and the link here that points to its copy.
        let mut open = vec![(tree, CopyTarget::Root)];
        while let Some((number, target)) = open.pop() {
            if number == NONE {
                continue;
            }
            let branch = from.branch(number).clone();
            let copy = self.add(branch.thread, branch.outcome, branch.footprint);
            match target {
                CopyTarget::Root => first = copy,
                CopyTarget::ChildOf(parent) => self.branches[parent as usize].child = copy,
                CopyTarget::After(before) => self.branches[before as usize].sibling = copy,
            }
            open.push((branch.child, CopyTarget::ChildOf(copy)));
            open.push((branch.sibling, CopyTarget::After(copy)));
        }
        first
    }

    /// The branches of a tree in depth-first order.
    pub(crate) fn planned_steps(&self, tree: u32) -> Vec<PlannedStep> {
        let mut steps = Vec::new();
        let mut open = vec![(tree, 0)];
        while let Some((number, level)) = open.pop() {
            if number == NONE {
                continue;
            }
            let branch = self.branch(number);
            steps.push(PlannedStep {
                level,
                thread: branch.thread,
                outcome: branch.outcome,
                footprint: branch.footprint.clone(),
            });
            open.push((branch.sibling, level));
            open.push((branch.child, level + 1));
        }
        steps
    }

    /// Rebuilds a tree from its branches in depth-first order: none is more than one level below
    /// the one before it, and the first is at level 0.
    pub(crate) fn restore(&mut self, steps: &[PlannedStep]) -> u32 {
        let mut first = NONE;
        // The last branch of each level, down to that of the next branch.
        let mut last: Vec<u32> = Vec::new();
        for step in steps {
            let level = step.level as usize;
            let number = self.add(step.thread, step.outcome, step.footprint.clone());
            last.truncate(level + 1);
            match (last.get(level), level.checked_sub(1)) {
                (Some(&before), _) => self.branches[before as usize].sibling = number,
                (None, Some(above)) => self.branches[last[above] as usize].child = number,
                (None, None) => first = number,
            }
            last.truncate(level);
            last.push(number);
        }
        first
    }

    pub(crate) fn set_sibling(&mut self, number: u32, sibling: u32) {
        self.branches[number as usize].sibling = sibling;
    }

    /// Inserts a reversed execution into the tree of the node before its first step. Consumes the
    /// steps of the reversal.
    pub(crate) fn insert(
        &mut self,
        tree: &mut u32,
        log: &ExecutionLog,
        reversal: &mut Reversal,
    ) -> Insertion {
        let mut parent = NONE;
        let mut is_settled = None;
        let mut is_exact = true;
        loop {
            let mut number = match parent {
                NONE => *tree,
                parent => self.branches[parent as usize].child,
            };
            if parent != NONE && number == NONE {
                let is_settled = is_settled.unwrap_or(false);
                if !is_exact && !reversal.steps.is_empty() {
                    // A step of the path had a guessed footprint, so a sleeping step that it was
                    // expected to wake may stay asleep. The rest of the sequence is not covered by
                    // the leaf then.
                    let rest = self.add_path(log, reversal);
                    self.branches[parent as usize].child = rest;
                    return Insertion::Added { is_settled };
                }
                // A leaf: everything that begins with its path is explored.
                return Insertion::Covered { is_settled };
            }
            let mut last = NONE;
            let mut compatible = None;
            while number != NONE {
                let branch = &self.branches[number as usize];
                let (thread, outcome) = (branch.thread, branch.outcome);
                if let Some(index) = reversal.weak_initial(log, thread, outcome, &branch.footprint)
                {
                    compatible = Some(index);
                    break;
                }
                last = number;
                number = branch.sibling;
            }
            match compatible {
                Some(index) => {
                    is_settled.get_or_insert(index.is_some_and(|index| reversal.settles(index)));
                    if let Some(index) = index {
                        reversal.steps.remove(index);
                    }
                    is_exact &= self.branches[number as usize].footprint.is_exact;
                    parent = number;
                }
                None => {
                    let is_settled = is_settled.unwrap_or(true);
                    let first = self.add_path(log, reversal);
                    match (last, parent) {
                        (NONE, NONE) => *tree = first,
                        (NONE, parent) => self.branches[parent as usize].child = first,
                        (last, _) => self.branches[last as usize].sibling = first,
                    }
                    return Insertion::Added { is_settled };
                }
            }
        }
    }

    fn add_path(&mut self, log: &ExecutionLog, reversal: &mut Reversal) -> u32 {
        let mut child = NONE;
        for step in reversal.steps.iter().rev() {
            let number = self.allocate();
            let branch = &mut self.branches[number as usize];
            (branch.child, branch.sibling) = (child, NONE);
            branch.thread = step.thread;
            branch.outcome = reversal.outcome_of(log, *step);
            match step.position {
                REVERSED => branch.footprint.clone_from(&reversal.footprint),
                position => log.copy_footprint(position, &mut branch.footprint),
            }
            child = number;
        }
        child
    }
}
