//! The happens-before clock of an interleaving, and the writes that are still remembered.
//!
//! Happens-before is program order and conflict order together (SOBER section 3.2). The
//! clock has one group per thread and, per address, one row for the last write and one
//! for all accesses: a read flows in from the last write, a write from all accesses. It
//! takes O(threads) per event.
//!
//! It is computed once per event and handed to the monitor, which asks for the latest write to an
//! address that happens before the last event of a thread
//! ([`HappensBefore::latest_known_write`]).

use std::borrow::Cow;

use fencepost_memory::{Access, Address, CoherenceIndex, Event, Operation, ThreadId};

use crate::clocks::{DenseClocks, Row, ThreadClocks, address_rows};
use crate::history::WriteHistory;
use crate::journal::{FIRST_ADDRESSES, FIRST_EVENTS, FIRST_THREADS, JournalMark, Rewind};
use crate::select::select_unpredictable;
use crate::violation::PlacedEvent;

#[derive(Clone, Copy, Debug)]
struct ThreadState {
    row: Row,
    last: Option<PlacedEvent>,
}

#[derive(Clone, Copy, Debug)]
struct AddressState {
    row: Row,
    last_accessor: Option<ThreadId>,
}

/// Tracks happens-before over one interleaving, event by event.
#[derive(Clone, Debug, Default)]
pub struct HappensBefore<C = DenseClocks> {
    clocks: C,
    threads: Vec<ThreadState>,
    addresses: Vec<AddressState>,
    history: WriteHistory,
    position: u64,
    /// What each event replaced.
    journal: Option<Vec<Replaced>>,
}

/// What an event replaced, besides clocks.
#[derive(Clone, Copy, Debug)]
struct Replaced {
    thread: ThreadId,
    operation: Operation,
    last: Option<PlacedEvent>,
    last_accessor: Option<ThreadId>,
}

/// A state of a [`HappensBefore`] to rewind to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HappensBeforeMark {
    events: u64,
    clocks: JournalMark,
}

/// Rewinding.
impl<C: ThreadClocks + Rewind> HappensBefore<C> {
    /// Records changes from now on.
    pub fn keep_journal(&mut self) {
        self.journal
            .get_or_insert_with(|| Vec::with_capacity(FIRST_EVENTS));
        self.clocks.keep_journal();
        self.threads.reserve(FIRST_THREADS);
        self.addresses.reserve(FIRST_ADDRESSES);
        self.history.reserve(FIRST_ADDRESSES);
    }

    /// The current state.
    #[inline]
    pub fn mark(&self) -> HappensBeforeMark {
        HappensBeforeMark {
            events: self.position,
            clocks: self.clocks.mark(),
        }
    }

    /// Rewinds to where `mark` was taken. Returns false, and changes nothing, if writes were
    /// forgotten since.
    pub fn rewind(&mut self, mark: HappensBeforeMark) -> bool {
        let Some(journal) = &mut self.journal else {
            return false;
        };
        // Forgetting writes has emptied the journal.
        if self.position - journal.len() as u64 > mark.events {
            return false;
        }
        while self.position > mark.events {
            let replaced = journal.pop().expect("it reaches so far");
            self.position -= 1;
            self.threads[replaced.thread.index()].last = replaced.last;
            if let Some(address) = replaced.operation.address() {
                self.addresses[address.index()].last_accessor = replaced.last_accessor;
                if replaced.operation.writes() {
                    self.history.pop(address);
                }
            }
        }
        self.clocks.rewind(mark.clocks)
    }
}

impl<C: ThreadClocks> HappensBefore<C> {
    /// Reserves rows for the thread and the address of `access`.
    #[inline]
    pub fn admit(&mut self, access: &Access) {
        while self.threads.len() <= access.thread.index() {
            self.clocks.reserve_groups(self.threads.len() + 1);
            let row = self.clocks.add_rows(1);
            self.threads.push(ThreadState { row, last: None });
        }
        if let Some(address) = access.operation.address() {
            if self.addresses.len() <= address.index() {
                let missing = address.index() + 1 - self.addresses.len();
                let first = self.clocks.add_rows(missing as u32 * address_rows::COUNT);
                let states = (0..missing as u32).map(|number| AddressState {
                    row: first.offset(number * address_rows::COUNT),
                    last_accessor: None,
                });
                self.addresses.extend(states);
                self.history.add_addresses(missing);
            }
        }
    }

