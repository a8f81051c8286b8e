//! The plain accesses of the program, as its compiler announces them.
//!
//! A hook runs before each access, tens of millions of times per second, so it only writes down the access. Before the
//! thread's next operation they are handed over, all at once.

use std::arch::naked_asm;
use std::cell::UnsafeCell;

use fencepost_runtime::Current;

use crate::hooks::ignored;
use crate::world;

/// A plain access.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Access {
    address: usize,
    /// The address to which the hook returns.
    returns_to: usize,
    /// The number of bytes, twice, and 1 for a write.
    size: usize,
}

/// How many are written down before they are handed over.
const MOST: usize = 4096;
const ENTRY: usize = size_of::<Access>();

const NONE: Access = Access {
    address: 0,
    returns_to: 0,
    size: 0,
};

/// What the hooks write.
#[repr(C)]
struct Log {
    /// The size of what is written, in bytes.
    length: usize,
    entries: [Access; MOST],
}

struct SharedLog(UnsafeCell<Log>);

// SAFETY: only the OS thread that runs the program uses it: hooks of the program, one at a time. (Before `main`, constructors
// run on the first OS thread, and there is no check. Without a check, what is written is never read.)
unsafe impl Sync for SharedLog {}

static LOG: SharedLog = SharedLog(UnsafeCell::new(Log {
    length: 0,
    entries: [NONE; MOST],
}));

/// The hooks of accesses of a fixed size.
macro_rules! access_hooks {
    ($($name:ident $size:literal $is_write:literal;)*) => {
        $(
            /// Called before an access.
            ///
            /// # Safety
            /// Only the compiler calls it.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name(_address: *const u8) {
                naked_asm!(
                    "mov rax, qword ptr [rip + {log}]",
                    "lea rcx, [rip + {log} + 8]",
                    "add rcx, rax",
                    "mov rdx, qword ptr [rsp]",
                    "mov qword ptr [rcx], rdi",
                    "mov qword ptr [rcx + 8], rdx",
                    "mov qword ptr [rcx + 16], {size}",
                    "add rax, {entry}",
                    "mov qword ptr [rip + {log}], rax",
                    "cmp rax, {end}",
                    "jae {full}",
                    "ret",
                    log = sym LOG,
                    size = const $size * 2 + $is_write,
                    entry = const ENTRY,
                    end = const (MOST - 1) * ENTRY,
                    full = sym full,
                );
            }
        )*
    };
}

access_hooks! {
    __tsan_read1 1 0; __tsan_read2 2 0; __tsan_read4 4 0; __tsan_read8 8 0; __tsan_read16 16 0;
    __tsan_write1 1 1; __tsan_write2 2 1; __tsan_write4 4 1; __tsan_write8 8 1; __tsan_write16 16 1;
    __tsan_unaligned_read2 2 0; __tsan_unaligned_read4 4 0; __tsan_unaligned_read8 8 0;
    __tsan_unaligned_read16 16 0;
    __tsan_unaligned_write2 2 1; __tsan_unaligned_write4 4 1; __tsan_unaligned_write8 8 1;
    __tsan_unaligned_write16 16 1;
    __tsan_volatile_read1 1 0; __tsan_volatile_read2 2 0; __tsan_volatile_read4 4 0;
    __tsan_volatile_read8 8 0; __tsan_volatile_read16 16 0;
    __tsan_volatile_write1 1 1; __tsan_volatile_write2 2 1; __tsan_volatile_write4 4 1;
    __tsan_volatile_write8 8 1; __tsan_volatile_write16 16 1;
    __tsan_unaligned_volatile_read2 2 0; __tsan_unaligned_volatile_read4 4 0;
    __tsan_unaligned_volatile_read8 8 0; __tsan_unaligned_volatile_read16 16 0;
    __tsan_unaligned_volatile_write2 2 1; __tsan_unaligned_volatile_write4 4 1;
    __tsan_unaligned_volatile_write8 8 1; __tsan_unaligned_volatile_write16 16 1;
    __tsan_vptr_read 8 0; __tsan_vptr_update 8 1;
    __tsan_read_write1 1 1; __tsan_read_write2 2 1; __tsan_read_write4 4 1; __tsan_read_write8 8 1;
    __tsan_read_write16 16 1; __tsan_unaligned_read_write2 2 1; __tsan_unaligned_read_write4 4 1;
    __tsan_unaligned_read_write8 8 1; __tsan_unaligned_read_write16 16 1;
}

/// The hooks of accesses whose size is known when the program runs: of `memcpy`, of structures.
macro_rules! range_hooks {
    ($($name:ident $is_write:literal;)*) => {
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
                    "lea rsi, [rsi + rsi + {is_write}]",
                    "mov qword ptr [rcx], rdi",
                    "mov qword ptr [rcx + 8], rdx",
                    "mov qword ptr [rcx + 16], rsi",
                    "add rax, {entry}",
                    "mov qword ptr [rip + {log}], rax",
                    "cmp rax, {end}",
                    "jae {full}",
                    "ret",
                    log = sym LOG,
                    is_write = const $is_write,
                    entry = const ENTRY,
                    end = const (MOST - 1) * ENTRY,
                    full = sym full,
                );
            }
        )*
    };
}

range_hooks! {
    __tsan_read_range 0;
    __tsan_write_range 1;
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
    unsafe { (*LOG.0.get()).length = 0 };
}

/// Adds an access to what the calling thread has done: of a function of the C library.
pub(crate) fn add(address: usize, size: usize, is_write: bool, returns_to: usize) {
    // SAFETY: no other hook runs, and the reference ends before `full`.
    let is_full = unsafe {
        let log = &mut *LOG.0.get();
        log.entries[log.length / ENTRY] = Access {
            address,
            returns_to,
            size: size * 2 + usize::from(is_write),
        };
        log.length += ENTRY;
        log.length >= (MOST - 1) * ENTRY
    };
    if is_full {
        full();
    }
}

/// Hands over what the calling thread has done since its last operation.
pub(crate) fn hand_over(current: Current) {
    // SAFETY: no hook runs until this returns. The reference ends before anything is suspended.
    let log = unsafe { &mut *LOG.0.get() };
    let count = std::mem::take(&mut log.length) / ENTRY;
    if count == 0 {
        return;
    }
    let done = &log.entries[..count];
    let here = crate::threads::own_stack();
    // What is on the thread's own stack is compared.
    let is_change = |access: &Access| access.size & 1 != 0 && !here.contains(&access.address);
    if done.iter().any(is_change) {
        current.note_uncompared_change();
    }
}
