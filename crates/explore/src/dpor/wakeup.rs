//! Wakeup trees (Abdulla, Aronis, Jonsson, Sagonas: *Source sets*, JACM 2017, section 6): which
//! beginnings still have to be explored from a node.
//!
//! A branch is one step of a thread; the paths of a tree from the root to the leaves are the
//! sequences to explore. A sequence is put in only if no path that is there already can be
//! extended to an equivalent execution, and where it goes is such that the steps that were
//! explored before it, which are asleep then, are woken by it. So no execution that was begun has
//! to be given up.
//!
//! The trees of all nodes are in one arena, so that going down a branch moves no memory.

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

/// A branch of a tree that is written down: `level` steps are above it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PlannedStep {
    pub(crate) level: u32,
    pub(crate) thread: ThreadId,
    pub(crate) outcome: u32,
    pub(crate) footprint: Footprint,
}

/// A step that was explored from here, or from above without a dependent step since: executions
/// that could begin with it are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sleeper {
    pub(crate) thread: ThreadId,
    pub(crate) outcome: u32,
    pub(crate) footprint: Footprint,
    /// What the thread was about to do, once that is known.
    pub(crate) intent: Option<Intent>,
    /// Whether its exploration has ended. If so, all that it has to say about executions that do not
    /// begin with it has been planned. Only at a node that workers share can it be otherwise.
    pub(crate) is_firm: bool,
}

impl Sleeper {
    /// The step.
    pub(crate) fn turn(&self) -> Turn {
        let (thread, outcome) = (self.thread, self.outcome);
        Turn { thread, outcome }
    }

    /// Whether it is this step.
    pub(crate) fn is(&self, turn: Turn) -> bool {
        self.turn() == turn
    }
}

/// What became of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Insertion {
    /// The execution was known or is now going to be explored. `is_settled`: whatever else the
    /// sequence is extended with.
    Done { is_settled: bool },
    /// As before, and the tree has a new leaf.
    Added { is_settled: bool },
}

impl Insertion {
    /// Whether whatever else the sequence is extended with is known or going to be explored.
    pub(crate) fn is_settled(self) -> bool {
        match self {
            Insertion::Done { is_settled } | Insertion::Added { is_settled } => is_settled,
        }
    }
}

/// Stands for the position of the reversed event in a [`Reversal`]'s steps.
const REVERSED: u32 = NONE - 1;

/// One event of a reversed execution.
#[derive(Clone, Copy, Debug)]
struct Step {
    position: u32,
    thread: ThreadId,
    /// Which of its thread it is.
    index: u32,
}

