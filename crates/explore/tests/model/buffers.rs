//! Every run of a model on a machine with store buffers.
//!
//! The machine carries values, so what a thread does depends on what it has read. A run has a
//! trace, and the trace is sequentially consistent exactly if its happens-before has no cycle.
//! Operations are those that [`running`](super::running) tells the monitors of; counters are
//! none of them, and what threads say to each other through counters is not in the trace.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use fencepost_memory::{
    Access, Address, Buffering, CoherenceIndex, Event, IssueIndex, LockedDrains, MemoryModel,
    Operation, ThreadId, Trace, order,
};
use rustc_hash::FxHashSet;

use super::language::{Instruction, Model, Object, Order, REGISTERS, Register};
use super::oracle::Limits;

/// What a model can do on a machine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Buffered {
    /// Whether some run has a trace that is not sequentially consistent.
    pub leaves_sc: bool,
    /// Whether an assertion fails in some run.
    pub fails: bool,
    /// Whether threads wait for ever in some run without failed assertions.
    pub deadlocks: bool,
    /// Whether a thread would have passed more spin hints than allowed in some run.
    pub is_cut: bool,
    pub states: usize,
}

/// What the model can do on the machine of a memory model, or `None` if there are too many
/// states. The trace of a run that was cut is looked at as well.
pub fn buffered(model: &Arc<Model>, memory: &MemoryModel, limits: &Limits) -> Option<Buffered> {
    let mut search = Search::new(model, memory, limits);
    search.run(|_| false)?;
    Some(search.seen)
}

/// Whether some run has a trace that is not sequentially consistent, or `None` if too many
/// states show none.
pub fn leaves_sc(model: &Arc<Model>, memory: &MemoryModel, limits: &Limits) -> Option<bool> {
    let mut search = Search::new(model, memory, limits);
    search.run(|seen| seen.leaves_sc)?;
    Some(search.seen.leaves_sc)
}

/// An event by thread and number within the thread.
type Name = (u32, u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Life {
    Unborn,
    At(usize),
    Ended,
    /// An assertion failed here. The other threads continue.
    Failed,
}

#[derive(Clone, Copy, Hash)]
struct BufferedStore {
    address: Address,
    value: u64,
    name: Name,
    /// The number of store barriers before it.
    epoch: u32,
}

#[derive(Clone, Hash)]
struct Processor {
    life: Life,
    registers: [u64; REGISTERS],
    hints: u32,
    epoch: u32,
    buffer: Vec<BufferedStore>,
    /// Its events, each with the write that it read.
    performed: Vec<(Operation, Option<Name>)>,
}

#[derive(Clone, Hash)]
struct Cell {
    value: u64,
    /// In coherence order.
    writes: Vec<Name>,
}

#[derive(Clone, Hash)]
struct Machine {
    processors: Vec<Processor>,
    memory: Vec<Cell>,
}

struct Search<'a> {
    model: &'a Model,
    memory: &'a MemoryModel,
    limits: &'a Limits,
    visited: FxHashSet<(u64, u64)>,
    seen: Buffered,
}

impl<'a> Search<'a> {
    fn new(model: &'a Model, memory: &'a MemoryModel, limits: &'a Limits) -> Self {
        Search {
            model,
            memory,
            limits,
            visited: FxHashSet::default(),
            seen: Buffered::default(),
        }
    }

    /// Visits every state, or stops where `is_enough`. `None` if there are too many.
    fn run(&mut self, is_enough: impl Fn(&Buffered) -> bool) -> Option<()> {
        let mut open = vec![Machine::new(self.model)];
        while let Some(machine) = open.pop() {
            if !self.visited.insert(fingerprint(&machine)) {
                continue;
            }
            self.seen.states += 1;
            if self.seen.states > self.limits.nodes {
                return None;
            }
            let successors = self.successors(&machine);
            if successors.is_empty() {
                self.judge(&machine);
                if is_enough(&self.seen) {
                    return Some(());
                }
            }
            open.extend(successors);
        }
        Some(())
    }

