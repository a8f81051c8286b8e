//! A condition variable is an object whose state is the number of waiting threads. A wait consists
//! of three steps, and then acquires the mutex:
//!
//! 1. the thread enqueues itself, a write to the variable;
//! 2. it releases the mutex;
//! 3. it wakes, a write to its own *wait token*, which awaits that a notification has set it to 1.
//!
//! A notification without a waiting thread is a read. Otherwise it writes the variable and the
//! tokens of the threads that it wakes. The explorer chooses which one [`CondvarObject::notify_one`]
//! wakes. A notification alone does not establish happens-before; the mutex does.
//!
//! **Spurious wakeups.** Before it waits, a thread may return spuriously: it then only releases the
//! mutex and acquires it again. Other threads cannot observe whether it had been waiting until
//! then: a notification that would have reached it either is the reason of its return, or reached
//! another thread. The choice comes first because a wait that could always end would hide a missing
//! notification.
//!
//! **Timeouts.** A wait with a timeout can always end: a thread that was not notified removes
//! itself from the variable when it wakes, because of the timeout or spuriously.
//!
//! Module `waits` says when a thread does not wake spuriously again, and when a timeout is deferred.

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::{Address, Operation, ThreadId};

use super::location::LocationRef;
use super::mapping::Events;
use super::operation::Current;
use super::step::Step;
use super::threads::Outcomes;

const NOTIFIED: u64 = 1;
const NOT_NOTIFIED: u64 = 0;

/// A front end's condition variable.
pub trait Waiters: Copy {
    /// Lends the waiting threads of the variable. They are ordered by their ids.
    fn with<R>(self, f: impl FnOnce(&mut Vec<ThreadId>) -> R) -> R;
}

/// The object of a condition variable, and the threads that wait for it.
#[derive(Clone, Copy)]
pub struct CondvarObject<W> {
    /// The object.
    pub object: Address,
    /// The waiting threads.
    pub waiters: W,
}

/// Why a wait returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Return {
    /// The thread was notified.
    Notified,
    /// Its time-out has expired.
    TimedOut,
    /// For no reason.
    Spurious,
}

/// How a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// With a time-out.
    pub is_timed: bool,
    /// In a loop that does nothing else ([`Current::only_waits`]).
    pub only_waits: bool,
}

impl<W: Waiters> CondvarObject<W> {
    /// Wakes one waiting thread, if there is one.
    pub fn notify_one(self, current: Current, location: LocationRef) {
        let outcomes = Outcomes::Of(self.object, |waiting| {
            waiting.clamp(1, u64::from(u32::MAX)) as u32
        });
        self.notify(current, outcomes, location, |waiters, outcome| {
            let chosen = (outcome as usize).min(waiters.len() - 1);
            vec![waiters.remove(chosen)]
        });
    }

    /// Wakes all waiting threads. Returns how many there were.
    pub fn notify_all(self, current: Current, location: LocationRef) -> usize {
        self.notify(current, Outcomes::One, location, |waiters, _| {
            std::mem::take(waiters)
        })
    }

    /// Notifies the threads that `choose` takes from a list that is not empty.
    fn notify(
        self,
        current: Current,
        outcomes: Outcomes,
        location: LocationRef,
        choose: impl FnOnce(&mut Vec<ThreadId>, u32) -> Vec<ThreadId>,
    ) -> usize {
        let object = self.object;
        let intent = Intent::Access {
            object,
            effect: Effect::WriteIf(Condition::Differs(0)),
            awaits: None,
        };
        current.operation(intent, outcomes, location, |step| {
            let outcome = step.outcome();
            let (chosen, left) = self.waiters.with(|waiters| match waiters.is_empty() {
                true => (Vec::new(), 0),
                false => (choose(waiters, outcome), waiters.len() as u64),
            });
            if chosen.is_empty() {
                step.read(object);
                let events = step.target().draining(Operation::LockedLoad(object));
                step.emit(events, 0);
                return 0;
            }
            step.write(object, left);
            let events = step.target().draining(Operation::Interlocked(object));
            step.emit(events, left);
            for &thread in &chosen {
                let token = step.tokens(thread).wait;
                step.write(token, NOTIFIED);
                step.emit(Events::only(Operation::Interlocked(token)), NOTIFIED);
            }
            chosen.len()
        })
    }

    /// Releases a mutex, waits for a notification, and acquires the mutex again.
    pub fn wait(
        self,
        current: Current,
        how: Waiting,
        location: LocationRef,
        release: impl FnOnce(),
        acquire: impl FnOnce(),
    ) -> Return {
        let Waiting {
            is_timed,
            only_waits,
        } = how;
        let may_be_spurious = current.has_spurious_wakeups() && !only_waits;
        let why = if !is_timed && may_be_spurious && chooses_spurious(current, location) {
            release();
            Return::Spurious
        } else {
            self.enqueue(current, location);
            release();
            self.wake(current, how, location)
        };
        acquire();
        current.note_return(self.object, why == Return::Notified, location);
        why
    }

