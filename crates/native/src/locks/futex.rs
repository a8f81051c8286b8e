//! `syscall`, as far as it is about futexes: what the C++ library waits with in `std::atomic::wait`, latches, barriers,
//! semaphores and futures.
//!
//! Who waits for a word of memory is a list, as with a condition variable. Whether the word has the expected value is
//! found out in the step in which the thread enters the list.

use std::arch::{asm, naked_asm};
use std::ffi::{c_int, c_long};

use fencepost_explore::{Effect, Intent};
use fencepost_runtime::condvar::{CondvarObject, Return, Waiting, chooses_spurious};
use fencepost_runtime::{Current, LocationRef, Outcomes};

use super::condvar::WaitersAt;
use crate::atomics::word_at;
use crate::locals::set_errno;
use crate::operations::{begin, object_named};
use crate::time::{self, Deadline};
use crate::world::outside;
use crate::{failures, random};

/// A call of the kernel.
///
/// # Safety
/// As of the call.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall(_number: c_long) -> c_long {
    naked_asm!(
        "mov r11, qword ptr [rip + fencepost_native_home@GOTTPOFF]",
        "cmp qword ptr fs:[r11], 0",
        "je 2f",
        // What was not passed is in registers all the same, and would be on the stack that is compared.
        "cmp rdi, {futex}",
        "jne 5f",
        "xor r9d, r9d",
        "test dl, 1", // FUTEX_WAKE, but not FUTEX_WAIT or FUTEX_WAIT_BITSET
        "jz 5f",
        "test dl, 8",
        "jnz 5f",
        "xor r8d, r8d",
        "5:",
        "cmp byte ptr [rip + {clears}], 0",
        "je 2f",
        "lea rax, [rsp - 4096]",
        "pxor xmm15, xmm15",
        "3:",
        "movups xmmword ptr [rax], xmm15",
        "add rax, 16",
        "cmp rax, rsp",
        "jb 3b",
        "2:",
        // Where this returns to, and behind it the seventh argument.
        "mov rax, rsp",
        "push rax",
        "call {implementation}",
        "pop rcx",
        "ret",
        futex = const libc::SYS_futex,
        clears = sym crate::operations::CLEARS_STACK,
        implementation = sym system_call,
    );
}

unsafe extern "C-unwind" fn system_call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    caller: *const usize,
) -> c_long {
    // SAFETY: `syscall` passes its stack pointer.
    let (returns_to, f) = unsafe { (*caller, *caller.add(1)) };
    let result = outside(|| checked((number, [a, b, c, d, e]), returns_to), || None);
    // SAFETY: the arguments are passed on.
    let result = result.unwrap_or_else(|| unsafe { kernel(number, [a, b, c, d, e, f]) });
    if (-4095..0).contains(&result) {
        set_errno(-result as c_int);
        return -1;
    }
    result
}

/// The kernel's own.
///
/// # Safety
/// As of the call.
pub(crate) unsafe fn kernel(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> c_long {
    let result;
    // SAFETY: the promise of the caller.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e,
            in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// A call by a thread of the program. None if it is the kernel's.
#[inline(always)]
fn checked((number, arguments): (c_long, [usize; 5]), returns_to: usize) -> Option<c_long> {
    let [first, second, third, fourth, _] = arguments;
    match number {
        libc::SYS_futex => Some(futex(
            first,
            second as c_int,
            third as u32,
            fourth,
            returns_to,
        )),
        libc::SYS_gettid => Some(i64::from(Current::get()?.thread().0) + 1),
        libc::SYS_getpid => None,
        libc::SYS_sched_yield => {
            crate::threads::yield_here(returns_to);
            Some(0)
        }
        libc::SYS_getrandom => {
            random::fill(first, second);
            Some(second as c_long)
        }
        _ => failures::refuse(
            format!("system call {number} cannot be checked"),
            returns_to,
        ),
    }
}

#[inline(always)] // Its frame is compared, and so are those below.
fn futex(word: usize, operation: c_int, value: u32, until: usize, returns_to: usize) -> c_long {
    if !word.is_multiple_of(4) {
        return -c_long::from(libc::EINVAL);
    }
    let (current, location) = begin(returns_to);
    failures::check_access(current, word, 4, returns_to);
    let object = object_named(current, (word, 4), "Futex", "futex");
    current.clear_stack_below();
    let waiters = WaitersAt(word + 1);
    let steps = CondvarObject { object, waiters };
    match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            let deadline = Deadline::of_futex(until, operation);
            wait(
                current,
                location,
                steps,
                (word, value, returns_to),
                deadline,
            )
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let woken = match value {
                0 => 0,
                1 => usize::from(steps.notify_one(current, location)),
                _ if value == i32::MAX as u32 || value == u32::MAX => {
                    steps.notify_all(current, location)
                }
                _ => failures::refuse(
                    format!("a futex operation that wakes {value} threads cannot be checked"),
                    returns_to,
                ),
            };
            woken as c_long
        }
        other => failures::refuse(
            format!("futex operation {other} cannot be checked"),
            returns_to,
        ),
    }
}

/// Waits if the word has the value.
#[inline(always)]
fn wait(
    current: Current,
    location: LocationRef,
    steps: CondvarObject<WaitersAt>,
    (word, value, returns_to): (usize, u32, usize),
    deadline: Option<Deadline>,
) -> c_long {
    let is_timed = deadline.is_some();
    let only_waits = current.only_waits(steps.object, location);
    let how = Waiting {
        is_timed,
        only_waits,
    };
    let may_be_spurious = current.has_spurious_wakeups() && !only_waits;
    if !is_timed && may_be_spurious && chooses_spurious(current, location) {
        current.note_return(steps.object, false, location);
        return 0;
    }
    let word = word_at(current, word, returns_to);
    current.clear_stack_below();
    let intent = Intent::Access {
        object: steps.object,
        effect: Effect::WriteMultiple,
        awaits: None,
    };
    let is_waiting = current.operation(intent, Outcomes::One, location, |step| {
        let is_equal = word.value_in(step) == value;
        match is_equal {
            true => steps.enter(step),
            false => {
                step.read(steps.object);
            }
        }
        word.read_in(step);
        is_equal
    });
    if !is_waiting {
        return -c_long::from(libc::EAGAIN);
    }
    let why = steps.wake(current, how, location);
    current.note_return(steps.object, why == Return::Notified, location);
    match why {
        Return::TimedOut => {
            time::pass(current, deadline, location);
            -c_long::from(libc::ETIMEDOUT)
        }
        Return::Notified | Return::Spurious => 0,
    }
}
