//! What of an interleaving a witness needs: the events that happen before the overtaking one, from
//! the pending write on.

use fencepost_memory::{Access, Address, MemoryModel, Operation, ThreadId, Trace, axioms};
use rustc_hash::FxHashMap;

use super::{ExplainError, unsound};
use crate::violation::{Placed, Violation};

/// An event with threads and addresses renumbered densely, and indices that count from the
/// start of the slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalEvent {
    pub(super) placed: Placed,
    pub(super) thread: usize,
    /// How many events of the slice its thread performs before it.
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

/// Numbers the threads and the addresses of some events. There may be very many others.
fn numbered(events: &[Placed]) -> Vec<Local> {
    let mut threads: FxHashMap<ThreadId, usize> = FxHashMap::default();
    let mut addresses: FxHashMap<Address, usize> = FxHashMap::default();
    let number = |placed: &Placed| {
        let next = threads.len();
        let thread = *threads.entry(placed.thread()).or_insert(next);
        let next = addresses.len();
        let address = placed.address();
        let address = address.map(|a| *addresses.entry(a).or_insert(next));
        Local { thread, address }
    };
    events.iter().map(number).collect()
}

/// Dense numbers for those that are met, each with a counter.
#[derive(Default)]
struct Counters {
    /// One more than the number; 0 for those that have not been met.
    numbers: Vec<u32>,
    counts: Vec<u64>,
}

impl Counters {
    /// The number and the counter of one.
    fn entry(&mut self, index: usize) -> (usize, &mut u64) {
        let number = entry(&mut self.numbers, index);
        if *number == 0 {
            self.counts.push(0);
            *number = self.counts.len() as u32;
        }
        let number = *number as usize - 1;
        (number, &mut self.counts[number])
    }
}

/// What a list has for this index.
pub(super) fn entry<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

impl Slice {
    pub(super) fn new(violation: &Violation, window: &[Placed]) -> Result<Self, ExplainError> {
        let Some((overtaking, before)) = window.split_last() else {
            return Err(unsound("there is no overtaking event"));
        };
        let locals = numbered(window);
        let past = past_of_last(window, &locals);
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
        let chosen = before.iter().zip(&past).zip(&locals);
        let chosen = chosen.filter(|((_, chosen), _)| **chosen);
        let chosen = chosen.map(|((placed, _), local)| (placed, local));
        let last = locals.last().map(|local| (&moved, local));
        let mut future = Reached::default();
        let mut events = Vec::with_capacity(past.iter().filter(|chosen| **chosen).count() + 1);
        for (&placed, local) in chosen.chain(last) {
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

    /// The witness's trace is one of the program, allowed by the model and not by SC.
    pub(super) fn check_trace(
        &self,
        model: MemoryModel,
        trace: &Trace,
        by_thread: &[Vec<usize>],
    ) -> Result<(), ExplainError> {
        if trace.events().len() != self.events.len() {
            return Err(unsound("the run has not performed every event"));
        }
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
        let mut checker = axioms::Checker::default();
        if let Err(violation) = checker.check(&model, trace) {
            return Err(unsound(format!("the model forbids the run: {violation}")));
        }
        if checker.allows(&MemoryModel::SC, trace) {
            return Err(unsound("the run is sequentially consistent"));
        }
        Ok(())
    }
}

/// Which accesses are in the past or in the future of an event, as far as is known.
#[derive(Default)]
struct Reached {
    threads: Vec<bool>,
    /// For each address, whether an access is, and whether a write is.
    addresses: Vec<(bool, bool)>,
}

impl Reached {
    /// Whether the next event, going back or forth, is one of them: its thread or what it conflicts with is. The
    /// first one is.
    fn includes(&mut self, placed: &Placed, local: &Local, is_first: bool) -> bool {
        let writes = placed.event.operation().writes();
        let thread = entry(&mut self.threads, local.thread);
        let address = local.address;
        let address = address.map(|address| entry(&mut self.addresses, address));
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

/// Which of the events before the last one happen before it, or rather before or at the one before it of its thread.
fn past_of_last(events: &[Placed], locals: &[Local]) -> Vec<bool> {
    let before = events.len() - 1;
    let mut past = vec![false; before];
    let mut reached = Reached::default();
    *entry(&mut reached.threads, locals[before].thread) = true;
    for index in (0..before).rev() {
        past[index] = reached.includes(&events[index], &locals[index], false);
    }
    past
}