    fn successors(&self, machine: &Machine) -> Vec<Machine> {
        let buffers = self.memory.buffering() != Buffering::None;
        let threads = 0..machine.processors.len();
        let mut successors = Vec::new();
        for thread in threads.clone() {
            // No other thread notices a store that goes into the buffer, and it may stay there
            // as long as it wants: it can as well be done at once.
            let is_delayed = matches!(
                machine.instruction(self.model, thread),
                Some(Instruction::Store {
                    order: Order::Relaxed,
                    ..
                })
            );
            if buffers && is_delayed {
                let mut next = machine.clone();
                assert!(next.issue(self, thread, 0));
                return vec![next];
            }
        }
        for thread in threads {
            for index in machine.commits(self.memory, thread) {
                let mut next = machine.clone();
                next.commit(thread, index);
                successors.push(next);
            }
            for way in 0..machine.ways(self.model, thread) {
                let mut next = machine.clone();
                if next.issue(self, thread, way) {
                    if !buffers && !next.processors[thread].buffer.is_empty() {
                        next.commit(thread, 0);
                    }
                    successors.push(next);
                }
            }
        }
        successors
    }

    /// Takes in the last state of a run.
    fn judge(&mut self, machine: &Machine) {
        let lives = || machine.processors.iter().map(|processor| processor.life);
        let fails = lives().any(|life| life == Life::Failed);
        let waits = lives().any(|life| matches!(life, Life::At(_)));
        let mut threads = 0..machine.processors.len();
        let is_cut = threads.any(|thread| machine.is_held_back(self, thread));
        self.seen.fails |= fails;
        self.seen.is_cut |= is_cut;
        let mut threads = 0..machine.processors.len();
        let is_stopped = threads
            .any(|thread| machine.instruction(self.model, thread) == Some(Instruction::Stop));
        self.seen.deadlocks |= waits && !fails && !is_cut && !is_stopped;
        if !self.seen.leaves_sc {
            self.seen.leaves_sc = order::happens_before_cycle(&machine.trace()).is_some();
        }
    }
}

fn fingerprint(machine: &Machine) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    machine.hash(&mut hasher);
    let first = hasher.finish();
    // The hasher is keyed by what it has been fed before.
    let mut hasher = DefaultHasher::new();
    0x5eed_u64.hash(&mut hasher);
    machine.hash(&mut hasher);
    (first, hasher.finish())
}

impl Machine {
    fn new(model: &Model) -> Self {
        let processor = Processor {
            life: Life::Unborn,
            registers: [0; REGISTERS],
            hints: 0,
            epoch: 0,
            buffer: Vec::new(),
            performed: Vec::new(),
        };
        let cell = |value| Cell {
            value,
            writes: Vec::new(),
        };
        let mut memory: Vec<Cell> = model
            .objects
            .iter()
            .map(|object| match *object {
                Object::Cell(first) => cell(first),
                _ => cell(0),
            })
            .collect();
        memory.resize(model.address_count(), cell(0));
        let mut machine = Machine {
            processors: vec![processor; model.threads.len()],
            memory,
        };
        machine.processors[0].life = Life::At(0);
        machine.settle(model, 0);
        machine
    }

    fn instruction(&self, model: &Model, thread: usize) -> Option<Instruction> {
        match self.processors[thread].life {
            Life::At(position) => model.threads[thread].get(position).copied(),
            _ => None,
        }
    }

    fn value(&self, address: Address) -> u64 {
        self.memory[address.index()].value
    }

    fn is_held_back(&self, search: &Search<'_>, thread: usize) -> bool {
        self.processors[thread].hints == search.limits.hints
            && self.instruction(search.model, thread) == Some(Instruction::Hint)
    }

    fn ways(&self, model: &Model, thread: usize) -> u32 {
        match self.instruction(model, thread) {
            Some(Instruction::NotifyOne(condvar)) => self.value(condvar).count_ones().max(1),
            _ => 1,
        }
    }

    /// The buffered stores that can go to memory now.
    fn commits(&self, memory: &MemoryModel, thread: usize) -> Vec<usize> {
        let buffer = &self.processors[thread].buffer;
        let can_commit = |&index: &usize| match memory.buffering() {
            Buffering::None | Buffering::Fifo => index == 0,
            Buffering::PerAddress => {
                let mut older = buffer[..index].iter();
                buffer[index].epoch == buffer[0].epoch
                    && older.all(|store| store.address != buffer[index].address)
            }
        };
        (0..buffer.len()).filter(can_commit).collect()
    }

