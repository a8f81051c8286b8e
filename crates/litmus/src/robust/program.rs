//! A litmus test as a program for the explorer: one step per access to memory, sequentially
//! consistent.
//!
//! A locked instruction is one step, an unlocked one that reads and writes is two. Only the monitor
//! sees fences. A thread that returns to a load or a locked instruction in the same state signals
//! that it spins; the explorer then does not schedule it until something that it read has changed.

use fencepost_explore::{
    Condition, Effect, Intent, Performed, Program, Stop, ThreadStatus, Touch, TouchKind,
};
use fencepost_memory::{Access, Address, LocationId, Operation as MemoryOperation, ThreadId};
use rustc_hash::FxHashMap;
use std::convert::Infallible;

use crate::code::{Computation, Fence, Operand, Operation};
use crate::test::{CellId, Test};
use crate::thread::{Fault, FaultKind, Layout, Pending, Runner, View};

/// A thread of the running test.
#[derive(Clone, Default)]
struct Running {
    position: u32,
    registers: Vec<u64>,
    /// The registers at each load and locked instruction since the thread last changed memory.
    arrivals: FxHashMap<u32, Vec<u64>>,
    is_spinning: bool,
}

/// A litmus test that is run.
pub(super) struct LitmusProgram<'a> {
    test: &'a Test,
    layout: Layout,
    threads: Vec<Running>,
    memory: Vec<u64>,
    /// The number of each thread's first instruction among those of all threads.
    first_instruction: Vec<u32>,
}

impl<'a> LitmusProgram<'a> {
    pub(super) fn new(test: &'a Test) -> Self {
        let mut count = 0;
        let instructions = test.threads.iter().map(|thread| {
            let first = count;
            count += thread.instructions.len() as u32 + 1;
            first
        });
        LitmusProgram {
            test,
            layout: Layout::new(test),
            first_instruction: instructions.collect(),
            threads: Vec::new(),
            memory: Vec::new(),
        }
    }

    fn runner(&mut self, thread: usize) -> Runner<'_> {
        let running = &mut self.threads[thread];
        Runner {
            thread,
            test: self.test,
            layout: &self.layout,
            position: &mut running.position,
            registers: &mut running.registers,
        }
    }

    fn view(&self, thread: usize) -> View<'_> {
        let running = &self.threads[thread];
        View {
            thread,
            test: self.test,
            layout: &self.layout,
            position: running.position,
            registers: &running.registers,
        }
    }

    fn location_of(&self, thread: usize) -> LocationId {
        let position = self.threads[thread].position as usize;
        let instruction = self.test.threads[thread].instruction_of[position];
        LocationId::from_index(self.first_instruction[thread] + instruction)
    }

    fn access(&self, thread: usize, operation: MemoryOperation, value: Option<u64>) -> Access {
        Access {
            value,
            location: Some(self.location_of(thread)),
            ..Access::new(ThreadId(thread as u32), operation)
        }
    }

    /// Runs a thread to its next access, through computations and fences.
    fn run_on(&mut self, thread: usize, performed: &mut Performed) -> Result<(), Fault> {
        // More fences without an access than there are operations: they are in a loop that has no
        // access.
        for _ in 0..=self.test.threads[thread].operations.len() {
            let fence = match self.runner(thread).advance()? {
                Pending::Fence(fence) => fence,
                Pending::Load(_) | Pending::BeginLocked => {
                    self.arrive(thread);
                    return Ok(());
                }
                _ => return Ok(()),
            };
            let operation = match fence {
                Fence::Full => Some(MemoryOperation::Fence),
                Fence::Store => Some(MemoryOperation::StoreBarrier),
                Fence::Load => None,
            };
            performed
                .accesses
                .extend(operation.map(|o| self.access(thread, o, None)));
            self.runner(thread).passed();
        }
        let position = self.threads[thread].position as usize;
        let instruction = self.test.threads[thread].instruction_of[position] as usize;
        Err(Fault {
            thread,
            instruction,
            kind: FaultKind::SilentLoop,
        })
    }

    fn arrive(&mut self, thread: usize) {
        let Running {
            position,
            registers,
            arrivals,
            is_spinning,
        } = &mut self.threads[thread];
        match arrivals.get_mut(position) {
            Some(before) if before == registers => *is_spinning = true,
            Some(before) => before.clone_from(registers),
            None => {
                arrivals.insert(*position, registers.clone());
            }
        }
    }

    fn has_written(&mut self, thread: usize) {
        self.threads[thread].arrivals.clear();
    }

    /// The effect of the next instruction of a thread, which is locked: its cell, and whether that
    /// depends on the content.
    fn locked_effect(&self, thread: usize) -> Option<(CellId, Effect)> {
        let view = self.view(thread);
        let inside = View {
            position: view.position + 1,
            ..view
        };
        let Ok(Some(Pending::Load(cell))) = inside.pending() else {
            return None;
        };
        let operations = &self.test.threads[thread].operations[inside.position as usize..];
        let compares = operations
            .iter()
            .take_while(|o| !matches!(o, Operation::EndLocked));
        let writes = |operation: &Operation| matches!(operation, Operation::Store { .. });
        let mut effect = match compares.clone().any(writes) {
            true => Effect::Write,
            false => Effect::Read,
        };
        let mut compared = None;
        for operation in compares {
            match *operation {
                // Only CMPXCHG compares without keeping the difference, and then jumps.
                Operation::Compute {
                    computation: Computation::Subtract,
                    to: None,
                    left,
                    ..
                } => {
                    compared = Some(left);
                }
                Operation::JumpIf(..) => {
                    if let Some(Operand::Register(register, part)) = compared {
                        let expected = part.of(view.registers[register.index()]);
                        effect = Effect::WriteIf(Condition::Equals(expected));
                    }
                }
                _ => {}
            }
        }
        Some((cell, effect))
    }

    fn touch(&self, cell: CellId, before: u64, kind: TouchKind) -> Touch {
        let after = self.memory[cell.index()];
        Touch {
            object: Address(cell.0),
            kind,
            before,
            after,
        }
    }

    fn step_locked(&mut self, thread: usize, performed: &mut Performed) -> Result<(), Fault> {
        let mut read = None;
        let mut written = None;
        loop {
            match self.runner(thread).advance()? {
                Pending::Load(cell) => {
                    let value = self.memory[cell.index()];
                    read = Some((cell, value));
                    self.runner(thread).loaded(value);
                    continue;
                }
                Pending::Store(cell, value) => {
                    written = Some(value);
                    self.memory[cell.index()] = value;
                }
                Pending::EndLocked => break,
                _ => {}
            }
            self.runner(thread).passed();
        }
        let (cell, before) = read.expect("a locked instruction reads");
        let address = Address(cell.0);
        let (kind, operation) = match written {
            Some(_) => (TouchKind::Write, MemoryOperation::Interlocked(address)),
            None => (TouchKind::Read, MemoryOperation::LockedLoad(address)),
        };
        performed.touches.push(self.touch(cell, before, kind));
        performed
            .accesses
            .push(self.access(thread, operation, written.or(Some(before))));
        self.runner(thread).passed();
        // A lock that is still taken is tried again and again: nothing has changed.
        if written.is_some_and(|value| value != before) {
            self.has_written(thread);
        }
        Ok(())
    }
}

