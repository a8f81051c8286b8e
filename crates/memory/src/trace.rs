//! Traces: sets of events that satisfy (E1) to (E3) of SOBER Def. 1.
//!
//! A list of events is not a trace until [`Trace::new`] has checked it.
//! [`Indexer`] gives the accesses of a sequentially consistent interleaving their
//! indices, one by one.

use thiserror::Error;

use crate::event::{Access, Address, CoherenceIndex, Event, ThreadId};

/// A validated trace. The order of the events in the list carries no meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    events: Vec<Event>,
    threads: usize,
    addresses: usize,
}

/// Why a list of events is not a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// (E1) The issue indices of a thread are not 1, 2, …, n.
    #[error(
        "event {position} ({event}) violates (E1): the issue indices of a thread are 1, 2, …, \
         each once, but {} {}",
        event.issue.0,
        if *repeated { "occurs twice" } else { "is out of range" }
    )]
    IssueIndex {
        /// The offending event.
        event: Event,
        /// Its position in the list, from 0.
        position: usize,
        /// Whether another event of the thread has the same index.
        repeated: bool,
    },
    /// (E2) The coherence indices of the writes to an address are not 1, 2, …, n.
    #[error(
        "event {position} ({event}) violates (E2): the coherence indices of the writes to an \
         address are 1, 2, …, each once, but {} {}",
        event.coherence.0,
        if *repeated { "occurs twice" } else { "is out of range" }
    )]
    CoherenceIndex {
        /// The offending event.
        event: Event,
        /// Its position in the list, from 0.
        position: usize,
        /// Whether another write to the address has the same index.
        repeated: bool,
    },
    /// (E3) A load reads a value that no write of the trace wrote.
    #[error(
        "event {position} ({event}) violates (E3): it reads value {} but the trace has only \
         {writes} writes to that address", event.coherence.0
    )]
    ReadsNothing {
        /// The offending event.
        event: Event,
        /// Its position in the list, from 0.
        position: usize,
        /// The number of writes to the address.
        writes: u64,
    },
    /// A thread or an address has a number so high that numbers cannot be dense.
    #[error(
        "event {position} ({event}) has a thread or address number that is too high: threads and \
         addresses are numbered densely from 0, here below {limit}"
    )]
    NotDense {
        /// The offending event.
        event: Event,
        /// Its position in the list, from 0.
        position: usize,
        /// The first number that is too high.
        limit: usize,
    },
    /// A fence or barrier carries a coherence index other than 0.
    #[error("event {position} ({event}) has no address, so its coherence index must be 0")]
    CoherenceWithoutAddress {
        /// The offending event.
        event: Event,
        /// Its position in the list, from 0.
        position: usize,
    },
}

impl TraceError {
    /// The event that breaks the rule.
    pub fn event(&self) -> &Event {
        match self {
            TraceError::IssueIndex { event, .. }
            | TraceError::CoherenceIndex { event, .. }
            | TraceError::ReadsNothing { event, .. }
            | TraceError::NotDense { event, .. }
            | TraceError::CoherenceWithoutAddress { event, .. } => event,
        }
    }
}

/// Checks that the indices seen in each of several groups are a permutation of
/// 1 ..= size of the group (SOBER's *index function*).
struct IndexFunctions {
    /// Where each group begins among the slots; one more entry for the end.
    starts: Vec<usize>,
    seen: Vec<bool>,
}

enum IndexFault {
    OutOfRange,
    Repeated,
}

impl IndexFunctions {
    fn new(sizes: &[usize]) -> Self {
        let mut starts = Vec::with_capacity(sizes.len() + 1);
        let mut slots = 0;
        starts.push(slots);
        for size in sizes {
            slots += size;
            starts.push(slots);
        }
        IndexFunctions {
            starts,
            seen: vec![false; slots],
        }
    }

    fn insert(&mut self, group: usize, index: u64) -> Result<(), IndexFault> {
        let slots = &mut self.seen[self.starts[group]..self.starts[group + 1]];
        let slot = index.checked_sub(1).and_then(|i| usize::try_from(i).ok());
        match slot.and_then(|slot| slots.get_mut(slot)) {
            None => Err(IndexFault::OutOfRange),
            Some(true) => Err(IndexFault::Repeated),
            Some(seen) => {
                *seen = true;
                Ok(())
            }
        }
    }
}

