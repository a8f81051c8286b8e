//! Waits that return without a notification, and the loops around them.
//!
//! A wait on a condition variable may return without a notification, spuriously or by a time-out,
//! and a park without having been unparked. A loop around it then waits again, and could do so for
//! ever. So a thread that has done nothing since such a return, and waits again at the same source
//! location, is assumed to only wait: it does not return spuriously again, and its time-out expires
//! when something that it has read has changed, or when no other thread can run. The same holds,
//! whatever it has done, after [`RETURNS_IN_A_ROW`] such returns. That is an assumption about the
//! loop, so the location is recorded in the [`Registry`](super::Registry).
//!
//! What counts as doing something: a write that changed the state of an object, mutable
//! access to what a lock protects, and holding other locks than before. Taking and releasing a lock
//! alone does not, nor does counting references.

use std::panic::Location;

use fencepost_memory::Address;

use super::execution::Phase;
use super::operation::Current;

/// How often in a row a wait at one location returns without a notification.
const RETURNS_IN_A_ROW: u32 = 2;

/// A thread's memory of its waits.
#[derive(Debug, Default)]
pub(crate) struct WaitMemory {
    /// How often it has changed something.
    changes: u64,
    /// The locks that it holds: the exclusive or of hashes of their addresses.
    held: u64,
    /// Its waits since the last notification, all of which returned without one: the last at each
    /// location.
    returns: Vec<LastReturn>,
    /// What it has touched since the last of them.
    touched: Vec<Address>,
}

#[derive(Debug)]
struct LastReturn {
    condvar: Address,
    location: &'static Location<'static>,
    changes: u64,
    held: u64,
    in_a_row: u32,
}

impl LastReturn {
    fn is_at(&self, condvar: Address, location: &'static Location<'static>) -> bool {
        self.condvar == condvar && self.location == location
    }
}

impl WaitMemory {
    /// Forgets everything, for a new thread.
    pub(crate) fn reset(&mut self) {
        self.changes = 0;
        self.held = 0;
        self.returns.clear();
        self.touched.clear();
    }

    /// It changes something.
    #[inline]
    pub(crate) fn note_change(&mut self) {
        self.changes += 1;
    }

    /// It takes or releases a lock.
    #[inline]
    pub fn note_lock(&mut self, lock: Address) {
        // Fibonacci hashing: sums of neighbouring numbers shall not cancel out.
        let number = (u64::from(lock.0) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.held ^= number;
    }

    /// It touches an object.
    #[inline]
    pub(crate) fn note_touch(&mut self, object: Address) {
        if !self.returns.is_empty() && !self.touched.contains(&object) {
            self.touched.push(object);
        }
    }

    /// It waits: whether it is taken to do nothing else.
    pub fn only_waits(&mut self, condvar: Address, location: &'static Location<'static>) -> bool {
        self.returns.iter().any(|last| {
            let is_unchanged = last.changes == self.changes && last.held == self.held;
            last.is_at(condvar, location) && (is_unchanged || last.in_a_row >= RETURNS_IN_A_ROW)
        })
    }

    /// What it has touched since its last wait.
    pub fn touched(&self) -> &[Address] {
        &self.touched
    }

    /// The wait returned after a notification.
    pub fn notified(&mut self) {
        self.returns.clear();
    }

    /// The wait returned without a notification.
    pub fn returned(&mut self, condvar: Address, location: &'static Location<'static>) {
        let last = self
            .returns
            .iter()
            .position(|last| last.is_at(condvar, location));
        let before = last.map_or(0, |last| self.returns.swap_remove(last).in_a_row);
        self.returns.push(LastReturn {
            condvar,
            location,
            changes: self.changes,
            held: self.held,
            in_a_row: before + 1,
        });
        self.touched.clear();
    }
}

impl Current {
    /// The calling thread changes something that is no object: what a lock protects.
    #[inline]
    pub fn note_change(self) {
        self.with(|execution| {
            if execution.phase == Phase::Running {
                let slot = execution.slot_mut();
                slot.waits.note_change();
                slot.visits.forget();
            }
        });
    }

    /// The calling thread holds a lock again, or no longer, that a step was said to release or
    /// take.
    pub fn note_lock(self, lock: Address) {
        self.with(|execution| {
            let slot = execution.slot_mut();
            slot.waits.note_lock(lock);
        });
    }

    /// The calling thread is about to wait on a condition variable. Whether it is in a loop that
    /// does nothing else, as far as can be observed; if so, the location is recorded.
    pub fn only_waits(self, condvar: Address, location: &'static Location<'static>) -> bool {
        self.with(|execution| {
            let waits = &mut execution.slot_mut().waits;
            let only_waits = waits.only_waits(condvar, location);
            if only_waits {
                let location = execution.names.location(location);
                execution.names.registry().note_wait(location);
            }
            only_waits
        })
    }

    /// What the calling thread has touched since it last returned from a wait without being
    /// notified.
    pub fn touched_since_wait(self) -> Vec<Address> {
        self.with(|execution| {
            let slot = execution.slot();
            slot.waits.touched().to_vec()
        })
    }

    /// The calling thread returns from a wait.
    pub fn note_return(
        self,
        condvar: Address,
        was_notified: bool,
        location: &'static Location<'static>,
    ) {
        self.with(|execution| {
            if execution.phase != Phase::Running {
                return;
            }
            let waits = &mut execution.slot_mut().waits;
            match was_notified {
                true => waits.notified(),
                false => waits.returned(condvar, location),
            }
            execution.recording.are_touches_noted |= !was_notified;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_only_waits_if_it_has_changed_nothing() {
        let here = Location::caller();
        let there = Location::caller();
        let (condvar, lock) = (Address(1), Address(2));
        let mut memory = WaitMemory::default();
        assert!(!memory.only_waits(condvar, here), "its first wait");
        memory.returned(condvar, here);
        assert!(memory.only_waits(condvar, here));
        assert!(!memory.only_waits(condvar, there), "another location");
        assert!(!memory.only_waits(Address(5), here), "another variable");
        memory.note_lock(lock);
        assert!(!memory.only_waits(condvar, here), "it holds another lock");
        memory.note_lock(lock);
        assert!(memory.only_waits(condvar, here));
        memory.note_change();
        assert!(!memory.only_waits(condvar, here), "it changed something");
        memory.returned(condvar, here);
        memory.note_change();
        assert!(memory.only_waits(condvar, here), "twice in a row is enough");
        memory.returned(condvar, there);
        assert!(
            memory.only_waits(condvar, here),
            "in turns with another location"
        );
        assert!(memory.only_waits(condvar, there));
        memory.notified();
        assert!(!memory.only_waits(condvar, here), "it was notified");
    }

    #[test]
    fn what_is_touched_after_a_return_is_known() {
        let mut memory = WaitMemory::default();
        memory.note_touch(Address(1));
        assert_eq!(memory.touched(), []);
        memory.returned(Address(9), Location::caller());
        memory.note_touch(Address(1));
        memory.note_touch(Address(3));
        memory.note_touch(Address(1));
        assert_eq!(memory.touched(), [Address(1), Address(3)]);
    }
}
