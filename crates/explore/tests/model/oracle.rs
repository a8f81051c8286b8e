//! Every interleaving of a model, by brute force.
//!
//! The beginnings of all interleavings are extended by one step at a time. Those of the same
//! length that are in one class, and that the same thread stepped last in, have the same
//! continuations, so they are kept as one, with their number. No other use is made of
//! partial orders. [`every_interleaving`] does without even that, and is for tiny programs.

use std::sync::Arc;

use fencepost_explore::program::TouchKind;
use fencepost_memory::Random;
use rustc_hash::{FxHashMap, FxHashSet};

use super::class::{ClassKey, Status, Tracker};
use super::language::{Instruction, Model, Object, REGISTERS, Register};

/// How far brute force goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most beginnings of executions that are looked at.
    pub nodes: usize,
    /// How often a thread may pass a spin hint. Where it would do so once more it stays, and
    /// the execution is cut.
    pub hints: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            nodes: 60_000,
            hints: 3,
        }
    }
}

/// The truth about a model, under sequential consistency.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Every class of executions, with the fewest preemptions that one of them takes. A
    /// preemption is a switch away from a thread that is enabled and not at a spin
    /// hint.
    pub classes: FxHashMap<ClassKey, u32>,
    /// The number of interleavings that were not cut, with each outcome counted.
    pub interleavings: u128,
    /// Whether a thread would have passed more spin hints than allowed.
    pub is_cut: bool,
}

impl Truth {
    /// The classes that have an execution with at most this many preemptions.
    pub fn classes_within(&self, preemptions: u32) -> FxHashSet<&ClassKey> {
        let classes = self.classes.iter();
        let within = classes.filter(|(_, fewest)| **fewest <= preemptions);
        within.map(|(class, _)| class).collect()
    }

    /// The number of classes that end so.
    pub fn count(&self, status: Status) -> usize {
        let classes = self.classes.keys();
        classes.filter(|class| class.status() == status).count()
    }

    pub fn fails(&self) -> bool {
        self.count(Status::Failed) > 0
    }

    pub fn deadlocks(&self) -> bool {
        self.count(Status::Deadlocked) > 0
    }

    /// The fewest preemptions with which an execution ends so.
    pub fn fewest_preemptions(&self, status: Status) -> Option<u32> {
        let classes = self.classes.iter();
        let such = classes.filter(|(class, _)| class.status() == status);
        such.map(|(_, &fewest)| fewest).min()
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Life {
    Unborn,
    At(usize),
    Dead,
}

/// A shared object and what it holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Shared {
    Number(u64),
    Holder(Option<usize>),
    Waiters(Vec<usize>),
    Queue { filled: u64, capacity: u64 },
}

/// What the threads and objects are like, without how they came to be so.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    lives: Vec<Life>,
    registers: Vec<[u64; REGISTERS]>,
    shared: Vec<Shared>,
    notified: Vec<bool>,
    has_failed: bool,
}

impl World {
    fn new(model: &Model) -> Self {
        let shared = model.objects.iter().map(|object| match *object {
            Object::Cell(first) => Shared::Number(first),
            Object::Counter => Shared::Number(0),
            Object::Mutex => Shared::Holder(None),
            Object::Condvar => Shared::Waiters(Vec::new()),
            Object::Channel { capacity } => Shared::Queue {
                filled: 0,
                capacity: capacity.unwrap_or(u64::MAX),
            },
        });
        let threads = model.threads.len();
        let mut world = World {
            lives: vec![Life::Unborn; threads],
            registers: vec![[0; REGISTERS]; threads],
            shared: shared.collect(),
            notified: vec![false; threads],
            has_failed: false,
        };
        world.lives[0] = Life::At(0);
        world.settle(model, 0);
        world.join_dead(model);
        world
    }

    /// Lets threads join those that have ended. That is no step: it is done as soon as it can be.
    fn join_dead(&mut self, model: &Model) {
        let mut thread = 0;
        while thread < self.lives.len() && !self.has_failed {
            match (self.instruction(model, thread), &self.lives[thread]) {
                (Some(Instruction::Join(other)), &Life::At(position))
                    if self.lives[other] == Life::Dead =>
                {
                    self.lives[thread] = Life::At(position + 1);
                    self.settle(model, thread);
                    thread = 0;
                }
                _ => thread += 1,
            }
        }
    }

    fn instruction(&self, model: &Model, thread: usize) -> Option<Instruction> {
        match self.lives[thread] {
            // A failed assertion may be the last instruction.
            Life::At(position) => model.threads[thread].get(position).copied(),
            Life::Unborn | Life::Dead => None,
        }
    }

