//! Fences.

use std::panic::Location;
use std::sync::atomic::Ordering;

pub use std::sync::atomic::compiler_fence;

use fencepost_memory::Operation;

use fencepost_runtime::Current;

/// A fence, as [`std::sync::atomic::fence`]. No thread has to stop for it.
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
    // It has an effect on the thread that runs it.
    current.note_thread_identity_use();
    let target = current.target();
    current.drain(target.drained_by_fence(order), Location::caller());
    current.local(Location::caller(), |step| {
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
