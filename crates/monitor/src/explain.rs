//! From a violation to a finding: the happens-before cycle, and a witness.
//!
//! The interleaving from the pending write to the overtaking event is cut down to what
//! happens before the overtaking event. On the store-buffer machine these events are then
//! performed again, with the same results, except that the pending write is held back (in its
//! buffer, or not performed yet if it is a locked one), and with it whatever must wait for it,
//! until the overtaking event is done. What does not happen after the pending write is performed
//! first, so that a reader can skip it: the [`prelude`](Witness::prelude).
//!
//! That is a run of the same program: each thread performs a prefix of what it performs in the
//! interleaving, every read but the overtaking event (the last of its thread) returns what it
//! returns there, and everything before the pending write can have been performed as in the
//! interleaving, with all buffers empty. What the overtaking event does with another value than
//! in the interleaving is up to the program: a compare-exchange may fail, or succeed. The trace
//! is not sequentially consistent either way.
//!
//! Nothing of this relies on the monitor's clocks. The run is replayed on the machine, its
//! trace must be allowed by the model's axioms and forbidden by those of SC, and each edge
//! of the cycle is checked. If any of this fails the monitor has a bug, and
//! [`ExplainError::Unsound`] says so.

use std::collections::VecDeque;

use fencepost_memory::machine::{Machine, Performed, Step};
use fencepost_memory::{
    Access, Address, Event, MemoryModel, Operation, ThreadId, Trace, axioms, order,
};
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

use crate::violation::{Placed, Violation};

/// Why a violation has no explanation.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The violation spans more accesses than were remembered.
    #[error("the violation spans {length} events, but only the last {window} are kept")]
    OutsideWindow {
        /// From the pending write to the overtaking event.
        length: u64,
        /// How many accesses are remembered.
        window: usize,
    },
    /// The witness does not check. This is a bug in Fencepost.
    #[error(
        "internal error: the witness of a violation does not check ({reason}); this is a bug in \
         Fencepost, please report it with the trace"
    )]
    Unsound {
        /// What went wrong.
        reason: String,
    },
}

/// How two neighbours of a cycle are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// Program order: the same thread, earlier to later.
    ProgramOrder,
    /// The second reads what the first wrote.
    ReadsFrom,
    /// The second overwrites what the first wrote.
    Coherence,
    /// The second overwrites what the first read.
    FromRead,
    /// The second reads a value that overwrote what the first wrote.
    CoherenceThenReadsFrom,
}

impl Relation {
    /// The short name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Relation::ProgramOrder => "po",
            Relation::ReadsFrom => "rf",
            Relation::Coherence => "co",
            Relation::FromRead => "fr",
            Relation::CoherenceThenReadsFrom => "co;rf",
        }
    }
}

/// An event of a cycle and how it is ordered before the next one (the last before the
/// first).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleEvent {
    /// The event.
    pub event: Placed,
    /// How it is ordered before the next.
    pub relation: Relation,
    /// Whether the model keeps that order. A fence between two events whose program order is
    /// not kept rules the cycle out, if all such pairs of the cycle get one.
    pub is_kept: bool,
}

/// What one step of a witness did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A store went into its thread's buffer.
    Buffer,
    /// A load took the value of this store from its thread's buffer.
    Forward(Placed),
    /// A load (plain or locked) read memory: this write, or what was there at the start.
    Read(Option<Placed>),
    /// A read-modify-write read this write, or what was there at the start, and wrote memory.
    Exchange(Option<Placed>),
    /// A locked store, a fence or a barrier was performed.
    Perform,
    /// A buffered store reached memory.
    Commit,
}

/// One step of a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WitnessStep {
    /// Of which event. The overtaking event has the place in coherence order that it takes
    /// here, and no value if it reads.
    pub event: Placed,
    /// What happened.
    pub action: Action,
}

