//! Parking: a thread waits for its token, which other threads set.
//!
//! Before it waits, a thread may return without the token (a spurious wakeup), as from a [condition
//! variable](crate::sync::Condvar). Module `waits` of the runtime says when it does not do so
//! again.
//!
//! **Waits that park.** The end of a scope and the waits of channels park in `std`, so they may take a
//! token that was meant for a later park. They need not: a wait that looks again before it parks leaves
//! the token. Until a wait returns its thread does nothing that others could notice, so it is enough to
//! choose at its end whether the token was taken. The opposite, a token that such a wait leaves behind,
//! is a spurious wakeup of a later park.

use std::time::Duration;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::{Address, Operation};

use fencepost_runtime::condvar::chooses_spurious;
use fencepost_runtime::{Current, LocationRef, Object, Outcomes};

/// The token is set.
const GIVEN: u64 = 1;
/// The token is not set.
const TAKEN: u64 = 0;

/// Blocks until another thread [unparks](super::Thread::unpark) this one, or has done so since its
/// last park. In a check it may also return spuriously, as in `std`, so it has to be in a loop.
#[inline(always)] // The caller's state is compared.
#[track_caller]
pub fn park() {
    let Some(current) = Current::get() else {
        return std::thread::park();
    };
    let location = LocationRef::caller();
    let token = current.tokens(current.thread()).park;
    let only_waits = current.only_waits(token, location);
    park_checked(current, token, only_waits, location);
}

fn park_checked(current: Current, token: Address, only_waits: bool, location: LocationRef) {
    current.note_park();
    let may_be_spurious = current.has_spurious_wakeups() && !only_waits;
    if may_be_spurious && chooses_spurious(current, location) {
        return current.note_return(token, false, location);
    }
    let intent = Intent::Access {
        object: token,
        effect: Effect::Write,
        awaits: Some(Condition::Equals(GIVEN)),
    };
    current.operation(intent, Outcomes::One, location, |step| {
        step.write(token, TAKEN);
        let events = step.target().draining(Operation::Interlocked(token));
        step.emit(events, TAKEN);
        step.acquire(token);
    });
    current.note_return(token, true, location);
}

/// Like [`park`], with a timeout. In a check it may return at any time.
#[track_caller]
pub fn park_timeout(duration: Duration) {
    let Some(current) = Current::get() else {
        return std::thread::park_timeout(duration);
    };
    let location = LocationRef::caller();
    let token = current.tokens(current.thread()).park;
    let intent = Intent::Access {
        object: token,
        effect: Effect::WriteIf(Condition::Equals(GIVEN)),
        awaits: None,
    };
    let was_given = current.operation(intent, Outcomes::One, location, |step| {
        let was_given = step.state(token) == GIVEN;
        let operation = if was_given {
            step.write(token, TAKEN);
            Operation::Interlocked(token)
        } else {
            step.read(token);
            Operation::LockedLoad(token)
        };
        let events = step.target().draining(operation);
        step.emit(events, TAKEN);
        step.acquire(token);
        was_given
    });
    if !was_given {
        // A wait with a timeout is mostly in a loop.
        super::hint(current, location);
    }
}

/// The calling thread has waited in a way in which `std` parks, so its token may have been taken.
pub(crate) fn end_parking_wait(current: Current, location: LocationRef) {
    if !current.do_waits_take_tokens() {
        return current.note_parking_wait();
    }
    let token = current.tokens(current.thread()).park;
    let intent = Intent::Access {
        object: token,
        effect: Effect::WriteIf(Condition::Equals(GIVEN)),
        awaits: None,
    };
    let outcomes = Outcomes::Of(token, |state| 1 + u32::from(state == GIVEN));
    current.operation(intent, outcomes, location, |step| {
        if step.state(token) != GIVEN {
            step.read(token);
            return;
        }
        let is_taken = step.is_recorded() && step.outcome() == 1;
        step.write(token, if is_taken { TAKEN } else { GIVEN });
        if is_taken {
            let events = step.target().draining(Operation::Interlocked(token));
            step.emit(events, TAKEN);
        }
    });
}

/// Sets the token of a thread.
pub(super) fn unpark(token: &Object, location: LocationRef) {
    let Some(current) = token.current(location) else {
        return;
    };
    let token = token.address();
    let intent = Intent::Access {
        object: token,
        effect: Effect::Write,
        awaits: None,
    };
    current.operation(intent, Outcomes::One, location, |step| {
        step.write(token, GIVEN);
        let events = step.target().draining(Operation::Interlocked(token));
        step.emit(events, GIVEN);
        step.release(token);
    });
}
