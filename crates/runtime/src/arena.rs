//! The heap of checked programs: a global allocator that a test crate can install.
//!
//! While code of a program runs in an execution whose states are compared, blocks come from the
//! heap of the thread that runs. Everything else (the runtime, the explorer, code outside of a check)
//! gets its blocks from [`System`]. So what an execution has allocated lies in a few ranges of bytes,
//! and [`memory`](super::memory) can tell whether a thread has changed it.
//!
//! - **Each thread has a heap**, and frees blocks into its own, whoever has allocated them. So what
//!   an allocation does depends only on what its thread has done before, and never on how threads
//!   are interleaved.
//! - **A block is found by its address.** All heaps lie in one range of reserved addresses, an arena
//!   of them for each OS thread that runs checks. So a block may be freed anywhere and at any time:
//!   after its execution, outside of a check, on another OS thread. Only the program, on the OS
//!   thread that owns the arena, reuses what it frees; elsewhere a block is only counted.
//! - **Equal bytes are equal states.** The lists of free blocks are in the heap. A free block is
//!   filled with zeros, apart from its link. So a round of a loop that frees what it allocates
//!   leaves every byte as it was, at the latest when it is repeated.
//! - **An execution begins with empty heaps.** Blocks that outlive their execution stay where they
//!   are, below the [`Heap::used`] part of the next one. Only statics and the like can lead to them.
//!
//! Nothing here panics, or allocates but in `System`. A stack overflow ends a coroutine at once, so
//! [`reserve_stack`] comes before any change.
#![allow(unsafe_code)] // An allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::coroutine::reserve_stack;
use super::current::is_program_running;

/// The addresses of a heap, of which only what is used needs memory.
const HEAP_SIZE: usize = if cfg!(target_pointer_width = "64") {
    16 << 20
} else {
    64 << 10
};
/// The number of heaps of an arena: one for each of so many threads of the program.
const HEAPS: usize = 64;
const ARENA_SIZE: usize = HEAP_SIZE * HEAPS;
/// The number of arenas. Each OS thread that runs checks has one.
const ARENAS: usize = 64;
const RESERVED_SIZE: usize = ARENA_SIZE * ARENAS;

/// The most bytes of a heap that an execution uses. Blocks beyond come from the system, and are not
/// compared.
const MOST_USED: usize = if cfg!(target_pointer_width = "64") {
    128 << 10
} else {
    32 << 10
};

/// Where the arenas begin. Before they are reserved: at the end of the address space, where no
/// program has memory.
static RESERVED: AtomicUsize = AtomicUsize::new(0_usize.wrapping_sub(RESERVED_SIZE));

/// Which arenas are in use.
static CLAIMS: Mutex<Claims> = Mutex::new(Claims {
    is_reserved: None,
    is_claimed: [false; ARENAS],
});

struct Claims {
    /// Whether the addresses could be reserved; none before the first attempt.
    is_reserved: Option<bool>,
    is_claimed: [bool; ARENAS],
}

thread_local! {
    /// The heap from which the program gets its blocks, 0 if there is none, or [`PROBE`].
    static HEAP: Cell<usize> = const { Cell::new(0) };
    /// The arena that this OS thread owns, or 0.
    static OWNED: Cell<usize> = const { Cell::new(0) };
    /// How many runtimes of this OS thread use it.
    static USERS: Cell<usize> = const { Cell::new(0) };
    /// Whether [`Allocator`] was called while [`HEAP`] was [`PROBE`].
    static WAS_PROBED: Cell<bool> = const { Cell::new(false) };
}

/// No heap: finds out whether the allocator is installed.
const PROBE: usize = 1;

/// Blocks of up to so many bytes have sizes that are multiples of [`GRAIN`]. Larger ones have
/// powers of two.
const SMALL: usize = 1024;
const GRAIN: usize = 16;
const SMALL_LISTS: usize = SMALL / GRAIN;
/// The largest alignment.
const MOST_ALIGNED: usize = 4096;
/// An odd number: with `top`, [`State`] is a whole number of words.
const LISTS: usize = (SMALL_LISTS + MOST_USED.ilog2() as usize + 1) | 1;