    fn enqueue(self, current: Current, location: LocationRef) {
        let intent = Intent::Access {
            object: self.object,
            effect: Effect::Write,
            awaits: None,
        };
        current.operation(intent, Outcomes::One, location, |step| self.enter(step));
    }

    /// Adds the thread to those that wait, in a step.
    pub fn enter(self, step: &mut Step<'_>) {
        let (object, thread) = (self.object, step.thread());
        let count = self.waiters.with(|waiters| {
            let place = waiters.partition_point(|&waiter| waiter < thread);
            waiters.insert(place, thread);
            waiters.len() as u64
        });
        step.write_in_wait(object, count);
        let events = step.target().draining(Operation::Interlocked(object));
        step.emit(events, count);
    }

    /// Waits until the thread is woken, when it is among those that wait.
    pub fn wake(self, current: Current, how: Waiting, location: LocationRef) -> Return {
        if !how.is_timed {
            return self.wake_notified(current, location);
        }
        if how.only_waits {
            self.put_off_time_out(current, location);
        }
        let may_be_spurious = current.has_spurious_wakeups() && !how.only_waits;
        self.wake_in_time(current, may_be_spurious, location)
    }

    /// Wakes after a notification.
    fn wake_notified(self, current: Current, location: LocationRef) -> Return {
        let token = current.tokens(current.thread()).wait;
        let intent = Intent::Access {
            object: token,
            effect: Effect::Write,
            awaits: Some(Condition::Equals(NOTIFIED)),
        };
        current.operation(intent, Outcomes::One, location, |step| {
            match take_token(step, token) {
                true => Return::Notified,
                // The execution is over.
                false => {
                    self.leave(step);
                    Return::Spurious
                }
            }
        })
    }

    /// Wakes after a notification, or without one.
    fn wake_in_time(
        self,
        current: Current,
        may_be_spurious: bool,
        location: LocationRef,
    ) -> Return {
        let token = current.tokens(current.thread()).wait;
        let intent = Intent::Access {
            object: token,
            effect: Effect::WriteMultiple,
            awaits: None,
        };
        let outcomes = match may_be_spurious {
            true => Outcomes::Of(token, |state| 1 + u32::from(state == NOT_NOTIFIED)),
            false => Outcomes::One,
        };
        current.operation(intent, outcomes, location, |step| {
            if take_token(step, token) {
                return Return::Notified;
            }
            self.leave(step);
            match step.outcome() {
                0 => Return::TimedOut,
                _ => Return::Spurious,
            }
        })
    }

    /// Removes a thread that was not notified.
    fn leave(self, step: &mut Step<'_>) {
        let (object, thread) = (self.object, step.thread());
        let left = self.waiters.with(|waiters| {
            waiters.retain(|&waiter| waiter != thread);
            waiters.len() as u64
        });
        step.write_in_wait(object, left);
        step.emit(Events::only(Operation::Interlocked(object)), left);
    }

    /// Lets the explorer defer a timeout in a loop that only waits, until something that the thread
    /// has read has changed, or no other thread can run.
    fn put_off_time_out(self, current: Current, location: LocationRef) {
        // A thread may be abandoned while it is suspended, so nothing on its stack owns memory.
        let count = current.touched_since_wait();
        let mut events = 1;
        for index in 0..count {
            let object = current.touched_at(index);
            if object != self.object {
                look_at(current, object, location);
                events += 1;
            }
        }
        let token = current.tokens(current.thread()).wait;
        look_at(current, token, location);
        current.wait_for_change(events, location);
    }
}

/// Whether the thread's wait returns spuriously, which the explorer chooses.
pub fn chooses_spurious(current: Current, location: LocationRef) -> bool {
    current.operation(Intent::Local, Outcomes::Fixed(2), location, |step| {
        let is_spurious = !step.is_recorded() || step.outcome() == 1;
        if is_spurious {
            step.emit(Events::only(Operation::Fence), 0);
        }
        is_spurious
    })
}

/// Wakes the thread. Returns whether it was notified.
fn take_token(step: &mut Step<'_>, token: Address) -> bool {
    let was_notified = step.write_in_wait(token, NOT_NOTIFIED) == NOTIFIED;
    let events = step.target().draining(Operation::Interlocked(token));
    step.emit(events, NOT_NOTIFIED);
    was_notified
}

/// Reads an object without an event: the program itself does not read it.
fn look_at(current: Current, object: Address, location: LocationRef) {
    let intent = Intent::Access {
        object,
        effect: Effect::Read,
        awaits: None,
    };
    current.plain_operation(intent, Outcomes::One, location, |step| step.read(object));
}