/// The number from which on thread and address numbers are refused. Tables are made for
/// all numbers up to the highest, so one wild number must not cost all memory.
fn number_limit(events: usize) -> usize {
    const ALWAYS_ACCEPTED: usize = 1 << 22;
    events.saturating_mul(4).max(ALWAYS_ACCEPTED)
}

impl Trace {
    /// Checks (E1), (E2) and (E3) of SOBER Def. 1. The error names the offending event.
    ///
    /// ```
    /// use fencepost_memory::{Access, Address, CoherenceIndex, Event, IssueIndex};
    /// use fencepost_memory::{Operation, ThreadId, Trace};
    /// let load = Event {
    ///     access: Access::new(ThreadId(0), Operation::Load(Address(0))),
    ///     issue: IssueIndex(1),
    ///     coherence: CoherenceIndex(2),
    /// };
    /// let error = Trace::new(vec![load]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "event 0 (T0:1 ld a0 (value 2)) violates (E3): it reads value 2 but the trace has \
    ///      only 0 writes to that address"
    /// );
    /// ```
    pub fn new(events: Vec<Event>) -> Result<Trace, TraceError> {
        let limit = number_limit(events.len());
        for (position, &event) in events.iter().enumerate() {
            let address = event.operation().address().map_or(0, Address::index);
            if event.thread().index() >= limit || address >= limit {
                return Err(TraceError::NotDense {
                    event,
                    position,
                    limit,
                });
            }
        }
        let threads = events.iter().map(|e| e.thread().index() + 1).max();
        let threads = threads.unwrap_or(0);
        let addresses = events.iter().filter_map(|e| e.operation().address());
        let addresses = addresses.map(|a| a.index() + 1).max().unwrap_or(0);

        let mut issued = vec![0; threads];
        let mut writes = vec![0; addresses];
        for event in &events {
            issued[event.thread().index()] += 1;
            if let (true, Some(a)) = (event.operation().writes(), event.operation().address()) {
                writes[a.index()] += 1;
            }
        }
        let mut issue = IndexFunctions::new(&issued);
        let mut coherence = IndexFunctions::new(&writes);
        for (position, &event) in events.iter().enumerate() {
            if let Err(fault) = issue.insert(event.thread().index(), event.issue.0) {
                return Err(TraceError::IssueIndex {
                    event,
                    position,
                    repeated: matches!(fault, IndexFault::Repeated),
                });
            }
            let Some(address) = event.operation().address() else {
                if event.coherence.0 != 0 {
                    return Err(TraceError::CoherenceWithoutAddress { event, position });
                }
                continue;
            };
            if event.operation().writes() {
                if let Err(fault) = coherence.insert(address.index(), event.coherence.0) {
                    return Err(TraceError::CoherenceIndex {
                        event,
                        position,
                        repeated: matches!(fault, IndexFault::Repeated),
                    });
                }
            } else if event.coherence.0 > writes[address.index()] as u64 {
                return Err(TraceError::ReadsNothing {
                    event,
                    position,
                    writes: writes[address.index()] as u64,
                });
            }
        }
        Ok(Trace {
            events,
            threads,
            addresses,
        })
    }

    /// The trace of a sequentially consistent interleaving.
    ///
    /// # Panics
    /// If threads or addresses are not numbered densely ([`TraceError::NotDense`]).
    pub fn of_interleaving(accesses: &[Access]) -> Trace {
        let mut indexer = Indexer::default();
        let events = accesses.iter().map(|&a| indexer.add(a)).collect();
        Trace::new(events).expect("an interleaving has a trace")
    }

    /// A trace of events that satisfy (E1) to (E3) by construction.
    pub(crate) fn of_valid_events(events: Vec<Event>) -> Trace {
        debug_assert_eq!(Trace::new(events.clone()).err(), None);
        let threads = events.iter().map(|e| e.thread().index() + 1).max();
        let addresses = events.iter().filter_map(|e| e.operation().address());
        let addresses = addresses.map(|a| a.index() + 1).max();
        Trace {
            threads: threads.unwrap_or(0),
            addresses: addresses.unwrap_or(0),
            events,
        }
    }

