//! The plain accesses of the program, as its compiler announces them.
//!
//! A hook runs before each access, tens of millions of times per second, so it only writes down the access. Before the
//! thread's next operation they are handed over, all at once.

use std::arch::naked_asm;
use std::cell::UnsafeCell;
use std::mem::offset_of;

use fencepost_runtime::Current;
use fencepost_runtime::plain::{AccessKind, MemoryAccess};

use crate::atomics::{PlainAccess, Unfinished, Word, look_up, plain_access, touch};
use crate::hooks::{clear_below, ignored};
use crate::operations::{CLEARS_STACK, Flag};
use crate::state::state;
use crate::{failures, memory, world};

/// How many are written down before they are handed over.
const MOST: usize = 4096;
const ENTRY: usize = size_of::<MemoryAccess>();

/// Where the assembly writes the size and the kind.
const SIZE: usize = offset_of!(MemoryAccess, size);
const KIND: usize = offset_of!(MemoryAccess, kind);
const _: () =
    assert!(offset_of!(MemoryAccess, address) == 0 && offset_of!(MemoryAccess, place) == 8);

const NONE: MemoryAccess = MemoryAccess {
    address: 0,
    place: 0,
    size: 0,
    kind: AccessKind::Read,
};

/// What the hooks write.
#[repr(C)]
struct Log {
    /// The size of what is written, in bytes.
    length: usize,
    entries: [MemoryAccess; MOST],
    /// How many were compared with the blocks of the heap.
    checked: usize,
}

struct SharedLog(UnsafeCell<Log>);

// SAFETY: only the OS thread that runs the program uses it: hooks of the program, one at a time. (Before `main`, constructors
// run on the first OS thread, and there is no check. Without a check, what is written is never read.)
unsafe impl Sync for SharedLog {}

static LOG: SharedLog = SharedLog(UnsafeCell::new(Log {
    length: 0,
    entries: [NONE; MOST],
    checked: 0,
}));

/// Whether plain accesses are operations.
static ARE_OPERATIONS: Flag = Flag::new();

/// Makes plain accesses operations: they do not race then.
pub(crate) fn make_operations() {
    ARE_OPERATIONS.set(true);
}

/// The access that the program performs next, if it is an operation.
struct Next(UnsafeCell<Option<Unfinished>>);

// SAFETY: as of the log.
unsafe impl Sync for Next {}

static NEXT: Next = Next(UnsafeCell::new(None));

/// The access that was an operation has been performed.
#[inline]
fn finish(current: Current) {
    // SAFETY: no other hook runs.
    if let Some(unfinished) = unsafe { (*NEXT.0.get()).take() } {
        unfinished.finish(current);
    }
}

/// Performs the operation of a plain access.
unsafe extern "C" fn operate(address: usize, size: usize, how: usize, returns_to: usize) {
    if world::home() == 0 {
        return;
    }
    let how = match how {
        READ => PlainAccess::Read,
        WRITE => PlainAccess::Write,
        _ => PlainAccess::Both,
    };
    fn in_size<W: Word>(address: usize, how: PlainAccess, returns_to: usize) {
        let place = std::ptr::with_exposed_provenance_mut::<W>(address);
        touch(place, how != PlainAccess::Read, returns_to);
        world::inside(|| {
            let unfinished = plain_access(place, how, returns_to);
            // SAFETY: no other hook runs.
            unsafe { *NEXT.0.get() = unfinished };
        });
    }
    match size {
        1 => in_size::<u8>(address, how, returns_to),
        2 if address.is_multiple_of(2) => in_size::<u16>(address, how, returns_to),
        4 if address.is_multiple_of(4) => in_size::<u32>(address, how, returns_to),
        8 if address.is_multiple_of(8) => in_size::<u64>(address, how, returns_to),
        _ => {
            let kind = match how {
                PlainAccess::Read => AccessKind::Read,
                _ => AccessKind::Write,
            };
            add_of_library(address, size, kind, returns_to);
        }
    }
}