/// A run of the store-buffer machine whose trace is not sequentially consistent; checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The machine.
    pub model: MemoryModel,
    /// How many events of the interleaving come before the run; they are performed as they
    /// are, with empty buffers at the end.
    pub starts_after: u64,
    /// The steps.
    pub steps: Vec<WitnessStep>,
    /// How many of the first steps belong to events that do not happen after the pending
    /// write. They too end with empty buffers.
    pub prelude: usize,
}

/// A violation, explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The three events.
    pub violation: Violation,
    /// The happens-before cycle of the witness, beginning with the pending write.
    pub cycle: Vec<CycleEvent>,
    /// The run that shows it.
    pub witness: Witness,
}

fn unsound(reason: impl Into<String>) -> ExplainError {
    ExplainError::Unsound {
        reason: reason.into(),
    }
}

/// Explains a violation from the events between its pending write and its overtaking event,
/// both included. `before_pending` is the write to the same address before the pending one, if
/// the caller knows it: a load that overtakes reads it.
pub(crate) fn explain(
    violation: &Violation,
    events: &[Placed],
    before_pending: Option<Placed>,
) -> Result<Finding, ExplainError> {
    let slice = Slice::new(violation, events)?;
    let mut run = Run::new(violation.model, &slice, before_pending);
    run.perform_prelude()?;
    let prelude = run.steps.len();
    run.perform_without_pending_write()?;
    run.overtake()?;
    run.perform_the_rest()?;
    let steps = run.steps;
    let trace = run.machine.finish().map_err(|e| unsound(e.to_string()))?;
    slice.check_trace(violation.model, &trace)?;
    let cycle = slice.cycle(violation.model, &trace)?;
    Ok(Finding {
        violation: *violation,
        cycle,
        witness: Witness {
            model: violation.model,
            starts_after: violation.pending.position,
            steps,
            prelude,
        },
    })
}

/// An event with threads and addresses renumbered densely, and indices that count from the
/// start of the slice.
#[derive(Clone, Copy, Debug)]
struct LocalEvent {
    placed: Placed,
    thread: usize,
    /// How many events of the slice its thread performs before it.
    issue: usize,
    address: Option<usize>,
    /// The coherence index, 0 being the value at the start.
    coherence: u64,
    /// Whether it happens after the pending write, or is it.
    after_pending: bool,
}

impl LocalEvent {
    fn operation(&self) -> Operation {
        self.placed.event.operation()
    }

    fn local_access(&self) -> Access {
        let address = Address(self.address.unwrap_or(0) as u32);
        Access {
            thread: ThreadId(self.thread as u32),
            operation: self.operation().kind().at(address),
            ..self.placed.event.access
        }
    }
}

/// The events that happen before the overtaking event, in the order of the interleaving,
/// beginning with the pending write; and the overtaking event itself, which is last.
struct Slice {
    events: Vec<LocalEvent>,
    threads: usize,
    addresses: usize,
}

/// Dense numbers for sparse keys, each with a counter.
#[derive(Default)]
struct Counters {
    numbers: FxHashMap<u32, usize>,
    counts: Vec<u64>,
}

impl Counters {
    /// The key's number and its counter.
    fn entry(&mut self, key: u32) -> (usize, &mut u64) {
        let next = self.counts.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.counts.push(0);
        }
        (number, &mut self.counts[number])
    }
}

impl Slice {
    fn new(violation: &Violation, window: &[Placed]) -> Result<Self, ExplainError> {
        let Some((overtaking, before)) = window.split_last() else {
            return Err(unsound("there is no overtaking event"));
        };
        let past = past_of_thread(before, overtaking.thread());
        if overtaking != &violation.event || past.first() != Some(&true) {
            return Err(unsound(
                "the pending write does not happen before the event",
            ));
        }
        let mut moved = *overtaking;
        moved.event.coherence.0 = violation.pending.event.coherence.0;
        if !moved.event.operation().writes() {
            moved.event.coherence.0 -= 1;
            // It reads something else than in the interleaving.
            moved.event.access.value = None;
        }
        let (mut threads, mut addresses) = (Counters::default(), Counters::default());
        let chosen = before.iter().zip(&past).filter(|(_, chosen)| **chosen);
        let chosen = chosen.map(|(placed, _)| placed).chain([&moved]);
        let mut future = Future::default();
        let mut events = Vec::new();
        for &placed in chosen {
            let (thread, issued) = threads.entry(placed.thread().0);
            let issue = *issued as usize;
            *issued += 1;
            let mut address = None;
            let mut coherence = 0;
            if let Some(key) = placed.address() {
                let (number, written) = addresses.entry(key.0);
                *written += u64::from(placed.event.operation().writes());
                (address, coherence) = (Some(number), *written);
            }
            events.push(LocalEvent {
                placed,
                thread,
                issue,
                address,
                coherence,
                after_pending: future.includes(&placed, events.is_empty()),
            });
        }
        Ok(Slice {
            events,
            threads: threads.counts.len(),
            addresses: addresses.counts.len(),
        })
    }