    /// The event that `access` is when it comes next. It must have been admitted.
    #[inline]
    pub fn place(&self, access: Access) -> PlacedEvent {
        let last = &self.threads[access.thread.index()].last;
        let issued = last.as_ref().map_or(0, |last| last.event.issue.0);
        let address = access.operation.address();
        let written = address.map_or(0, |a| self.history.written(a));
        PlacedEvent {
            event: Event::next(access, issued, written),
            position: self.position,
        }
    }

    /// Adds the next event of the interleaving.
    #[inline]
    pub fn add(&mut self, placed: PlacedEvent) {
        let event = &placed.event;
        let (thread, operation) = (event.thread(), event.operation());
        let writes = operation.writes();
        let state = &mut self.threads[thread.index()];
        let own = state.row;
        let last = state.last.replace(placed);
        if let Some(journal) = &mut self.journal {
            let address = operation.address();
            journal.push(Replaced {
                thread,
                operation,
                last,
                last_accessor: address.and_then(|a| self.addresses[a.index()].last_accessor),
            });
        }
        let mark = (thread.index(), event.issue.0);
        self.position += 1;
        let Some(address) = operation.address() else {
            return self.clocks.raise(own, mark.0, mark.1);
        };
        let state = &mut self.addresses[address.index()];
        state.last_accessor = Some(thread);
        let (last_write, all) = (
            state.row.offset(address_rows::LAST_WRITE),
            state.row.offset(address_rows::ALL_ACCESSES),
        );
        if self.clocks.merges_are_cheap() {
            // Reads and writes alike, a read with its own row for the last write's.
            let from = select_unpredictable(writes, all, last_write);
            let to = select_unpredictable(writes, last_write, own);
            self.clocks.step_raising([own, from], mark, [own, all, to]);
        } else if writes {
            let outputs = [own, all, last_write];
            self.clocks.overwrite_raising([own, all], mark, outputs);
        } else {
            match self.history.latest(address) {
                // Whoever knows the last write knows all that flowed into it.
                Some(write) if !Self::knows(&self.clocks, own, write) => {
                    let inputs = [own, last_write];
                    self.clocks.step_raising(inputs, mark, [own, all]);
                }
                _ => self.clocks.step_raising([own], mark, [own, all]),
            }
        }
        if writes {
            self.history.push(address, placed);
            if self.history.is_due() {
                self.forget_unreachable_writes();
            }
        }
    }

    #[inline]
    fn knows(clocks: &C, row: Row, event: &PlacedEvent) -> bool {
        clocks.get(row, event.thread().index()) >= event.event.issue.0
    }

    /// The number of events.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The number of threads that have had an event.
    pub fn active_threads(&self) -> usize {
        self.threads.iter().filter(|t| t.last.is_some()).count()
    }

    /// The number of addresses that have been accessed.
    pub fn accessed_addresses(&self) -> usize {
        let accessed = |a: &&AddressState| a.last_accessor.is_some();
        self.addresses.iter().filter(accessed).count()
    }

    /// The number of threads admitted.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The number of addresses admitted.
    pub fn address_count(&self) -> usize {
        self.addresses.len()
    }

    /// The last event of a thread.
    #[inline]
    pub fn last_of(&self, thread: ThreadId) -> Option<&PlacedEvent> {
        self.threads.get(thread.index())?.last.as_ref()
    }

    /// The last write to an address.
    #[inline]
    pub fn last_write(&self, address: Address) -> Option<&PlacedEvent> {
        self.history.latest(address)
    }

    /// The write to an address with this coherence index, if it is still remembered.
    pub fn find_write(&self, address: Address, coherence: CoherenceIndex) -> Option<&PlacedEvent> {
        self.history.find(address, coherence.0)
    }

    /// Whether `event` happens before (or is) the last event of `thread`.
    #[inline]
    pub fn precedes_last_of(&self, event: &PlacedEvent, thread: ThreadId) -> bool {
        Self::knows(&self.clocks, self.threads[thread.index()].row, event)
    }