    fn number(&mut self, object: u32) -> &mut u64 {
        match &mut self.shared[object as usize] {
            Shared::Number(number) => number,
            other => panic!("{other:?} is no number"),
        }
    }

    fn holder(&mut self, object: u32) -> &mut Option<usize> {
        match &mut self.shared[object as usize] {
            Shared::Holder(holder) => holder,
            other => panic!("{other:?} is no mutex"),
        }
    }

    fn waiters(&mut self, object: u32) -> &mut Vec<usize> {
        match &mut self.shared[object as usize] {
            Shared::Waiters(waiters) => waiters,
            other => panic!("{other:?} is no condition variable"),
        }
    }

    fn filled(&mut self, object: u32) -> &mut u64 {
        match &mut self.shared[object as usize] {
            Shared::Queue { filled, .. } => filled,
            other => panic!("{other:?} is no channel"),
        }
    }

    /// In how many ways the thread can do its next operation; 0 if it cannot.
    fn ways(&self, model: &Model, thread: usize) -> usize {
        if self.has_failed {
            return 0;
        }
        let Some(instruction) = self.instruction(model, thread) else {
            return 0;
        };
        match instruction {
            Instruction::Lock(mutex) => {
                usize::from(self.shared[mutex.index()] == Shared::Holder(None))
            }
            Instruction::Wake { spurious, .. } => usize::from(spurious || self.notified[thread]),
            Instruction::Join(_) | Instruction::Stop => 0,
            Instruction::NotifyOne(condvar) => match &self.shared[condvar.index()] {
                Shared::Waiters(waiters) => waiters.len().max(1),
                other => panic!("{other:?} is no condition variable"),
            },
            Instruction::Send(channel) | Instruction::Receive(channel) => {
                match self.shared[channel.index()] {
                    Shared::Queue { filled, capacity } => match instruction {
                        Instruction::Send(_) => usize::from(filled < capacity),
                        _ => usize::from(filled > 0),
                    },
                    ref other => panic!("{other:?} is no channel"),
                }
            }
            _ => 1,
        }
    }

    fn set(&mut self, thread: usize, register: Register, value: u64) {
        self.registers[thread][usize::from(register.0)] = value;
    }

    /// Does a thread's next operation, and says what it touched.
    fn go(&mut self, model: &Model, thread: usize, way: usize) -> Vec<(u32, TouchKind)> {
        let Life::At(position) = self.lives[thread] else {
            panic!("T{thread} does not live");
        };
        let touches = self.touch(model, thread, model.threads[thread][position], way);
        self.lives[thread] = Life::At(position + 1);
        self.settle(model, thread);
        self.join_dead(model);
        touches
    }

    /// Does the operation to the objects and registers.
    fn touch(
        &mut self,
        model: &Model,
        thread: usize,
        operation: Instruction,
        way: usize,
    ) -> Vec<(u32, TouchKind)> {
        match operation {
            Instruction::Load { into, cell } => {
                let value = *self.number(cell.0);
                self.set(thread, into, value);
                vec![(cell.0, TouchKind::Read)]
            }
            Instruction::Store { cell, value, .. } => {
                *self.number(cell.0) = value.of(&self.registers[thread]);
                vec![(cell.0, TouchKind::Write)]
            }
            Instruction::FetchAdd { .. }
            | Instruction::Swap { .. }
            | Instruction::CompareExchange { .. } => self.read_modify_write(thread, operation),
            Instruction::Fence(_) | Instruction::Hint => Vec::new(),
            Instruction::Update(counter) => {
                *self.number(counter.0) += 1;
                vec![(counter.0, TouchKind::Update)]
            }
            Instruction::ReadCount { into, counter } => {
                let count = *self.number(counter.0);
                self.set(thread, into, count);
                vec![(counter.0, TouchKind::Read)]
            }
            Instruction::Lock(mutex) => {
                *self.holder(mutex.0) = Some(thread);
                vec![(mutex.0, TouchKind::Write)]
            }
            Instruction::TryLock { into, mutex } => {
                if self.holder(mutex.0).is_none() {
                    *self.holder(mutex.0) = Some(thread);
                    self.set(thread, into, 1);
                    vec![(mutex.0, TouchKind::Write)]
                } else {
                    self.set(thread, into, 0);
                    vec![(mutex.0, TouchKind::Read)]
                }
            }
            Instruction::Unlock(mutex) => {
                let holder = self.holder(mutex.0).take();
                assert_eq!(holder, Some(thread), "a thread unlocks what it has locked");
                vec![(mutex.0, TouchKind::Write)]
            }
            Instruction::Enqueue(condvar) => {
                self.waiters(condvar.0).push(thread);
                self.waiters(condvar.0).sort_unstable();
                vec![(condvar.0, TouchKind::Write)]
            }
            Instruction::Wake { condvar, .. } => {
                let token = (model.token(thread).0, TouchKind::Write);
                if std::mem::take(&mut self.notified[thread]) {
                    vec![token]
                } else {
                    self.waiters(condvar.0).retain(|&waiter| waiter != thread);
                    vec![token, (condvar.0, TouchKind::Write)]
                }
            }
            Instruction::NotifyOne(condvar) => {
                if self.waiters(condvar.0).is_empty() {
                    vec![(condvar.0, TouchKind::Read)]
                } else {
                    let waiter = self.waiters(condvar.0).remove(way);
                    self.notified[waiter] = true;
                    let token = model.token(waiter).0;
                    vec![(condvar.0, TouchKind::Write), (token, TouchKind::Write)]
                }
            }
            Instruction::Send(channel) => {
                *self.filled(channel.0) += 1;
                vec![(channel.0, TouchKind::Write)]
            }
            Instruction::Receive(channel) => {
                *self.filled(channel.0) -= 1;
                vec![(channel.0, TouchKind::Write)]
            }
            invisible => panic!("{invisible} is not visible"),
        }
    }

