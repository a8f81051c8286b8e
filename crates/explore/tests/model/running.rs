//! A model as a program that the explorer runs.

use fencepost_explore::Stop;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use fencepost_explore::program::{
    Condition, Effect, Intent, Performed, Program, Round, ThreadStatus, Touch, TouchKind,
};
use fencepost_memory::{Access, Address, LocationId, Operation, ThreadId};

use super::language::{Instruction, Model, Object, Order, REGISTERS, Register};

/// A model, and one execution of it.
///
/// The state of a mutex is 1 if it is held, that of a condition variable the set of its
/// waiters as bits, that of a channel how much it holds. A thread that waits has a token, which
/// becomes 1 when it is notified.
#[derive(Clone, Debug)]
pub struct ModelProgram {
    model: Arc<Model>,
    states: Vec<u64>,
    threads: Vec<Thread>,
}

#[derive(Clone, Debug)]
struct Thread {
    phase: Phase,
    next: usize,
    registers: [u64; REGISTERS],
    /// The number of its operations since its last hint, with that one. None before the first.
    since_hint: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Absent,
    Alive,
    Ended,
}

/// An assertion failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AssertionFailed {
    pub thread: ThreadId,
    /// Which of the thread's instructions it is.
    pub position: usize,
}

impl fmt::Display for AssertionFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assertion {} of {} fails", self.position, self.thread)
    }
}

impl std::error::Error for AssertionFailed {}

impl ModelProgram {
    pub fn new(model: &Arc<Model>) -> Self {
        let mut program = ModelProgram {
            model: Arc::clone(model),
            states: Vec::new(),
            threads: Vec::new(),
        };
        program.reset();
        program
    }

    fn reset(&mut self) {
        self.states.clear();
        let first = self.model.objects.iter().map(|object| match object {
            Object::Cell(first) => *first,
            _ => 0,
        });
        self.states.extend(first);
        self.states.resize(self.model.object_count(), 0);
        let absent = Thread {
            phase: Phase::Absent,
            next: 0,
            registers: [0; REGISTERS],
            since_hint: None,
        };
        self.threads.clear();
        self.threads.resize(self.model.threads.len(), absent);
    }

    fn next_instruction(&self, thread: usize) -> Option<Instruction> {
        let position = self.threads[thread].next;
        self.model.threads[thread].get(position).copied()
    }

    fn location_of(&self, thread: usize) -> Option<LocationId> {
        let before: usize = self.model.threads[..thread].iter().map(Vec::len).sum();
        let position = before + self.threads[thread].next;
        Some(LocationId::from_index(position as u32))
    }

    fn tell(&self, thread: usize, operation: Operation, value: Option<u64>, to: &mut Performed) {
        to.accesses.push(Access {
            thread: ThreadId(thread as u32),
            operation,
            value,
            location: self.location_of(thread),
        });
    }

    /// Writes the object, and says so.
    fn write(&mut self, object: Address, after: u64, performed: &mut Performed) {
        self.touch(object, TouchKind::Write, after, performed);
    }

    fn touch(&mut self, object: Address, kind: TouchKind, after: u64, performed: &mut Performed) {
        let state = &mut self.states[object.index()];
        let touch = Touch {
            object,
            kind,
            before: *state,
            after,
        };
        *state = after;
        performed.touches.push(touch);
    }

    fn read(&mut self, object: Address, performed: &mut Performed) -> u64 {
        let state = self.states[object.index()];
        self.touch(object, TouchKind::Read, state, performed);
        state
    }

    fn assign(&mut self, thread: usize, register: Register, value: u64) {
        self.threads[thread].registers[usize::from(register.0)] = value;
    }

    /// A read-modify-write on a cell, or a failed one if there is no new value.
    fn modify(
        &mut self,
        thread: usize,
        cell: Address,
        new: Option<u64>,
        order: Order,
        performed: &mut Performed,
    ) {
        if order != Order::Relaxed {
            self.tell(thread, Operation::StoreBarrier, None, performed);
        }
        match new {
            Some(new) => {
                self.write(cell, new, performed);
                self.tell(thread, Operation::Interlocked(cell), Some(new), performed);
            }
            None => {
                let value = self.read(cell, performed);
                self.tell(thread, Operation::LockedLoad(cell), Some(value), performed);
            }
        }
    }

    /// Something that is no memory operation of the language: it drains everything.
    fn synchronize(&mut self, thread: usize, object: Address, after: u64, to: &mut Performed) {
        self.tell(thread, Operation::Fence, None, to);
        self.write(object, after, to);
        self.tell(thread, Operation::Interlocked(object), None, to);
    }

