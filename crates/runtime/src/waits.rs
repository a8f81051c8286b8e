//! Waits that return without a notification, and the loops around them.
//!
//! A wait on a condition variable may return without a notification, spuriously or by a time-out,
//! and a park without having been unparked. A loop around it then waits again, and could do so for
//! ever. So a thread that has done nothing since such a return, and waits again at the same source
//! location in the same state (see [`boundary`](super::boundary)), only waits: it does not return
//! spuriously again, and its time-out expires when something that it has read has changed, or when
//! no other thread can run. The location is recorded in the [`Registry`](super::Registry).
//!
//! Where states are not compared, it is assumed to be in the same state; and after
//! [`RETURNS_IN_A_ROW`] such returns, whatever it has done, it is assumed to only wait.
//!
//! What counts as doing something: a write that changed the state of an object, mutable
//! access to what a lock protects, and holding other locks than before. Taking and releasing a lock
//! alone does not, nor does counting references.
#![allow(unsafe_code)] // Stacks are compared by address.

use std::mem::MaybeUninit;

use fencepost_memory::Address;

use super::boundary::{Frame, cross};
use super::error::Restart;
use super::execution::Phase;
use super::location::LocationRef;
use super::memory::Changes;
use super::operation::Current;
use super::setup::ComparedStates;

/// How often in a row a wait at one location returns without a notification.
const RETURNS_IN_A_ROW: u32 = 2;

/// How often in a row a wait at one location returns without a notification if states are compared
/// and it does not come back to the same one.
pub const MOST_RETURNS: u32 = 7;

/// The same, if the thread has changed nothing in between.
const RETURNS_WITHOUT_CHANGE: u32 = 5;

/// A thread's memory of its waits.
#[derive(Debug, Default)]
pub(crate) struct WaitMemory {
    /// How often it has changed something.
    changes: u64,
    /// How often of these through each lock, that is by mutable access to what it protects.
    changes_by_lock: Vec<(Address, u64)>,
    /// The locks that it holds: the exclusive or of hashes of their addresses.
    held: u64,
    /// Its waits since the last notification, all of which returned without one: the last at each
    /// location.
    returns: Vec<LastReturn>,
    /// What it has touched since the last of them.
    touched: Vec<Address>,
    /// The state in which it waits.
    state: WaitState,
    /// Whether that was recorded and may be needed.
    is_recorded: bool,
    /// Unused ones, for reuse.
    spare: Vec<WaitState>,
}

/// What a lock protects.
#[derive(Clone, Copy, Default)]
struct Protected<'a> {
    /// The lock, if there is one.
    lock: Option<Address>,
    value: &'a [u8],
}

/// What is known about a thread that is about to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitKind {
    /// It may do more than wait.
    Free,
    /// It has waited here, and states are not compared.
    Again,
    /// It does nothing else than wait.
    Repeated,
    /// It may do more than wait, but has returned too often in a row.
    Bounded,
}

#[derive(Debug)]
struct LastReturn {
    condvar: Address,
    location: LocationRef,
    changes: u64,
    held: u64,
    in_a_row: u32,
    /// How many of them since it last changed something.
    without_change: u32,
    /// The states in which it waited before the last returns in a row, if states are compared.
    states: Vec<WaitState>,
}

/// The state of a thread that waits.
#[derive(Debug, Default)]
struct WaitState {
    changes: u64,
    held: u64,
    bytes: Vec<u8>,
    /// How often it has changed other memory.
    memory: u64,
}

impl LastReturn {
    fn is_at(&self, condvar: Address, location: LocationRef) -> bool {
        self.condvar == condvar && self.location == location
    }

    /// Whether it does not return again without a notification, though it may do more than wait.
    fn is_at_bound(&self, is_unchanged: bool) -> bool {
        let is_idle = is_unchanged && self.without_change >= RETURNS_WITHOUT_CHANGE;
        is_idle || self.in_a_row >= MOST_RETURNS
    }
}

