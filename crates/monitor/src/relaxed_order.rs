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
//! The event shows a violation exactly if `H > max(R, O)`: under M it can come before the
//! write numbered `H`, under sequential consistency it cannot. Since `R` and `O` are never
//! above `H` when it matters, it is enough to look at write `H` and ask whether `q` made it
//! or knows it in relaxed happens-before.
//!
//! It is sound, and complete over any set of interleavings with one representative per
//! equivalence class (the tests compare it with brute force on both counts).
//!
//! The clocks (SOBER Def. 13): per thread, what precedes a later load, a later store and a
//! later fence; per address, the last write and all accesses. Under TSO a thread's stores
//! are in order, so a group is a thread's writes. Under PSO they are not, and one group per
//! writer would break (VC2); but all writes to one address are in order, so there a group is
//! an address and its value a coherence index.

use fencepost_memory::{Address, LockedDrains, MemoryModel, Operation, ThreadId};

use crate::clocks::{Clocks, DenseClocks, Row, SparseClocks};
use crate::happens_before::HappensBefore;
use crate::monitor::Monitor;
use crate::violation::{Placed, Violation};

/// How the writes of an interleaving are put in totally ordered groups.
pub trait Grouping {
    /// The representation that suits the number of groups.
    type Clocks: Clocks + Default;

    /// The group of a write, and its number there.
    fn group(write: &Placed) -> (usize, u64);

    /// The number of groups, given the threads and the addresses.
    fn groups(threads: usize, addresses: usize) -> usize;

    /// The most bytes that `rows` clocks can take.
    fn projected_memory(rows: usize, threads: usize, addresses: usize) -> usize;
}

/// One group per writing thread: for models that keep a thread's stores in order.
#[derive(Clone, Copy, Debug)]
pub struct ByWriter;

impl Grouping for ByWriter {
    type Clocks = DenseClocks;

    #[inline]
    fn group(write: &Placed) -> (usize, u64) {
        (write.thread().index(), write.event.issue.0)
    }

    #[inline]
    fn groups(threads: usize, _addresses: usize) -> usize {
        threads
    }

    fn projected_memory(rows: usize, threads: usize, _addresses: usize) -> usize {
        DenseClocks::projected_memory(rows, threads)
    }
}

/// One group per address: for models that keep only stores to one address in order.
#[derive(Clone, Copy, Debug)]
pub struct ByAddress;

impl Grouping for ByAddress {
    type Clocks = SparseClocks;

    #[inline]
    fn group(write: &Placed) -> (usize, u64) {
        let address = write.address().expect("a write has an address");
        (address.index(), write.event.coherence.0)
    }

    #[inline]
    fn groups(_threads: usize, addresses: usize) -> usize {
        addresses
    }

    fn projected_memory(rows: usize, _threads: usize, addresses: usize) -> usize {
        SparseClocks::projected_memory(rows, addresses)
    }
}

/// Rows of a thread: what precedes, in relaxed happens-before, its next load …
const LOADS: u32 = 0;
/// … its next store …
const STORES: u32 = 1;
/// … and its next fence. A model that keeps stores in order needs no separate row.
const FENCES: u32 = 2;

/// Rows of an address.
const LAST_WRITE: u32 = 0;
const ALL_ACCESSES: u32 = 1;
const ROWS_PER_ADDRESS: u32 = 2;

/// Ways to break the monitor, for the tests that show that the oracle notices.
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
}

/// The relaxed-order monitor. Make one with [`RelaxedOrder::tso`] or [`RelaxedOrder::pso`].
#[derive(Clone, Debug)]
pub struct RelaxedOrder<G: Grouping> {
    model: MemoryModel,
    stores_in_order: bool,
    locked_row: u32,
    fence_row: u32,
    clocks: G::Clocks,
    threads: Vec<Row>,
    addresses: Vec<Row>,
    #[cfg(test)]
    pub(crate) mutation: Option<Mutation>,
}