/// A race turned around: what does not happen after the earlier event, with the later one in front
/// of those that came after it.
#[derive(Debug)]
pub(crate) struct Reversal {
    /// In an order in which they can be performed.
    steps: Vec<Step>,
    /// Which objects they may touch, without the reversed one: a bit for each.
    objects: u64,
    /// Whether one of them depends on everything.
    has_barrier: bool,
    /// The positions of the two events of the race.
    earlier: u32,
    later: u32,
    /// How many steps there are before the later event, at the beginning.
    place: usize,
    /// How the later event turns out, and what it touches: it may act differently now.
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
            place: 0,
            outcome: 0,
            footprint: Footprint::empty(false),
        }
    }

    /// Turns the race between the event at `earlier` and `later` around, up to the later one.
    #[inline]
    pub(crate) fn begin(&mut self, log: &ExecutionLog, earlier: u32, later: LaterEvent) {
        self.steps.clear();
        (self.objects, self.has_barrier) = (0, false);
        (self.earlier, self.later) = (earlier, later.position);
        self.add_not_after(log, earlier + 1..later.position);
        self.place = self.steps.len();
        self.outcome = later.outcome;
        self.steps.push(Step {
            position: REVERSED,
            thread: later.thread,
            index: NONE,
        });
    }

    /// Whether nothing is in front of the later event.
    pub(crate) fn is_first(&self) -> bool {
        self.place == 0
    }

    /// Says what the later event touches when it comes first.
    #[inline]
    pub(crate) fn set_footprint(&mut self, footprint: Footprint) {
        self.footprint = footprint;
    }

    /// Adds what comes after the later event.
    #[inline]
    pub(crate) fn complete(&mut self, log: &ExecutionLog) {
        self.add_not_after(log, self.later + 1..log.len() as u32);
    }

    /// Adds those of the events that do not happen after the earlier one of the race.
    #[inline]
    fn add_not_after(&mut self, log: &ExecutionLog, positions: Range<u32>) {
        let happens_after = log.happens_after(self.earlier);
        let events = log
            .events()
            .get(positions.start as usize..positions.end as usize);
        // If the later event is blocked at the end, there is none after it.
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

    /// Whether the step at `place` can come first: nothing in front of it happens before it.
    #[inline]
    fn is_initial(&self, log: &ExecutionLog, place: usize) -> bool {
        let (in_front, step) = (&self.steps[..place], self.steps[place]);
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

    /// Whether the reversed event, which is this thread's, can come first.
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
        // Mostly they have no object in common.
        if !self.has_barrier && !footprint.is_barrier && !footprint.may_meet(self.objects) {
            let has_reversed = |step: &Step| step.position == REVERSED;
            return !footprint.depends_on(&self.footprint) || !self.steps.iter().any(has_reversed);
        }
        self.steps.iter().all(|step| match step.position {
            REVERSED => !footprint.depends_on(&self.footprint),
            position => !log.depends(position, footprint),
        })
    }

    /// Where the first step of a thread is.
    #[inline]
    fn place_of(&self, thread: ThreadId) -> Option<usize> {
        self.steps.iter().position(|step| step.thread == thread)
    }

    /// Whether the execution can begin with the step at `place`, if that has this outcome.
    #[inline]
    fn begins_at(&self, log: &ExecutionLog, place: usize, outcome: u32) -> bool {
        self.outcome_of(log, self.steps[place]) == outcome && self.is_initial(log, place)
    }

    /// Whether the reversed execution can begin with this step (a *weak initial*). If so, the
    /// place where it is, or None if it is not among the steps and can be put in front.
    fn begins_with(
        &self,
        log: &ExecutionLog,
        thread: ThreadId,
        outcome: u32,
        footprint: &Footprint,
    ) -> Option<Option<usize>> {
        match self.place_of(thread) {
            Some(place) => self.begins_at(log, place, outcome).then_some(Some(place)),
            None => self.is_independent(log, footprint).then_some(None),
        }
    }

    /// Whether an execution that begins so has been explored, because a step is asleep that does not come
    /// after the reversed one: that settles it. The reversal need not be complete, and if nothing is in front of
    /// the reversed event, what that touches does not matter.
    pub(crate) fn is_settled_by<'a>(
        &self,
        log: &ExecutionLog,
        mut sleep: impl Iterator<Item = &'a Sleeper>,
    ) -> bool {
        sleep.any(|sleeper| {
            let place = self.place_of(sleeper.thread);
            place.is_some_and(|at| self.settles(at) && self.begins_at(log, at, sleeper.outcome))
        })
    }

    /// Whether an execution that begins so has been explored for another reason.
    pub(crate) fn is_known_otherwise<'a>(
        &self,
        log: &ExecutionLog,
        mut sleep: impl Iterator<Item = &'a Sleeper>,
    ) -> bool {
        sleep.any(|sleeper| match self.place_of(sleeper.thread) {
            Some(at) => !self.settles(at) && self.begins_at(log, at, sleeper.outcome),
            None => self.is_independent(log, &sleeper.footprint),
        })
    }

    /// Whether an execution that begins so has been explored, at a node from which several workers have taken
    /// steps: with whether that settles it, and which step it begins with, if it is known for that reason. That
    /// step is then used up.
    ///
    /// Of several steps it is the one that was taken first: what begins with the others is left to
    /// that one, where they commute.
    pub(crate) fn is_taken(
        &mut self,
        log: &ExecutionLog,
        sleep: &[Sleeper],
    ) -> Option<(bool, Option<Turn>)> {
        for sleeper in sleep {
            let (thread, outcome) = (sleeper.thread, sleeper.outcome);
            match self.begins_with(log, thread, outcome, &sleeper.footprint) {
                // It commutes with all of it. If the execution goes on with something that does
                // not, that will be seen where the step is explored.
                Some(None) => return Some((false, None)),
                Some(Some(place)) => {
                    let is_settled = self.settles(place);
                    self.remove(place);
                    return Some((is_settled, Some(Turn { thread, outcome })));
                }
                None => {}
            }
        }
        None
    }

    /// A step that is in the causal log of the reversed event can come first however the execution
    /// goes on. One that is only independent of this execution may depend on what comes in another.
    fn settles(&self, place: usize) -> bool {
        place <= self.place
    }
}