/// Finds out what the operation of a plain access has to know: see `hooks`.
extern "C" fn first(address: usize, size: usize, returns_to: usize) {
    match size {
        1 => look_up::<u8>(std::ptr::with_exposed_provenance_mut(address), returns_to),
        2 if address.is_multiple_of(2) => {
            look_up::<u16>(std::ptr::with_exposed_provenance_mut(address), returns_to);
        }
        4 if address.is_multiple_of(4) => {
            look_up::<u32>(std::ptr::with_exposed_provenance_mut(address), returns_to);
        }
        8 if address.is_multiple_of(8) => {
            look_up::<u64>(std::ptr::with_exposed_provenance_mut(address), returns_to);
        }
        _ => {}
    }
}

/// What `operate` is told.
const READ: usize = 0;
const WRITE: usize = 1;
const BOTH: usize = 2;

/// The hooks of accesses of a fixed size.
macro_rules! access_hooks {
    (@kind Read) => { AccessKind::Read as u8 };
    (@kind $other:ident) => { AccessKind::Write as u8 };
    (@how Read) => { READ };
    (@how Write) => { WRITE };
    (@how Both) => { BOTH };
    ($($name:ident $size:literal $kind:ident;)*) => {
        $(
            /// Called before an access.
            ///
            /// # Safety
            /// Only the compiler calls it.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name(_address: *const u8) {
                naked_asm!(
                    "cmp byte ptr [rip + {are_operations}], 0",
                    "jne 2f",
                    "mov rax, qword ptr [rip + {log}]",
                    "lea rcx, [rip + {log} + 8]",
                    "add rcx, rax",
                    "mov rdx, qword ptr [rsp]",
                    "mov qword ptr [rcx], rdi",
                    "mov qword ptr [rcx + 8], rdx",
                    "mov dword ptr [rcx + {size_at}], {size}",
                    "mov byte ptr [rcx + {kind_at}], {kind}",
                    "add rax, {entry}",
                    "mov qword ptr [rip + {log}], rax",
                    "cmp rax, {end}",
                    "jae {full}",
                    "ret",
                    // As every operation, with the stack below cleared if states are compared.
                    "2:",
                    "cmp byte ptr [rip + {clears}], 0",
                    "je 4f",
                    "push rdi",
                    "mov esi, {size}",
                    "mov rdx, qword ptr [rsp + 8]",
                    "call {first}",
                    "pop rdi",
                    clear_below!("rax"),
                    "mov esi, {size}",
                    "mov edx, {how}",
                    "mov rcx, qword ptr [rsp]",
                    "push 0",
                    "call {operate}",
                    clear_below!("rcx"),
                    "add rsp, 8",
                    "ret",
                    "4:",
                    "mov esi, {size}",
                    "mov edx, {how}",
                    "mov rcx, qword ptr [rsp]",
                    "jmp {operate}",
                    are_operations = sym ARE_OPERATIONS,
                    clears = sym CLEARS_STACK,
                    first = sym first,
                    operate = sym operate,
                    how = const access_hooks!(@how $kind),
                    log = sym LOG,
                    size = const $size,
                    kind = const access_hooks!(@kind $kind),
                    size_at = const SIZE,
                    kind_at = const KIND,
                    entry = const ENTRY,
                    end = const (MOST - 1) * ENTRY,
                    full = sym full,
                );
            }
        )*
    };
}