    /// The thread that the outcome of a notification wakes.
    fn waiter(waiters: u64, outcome: u32) -> usize {
        let mut set = (0..64).filter(|thread| waiters >> thread & 1 == 1);
        set.nth(outcome as usize).expect("there is such an outcome")
    }

    /// Performs a visible operation.
    fn perform(
        &mut self,
        thread: usize,
        instruction: Instruction,
        outcome: u32,
        performed: &mut Performed,
    ) {
        let state = |object: Address| self.states[object.index()];
        match instruction {
            Instruction::Load { into, cell } => {
                let value = self.read(cell, performed);
                self.assign(thread, into, value);
                self.tell(thread, Operation::Load(cell), Some(value), performed);
            }
            Instruction::Store { cell, value, order } => {
                let value = value.of(&self.threads[thread].registers);
                self.store(thread, cell, value, order, performed);
            }
            Instruction::FetchAdd { .. }
            | Instruction::Swap { .. }
            | Instruction::CompareExchange { .. } => {
                self.read_modify_write(thread, instruction, performed);
            }
            Instruction::Fence(Order::SeqCst) => {
                self.tell(thread, Operation::Fence, None, performed);
            }
            Instruction::Fence(_) => self.tell(thread, Operation::StoreBarrier, None, performed),
            Instruction::Update(counter) => {
                let after = state(counter) + 1;
                self.touch(counter, TouchKind::Update, after, performed);
            }
            Instruction::ReadCount { into, counter } => {
                let value = self.read(counter, performed);
                self.assign(thread, into, value);
            }
            Instruction::Lock(mutex) => {
                self.write(mutex, 1, performed);
                self.tell(thread, Operation::Interlocked(mutex), None, performed);
            }
            Instruction::TryLock { into, mutex } => self.try_lock(thread, into, mutex, performed),
            Instruction::Unlock(mutex) => {
                self.write(mutex, 0, performed);
                self.tell(thread, Operation::StoreBarrier, None, performed);
                self.tell(thread, Operation::Interlocked(mutex), None, performed);
            }
            Instruction::Enqueue(condvar) => {
                let waiters = state(condvar) | 1 << thread;
                self.synchronize(thread, condvar, waiters, performed);
            }
            Instruction::Wake { condvar, .. } => self.wake(thread, condvar, performed),
            Instruction::NotifyOne(condvar) => {
                self.notify_one(thread, condvar, outcome, performed);
            }
            Instruction::Send(channel) => {
                let after = state(channel) + 1;
                self.synchronize(thread, channel, after, performed);
            }
            Instruction::Receive(channel) => {
                let after = state(channel) - 1;
                self.synchronize(thread, channel, after, performed);
            }
            Instruction::Hint => {}
            Instruction::Stop => unreachable!("nobody continues after it"),
            Instruction::Join(other) => {
                self.tell(thread, Operation::Fence, None, performed);
                let end = self.model.end(other);
                self.tell(thread, Operation::LockedLoad(end), None, performed);
            }
            Instruction::Spawn(_)
            | Instruction::Set { .. }
            | Instruction::Jump { .. }
            | Instruction::JumpIf { .. }
            | Instruction::Assert { .. } => unreachable!("it is not visible"),
        }
        self.threads[thread].next += 1;
    }

    fn store(
        &mut self,
        thread: usize,
        cell: Address,
        value: u64,
        order: Order,
        performed: &mut Performed,
    ) {
        self.write(cell, value, performed);
        if order != Order::Relaxed {
            self.tell(thread, Operation::StoreBarrier, None, performed);
        }
        let operation = match order {
            Order::SeqCst => Operation::LockedStore(cell),
            _ => Operation::Store(cell),
        };
        self.tell(thread, operation, Some(value), performed);
    }

    fn read_modify_write(
        &mut self,
        thread: usize,
        instruction: Instruction,
        performed: &mut Performed,
    ) {
        let registers = self.threads[thread].registers;
        let state = |object: Address| self.states[object.index()];
        match instruction {
            Instruction::FetchAdd {
                into,
                cell,
                amount,
                order,
            } => {
                let old = state(cell);
                let new = Some(old.wrapping_add(amount));
                self.modify(thread, cell, new, order, performed);
                self.assign(thread, into, old);
            }
            Instruction::Swap {
                into,
                cell,
                value,
                order,
            } => {
                let old = state(cell);
                let new = Some(value.of(&registers));
                self.modify(thread, cell, new, order, performed);
                self.assign(thread, into, old);
            }
            Instruction::CompareExchange {
                into,
                cell,
                expected,
                new,
                order,
            } => {
                let succeeds = state(cell) == expected.of(&registers);
                let new = succeeds.then(|| new.of(&registers));
                self.modify(thread, cell, new, order, performed);
                self.assign(thread, into, succeeds.into());
            }
            other => unreachable!("{other} is no read-modify-write"),
        }
    }

