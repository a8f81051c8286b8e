//! The slice of an interleaving that a witness needs: the events from the pending write on that
//! happen before the overtaking one.

use fencepost_memory::{
    Access, Address, CoherenceIndex, Event, IssueIndex, MemoryModel, Operation, ThreadId, Trace,
    axioms,
};
use rustc_hash::FxHashMap;

use super::{ExplainError, unsound};
use crate::violation::{PlacedEvent, Violation};

/// An event with threads and addresses renumbered densely, and indices that count from the
/// start of the slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalEvent {
    pub(super) placed: PlacedEvent,
    pub(super) thread: usize,
    /// The number of events of the slice that its thread performs before it.
    pub(super) issue: usize,
    pub(super) address: Option<usize>,
    /// The coherence index, 0 being the value at the start.
    pub(super) coherence: u64,
    /// Whether it happens after the pending write, or is it.
    pub(super) after_pending: bool,
}

impl LocalEvent {
    pub(super) fn operation(&self) -> Operation {
        self.placed.event.operation()
    }

    pub(super) fn local_access(&self) -> Access {
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
pub(super) struct Slice {
    pub(super) events: Vec<LocalEvent>,
    pub(super) threads: usize,
    pub(super) addresses: usize,
}

/// The thread and the address of an event, numbered densely among those of a few events.
#[derive(Clone, Copy, Debug)]
struct Local {
    thread: usize,
    address: Option<usize>,
}

/// Dense numbers for threads or addresses, in the order in which they occur.
#[derive(Default)]
struct Numbers {
    count: usize,
    /// For low ids, which are almost all: the number plus one, or 0 if there is none yet.
    low: Vec<usize>,
    high: FxHashMap<usize, usize>,
}

impl Numbers {
    const LOW: usize = 256;

    fn of(&mut self, key: usize) -> usize {
        let number = match key < Self::LOW {
            true => entry(&mut self.low, key),
            false => self.high.entry(key).or_default(),
        };
        if *number == 0 {
            self.count += 1;
            *number = self.count;
        }
        *number - 1
    }
}

/// Events with the dense numbers of their threads and addresses.
struct Numbered {
    locals: Vec<Local>,
    threads: usize,
    addresses: usize,
}

impl Numbered {
    /// The interleaving may have many more threads and addresses than these events.
    fn of(events: &[PlacedEvent]) -> Self {
        let (mut threads, mut addresses) = (Numbers::default(), Numbers::default());
        let number = |placed: &PlacedEvent| Local {
            thread: threads.of(placed.thread().index()),
            address: placed.address().map(|a| addresses.of(a.index())),
        };
        Numbered {
            locals: events.iter().map(number).collect(),
            threads: threads.count,
            addresses: addresses.count,
        }
    }
}

/// Dense numbers, each with a counter.
#[derive(Default)]
pub(super) struct Counters {
    numbers: Numbers,
    counts: Vec<u64>,
}

impl Counters {
    /// The number and the counter of an id.
    pub(super) fn entry(&mut self, key: usize) -> (usize, &mut u64) {
        let number = self.numbers.of(key);
        (number, entry(&mut self.counts, number))
    }
}

/// The entry at this index, which is added if it is missing.
fn entry<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

impl Slice {
    pub(super) fn new(violation: &Violation, window: &[PlacedEvent]) -> Result<Self, ExplainError> {
        let Some((overtaking, before)) = window.split_last() else {
            return Err(unsound("there is no overtaking event"));
        };
        let numbered = Numbered::of(window);
        let past = past_of_last(window, &numbered);
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
        let chosen = before.iter().zip(&past).zip(&numbered.locals);
        let chosen = chosen.filter(|((_, chosen), _)| **chosen);
        let chosen = chosen.map(|((placed, _), local)| (placed, local));
        let last = numbered.locals.last().map(|local| (&moved, local));
        let mut future = Reached::nothing(&numbered);
        let mut events = Vec::with_capacity(past.iter().filter(|chosen| **chosen).count() + 1);
        for (&placed, &local) in chosen.chain(last) {
            let (thread, issued) = threads.entry(local.thread);
            let issue = *issued as usize;
            *issued += 1;
            let mut address = None;
            let mut coherence = 0;
            if let Some(index) = local.address {
                let (number, written) = addresses.entry(index);
                *written += u64::from(placed.event.operation().writes());
                (address, coherence) = (Some(number), *written);
            }
            events.push(LocalEvent {
                placed,
                thread,
                issue,
                address,
                coherence,
                after_pending: future.includes(&placed, local, events.is_empty()),
            });
        }
        Ok(Slice {
            events,
            threads: threads.counts.len(),
            addresses: addresses.counts.len(),
        })
    }

    pub(super) fn overtaking(&self) -> &LocalEvent {
        self.events.last().expect("the overtaking event")
    }

    pub(super) fn before_overtaking(&self) -> &[LocalEvent] {
        &self.events[..self.events.len() - 1]
    }

    /// What the event's coherence index must be in the witness: as in the slice, but the
    /// overtaking event comes before the pending write, the first event of the slice.
    pub(super) fn expected_coherence(&self, index: usize) -> u64 {
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

    /// The events of the slice as they are in the trace of a run.
    pub(super) fn in_trace<'t>(&self, trace: &'t Trace) -> Result<Vec<&'t Event>, ExplainError> {
        if trace.events().len() != self.events.len() {
            return Err(unsound("the run has not performed every event"));
        }
        // A machine's trace has the threads one after the other, each in program order.
        let mut starts = vec![0; self.threads + 1];
        for event in &self.events {
            starts[event.thread + 1] += 1;
        }
        for thread in 0..self.threads {
            starts[thread + 1] += starts[thread];
        }
        let mut found = Vec::with_capacity(self.events.len());
        for event in &self.events {
            let in_trace = &trace.events()[starts[event.thread] + event.issue];
            let is_it = in_trace.thread().index() == event.thread
                && in_trace.issue.0 == event.issue as u64 + 1
                && in_trace.operation().kind() == event.operation().kind();
            if !is_it {
                return Err(unsound("the run has performed other events"));
            }
            found.push(in_trace);
        }
        Ok(found)
    }

    /// Checks that the trace of the witness is one of the program, and that the model allows it and
    /// SC does not.
    pub(super) fn check_trace(
        &self,
        model: MemoryModel,
        trace: &Trace,
        in_trace: &[&Event],
    ) -> Result<(), ExplainError> {
        for (index, event) in self.events.iter().enumerate() {
            let coherence = in_trace[index].coherence.0;
            let expected = self.expected_coherence(index);
            if coherence != expected {
                let event = event.placed.event;
                return Err(unsound(format!(
                    "{event} has value {coherence} instead of {expected} in the run"
                )));
            }
        }
        self.check_by_axioms(model, trace)
    }

    /// The trace that a run must have.
    pub(super) fn expected_trace(&self) -> Result<Trace, ExplainError> {
        let events = self.events.iter().enumerate().map(|(index, event)| Event {
            access: event.local_access(),
            issue: IssueIndex(event.issue as u64 + 1),
            coherence: CoherenceIndex(self.expected_coherence(index)),
        });
        Trace::new(events.collect()).map_err(|error| unsound(error.to_string()))
    }

    /// Checks that the model allows the trace, SC does not, and the program continues as in the
    /// interleaving.
    pub(super) fn check_by_axioms(
        &self,
        model: MemoryModel,
        trace: &Trace,
    ) -> Result<(), ExplainError> {
        // What happens after the pending write is as in the interleaving only if the pending write
        // itself reads what it reads there.
        let pending_reads = self.events[0].operation().reads();
        let overtaking = self.overtaking().operation();
        if pending_reads && (overtaking.writes() || overtaking.is_locked()) {
            return Err(unsound("the pending write would read another value"));
        }
        let mut checker = axioms::AxiomChecker::default();
        if let Err(violation) = checker.check(&model, trace) {
            return Err(unsound(format!("the model forbids the run: {violation}")));
        }
        if checker.allows(&MemoryModel::SC, trace) {
            return Err(unsound("the run is sequentially consistent"));
        }
        Ok(())
    }
}

/// The threads and addresses with an access in the past or in the future of an event, so far.
struct Reached {
    threads: Vec<bool>,
    /// For each address, whether an access is, and whether a write is.
    addresses: Vec<(bool, bool)>,
}

impl Reached {
    fn nothing(numbered: &Numbered) -> Self {
        Reached {
            threads: vec![false; numbered.threads],
            addresses: vec![(false, false); numbered.addresses],
        }
    }

    /// Adds the next event, backwards or forwards, if it belongs to the past or future: if its
    /// thread or a conflicting access does. The first event always does. Returns whether it was
    /// added.
    fn includes(&mut self, placed: &PlacedEvent, local: Local, is_first: bool) -> bool {
        let writes = placed.event.operation().writes();
        let thread = &mut self.threads[local.thread];
        let address = local.address.map(|address| &mut self.addresses[address]);
        let conflicts = match &address {
            Some((any, write)) => *write || writes && *any,
            None => false,
        };
        let included = is_first || conflicts || *thread;
        if included {
            *thread = true;
            if let Some((any, write)) = address {
                (*any, *write) = (true, *write || writes);
            }
        }
        included
    }
}

/// Which of the events before the last one happen before it: before or at the previous event of its
/// thread.
fn past_of_last(events: &[PlacedEvent], numbered: &Numbered) -> Vec<bool> {
    let before = events.len() - 1;
    let mut past = vec![false; before];
    let mut reached = Reached::nothing(numbered);
    reached.threads[numbered.locals[before].thread] = true;
    for index in (0..before).rev() {
        past[index] = reached.includes(&events[index], numbered.locals[index], false);
    }
    past
}
