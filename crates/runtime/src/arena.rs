//! The heap of checked programs: a global allocator that a test crate can install.
//!
//! While code of a program runs, blocks come from the arena of the OS thread that runs the check.
//! Everything else (the runtime, the explorer, code outside of a check) gets its blocks from
//! [`System`]. So the heap of a program is a contiguous range of bytes, and [`memory`](super::memory)
//! can tell whether a thread has changed it.
//!
//! - **Whose code runs** is what `current` knows: code of the program runs while there is an
//!   execution that is not lent.
//! - **A block is freed by its address.** All arenas lie in one range of reserved addresses, so a
//!   block may be freed anywhere and at any time: after its execution, outside of a check, on
//!   another OS thread. The owner reuses a block that it frees. Another OS thread only counts the
//!   block as freed, because nothing in an arena is synchronized; the memory is reused when the
//!   whole arena is.
//! - **An arena starts over only when it is empty**: at the start of an execution, if every block
//!   was freed. Values that live longer (a leaked box, the contents of a `OnceLock`) stay where
//!   they are, and are compared in later executions too.
//! - **All state is in the arena**, at its start: the lists of free blocks, and where unused memory
//!   begins. A block that is freed is filled with zeros, and linked through its first word. So
//!   equal bytes are equal states of the allocator, and a round of a loop that frees what it
//!   allocates leaves every byte as it was, apart from the first such round.
//!
//! A stack overflow ends a coroutine at once, so [`reserve_stack`] comes before any change.
#![allow(unsafe_code)] // An allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use super::coroutine::reserve_stack;
use super::current::{as_program, is_program_running};

/// The addresses of an arena, of which only what is used needs memory.
const ARENA_SIZE: usize = if cfg!(target_pointer_width = "64") {
    64 << 20
} else {
    1 << 20
};
/// The number of arenas. Each OS thread that runs checks has one.
const ARENAS: usize = 64;
const REGION_SIZE: usize = ARENA_SIZE * ARENAS;

/// Where the arenas begin. Before they are reserved: at the end of the address space, where no
/// program has memory.
static REGION: AtomicUsize = AtomicUsize::new(0_usize.wrapping_sub(REGION_SIZE));

/// What other OS threads have to know of each arena.
static SHARED: [Shared; ARENAS] = [const { Shared::new() }; ARENAS];

struct Shared {
    /// How many blocks were freed by OS threads that do not own the arena.
    freed_elsewhere: AtomicUsize,
    /// Whether a program has got a block from the system that the arena had no room for, since the
    /// arena was last empty.
    has_spilled: AtomicBool,
}

impl Shared {
    const fn new() -> Self {
        Shared {
            freed_elsewhere: AtomicUsize::new(0),
            has_spilled: AtomicBool::new(false),
        }
    }
}

/// Which arenas are in use.
static CLAIMS: Mutex<Claims> = Mutex::new(Claims {
    is_reserved: None,
    is_claimed: [false; ARENAS],
    is_mapped: [false; ARENAS],
});

struct Claims {
    /// Whether the addresses could be reserved; none before the first attempt.
    is_reserved: Option<bool>,
    is_claimed: [bool; ARENAS],
    is_mapped: [bool; ARENAS],
}

thread_local! {
    /// The address of the arena that this OS thread owns, or 0.
    static OWNED: Cell<usize> = const { Cell::new(0) };
    /// How many runtimes of this OS thread use it.
    static USERS: Cell<usize> = const { Cell::new(0) };
    /// Whether code of a program has got a block while this OS thread had no arena.
    static HAS_SERVED: Cell<bool> = const { Cell::new(false) };
}

/// Blocks of up to so many bytes have sizes that are multiples of [`GRAIN`]. Larger ones have
/// powers of two.
const SMALL: usize = 1024;
const GRAIN: usize = 16;
const SMALL_LISTS: usize = SMALL / GRAIN;
/// The largest block, and the largest alignment.
const LARGEST: usize = 16 << 20;
const MOST_ALIGNED: usize = 4096;
const LISTS: usize = SMALL_LISTS + LARGEST.ilog2() as usize + 1;