    fn read_modify_write(
        &mut self,
        thread: usize,
        operation: Instruction,
    ) -> Vec<(u32, TouchKind)> {
        let registers = self.registers[thread];
        match operation {
            Instruction::FetchAdd {
                into, cell, amount, ..
            } => {
                let number = self.number(cell.0);
                let old = *number;
                *number = old.wrapping_add(amount);
                self.set(thread, into, old);
                vec![(cell.0, TouchKind::Write)]
            }
            Instruction::Swap {
                into, cell, value, ..
            } => {
                let old = std::mem::replace(self.number(cell.0), value.of(&registers));
                self.set(thread, into, old);
                vec![(cell.0, TouchKind::Write)]
            }
            Instruction::CompareExchange {
                into,
                cell,
                expected,
                new,
                ..
            } => {
                if *self.number(cell.0) == expected.of(&registers) {
                    *self.number(cell.0) = new.of(&registers);
                    self.set(thread, into, 1);
                    vec![(cell.0, TouchKind::Write)]
                } else {
                    self.set(thread, into, 0);
                    vec![(cell.0, TouchKind::Read)]
                }
            }
            other => panic!("{other} is no read-modify-write"),
        }
    }

    /// Does what is invisible, up to the thread's next operation.
    fn settle(&mut self, model: &Model, thread: usize) {
        while let Life::At(position) = self.lives[thread] {
            if self.has_failed {
                return;
            }
            let Some(&instruction) = model.threads[thread].get(position) else {
                self.lives[thread] = Life::Dead;
                return;
            };
            let registers = self.registers[thread];
            let of = |register: Register| registers[usize::from(register.0)];
            let mut next = position + 1;
            match instruction {
                Instruction::Spawn(child) => {
                    assert_eq!(self.lives[child], Life::Unborn, "T{child} is spawned once");
                    self.lives[child] = Life::At(0);
                    self.settle(model, child);
                }
                Instruction::Set { into, value } => self.set(thread, into, value.of(&registers)),
                Instruction::Jump { to } => next = to,
                Instruction::JumpIf {
                    register,
                    test,
                    value,
                    to,
                } => {
                    if test.holds(of(register), value.of(&registers)) {
                        next = to;
                    }
                }
                Instruction::Assert {
                    register,
                    test,
                    value,
                } => self.has_failed |= !test.holds(of(register), value.of(&registers)),
                _ => return,
            }
            self.lives[thread] = Life::At(next);
        }
    }

    fn is_before_hint(&self, model: &Model, thread: usize) -> bool {
        self.instruction(model, thread) == Some(Instruction::Hint)
    }

    /// Whether an assumption has stopped a thread.
    fn has_stopped(&self, model: &Model) -> bool {
        let mut threads = 0..self.lives.len();
        threads.any(|thread| self.instruction(model, thread) == Some(Instruction::Stop))
    }

