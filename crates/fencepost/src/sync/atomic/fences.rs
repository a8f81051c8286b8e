//! Fences.

use std::sync::atomic::Ordering;

pub use std::sync::atomic::compiler_fence;

use fencepost_memory::Operation;

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
    // Its effect depends on the calling thread.
    current.note_thread_identity_use();
    let target = current.target();
    current.drain(target.drained_by_fence(order), LocationRef::caller());
    current.local(LocationRef::caller(), |step| {
        let events = target.fence(order);
        step.emit(events, 0);
        if events.operation == Some(Operation::StoreBarrier) {
            step.order_stores();
        }
        let thread = step.thread();
        if let Some(races) = step.races() {
            races.fence(thread, order);
        }
    });
}