/// The start of a heap. Other OS threads use `freed_elsewhere` only.
#[repr(C)]
struct Header {
    /// Where the blocks of this execution begin, relative to the heap. Those below have outlived
    /// theirs.
    floor: usize,
    /// How many blocks in this heap were allocated and not freed, but for those freed elsewhere.
    blocks: usize,
    /// How many of these are above the floor.
    recent: usize,
    /// Whether the program has got a block from the system for which there was no room here.
    has_spilled: bool,
    /// How many blocks were freed by OS threads that do not own the arena.
    freed_elsewhere: AtomicUsize,
    state: State,
}

/// The part that decides which blocks come next. It is compared.
#[repr(C)]
struct State {
    /// Where unused memory begins, relative to the heap. It is filled with zeros.
    top: u32,
    /// The first free block of each size: a [`Link`].
    free: [u32; LISTS],
}

/// The number of grains between the start of the arena and a block; 0 for none.
type Link = u32;

const _: () = assert!(ARENA_SIZE / GRAIN <= u32::MAX as usize + 1);
const _: () = assert!(size_of::<State>() % 8 == 0 && align_of::<Header>() >= 8);

const FIRST: usize = size_of::<Header>().next_multiple_of(GRAIN);

/// The list that a block belongs to, its size, and its alignment. None if it is too large.
#[inline]
fn class_of(layout: Layout) -> Option<(usize, usize, usize)> {
    let size = layout.size().max(1);
    if size <= SMALL && layout.align() <= GRAIN {
        let grains = size.div_ceil(GRAIN);
        return Some((grains - 1, grains * GRAIN, GRAIN));
    }
    if size > MOST_USED || layout.align() > MOST_ALIGNED {
        return None;
    }
    let size = size.max(layout.align()).next_power_of_two();
    let list = SMALL_LISTS + size.ilog2() as usize;
    Some((list, size, size.min(MOST_ALIGNED)))
}

/// Where the arena of an address in one begins.
#[inline]
fn arena_of(address: usize) -> usize {
    // They are aligned to their size.
    address & !(ARENA_SIZE - 1)
}

/// Whether the address is in an arena.
#[inline]
fn is_in_arena(address: usize) -> bool {
    address.wrapping_sub(RESERVED.load(Ordering::Relaxed)) < RESERVED_SIZE
}

/// A range of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    pub(crate) start: *const u64,
    pub(crate) count: usize,
}

/// A heap of an arena that the calling OS thread owns. Its addresses are usable, and it is never
/// given back to the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Heap(usize);

impl Heap {
    /// The heap in which a block lies.
    #[inline]
    fn of(block: usize) -> Self {
        Heap(block & !(HEAP_SIZE - 1))
    }

    #[inline]
    fn header(self) -> *mut Header {
        with_exposed_provenance_mut(self.0)
    }

    /// Where the program gets its blocks from now on, on this OS thread.
    #[inline]
    pub(crate) fn make_current(heap: Option<Heap>) {
        HEAP.set(heap.map_or(0, |heap| heap.0));
    }

    /// The bytes that this execution has used. What follows them is zero.
    #[inline]
    pub(crate) fn used(self) -> Words {
        let header = self.header();
        // SAFETY: the calling OS thread owns the arena, so the header is valid and nobody else
        // writes to these fields.
        let (floor, top) = unsafe { ((*header).floor, (*header).state.top as usize) };
        Words {
            start: with_exposed_provenance_mut(self.0 + floor),
            count: (top - floor) / 8,
        }
    }

    /// The state of the allocator.
    #[inline]
    pub(crate) fn state(self) -> Words {
        let start = self.0 + std::mem::offset_of!(Header, state);
        Words {
            start: with_exposed_provenance_mut(start),
            count: size_of::<State>() / 8,
        }
    }

    /// Whether all blocks of this execution are in the heap.
    #[inline]
    pub(crate) fn has_everything(self) -> bool {
        // SAFETY: as in `used`.
        unsafe { !(*self.header()).has_spilled }
    }