/// The start of an arena. Addresses are 0 if there is none.
#[repr(C)]
struct Header {
    /// Where unused memory begins, relative to the arena.
    top: usize,
    /// How many blocks its owner has allocated and not freed.
    blocks: usize,
    /// The first free block of each size.
    free: [usize; LISTS],
}

const FIRST: usize = size_of::<Header>().next_multiple_of(MOST_ALIGNED);

/// The list that a block belongs to, its size, and its alignment.
#[inline]
fn class_of(layout: Layout) -> Option<(usize, usize, usize)> {
    let size = layout.size().max(1);
    if size <= SMALL && layout.align() <= GRAIN {
        let grains = size.div_ceil(GRAIN);
        return Some((grains - 1, grains * GRAIN, GRAIN));
    }
    if size > LARGEST || layout.align() > MOST_ALIGNED {
        return None;
    }
    let size = size.max(layout.align()).next_power_of_two();
    let list = SMALL_LISTS + size.ilog2() as usize;
    Some((list, size, size.min(MOST_ALIGNED)))
}

/// An arena that the calling OS thread owns.
#[derive(Clone, Copy)]
pub(crate) struct Arena(usize);

impl Arena {
    #[inline]
    fn of_this_thread() -> Option<Self> {
        match OWNED.get() {
            0 => None,
            base => Some(Arena(base)),
        }
    }

    #[inline]
    fn header(self) -> *mut Header {
        with_exposed_provenance_mut(self.0)
    }

    fn shared(self) -> &'static Shared {
        &SHARED[(self.0 - REGION.load(Ordering::Relaxed)) / ARENA_SIZE]
    }

    /// The bytes that are in use, with the state of the allocator. A whole number of words. What
    /// follows them is zero.
    pub(crate) fn used(self) -> (*const u64, usize) {
        // SAFETY: the calling OS thread owns the arena, so its header is valid and nobody else uses
        // it.
        let top = unsafe { (*self.header()).top };
        (with_exposed_provenance_mut::<u64>(self.0), top)
    }

    /// Whether every block of the program is in the arena.
    pub(crate) fn has_everything(self) -> bool {
        !self.shared().has_spilled.load(Ordering::Relaxed)
    }

    /// Starts over if every block was freed.
    pub(crate) fn start_over_if_empty(self) {
        let shared = self.shared();
        // SAFETY: as in `used`.
        let header = unsafe { &mut *self.header() };
        // If all were freed, nobody can free another one meanwhile.
        if header.blocks == shared.freed_elsewhere.load(Ordering::Acquire) {
            let top = header.top;
            shared.freed_elsewhere.store(0, Ordering::Relaxed);
            shared.has_spilled.store(false, Ordering::Relaxed);
            // SAFETY: no block is in use, and the reference above is not used any more.
            unsafe { with_exposed_provenance_mut::<u8>(self.0).write_bytes(0, top) };
            // SAFETY: as in `used`.
            unsafe { (*self.header()).top = FIRST };
        }
    }

    /// A block, filled with zeros. Null if there is no room for it.
    fn take(self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `used`. Blocks do not overlap the header.
        let header = unsafe { &mut *self.header() };
        let Some((list, size, align)) = class_of(layout) else {
            return null_mut();
        };
        let head = header.free[list];
        if head != 0 {
            let block = with_exposed_provenance_mut::<usize>(head);
            // SAFETY: it is a free block of this arena, whose first word is the link.
            header.free[list] = unsafe { block.replace(0) };
            header.blocks += 1;
            return block.cast();
        }
        let start = header.top.next_multiple_of(align);
        if start + size > ARENA_SIZE {
            return null_mut();
        }
        header.top = start + size;
        header.blocks += 1;
        with_exposed_provenance_mut(self.0 + start)
    }

    /// # Safety
    /// The block must be one that `take` of this arena has returned for the layout.
    unsafe fn put_back(self, block: *mut u8, layout: Layout) {
        let Some((list, size, _)) = class_of(layout) else {
            return;
        };
        // SAFETY: the caller's promise. The program has written to no more of the block.
        unsafe { block.write_bytes(0, layout.size()) };
        // SAFETY: as in `used`.
        let header = unsafe { &mut *self.header() };
        header.blocks -= 1;
        if block.addr() - self.0 + size == header.top {
            header.top -= size;
            return;
        }
        // SAFETY: every block has room for a word, and the program has returned this one.
        unsafe { block.cast::<usize>().write(header.free[list]) };
        header.free[list] = block.addr();
    }
}

