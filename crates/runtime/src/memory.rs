//! Which memory of a program its threads have changed, other than their own stacks: its heap, and
//! the stacks of other threads.
//!
//! A thread that comes back to an operation with the same stack and registers is in the same state
//! only if the memory that it depends on is the same too. With the [allocator](super::Allocator) of
//! Fencepost that memory is known: it is the arena, and the stacks. Threads are coroutines of one
//! OS thread, so what has changed when a thread stops was changed by that thread. At each stop the
//! memory is compared with a copy, and for each word that has changed from `old` to `new`,
//! `hash(address, new) - hash(address, old)` is added to the [`Effect`] of the thread.
//!
//! **Equal effects are no effect.** Between two visits with equal effects, the changes of the thread
//! cancel out: at each address it has left each value as often as it has restored it (unless sums
//! of 128-bit hashes collide). Sums are used, and not exclusive or, because a thread that makes the
//! same change twice, after another one has undone it, has an effect.
//!
//! **Changes of other threads need not be compared.** Say that the thread has no effect between two
//! visits in which its stack is the same, and that meanwhile another thread changes a word that it
//! reads. If it reads the word after an operation that synchronizes with that thread, the explorer
//! knows: the value that the operation has read has changed. Otherwise it reads the word in
//! the same place of the round before, and that read and the change are a data race, unless the
//! thread has published something in between. A write that changes an object makes it forget its
//! visits. One that does not, such as a failed `swap`, may still publish: then the
//! memory as a whole must be the same too ([`Seen::total`]). The same holds for waits on condition
//! variables, which release a lock.
//!
//! **What is not compared**: statics, the thread-local values of `std`, and blocks that were allocated before
//! the check. The writable data of the executable also contains that of Fencepost, of `std` and of
//! other tests of the process, which run at the same time. Nothing tells them apart, and
//! comparing all of it would make results depend on what else runs.
//!
//! The cost is that of comparing the memory in use at every stop. Above [`LARGEST`] bytes it is not
//! compared, and the result names the assumption.
#![allow(unsafe_code)] // Memory is compared by address.

use std::sync::atomic::{AtomicBool, Ordering};

use fencepost_memory::ThreadId;

use super::arena::{Arena, Claim};
use super::execution::Execution;
use super::setup::ComparedStates;
use super::threads::SlotStatus;

/// The most bytes of the heap that are compared.
const LARGEST: usize = 256 * 1024;

/// Words are compared in blocks of this length first.
const BLOCK: usize = 64;

/// For tests of the tests: changes of memory are not seen.
#[doc(hidden)]
pub static IGNORE_CHANGES: AtomicBool = AtomicBool::new(false);

/// The sum of the changes that a thread has made.
pub(crate) type Effect = u128;

/// What is known of the memory at a visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Seen {
    /// The effect of the thread.
    pub(crate) effect: Effect,
    /// The effect of all threads.
    pub(crate) total: Effect,
    /// How often the thread has written what was there already.
    pub(crate) idle_writes: u32,
}

impl Seen {
    /// Whether the thread has had no effect since an earlier visit.
    pub(crate) fn is_as(&self, earlier: &Seen) -> bool {
        let has_published = self.idle_writes != earlier.idle_writes;
        self.effect == earlier.effect && (!has_published || self.total == earlier.total)
    }
}

/// The memory of a program that is compared.
#[derive(Default)]
pub(crate) struct ComparedMemory {
    claim: Option<Claim>,
    /// The heap when the last thread stopped.
    heap: Vec<u64>,
    total: Effect,
    /// Whether the heap is compared in this execution.
    is_on: bool,
}

/// The stack of a suspended thread.
#[derive(Default)]
pub(crate) struct SuspendedStack {
    /// Where the frames of the program end; 0 if that is not known.
    pub(crate) low: usize,
    /// The words from there to the base of the stack.
    words: Vec<u64>,
}

impl SuspendedStack {
    /// A new thread has not been suspended yet.
    pub(crate) fn reset(&mut self) {
        self.low = 0;
        self.words.clear();
    }
}

/// The hash of a word at an address.
#[inline]
fn hash(address: usize, word: u64) -> u128 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ (product >> 64) as u64
    };
    let address = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let low = fold(
        address ^ 0xA076_1D64_78BD_642F,
        word ^ 0xE703_7ED1_A0B4_28DB,
    );
    let high = fold(
        address.rotate_left(32) ^ 0x8EBC_6AF0_9C88_C6E3,
        word ^ 0x5899_65CC_7537_4CC3,
    );
    let low = fold(low ^ 0x1D8E_4E27_C47D_124F, address ^ word.rotate_left(17));
    u128::from(fold(high ^ 0xEB44_ACCA_B455_D165, low ^ address)) << 64 | u128::from(low)
}