access_hooks! {
    __tsan_read1 1 Read; __tsan_read2 2 Read; __tsan_read4 4 Read; __tsan_read8 8 Read; __tsan_read16 16 Read;
    __tsan_write1 1 Write; __tsan_write2 2 Write; __tsan_write4 4 Write; __tsan_write8 8 Write; __tsan_write16 16 Write;
    __tsan_unaligned_read2 2 Read; __tsan_unaligned_read4 4 Read; __tsan_unaligned_read8 8 Read;
    __tsan_unaligned_read16 16 Read;
    __tsan_unaligned_write2 2 Write; __tsan_unaligned_write4 4 Write; __tsan_unaligned_write8 8 Write;
    __tsan_unaligned_write16 16 Write;
    __tsan_volatile_read1 1 Read; __tsan_volatile_read2 2 Read; __tsan_volatile_read4 4 Read;
    __tsan_volatile_read8 8 Read; __tsan_volatile_read16 16 Read;
    __tsan_volatile_write1 1 Write; __tsan_volatile_write2 2 Write; __tsan_volatile_write4 4 Write;
    __tsan_volatile_write8 8 Write; __tsan_volatile_write16 16 Write;
    __tsan_unaligned_volatile_read2 2 Read; __tsan_unaligned_volatile_read4 4 Read;
    __tsan_unaligned_volatile_read8 8 Read; __tsan_unaligned_volatile_read16 16 Read;
    __tsan_unaligned_volatile_write2 2 Write; __tsan_unaligned_volatile_write4 4 Write;
    __tsan_unaligned_volatile_write8 8 Write; __tsan_unaligned_volatile_write16 16 Write;
    __tsan_vptr_read 8 Read; __tsan_vptr_update 8 Write;
    __tsan_read_write1 1 Both; __tsan_read_write2 2 Both; __tsan_read_write4 4 Both; __tsan_read_write8 8 Both;
    __tsan_read_write16 16 Both; __tsan_unaligned_read_write2 2 Both; __tsan_unaligned_read_write4 4 Both;
    __tsan_unaligned_read_write8 8 Both; __tsan_unaligned_read_write16 16 Both;
}

/// The hooks of accesses whose size is known when the program runs: of `memcpy`, of structures.
macro_rules! range_hooks {
    ($($name:ident $kind:ident;)*) => {
        $(
            /// Called before an access to a range.
            ///
            /// # Safety
            /// Only the compiler calls it.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name(_address: *const u8, _size: usize) {
                naked_asm!(
                    "mov rax, qword ptr [rip + {log}]",
                    "lea rcx, [rip + {log} + 8]",
                    "add rcx, rax",
                    "mov rdx, qword ptr [rsp]",
                    "mov qword ptr [rcx], rdi",
                    "mov qword ptr [rcx + 8], rdx",
                    "mov dword ptr [rcx + {size_at}], esi",
                    "mov byte ptr [rcx + {kind_at}], {kind}",
                    "add rax, {entry}",
                    "mov qword ptr [rip + {log}], rax",
                    "cmp rax, {end}",
                    "jae {full}",
                    "ret",
                    log = sym LOG,
                    kind = const AccessKind::$kind as u8,
                    size_at = const SIZE,
                    kind_at = const KIND,
                    entry = const ENTRY,
                    end = const (MOST - 1) * ENTRY,
                    full = sym full,
                );
            }
        )*
    };
}

range_hooks! {
    __tsan_read_range Read;
    __tsan_write_range Write;
}

ignored! {
    __tsan_init;
    __tsan_func_entry;
    __tsan_func_exit;
    __tsan_ignore_thread_begin;
    __tsan_ignore_thread_end;
}

/// The log is full.
extern "C" fn full() {
    world::outside(
        || {
            let current = Current::get().expect("a thread of the program runs in an execution");
            hand_over(current);
        },
        forget,
    );
}

/// Forgets what is written down, before an execution.
pub(crate) fn forget() {
    // SAFETY: no hook runs.
    unsafe {
        (*LOG.0.get()).length = 0;
        (*LOG.0.get()).checked = 0;
        *NEXT.0.get() = None;
    }
}

/// Adds an access to what the calling thread has done: of the heap.
pub(crate) fn add(address: usize, size: usize, kind: AccessKind, returns_to: usize) {
    if write_down(address, size, kind, returns_to) {
        let current = Current::get().expect("a thread of the program runs in an execution");
        hand_over(current);
    }
}

