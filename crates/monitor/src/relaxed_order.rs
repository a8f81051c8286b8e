//! The relaxed-order monitor: one algorithm for every store-buffer model.
//!
//! For a model M, the *relaxed happens-before* consists of the program-order pairs that M
//! keeps and of the conflict edges between different threads, except edges into a plain
//! load that reads its own thread's store: such a load may have taken the value from the
//! store buffer, before anyone else's write. (SOBER Def. 3 has no such exception, and for
//! that reason misses litmus test `n6`.)
//!
//! When thread `q` is about to perform an event on address `a`, let
//!
//! - `H` be the number of the latest write to `a` that happens before `q`'s last event,
//! - `R` the number of the latest one that precedes, in relaxed happens-before, an earlier
//!   event of `q` whose order before the new one M keeps,
//! - `O` the number of the latest one by `q` itself.
//!
//! A load shows a violation exactly if `H > max(R, O)`: under M it can come before the write
//! numbered `H`, under sequential consistency it cannot. Since `R` and `O` are never above `H`
//! when it matters, it is enough to check whether `q` made write `H` or knows it in relaxed
//! happens-before.
//!
//! For an event that writes there is one more condition. It cannot be put right before a
//! read-modify-write, which would then read another value than in the interleaving, and its
//! thread might continue differently: what follows would be no execution of the program. So there
//! must be a write numbered above `max(R, O)` and up to `H` that does not read. The same holds
//! for a locked load: a compare-exchange that failed may succeed, and write, where it reads
//! another value.
//!
//! It is sound, and complete over any set of interleavings with one representative per
//! equivalence class (the tests compare it with brute force on both counts).
//!
//! The clocks (SOBER Def. 13): per thread, what precedes a later load, a later store and a
//! later fence; per address, the last write and all accesses. Under TSO a thread's stores
//! are in order, so a group is a thread's writes. Under PSO they are not, and one group per
//! writer would break (VC2); but all writes to one address are in order, so there a group is
//! an address and its value a coherence index.

use std::marker::PhantomData;

use fencepost_memory::{Address, LockedDrains, MemoryModel, Operation, OperationKind, ThreadId};

use crate::clocks::{
    Clocks, DenseClocks, Row, SharedClocks, SparseClocks, ThreadClocks, address_rows,
};
use crate::happens_before::HappensBefore;
use crate::journal::{FIRST_ADDRESSES, FIRST_THREADS, JournalMark, Rewind};
use crate::monitor::Monitor;
use crate::select::select_unpredictable;
use crate::violation::PlacedEvent;

/// How the writes of an interleaving are divided into totally ordered groups.
pub trait Grouping {
    /// The representation that suits the number of groups.
    type Clocks: Clocks + Default;

    /// The group of a write, and its number there.
    fn group(write: &PlacedEvent) -> (usize, u64);

    /// The number of groups, given the threads and the addresses.
    fn groups(threads: usize, addresses: usize) -> usize;
}

/// One group per writing thread: for models that keep a thread's stores in order.
#[derive(Clone, Copy, Debug)]
pub struct ByWriter;

impl Grouping for ByWriter {
    type Clocks = DenseClocks;

    #[inline]
    fn group(write: &PlacedEvent) -> (usize, u64) {
        (write.thread().index(), write.event.issue.0)
    }

    #[inline]
    fn groups(threads: usize, _addresses: usize) -> usize {
        threads
    }
}

/// One group per address: for models that keep only stores to one address in order.
#[derive(Clone, Copy, Debug)]
pub struct ByAddress;

impl Grouping for ByAddress {
    type Clocks = SparseClocks;

    #[inline]
    fn group(write: &PlacedEvent) -> (usize, u64) {
        let address = write.address().expect("a write has an address");
        (address.index(), write.event.coherence.0)
    }

    #[inline]
    fn groups(_threads: usize, addresses: usize) -> usize {
        addresses
    }
}