    fn overtaking(&self) -> &LocalEvent {
        self.events.last().expect("the overtaking event")
    }

    fn before_overtaking(&self) -> &[LocalEvent] {
        &self.events[..self.events.len() - 1]
    }

    /// What the event's coherence index must be in the witness: as in the slice, but the
    /// overtaking event comes before the pending write, the first event of the slice.
    fn expected_coherence(&self, index: usize) -> u64 {
        let event = &self.events[index];
        let overtaking = self.overtaking();
        if event.address.is_none() {
            return 0;
        }
        if index + 1 == self.events.len() {
            return u64::from(overtaking.operation().writes());
        }
        let shifted = overtaking.operation().writes()
            && event.address == overtaking.address
            && event.coherence >= self.events[0].coherence;
        event.coherence + u64::from(shifted)
    }

    /// The witness's trace is one of the program, allowed by the model and not by SC.
    fn check_trace(&self, model: MemoryModel, trace: &Trace) -> Result<(), ExplainError> {
        if trace.events().len() != self.events.len() {
            return Err(unsound("the run has not performed every event"));
        }
        let by_thread = trace.by_thread();
        for (index, event) in self.events.iter().enumerate() {
            let position = by_thread[event.thread][event.issue];
            let coherence = trace.events()[position].coherence.0;
            let expected = self.expected_coherence(index);
            if coherence != expected {
                let event = event.placed.event;
                return Err(unsound(format!(
                    "{event} has value {coherence} instead of {expected} in the run"
                )));
            }
        }
        // What happens after the pending write is as in the interleaving only if the pending write
        // itself reads what it reads there.
        let pending_reads = self.events[0].operation().reads();
        let overtaking = self.overtaking().operation();
        if pending_reads && (overtaking.writes() || overtaking.is_locked()) {
            return Err(unsound("the pending write would read another value"));
        }
        if let Err(violation) = axioms::check(&model, trace) {
            return Err(unsound(format!("the model forbids the run: {violation}")));
        }
        if axioms::check(&MemoryModel::SC, trace).is_ok() {
            return Err(unsound("the run is sequentially consistent"));
        }
        Ok(())
    }

    /// A shortest happens-before cycle through the pending write and the overtaking event.
    fn cycle(&self, model: MemoryModel, trace: &Trace) -> Result<Vec<CycleEvent>, ExplainError> {
        let path = self.shortest_path();
        let by_thread = trace.by_thread();
        let in_trace = |index: usize| {
            let event = &self.events[index];
            &trace.events()[by_thread[event.thread][event.issue]]
        };
        let mut cycle = Vec::new();
        for (at, &index) in path.iter().enumerate() {
            let next = path[(at + 1) % path.len()];
            let (from, to) = (in_trace(index), in_trace(next));
            let Some(relation) = relation_between(from, to) else {
                return Err(unsound(format!("{from} is not ordered before {to}")));
            };
            let is_kept = match relation {
                Relation::ProgramOrder => {
                    let barrier_between = self.barrier_between(index, next);
                    model.keeps(from.operation(), to.operation(), barrier_between)
                }
                // Into a load that reads its own thread's store, possibly from the buffer.
                Relation::CoherenceThenReadsFrom => !self.reads_own_store(next),
                Relation::ReadsFrom | Relation::Coherence | Relation::FromRead => true,
            };
            cycle.push(CycleEvent {
                event: self.events[index].placed,
                relation,
                is_kept,
            });
        }
        Ok(cycle)
    }

