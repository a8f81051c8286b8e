//! The monitors of Burnim, Sen and Stergiou as printed: Fig. 4 (TSO) and Fig. 5 (PSO) of
//! UCB/EECS-2010-31.
//!
//! They simulate the store-buffer machine along the interleaving and commit a store as late
//! as they can. They are kept for comparison. What they miss: they are complete only if
//! every interleaving of the program is run. With one interleaving per equivalence class,
//! as partial-order reduction runs them, a store may have been drained by an event that is
//! concurrent with the one that matters. The TSO monitor's buffers grow with the
//! interleaving where nobody else touches what a thread writes.
//!
//! Extensions, for events that the paper does not have: locked operations that only read or
//! only write drain like interlocked ones. `bss-tso` takes a fence for an interlocked
//! operation on an address of its own, which drains the thread's buffer. `bss-pso` gets
//! fences, which drain all buffers of the thread, and store-store barriers: a store commits
//! only after the stores before the barrier.

use std::collections::VecDeque;

use fencepost_memory::{Address, MemoryModel, Operation, ThreadId};

use crate::clocks::ThreadClocks;
use crate::happens_before::HappensBefore;
use crate::monitor::Monitor;
use crate::violation::PlacedEvent;

/// Lines 5 and 6 of Fig. 4, lines 4 and 5 of Fig. 5: `pending` happens before the last event
/// (`prev`) of another thread, whose next event is `next`.
fn can_overtake<C: ThreadClocks>(
    pending: &PlacedEvent,
    next: &PlacedEvent,
    before: &HappensBefore<C>,
) -> bool {
    let thread = next.thread();
    pending.thread() != thread
        && before.last_of(thread).is_some()
        && before.precedes_last_of(pending, thread)
}

/// `B[p]` of Fig. 4: a queue whose entries are numbered from the first ever added.
#[derive(Clone, Debug, Default)]
struct Buffer {
    stores: VecDeque<PlacedEvent>,
    committed: u64,
}

/// The TSO monitor of Fig. 4.
#[derive(Clone, Debug, Default)]
pub struct BssTso {
    buffers: Vec<Buffer>,
    /// Per address, the newest buffered store: by Lemma 1 only one thread buffers any.
    newest: Vec<Option<(ThreadId, u64)>>,
}

impl BssTso {
    /// Commits the stores of `thread` up to and including the one numbered `last`.
    fn commit_up_to(&mut self, thread: ThreadId, last: u64) {
        let buffer = &mut self.buffers[thread.index()];
        while buffer.committed <= last {
            let store = buffer.stores.pop_front().expect("a buffered store");
            let address = store.address().expect("a store has an address");
            let newest = &mut self.newest[address.index()];
            if *newest == Some((thread, buffer.committed)) {
                *newest = None;
            }
            buffer.committed += 1;
        }
    }

    fn drain(&mut self, thread: ThreadId) {
        let buffer = &self.buffers[thread.index()];
        if !buffer.stores.is_empty() {
            self.commit_up_to(thread, buffer.committed + buffer.stores.len() as u64 - 1);
        }
    }
}

impl Monitor for BssTso {
    fn name(&self) -> &'static str {
        "bss-tso"
    }

    fn model(&self) -> MemoryModel {
        MemoryModel::TSO
    }

    fn observe<C: ThreadClocks>(
        &mut self,
        next: &PlacedEvent,
        before: &HappensBefore<C>,
    ) -> Option<PlacedEvent> {
        self.buffers
            .resize_with(before.thread_count(), Buffer::default);
        self.newest.resize(before.address_count(), None);
        let thread = next.thread();
        let mut overtaken = None;
        if let Some(address) = next.address() {
            if let Some((owner, number)) = self.newest[address.index()] {
                let buffer = &self.buffers[owner.index()];
                let pending = &buffer.stores[(number - buffer.committed) as usize];
                overtaken = can_overtake(pending, next, before).then_some(*pending);
                if owner != thread {
                    self.commit_up_to(owner, number);
                }
            }
        }
        match next.event.operation() {
            Operation::Load(_) | Operation::StoreBarrier => {}
            Operation::Store(a) => {
                let buffer = &mut self.buffers[thread.index()];
                let number = buffer.committed + buffer.stores.len() as u64;
                buffer.stores.push_back(*next);
                self.newest[a.index()] = Some((thread, number));
            }
            Operation::Interlocked(_)
            | Operation::LockedLoad(_)
            | Operation::LockedStore(_)
            | Operation::Fence => self.drain(thread),
        }
        overtaken
    }

    fn reset(&mut self) {
        for buffer in &mut self.buffers {
            buffer.stores.clear();
            buffer.committed = 0;
        }
        self.newest.fill(None);
    }

    fn memory(&self) -> usize {
        let stores: usize = self.buffers.iter().map(|b| b.stores.capacity()).sum();
        stores * size_of::<PlacedEvent>() + self.newest.capacity() * 24
    }

    fn projected_memory(&self, threads: usize, addresses: usize) -> usize {
        self.memory()
            .saturating_add(addresses.saturating_mul(24))
            .saturating_add(threads * size_of::<Buffer>())
    }
}