    fn try_lock(
        &mut self,
        thread: usize,
        into: Register,
        mutex: Address,
        performed: &mut Performed,
    ) {
        let succeeds = self.states[mutex.index()] == 0;
        if succeeds {
            self.write(mutex, 1, performed);
            self.tell(thread, Operation::Interlocked(mutex), None, performed);
        } else {
            self.read(mutex, performed);
            self.tell(thread, Operation::LockedLoad(mutex), None, performed);
        }
        self.assign(thread, into, succeeds.into());
    }

    fn wake(&mut self, thread: usize, condvar: Address, performed: &mut Performed) {
        let token = self.model.token(thread);
        let is_notified = self.states[token.index()] == 1;
        let waiters = self.states[condvar.index()] & !(1 << thread);
        self.synchronize(thread, token, 0, performed);
        if !is_notified {
            self.write(condvar, waiters, performed);
            self.tell(thread, Operation::Interlocked(condvar), None, performed);
        }
    }

    fn notify_one(
        &mut self,
        thread: usize,
        condvar: Address,
        outcome: u32,
        performed: &mut Performed,
    ) {
        match self.states[condvar.index()] {
            0 => {
                self.tell(thread, Operation::Fence, None, performed);
                self.read(condvar, performed);
                self.tell(thread, Operation::LockedLoad(condvar), None, performed);
            }
            waiters => {
                let waiter = Self::waiter(waiters, outcome);
                let token = self.model.token(waiter);
                self.synchronize(thread, condvar, waiters & !(1 << waiter), performed);
                self.write(token, 1, performed);
                self.tell(thread, Operation::Interlocked(token), None, performed);
            }
        }
    }

    /// Begins a thread.
    fn begin(&mut self, thread: usize, performed: &mut Performed) -> Result<(), AssertionFailed> {
        assert_eq!(self.threads[thread].phase, Phase::Absent, "spawned twice");
        self.threads[thread].phase = Phase::Alive;
        self.run_on(thread, performed)
    }

    /// Runs a thread to its next visible operation.
    fn run_on(&mut self, thread: usize, performed: &mut Performed) -> Result<(), AssertionFailed> {
        while let Some(instruction) = self.next_instruction(thread) {
            let position = self.threads[thread].next;
            let registers = self.threads[thread].registers;
            let register = |register: Register| registers[usize::from(register.0)];
            self.threads[thread].next += 1;
            match instruction {
                Instruction::Spawn(child) => {
                    performed.spawned.push(ThreadId(child as u32));
                    let beginning = self.model.beginning(child);
                    self.tell(thread, Operation::Fence, None, performed);
                    self.tell(thread, Operation::LockedStore(beginning), None, performed);
                    self.tell(child, Operation::LockedLoad(beginning), None, performed);
                    if let Err(failed) = self.begin(child, performed) {
                        // It stands before no operation either.
                        self.threads[thread].phase = Phase::Ended;
                        return Err(failed);
                    }
                }
                Instruction::Set { into, value } => {
                    self.assign(thread, into, value.of(&registers));
                }
                Instruction::Jump { to } => self.threads[thread].next = to,
                Instruction::JumpIf {
                    register: left,
                    test,
                    value,
                    to,
                } => {
                    if test.holds(register(left), value.of(&registers)) {
                        self.threads[thread].next = to;
                    }
                }
                Instruction::Assert {
                    register: left,
                    test,
                    value,
                } => {
                    if !test.holds(register(left), value.of(&registers)) {
                        self.threads[thread].phase = Phase::Ended;
                        let thread = ThreadId(thread as u32);
                        return Err(AssertionFailed { thread, position });
                    }
                }
                _ => {
                    self.threads[thread].next = position;
                    return Ok(());
                }
            }
        }
        self.threads[thread].phase = Phase::Ended;
        let end = self.model.end(thread);
        self.tell(thread, Operation::Fence, None, performed);
        self.tell(thread, Operation::LockedStore(end), None, performed);
        Ok(())
    }

