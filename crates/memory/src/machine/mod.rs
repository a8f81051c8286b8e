//! The models as store-buffer machines that emit traces.
//!
//! SOBER Appendix A (the trace automata of Fig. 5 and 6), BSS Fig. 1 to 3 and x86-TSO
//! section 3.1 describe the same machine: a memory, and per processor a buffer between
//! it and the memory. A step either issues a thread's next operation or commits a
//! buffered store to the memory. What is buffered how, and what waits for what, is
//! asked of the model ([`MemoryModel::buffering`], [`MemoryModel::drains`]); what the
//! axioms ask, [`MemoryModel::keeps`], is not used here.
//!
//! Deviations: SOBER's automaton guesses the coherence index of a store as it is
//! issued and checks the guess as it commits; here the commit gives it, and a load that
//! took its value out of the buffer gets its index then. Locked operations that only
//! read or only write, fences and barriers are ours, as is the epoch of BSS's PSO
//! buffers: a store commits only when no store from before an earlier barrier is left.
//!
//! Every step takes constant time, whatever is buffered.

mod program;
mod runs;
mod step;

use crate::event::{Access, Address, CoherenceIndex, Event, Operation, ThreadId};
use crate::model::{Buffering, Drain, MemoryModel};
use crate::program::StraightLineProgram;
use crate::trace::Trace;
use program::{NONE, Program};

pub use runs::{RunEnumerator, emits_non_sc_trace, emitted_traces};
pub use step::{
    BufferedStore, BuffersNotEmpty, EventId, MemoryContent, Step, StepEffect, StepError,
};

/// A store-buffer machine in the middle of a run.
///
/// ```
/// use fencepost_memory::machine::{Machine, Step};
/// use fencepost_memory::{Address, MemoryModel, Operation, StraightLineProgram, ThreadId, axioms};
/// let (x, y) = (Address(0), Address(1));
/// let program = StraightLineProgram {
///     threads: vec![
///         vec![Operation::Store(x), Operation::Load(y)],
///         vec![Operation::Store(y), Operation::Load(x)],
///     ],
/// };
/// let (t0, t1) = (ThreadId(0), ThreadId(1));
/// let mut machine = Machine::new(&MemoryModel::TSO, &program);
/// for step in [
///     Step::Issue(t0), Step::Issue(t0), Step::Issue(t1), Step::Issue(t1),
///     Step::Commit(t0, x), Step::Commit(t1, y),
/// ] {
///     println!("{}", machine.step(step)?);
/// }
/// let trace = machine.finish()?;
/// assert!(axioms::check(&MemoryModel::SC, &trace).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    model: MemoryModel,
    program: Program,
    threads: Vec<Thread>,
    operations: Vec<Issued>,
    /// The oldest buffered store of each queue.
    oldest_in_queue: Vec<u32>,
    memory: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    /// Its next operation.
    next: u32,
    /// Its oldest and newest buffered store.
    oldest: u32,
    newest: u32,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug)]
struct Issued {
    state: State,
    /// Of a read that has happened: the write that it read. Of a write in memory: the
    /// write that it replaced.
    source: u32,
    /// The next older and younger buffered store of the thread, for buffered stores.
    older: u32,
    younger: u32,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    writes: u32,
    last: u32,
}

/// What has become of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    NotIssued,
    Buffered,
    /// A load that read a buffered store, whose coherence index it will have.
    Forwarded,
    /// Done, with this coherence index.
    Done(u32),
}

impl Machine {
    /// The machine of `model`, about to run `program`.
    pub fn new(model: &MemoryModel, program: &StraightLineProgram) -> Self {
        let threads = program.threads.iter().enumerate();
        let threads = threads.map(|(thread, list)| {
            let list = list.iter();
            list.map(|&operation| Access::new(ThreadId(thread as u32), operation))
                .collect()
        });
        Self::of_program(model, Program::new(threads))
    }

    /// The machine of `model`, about to perform these accesses, one list per thread.
    /// They keep their source locations. The thread of an access is the list that it is
    /// in. Writes keep their value; a load's is that of the write that it will read.
    pub fn of_accesses(model: &MemoryModel, threads: Vec<Vec<Access>>) -> Self {
        Self::of_program(model, Program::new(threads.into_iter()))
    }

    fn of_program(model: &MemoryModel, program: Program) -> Self {
        let starts = program.starts[..program.threads()].iter();
        let threads = starts.map(|&next| Thread {
            next,
            oldest: NONE,
            newest: NONE,
        });
        let not_issued = Issued {
            state: State::NotIssued,
            source: NONE,
            older: NONE,
            younger: NONE,
        };
        let empty_cell = Cell {
            writes: 0,
            last: NONE,
        };
        Machine {
            model: *model,
            threads: threads.collect(),
            operations: vec![not_issued; program.accesses.len()],
            oldest_in_queue: vec![NONE; program.queues.len()],
            memory: vec![empty_cell; program.cells.len()],
            program,
        }
    }

