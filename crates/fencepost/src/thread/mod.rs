//! Threads, as in [`std::thread`].
//!
//! In a check a thread is run by the checker, one operation at a time. Outside of a check
//! everything here is what `std` has.
//!
//! Time does not pass in a check: [`sleep`] and [`park_timeout`] may return at any time, as
//! [`yield_now`] may. A thread that panics ends the execution with an error, so that
//! [`JoinHandle::join`] always returns `Ok` in a check.
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
use std::panic::Location;
use std::time::Duration;

pub use handle::{Builder, JoinHandle, Thread, ThreadId, spawn};
pub use local::{AccessError, LocalKey};
pub use park::{park, park_timeout};
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use std::thread::Result;

use fencepost_runtime::Current;

/// The handle of the calling thread.
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

/// Says that the calling thread waits for others. In a check, the explorer decides when it goes
/// on.
#[track_caller]
pub fn yield_now() {
    match Current::get() {
        None => std::thread::yield_now(),
        Some(current) => hint(current, Location::caller()),
    }
}

/// Sleeps. In a check this is [`yield_now`].
#[track_caller]
pub fn sleep(duration: Duration) {
    match Current::get() {
        None => std::thread::sleep(duration),
        Some(current) => hint(current, Location::caller()),
    }
}

/// Whether the calling thread is unwinding.
pub fn panicking() -> bool {
    std::thread::panicking()
}

/// How many threads can run at a time. In a check that is always 2, whatever the machine.
///
/// # Errors
/// As [`std::thread::available_parallelism`], outside of a check.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    match Current::get() {
        None => std::thread::available_parallelism(),
        Some(_) => Ok(const { NonZero::new(2).unwrap() }),
    }
}

/// A loop waits here.
pub(crate) fn hint(current: Current, location: &'static Location<'static>) {
    current.plain_operation(
        fencepost_explore::Intent::SpinHint,
        fencepost_runtime::Outcomes::One,
        location,
        |_| (),
    );
}