    fn barrier_between(&self, from: usize, to: usize) -> bool {
        let thread = self.events[from].thread;
        self.events[from + 1..to]
            .iter()
            .any(|e| e.thread == thread && e.operation() == Operation::StoreBarrier)
    }

    fn reads_own_store(&self, load: usize) -> bool {
        let event = &self.events[load];
        let source = self.events[..load].iter().rev().find(|write| {
            write.operation().writes()
                && write.address == event.address
                && write.coherence == event.coherence
        });
        source.is_some_and(|write| write.thread == event.thread)
    }

    /// The fewest events from the pending write to the overtaking one, each ordered before
    /// the next by program order or conflict order.
    fn shortest_path(&self) -> Vec<usize> {
        /// The best predecessor so far: how far from the start, and which event. Of equally
        /// near ones the latest, because it is the one whose value is read.
        #[derive(Clone, Copy)]
        struct Nearest(Option<(usize, usize)>);
        impl Nearest {
            fn offer(&mut self, distance: usize, index: usize) {
                if self.0.is_none_or(|(best, _)| distance <= best) {
                    self.0 = Some((distance, index));
                }
            }
            fn or(self, other: Nearest) -> Nearest {
                match (self.0, other.0) {
                    (Some(a), Some(b)) if b.0 < a.0 => other,
                    (None, _) => other,
                    _ => self,
                }
            }
        }
        let none = Nearest(None);
        let mut of_thread = vec![none; self.threads];
        let mut writes = vec![none; self.addresses];
        let mut accesses = vec![none; self.addresses];
        let mut predecessor = vec![usize::MAX; self.events.len()];
        for (index, event) in self.events.iter().enumerate() {
            let last = index + 1 == self.events.len();
            let mut nearest = of_thread[event.thread];
            // In the witness the overtaking event is ordered before, not after, the
            // writes that it overtakes; it is reached by program order.
            if let (Some(address), false) = (event.address, last) {
                let conflicting = if event.operation().writes() {
                    accesses[address]
                } else {
                    writes[address]
                };
                nearest = nearest.or(conflicting);
            }
            let distance = match nearest.0 {
                _ if index == 0 => 0,
                None => continue,
                Some((distance, from)) => {
                    predecessor[index] = from;
                    distance + 1
                }
            };
            of_thread[event.thread].offer(distance, index);
            if let Some(address) = event.address {
                accesses[address].offer(distance, index);
                if event.operation().writes() {
                    writes[address].offer(distance, index);
                }
            }
        }
        let mut path = vec![self.events.len() - 1];
        while let Some(&from) = path.last().map(|&index| &predecessor[index])
            && from != usize::MAX
        {
            path.push(from);
        }
        path.reverse();
        path
    }
}

/// How `from` is ordered directly before `to`, if it is.
fn relation_between(from: &Event, to: &Event) -> Option<Relation> {
    if order::program_order(from, to) {
        return Some(Relation::ProgramOrder);
    }
    if !order::conflict_order(from, to) {
        return None;
    }
    Some(match (from.operation().writes(), to.operation().writes()) {
        (true, true) => Relation::Coherence,
        (false, _) => Relation::FromRead,
        (true, false) if from.coherence == to.coherence => Relation::ReadsFrom,
        (true, false) => Relation::CoherenceThenReadsFrom,
    })
}

/// Which of the events happen before (or are) the last one of `thread`.
fn past_of_thread(events: &[Placed], thread: ThreadId) -> Vec<bool> {
    let mut past = vec![false; events.len()];
    let mut threads = FxHashSet::from_iter([thread]);
    // The addresses of which a later access is in the past, and whether a later write is.
    let mut addresses: FxHashMap<Address, bool> = FxHashMap::default();
    for (index, placed) in events.iter().enumerate().rev() {
        let operation = placed.event.operation();
        let later = placed.address().and_then(|a| addresses.get(&a)).copied();
        let conflicts = later.is_some_and(|later_write| later_write || operation.writes());
        if conflicts || threads.contains(&placed.thread()) {
            past[index] = true;
            threads.insert(placed.thread());
            if let Some(address) = placed.address() {
                *addresses.entry(address).or_default() |= operation.writes();
            }
        }
    }
    past
}