impl WaitMemory {
    /// Forgets everything, for a new thread.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.changes = 0;
        self.changes_by_lock.clear();
        self.held = 0;
        // Most threads have not waited.
        if !self.returns.is_empty() {
            self.notified();
        }
        self.is_recorded = false;
        self.touched.clear();
    }

    /// Whether a later state may be compared with an earlier one.
    #[inline]
    pub(crate) fn are_compared(&self) -> bool {
        self.is_recorded || !self.returns.is_empty()
    }

    /// It changes something.
    #[inline]
    pub(crate) fn note_change(&mut self) {
        self.changes += 1;
    }

    /// It may change what a lock protects.
    fn note_change_by(&mut self, lock: Address) {
        self.changes += 1;
        match self.changes_by_lock.iter_mut().find(|(by, _)| *by == lock) {
            Some((_, changes)) => *changes += 1,
            None => self.changes_by_lock.push((lock, 1)),
        }
    }

    /// How often it has changed something, other than through this lock.
    fn changes_except(&self, lock: Option<Address>) -> u64 {
        let by_lock = self
            .changes_by_lock
            .iter()
            .find(|(by, _)| Some(*by) == lock);
        self.changes - by_lock.map_or(0, |(_, changes)| *changes)
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

    /// It waits, in this state if states are compared: its own, and what the lock protects that it
    /// releases while it waits.
    fn wait(
        &mut self,
        condvar: Address,
        location: LocationRef,
        compared: ComparedStates,
        (state, protected): (&[u8], Protected<'_>),
        memory: &mut Changes,
    ) -> WaitKind {
        if compared == ComparedStates::Always {
            self.is_recorded = true;
            self.state.memory = memory.count();
            self.state.changes = self.changes_except(protected.lock);
            self.state.held = self.held;
            self.state.bytes.clear();
            self.state.bytes.extend_from_slice(state);
            self.state.bytes.extend_from_slice(protected.value);
        }
        let Some(last) = self
            .returns
            .iter()
            .find(|last| last.is_at(condvar, location))
        else {
            return WaitKind::Free;
        };
        let is_unchanged = last.changes == self.changes && last.held == self.held;
        let now = &self.state;
        let mut is_now = |earlier: &WaitState| {
            earlier.changes == now.changes
                && earlier.held == now.held
                && earlier.bytes == now.bytes
                && memory.cancel_out_since(earlier.memory)
        };
        match compared {
            ComparedStates::Always if last.states.iter().any(&mut is_now) => WaitKind::Repeated,
            ComparedStates::Always if last.is_at_bound(is_unchanged) => WaitKind::Bounded,
            ComparedStates::Always => WaitKind::Free,
            ComparedStates::OnDemand => WaitKind::Again,
            ComparedStates::Never if is_unchanged => WaitKind::Repeated,
            ComparedStates::Never if last.in_a_row >= RETURNS_IN_A_ROW => WaitKind::Repeated,
            ComparedStates::Never => WaitKind::Free,
        }
    }

    /// What it has touched since its last wait.
    pub fn touched(&self) -> &[Address] {
        &self.touched
    }

    /// The wait returned after a notification.
    pub fn notified(&mut self) {
        self.is_recorded = false;
        for mut last in self.returns.drain(..) {
            self.spare.append(&mut last.states);
        }
    }

    /// The wait returned without a notification.
    pub fn returned(&mut self, condvar: Address, location: LocationRef) {
        let at = |last: &LastReturn| last.is_at(condvar, location);
        let mut last = match self.returns.iter().position(at) {
            Some(position) => self.returns.swap_remove(position),
            None => LastReturn {
                condvar,
                location,
                changes: 0,
                held: 0,
                in_a_row: 0,
                without_change: 0,
                states: Vec::new(),
            },
        };
        last.without_change = match last.changes == self.changes {
            true => last.without_change + 1,
            false => 1,
        };
        last.changes = self.changes;
        last.held = self.held;
        last.in_a_row += 1;
        if last.states.len() <= MOST_RETURNS as usize {
            let spare = self.spare.pop().unwrap_or_default();
            last.states.push(std::mem::replace(&mut self.state, spare));
        }
        self.returns.push(last);
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

    /// Calls `f`, which may change something that is no object. If it does, that is noted.
    pub fn watch_changes<T, R>(self, value: &mut T, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: it is copied as memory, which is only compared and not dropped.
        let before = unsafe { (&raw const *value).cast::<MaybeUninit<T>>().read() };
        let result = f(value);
        // SAFETY: both are valid for so many bytes. Padding is compared as it is in memory.
        let bytes = |value: *const u8| unsafe {
            std::slice::from_raw_parts(std::hint::black_box(value), size_of::<T>())
        };
        if bytes(before.as_ptr().cast()) != bytes((&raw const *value).cast()) {
            self.note_change();
        }
        result
    }

    /// The value of this variable was brought up to date with the state of its object. That is no
    /// change by the program.
    pub fn note_up_to_date<T>(self, variable: &T) {
        let (address, size) = ((&raw const *variable).addr(), size_of::<T>());
        self.with(|execution| execution.note_up_to_date(address, size));
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
    /// does nothing else; if so, the location is recorded.
    #[inline(always)] // The caller's frame is compared.
    pub fn only_waits(self, condvar: Address, location: LocationRef) -> bool {
        cross(move |frame| self.only_waits_at(frame, condvar, location, Protected::default()))
    }

    /// The same, if the thread releases a lock while it waits, which protects this value.
    #[inline(always)] // The caller's frame is compared.
    pub fn only_waits_without<T>(
        self,
        condvar: Address,
        location: LocationRef,
        lock: Address,
        value: &T,
    ) -> bool {
        let value = &raw const *value;
        cross(move |frame| {
            // SAFETY: it is valid for so many bytes. Padding is compared as it is in memory.
            let value = unsafe {
                std::slice::from_raw_parts(std::hint::black_box(value.cast()), size_of::<T>())
            };
            let lock = Some(lock);
            self.only_waits_at(frame, condvar, location, Protected { lock, value })
        })
    }

    /// The calling thread may change what a lock protects.
    pub fn note_change_by(self, lock: Address) {
        self.with(|execution| {
            if execution.phase == Phase::Running {
                let slot = execution.slot_mut();
                slot.waits.note_change_by(lock);
                slot.visits.forget();
            }
        });
    }

    fn only_waits_at(
        self,
        frame: Frame,
        condvar: Address,
        location: LocationRef,
        protected: Protected<'_>,
    ) -> bool {
        let kind = self.with(|execution| {
            if execution.phase != Phase::Running || !execution.running.is_in_coroutine {
                return WaitKind::Free;
            }
            execution.note_changes();
            let (compared, mutation) = {
                let setup = &execution.setup;
                (setup.compared_states, setup.state_mutation)
            };
            let slot = execution.slot_mut();
            let state = match compared {
                // SAFETY: `cross`, which is running, has passed the frame. It is on the stack of this
                // thread, which ends at the yielder, and nobody writes to it meanwhile.
                ComparedStates::Always => unsafe { frame.state(slot.stack.yielder.addr()) },
                _ => &[],
            };
            let mutated = (mutation.filter(|_| !state.is_empty()))
                .map(|mutation| mutation.compared(state, frame));
            let state = mutated.as_deref().unwrap_or(state);
            let (waits, changes) = (&mut slot.waits, &mut slot.changes);
            let kind = waits.wait(condvar, location, compared, (state, protected), changes);
            match kind {
                WaitKind::Repeated => {
                    if compared == ComparedStates::Always {
                        execution.note_same_state();
                    }
                    let location = execution.names.location(location);
                    execution.names.registry().note_wait(location);
                }
                WaitKind::Bounded => execution.names.registry().note_bounded_wait(),
                WaitKind::Free | WaitKind::Again => {}
            }
            kind
        });
        if kind == WaitKind::Again {
            self.fail(Restart::ComparedStates);
        }
        matches!(kind, WaitKind::Repeated | WaitKind::Bounded)
    }

    /// How many objects the calling thread has touched since it last returned from a wait without
    /// being notified.
    pub fn touched_since_wait(self) -> usize {
        self.with(|execution| execution.slot().waits.touched().len())
    }

    /// One of these objects.
    pub fn touched_at(self, index: usize) -> Address {
        self.with(|execution| execution.slot().waits.touched()[index])
    }

    /// The calling thread returns from a wait.
    pub fn note_return(self, condvar: Address, was_notified: bool, location: LocationRef) {
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
    use ComparedStates::{Always, Never, OnDemand};

    fn alone(state: &[u8]) -> (&[u8], Protected<'_>) {
        (state, Protected::default())
    }

    fn wait_in(
        memory: &mut WaitMemory,
        condvar: Address,
        location: LocationRef,
        compared: ComparedStates,
        state: (&[u8], Protected<'_>),
    ) -> WaitKind {
        memory.wait(condvar, location, compared, state, &mut Changes::default())
    }

    #[test]
    fn mutable_access_to_what_is_compared_is_no_change() {
        let here = LocationRef::caller();
        let (condvar, lock) = (Address(1), Address(2));
        let mut memory = WaitMemory::default();
        let wait = |memory: &mut WaitMemory, value: &[u8]| {
            let lock = Some(lock);
            let protected = Protected { lock, value };
            wait_in(memory, condvar, here, Always, (&[1], protected))
        };
        assert_eq!(wait(&mut memory, &[7]), WaitKind::Free);
        memory.returned(condvar, here);
        memory.note_change_by(lock);
        assert_eq!(
            wait(&mut memory, &[8]),
            WaitKind::Free,
            "it has changed the value"
        );
        assert_eq!(wait(&mut memory, &[7]), WaitKind::Repeated, "it has not");
        memory.note_change_by(Address(3));
        assert_eq!(wait(&mut memory, &[7]), WaitKind::Free, "another lock");
    }

    #[test]
    fn a_thread_is_assumed_to_wait_if_it_has_changed_nothing() {
        let here = LocationRef::caller();
        let there = LocationRef::caller();
        let (condvar, lock) = (Address(1), Address(2));
        let mut memory = WaitMemory::default();
        let only_waits = |memory: &mut WaitMemory, condvar, location| {
            wait_in(memory, condvar, location, Never, alone(&[])) == WaitKind::Repeated
        };
        assert!(!only_waits(&mut memory, condvar, here), "its first wait");
        memory.returned(condvar, here);
        assert!(only_waits(&mut memory, condvar, here));
        assert!(!only_waits(&mut memory, condvar, there), "another location");
        assert!(
            !only_waits(&mut memory, Address(5), here),
            "another variable"
        );
        memory.note_lock(lock);
        assert!(
            !only_waits(&mut memory, condvar, here),
            "it holds another lock"
        );
        memory.note_lock(lock);
        assert!(only_waits(&mut memory, condvar, here));
        memory.note_change();
        assert!(
            !only_waits(&mut memory, condvar, here),
            "it changed something"
        );
        memory.returned(condvar, here);
        memory.note_change();
        assert!(
            only_waits(&mut memory, condvar, here),
            "twice in a row is enough"
        );
        memory.returned(condvar, there);
        assert!(
            only_waits(&mut memory, condvar, here),
            "in turns with another location"
        );
        assert!(only_waits(&mut memory, condvar, there));
        memory.notified();
        assert!(!only_waits(&mut memory, condvar, here), "it was notified");
    }

    #[test]
    fn a_thread_only_waits_in_the_same_state() {
        let here = LocationRef::caller();
        let condvar = Address(1);
        let mut memory = WaitMemory::default();
        assert_eq!(
            wait_in(&mut memory, condvar, here, Always, alone(&[1])),
            WaitKind::Free
        );
        memory.returned(condvar, here);
        assert_eq!(
            wait_in(&mut memory, condvar, here, OnDemand, alone(&[])),
            WaitKind::Again
        );
        assert_eq!(
            wait_in(&mut memory, condvar, here, Always, alone(&[2])),
            WaitKind::Free
        );
        memory.returned(condvar, here);
        assert_eq!(
            wait_in(&mut memory, condvar, here, Always, alone(&[1])),
            WaitKind::Repeated
        );
        assert_eq!(
            wait_in(&mut memory, condvar, here, Always, alone(&[3])),
            WaitKind::Free
        );
        assert_eq!(
            wait_in(&mut memory, condvar, here, Always, alone(&[2])),
            WaitKind::Repeated
        );
        memory.returned(condvar, here);
        memory.note_change();
        assert_eq!(
            wait_in(&mut memory, condvar, here, Always, alone(&[2])),
            WaitKind::Free
        );
        let mut returns = 0;
        for state in 4.. {
            memory.returned(condvar, here);
            returns += 1;
            if wait_in(&mut memory, condvar, here, Always, alone(&[state])) != WaitKind::Free {
                break;
            }
        }
        assert!((1..=RETURNS_WITHOUT_CHANGE).contains(&returns), "{returns}");
        assert_eq!(
            wait_in(&mut memory, condvar, here, Always, alone(&[9])),
            WaitKind::Bounded
        );
    }

    #[test]
    fn what_is_touched_after_a_return_is_known() {
        let mut memory = WaitMemory::default();
        memory.note_touch(Address(1));
        assert_eq!(memory.touched(), []);
        memory.returned(Address(9), LocationRef::caller());
        memory.note_touch(Address(1));
        memory.note_touch(Address(3));
        memory.note_touch(Address(1));
        assert_eq!(memory.touched(), [Address(1), Address(3)]);
    }
}
