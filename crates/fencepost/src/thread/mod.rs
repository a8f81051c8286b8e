//! Threads, as in [`std::thread`].
//!
//! In a check, the runtime runs the threads, one operation at a time. Outside of a check everything
//! behaves as in `std`.
//!
//! Time does not pass in a check: [`sleep`] and [`park_timeout`] may return at any time, like
//! [`yield_now`]. A panic of a thread ends the execution with an error, so [`JoinHandle::join`]
//! always returns `Ok` in a check.
//!
//! - [`handle`](JoinHandle): spawning, joining and naming threads
//! - [`scope`](fn@scope): threads that borrow
//! - [`LocalKey`]: thread-local storage
#![allow(unsafe_code)] // Spawning on a borrowed stack is unsafe.

mod handle;
pub(crate) mod local;
mod park;
mod scope;

use std::io;
use std::num::NonZero;
use std::time::Duration;

pub use handle::{Builder, JoinHandle, Thread, ThreadId, spawn};
pub use local::{AccessError, LocalKey};
pub(crate) use park::end_parking_wait;
pub use park::{park, park_timeout};
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use std::thread::Result;

use fencepost_runtime::{Current, LocationRef};

/// Returns the handle of the calling thread.
pub fn current() -> Thread {
    match Current::get() {
        None => Thread::outside(std::thread::current()),
        Some(current) => {
            current.note_thread_dependence();
            current.note_thread_identity_use();
            Thread::of(current, current.thread())
        }
    }
}

/// Yields to other threads. In a check, the explorer decides when the calling thread continues.
#[track_caller]
pub fn yield_now() {
    match Current::get() {
        None => std::thread::yield_now(),
        Some(current) => hint(current, LocationRef::caller()),
    }
}

/// Sleeps. In a check this is [`yield_now`].
#[track_caller]
pub fn sleep(duration: Duration) {
    match Current::get() {
        None => std::thread::sleep(duration),
        Some(current) => hint(current, LocationRef::caller()),
    }
}

/// Whether the calling thread is unwinding.
pub fn panicking() -> bool {
    std::thread::panicking()
}

/// Returns how many threads can run in parallel. In a check that is always 2, whatever the machine.
///
/// # Errors
/// As [`std::thread::available_parallelism`], outside of a check.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    match Current::get() {
        None => std::thread::available_parallelism(),
        Some(_) => Ok(const { NonZero::new(2).unwrap() }),
    }
}

/// A hint that the calling thread waits in a loop.
pub(crate) fn hint(current: Current, location: LocationRef) {
    current.plain_operation(
        fencepost_explore::Intent::SpinHint,
        fencepost_runtime::Outcomes::One,
        location,
        |_| (),
    );
}