/// What happens after the pending write, found going forward.
#[derive(Default)]
struct Future {
    threads: FxHashSet<ThreadId>,
    /// The addresses of which an earlier access is in the future, and whether a write is.
    addresses: FxHashMap<Address, bool>,
}

impl Future {
    /// Whether the next event is in it; the first event is by definition.
    fn includes(&mut self, placed: &Placed, is_first: bool) -> bool {
        let writes = placed.event.operation().writes();
        let earlier = placed.address().and_then(|a| self.addresses.get(&a));
        let conflicts = earlier.is_some_and(|earlier_write| *earlier_write || writes);
        let included = is_first || conflicts || self.threads.contains(&placed.thread());
        if included {
            self.threads.insert(placed.thread());
            if let Some(address) = placed.address() {
                *self.addresses.entry(address).or_default() |= writes;
            }
        }
        included
    }
}

/// What has become of an event of the slice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Waiting,
    Buffered,
    Done,
}

/// The machine performing a slice.
struct Run<'a> {
    slice: &'a Slice,
    machine: Machine,
    progress: Vec<Progress>,
    /// Per thread and address, the events of the slice that are buffered, oldest first.
    buffered: FxHashMap<(usize, usize), VecDeque<usize>>,
    /// Per address, the write in memory and how many came before it.
    memory: Vec<Option<usize>>,
    committed: Vec<u64>,
    /// The write that is in memory at the start at the address of the pending write.
    before_pending: Option<Placed>,
    steps: Vec<WitnessStep>,
}

impl<'a> Run<'a> {
    fn new(model: MemoryModel, slice: &'a Slice, before_pending: Option<Placed>) -> Self {
        let mut threads = vec![Vec::new(); slice.threads];
        for event in &slice.events {
            threads[event.thread].push(event.local_access());
        }
        Run {
            slice,
            machine: Machine::of_accesses(&model, threads),
            progress: vec![Progress::Waiting; slice.events.len()],
            buffered: FxHashMap::default(),
            memory: vec![None; slice.addresses],
            committed: vec![0; slice.addresses],
            before_pending,
            steps: Vec::new(),
        }
    }

    /// Performs, as in the interleaving, what does not happen after the pending write.
    fn perform_prelude(&mut self) -> Result<(), ExplainError> {
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

    /// Performs what can be performed while the pending write is held back: in its buffer,
    /// or not performed at all if it is a locked one.
    fn perform_without_pending_write(&mut self) -> Result<(), ExplainError> {
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

    /// Whether a load gives now what it gives in the interleaving.
    fn reads_as_before(&self, event: &LocalEvent) -> bool {
        let value = match self.newest_buffered(event) {
            Some(store) => self.slice.events[store].coherence,
            None => event.address.map_or(0, |address| self.committed[address]),
        };
        value == event.coherence
    }

    /// The write that an event would read from memory, if it is known.
    fn in_memory(&self, event: &LocalEvent) -> Option<Placed> {
        let address = event.address?;
        match self.memory[address] {
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
            (Performed::Buffered { .. }, _) => Action::Buffer,
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
                self.memory[address] = Some(index);
                self.committed[address] += 1;
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
        self.memory[address] = Some(index);
        self.committed[address] += 1;
        self.progress[index] = Progress::Done;
        self.steps.push(WitnessStep {
            event: event.placed,
            action: Action::Commit,
        });
        true
    }

    /// Performs the overtaking event, before the pending write.
    fn overtake(&mut self) -> Result<(), ExplainError> {
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
    fn perform_the_rest(&mut self) -> Result<(), ExplainError> {
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