/// The sum of the changes from `copy` to the memory at `start`, which the copy takes over.
///
/// # Safety
/// So many words must be readable there, and nobody may write to them meanwhile.
unsafe fn take_changes(start: *const u64, copy: &mut [u64]) -> Effect {
    let mut effect: Effect = 0;
    // SAFETY: the caller's promise.
    let memory = unsafe { std::slice::from_raw_parts(start, copy.len()) };
    for (index, (now, then)) in memory.chunks(BLOCK).zip(copy.chunks_mut(BLOCK)).enumerate() {
        if now == then {
            continue;
        }
        let start = start.addr() + index * BLOCK * 8;
        for (word, (now, then)) in now.iter().zip(then).enumerate() {
            if now != then {
                let address = start + word * 8;
                effect = effect
                    .wrapping_add(hash(address, *now))
                    .wrapping_sub(hash(address, *then));
                *then = *now;
            }
        }
    }
    effect
}

impl ComparedMemory {
    /// Claims an arena for the program.
    pub(crate) fn new(compared: ComparedStates) -> Self {
        let claim = (compared != ComparedStates::Never).then(Claim::new);
        ComparedMemory {
            claim,
            ..ComparedMemory::default()
        }
    }

    fn arena(&self) -> Option<Arena> {
        self.claim.as_ref().and_then(Claim::arena)
    }

    /// Begins an execution.
    pub(crate) fn begin(&mut self, compared: ComparedStates) {
        let Some(arena) = self.arena() else {
            return;
        };
        arena.start_over_if_empty();
        self.is_on = compared == ComparedStates::Always && !IGNORE_CHANGES.load(Ordering::Relaxed);
        self.total = 0;
        self.heap_changes();
        self.total = 0;
    }

    /// The changes of the heap since this was last called. Turns the comparison off if it is too
    /// large.
    fn heap_changes(&mut self) -> Effect {
        let Some(arena) = self.arena().filter(|_| self.is_on) else {
            return 0;
        };
        let (start, used) = arena.used();
        if used > LARGEST || !arena.has_everything() {
            self.is_on = false;
            return 0;
        }
        // What is not in use is zero.
        if self.heap.len() < used / 8 {
            self.heap.resize(used / 8, 0);
        }
        // SAFETY: the arena belongs to this OS thread, and is longer than its part that was ever
        // compared. No code of the program runs.
        let changes = unsafe { take_changes(start, &mut self.heap) };
        self.heap.truncate(used / 8);
        self.total = self.total.wrapping_add(changes);
        changes
    }
}

impl Execution {
    /// The running thread stops, or is about to: what it has changed counts as its effect.
    #[inline]
    pub(crate) fn note_effects(&mut self) {
        if self.memory.is_on {
            self.add_effects(true);
        }
    }

    /// What has changed counts as nobody's effect.
    #[inline]
    pub(crate) fn note_foreign_effects(&mut self) {
        if self.memory.is_on {
            self.add_effects(false);
        }
    }

    #[inline(never)]
    fn add_effects(&mut self, is_own: bool) {
        let running = self.running.thread;
        let mut effect = self.memory.heap_changes();
        for position in 0..self.threads.spawned.len() {
            let thread = self.threads.spawned[position];
            let slot = &mut self.threads.slots[thread.index()];
            if thread == running || slot.status != SlotStatus::Live {
                continue;
            }
            let stack = &mut slot.stack.suspended;
            if stack.words.is_empty() {
                // It has not run yet.
                continue;
            }
            let start = std::ptr::with_exposed_provenance::<u64>(stack.low);
            // SAFETY: the thread is suspended, so the part of its stack that was copied is still in
            // use, and nobody runs who could write to it.
            let changes = unsafe { take_changes(start, &mut stack.words) };
            effect = effect.wrapping_add(changes);
            self.memory.total = self.memory.total.wrapping_add(changes);
        }
        if is_own {
            let own = &mut self.threads.slots[running.index()].visits.seen.effect;
            *own = own.wrapping_add(effect);
        }
    }

    /// The thread is suspended: its stack is copied, so that changes by other threads are seen.
    #[inline]
    pub(crate) fn note_suspension(&mut self, thread: ThreadId) {
        if self.memory.is_on {
            self.note_effects();
            self.threads.slots[thread.index()].stack.copy_words();
        }
    }

    /// What is known of the memory, for the running thread. None if it is not compared.
    pub(crate) fn seen_memory(&mut self) -> Option<Seen> {
        if !self.memory.is_on {
            return None;
        }
        self.note_effects();
        if !self.memory.is_on {
            return None;
        }
        let total = self.memory.total;
        let seen = self.slot().visits.seen;
        Some(Seen { total, ..seen })
    }

    /// A thread is taken to be in the same state without a comparison of the heap.
    #[cold]
    pub(crate) fn note_uncompared_heap(&self) {
        self.names.registry().note_uncompared_heap();
    }
}

impl super::threads::ThreadStack {
    fn copy_words(&mut self) {
        let base = self.yielder.addr();
        let stack = &mut self.suspended;
        stack.words.clear();
        let low = stack.low.next_multiple_of(8);
        stack.low = low;
        if low == 0 || low > base || low < self.limit {
            return;
        }
        let start = std::ptr::with_exposed_provenance::<u64>(low);
        // SAFETY: the range is the part of the stack of a suspended thread that is in use.
        let words = unsafe { std::slice::from_raw_parts(start, (base - low) / 8) };
        stack.words.extend_from_slice(words);
    }
}