    fn intent(&self, thread: usize, instruction: Instruction) -> Intent {
        let access = |object, effect| Intent::Access {
            object,
            effect,
            awaits: None,
        };
        let waiting_write = |object, awaits| Intent::Access {
            object,
            effect: Effect::Write,
            awaits: Some(awaits),
        };
        let registers = &self.threads[thread].registers;
        match instruction {
            Instruction::Load { cell, .. } => access(cell, Effect::Read),
            Instruction::Store { cell, .. }
            | Instruction::FetchAdd { cell, .. }
            | Instruction::Swap { cell, .. } => access(cell, Effect::Write),
            Instruction::CompareExchange { cell, expected, .. } => {
                let condition = Condition::Equals(expected.of(registers));
                access(cell, Effect::WriteIf(condition))
            }
            Instruction::Fence(_) => Intent::Local,
            Instruction::Update(counter) => access(counter, Effect::Update),
            Instruction::ReadCount { counter, .. } => access(counter, Effect::Read),
            Instruction::Lock(mutex) => waiting_write(mutex, Condition::Equals(0)),
            Instruction::TryLock { mutex, .. } => {
                access(mutex, Effect::WriteIf(Condition::Equals(0)))
            }
            Instruction::Unlock(mutex) => access(mutex, Effect::Write),
            Instruction::Enqueue(condvar) => access(condvar, Effect::Write),
            Instruction::Wake { spurious, .. } => match self.model.token(thread) {
                token if spurious => access(token, Effect::WriteMultiple),
                token => waiting_write(token, Condition::Equals(1)),
            },
            Instruction::NotifyOne(condvar) => {
                access(condvar, Effect::WriteIf(Condition::Differs(0)))
            }
            Instruction::Send(channel) => match self.model.objects[channel.index()] {
                Object::Channel {
                    capacity: Some(capacity),
                } => waiting_write(channel, Condition::Below(capacity)),
                _ => access(channel, Effect::Write),
            },
            Instruction::Receive(channel) => waiting_write(channel, Condition::Differs(0)),
            Instruction::Hint => Intent::SpinHint,
            Instruction::Stop => Intent::Stopped,
            Instruction::Join(other) => Intent::Join(ThreadId(other as u32)),
            Instruction::Spawn(_)
            | Instruction::Set { .. }
            | Instruction::Jump { .. }
            | Instruction::JumpIf { .. }
            | Instruction::Assert { .. } => unreachable!("it is not visible"),
        }
    }
}

impl Program for ModelProgram {
    type Error = AssertionFailed;
    type Restart = Infallible;

    fn start(
        &mut self,
        performed: &mut Performed,
    ) -> Result<(), Stop<AssertionFailed, Infallible>> {
        self.reset();
        Ok(self.begin(0, performed)?)
    }

    fn thread_bound(&self) -> usize {
        self.threads.len()
    }

    fn status(&self, thread: ThreadId) -> ThreadStatus {
        let index = thread.index();
        match self.threads.get(index).map(|thread| thread.phase) {
            None | Some(Phase::Absent) => ThreadStatus::NotSpawned,
            Some(Phase::Ended) => ThreadStatus::Finished,
            Some(Phase::Alive) => {
                let instruction = self.next_instruction(index).expect("it is alive");
                let outcomes = match instruction {
                    Instruction::NotifyOne(condvar) => {
                        self.states[condvar.index()].count_ones().max(1)
                    }
                    _ => 1,
                };
                let intent = self.intent(index, instruction);
                ThreadStatus::Pending { intent, outcomes }
            }
        }
    }

    fn state(&self, object: Address) -> u64 {
        self.states.get(object.index()).copied().unwrap_or(0)
    }

    fn location(&self, thread: ThreadId) -> Option<LocationId> {
        let is_one = thread.index() < self.threads.len();
        is_one.then(|| self.location_of(thread.index())).flatten()
    }

    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop<AssertionFailed, Infallible>> {
        let thread = thread.index();
        assert_eq!(self.threads[thread].phase, Phase::Alive);
        let instruction = self.next_instruction(thread).expect("it is alive");
        let since_hint = &mut self.threads[thread].since_hint;
        *since_hint = match instruction {
            Instruction::Hint => Some(1),
            _ => since_hint.map(|operations| operations + 1),
        };
        self.perform(thread, instruction, outcome, performed);
        Ok(self.run_on(thread, performed)?)
    }

    fn round(&self, thread: ThreadId) -> Round {
        if !self.model.loops_have_no_end {
            return Round::Assumed;
        }
        let since_hint = self.threads[thread.index()].since_hint;
        since_hint.map_or(Round::New, Round::Bounded)
    }

    fn is_over(&self) -> bool {
        self.model.ends_with_first && self.threads[0].phase == Phase::Ended
    }

    fn finish(&mut self, is_complete: bool) -> Result<(), Stop<AssertionFailed, Infallible>> {
        let lives = |thread: &Thread| thread.phase == Phase::Alive;
        assert!(
            !is_complete || self.is_over() || !self.threads.iter().any(lives),
            "an execution is complete when all threads have ended, or the first has"
        );
        Ok(())
    }
}