/// Where the copy of a branch belongs.
enum Place {
    Root,
    ChildOf(u32),
    After(u32),
}

/// All wakeup trees. A tree is the number of its first branch.
#[derive(Debug)]
pub(crate) struct Forest {
    branches: Vec<Branch>,
    free: u32,
}

impl Forest {
    pub(crate) fn new() -> Self {
        Forest {
            branches: Vec::new(),
            free: NONE,
        }
    }

    pub(crate) fn branch(&self, number: u32) -> &Branch {
        &self.branches[number as usize]
    }

    pub(crate) fn add(&mut self, thread: ThreadId, outcome: u32, footprint: Footprint) -> u32 {
        let number = self.add_any();
        self.branches[number as usize] = Branch {
            thread,
            outcome,
            footprint,
            child: NONE,
            sibling: NONE,
        };
        number
    }

    /// Adds a branch of which nothing is known yet.
    #[inline]
    fn add_any(&mut self) -> u32 {
        match self.free {
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
                self.free = self.branches[number as usize].sibling;
                number
            }
        }
    }

    /// Takes the first branch off a tree: its step and its subtree.
    pub(crate) fn take_first(&mut self, tree: &mut u32) -> Option<(ThreadId, u32, u32)> {
        let number = *tree;
        if number == NONE {
            return None;
        }
        let branch = &mut self.branches[number as usize];
        *tree = branch.sibling;
        let taken = (branch.thread, branch.outcome, branch.child);
        branch.sibling = self.free;
        self.free = number;
        Some(taken)
    }

    /// Whether a tree has this step among its first ones.
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
    pub(crate) fn cut(&mut self, tree: u32) {
        if tree != NONE {
            self.cut_some(tree);
        }
    }

    fn cut_some(&mut self, tree: u32) {
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

    /// How many branches a tree has at its root.
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
        // Pairs of a branch there and the place here that points to its copy.
        let mut open = vec![(tree, Place::Root)];
        while let Some((number, place)) = open.pop() {
            if number == NONE {
                continue;
            }
            let branch = from.branch(number).clone();
            let copy = self.add(branch.thread, branch.outcome, branch.footprint);
            match place {
                Place::Root => first = copy,
                Place::ChildOf(parent) => self.branches[parent as usize].child = copy,
                Place::After(before) => self.branches[before as usize].sibling = copy,
            }
            open.push((branch.child, Place::ChildOf(copy)));
            open.push((branch.sibling, Place::After(copy)));
        }
        first
    }

    /// The branches of a tree, each before those below it, and those before the ones after it.
    pub(crate) fn walk(&self, tree: u32) -> Vec<PlannedStep> {
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

    /// Makes a tree of its branches. None is more than one level below the one before it, and the
    /// first is at level 0.
    pub(crate) fn plant(&mut self, steps: &[PlannedStep]) -> u32 {
        let mut first = NONE;
        // The last branch of each level above the next one, and at its level.
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

    /// Puts a reversed execution into the tree of the node before its first step. The steps of
    /// the reversal are used up.
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
                    // Something may stay asleep there that was expected to be woken. What is explored
                    // where that was taken leaves this to us.
                    let rest = self.add_path(log, reversal);
                    self.branches[parent as usize].child = rest;
                    return Insertion::Added { is_settled };
                }
                // A leaf: everything that begins with its path will be explored.
                return Insertion::Done { is_settled };
            }
            let mut last = NONE;
            let mut compatible = None;
            while number != NONE {
                let branch = &self.branches[number as usize];
                let (thread, outcome) = (branch.thread, branch.outcome);
                if let Some(place) = reversal.begins_with(log, thread, outcome, &branch.footprint) {
                    compatible = Some(place);
                    break;
                }
                last = number;
                number = branch.sibling;
            }
            match compatible {
                Some(place) => {
                    is_settled.get_or_insert(place.is_some_and(|place| reversal.settles(place)));
                    if let Some(place) = place {
                        reversal.remove(place);
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
            let number = self.add_any();
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

impl Reversal {
    fn remove(&mut self, place: usize) {
        self.steps.remove(place);
    }
}