    fn commit(&mut self, thread: usize, index: usize) {
        let store = self.processors[thread].buffer.remove(index);
        self.write(store.address, store.value, store.name);
    }

    fn write(&mut self, address: Address, value: u64, name: Name) {
        let cell = &mut self.memory[address.index()];
        cell.value = value;
        cell.writes.push(name);
    }

    fn event(&mut self, thread: usize, operation: Operation, source: Option<Name>) -> Name {
        let performed = &mut self.processors[thread].performed;
        performed.push((operation, source));
        (thread as u32, performed.len() as u32 - 1)
    }

    fn barrier(&mut self, thread: usize) {
        self.processors[thread].epoch += 1;
        self.event(thread, Operation::StoreBarrier, None);
    }

    /// An operation that acts on memory at once; with a new value, it writes.
    fn locked(&mut self, thread: usize, operation: Operation, new: Option<u64>) {
        let address = operation.address().expect("it acts on memory");
        let source = match operation {
            Operation::LockedStore(_) => None,
            _ => self.memory[address.index()].writes.last().copied(),
        };
        let name = self.event(thread, operation, source);
        if let Some(new) = new {
            self.write(address, new, name);
        }
    }

    fn modify(&mut self, thread: usize, address: Address, new: Option<u64>, order: Order) {
        if order != Order::Relaxed {
            self.barrier(thread);
        }
        match new {
            Some(_) => self.locked(thread, Operation::Interlocked(address), new),
            None => self.locked(thread, Operation::LockedLoad(address), None),
        }
    }

    fn synchronize(&mut self, thread: usize, address: Address, new: u64) {
        self.event(thread, Operation::Fence, None);
        self.locked(thread, Operation::Interlocked(address), Some(new));
    }

    fn set(&mut self, thread: usize, register: Register, value: u64) {
        self.processors[thread].registers[usize::from(register.0)] = value;
    }

    /// Whether the buffer lets the thread's next instruction be performed.
    fn is_drained_for(&self, memory: &MemoryModel, thread: usize, next: Instruction) -> bool {
        let processor = &self.processors[thread];
        let buffer = &processor.buffer;
        let relaxed = |address: Address| match memory.locked_drains() {
            LockedDrains::Everything => buffer.is_empty(),
            LockedDrains::OwnAddress => buffer
                .iter()
                .all(|store| store.address != address && store.epoch == processor.epoch),
        };
        match next {
            Instruction::Load { .. }
            | Instruction::Update(_)
            | Instruction::ReadCount { .. }
            | Instruction::Hint
            | Instruction::Fence(Order::Relaxed | Order::Release)
            | Instruction::Store {
                order: Order::Relaxed | Order::Release,
                ..
            } => true,
            Instruction::FetchAdd {
                cell,
                order: Order::Relaxed,
                ..
            }
            | Instruction::Swap {
                cell,
                order: Order::Relaxed,
                ..
            }
            | Instruction::CompareExchange {
                cell,
                order: Order::Relaxed,
                ..
            }
            | Instruction::Lock(cell)
            | Instruction::TryLock { mutex: cell, .. } => relaxed(cell),
            // A barrier right before a locked operation makes it wait for everything.
            _ => buffer.is_empty(),
        }
    }

    /// Whether what the thread's next instruction waits for has come about.
    fn is_enabled(&self, model: &Model, thread: usize, next: Instruction) -> bool {
        match next {
            Instruction::Lock(mutex) => self.value(mutex) != 1,
            Instruction::Wake { spurious, .. } => spurious || self.is_notified(model, thread),
            Instruction::Send(channel) => match model.objects[channel.index()] {
                Object::Channel {
                    capacity: Some(capacity),
                } => self.value(channel) < capacity,
                _ => true,
            },
            Instruction::Receive(channel) => self.value(channel) != 0,
            Instruction::Join(other) => self.processors[other].life == Life::Ended,
            Instruction::Stop => false,
            _ => true,
        }
    }

    fn is_notified(&self, model: &Model, thread: usize) -> bool {
        self.value(model.token(thread)) == 1
    }