/// The row of a thread with what precedes, in relaxed happens-before, its next load.
const LOADS: u32 = 0;
/// The row for its next store.
const STORES: u32 = 1;
/// The row for its next fence. A model that keeps stores in order needs no separate row.
const FENCES: u32 = 2;

/// The rows of a thread, and which of them holds what precedes its next event.
#[derive(Clone, Copy)]
struct ThreadRows {
    kept: Row,
    loads: Row,
    stores: Row,
    fences: Row,
}

/// Mutations of the monitor, for the tests that show that the oracle notices them.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutation {
    DropForwardingException,
    KeepStoreToLoad,
    IgnoreFences,
    IgnoreBarriers,
    IgnoreStores,
    IgnoreOwnWrites,
    FrontierOffByOne,
    ForgetReadsBeforeWrites,
    LockedDrainNothing,
    OvertakeExchanges,
}

#[cfg(test)]
impl Mutation {
    pub(crate) const ALL: [Mutation; 10] = [
        Mutation::DropForwardingException,
        Mutation::KeepStoreToLoad,
        Mutation::IgnoreFences,
        Mutation::IgnoreBarriers,
        Mutation::IgnoreStores,
        Mutation::IgnoreOwnWrites,
        Mutation::FrontierOffByOne,
        Mutation::ForgetReadsBeforeWrites,
        Mutation::LockedDrainNothing,
        Mutation::OvertakeExchanges,
    ];
}

/// The relaxed-order monitor. Create one with [`RelaxedOrderMonitor::tso`] or
/// [`RelaxedOrderMonitor::pso`].
#[derive(Clone, Debug)]
pub struct RelaxedOrderMonitor<G: Grouping, C = <G as Grouping>::Clocks> {
    model: MemoryModel,
    stores_in_order: bool,
    /// For each kind of operation, the row of what precedes it.
    kept_rows: [u32; OperationKind::ALL.len()],
    fence_row: u32,
    clocks: C,
    threads: Vec<Row>,
    addresses: Vec<Row>,
    grouping: PhantomData<G>,
    #[cfg(test)]
    pub(crate) mutation: Option<Mutation>,
}

impl RelaxedOrderMonitor<ByWriter> {
    /// The monitor for TSO.
    pub fn tso() -> Self {
        Self::for_model(MemoryModel::TSO)
    }

    /// The monitor for TSO with clocks that suit short interleavings and frequent rewinding.
    pub fn tso_for_short_interleavings() -> RelaxedOrderMonitor<ByWriter, SharedClocks> {
        RelaxedOrderMonitor::for_model(MemoryModel::TSO)
    }
}

impl RelaxedOrderMonitor<ByAddress> {
    /// The monitor for PSO, with locked operations that drain as given.
    pub fn pso(locked: LockedDrains) -> Self {
        Self::for_model(match locked {
            LockedDrains::Everything => MemoryModel::PSO,
            LockedDrains::OwnAddress => MemoryModel::PSO_OWN_ADDRESS,
        })
    }
}

impl<G: Grouping, C: Clocks + Default> RelaxedOrderMonitor<G, C> {
    /// The monitor for a model. The model decides which orders are kept.
    fn for_model(model: MemoryModel) -> Self {
        let (a, b) = (Address(0), Address(1));
        let store = Operation::Store(a);
        let stores_in_order = model.keeps(store, Operation::Store(b), false);
        let locked_waits_for_all = model.keeps(store, Operation::LockedLoad(b), false);
        let fence_row = if stores_in_order { STORES } else { FENCES };
        let locked_row = if locked_waits_for_all {
            fence_row
        } else {
            STORES
        };
        let kept_rows = OperationKind::ALL.map(|kind| match kind {
            OperationKind::Load => LOADS,
            OperationKind::Store => STORES,
            OperationKind::Interlocked | OperationKind::LockedLoad | OperationKind::LockedStore => {
                locked_row
            }
            OperationKind::Fence | OperationKind::StoreBarrier => fence_row,
        });
        RelaxedOrderMonitor {
            model,
            stores_in_order,
            kept_rows,
            fence_row,
            clocks: C::default(),
            threads: Vec::new(),
            addresses: Vec::new(),
            grouping: PhantomData,
            #[cfg(test)]
            mutation: None,
        }
    }

