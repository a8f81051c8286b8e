//! A slice performed on the store-buffer machine, with the pending write held back.

use std::collections::VecDeque;

use fencepost_memory::machine::{Machine, Step, StepEffect};
use fencepost_memory::{Address, MemoryModel, Operation, ThreadId};
use rustc_hash::FxHashMap;

use super::slice::{LocalEvent, Slice};
use super::{Action, ExplainError, WitnessStep, unsound};
use crate::violation::PlacedEvent;

/// The state of an event of the slice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Waiting,
    Buffered,
    Done,
}

/// What memory holds at an address.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// The last write, and the number of writes including it.
    last: Option<usize>,
    writes: u64,
}

impl Cell {
    fn write(&mut self, index: usize) {
        self.last = Some(index);
        self.writes += 1;
    }
}

/// The machine that performs a slice.
pub(super) struct Run<'a> {
    slice: &'a Slice,
    pub(super) machine: Machine,
    progress: Vec<Progress>,
    /// Per thread and address, the events of the slice that are buffered, oldest first.
    buffered: FxHashMap<(usize, usize), VecDeque<usize>>,
    /// Per address.
    memory: Vec<Cell>,
    /// The write that is in memory at the start at the address of the pending write.
    before_pending: Option<PlacedEvent>,
    pub(super) steps: Vec<WitnessStep>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        model: MemoryModel,
        slice: &'a Slice,
        before_pending: Option<PlacedEvent>,
    ) -> Self {
        let mut threads = vec![Vec::new(); slice.threads];
        for event in &slice.events {
            threads[event.thread].push(event.local_access());
        }
        Run {
            slice,
            machine: Machine::of_accesses(&model, threads),
            progress: vec![Progress::Waiting; slice.events.len()],
            buffered: FxHashMap::default(),
            memory: vec![Cell::default(); slice.addresses],
            before_pending,
            steps: Vec::with_capacity(slice.events.len()),
        }
    }

    /// Performs the events that do not happen after the pending write, as in the interleaving.
    pub(super) fn perform_prelude(&mut self) -> Result<(), ExplainError> {
        for (index, event) in self.slice.before_overtaking().iter().enumerate() {
            if event.after_pending {
                continue;
            }
            let is_done = self.issue(index) && (self.is_done(index) || self.commit(index));
            if !is_done {
                return Err(unsound("what precedes the pending write is stuck"));
            }
        }
        Ok(())
    }

    /// Performs the events that can be performed while the pending write is held back: in its
    /// buffer, or not performed at all if it is a locked one.
    pub(super) fn perform_without_pending_write(&mut self) -> Result<(), ExplainError> {
        let mut stopped = vec![false; self.slice.threads];
        // Addresses with an access that is held back: later writes must wait for it.
        let mut held_back = vec![false; self.slice.addresses];
        for (index, event) in self.slice.before_overtaking().iter().enumerate() {
            if self.is_done(index) {
                continue;
            }
            let is_pending_write = index == 0;
            let may_write = !is_pending_write && event.address.is_some_and(|a| !held_back[a]);
            let may_issue = match event.operation() {
                Operation::Load(_) | Operation::LockedLoad(_) => self.reads_as_before(event),
                Operation::Interlocked(_) | Operation::LockedStore(_) => may_write,
                Operation::Store(_) | Operation::Fence | Operation::StoreBarrier => true,
            };
            if stopped[event.thread] || !may_issue || !self.issue(index) {
                stopped[event.thread] = true;
            } else if self.progress[index] == Progress::Buffered && may_write {
                self.commit(index);
            }
            if let (Some(address), false) = (event.address, self.is_done(index)) {
                held_back[address] = true;
            }
        }
        if self.is_done(0) {
            return Err(unsound("the pending write cannot be held back"));
        }
        Ok(())
    }

    fn is_done(&self, index: usize) -> bool {
        self.progress[index] == Progress::Done
    }

    /// Whether a load reads now what it reads in the interleaving.
    fn reads_as_before(&self, event: &LocalEvent) -> bool {
        let value = match self.newest_buffered(event) {
            Some(store) => self.slice.events[store].coherence,
            None => event
                .address
                .map_or(0, |address| self.memory[address].writes),
        };
        value == event.coherence
    }

    /// The write that an event would read from memory, if it is known.
    fn in_memory(&self, event: &LocalEvent) -> Option<PlacedEvent> {
        let address = event.address?;
        match self.memory[address].last {
            Some(write) => Some(self.slice.events[write].placed),
            None if self.slice.events[0].address == Some(address) => self.before_pending,
            None => None,
        }
    }

    fn newest_buffered(&self, event: &LocalEvent) -> Option<usize> {
        let key = (event.thread, event.address?);
        self.buffered
            .get(&key)
            .and_then(|list| list.back())
            .copied()
    }

    /// Lets the machine issue the event; false if the buffer must drain first.
    fn issue(&mut self, index: usize) -> bool {
        let event = &self.slice.events[index];
        let thread = ThreadId(event.thread as u32);
        let Ok(performed) = self.machine.step(Step::Issue(thread)) else {
            return false;
        };
        let placed = |index: usize| self.slice.events[index].placed;
        let action = match (performed, event.operation()) {
            (StepEffect::Buffered { .. }, _) => Action::Buffer,
            (_, Operation::Load(_)) => match self.newest_buffered(event) {
                Some(store) => Action::Forward(placed(store)),
                None => Action::Read(self.in_memory(event)),
            },
            (_, Operation::LockedLoad(_)) => Action::Read(self.in_memory(event)),
            (_, Operation::Interlocked(_)) => Action::Exchange(self.in_memory(event)),
            _ => Action::Perform,
        };
        self.progress[index] = if action == Action::Buffer {
            let address = event.address.expect("a store has an address");
            self.buffered
                .entry((event.thread, address))
                .or_default()
                .push_back(index);
            Progress::Buffered
        } else {
            if let (Some(address), true) = (event.address, event.operation().writes()) {
                self.memory[address].write(index);
            }
            Progress::Done
        };
        let event = event.placed;
        self.steps.push(WitnessStep { event, action });
        true
    }

    /// Commits a buffered store; false if the machine does not allow it yet.
    fn commit(&mut self, index: usize) -> bool {
        let event = &self.slice.events[index];
        let address = event.address.expect("a store has an address");
        let queue = self.buffered.get_mut(&(event.thread, address));
        let Some(queue) = queue.filter(|queue| queue.front() == Some(&index)) else {
            return false;
        };
        let step = Step::Commit(ThreadId(event.thread as u32), Address(address as u32));
        if self.machine.step(step).is_err() {
            return false;
        }
        queue.pop_front();
        self.memory[address].write(index);
        self.progress[index] = Progress::Done;
        self.steps.push(WitnessStep {
            event: event.placed,
            action: Action::Commit,
        });
        true
    }

    /// Performs the overtaking event, before the pending write.
    pub(super) fn overtake(&mut self) -> Result<(), ExplainError> {
        let index = self.slice.events.len() - 1;
        let thread = self.slice.events[index].thread;
        let events = self.slice.before_overtaking().iter().zip(&self.progress);
        if events
            .filter(|(event, _)| event.thread == thread)
            .any(|(_, progress)| *progress == Progress::Waiting)
        {
            return Err(unsound("the overtaking event's thread is stuck"));
        }
        if !self.issue(index) {
            return Err(unsound("the overtaking event must wait for its buffer"));
        }
        if self.progress[index] == Progress::Buffered && !self.commit(index) {
            return Err(unsound("the overtaking store cannot commit"));
        }
        Ok(())
    }

    /// Performs and commits everything that was held back, in the order of the interleaving.
    pub(super) fn perform_the_rest(&mut self) -> Result<(), ExplainError> {
        for index in 0..self.slice.events.len() {
            if self.progress[index] == Progress::Waiting && !self.issue(index) {
                return Err(unsound("an event stays stuck"));
            }
            if self.progress[index] == Progress::Buffered && !self.commit(index) {
                return Err(unsound("a buffered store stays stuck"));
            }
        }
        Ok(())
    }
}
