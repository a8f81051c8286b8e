//! The variables that are initialized when they are first used: static variables of C++ functions. In memory, the first byte
//! says that it was done. The program reads it before it calls anything.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use fencepost_runtime::once::{Begin, OnceFlag};

use crate::atomics;
use crate::hooks::look_alike;
use crate::operations::{begin, object_named};
use crate::world::inside;

look_alike! {
    fn __cxa_guard_acquire(guard: usize) -> c_int = acquire;
    fn __cxa_guard_release(guard: usize) = release;
    fn __cxa_guard_abort(guard: usize) = abort;
}

/// Runs `f` with what says whether a thread initializes it. Its object is that of the second byte.
fn with_flag<R>(
    guard: usize,
    returns_to: usize,
    f: impl FnOnce(fencepost_runtime::Current, fencepost_runtime::LocationRef, OnceFlag) -> R,
) -> R {
    inside(|| {
        let (current, location) = begin(returns_to);
        let object = object_named(current, (guard, 8), "static", "initialization of");
        let flag = OnceFlag::of(current.object_of(object, location));
        f(current, location, flag)
    })
}

unsafe extern "C-unwind" fn acquire(guard: usize, returns_to: usize) -> c_int {
    let is_first = with_flag(guard, returns_to, |current, location, flag| {
        flag.begin(current, location) == Begin::Claimed
    });
    is_first.into()
}

unsafe extern "C-unwind" fn release(guard: usize, returns_to: usize) {
    with_flag(guard, returns_to, |current, location, flag| {
        let done = std::ptr::with_exposed_provenance_mut::<u8>(guard);
        atomics::exchange_byte(done, 1, Ordering::AcqRel, (current, location), returns_to);
        flag.complete(current, location, || ());
    });
}

unsafe extern "C-unwind" fn abort(guard: usize, returns_to: usize) {
    with_flag(guard, returns_to, |current, location, flag| {
        flag.give_up(current, location);
    });
}