/// Whether the address is in an arena.
#[inline]
fn is_in_arena(address: usize) -> bool {
    address.wrapping_sub(REGION.load(Ordering::Relaxed)) < REGION_SIZE
}

/// The global allocator of crates whose tests want the heap of their programs to be compared:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: fencepost_runtime::Allocator = fencepost_runtime::Allocator;
/// ```
///
/// Outside of a check it is the allocator of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

// SAFETY: blocks come from the system or from an arena, and go back to where they came from. An
// arena returns a block only once until it is freed, of the size and alignment of `class_of`. It
// is used by one OS thread.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_program_running() {
            // SAFETY: the caller's promise.
            false => unsafe { System.alloc(layout) },
            // SAFETY: the caller's promise.
            true => unsafe { allocate(layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_program_running() {
            // SAFETY: the caller's promise.
            false => unsafe { System.alloc_zeroed(layout) },
            // SAFETY: the caller's promise. All these blocks are filled with zeros.
            true => unsafe { allocate(layout) },
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
        match is_in_arena(block.addr()) || is_program_running() {
            // SAFETY: the caller's promise. Blocks outside of the arenas are the system's.
            false => unsafe { System.realloc(block, layout, size) },
            // SAFETY: the caller's promise.
            true => unsafe { reallocate(block, layout, size) },
        }
    }
}

/// A block for a program, filled with zeros.
///
/// # Safety
/// As of [`GlobalAlloc::alloc`].
#[inline(never)]
unsafe fn allocate(layout: Layout) -> *mut u8 {
    reserve_stack();
    let Some(arena) = Arena::of_this_thread() else {
        HAS_SERVED.set(true);
        // SAFETY: the caller's promise.
        return unsafe { System.alloc_zeroed(layout) };
    };
    let block = arena.take(layout);
    if !block.is_null() {
        return block;
    }
    arena.shared().has_spilled.store(true, Ordering::Relaxed);
    // SAFETY: the caller's promise.
    unsafe { System.alloc_zeroed(layout) }
}

/// # Safety
/// As of [`GlobalAlloc::dealloc`], for a block of an arena.
#[inline(never)]
unsafe fn deallocate(block: *mut u8, layout: Layout) {
    reserve_stack();
    let base = arena_of(block.addr());
    if base == OWNED.get() {
        // SAFETY: the caller's promise. The block is one of this arena.
        unsafe { Arena(base).put_back(block, layout) };
    } else {
        let shared = Arena(base).shared();
        shared.freed_elsewhere.fetch_add(1, Ordering::Release);
    }
}

fn arena_of(address: usize) -> usize {
    let region = REGION.load(Ordering::Relaxed);
    region + (address - region) / ARENA_SIZE * ARENA_SIZE
}

/// # Safety
/// As of [`GlobalAlloc::realloc`].
#[inline(never)]
unsafe fn reallocate(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    reserve_stack();
    // SAFETY: the caller promises that the size is valid for the alignment.
    let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
    let is_owned = is_in_arena(block.addr()) && arena_of(block.addr()) == OWNED.get();
    if is_owned && class_of(new) == class_of(layout) {
        if size < layout.size() {
            // SAFETY: the rest of the block is not used any more. What is free is zero.
            unsafe { block.add(size).write_bytes(0, layout.size() - size) };
        }
        return block;
    }
    // A block of the program stays one.
    let moved = match is_owned || is_program_running() {
        // SAFETY: the caller's promise.
        true => unsafe { allocate(new) },
        // SAFETY: the caller's promise.
        false => unsafe { System.alloc(new) },
    };
    if !moved.is_null() {
        // SAFETY: both blocks are valid for so many bytes, and do not overlap.
        unsafe { block.copy_to_nonoverlapping(moved, size.min(layout.size())) };
        // SAFETY: the caller's promise, and the block is not used any more.
        unsafe { Allocator.dealloc(block, layout) };
    }
    moved
}

/// While it lives, its OS thread has an arena.
pub(crate) struct Claim {
    arena: Option<Arena>,
}

impl Claim {
    /// Claims an arena for the calling OS thread, if [`Allocator`] is the global allocator.
    pub(crate) fn new() -> Self {
        if !is_installed() {
            return Claim { arena: None };
        }
        let arena = Arena::of_this_thread().or_else(claim);
        if arena.is_some() {
            USERS.set(USERS.get() + 1);
        }
        Claim { arena }
    }

    pub(crate) fn arena(&self) -> Option<Arena> {
        self.arena
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(arena) = self.arena else {
            return;
        };
        USERS.set(USERS.get() - 1);
        if USERS.get() == 0 {
            arena.start_over_if_empty();
            OWNED.set(0);
            let index = (arena.0 - REGION.load(Ordering::Relaxed)) / ARENA_SIZE;
            claims().is_claimed[index] = false;
        }
    }
}

fn claims() -> std::sync::MutexGuard<'static, Claims> {
    CLAIMS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whether [`Allocator`] is the global allocator: then it serves the code of programs.
fn is_installed() -> bool {
    static IS_INSTALLED: OnceLock<bool> = OnceLock::new();
    *IS_INSTALLED.get_or_init(|| {
        HAS_SERVED.set(false);
        as_program(|| drop(std::hint::black_box(Box::new(0_u64))));
        HAS_SERVED.get()
    })
}

/// Gives an arena to the calling OS thread: preferably one in which no blocks are in use.
#[cold]
fn claim() -> Option<Arena> {
    let mut claims = claims();
    let is_reserved = *claims.is_reserved.get_or_insert_with(reserve);
    if !is_reserved {
        return None;
    }
    let region = REGION.load(Ordering::Relaxed);
    let is_empty = |index: usize| {
        let freed_elsewhere = SHARED[index].freed_elsewhere.load(Ordering::Acquire);
        // SAFETY: it is mapped, and the lock keeps others from claiming it.
        let blocks = || unsafe { (*Arena(region + index * ARENA_SIZE).header()).blocks };
        !claims.is_mapped[index] || blocks() == freed_elsewhere
    };
    let mut free = (0..ARENAS).filter(|&index| !claims.is_claimed[index]);
    let first = free.clone().next()?;
    let index = free.find(|&index| is_empty(index)).unwrap_or(first);
    let arena = Arena(region + index * ARENA_SIZE);
    if !claims.is_mapped[index] {
        if !make_usable(arena.0) {
            return None;
        }
        // SAFETY: it is mapped now, and filled with zeros.
        unsafe { (*arena.header()).top = FIRST };
        claims.is_mapped[index] = true;
    }
    claims.is_claimed[index] = true;
    OWNED.set(arena.0);
    Some(arena)
}

/// Reserves the addresses of all arenas.
#[cfg(all(unix, target_pointer_width = "64"))]
fn reserve() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
    let size = REGION_SIZE + MOST_ALIGNED;
    // SAFETY: this maps new addresses, without memory.
    let region = unsafe { libc::mmap(null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
    if region == libc::MAP_FAILED {
        return false;
    }
    let region = region.expose_provenance();
    REGION.store(region.next_multiple_of(MOST_ALIGNED), Ordering::Relaxed);
    true
}

/// Makes the addresses of an arena usable.
#[cfg(all(unix, target_pointer_width = "64"))]
fn make_usable(arena: usize) -> bool {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: these addresses were reserved and are not used yet.
    unsafe { libc::mprotect(with_exposed_provenance_mut(arena), ARENA_SIZE, access) == 0 }
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
fn reserve() -> bool {
    false
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
fn make_usable(_: usize) -> bool {
    false
}