    /// How it ended, if no thread is enabled.
    fn status(&self, model: &Model) -> Status {
        let lives = |life: &Life| matches!(life, Life::At(_));
        match self {
            _ if self.has_failed => Status::Failed,
            _ if self.has_stopped(model) => Status::Stopped,
            _ if self.lives.iter().any(lives) => Status::Deadlocked,
            _ => Status::Finished,
        }
    }
}

/// The beginning of an execution.
#[derive(Clone)]
struct Beginning {
    world: World,
    hints: Vec<u32>,
}

impl Beginning {
    fn new(model: &Model) -> Self {
        Beginning {
            world: World::new(model),
            hints: vec![0; model.threads.len()],
        }
    }

    fn is_held_back(&self, model: &Model, limits: &Limits, thread: usize) -> bool {
        self.hints[thread] == limits.hints && self.world.is_before_hint(model, thread)
    }

    fn ways(&self, model: &Model, limits: &Limits, thread: usize) -> usize {
        if self.is_held_back(model, limits, thread) {
            return 0;
        }
        self.world.ways(model, thread)
    }

    fn go(&mut self, model: &Model, thread: usize, way: usize) -> Vec<(u32, TouchKind)> {
        self.hints[thread] += u32::from(self.world.is_before_hint(model, thread));
        self.world.go(model, thread, way)
    }

    /// Whether a thread stays before a spin hint, if no thread can go on.
    fn is_cut(&self, model: &Model, limits: &Limits) -> bool {
        let mut threads = 0..model.threads.len();
        !self.world.has_failed && threads.any(|thread| self.is_held_back(model, limits, thread))
    }
}

/// What is known of the beginnings that are in one class and have the same last thread.
struct Node {
    beginning: Beginning,
    preemptions: u32,
    interleavings: u128,
}

/// The truth about a model, or `None` if it is too large.
pub fn truth(model: &Arc<Model>, limits: &Limits) -> Option<Truth> {
    truth_after(model, &[], limits)
}

/// The truth about the executions that start with these steps: threads, each with the way in which its operation
/// turns out.
pub fn truth_after(
    model: &Arc<Model>,
    prefix: &[(usize, usize)],
    limits: &Limits,
) -> Option<Truth> {
    let threads = model.threads.len();
    let mut tracker = Tracker::new(threads);
    let mut beginning = Beginning::new(model);
    for &(thread, way) in prefix {
        tracker.add(thread, beginning.go(model, thread, way));
    }
    let mut truth = Truth {
        classes: FxHashMap::default(),
        interleavings: 0,
        is_cut: false,
    };
    let first = Node {
        beginning,
        preemptions: 0,
        interleavings: 1,
    };
    let mut layer: FxHashMap<(Tracker, Option<usize>), Node> = FxHashMap::default();
    layer.insert((tracker, None), first);
    let mut nodes = 1;
    while !layer.is_empty() {
        let mut longer: FxHashMap<(Tracker, Option<usize>), Node> = FxHashMap::default();
        for ((tracker, last), node) in layer {
            let ways = |thread| node.beginning.ways(model, limits, thread);
            let costs_preemption = last.is_some_and(|last| {
                ways(last) > 0 && !node.beginning.world.is_before_hint(model, last)
            });
            let mut is_final = true;
            for thread in 0..threads {
                let is_switch = last.is_some_and(|last| last != thread);
                let preemptions = node.preemptions + u32::from(is_switch && costs_preemption);
                for way in 0..ways(thread) {
                    is_final = false;
                    let mut beginning = node.beginning.clone();
                    let mut tracker = tracker.clone();
                    tracker.add(thread, beginning.go(model, thread, way));
                    let known = longer.entry((tracker, Some(thread))).or_insert(Node {
                        beginning,
                        preemptions,
                        interleavings: 0,
                    });
                    known.preemptions = known.preemptions.min(preemptions);
                    known.interleavings += node.interleavings;
                }
            }
            if is_final && node.beginning.is_cut(model, limits) {
                truth.is_cut = true;
            } else if is_final {
                let class = tracker.finish(node.beginning.world.status(model));
                let fewest = truth.classes.entry(class).or_insert(node.preemptions);
                *fewest = (*fewest).min(node.preemptions);
                truth.interleavings += node.interleavings;
            }
        }
        nodes += longer.len();
        if nodes > limits.nodes {
            return None;
        }
        layer = longer;
    }
    Some(truth)
}