    /// The latest write to `address` that happens before (or is) the last event of
    /// `thread`: the write numbered `H`.
    ///
    /// The writes to one address are totally ordered by happens-before, so those that
    /// precede an event are all writes up to some number, and looking from the latest
    /// write downwards finds it.
    #[inline]
    pub fn latest_known_write(&self, thread: ThreadId, address: Address) -> Option<&PlacedEvent> {
        let row = self.threads[thread.index()].row;
        self.history
            .latest_where(address, |write| Self::knows(&self.clocks, row, write))
    }

    /// The latest such write that does not also read.
    pub fn latest_known_store(&self, thread: ThreadId, address: Address) -> Option<&PlacedEvent> {
        let row = self.threads[thread.index()].row;
        self.history
            .latest_store_where(address, |write| Self::knows(&self.clocks, row, write))
    }

    /// Removes all events, and keeps the memory for the next interleaving.
    pub fn reset(&mut self) {
        self.clocks.reset();
        self.threads.iter_mut().for_each(|t| t.last = None);
        let addresses = self.addresses.iter_mut();
        addresses.for_each(|a| a.last_accessor = None);
        self.history.reset();
        self.position = 0;
        self.journal.iter_mut().for_each(Vec::clear);
    }

    /// The memory in use, in bytes.
    pub fn memory(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, Vec::capacity);
        self.clocks.memory()
            + journal * size_of::<Replaced>()
            + self.history.memory()
            + Self::bookkeeping(self.threads.capacity(), self.addresses.capacity())
    }

    /// The memory that this many threads and addresses would use, in bytes.
    pub fn projected_memory(&self, threads: usize, addresses: usize) -> usize {
        let rows = threads + addresses.saturating_mul(address_rows::COUNT as usize);
        self.clocks
            .memory_with(rows, threads)
            .saturating_add(self.history.memory())
            .saturating_add(Self::bookkeeping(threads, addresses))
    }

    fn bookkeeping(threads: usize, addresses: usize) -> usize {
        let per_address = size_of::<AddressState>() + WriteHistory::BYTES_PER_ADDRESS;
        threads * size_of::<ThreadState>() + addresses.saturating_mul(per_address)
    }

    /// Drops every write that no clock has as its latest known write to the address.
    ///
    /// Every later clock is a merge of clocks that exist now and of later events, and the
    /// latest known write of a merge is the later one of the merged; so a write that is
    /// no clock's latest now will never be one.
    fn forget_unreachable_writes(&mut self) {
        // Neighbours in this order mostly know the same writes, which is what makes the
        // search of the history fast: the rows of one thread form a chain.
        let mut rows: Vec<(ThreadId, Row)> = Vec::new();
        for (number, thread) in self.threads.iter().enumerate() {
            rows.push((ThreadId(number as u32), thread.row));
        }
        for (number, address) in self.addresses.iter().enumerate() {
            if let Some(write) = self.history.latest(Address(number as u32)) {
                rows.push((write.thread(), address.row.offset(address_rows::LAST_WRITE)));
            }
            if let Some(accessor) = address.last_accessor {
                rows.push((accessor, address.row.offset(address_rows::ALL_ACCESSES)));
            }
        }
        let clocks = &self.clocks;
        rows.sort_by_key(|&(owner, row)| (owner, clocks.get(row, owner.index())));
        self.journal.iter_mut().for_each(Vec::clear);
        let rows: Vec<Cow<'_, [u64]>> = rows.iter().map(|&(_, row)| clocks.row(row)).collect();
        let rows: Vec<&[u64]> = rows.iter().map(|row| &**row).collect();
        self.history.forget_all_but_latest_of(&rows);
    }
}

#[cfg(test)]
impl<C: ThreadClocks> HappensBefore<C> {
    pub(crate) fn forget_unreachable_writes_now(&mut self) {
        self.forget_unreachable_writes();
    }

    pub(crate) fn writes_held(&self) -> usize {
        self.history.held()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::DenseClocks;

    /// Besides clocks, there is at least the last event of each thread, and a number for each address.
    #[test]
    fn bookkeeping_is_counted() {
        let of = HappensBefore::<DenseClocks>::bookkeeping;
        let event = size_of::<PlacedEvent>();
        assert!(of(1000, 0) >= 1000 * event);
        assert!(of(0, 1000) >= 1000 * size_of::<u32>());
        assert_eq!(of(1000, 1000), of(1000, 0) + of(0, 1000));
    }
}
