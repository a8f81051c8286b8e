//! How an execution of the program fails, and what the program calls to fail.

use std::ffi::{CStr, c_char, c_int};

use fencepost_runtime::{Current, OwnedLocation, ProgramError};

use crate::heap::ReallocationError;
use crate::hooks::hook;
use crate::state::state;
use crate::world::outside;
use crate::{accesses, operations, real};

/// Ends the execution: the calling thread of the program has failed where a hook returns to.
pub(crate) fn fail(message: String, returns_to: usize) -> ! {
    let location = state().location(returns_to);
    fail_at(message, Some(location.into()))
}

/// Ends the execution.
pub(crate) fn fail_at(message: String, location: Option<OwnedLocation>) -> ! {
    let current = Current::get().expect("a thread of the program runs in an execution");
    current.fail(ProgramError::Panic {
        thread: current.thread(),
        message,
        location,
    })
}

/// Ends the execution because of a block that cannot be freed.
pub(crate) fn bad_free(error: &ReallocationError, returns_to: usize) -> ! {
    fail(format!("{error:?}"), returns_to)
}

hook! {
    fn abort() = aborted;
    fn __assert_fail(
        assertion: *const c_char,
        file: *const c_char,
        line: u32,
        function: *const c_char,
    ) = failed_assertion;
    fn __assert(assertion: *const c_char, file: *const c_char, line: c_int) = failed_assertion_of_posix;
}

/// A text of the program.
///
/// # Safety
/// It must be null, or end with a zero.
unsafe fn text(text: *const c_char) -> String {
    match text.is_null() {
        true => String::new(),
        // SAFETY: the promise of the caller.
        false => unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    }
}

unsafe extern "C" fn aborted(returns_to: usize) {
    let checked = || {
        operations::begin(returns_to);
        fail("the program calls abort".to_owned(), returns_to)
    };
    // SAFETY: it has no preconditions.
    outside(checked, || unsafe { real::abort() });
}

unsafe extern "C" fn failed_assertion(
    assertion: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    _returns_to: usize,
) {
    let checked = || {
        let current = Current::get().expect("a thread of the program runs in an execution");
        accesses::hand_over(current);
        // SAFETY: the program has passed texts.
        let (assertion, file) = unsafe { (text(assertion), text(file)) };
        let location = OwnedLocation {
            file,
            line,
            column: 0,
        };
        fail_at(format!("assertion failed: {assertion}"), Some(location))
    };
    // SAFETY: the arguments are passed on.
    outside(checked, || unsafe {
        real::__assert_fail(assertion, file, line, function)
    });
}

pub(crate) unsafe extern "C" fn failed_assertion_of_posix(
    assertion: *const c_char,
    file: *const c_char,
    line: c_int,
    returns_to: usize,
) {
    // SAFETY: the arguments are passed on.
    unsafe {
        failed_assertion(assertion, file, line as u32, std::ptr::null(), returns_to);
    }
}
