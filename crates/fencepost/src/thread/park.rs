//! Parking: a thread waits for its token, which others may give it.

use std::panic::Location;
use std::time::Duration;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::Operation;

use crate::rt::{Current, Object, Outcomes};

/// The token is there.
const GIVEN: u64 = 1;
/// The token is not there.
const TAKEN: u64 = 0;

/// Waits until another thread [unparks](super::Thread::unpark) this one, or has done so since its
/// last park. In a check it does not return for any other reason.
#[track_caller]
pub fn park() {
    let Some(current) = Current::get() else {
        return std::thread::park();
    };
    let token = current.tokens(current.thread()).park;
    let intent = Intent::Access {
        object: token,
        effect: Effect::Write,
        awaits: Some(Condition::Equals(GIVEN)),
    };
    current.operation(intent, Outcomes::One, Location::caller(), |step| {
        step.write(token, TAKEN);
        let events = step.target().draining(Operation::Interlocked(token));
        step.emit(events, TAKEN);
        step.acquire(token);
    });
}

/// Like [`park`], for some time. In a check it may return at any time.
#[track_caller]
pub fn park_timeout(duration: Duration) {
    let Some(current) = Current::get() else {
        return std::thread::park_timeout(duration);
    };
    let location = Location::caller();
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
        // Whoever waits with a time-out does so in a loop.
        super::hint(current, location);
    }
}

/// Gives a thread its token.
pub(super) fn unpark(token: &Object, location: &'static Location<'static>) {
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