    /// Performs the next instruction of a thread; false if it cannot be performed now.
    fn issue(&mut self, search: &Search<'_>, thread: usize, way: u32) -> bool {
        let model = search.model;
        let Life::At(position) = self.processors[thread].life else {
            return false;
        };
        let Some(instruction) = self.instruction(model, thread) else {
            return self.end(model, thread);
        };
        if !self.is_drained_for(search.memory, thread, instruction)
            || self.is_held_back(search, thread)
            || !self.is_enabled(model, thread, instruction)
        {
            return false;
        }
        self.perform(model, thread, instruction, way);
        self.processors[thread].life = Life::At(position + 1);
        self.settle(model, thread);
        true
    }

    /// Ends a thread; false if its buffer does not let it end now.
    fn end(&mut self, model: &Model, thread: usize) -> bool {
        if !self.processors[thread].buffer.is_empty() {
            return false;
        }
        self.event(thread, Operation::Fence, None);
        self.locked(thread, Operation::LockedStore(model.end(thread)), Some(1));
        self.processors[thread].life = Life::Ended;
        true
    }

    /// Performs an instruction that nothing keeps from it.
    fn perform(&mut self, model: &Model, thread: usize, instruction: Instruction, way: u32) {
        match instruction {
            Instruction::Load { into, cell } => self.load(thread, into, cell),
            Instruction::Store { cell, value, order } => {
                let value = value.of(&self.processors[thread].registers);
                self.store(thread, cell, value, order);
            }
            Instruction::FetchAdd { .. }
            | Instruction::Swap { .. }
            | Instruction::CompareExchange { .. } => self.read_modify_write(thread, instruction),
            Instruction::Fence(Order::SeqCst) => {
                self.event(thread, Operation::Fence, None);
            }
            Instruction::Fence(_) => self.barrier(thread),
            Instruction::Update(counter) => self.memory[counter.index()].value += 1,
            Instruction::ReadCount { into, counter } => {
                self.set(thread, into, self.value(counter));
            }
            Instruction::Lock(mutex) => self.modify(thread, mutex, Some(1), Order::Relaxed),
            Instruction::TryLock { into, mutex } => {
                let is_free = self.value(mutex) == 0;
                self.modify(thread, mutex, is_free.then_some(1), Order::Relaxed);
                self.set(thread, into, is_free.into());
            }
            Instruction::Unlock(mutex) => self.modify(thread, mutex, Some(0), Order::Release),
            Instruction::Enqueue(condvar) => {
                let waiters = self.value(condvar) | 1 << thread;
                self.synchronize(thread, condvar, waiters);
            }
            Instruction::Wake { condvar, .. } => self.wake(model, thread, condvar),
            Instruction::NotifyOne(condvar) => self.notify_one(model, thread, condvar, way),
            Instruction::Send(channel) => {
                self.synchronize(thread, channel, self.value(channel) + 1);
            }
            Instruction::Receive(channel) => {
                self.synchronize(thread, channel, self.value(channel) - 1);
            }
            Instruction::Hint => self.processors[thread].hints += 1,
            Instruction::Join(other) => {
                self.event(thread, Operation::Fence, None);
                self.locked(thread, Operation::LockedLoad(model.end(other)), None);
            }
            Instruction::Spawn(child) => self.spawn(model, thread, child),
            local => unreachable!("{local} has been done already"),
        }
    }

    fn load(&mut self, thread: usize, into: Register, cell: Address) {
        let mut own = self.processors[thread].buffer.iter().rev();
        let (value, source) = match own.find(|store| store.address == cell) {
            Some(store) => (store.value, Some(store.name)),
            None => {
                let cell = &self.memory[cell.index()];
                (cell.value, cell.writes.last().copied())
            }
        };
        self.event(thread, Operation::Load(cell), source);
        self.set(thread, into, value);
    }

    fn store(&mut self, thread: usize, cell: Address, value: u64, order: Order) {
        if order != Order::Relaxed {
            self.barrier(thread);
        }
        if order == Order::SeqCst {
            return self.locked(thread, Operation::LockedStore(cell), Some(value));
        }
        let name = self.event(thread, Operation::Store(cell), None);
        let processor = &mut self.processors[thread];
        processor.buffer.push(BufferedStore {
            address: cell,
            value,
            name,
            epoch: processor.epoch,
        });
    }

