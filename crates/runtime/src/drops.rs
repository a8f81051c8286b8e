//! Drops: of the last reference to an `Arc`, and of values that must not leak.

use fencepost_memory::Address;

use super::error::Restart;
use super::location::LocationRef;
use super::object::Object;
use super::operation::Current;

/// The drop of the last reference to an `Arc`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FinalDrop {
    /// The counts of the `Arc`.
    pub(crate) counts: Address,
    /// Where the `Arc` was created.
    pub(crate) created_at: LocationRef,
}

/// A value that has to be dropped before the execution ends.
pub(crate) struct TrackedDrop {
    pub(crate) what: &'static str,
    pub(crate) location: LocationRef,
    pub(crate) is_alive: bool,
}

/// A handle to a value that has to be dropped before the execution ends.
#[derive(Clone, Copy, Debug)]
pub struct DropTracker {
    execution: u64,
    index: u32,
}

impl Current {
    /// The calling thread is about to do something that is not a step, but whose effect depends on
    /// which thread does it. If it is in the drop of the last reference to an `Arc`, the drops of
    /// that `Arc` have to be ordered.
    #[inline]
    pub fn note_thread_dependence(self) {
        let final_drop = self.with(|execution| execution.slot().final_drop);
        if let Some(drop) = final_drop {
            if !self.is_direct() {
                self.request_ordered_drops(drop);
            }
        }
    }

    /// Requests a restart in which the drops of an `Arc` are ordered: its destructor is about to do
    /// something that other threads can observe.
    #[cold]
    pub(crate) fn request_ordered_drops(self, drop: FinalDrop) -> ! {
        self.with(|execution| {
            let location = execution.names.location(drop.created_at);
            execution.names.registry().note_visible_drop(location);
        });
        self.fail(Restart::OrderedDrops)
    }

    /// Runs the destructor of a value whose last reference was dropped. If it does something that
    /// other threads can observe, the check has to restart.
    ///
    /// The destructor happens after all the other drops. What the thread does next does not, since
    /// another thread could have dropped the last reference, and that is not explored. So a cell
    /// that the destructor has accessed must not be accessed later: see
    /// [`CheckedCell`](super::cells::CheckedCell).
    pub fn drop_last(self, counts: &Object, destructor: impl FnOnce()) {
        let (before, known) = self.with(|execution| {
            let thread = execution.running.thread;
            let known = execution.races.are_tracked().then(|| {
                let known = execution.races.known_by(thread);
                execution.races.acquire(thread, counts.address());
                known
            });
            let slot = &mut execution.threads.slots[thread.index()];
            let drop = FinalDrop {
                counts: counts.address(),
                created_at: counts.created_at(),
            };
            (slot.final_drop.replace(drop), known)
        });
        destructor();
        self.with(|execution| {
            let thread = execution.running.thread;
            execution.threads.slots[thread.index()].final_drop = before;
            if let Some(known) = known {
                execution.races.restore(thread, known);
            }
        });
    }

    /// Whether other threads can observe the drops of what is created there.
    pub fn is_drop_visible(self, created_at: LocationRef) -> bool {
        self.with(|execution| execution.names.is_drop_visible(created_at))
    }

    /// Registers a value that has to be dropped before the execution ends.
    pub fn track_drop(self, what: &'static str, location: LocationRef) -> DropTracker {
        self.with(|execution| {
            execution.tracked_drops.push(TrackedDrop {
                what,
                location,
                is_alive: true,
            });
            DropTracker {
                execution: execution.serial,
                index: execution.tracked_drops.len() as u32 - 1,
            }
        })
    }
}

impl DropTracker {
    /// Marks the value as dropped.
    pub fn end(self) {
        if let Some(current) = Current::get() {
            if current.is_of(self.execution) {
                current.with(|execution| {
                    execution.tracked_drops[self.index as usize].is_alive = false
                });
            }
        }
    }
}