    /// Changes one coherence index in place. Whoever enumerates traces does this many
    /// times in a row and must have a trace again when it lets others see it.
    #[inline]
    pub(crate) fn set_coherence(&mut self, position: usize, coherence: CoherenceIndex) {
        self.events[position].coherence = coherence;
    }

    /// The events, in no particular order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// One more than the highest thread number.
    pub fn thread_count(&self) -> usize {
        self.threads
    }

    /// One more than the highest address.
    pub fn address_count(&self) -> usize {
        self.addresses
    }

    /// The positions of each thread's events, in program order.
    pub fn by_thread(&self) -> Vec<Vec<usize>> {
        let mut lists = vec![Vec::new(); self.threads];
        for (position, event) in self.events.iter().enumerate() {
            lists[event.thread().index()].push(position);
        }
        for list in &mut lists {
            list.sort_by_key(|&position| self.events[position].issue);
        }
        lists
    }

    /// The positions of the writes to each address, in coherence order.
    pub fn writes_by_address(&self) -> Vec<Vec<usize>> {
        let mut lists = vec![Vec::new(); self.addresses];
        for (position, event) in self.events.iter().enumerate() {
            if let (true, Some(a)) = (event.operation().writes(), event.operation().address()) {
                lists[a.index()].push(position);
            }
        }
        for list in &mut lists {
            list.sort_by_key(|&position| self.events[position].coherence);
        }
        lists
    }
}

/// Gives the accesses of a sequentially consistent interleaving their indices.
#[derive(Clone, Debug, Default)]
pub struct Indexer {
    issued: Vec<u64>,
    written: Vec<u64>,
}

impl Indexer {
    /// The event that `access` is when it comes next.
    #[inline]
    pub fn peek(&self, access: Access) -> Event {
        let written = access.operation.address().map_or(0, |a| self.written(a));
        Event::next(access, self.issued(access.thread), written)
    }

    /// Adds `access` to the interleaving.
    #[inline]
    pub fn add(&mut self, access: Access) -> Event {
        let event = self.peek(access);
        *self.issued_mut(access.thread) += 1;
        if let (true, Some(a)) = (access.operation.writes(), access.operation.address()) {
            *self.written_mut(a) += 1;
        }
        event
    }

    /// How many events the thread has had.
    #[inline]
    pub fn issued(&self, thread: ThreadId) -> u64 {
        self.issued.get(thread.index()).copied().unwrap_or(0)
    }

    /// How many writes the address has had.
    #[inline]
    pub fn written(&self, address: Address) -> u64 {
        self.written.get(address.index()).copied().unwrap_or(0)
    }

    /// Removes all events, and keeps the memory for the next interleaving.
    pub fn reset(&mut self) {
        self.issued.fill(0);
        self.written.fill(0);
    }

    #[inline]
    fn issued_mut(&mut self, thread: ThreadId) -> &mut u64 {
        slot(&mut self.issued, thread.index())
    }

    #[inline]
    fn written_mut(&mut self, address: Address) -> &mut u64 {
        slot(&mut self.written, address.index())
    }
}

