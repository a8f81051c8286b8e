//! Drops: the last one of an `Arc`, and what has to be dropped before the end.

use std::panic::Location;

use fencepost_memory::Address;

use super::error::Restart;
use super::object::Object;
use super::operation::Current;

/// The drop of the last reference to an `Arc`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FinalDrop {
    /// The counts of the `Arc`.
    pub(crate) counts: Address,
    /// Where it was made.
    pub(crate) created_at: &'static Location<'static>,
}

/// Something that has to be dropped before the end.
pub(crate) struct TrackedDrop {
    pub(crate) what: &'static str,
    pub(crate) location: &'static Location<'static>,
    pub(crate) is_alive: bool,
}

/// Something that was promised to be dropped.
#[derive(Clone, Copy, Debug)]
pub struct DropTracker {
    execution: u64,
    index: u32,
}

impl Current {
    /// The calling thread is about to do what is no step but depends on which thread does it, or tells
    /// the monitor or others of it. A destructor that does so has to be that of an `Arc` whose drops
    /// are ordered.
    #[inline]
    pub fn note_thread_dependence(self) {
        let final_drop = self.read(|execution| execution.slot().final_drop);
        if let Some(drop) = final_drop {
            if !self.is_direct() {
                self.request_ordered_drops(drop);
            }
        }
    }

    /// A destructor is about to do what others can notice, and the drop that called it was taken to
    /// be nothing that matters.
    #[cold]
    pub(crate) fn request_ordered_drops(self, drop: FinalDrop) -> ! {
        self.with(|execution| {
            let location = execution.names.location(drop.created_at);
            execution.names.registry().note_visible_drop(location);
        });
        self.fail(Restart::OrderedDrops)
    }

    /// Runs a destructor because the last reference to an `Arc` is gone. If it does what
    /// others can notice, the check has to begin again.
    ///
    /// The destructor happens after all the other drops. What the thread does then does not: another
    /// thread could as well have been the last, and that is not explored. A cell that the destructor
    /// has accessed must therefore not be accessed later: see [`CheckedCell`](super::cells::CheckedCell).
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

    /// Whether drops of what is made there matter to other threads.
    pub fn is_drop_visible(self, created_at: &'static Location<'static>) -> bool {
        self.with(|execution| execution.names.is_drop_visible(created_at))
    }

    /// Something has to be dropped before the execution ends, or it was leaked.
    pub fn track_drop(
        self,
        what: &'static str,
        location: &'static Location<'static>,
    ) -> DropTracker {
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
    /// It was dropped.
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