    #[cfg(test)]
    fn is_broken_by(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    fn rows_per_thread(&self) -> u32 {
        self.fence_row + 1
    }

    #[inline]
    fn admit<B: ThreadClocks>(&mut self, before: &HappensBefore<B>) {
        if self.threads.len() != before.thread_count()
            || self.addresses.len() != before.address_count()
        {
            self.grow(before.thread_count(), before.address_count());
        }
    }

    #[cold]
    fn grow(&mut self, threads: usize, addresses: usize) {
        self.clocks.reserve_groups(G::groups(threads, addresses));
        while self.threads.len() < threads {
            self.threads
                .push(self.clocks.add_rows(self.rows_per_thread()));
        }
        let missing = (addresses - self.addresses.len()) as u32;
        let first = self.clocks.add_rows(missing * address_rows::COUNT);
        let rows = (0..missing).map(|number| first.offset(number * address_rows::COUNT));
        self.addresses.extend(rows);
    }

    #[inline]
    fn knows(&self, row: Row, write: &PlacedEvent) -> bool {
        let (group, number) = G::group(write);
        self.clocks.get(row, group) >= number
    }

    /// The row of what precedes the next event of this kind.
    #[inline]
    fn kept_before(&self, operation: Operation, own: Row) -> Row {
        let row = self.kept_rows[operation.kind() as usize];
        #[cfg(test)]
        if self.is_broken_by(Mutation::KeepStoreToLoad) && row == LOADS {
            return own.offset(self.fence_row);
        }
        #[cfg(test)]
        if self.is_broken_by(Mutation::LockedDrainNothing) && operation.is_locked() {
            return own.offset(LOADS);
        }
        own.offset(row)
    }

    /// Whether the next event of `thread` must come after the write under the model: because the
    /// thread made it, or knows it in relaxed happens-before. No short circuit: which of the two
    /// holds is hard to predict, but mostly one does.
    #[inline]
    fn is_ordered_before(&self, write: &PlacedEvent, thread: ThreadId, kept: Row) -> bool {
        #[cfg(test)]
        if self.is_broken_by(Mutation::IgnoreOwnWrites) {
            return self.knows(kept, write);
        }
        #[cfg(test)]
        if self.is_broken_by(Mutation::FrontierOffByOne) {
            let mut older = *write;
            older.event.issue.0 -= 1;
            older.event.coherence.0 -= 1;
            return write.thread() == thread || self.knows(kept, &older);
        }
        (write.thread() == thread) | self.knows(kept, write)
    }

    /// The write that `next` can overtake, see the module documentation.
    #[inline]
    fn judge<'b, B: ThreadClocks>(
        &self,
        next: &PlacedEvent,
        address: Address,
        before: &'b HappensBefore<B>,
    ) -> Option<&'b PlacedEvent> {
        let thread = next.thread();
        #[cfg(test)]
        if self.is_broken_by(Mutation::IgnoreStores)
            && matches!(next.event.operation(), Operation::Store(_))
        {
            return None;
        }
        let own = self.threads[thread.index()];
        let kept = self.kept_before(next.event.operation(), own);
        let is_ordered = |write: &PlacedEvent| self.is_ordered_before(write, thread, kept);
        // If the latest write of all is, so are the others, and happens-before need not be checked.
        if is_ordered(before.last_write(address)?) {
            return None;
        }
        let write = before.latest_known_write(thread, address)?;
        if is_ordered(write) {
            return None;
        }
        let is_plain_load = matches!(next.event.operation(), Operation::Load(_));
        if is_plain_load || !write.event.operation().reads() {
            return Some(write);
        }
        #[cfg(test)]
        if self.is_broken_by(Mutation::OvertakeExchanges) {
            return Some(write);
        }
        let store = before.latest_known_store(thread, address)?;
        (!is_ordered(store)).then_some(store)
    }

    #[inline]
    fn add<B: ThreadClocks>(&mut self, next: &PlacedEvent, before: &HappensBefore<B>) {
        let own = self.threads[next.thread().index()];
        let rows = ThreadRows {
            kept: self.kept_before(next.event.operation(), own),
            loads: own.offset(LOADS),
            stores: own.offset(STORES),
            fences: own.offset(self.fence_row),
        };
        match next.address() {
            Some(address)
                if self.stores_in_order
                    && !next.event.operation().is_locked()
                    && self.clocks.merges_are_cheap() =>
            {
                self.add_plain_access(next, address, rows, before);
            }
            Some(address) => self.add_access(next, address, rows, before),
            None => self.add_fence(next.event.operation(), rows),
        }
    }

    fn add_access<B: ThreadClocks>(
        &mut self,
        next: &PlacedEvent,
        address: Address,
        rows: ThreadRows,
        before: &HappensBefore<B>,
    ) {
        let ThreadRows {
            kept,
            loads,
            stores,
            fences,
        } = rows;
        let (last_write, all) = self.rows_of(address);
        match next.event.operation() {
            Operation::Load(_) => {
                let flows_in = !self.is_own_store(next, address, before)
                    && before
                        .last_write(address)
                        .is_some_and(|write| !self.knows(kept, write));
                if !flows_in {
                    // The thread's rows already hold what precedes its loads.
                    self.clocks.step([kept], [], [all]);
                } else if self.stores_in_order {
                    let outputs = [loads, stores, all];
                    self.clocks.step([kept, last_write], [], outputs);
                } else {
                    let outputs = [loads, stores, fences, all];
                    self.clocks.step([kept, last_write], [], outputs);
                }
            }
            Operation::LockedLoad(_) => {
                let outputs = [loads, stores, fences, all];
                self.clocks.step([kept, last_write], [], outputs);
            }
            Operation::Store(_) if self.stores_in_order => {
                let inputs = [kept, self.before_write(last_write, all)];
                let outputs = [stores, all, last_write];
                self.clocks.overwrite(inputs, [G::group(next)], outputs);
            }
            Operation::Store(_) => {
                let inputs = [kept, self.before_write(last_write, all)];
                let outputs = [fences, all, last_write];
                self.clocks.step(inputs, [G::group(next)], outputs);
            }
            // Here all that precedes a load precedes a store, and there is no other row.
            _ if self.stores_in_order => {
                let inputs = [kept, self.before_write(last_write, all)];
                let outputs = [loads, stores, all, last_write];
                self.clocks.overwrite(inputs, [G::group(next)], outputs);
            }
            _ => {
                let inputs = [kept, self.before_write(last_write, all)];
                let outputs = [loads, stores, fences, all, last_write];
                self.clocks.step(inputs, [G::group(next)], outputs);
            }
        }
    }

    /// As [`add_access`](Self::add_access) for plain accesses where stores are in order,
    /// without a branch on loads and stores: a row that is not an input is replaced by one
    /// that is an input anyway.
    #[inline]
    fn add_plain_access<B: ThreadClocks>(
        &mut self,
        next: &PlacedEvent,
        address: Address,
        rows: ThreadRows,
        before: &HappensBefore<B>,
    ) {
        let (last_write, all) = self.rows_of(address);
        let is_store = next.event.operation().writes();
        let is_own_store = self.is_own_store(next, address, before);
        let before_load = select_unpredictable(is_own_store, rows.kept, last_write);
        let before_store = self.before_write(last_write, all);
        let from = select_unpredictable(is_store, before_store, before_load);
        let to = select_unpredictable(is_store, last_write, rows.loads);
        let (group, number) = G::group(next);
        let mark = select_unpredictable(is_store, number, 0);
        self.clocks.raise(rows.kept, group, mark);
        self.clocks
            .step([rows.kept, from], [], [to, rows.stores, all]);
    }

    fn add_fence(&mut self, operation: Operation, rows: ThreadRows) {
        let is_fence = operation == Operation::Fence;
        #[cfg(test)]
        if is_fence && self.is_broken_by(Mutation::IgnoreFences)
            || !is_fence && self.is_broken_by(Mutation::IgnoreBarriers)
        {
            return;
        }
        if is_fence {
            let outputs = [rows.loads, rows.stores];
            self.clocks.step([rows.fences], [], outputs);
        } else if !self.stores_in_order {
            self.clocks.step([rows.fences], [], [rows.stores]);
        }
    }

    /// The rows of an address: the last write, and all accesses.
    #[inline]
    fn rows_of(&self, address: Address) -> (Row, Row) {
        let row = self.addresses[address.index()];
        (
            row.offset(address_rows::LAST_WRITE),
            row.offset(address_rows::ALL_ACCESSES),
        )
    }

    /// Whether `next` is a plain load that reads its own thread's store, possibly from the
    /// buffer: then no write of another thread precedes it.
    #[inline]
    fn is_own_store<B: ThreadClocks>(
        &self,
        next: &PlacedEvent,
        address: Address,
        before: &HappensBefore<B>,
    ) -> bool {
        #[cfg(test)]
        if self.is_broken_by(Mutation::DropForwardingException) {
            return false;
        }
        // No short circuit: the operands are cheap and hard to predict.
        let last_write = before.last_write(address);
        matches!(next.event.operation(), Operation::Load(_))
            & last_write.is_some_and(|write| write.thread() == next.thread())
    }

    #[inline]
    fn before_write(&self, _last_write: Row, all: Row) -> Row {
        #[cfg(test)]
        if self.is_broken_by(Mutation::ForgetReadsBeforeWrites) {
            return _last_write;
        }
        all
    }
}

