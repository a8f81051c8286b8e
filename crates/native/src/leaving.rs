//! How a thread leaves its function early: `pthread_exit`, and the cleanup handlers that run then.
//!
//! The stack is unwound as for an exception that nothing catches. In C++, and in C with `-fexceptions`, that runs destructors
//! and cleanup handlers. Otherwise `pthread_cleanup_push` has registered a buffer, to which control goes when the frame that has
//! it is reached.

use std::ffi::{c_int, c_void};

use fencepost_runtime::Current;

use crate::hooks::look_alike;
use crate::locals::own;
use crate::threads::{self, Left};
use crate::world::inside;

#[repr(C, align(16))]
pub(crate) struct Exception {
    class: u64,
    cleanup: Option<extern "C-unwind" fn(c_int, *mut Exception)>,
    private: [usize; 6],
}

type Stop = unsafe extern "C-unwind" fn(
    c_int,
    c_int,
    u64,
    *mut Exception,
    *mut c_void,
    *mut c_void,
) -> c_int;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, argument: *mut c_void) -> c_int;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _longjmp(buffer: *mut c_void, value: c_int) -> !;
}

/// `_UA_END_OF_STACK`
const END_OF_STACK: c_int = 16;

look_alike! {
    fn pthread_exit(result: usize) = exit_thread;
    fn thrd_exit(result: c_int) = exit_thread_of_c11;
    fn __pthread_register_cancel(buffer: usize) = register;
    fn __pthread_unregister_cancel(buffer: usize) = unregister;
    fn __pthread_unwind_next(buffer: usize) = unwind_on;
}

unsafe extern "C-unwind" fn exit_thread(result: usize, _returns_to: usize) {
    inside(|| threads::set_left(Left::Thread(result)));
    unwind();
}

unsafe extern "C-unwind" fn exit_thread_of_c11(result: c_int, _returns_to: usize) {
    inside(|| threads::set_left(Left::Thread(result as usize)));
    unwind();
}

unsafe extern "C-unwind" fn register(buffer: usize, _returns_to: usize) {
    inside(|| own(|own| own.cleanups.push(buffer)));
}

unsafe extern "C-unwind" fn unregister(_buffer: usize, _returns_to: usize) {
    inside(|| own(|own| own.cleanups.pop()));
}

/// A cleanup handler has run.
unsafe extern "C-unwind" fn unwind_on(_buffer: usize, _returns_to: usize) {
    inside(|| own(|own| own.cleanups.pop()));
    unwind();
}

/// Something has caught what only looks like an exception.
extern "C-unwind" fn caught(_reason: c_int, _exception: *mut Exception) {
    inside(|| {
        crate::failures::fail(
            fencepost_runtime::FailureKind::Abort,
            "what `pthread_exit` unwinds the stack with is caught, and not thrown again".to_owned(),
            None,
        )
    })
}

/// Unwinds the stack of the calling thread, and ends it.
fn unwind() -> ! {
    // The frame of this function is given up while the exception is in use.
    let exception = inside(|| {
        threads::room_for_exception(Exception {
            class: 0,
            cleanup: Some(caught),
            private: [0; 6],
        })
    });
    // SAFETY: the exception is in memory of its own.
    unsafe { _Unwind_ForcedUnwind(exception, stop, std::ptr::null_mut()) };
    leave()
}

/// Called for each frame, before it is left.
unsafe extern "C-unwind" fn stop(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut Exception,
    context: *mut c_void,
    _argument: *mut c_void,
) -> c_int {
    let is_end = actions & END_OF_STACK != 0;
    // SAFETY: the unwinder has passed the context.
    let frame = unsafe { _Unwind_GetCFA(context) };
    let buffer = inside(|| own(|own| own.cleanups.last().copied()));
    if let Some(buffer) = buffer.filter(|&buffer| is_end || frame > buffer) {
        // SAFETY: `pthread_cleanup_push` has filled the buffer in a frame that is still there.
        unsafe { _longjmp(std::ptr::with_exposed_provenance_mut(buffer), 1) };
    }
    if is_end {
        leave();
    }
    0
}

fn leave() -> ! {
    inside(|| {
        let current = Current::get().expect("a thread of the program runs in an execution");
        threads::end(current)
    })
}
