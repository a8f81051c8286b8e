//! The end of the program: `exit`, what `main` returns, and the functions that run at the end.
//!
//! What a program registers to run at its end belongs to the execution: the C library would keep it for the end of the
//! process, and would keep it again in each execution. What was registered before `main` is not run, since the process does not
//! end with an execution.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use fencepost_runtime::{Current, FailureKind};

use crate::hooks::hook;
use crate::state::state;
use crate::world::outside;
use crate::{failures, operations, real, threads};

/// A function that runs at the end, with its argument.
type Handler = (unsafe extern "C" fn(*mut c_void), usize);

struct Shared(RefCell<Vec<Handler>>);

// SAFETY: only the OS thread that runs the program borrows it.
unsafe impl Sync for Shared {}

/// What this execution has registered.
static HANDLERS: Shared = Shared(RefCell::new(Vec::new()));

/// Forgets what was registered, before an execution.
pub(crate) fn begin_execution() {
    HANDLERS.0.borrow_mut().clear();
}

hook! {
    fn exit(status: c_int) = exit_program;
    fn _exit(status: c_int) = exit_at_once;
    fn _Exit(status: c_int) = exit_at_once;
    fn quick_exit(status: c_int) = exit_at_once;
    fn __cxa_atexit(handler: unsafe extern "C" fn(*mut c_void), argument: *mut c_void, object: *mut c_void) -> c_int = register;
    fn atexit(handler: unsafe extern "C" fn(*mut c_void)) -> c_int = register_plain;
}

/// The program ends with this status: the calling thread runs what was registered, the latest first. It goes on to end itself.
pub(crate) fn end_program(current: Current, status: c_int) {
    loop {
        let handler = HANDLERS.0.borrow_mut().pop();
        let Some((function, argument)) = handler else {
            break;
        };
        threads::run(current, function as *const (), [argument, 0, 0]);
    }
    fail_with(status);
}

/// A status other than 0 is a failure.
fn fail_with(status: c_int) {
    // The parent of a process sees so much of it.
    let status = status & 0xff;
    if status != 0 {
        let location = state().main_location;
        let kind = FailureKind::ExitStatus(status);
        failures::fail(kind, String::new(), Some(location.into()));
    }
}

unsafe extern "C" fn exit_program(status: c_int, returns_to: usize) {
    let checked = || {
        let (current, _) = operations::begin(returns_to);
        end_program(current, status);
        threads::end(current, 0)
    };
    // SAFETY: the argument is passed on.
    outside(checked, || unsafe { real::exit(status) });
}

unsafe extern "C" fn exit_at_once(status: c_int, returns_to: usize) {
    let checked = || {
        let (current, _) = operations::begin(returns_to);
        fail_with(status);
        threads::end(current, 0)
    };
    // SAFETY: it has no preconditions.
    outside(checked, || unsafe {
        libc::syscall(libc::SYS_exit_group, status)
    });
}

unsafe extern "C" fn register(
    handler: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    object: *mut c_void,
    _returns_to: usize,
) -> c_int {
    let checked = || {
        let argument = argument.expose_provenance();
        HANDLERS.0.borrow_mut().push((handler, argument));
        0
    };
    // SAFETY: the arguments are passed on.
    outside(checked, || unsafe {
        real::__cxa_atexit(handler, argument, object)
    })
}

unsafe extern "C" fn register_plain(
    handler: unsafe extern "C" fn(*mut c_void),
    returns_to: usize,
) -> c_int {
    // SAFETY: the function ignores the argument.
    unsafe {
        register(
            handler,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            returns_to,
        )
    }
}