/// Adds an access of a function of the C library, which runs as a part of the program.
pub(crate) fn add_of_library(address: usize, size: usize, kind: AccessKind, returns_to: usize) {
    // SAFETY: no other hook runs.
    if unsafe { (*NEXT.0.get()).is_some() } {
        world::inside(|| {
            finish(Current::get().expect("a thread of the program runs in an execution"))
        });
    }
    if size > 0 && write_down(address, size, kind, returns_to) {
        full();
    }
}

/// Writes down an access. Returns whether there is no room for more.
fn write_down(address: usize, size: usize, kind: AccessKind, returns_to: usize) -> bool {
    // SAFETY: no other hook runs, and the reference ends here.
    let log = unsafe { &mut *LOG.0.get() };
    log.entries[log.length / ENTRY] = MemoryAccess {
        address,
        place: returns_to as u64,
        size: size.try_into().unwrap_or(u32::MAX),
        kind,
    };
    log.length += ENTRY;
    log.length >= (MOST - 1) * ENTRY
}

/// Hands over what the calling thread has done since its last operation.
pub(crate) fn hand_over(current: Current) {
    finish(current);
    // SAFETY: no hook runs until this returns. The reference ends before anything is suspended.
    let log = unsafe { &mut *LOG.0.get() };
    let count = std::mem::take(&mut log.length) / ENTRY;
    if count == 0 {
        return;
    }
    let done = &log.entries[..count];
    let here = crate::threads::own_stack();
    // What is on the thread's own stack is compared.
    let is_change =
        |access: &MemoryAccess| access.kind != AccessKind::Read && !here.contains(&access.address);
    if done.iter().any(is_change) {
        current.note_uncompared_change();
    }
    check_blocks(current, &done[std::mem::take(&mut log.checked)..]);
    if current.has_store_buffers() {
        refuse_buffered(current, done);
    }
    if let Err(finding) = current.note_accesses(done) {
        current.fail(failures::race(finding));
    }
}

/// Ends the execution if the thread has read a variable by a plain access while a store of its own to it was in its buffer:
/// it has read memory, and not its store.
#[cold]
fn refuse_buffered(current: Current, done: &[MemoryAccess]) {
    let wrong = done.iter().find(|access| {
        let touched = access.address..access.address.saturating_add(access.size as usize);
        let state = state();
        // An atomic variable has at most eight bytes.
        let starts = touched.start.saturating_sub(7)..touched.end;
        let mut objects = starts.take(64).filter_map(|at| {
            let known = state.objects.get(&at)?;
            let is_hit = at + usize::from(known.size) > touched.start;
            (known.execution == state.execution && is_hit).then_some(known.object)
        });
        objects.any(|object| current.buffered_value(object).is_some())
    });
    if let Some(access) = wrong {
        let message = "with store buffers, a plain access to an atomic variable cannot be followed: it reads memory, \
            and not the store that waits in the buffer; make the access atomic";
        failures::refuse(message.to_owned(), access.place as usize);
    }
}

/// The blocks of the heap are about to change: what the calling thread has accessed so far is compared with them as they are.
pub(crate) fn before_heap_changes(current: Current) {
    // SAFETY: no hook runs until this returns. The reference ends before anything is suspended.
    let log = unsafe { &mut *LOG.0.get() };
    let count = log.length / ENTRY;
    let checked = std::mem::replace(&mut log.checked, count);
    check_blocks(current, &log.entries[checked..count]);
}

/// Ends the execution if one of the accesses is to the heap, but to no block that is allocated.
fn check_blocks(current: Current, done: &[MemoryAccess]) {
    let wrong = {
        let heap = memory::heap();
        done.iter().find_map(|access| {
            if !matches!(access.kind, AccessKind::Read | AccessKind::Write) {
                return None;
            }
            let result = heap.check(access.address, access.size as usize);
            Some((access, result.err()?))
        })
    };
    if let Some((access, wrong)) = wrong {
        current.fail(failures::bad_access(current.thread(), access, &wrong));
    }
}