impl Program for LitmusProgram<'_> {
    type Error = Fault;
    type Restart = Infallible;

    fn start(&mut self, performed: &mut Performed) -> Result<(), Stop<Fault, Infallible>> {
        let cells = self.test.cells.iter();
        self.memory.clear();
        self.memory
            .extend(cells.map(|cell| cell.initial & cell.width.mask()));
        self.threads
            .resize_with(self.test.threads.len(), Running::default);
        for (running, thread) in self.threads.iter_mut().zip(&self.test.threads) {
            running.position = 0;
            running.registers.clear();
            running
                .registers
                .extend(thread.registers.iter().map(|register| register.initial));
            running.arrivals.clear();
            running.is_spinning = false;
        }
        for thread in 0..self.threads.len() {
            if thread > 0 {
                performed.spawned.push(ThreadId(thread as u32));
            }
            self.run_on(thread, performed)?;
        }
        Ok(())
    }

    fn is_fatal(&self, _: &Fault) -> bool {
        true
    }

    fn thread_bound(&self) -> usize {
        self.test.threads.len()
    }

    fn status(&self, thread: ThreadId) -> ThreadStatus {
        if thread.index() >= self.threads.len() {
            return ThreadStatus::NotSpawned;
        }
        let thread = thread.index();
        if self.threads[thread].is_spinning {
            return ThreadStatus::Pending {
                intent: Intent::SpinHint,
                outcomes: 1,
            };
        }
        let access = |cell: CellId, effect| Intent::Access {
            object: Address(cell.0),
            effect,
            awaits: None,
        };
        let intent = match self.view(thread).pending() {
            Ok(Some(Pending::Load(cell))) => access(cell, Effect::Read),
            Ok(Some(Pending::Store(cell, _))) => access(cell, Effect::Write),
            Ok(Some(Pending::BeginLocked)) => match self.locked_effect(thread) {
                Some((cell, effect)) => access(cell, effect),
                // It will be a fault.
                None => Intent::Local,
            },
            Ok(Some(Pending::Ended)) => return ThreadStatus::Finished,
            _ => Intent::Local,
        };
        ThreadStatus::Pending {
            intent,
            outcomes: 1,
        }
    }

    fn state(&self, object: Address) -> u64 {
        self.memory.get(object.index()).copied().unwrap_or(0)
    }

    fn location(&self, thread: ThreadId) -> Option<LocationId> {
        Some(self.location_of(thread.index()))
    }

    fn step(
        &mut self,
        thread: ThreadId,
        _outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop<Fault, Infallible>> {
        let thread = thread.index();
        if std::mem::take(&mut self.threads[thread].is_spinning) {
            return Ok(());
        }
        match self.runner(thread).advance()? {
            Pending::Load(cell) => {
                let value = self.memory[cell.index()];
                let operation = MemoryOperation::Load(Address(cell.0));
                performed
                    .touches
                    .push(self.touch(cell, value, TouchKind::Read));
                performed
                    .accesses
                    .push(self.access(thread, operation, Some(value)));
                self.runner(thread).loaded(value);
            }
            Pending::Store(cell, value) => {
                let before = std::mem::replace(&mut self.memory[cell.index()], value);
                let operation = MemoryOperation::Store(Address(cell.0));
                performed
                    .touches
                    .push(self.touch(cell, before, TouchKind::Write));
                performed
                    .accesses
                    .push(self.access(thread, operation, Some(value)));
                self.runner(thread).passed();
                self.has_written(thread);
            }
            Pending::BeginLocked => self.step_locked(thread, performed)?,
            pending => unreachable!("{pending:?} is no step"),
        }
        Ok(self.run_on(thread, performed)?)
    }

    fn finish(&mut self, _is_complete: bool) -> Result<(), Stop<Fault, Infallible>> {
        Ok(())
    }
}
