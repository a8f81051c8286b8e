//! Whether a thread has changed memory other than its own stack: the heap of the program, and the
//! stacks of other threads.
//!
//! A thread that comes back to an operation with the same stack and registers is in the same state
//! only if the memory that it depends on is the same too. The stacks of the other threads are always
//! known, and the heap with the [`Allocator`](super::Allocator). Threads are coroutines of one OS thread, so between the end of an operation and
//! the next one only their thread runs: the memory is copied at the former and compared with the copy
//! at the latter. Each word that has changed is recorded with the number that was added to it, and
//! a round has changed nothing if these numbers add up to 0 for each word ([`Changes`]).
//!
//! **Only the changes of the thread itself count.** That another thread has changed something
//! between two visits does not matter, and must not: the explorer takes steps that touch different
//! objects to be independent, so whether a thread has come back cannot depend on their order. It
//! does not matter because a round that is taken to wait changes no object. So no other thread can
//! tell whether it has taken place:
//!
//! - *Nobody else has used what the round has changed and restored.* Say that another thread has
//!   accessed a word in between. Let the waiting thread stop just before its first change of that
//!   word: the other thread reads the same values, gets to the same access, and nothing orders that
//!   access and the change. That is a data race, if the other thread uses the word without
//!   Fencepost's types.
//! - *Nobody else changes what the round reads.* Say that another thread changes a word that the
//!   round has read. Let the waiting thread stop just before it reads the word. The same holds.
//!
//! So an execution without the round is an execution too, with the same continuation, and if the
//! thread goes on without another value to read, it does the same again. Waits on condition
//! variables release a lock, so that what it protects may change in between; but they are compared
//! to find out whether a return without a notification has an effect, and an execution without
//! that return is one in which the thread has returned later.
//!
//! **Why sums.** Words that several threads change by adding to them, such as the counts of an
//! `Arc` of `std`, are not changed by a round that adds and subtracts the same, whatever others have
//! added in between. For all other words a sum of 0 means that the first old value is the last new
//! one, exactly.
//!
//! What operations of Fencepost do to memory does not count: that is the states of objects, which
//! the explorer compares. Therefore the copy is made after the operation.
//!
//! **What is not compared** outlives an execution: statics, thread-local values of `std`, what the
//! closure captures, and what these lead to. The writable data of the executable also belongs to
//! Fencepost, to `std` and to the other tests of the process, which run at the same time on other OS
//! threads. Nothing tells whose change it was, so results would depend on what else runs.
#![allow(unsafe_code)] // Memory is compared by address.

use fencepost_memory::ThreadId;

use super::arena::{Arena, Heap, Words, is_installed};
use super::execution::Execution;
use super::names::ComparedHeap;
use super::setup::ComparedStates;
use super::threads::{SlotStatus, ThreadStack, Threads};

/// Words are compared in blocks of this length first.
const BLOCK: usize = 64;

/// How many changes of a thread are recorded.
const MOST_CHANGES: usize = 1 << 16;

/// The changes that a thread has made to memory other than its stack.
#[derive(Default)]
pub(crate) struct Changes {
    /// Addresses, and what was added to the word there.
    recorded: Vec<(usize, u64)>,
    /// The number of changes before those.
    before: u64,
    /// For sums.
    sorted: Vec<(usize, u64)>,
}

impl Changes {
    /// How many changes there were so far. It only grows.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.before + self.recorded.len() as u64
    }

    fn record(&mut self, address: usize, difference: u64) {
        if self.recorded.len() == MOST_CHANGES {
            self.forget();
        }
        self.recorded.push((address, difference));
    }

    /// Forgets the changes so far: nobody will ask for them, or it is not known whether there were
    /// more. What was changed since an earlier count is not known then.
    #[inline]
    fn forget(&mut self) {
        if !self.recorded.is_empty() {
            self.before = self.count();
            self.recorded.clear();
        }
    }

    /// It is not known what the thread has changed.
    fn note_unknown(&mut self) {
        self.before = self.count() + 1;
        self.recorded.clear();
    }

    /// Whether the changes since an earlier [`count`](Self::count) cancel out.
    pub(crate) fn cancel_out_since(&mut self, count: u64) -> bool {
        let Some(first) = count.checked_sub(self.before) else {
            return false;
        };
        let since = &self.recorded[first as usize..];
        let in_all = |changes: &[(usize, u64)]| {
            let differences = changes.iter().map(|(_, difference)| *difference);
            differences.fold(0, u64::wrapping_add)
        };
        // Mostly there are none, or a counter has grown.
        if since.is_empty() || in_all(since) != 0 {
            return since.is_empty();
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(since);
        self.sorted.sort_unstable();
        let mut words = self.sorted.chunk_by(|a, b| a.0 == b.0);
        words.all(|word| in_all(word) == 0)
    }
}