    fn read_modify_write(&mut self, thread: usize, instruction: Instruction) {
        let registers = self.processors[thread].registers;
        match instruction {
            Instruction::FetchAdd {
                into,
                cell,
                amount,
                order,
            } => {
                let old = self.value(cell);
                self.modify(thread, cell, Some(old.wrapping_add(amount)), order);
                self.set(thread, into, old);
            }
            Instruction::Swap {
                into,
                cell,
                value,
                order,
            } => {
                let old = self.value(cell);
                self.modify(thread, cell, Some(value.of(&registers)), order);
                self.set(thread, into, old);
            }
            Instruction::CompareExchange {
                into,
                cell,
                expected,
                new,
                order,
            } => {
                let is_expected = self.value(cell) == expected.of(&registers);
                let new = is_expected.then(|| new.of(&registers));
                self.modify(thread, cell, new, order);
                self.set(thread, into, is_expected.into());
            }
            other => unreachable!("{other} is no read-modify-write"),
        }
    }

    fn wake(&mut self, model: &Model, thread: usize, condvar: Address) {
        let is_notified = self.is_notified(model, thread);
        self.synchronize(thread, model.token(thread), 0);
        if !is_notified {
            let waiters = self.value(condvar) & !(1 << thread);
            self.locked(thread, Operation::Interlocked(condvar), Some(waiters));
        }
    }

    fn notify_one(&mut self, model: &Model, thread: usize, condvar: Address, way: u32) {
        let waiters = self.value(condvar);
        let mut set = (0..model.threads.len()).filter(|thread| waiters >> thread & 1 == 1);
        match set.nth(way as usize) {
            Some(waiter) => {
                self.synchronize(thread, condvar, waiters & !(1 << waiter));
                let token = Operation::Interlocked(model.token(waiter));
                self.locked(thread, token, Some(1));
            }
            None => {
                self.event(thread, Operation::Fence, None);
                self.locked(thread, Operation::LockedLoad(condvar), None);
            }
        }
    }

    fn spawn(&mut self, model: &Model, thread: usize, child: usize) {
        let beginning = model.beginning(child);
        self.event(thread, Operation::Fence, None);
        self.locked(thread, Operation::LockedStore(beginning), Some(1));
        self.locked(child, Operation::LockedLoad(beginning), None);
        self.processors[child].life = Life::At(0);
        self.settle(model, child);
    }

    /// Does what touches only registers.
    fn settle(&mut self, model: &Model, thread: usize) {
        while let Life::At(position) = self.processors[thread].life {
            let Some(instruction) = self.instruction(model, thread) else {
                break;
            };
            let registers = self.processors[thread].registers;
            let of = |register: Register| registers[usize::from(register.0)];
            let life = match instruction {
                Instruction::Set { into, value } => {
                    self.set(thread, into, value.of(&registers));
                    Life::At(position + 1)
                }
                Instruction::Jump { to } => Life::At(to),
                Instruction::JumpIf {
                    register,
                    test,
                    value,
                    to,
                } => match test.holds(of(register), value.of(&registers)) {
                    true => Life::At(to),
                    false => Life::At(position + 1),
                },
                Instruction::Assert {
                    register,
                    test,
                    value,
                } => match test.holds(of(register), value.of(&registers)) {
                    true => Life::At(position + 1),
                    false => Life::Failed,
                },
                _ => return,
            };
            self.processors[thread].life = life;
        }
    }

    fn trace(&self) -> Trace {
        let number_of = |operation: Operation, name: Name| {
            let address = operation.address().expect("it is written").index();
            let writes = self.memory[address].writes.iter();
            writes.take_while(|write| **write != name).count() as u64 + 1
        };
        let mut events = Vec::new();
        for (thread, processor) in self.processors.iter().enumerate() {
            for (index, &(operation, source)) in processor.performed.iter().enumerate() {
                let coherence = match operation.writes() {
                    true => number_of(operation, (thread as u32, index as u32)),
                    false => source.map_or(0, |write| number_of(operation, write)),
                };
                events.push(Event {
                    access: Access::new(ThreadId(thread as u32), operation),
                    issue: IssueIndex(index as u64 + 1),
                    coherence: CoherenceIndex(coherence),
                });
            }
        }
        Trace::new(events).expect("a run has a trace")
    }
}
