//! Hints, as in [`std::hint`].

pub use std::hint::black_box;

use fencepost_runtime::{Current, LocationRef};

/// Signals a spin loop, as [`std::hint::spin_loop`]. In a check, other threads may run first. If the
/// calling thread has come back to the state of an earlier round, it continues when a value that it
/// has read has changed, or no other thread can run.
#[inline(always)] // As the loads of atomics.
#[track_caller]
pub fn spin_loop() {
    match Current::get() {
        None => std::hint::spin_loop(),
        Some(current) => {
            current.clear_stack_below();
            crate::thread::hint(current, LocationRef::caller())
        }
    }
}