    /// Begins an execution: the heap is empty then.
    pub(crate) fn begin(self) {
        let header = self.header();
        // SAFETY: as in `used`. The memory from which zeros are written on is part of the heap, and
        // no block in it is in use: `recent` counts those above the floor. If all were freed, nobody
        // can free another one meanwhile.
        unsafe {
            let top = (*header).state.top as usize;
            let freed_elsewhere = (*header).freed_elsewhere.load(Ordering::Acquire);
            if (*header).blocks == freed_elsewhere {
                (*header).freed_elsewhere.store(0, Ordering::Relaxed);
                (*header).blocks = 0;
                (*header).recent = 0;
                (*header).floor = FIRST;
            }
            match (*header).recent {
                0 => {
                    let unused = self.0 + (*header).floor;
                    let length = top.saturating_sub((*header).floor);
                    with_exposed_provenance_mut::<u8>(unused).write_bytes(0, length);
                }
                _ => (*header).floor = top,
            }
            (*header).recent = 0;
            (*header).has_spilled = false;
            (*header).state.top = (*header).floor as u32;
            (*header).state.free = [0; LISTS];
        }
    }

    /// Counts a block in this heap as allocated.
    ///
    /// # Safety
    /// The calling OS thread must own the arena, and the block must not be in use.
    #[inline]
    unsafe fn count_allocated(self) {
        let header = self.header();
        // SAFETY: the caller's promise. A block that is allocated is above the floor.
        unsafe {
            (*header).blocks += 1;
            (*header).recent += 1;
        }
    }

    /// Counts a block in this heap as freed. Returns whether this execution has allocated it.
    ///
    /// # Safety
    /// The calling OS thread must own the arena, and the block must have been in use.
    #[inline]
    unsafe fn count_freed(self, block: usize) -> bool {
        let header = self.header();
        // SAFETY: the caller's promise.
        unsafe {
            let is_recent = block - self.0 >= (*header).floor;
            (*header).blocks -= 1;
            (*header).recent -= usize::from(is_recent);
            is_recent
        }
    }

    /// A block, filled with zeros. Null if there is no room for it.
    fn take(self, layout: Layout) -> *mut u8 {
        let header = self.header();
        let Some((list, size, align)) = class_of(layout) else {
            return null_mut();
        };
        // SAFETY: as in `used`. A link leads to a free block of this arena, which begins with a link.
        unsafe {
            let link: Link = (*header).state.free[list];
            if link != 0 {
                let address = arena_of(self.0) + link as usize * GRAIN;
                let block = with_exposed_provenance_mut::<Link>(address);
                (*header).state.free[list] = block.replace(0);
                Heap::of(address).count_allocated();
                return block.cast();
            }
            let start = ((*header).state.top as usize).next_multiple_of(align);
            let end = start + size;
            if end > HEAP_SIZE || end - (*header).floor > MOST_USED {
                return null_mut();
            }
            (*header).state.top = end as u32;
            self.count_allocated();
            with_exposed_provenance_mut(self.0 + start)
        }
    }

    /// Frees a block of any heap of the arena into this one.
    ///
    /// # Safety
    /// The block must be one that `take` of a heap of this arena has returned for the layout, and
    /// must not be in use any more.
    unsafe fn put_back(self, block: *mut u8, layout: Layout) {
        let header = self.header();
        let (address, home) = (block.addr(), Heap::of(block.addr()));
        let Some((list, size, _)) = class_of(layout) else {
            return;
        };
        // SAFETY: as in `used`, and the caller's promise. The program has written to no more of the
        // block than it has asked for, and every block has room for a link.
        unsafe {
            block.write_bytes(0, layout.size());
            if !home.count_freed(address) {
                // It would not be compared if it were used again.
                return;
            }
            if home == self && address - self.0 + size == (*header).state.top as usize {
                (*header).state.top -= size as u32;
                return;
            }
            block.cast::<Link>().write((*header).state.free[list]);
            (*header).state.free[list] = ((address - arena_of(address)) / GRAIN) as Link;
        }
    }
}

