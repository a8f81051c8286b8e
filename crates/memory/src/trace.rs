//! Traces: sets of events that satisfy (E1) to (E3) of SOBER Def. 1.
//!
//! A list of events is not a trace until [`Trace::new`] has checked it.
//! [`Indexer`] gives the accesses of a sequentially consistent interleaving their
//! indices, one by one.

use thiserror::Error;

use crate::event::{Access, Address, CoherenceIndex, Event, IssueIndex, ThreadId};

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
            | TraceError::CoherenceWithoutAddress { event, .. } => event,
        }
    }
}

/// Checks that `index` values are a permutation of 1 ..= count.
struct IndexFunction {
    seen: Vec<bool>,
}

enum IndexFault {
    OutOfRange,
    Repeated,
}

impl IndexFunction {
    fn new(count: usize) -> Self {
        IndexFunction {
            seen: vec![false; count],
        }
    }

    fn insert(&mut self, index: u64) -> Result<(), IndexFault> {
        let slot = index.checked_sub(1).and_then(|i| usize::try_from(i).ok());
        match slot.and_then(|slot| self.seen.get_mut(slot)) {
            None => Err(IndexFault::OutOfRange),
            Some(true) => Err(IndexFault::Repeated),
            Some(seen) => {
                *seen = true;
                Ok(())
            }
        }
    }
}

impl Trace {
    /// Checks (E1), (E2) and (E3) of SOBER Def. 1. The error names the offending event.
    pub fn new(events: Vec<Event>) -> Result<Trace, TraceError> {
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
        let mut issue: Vec<_> = issued.iter().map(|&n| IndexFunction::new(n)).collect();
        let mut coherence: Vec<_> = writes.iter().map(|&n| IndexFunction::new(n)).collect();
        for (position, &event) in events.iter().enumerate() {
            if let Err(fault) = issue[event.thread().index()].insert(event.issue.0) {
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
                if let Err(fault) = coherence[address.index()].insert(event.coherence.0) {
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
    pub fn peek(&mut self, access: Access) -> Event {
        let issue = IssueIndex(self.issued(access.thread) + 1);
        let coherence = match access.operation.address() {
            None => 0,
            Some(a) => self.written(a) + u64::from(access.operation.writes()),
        };
        Event {
            access,
            issue,
            coherence: CoherenceIndex(coherence),
        }
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

    /// Forgets the interleaving, keeping the memory for the next one.
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
