//! Hints, as in [`std::hint`].

use std::panic::Location;

pub use std::hint::black_box;

use fencepost_runtime::Current;

/// Says that the calling thread waits in a loop. In a check, the explorer lets it go on when what
/// it has read is another value, or nobody else can go on.
#[inline]
#[track_caller]
pub fn spin_loop() {
    match Current::get() {
        None => std::hint::spin_loop(),
        Some(current) => crate::thread::hint(current, Location::caller()),
    }
}