impl<G: Grouping, C: Rewind> Rewind for RelaxedOrderMonitor<G, C> {
    fn keep_journal(&mut self) {
        self.clocks.keep_journal();
        self.threads.reserve(FIRST_THREADS);
        self.addresses.reserve(FIRST_ADDRESSES);
    }

    #[inline]
    fn mark(&self) -> JournalMark {
        self.clocks.mark()
    }

    fn rewind(&mut self, mark: JournalMark) -> bool {
        self.clocks.rewind(mark)
    }
}

impl<G: Grouping, C: Clocks + Default> Monitor for RelaxedOrderMonitor<G, C> {
    fn name(&self) -> &'static str {
        "relaxed-order"
    }

    fn model(&self) -> MemoryModel {
        self.model
    }

    #[inline]
    fn observe<B: ThreadClocks>(
        &mut self,
        next: &PlacedEvent,
        before: &HappensBefore<B>,
    ) -> Option<PlacedEvent> {
        self.admit(before);
        let overtaken = match next.address() {
            Some(address) => self.judge(next, address, before),
            None => None,
        };
        self.add(next, before);
        overtaken.copied()
    }

    fn reset(&mut self) {
        self.clocks.reset();
    }

    fn memory(&self) -> usize {
        self.clocks.memory() + (self.threads.capacity() + self.addresses.capacity()) * 4
    }

    fn projected_memory(&self, threads: usize, addresses: usize) -> usize {
        let thread_rows = threads * self.rows_per_thread() as usize;
        let rows = addresses.saturating_mul(address_rows::COUNT as usize) + thread_rows;
        let groups = G::groups(threads, addresses);
        let clocks = self.clocks.memory_with(rows, groups);
        clocks.saturating_add((threads + addresses) * 4)
    }
}