#[inline]
fn slot(list: &mut Vec<u64>, index: usize) -> &mut u64 {
    if index >= list.len() {
        list.resize(index + 1, 0);
    }
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Operation;
    use crate::event::event;

    const X: Address = Address(0);

    /// Checks that `Trace::new` refuses the events, naming the one at `position`.
    fn refused(events: Vec<Event>, position: usize, message: &str) {
        let error = Trace::new(events.clone()).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.event(), &events[position]);
        assert!(message.starts_with(&format!("event {position} ")));
    }

    #[test]
    fn a_gap_in_the_issue_indices_is_named() {
        refused(
            vec![
                event(1, 1, Operation::Load(X), 0),
                event(1, 3, Operation::Load(X), 0),
            ],
            1,
            "event 1 (T1:3 ld a0 (value 0)) violates (E1): the issue indices of a thread are 1, \
             2, …, each once, but 3 is out of range",
        );
        refused(
            vec![event(0, 0, Operation::Fence, 0)],
            0,
            "event 0 (T0:0 fence) violates (E1): the issue indices of a thread are 1, 2, …, each \
             once, but 0 is out of range",
        );
    }

    #[test]
    fn a_repeated_issue_index_is_named() {
        refused(
            vec![
                event(0, 1, Operation::Fence, 0),
                event(0, 1, Operation::StoreBarrier, 0),
            ],
            1,
            "event 1 (T0:1 stbar) violates (E1): the issue indices of a thread are 1, 2, …, each \
             once, but 1 occurs twice",
        );
    }

    #[test]
    fn a_gap_in_the_coherence_indices_is_named() {
        refused(
            vec![
                event(0, 1, Operation::Store(X), 1),
                event(1, 1, Operation::Interlocked(X), u64::MAX),
            ],
            1,
            "event 1 (T1:1 il a0 (value 18446744073709551615)) violates (E2): the coherence \
             indices of the writes to an address are 1, 2, …, each once, but \
             18446744073709551615 is out of range",
        );
        refused(
            vec![event(0, 1, Operation::LockedStore(X), 0)],
            0,
            "event 0 (T0:1 lst a0 (value 0)) violates (E2): the coherence indices of the writes \
             to an address are 1, 2, …, each once, but 0 is out of range",
        );
    }

    #[test]
    fn a_repeated_coherence_index_is_named() {
        refused(
            vec![
                event(0, 1, Operation::Store(X), 1),
                event(1, 1, Operation::Store(X), 1),
            ],
            1,
            "event 1 (T1:1 st a0 (value 1)) violates (E2): the coherence indices of the writes \
             to an address are 1, 2, …, each once, but 1 occurs twice",
        );
    }

    #[test]
    fn a_read_of_nothing_is_named() {
        refused(
            vec![
                event(0, 1, Operation::Store(X), 1),
                event(1, 1, Operation::LockedLoad(X), 2),
            ],
            1,
            "event 1 (T1:1 lld a0 (value 2)) violates (E3): it reads value 2 but the trace has \
             only 1 writes to that address",
        );
    }

    #[test]
    fn a_fence_with_a_value_is_named() {
        refused(
            vec![event(0, 1, Operation::Fence, 7)],
            0,
            "event 0 (T0:1 fence) has no address, so its coherence index must be 0",
        );
    }

    #[test]
    fn a_wild_number_is_refused_before_memory_is_taken_for_it() {
        refused(
            vec![event(u32::MAX, 1, Operation::Fence, 0)],
            0,
            "event 0 (T4294967295:1 fence) has a thread or address number that is too high: \
             threads and addresses are numbered densely from 0, here below 4194304",
        );
        refused(
            vec![
                event(0, 1, Operation::Fence, 0),
                event(0, 2, Operation::Load(Address(u32::MAX)), 0),
            ],
            1,
            "event 1 (T0:2 ld a4294967295 (value 0)) has a thread or address number that is too \
             high: threads and addresses are numbered densely from 0, here below 4194304",
        );
    }

    #[test]
    fn the_order_of_the_list_does_not_matter() {
        let trace = Trace::new(vec![
            event(1, 2, Operation::Load(X), 2),
            event(0, 1, Operation::Interlocked(X), 2),
            event(1, 1, Operation::Store(X), 1),
        ])
        .unwrap();
        assert_eq!((trace.thread_count(), trace.address_count()), (2, 1));
        assert_eq!(trace.by_thread(), [vec![1], vec![2, 0]]);
        assert_eq!(trace.writes_by_address(), [vec![2, 1]]);
        assert_eq!(Trace::new(vec![]).unwrap().thread_count(), 0);
    }

    #[test]
    fn an_interleaving_gets_its_indices() {
        let accesses = [
            Access::new(ThreadId(0), Operation::Load(X)),
            Access::new(ThreadId(1), Operation::Store(X)),
            Access::new(ThreadId(0), Operation::Interlocked(X)),
            Access::new(ThreadId(1), Operation::Fence),
            Access::new(ThreadId(1), Operation::LockedLoad(X)),
        ];
        let trace = Trace::of_interleaving(&accesses);
        let indices = trace.events().iter().map(|e| (e.issue.0, e.coherence.0));
        assert!(indices.eq([(1, 0), (1, 1), (2, 2), (2, 0), (3, 2)]));
        let mut indexer = Indexer::default();
        assert_eq!(indexer.peek(accesses[1]), indexer.add(accesses[1]));
        assert_eq!(indexer.written(X), 1);
        indexer.reset();
        assert_eq!((indexer.written(X), indexer.issued(ThreadId(1))), (0, 0));
    }
}