/// The memory of the program that is compared.
#[derive(Default)]
pub(crate) struct ComparedMemory {
    /// Whether states are compared.
    is_on: bool,
    /// None without the allocator: then no heap is compared.
    arena: Option<Arena>,
    /// By thread. None if there is no heap for it.
    heaps: Vec<Option<Heap>>,
    /// The thread for which memory was copied and that has run since.
    watched: Option<ThreadId>,
    /// What was copied, and the words, one range after the other.
    ranges: Vec<Words>,
    copy: Vec<u64>,
}

impl ComparedMemory {
    pub(crate) fn new(compared: ComparedStates) -> Self {
        let arena = match compared {
            ComparedStates::Always => Arena::claim(),
            ComparedStates::Never | ComparedStates::OnDemand => None,
        };
        ComparedMemory {
            is_on: compared == ComparedStates::Always,
            arena,
            ..ComparedMemory::default()
        }
    }

    /// Begins an execution.
    pub(crate) fn begin(&mut self) {
        self.watched = None;
        for heap in self.heaps.iter().flatten() {
            heap.begin();
        }
    }

    /// Code of the program runs from now on, as this thread.
    #[inline]
    pub(crate) fn enter(&mut self, thread: ThreadId) {
        if self.is_on {
            self.watched = None;
            self.enter_heap_of(thread);
        }
    }

    fn enter_heap_of(&mut self, thread: ThreadId) {
        let Some(arena) = &self.arena else { return };
        while self.heaps.len() <= thread.index() {
            self.heaps.push(arena.heap(self.heaps.len()));
        }
        Heap::make_current(self.heaps[thread.index()]);
    }

    /// Code of the program does not run any more.
    #[inline]
    pub(crate) fn leave(&mut self) {
        if self.arena.is_some() {
            Heap::make_current(None);
        }
    }

    /// How much of what this execution has allocated is compared.
    fn compared(&self) -> ComparedHeap {
        let has_everything = |heap: &Option<Heap>| heap.is_some_and(Heap::has_everything);
        match self.heaps.iter().all(has_everything) {
            // There was no room for another arena.
            _ if self.arena.is_none() && is_installed() => ComparedHeap::Part,
            _ if self.arena.is_none() => ComparedHeap::Nothing,
            true => ComparedHeap::All,
            false => ComparedHeap::Part,
        }
    }

    fn heap_of(&self, thread: ThreadId) -> Option<Heap> {
        self.heaps.get(thread.index()).copied().flatten()
    }

    /// Copies what the thread could change, and others could depend on.
    fn copy_for(&mut self, thread: ThreadId, threads: &Threads) {
        self.ranges.clear();
        self.copy.clear();
        let own = self.heap_of(thread);
        // Its own heap is the only one that may grow: it comes last.
        let heaps = self
            .heaps
            .iter()
            .flatten()
            .filter(|&&heap| Some(heap) != own);
        self.ranges.extend(heaps.map(|heap| heap.used()));
        for &other in &threads.spawned {
            let slot = &threads.slots[other.index()];
            if other != thread && slot.status == SlotStatus::Live {
                self.ranges.extend(slot.stack.suspended());
            }
        }
        if let Some(own) = own {
            self.ranges.extend([own.state(), own.used()]);
        }
        for range in &self.ranges {
            // SAFETY: it is a part of a heap, or of the stack of a suspended thread. Nobody writes to
            // it meanwhile.
            self.copy.extend_from_slice(unsafe { range.get() });
        }
        self.watched = Some(thread);
    }

    /// Records what the thread has changed since the copy was made, and takes it over.
    fn record(&mut self, changes: &mut Changes) {
        let own = self.watched.and_then(|thread| self.heap_of(thread));
        if let (Some(own), Some(last)) = (own, self.ranges.last_mut()) {
            // What was not used was zero.
            let grown = own.used().count.saturating_sub(last.count);
            last.count += grown;
            self.copy.resize(self.copy.len() + grown, 0);
        }
        let mut copy = self.copy.as_mut_slice();
        for range in &self.ranges {
            let (then, rest) = copy.split_at_mut(range.count);
            copy = rest;
            // SAFETY: as in `copy_for`. The threads that were suspended then still are.
            let now = unsafe { range.get() };
            if now != then {
                record_words(range.start.addr(), now, then, changes);
            }
        }
    }
}

