//! The execution whose program runs on this OS thread.
//!
//! A runtime and the coroutines of its threads share one [`Execution`]. There is never more than
//! one reference to it:
//!
//! - The runtime holds references only while no code of the program runs. It [enters](Entered) its
//!   execution around such code (a coroutine, or a destructor of the program), and has no reference
//!   meanwhile.
//! - The code of the program reaches the execution only through [`lend`], which marks it as lent
//!   while its argument runs. A call inside of another one finds that there is no execution to
//!   lend.
//!
//! So the functions that borrow the execution mutably may do anything: call back into this crate,
//! panic (which runs the panic hook), or drop values of the program. The pointer is private to this
//! module and thread-local, so that no other code and no other OS thread can use it.
#![allow(unsafe_code)] // Coroutines and their runtime share the execution by pointer.

use std::cell::Cell;
use std::ptr::NonNull;

use super::execution::Execution;

thread_local! {
    /// The execution that is entered on this OS thread, with [`LENT`] added while it is lent; or
    /// [`NO_EXECUTION`].
    static CURRENT: Cell<*mut Execution> = const { Cell::new(NO_EXECUTION) };
}

/// The bit that is set if [`CURRENT`] must not be dereferenced. The alignment of an execution keeps
/// it free.
const LENT: usize = 1;

const NO_EXECUTION: *mut Execution = std::ptr::without_provenance_mut(LENT);

const _: () = assert!(align_of::<Execution>() > LENT);

/// Whether code of a checked program runs on this OS thread.
#[inline]
pub(crate) fn has_current_execution() -> bool {
    CURRENT.get() != NO_EXECUTION
}

/// Whether code of a checked program runs on this OS thread, and not Fencepost on its behalf.
#[inline]
pub(crate) fn is_program_running() -> bool {
    CURRENT.get().addr() & LENT == 0
}

/// The current execution, for the signal handler: it may have interrupted a function that changes
/// it.
#[inline]
pub(crate) fn interrupted_execution() -> Option<NonNull<Execution>> {
    let execution = CURRENT.get().map_addr(|address| address & !LENT);
    NonNull::new(execution)
}

/// Lends the current execution to `f`. None if there is no execution, or if it is lent already.
#[inline(always)] // Each operation borrows the execution several times.
pub(crate) fn lend<R>(f: impl FnOnce(&mut Execution) -> R) -> Option<R> {
    let execution = CURRENT.get();
    if execution.addr() & LENT != 0 {
        return None;
    }
    let _lent = Lent::new(execution);
    // SAFETY: without the bit, the pointer is one that `Entered::new` was given and whose guard is
    // alive, so it is valid, and the runtime has no reference to it. The bit that was set above
    // keeps every other call of this function from making a second one.
    Some(f(unsafe { &mut *execution }))
}

/// Copies something out of the current execution. None if there is no execution, or if it is lent.
///
/// This is [`lend`] for the hot path: it does not mark the execution as lent. Builds with debug
/// assertions check the promise of the caller: they lend it.
///
/// # Safety
/// `f` must neither panic, which would run the panic hook, nor borrow the execution again.
#[inline]
pub(crate) unsafe fn read<R: Copy>(f: impl FnOnce(&Execution) -> R) -> Option<R> {
    if cfg!(debug_assertions) {
        return lend(|execution| f(execution));
    }
    let execution = CURRENT.get();
    if execution.addr() & LENT != 0 {
        return None;
    }
    // SAFETY: the pointer is valid, and nobody has a reference to the execution: see `lend`. The
    // caller promises that nobody gets one while `f` runs.
    Some(f(unsafe { &*execution }))
}

/// While it lives, the current execution is lent.
struct Lent {
    execution: *mut Execution,
}

impl Lent {
    #[inline]
    fn new(execution: *mut Execution) -> Self {
        CURRENT.set(execution.map_addr(|address| address | LENT));
        Lent { execution }
    }
}

impl Drop for Lent {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.execution);
    }
}

/// While it lives, its execution is the current one.
///
/// A coroutine that overflows its stack may do so while it has borrowed the execution, and then
/// never returns it. Dropping this guard ends that loan too.
pub(crate) struct Entered {
    previous: *mut Execution,
}

impl Entered {
    /// # Safety
    /// The execution must be valid while the guard lives, and the caller must not use a reference
    /// to it meanwhile.
    #[inline]
    pub(crate) unsafe fn new(execution: NonNull<Execution>) -> Self {
        Entered {
            previous: CURRENT.replace(execution.as_ptr()),
        }
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.previous);
    }
}