    /// The model whose machine this is.
    pub fn model(&self) -> &MemoryModel {
        &self.model
    }

    /// The number of threads.
    pub fn thread_count(&self) -> usize {
        self.program.threads()
    }

    /// The thread's next operation, if it has not finished.
    pub fn next_access(&self, thread: ThreadId) -> Option<&Access> {
        let next = self.threads.get(thread.index())?.next;
        let is_last = next == self.program.starts[thread.index() + 1];
        (!is_last).then(|| &self.program.accesses[next as usize])
    }

    /// What the thread has buffered, oldest first.
    pub fn buffer(&self, thread: ThreadId) -> impl Iterator<Item = BufferedStore> + '_ {
        self.buffered(self.threads.get(thread.index()).map_or(NONE, |t| t.oldest))
            .filter_map(|index| {
                Some(BufferedStore {
                    store: self.program.id(index),
                    address: self.program.accesses[index as usize].operation.address()?,
                    epoch: self.program.links[index as usize].epoch,
                })
            })
    }

    /// What memory holds at the address.
    pub fn memory(&self, address: Address) -> MemoryContent {
        match self.program.cells.get(&address) {
            None => MemoryContent::default(),
            Some(&cell) => MemoryContent {
                write: self.program.id_if_any(self.memory[cell as usize].last),
                coherence: CoherenceIndex(self.memory[cell as usize].writes.into()),
            },
        }
    }

    /// Whether no store is buffered.
    pub fn is_drained(&self) -> bool {
        self.threads.iter().all(|thread| thread.oldest == NONE)
    }

    /// Whether every operation has been issued and no store is buffered.
    pub fn is_complete(&self) -> bool {
        let ends = self.program.starts[1..].iter();
        let are_issued = self.threads.iter().map(|thread| &thread.next).eq(ends);
        are_issued && self.is_drained()
    }

    /// The steps that the machine can take now.
    pub fn enabled(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        self.push_enabled(&mut steps);
        steps
    }

    /// Takes a step.
    pub fn step(&mut self, step: Step) -> Result<StepEffect, StepError> {
        let index = self.apply(step)?;
        Ok(self.describe(step, index))
    }

    /// The trace of the operations issued so far, thread by thread.
    pub fn finish(self) -> Result<Trace, BuffersNotEmpty> {
        if let Some(thread) = self.threads.iter().find(|thread| thread.oldest != NONE) {
            let pending = self.program.id(thread.oldest);
            return Err(BuffersNotEmpty { pending });
        }
        Ok(Trace::of_valid_events(self.events()))
    }

    /// The events of the operations issued so far. No store may be buffered.
    fn events(&self) -> Vec<Event> {
        let program = &self.program;
        let mut events = Vec::with_capacity(program.accesses.len());
        for thread in 0..program.threads() {
            for index in program.starts[thread]..self.threads[thread].next {
                let mut access = program.accesses[index as usize];
                if !access.operation.writes() {
                    let source = self.operations[index as usize].source as usize;
                    access.value = program.accesses.get(source).and_then(|write| write.value);
                }
                events.push(Event {
                    access,
                    issue: program.id(index).issue,
                    coherence: CoherenceIndex(self.coherence(index as usize).into()),
                });
            }
        }
        events
    }

    /// The number of operations of the program.
    fn operation_count(&self) -> usize {
        self.program.accesses.len()
    }

    /// What has become of each operation, thread by thread, where a forwarded load
    /// whose store has committed counts as done.
    fn states(&self) -> impl Iterator<Item = State> + '_ {
        self.operations.iter().map(|operation| {
            let source = self.operations.get(operation.source as usize);
            match (operation.state, source) {
                (State::Forwarded, Some(store)) if store.state != State::Buffered => store.state,
                (state, _) => state,
            }
        })
    }

    /// The coherence index of an operation that has one.
    fn coherence(&self, index: usize) -> u32 {
        match self.operations[index].state {
            State::Done(coherence) => coherence,
            State::Forwarded => match self.operations[self.operations[index].source as usize].state
            {
                State::Done(coherence) => coherence,
                _ => unreachable!("the store that was forwarded has committed"),
            },
            _ => unreachable!("the operation has been performed"),
        }
    }

    fn push_enabled(&self, steps: &mut Vec<Step>) {
        for index in 0..self.program.threads() {
            let thread = ThreadId(index as u32);
            let next = self.threads[index].next;
            if next < self.program.starts[index + 1] && self.waits_for(index, next) == NONE {
                steps.push(Step::Issue(thread));
            }
            let oldest = self.threads[index].oldest;
            if oldest == NONE {
                continue;
            }
            let commits = self.buffered(oldest).take_while(|&store| {
                store == oldest
                    || (self.model.buffering() == Buffering::PerAddress
                        && self.epoch(store) == self.epoch(oldest))
            });
            let heads = commits.filter(|&store| {
                self.oldest_in_queue[self.program.links[store as usize].queue as usize] == store
            });
            steps.extend(heads.filter_map(|store| {
                let address = self.program.accesses[store as usize].operation.address()?;
                Some(Step::Commit(thread, address))
            }));
        }
    }

    /// A thread whose next operation acts on nothing but its own buffer.
    fn local_step(&self) -> Option<Step> {
        let buffers = self.model.buffering() != Buffering::None;
        let mut threads = 0..self.program.threads();
        let thread = threads.find(|&thread| {
            let next = self.threads[thread].next;
            next < self.program.starts[thread + 1]
                && match self.program.accesses[next as usize].operation {
                    Operation::Store(_) => buffers,
                    Operation::StoreBarrier => true,
                    Operation::Fence => self.waits_for(thread, next) == NONE,
                    _ => false,
                }
        })?;
        Some(Step::Issue(ThreadId(thread as u32)))
    }

    /// Takes a step and says which operation it was about.
    fn apply(&mut self, step: Step) -> Result<u32, StepError> {
        match step {
            Step::Issue(thread) => self.issue(thread),
            Step::Commit(thread, address) => self.commit(thread, address),
        }
    }

    fn issue(&mut self, thread: ThreadId) -> Result<u32, StepError> {
        let t = thread.index();
        let Some(&Thread { next: index, .. }) = self.threads.get(t) else {
            return Err(StepError::NoSuchThread { thread });
        };
        if index == self.program.starts[t + 1] {
            return Err(StepError::ThreadFinished { thread });
        }
        let operation = self.program.accesses[index as usize].operation;
        let pending = self.waits_for(t, index);
        if pending != NONE {
            return Err(StepError::MustDrain {
                event: self.program.id(index),
                operation,
                pending: self.program.id(pending),
            });
        }
        let i = index as usize;
        self.threads[t].next += 1;
        match operation {
            Operation::Store(_) if self.model.buffering() != Buffering::None => {
                self.append_to_buffer(t, index);
                self.operations[i].state = State::Buffered;
            }
            Operation::Store(_) | Operation::Interlocked(_) | Operation::LockedStore(_) => {
                self.write_to_memory(i);
            }
            Operation::Load(_) | Operation::LockedLoad(_) => {
                // The newest own store to the address is the last one in program
                // order; if that has committed, none is buffered.
                let own = self.program.links[i].store_before;
                if own != NONE && self.operations[own as usize].state == State::Buffered {
                    self.operations[i].source = own;
                    self.operations[i].state = State::Forwarded;
                } else {
                    let cell = self.memory[self.program.links[i].cell as usize];
                    self.operations[i].source = cell.last;
                    self.operations[i].state = State::Done(cell.writes);
                }
            }
            Operation::Fence | Operation::StoreBarrier => self.operations[i].state = State::Done(0),
        }
        Ok(index)
    }

    fn commit(&mut self, thread: ThreadId, address: Address) -> Result<u32, StepError> {
        let Some(&Thread { oldest, .. }) = self.threads.get(thread.index()) else {
            return Err(StepError::NoSuchThread { thread });
        };
        let queue = self.program.queues.get(&(thread, address));
        let store = queue.map_or(NONE, |&queue| self.oldest_in_queue[queue as usize]);
        if store == NONE {
            return Err(StepError::NothingToCommit { thread, address });
        }
        let overtakes = match self.model.buffering() {
            Buffering::None | Buffering::Fifo => oldest != store,
            Buffering::PerAddress => self.epoch(oldest) != self.epoch(store),
        };
        if overtakes {
            return Err(StepError::OlderStoreFirst {
                store: self.program.id(store),
                older: self.program.id(oldest),
            });
        }
        self.take_out_of_buffer(thread.index(), store);
        self.write_to_memory(store as usize);
        Ok(store)
    }

    /// Takes back the last step, which was about the operation `index`.
    fn undo(&mut self, step: Step, index: u32) {
        let i = index as usize;
        let was_in_memory = matches!(self.operations[i].state, State::Done(_));
        if was_in_memory && self.program.accesses[i].operation.writes() {
            let cell = &mut self.memory[self.program.links[i].cell as usize];
            cell.writes -= 1;
            cell.last = self.operations[i].source;
        }
        match step {
            Step::Issue(thread) => {
                if self.operations[i].state == State::Buffered {
                    self.take_out_of_buffer(thread.index(), index);
                }
                self.threads[thread.index()].next -= 1;
                self.operations[i].state = State::NotIssued;
            }
            Step::Commit(thread, _) => {
                self.put_back_into_buffer(thread.index(), index);
                self.operations[i].state = State::Buffered;
            }
        }
        self.operations[i].source = NONE;
    }

    /// A buffered store of the thread that must commit before the operation.
    fn waits_for(&self, thread: usize, index: u32) -> u32 {
        let i = index as usize;
        let oldest = self.threads[thread].oldest;
        match self.model.drains(self.program.accesses[i].operation) {
            _ if oldest == NONE => NONE,
            Drain::Nothing => NONE,
            Drain::Everything => oldest,
            Drain::OwnAddress if self.epoch(oldest) != self.epoch(index) => oldest,
            Drain::OwnAddress => {
                let queue = self.program.links[i].queue as usize;
                self.oldest_in_queue.get(queue).copied().unwrap_or(NONE)
            }
        }
    }

    fn epoch(&self, index: u32) -> u32 {
        self.program.links[index as usize].epoch
    }

    /// The buffered stores of a thread from `first` on.
    fn buffered(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let mut store = first;
        std::iter::from_fn(move || {
            let younger = self.operations.get(store as usize)?.younger;
            Some(std::mem::replace(&mut store, younger))
        })
    }

    fn write_to_memory(&mut self, i: usize) {
        let cell = &mut self.memory[self.program.links[i].cell as usize];
        self.operations[i].source = cell.last;
        cell.last = i as u32;
        cell.writes += 1;
        self.operations[i].state = State::Done(cell.writes);
    }

    fn append_to_buffer(&mut self, thread: usize, store: u32) {
        self.operations[store as usize].older = self.threads[thread].newest;
        self.operations[store as usize].younger = NONE;
        self.put_back_into_buffer(thread, store);
    }

    /// Links `store` between the neighbours that it remembers.
    fn put_back_into_buffer(&mut self, thread: usize, store: u32) {
        let (older, younger) = (
            self.operations[store as usize].older,
            self.operations[store as usize].younger,
        );
        match older {
            NONE => self.threads[thread].oldest = store,
            older => self.operations[older as usize].younger = store,
        }
        match younger {
            NONE => self.threads[thread].newest = store,
            younger => self.operations[younger as usize].older = store,
        }
        let queue = self.program.links[store as usize].queue as usize;
        let oldest = &mut self.oldest_in_queue[queue];
        if *oldest == NONE || store < *oldest {
            *oldest = store;
        }
    }

    fn take_out_of_buffer(&mut self, thread: usize, store: u32) {
        let (older, younger) = (
            self.operations[store as usize].older,
            self.operations[store as usize].younger,
        );
        match older {
            NONE => self.threads[thread].oldest = younger,
            older => self.operations[older as usize].younger = younger,
        }
        match younger {
            NONE => self.threads[thread].newest = older,
            younger => self.operations[younger as usize].older = older,
        }
        let queue = self.program.links[store as usize].queue as usize;
        if self.oldest_in_queue[queue] == store {
            let after = self.program.links[store as usize].store_after;
            let is_buffered =
                after != NONE && self.operations[after as usize].state == State::Buffered;
            self.oldest_in_queue[queue] = if is_buffered { after } else { NONE };
        }
    }

    fn describe(&self, step: Step, index: u32) -> StepEffect {
        let i = index as usize;
        let event = self.program.id(index);
        let source = self.program.id_if_any(self.operations[i].source);
        let operation = self.program.accesses[i].operation;
        let (address, state) = match (operation.address(), self.operations[i].state) {
            (Some(address), state) => (address, state),
            (None, _) if operation == Operation::Fence => {
                return StepEffect::Fenced { fence: event };
            }
            (None, _) => return StepEffect::Barred { barrier: event },
        };
        match (state, step) {
            (State::Done(coherence), _) if !operation.writes() => StepEffect::Read {
                load: event,
                address,
                source,
                coherence: CoherenceIndex(coherence.into()),
            },
            (State::Done(coherence), Step::Commit(..)) => StepEffect::Committed {
                store: event,
                address,
                coherence: CoherenceIndex(coherence.into()),
            },
            (State::Done(coherence), Step::Issue(_)) => StepEffect::Wrote {
                write: event,
                address,
                replaced: source,
                coherence: CoherenceIndex(coherence.into()),
            },
            (State::Forwarded, _) => StepEffect::Forwarded {
                load: event,
                address,
                source: source.expect("a forwarded load has a source"),
            },
            (State::Buffered, _) => StepEffect::Buffered {
                store: event,
                address,
            },
            (State::NotIssued, _) => unreachable!("a step has just been taken"),
        }
    }
}