#[derive(Clone, Copy, Debug)]
struct BufferedStore {
    placed: PlacedEvent,
    /// How many barriers its thread had issued before it.
    epoch: u64,
}

/// The PSO monitor of Fig. 5.
#[derive(Clone, Debug, Default)]
pub struct BssPso {
    /// Per address, the buffered store: by Lemma 2 there is at most one.
    buffered: Vec<Option<BufferedStore>>,
    /// Per thread, the addresses of its buffered stores (and of some that have committed),
    /// and the barriers issued.
    threads: Vec<PsoThread>,
}

#[derive(Clone, Debug, Default)]
struct PsoThread {
    addresses: Vec<Address>,
    epoch: u64,
}

impl BssPso {
    /// Commits the thread's buffered stores of an epoch before `epoch`.
    fn commit_before(&mut self, thread: ThreadId, epoch: u64) {
        let mut addresses = std::mem::take(&mut self.threads[thread.index()].addresses);
        addresses.retain(|a| match &self.buffered[a.index()] {
            Some(store) if store.placed.thread() == thread => {
                let stays = store.epoch >= epoch;
                if !stays {
                    self.buffered[a.index()] = None;
                }
                stays
            }
            _ => false,
        });
        self.threads[thread.index()].addresses = addresses;
    }

    /// Commits the store buffered for an address, and what a barrier puts before it.
    fn commit(&mut self, address: Address) {
        if let Some(store) = self.buffered[address.index()].take() {
            let thread = store.placed.thread();
            if store.epoch > 0 {
                self.commit_before(thread, store.epoch);
            }
        }
    }
}

impl Monitor for BssPso {
    fn name(&self) -> &'static str {
        "bss-pso"
    }

    fn model(&self) -> MemoryModel {
        MemoryModel::PSO_OWN_ADDRESS
    }

    fn observe<C: ThreadClocks>(
        &mut self,
        next: &PlacedEvent,
        before: &HappensBefore<C>,
    ) -> Option<PlacedEvent> {
        self.threads
            .resize_with(before.thread_count(), PsoThread::default);
        self.buffered.resize(before.address_count(), None);
        let thread = next.thread();
        let operation = next.event.operation();
        let mut overtaken = None;
        if let Some(address) = next.address() {
            if let Some(pending) = self.buffered[address.index()] {
                let pending_write = pending.placed;
                overtaken = can_overtake(&pending_write, next, before).then_some(pending_write);
                if pending.placed.thread() != thread || operation.writes() || operation.is_locked()
                {
                    self.commit(address);
                }
            }
        }
        match operation {
            Operation::Load(_) => {}
            Operation::Store(a) => {
                let state = &mut self.threads[thread.index()];
                let (placed, epoch) = (*next, state.epoch);
                self.buffered[a.index()] = Some(BufferedStore { placed, epoch });
                state.addresses.push(a);
                if state.addresses.len() > 2 * self.buffered.len() {
                    state.addresses.sort_unstable();
                    state.addresses.dedup();
                }
            }
            Operation::Interlocked(_) | Operation::LockedLoad(_) | Operation::LockedStore(_) => {
                let epoch = self.threads[thread.index()].epoch;
                self.commit_before(thread, epoch);
            }
            Operation::Fence => self.commit_before(thread, u64::MAX),
            Operation::StoreBarrier => self.threads[thread.index()].epoch += 1,
        }
        overtaken
    }

    fn reset(&mut self) {
        self.buffered.fill(None);
        for thread in &mut self.threads {
            thread.addresses.clear();
            thread.epoch = 0;
        }
    }

    fn memory(&self) -> usize {
        self.projected_memory(self.threads.len(), self.buffered.len())
    }

    fn projected_memory(&self, threads: usize, addresses: usize) -> usize {
        let per_address = size_of::<Option<BufferedStore>>() + 8 * threads;
        addresses.saturating_mul(per_address)
    }
}
