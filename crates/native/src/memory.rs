//! The functions of the heap, and the allocator of this library.
//!
//! What the program allocates is in its own [`Heap`]: its threads' blocks, and what constructors allocate before `main`. What
//! this library allocates, and the C library on its behalf, is in the heap of the C library. So is everything in a program that
//! is not checked.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{RefCell, RefMut};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, Ordering};

use fencepost_runtime::Current;
use fencepost_runtime::plain::AccessKind;

use crate::heap::{AllocationError, Heap, ReallocationError};
use crate::hooks::hook;
use crate::start::REQUEST;
use crate::world::{home, outside};

unsafe extern "C" {
    // The C library has these names for allocators such as this one.
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(pointer: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(pointer: *mut c_void);
    static environ: *const *const c_char;
}

/// The allocator of this library: that of the C library, not ours.
struct Libc;

#[cfg_attr(not(test), global_allocator)]
#[cfg_attr(test, allow(dead_code))]
static ALLOCATOR: Libc = Libc;

// SAFETY: the C library's functions do what the trait asks for.
unsafe impl GlobalAlloc for Libc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the functions have no preconditions.
        unsafe {
            match layout.align() <= 16 {
                true => __libc_malloc(layout.size()).cast(),
                false => __libc_memalign(layout.align(), layout.size()).cast(),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the functions have no preconditions; the block is as large as the layout says.
        unsafe {
            if layout.align() <= 16 {
                return __libc_calloc(1, layout.size()).cast();
            }
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: it comes from one of the functions above.
        unsafe { __libc_free(block.cast()) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; a block with a larger alignment is copied by hand.
        unsafe {
            if layout.align() <= 16 {
                return __libc_realloc(block.cast(), size).cast();
            }
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, size.min(layout.size()));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Nothing is known yet.
const UNKNOWN: u8 = 0;
/// The program runs without a check.
const UNCHECKED: u8 = 1;
/// `main` has not begun.
const BEFORE_MAIN: u8 = 2;
/// The check has begun: only threads of the program have the heap of the program.
const CHECKING: u8 = 3;

static PHASE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Which phase it is.
#[inline]
fn phase() -> u8 {
    match PHASE.load(Ordering::Relaxed) {
        UNKNOWN => find_phase(),
        phase => phase,
    }
}

/// Whether a check was asked for. The C library may not have seen the environment yet: then it is too early to know.
#[cold]
fn find_phase() -> u8 {
    // SAFETY: it is null, or a list of texts that ends with a null pointer.
    unsafe {
        let mut variable = environ;
        if variable.is_null() {
            return UNKNOWN;
        }
        while !(*variable).is_null() {
            let text = std::ffi::CStr::from_ptr(*variable).to_bytes();
            let value = text.strip_prefix(REQUEST.as_bytes());
            if value.is_some_and(|value| value.starts_with(b"=")) {
                PHASE.store(BEFORE_MAIN, Ordering::Relaxed);
                return BEFORE_MAIN;
            }
            variable = variable.add(1);
        }
    }
    PHASE.store(UNCHECKED, Ordering::Relaxed);
    UNCHECKED
}

struct Shared(RefCell<Option<Heap>>);

// SAFETY: only the OS thread that runs the program borrows it, and before that the one that runs constructors.
unsafe impl Sync for Shared {}

static HEAP: Shared = Shared(RefCell::new(None));

/// The heap of the program.
pub(crate) fn heap() -> RefMut<'static, Heap> {
    RefMut::map(HEAP.0.borrow_mut(), |heap| {
        heap.get_or_insert_with(|| match Heap::new(crate::heap::Layout::default()) {
            Ok(heap) => heap,
            Err(error) => crate::start::refuse(&error.to_string()),
        })
    })
}

/// `main` begins.
pub(crate) fn seal() {
    heap().seal();
    PHASE.store(CHECKING, Ordering::Relaxed);
}

/// Why an operation on the heap fails.
enum Refusal {
    /// The program gets a null pointer.
    NoMemory,
    /// The execution has ended.
    Stop(String),
}

impl From<AllocationError> for Refusal {
    fn from(error: AllocationError) -> Self {
        match error {
            AllocationError::Alignment(_) => Refusal::NoMemory,
            AllocationError::Limit {
                requested,
                used,
                limit,
            } => Refusal::Stop(format!(
                "the program allocates {requested} bytes after {used}, and an execution may have {limit}\n\
                 help: let it allocate less; memory that it frees is not reused in the same execution"
            )),
            error => Refusal::Stop(format!("there is no more memory: {error:?}")),
        }
    }
}

/// The calling thread is about to allocate or free a block. Returns where the program does it.
fn begin(returns_to: usize) -> usize {
    let Some(current) = Current::get() else {
        return returns_to;
    };
    crate::accesses::before_heap_changes(current);
    crate::operations::place_in_program(returns_to)
}

/// The calling thread has allocated or freed a block.
fn note(block: usize, size: usize, kind: AccessKind, returns_to: usize) {
    // Before `main` there is nobody else.
    if Current::get().is_some() {
        crate::accesses::add(block, size, kind, returns_to);
    }
}

/// Who allocates: 0 before `main`.
fn owner() -> u32 {
    Current::get().map_or(0, |current| current.thread().0 + 1)
}

/// The result of an operation on the heap, for the program.
fn pointer(result: Result<usize, Refusal>, returns_to: usize) -> *mut c_void {
    match result {
        Ok(address) => std::ptr::with_exposed_provenance_mut(address),
        Err(Refusal::NoMemory) => null_mut(),
        Err(Refusal::Stop(message)) => crate::failures::refuse(message, returns_to),
    }
}

/// Allocates for the program, if it is the program that asks for memory.
fn allocate(
    size: usize,
    alignment: usize,
    zeroed: bool,
    returns_to: usize,
    unchecked: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    let of_program = || {
        let returns_to = begin(returns_to);
        let block = heap().allocate(owner(), size, alignment, zeroed, returns_to);
        if let Ok(block) = block {
            note(block, size, AccessKind::Allocation, returns_to);
        }
        pointer(block.map_err(Refusal::from), returns_to)
    };
    let is_before = home() == 0 && phase() == BEFORE_MAIN;
    match is_before {
        true => of_program(),
        false => outside(of_program, unchecked),
    }
}

hook! {
    fn malloc(size: usize) -> *mut c_void = of_size;
    fn calloc(count: usize, size: usize) -> *mut c_void = zeroed;
    fn realloc(block: *mut c_void, size: usize) -> *mut c_void = resized;
    fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void = resized_array;
    fn free(block: *mut c_void) = freed;
    fn cfree(block: *mut c_void) = freed;
    fn memalign(alignment: usize, size: usize) -> *mut c_void = aligned;
    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void = aligned;
    fn posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int = aligned_at;
    fn valloc(size: usize) -> *mut c_void = of_pages;
    fn pvalloc(size: usize) -> *mut c_void = of_whole_pages;
    fn malloc_usable_size(block: *mut c_void) -> usize = usable_size;
}

// `new` and `delete`, with all that they can be given. They would call `malloc` and `free`, from a library: where the program
// calls them says more.
hook! {
    fn _Znwm(size: usize) -> *mut c_void = of_size;
    fn _Znam(size: usize) -> *mut c_void = of_size;
    fn _ZnwmRKSt9nothrow_t(size: usize, tag: *const c_void) -> *mut c_void = of_size_tagged;
    fn _ZnamRKSt9nothrow_t(size: usize, tag: *const c_void) -> *mut c_void = of_size_tagged;
    fn _ZnwmSt11align_val_t(size: usize, alignment: usize) -> *mut c_void = of_size_aligned;
    fn _ZnamSt11align_val_t(size: usize, alignment: usize) -> *mut c_void = of_size_aligned;
    fn _ZnwmSt11align_val_tRKSt9nothrow_t(size: usize, alignment: usize, tag: *const c_void) -> *mut c_void = of_size_aligned_tagged;
    fn _ZnamSt11align_val_tRKSt9nothrow_t(size: usize, alignment: usize, tag: *const c_void) -> *mut c_void = of_size_aligned_tagged;
    fn _ZdlPv(block: *mut c_void) = freed;
    fn _ZdaPv(block: *mut c_void) = freed;
    fn _ZdlPvm(block: *mut c_void, size: usize) = freed_with_size;
    fn _ZdaPvm(block: *mut c_void, size: usize) = freed_with_size;
    fn _ZdlPvSt11align_val_t(block: *mut c_void, alignment: usize) = freed_with_size;
    fn _ZdaPvSt11align_val_t(block: *mut c_void, alignment: usize) = freed_with_size;
    fn _ZdlPvmSt11align_val_t(block: *mut c_void, size: usize, alignment: usize) = freed_with_both;
    fn _ZdaPvmSt11align_val_t(block: *mut c_void, size: usize, alignment: usize) = freed_with_both;
}

unsafe extern "C" fn of_size_tagged(
    size: usize,
    _tag: *const c_void,
    returns_to: usize,
) -> *mut c_void {
    // SAFETY: it has no preconditions.
    unsafe { of_size(size, returns_to) }
}

unsafe extern "C" fn of_size_aligned(
    size: usize,
    alignment: usize,
    returns_to: usize,
) -> *mut c_void {
    // SAFETY: it has no preconditions.
    unsafe { aligned(alignment, size, returns_to) }
}

unsafe extern "C" fn of_size_aligned_tagged(
    size: usize,
    alignment: usize,
    _tag: *const c_void,
    returns_to: usize,
) -> *mut c_void {
    // SAFETY: it has no preconditions.
    unsafe { aligned(alignment, size, returns_to) }
}

unsafe extern "C" fn freed_with_size(block: *mut c_void, _size: usize, returns_to: usize) {
    // SAFETY: the promise of the caller.
    unsafe { freed(block, returns_to) };
}

unsafe extern "C" fn freed_with_both(
    block: *mut c_void,
    _size: usize,
    _alignment: usize,
    returns_to: usize,
) {
    // SAFETY: the promise of the caller.
    unsafe { freed(block, returns_to) };
}

const PAGE: usize = 4096;

unsafe extern "C" fn of_size(size: usize, returns_to: usize) -> *mut c_void {
    // SAFETY: it has no preconditions.
    allocate(size, 16, false, returns_to, || unsafe {
        __libc_malloc(size)
    })
}

unsafe extern "C" fn zeroed(count: usize, size: usize, returns_to: usize) -> *mut c_void {
    let Some(size) = count.checked_mul(size) else {
        return null_mut();
    };
    // SAFETY: it has no preconditions.
    allocate(size, 16, true, returns_to, || unsafe {
        __libc_calloc(1, size)
    })
}

unsafe extern "C" fn resized_array(
    block: *mut c_void,
    count: usize,
    size: usize,
    returns_to: usize,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the promise of the caller.
        Some(size) => unsafe { resized(block, size, returns_to) },
        None => null_mut(),
    }
}

unsafe extern "C" fn resized(block: *mut c_void, size: usize, returns_to: usize) -> *mut c_void {
    if block.is_null() {
        // SAFETY: it has no preconditions.
        return unsafe { of_size(size, returns_to) };
    }
    let of_program = || {
        let returns_to = begin(returns_to);
        let mut heap = heap();
        if heap.contains(block.addr()) {
            let old = heap.usable_size(block.addr()).unwrap_or(0);
            let new = heap.reallocate(owner(), block.addr(), size, returns_to);
            drop(heap);
            return match new {
                Ok(new) => {
                    note(new, size, AccessKind::Allocation, returns_to);
                    note(block.addr(), old, AccessKind::Free, returns_to);
                    std::ptr::with_exposed_provenance_mut(new)
                }
                Err(ReallocationError::Allocation(error)) => pointer(Err(error.into()), returns_to),
                Err(ReallocationError::Free(error)) => {
                    crate::failures::bad_free(&error, returns_to)
                }
            };
        }
        let new = heap.allocate(owner(), size, 16, false, returns_to);
        drop(heap);
        let new = pointer(new.map_err(Refusal::from), returns_to);
        if !new.is_null() {
            // It was allocated before there was a heap, and stays where it is: the next execution has it again.
            // SAFETY: the block is that of the C library, and has this size.
            unsafe {
                let known = libc::malloc_usable_size(block);
                new.cast::<u8>()
                    .copy_from_nonoverlapping(block.cast(), known.min(size));
            }
        }
        new
    };
    let is_before = home() == 0 && phase() == BEFORE_MAIN;
    match is_before {
        true => of_program(),
        // SAFETY: the promise of the caller.
        false => outside(of_program, || unsafe { __libc_realloc(block, size) }),
    }
}

unsafe extern "C" fn freed(block: *mut c_void, returns_to: usize) {
    if block.is_null() {
        return;
    }
    let of_program = || {
        let returns_to = begin(returns_to);
        let mut heap = heap();
        // What is not in the heap was allocated before there was one: the next execution has it again.
        if heap.contains(block.addr()) {
            let released = heap.release(owner(), block.addr(), returns_to);
            drop(heap);
            match released {
                Ok(block) => note(block.start, block.size, AccessKind::Free, returns_to),
                Err(error) => crate::failures::bad_free(&error, returns_to),
            }
        }
    };
    let is_before = home() == 0 && phase() == BEFORE_MAIN;
    match is_before {
        true => of_program(),
        // SAFETY: the promise of the caller.
        false => outside(of_program, || unsafe { __libc_free(block) }),
    }
}

unsafe extern "C" fn aligned(alignment: usize, size: usize, returns_to: usize) -> *mut c_void {
    // SAFETY: it has no preconditions.
    allocate(size, alignment, false, returns_to, || unsafe {
        __libc_memalign(alignment, size)
    })
}

unsafe extern "C" fn aligned_at(
    place: *mut *mut c_void,
    alignment: usize,
    size: usize,
    returns_to: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: the alignment is one.
    let block = unsafe { aligned(alignment, size, returns_to) };
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the program has passed the place.
    unsafe { place.write(block) };
    0
}

unsafe extern "C" fn of_pages(size: usize, returns_to: usize) -> *mut c_void {
    // SAFETY: the alignment is one.
    unsafe { aligned(PAGE, size, returns_to) }
}

unsafe extern "C" fn of_whole_pages(size: usize, returns_to: usize) -> *mut c_void {
    match size.checked_next_multiple_of(PAGE) {
        // SAFETY: the alignment is one.
        Some(size) => unsafe { aligned(PAGE, size, returns_to) },
        None => null_mut(),
    }
}

unsafe extern "C" fn usable_size(block: *mut c_void, _returns_to: usize) -> usize {
    if phase() >= BEFORE_MAIN {
        let known = outside(|| heap().usable_size(block.addr()), || None);
        if let Some(size) = known {
            return size;
        }
    }
    // SAFETY: the promise of the caller.
    unsafe { crate::real::malloc_usable_size(block) }
}