#[cold]
fn record_words(start: usize, now: &[u64], then: &mut [u64], changes: &mut Changes) {
    let blocks = now.chunks(BLOCK).zip(then.chunks_mut(BLOCK));
    for (block, (now, then)) in blocks.enumerate().filter(|(_, (now, then))| now != then) {
        for (word, (now, then)) in now.iter().zip(then).enumerate() {
            if now != then {
                let address = start + (block * BLOCK + word) * 8;
                changes.record(address, now.wrapping_sub(*then));
                *then = *now;
            }
        }
    }
}

impl Words {
    /// # Safety
    /// So many words must be readable there, and nobody may write to them while the result is used.
    unsafe fn get<'a>(self) -> &'a [u64] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start, self.count) }
    }
}

impl ThreadStack {
    /// The part of the stack of a suspended thread that belongs to the program. None if the thread
    /// has not run yet.
    fn suspended(&self) -> Option<Words> {
        let (low, base) = (self.low.next_multiple_of(8), self.yielder.addr());
        if low < self.limit || low >= base {
            return None;
        }
        Some(Words {
            start: std::ptr::with_exposed_provenance(low),
            count: (base - low) / 8,
        })
    }
}

impl Execution {
    /// The running thread continues after an operation. If it may be in a loop, its changes are
    /// recorded from now on.
    #[inline]
    pub(crate) fn watch_changes(&mut self) {
        if self.memory.is_on {
            self.watch_running_thread();
        }
    }

    #[inline(never)]
    fn watch_running_thread(&mut self) {
        let thread = self.running.thread;
        let slot = &mut self.threads.slots[thread.index()];
        match slot.is_compared() {
            true => self.memory.copy_for(thread, &self.threads),
            false => {
                self.memory.watched = None;
                slot.changes.forget();
            }
        }
    }

    /// Records what the running thread has changed since its last operation.
    #[inline]
    pub(crate) fn note_changes(&mut self) {
        if self.memory.is_on {
            self.note_changes_of_running();
        }
    }

    #[inline(never)]
    fn note_changes_of_running(&mut self) {
        let thread = self.running.thread;
        let slot = &mut self.threads.slots[thread.index()];
        if self.memory.watched == Some(thread) {
            self.memory.record(&mut slot.changes);
        } else if slot.is_compared() {
            slot.changes.note_unknown();
        }
    }

    /// The running thread is taken to be in the same state.
    pub(crate) fn note_same_state(&self) {
        let compared = self.memory.compared();
        self.names.registry().note_compared_heap(compared);
    }

    /// The bytes of this variable of the program were brought up to date with the state of its object,
    /// which is no change by the program.
    pub(crate) fn note_up_to_date(&mut self, address: usize, size: usize) {
        if self.memory.watched == Some(self.running.thread) {
            self.memory.take_over(address, size);
        }
    }
}

impl ComparedMemory {
    #[cold]
    fn take_over(&mut self, address: usize, size: usize) {
        let copy: *mut u8 = self.copy.as_mut_ptr().cast();
        let mut at = 0;
        for range in &self.ranges {
            let (start, length) = (range.start.addr(), range.count * 8);
            let first = address.max(start);
            let end = (address + size).min(start + length);
            if first < end {
                let from = range.start.cast::<u8>().wrapping_add(first - start);
                // SAFETY: these bytes are in the range, which is readable as in `copy_for`, and
                // its copy is as long.
                unsafe { copy.add(at + first - start).copy_from(from, end - first) };
            }
            at += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_cancel_out_word_by_word() {
        let mut changes = Changes::default();
        let begin = changes.count();
        assert!(changes.cancel_out_since(begin));
        changes.record(8, 3);
        assert!(!changes.cancel_out_since(begin));
        // Not one word against another.
        changes.record(16, 3_u64.wrapping_neg());
        assert!(!changes.cancel_out_since(begin));
        let middle = changes.count();
        changes.record(8, 3_u64.wrapping_neg());
        changes.record(16, 3);
        assert!(changes.cancel_out_since(begin));
        assert!(!changes.cancel_out_since(middle));
        assert!(changes.cancel_out_since(changes.count()));
    }

    #[test]
    fn what_was_forgotten_does_not_cancel_out() {
        let mut changes = Changes::default();
        let begin = changes.count();
        changes.record(8, 1);
        changes.record(8, 1_u64.wrapping_neg());
        assert!(changes.cancel_out_since(begin));
        changes.forget();
        assert!(!changes.cancel_out_since(begin));
        let begin = changes.count();
        assert!(changes.cancel_out_since(begin));
        changes.note_unknown();
        assert!(!changes.cancel_out_since(begin));
        let begin = changes.count();
        for _ in 0..=MOST_CHANGES {
            changes.record(8, 0);
        }
        assert!(!changes.cancel_out_since(begin));
    }
}
