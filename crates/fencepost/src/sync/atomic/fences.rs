//! Fences.

use std::sync::atomic::Ordering;

pub use std::sync::atomic::compiler_fence;

use fencepost_runtime::{Current, LocationRef};

/// An atomic fence, as [`std::sync::atomic::fence`]. In a check it is not a step of its own.
///
/// # Panics
/// If the ordering is `Relaxed`.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    let Some(current) = Current::get() else {
        return std::sync::atomic::fence(order);
    };
    assert!(
        order != Ordering::Relaxed,
        "there is no such thing as a relaxed fence"
    );
    fencepost_runtime::fence(current, order, LocationRef::caller());
}