/// The global allocator with which a check also compares what its program has allocated, before it
/// takes a loop to wait. One line in a test crate installs it:
///
/// ```
/// # use fencepost_runtime as fencepost;
/// #[global_allocator]
/// static ALLOCATOR: fencepost::Allocator = fencepost::Allocator;
/// ```
///
/// Outside of checks it is the allocator of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

// SAFETY: blocks come from the system or from a heap, and go back to where they came from. A heap
// returns a block only once until it is freed, of the size and alignment of `class_of`. Only the OS
// thread that owns the arena allocates in it.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match HEAP.get() {
            // SAFETY: the caller's promise.
            0 => unsafe { System.alloc(layout) },
            // SAFETY: the caller's promise.
            heap => unsafe { allocate(heap, layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match HEAP.get() {
            // SAFETY: the caller's promise.
            0 => unsafe { System.alloc_zeroed(layout) },
            // SAFETY: the caller's promise. All these blocks are filled with zeros.
            heap => unsafe { allocate(heap, layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match is_in_arena(block.addr()) {
            // SAFETY: the caller's promise. Blocks outside of the arenas are the system's.
            false => unsafe { System.dealloc(block, layout) },
            // SAFETY: the caller's promise.
            true => unsafe { deallocate(block, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match is_in_arena(block.addr()) {
            // SAFETY: the caller's promise. Blocks outside of the arenas are the system's.
            false => unsafe { System.realloc(block, layout, size) },
            // SAFETY: the caller's promise.
            true => unsafe { reallocate(block, layout, size) },
        }
    }
}

/// The heap from which code of a program that runs now gets its blocks.
#[inline]
fn heap_of_program() -> Option<Heap> {
    let heap = HEAP.get();
    (heap > PROBE && is_program_running()).then_some(Heap(heap))
}

/// A block, filled with zeros, while [`HEAP`] is not 0.
///
/// # Safety
/// As of [`GlobalAlloc::alloc`].
#[inline(never)]
unsafe fn allocate(heap: usize, layout: Layout) -> *mut u8 {
    if heap == PROBE {
        WAS_PROBED.set(true);
    }
    if let Some(heap) = heap_of_program() {
        reserve_stack();
        let block = heap.take(layout);
        if !block.is_null() {
            return block;
        }
        // SAFETY: this OS thread owns its arena.
        unsafe { (*heap.header()).has_spilled = true };
    }
    // SAFETY: the caller's promise.
    unsafe { System.alloc_zeroed(layout) }
}

/// # Safety
/// As of [`GlobalAlloc::dealloc`], for a block of an arena.
#[inline(never)]
unsafe fn deallocate(block: *mut u8, layout: Layout) {
    let (address, home) = (block.addr(), Heap::of(block.addr()));
    if arena_of(address) != OWNED.get() {
        // SAFETY: the header of a heap with blocks is valid, and other OS threads share this field.
        let freed = unsafe { &(*home.header()).freed_elsewhere };
        freed.fetch_add(1, Ordering::Release);
    } else if let Some(heap) = heap_of_program() {
        reserve_stack();
        // SAFETY: the caller's promise. Both heaps are in the arena that this OS thread owns.
        unsafe { heap.put_back(block, layout) };
    } else {
        // SAFETY: this OS thread owns the arena.
        unsafe { home.count_freed(address) };
    }
}

/// # Safety
/// As of [`GlobalAlloc::realloc`], for a block of an arena.
#[inline(never)]
unsafe fn reallocate(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: the caller promises that the size is valid for the alignment.
    let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
    if class_of(new) == class_of(layout) {
        if size < layout.size() {
            // SAFETY: the rest of the block is not used any more. What is free is zero.
            unsafe { block.add(size).write_bytes(0, layout.size() - size) };
        }
        return block;
    }
    // SAFETY: the caller's promise.
    let moved = unsafe { Allocator.alloc(new) };
    if !moved.is_null() {
        // SAFETY: both blocks are valid for so many bytes, and do not overlap.
        unsafe { block.copy_to_nonoverlapping(moved, size.min(layout.size())) };
        // SAFETY: the caller's promise, and the block is not used any more.
        unsafe { deallocate(block, layout) };
    }
    moved
}

/// An arena that the calling OS thread owns. It is released when the last such value is dropped.
/// Runtimes of one OS thread share it: their executions do not overlap.
pub(crate) struct Arena {
    base: usize,
}

impl Arena {
    /// An arena for the calling OS thread. None if [`Allocator`] is not the global allocator, or
    /// there is no room.
    pub(crate) fn claim() -> Option<Self> {
        if !is_installed() {
            return None;
        }
        if OWNED.get() == 0 {
            OWNED.set(claim_one()?);
        }
        USERS.set(USERS.get() + 1);
        Some(Arena { base: OWNED.get() })
    }

    /// Makes a heap usable, the one with this number. None if there is no such heap.
    pub(crate) fn heap(&self, number: usize) -> Option<Heap> {
        if number >= HEAPS {
            return None;
        }
        let heap = Heap(self.base + number * HEAP_SIZE);
        // An earlier owner may have used it. Its pages are unchanged then.
        make_usable(heap.0).then_some(())?;
        let header = heap.header();
        // SAFETY: the heap is usable, and belongs to this OS thread. It was filled with zeros when
        // it was new.
        if unsafe { (*header).floor } == 0 {
            // SAFETY: the same.
            unsafe {
                (*header).floor = FIRST;
                (*header).state.top = FIRST as u32;
            }
        }
        heap.begin();
        Some(heap)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        USERS.set(USERS.get() - 1);
        if USERS.get() == 0 {
            OWNED.set(0);
            let number = (self.base - RESERVED.load(Ordering::Relaxed)) / ARENA_SIZE;
            let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
            claims.is_claimed[number] = false;
        }
    }
}

/// Whether [`Allocator`] is the global allocator.
fn is_installed() -> bool {
    static IS_INSTALLED: OnceLock<bool> = OnceLock::new();
    *IS_INSTALLED.get_or_init(|| {
        WAS_PROBED.set(false);
        let before = HEAP.replace(PROBE);
        let probe = std::hint::black_box(Box::new(0_u64));
        HEAP.set(before);
        drop(probe);
        WAS_PROBED.get()
    })
}

/// Gives an arena to the calling OS thread.
#[cold]
fn claim_one() -> Option<usize> {
    let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    if !*claims.is_reserved.get_or_insert_with(reserve) {
        return None;
    }
    let number = claims
        .is_claimed
        .iter()
        .position(|is_claimed| !is_claimed)?;
    claims.is_claimed[number] = true;
    Some(RESERVED.load(Ordering::Relaxed) + number * ARENA_SIZE)
}

/// Reserves the addresses of all arenas.
#[cfg(all(unix, target_pointer_width = "64"))]
fn reserve() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
    let size = RESERVED_SIZE + ARENA_SIZE;
    // SAFETY: this maps new addresses, without memory.
    let reserved = unsafe { libc::mmap(null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
    if reserved == libc::MAP_FAILED {
        return false;
    }
    let reserved = reserved.expose_provenance().next_multiple_of(ARENA_SIZE);
    RESERVED.store(reserved, Ordering::Relaxed);
    true
}

/// Makes the addresses of a heap usable.
#[cfg(all(unix, target_pointer_width = "64"))]
fn make_usable(heap: usize) -> bool {
    let heap = with_exposed_provenance_mut(heap);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: these addresses were reserved. If they are in use, their access stays as it is.
    let is_usable = unsafe { libc::mprotect(heap, HEAP_SIZE, access) == 0 };
    #[cfg(target_os = "linux")]
    // SAFETY: the same. Most of a huge page would be filled with zeros for nothing; the result does
    // not matter.
    unsafe {
        libc::madvise(heap, HEAP_SIZE, libc::MADV_NOHUGEPAGE)
    };
    is_usable
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
fn reserve() -> bool {
    false
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
fn make_usable(_: usize) -> bool {
    false
}