/// The first steps of a random execution, at most so many.
pub fn random_prefix(model: &Model, random: &mut Random, most: usize) -> Vec<(usize, usize)> {
    let mut beginning = Beginning::new(model);
    let mut prefix = Vec::new();
    while prefix.len() < most {
        let threads = 0..model.threads.len();
        let steps: Vec<(usize, usize)> = threads
            .flat_map(|thread| {
                (0..beginning.world.ways(model, thread)).map(move |way| (thread, way))
            })
            .collect();
        if steps.is_empty() {
            break;
        }
        let step = steps[random.below(steps.len() as u64) as usize];
        beginning.go(model, step.0, step.1);
        prefix.push(step);
    }
    prefix
}

/// Calls `visit` with the class of every interleaving and its number of preemptions, one by one.
/// Interleavings in which a thread passes too many spin hints are left out.
pub fn every_interleaving(
    model: &Arc<Model>,
    limits: &Limits,
    visit: &mut impl FnMut(ClassKey, u32),
) {
    let tracker = Tracker::new(model.threads.len());
    extend(
        model,
        limits,
        &Beginning::new(model),
        &tracker,
        None,
        0,
        visit,
    );
}

fn extend(
    model: &Arc<Model>,
    limits: &Limits,
    beginning: &Beginning,
    tracker: &Tracker,
    last: Option<usize>,
    preemptions: u32,
    visit: &mut impl FnMut(ClassKey, u32),
) {
    let mut is_final = true;
    for thread in 0..model.threads.len() {
        for way in 0..beginning.ways(model, limits, thread) {
            is_final = false;
            let is_preemption = last.is_some_and(|last| {
                last != thread
                    && beginning.ways(model, limits, last) > 0
                    && !beginning.world.is_before_hint(model, last)
            });
            let (mut beginning, mut tracker) = (beginning.clone(), tracker.clone());
            tracker.add(thread, beginning.go(model, thread, way));
            let preemptions = preemptions + u32::from(is_preemption);
            let last = Some(thread);
            extend(
                model,
                limits,
                &beginning,
                &tracker,
                last,
                preemptions,
                visit,
            );
        }
    }
    if is_final && !beginning.is_cut(model, limits) {
        visit(
            tracker.clone().finish(beginning.world.status(model)),
            preemptions,
        );
    }
}

/// What can happen in a model, however long its loops run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reachable {
    pub fails: bool,
    pub deadlocks: bool,
    /// Whether an assumption can stop a thread.
    pub stops: bool,
    /// Whether all threads can end.
    pub finishes: bool,
    /// Whether a state can be reached from which no execution ends: threads can go on, but only
    /// to wait for ever.
    pub livelocks: bool,
    pub states: usize,
}

/// Looks at every state that a model can be in, or `None` if there are more than `limit`.
pub fn reachable(model: &Arc<Model>, limit: usize) -> Option<Reachable> {
    let mut numbers: FxHashMap<World, usize> = FxHashMap::default();
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new()];
    let mut ends = Vec::new();
    let (mut fails, mut deadlocks, mut stops, mut finishes) = (false, false, false, false);
    let first = World::new(model);
    let mut open = vec![(first.clone(), 0)];
    numbers.insert(first, 0);
    while let Some((world, number)) = open.pop() {
        let mut is_final = true;
        let has_stopped = world.has_stopped(model);
        stops |= has_stopped;
        // Nothing that waits from here on is at fault.
        let is_over = has_stopped || model.ends_with_first && world.lives[0] == Life::Dead;
        for thread in 0..model.threads.len() {
            for way in 0..world.ways(model, thread) {
                is_final = false;
                let mut next = world.clone();
                next.go(model, thread, way);
                let count = numbers.len();
                let next_number = *numbers.entry(next.clone()).or_insert(count);
                if next_number == count {
                    predecessors.push(Vec::new());
                    open.push((next, count));
                }
                predecessors[next_number].push(number);
            }
        }
        if is_final || is_over {
            ends.push(number);
        }
        if is_final {
            match world.status(model) {
                Status::Failed => fails = true,
                Status::Deadlocked if !is_over => deadlocks = true,
                Status::Stopped => {}
                Status::Deadlocked | Status::Finished => finishes = true,
            }
        }
        if numbers.len() > limit {
            return None;
        }
    }
    let mut leads_to_end = vec![false; predecessors.len()];
    while let Some(number) = ends.pop() {
        if !std::mem::replace(&mut leads_to_end[number], true) {
            ends.extend(&predecessors[number]);
        }
    }
    Some(Reachable {
        fails,
        deadlocks,
        stops,
        finishes,
        livelocks: leads_to_end.contains(&false),
        states: predecessors.len(),
    })
}
