//! What of an interleaving a witness needs: the events that happen before the overtaking one, from
//! the pending write on.

use fencepost_memory::{Access, Address, MemoryModel, Operation, ThreadId, Trace, axioms};
use rustc_hash::{FxHashMap, FxHashSet};

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
    pub(super) fn new(violation: &Violation, window: &[Placed]) -> Result<Self, ExplainError> {
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
    ) -> Result<(), ExplainError> {
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