impl RelaxedOrder<ByWriter> {
    /// The monitor for TSO.
    pub fn tso() -> Self {
        Self::for_model(MemoryModel::TSO)
    }
}

impl RelaxedOrder<ByAddress> {
    /// The monitor for PSO, with locked operations that drain as given.
    pub fn pso(locked: LockedDrains) -> Self {
        Self::for_model(match locked {
            LockedDrains::Everything => MemoryModel::PSO,
            LockedDrains::OwnAddress => MemoryModel::PSO_OWN_ADDRESS,
        })
    }
}

impl<G: Grouping> RelaxedOrder<G> {
    /// What the model keeps is asked of the model, not written here again.
    fn for_model(model: MemoryModel) -> Self {
        let (a, b) = (Address(0), Address(1));
        let store = Operation::Store(a);
        let stores_in_order = model.keeps(store, Operation::Store(b), false);
        let locked_waits_for_all = model.keeps(store, Operation::LockedLoad(b), false);
        let fence_row = if stores_in_order { STORES } else { FENCES };
        RelaxedOrder {
            model,
            stores_in_order,
            locked_row: if locked_waits_for_all {
                fence_row
            } else {
                STORES
            },
            fence_row,
            clocks: G::Clocks::default(),
            threads: Vec::new(),
            addresses: Vec::new(),
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
    fn admit(&mut self, before: &HappensBefore) {
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
        while self.addresses.len() < addresses {
            self.addresses.push(self.clocks.add_rows(ROWS_PER_ADDRESS));
        }
    }

    #[inline]
    fn knows(&self, row: Row, write: &Placed) -> bool {
        let (group, number) = G::group(write);
        self.clocks.get(row, group) >= number
    }

    /// The row of what precedes the next event of this kind.
    #[inline]
    fn kept_before(&self, operation: Operation, own: Row) -> Row {
        let row = match operation {
            Operation::Load(_) => LOADS,
            Operation::Store(_) => STORES,
            Operation::Fence | Operation::StoreBarrier => self.fence_row,
            Operation::Interlocked(_) | Operation::LockedLoad(_) | Operation::LockedStore(_) => {
                self.locked_row
            }
        };
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

    /// `H > max(R, O)`, see the module documentation.
    #[inline]
    fn judge(&self, next: &Placed, address: Address, before: &HappensBefore) -> Option<Violation> {
        let thread = next.thread();
        #[cfg(test)]
        if self.is_broken_by(Mutation::IgnoreStores)
            && matches!(next.event.operation(), Operation::Store(_))
        {
            return None;
        }
        let write = before.latest_known_write(thread, address)?;
        #[cfg(test)]
        if self.is_broken_by(Mutation::IgnoreOwnWrites) && write.thread() == thread {
            return self.report(write, next, before);
        }
        #[cfg(test)]
        if self.is_broken_by(Mutation::FrontierOffByOne) {
            let mut older = *write;
            older.event.issue.0 -= 1;
            older.event.coherence.0 -= 1;
            let kept = self.kept_before(next.event.operation(), self.threads[thread.index()]);
            let known = write.thread() == thread || self.knows(kept, &older);
            return if known {
                None
            } else {
                self.report(write, next, before)
            };
        }
        if write.thread() == thread {
            return None;
        }
        let own = self.threads[thread.index()];
        if self.knows(self.kept_before(next.event.operation(), own), write) {
            return None;
        }
        self.report(write, next, before)
    }

    #[cold]
    fn report(&self, write: &Placed, next: &Placed, before: &HappensBefore) -> Option<Violation> {
        // A write that is known to happen before the thread's last event exists, so the
        // thread has a last event.
        let last = *before.last_of(next.thread())?;
        Some(Violation {
            model: self.model,
            pending: *write,
            last,
            event: *next,
        })
    }

    #[inline]
    fn add(&mut self, next: &Placed, before: &HappensBefore) {
        let own = self.threads[next.thread().index()];
        let operation = next.event.operation();
        let (loads, stores) = (own.offset(LOADS), own.offset(STORES));
        let fences = own.offset(self.fence_row);
        let kept = self.kept_before(operation, own);
        let rows = |address: Address| {
            let row = self.addresses[address.index()];
            (row.offset(LAST_WRITE), row.offset(ALL_ACCESSES))
        };
        match operation {
            Operation::Load(a) => {
                let (last_write, all) = rows(a);
                let flows_in = self.flows_into_load(next.thread(), a, kept, before);
                if !flows_in {
                    // The thread's rows already hold what precedes its loads.
                    self.clocks.step([kept], &[], [all]);
                } else if self.stores_in_order {
                    let outputs = [loads, stores, all];
                    self.clocks.step([kept, last_write], &[], outputs);
                } else {
                    let outputs = [loads, stores, fences, all];
                    self.clocks.step([kept, last_write], &[], outputs);
                }
            }
            Operation::Store(a) => {
                let (last_write, all) = rows(a);
                let mark = [G::group(next)];
                let inputs = [kept, self.before_write(last_write, all)];
                self.clocks.step(inputs, &mark, [fences, all, last_write]);
            }
            Operation::LockedLoad(a) => {
                let (last_write, all) = rows(a);
                let outputs = [loads, stores, fences, all];
                self.clocks.step([kept, last_write], &[], outputs);
            }
            Operation::Interlocked(a) | Operation::LockedStore(a) => {
                let (last_write, all) = rows(a);
                let mark = [G::group(next)];
                let inputs = [kept, self.before_write(last_write, all)];
                let outputs = [loads, stores, fences, all, last_write];
                self.clocks.step(inputs, &mark, outputs);
            }
            Operation::Fence => {
                #[cfg(test)]
                if self.is_broken_by(Mutation::IgnoreFences) {
                    return;
                }
                self.clocks.step([fences], &[], [loads, stores]);
            }
            Operation::StoreBarrier => {
                #[cfg(test)]
                if self.is_broken_by(Mutation::IgnoreBarriers) {
                    return;
                }
                if !self.stores_in_order {
                    self.clocks.step([fences], &[], [stores]);
                }
            }
        }
    }

    /// Whether the last write to `address` precedes a plain load of it, and the thread
    /// does not know it already.
    #[inline]
    fn flows_into_load(
        &self,
        thread: ThreadId,
        address: Address,
        kept: Row,
        before: &HappensBefore,
    ) -> bool {
        match before.last_write(address) {
            None => false,
            #[cfg(test)]
            Some(_) if self.is_broken_by(Mutation::DropForwardingException) => true,
            // The thread's own store: it may be read from the buffer.
            Some(write) => write.thread() != thread && !self.knows(kept, write),
        }
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

impl<G: Grouping> Monitor for RelaxedOrder<G> {
    fn name(&self) -> &'static str {
        "relaxed-order"
    }

    fn model(&self) -> MemoryModel {
        self.model
    }

    #[inline]
    fn observe(&mut self, next: &Placed, before: &HappensBefore) -> Option<Violation> {
        self.admit(before);
        let violation = match next.address() {
            Some(address) => self.judge(next, address, before),
            None => None,
        };
        self.add(next, before);
        violation
    }

    fn reset(&mut self) {
        self.clocks.reset();
    }

    fn memory(&self) -> usize {
        self.clocks.memory() + (self.threads.capacity() + self.addresses.capacity()) * 4
    }

    fn projected_memory(&self, threads: usize, addresses: usize) -> usize {
        let thread_rows = threads * self.rows_per_thread() as usize;
        let rows = addresses.saturating_mul(ROWS_PER_ADDRESS as usize) + thread_rows;
        G::projected_memory(rows, threads, addresses).saturating_add((threads + addresses) * 4)
    }
}
