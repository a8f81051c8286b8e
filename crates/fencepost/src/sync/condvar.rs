//! A condition variable is an object whose state is the number of waiting threads. A wait consists
//! of three steps, and then acquires the mutex:
//!
//! 1. the thread enqueues itself, a write to the variable;
//! 2. it releases the mutex;
//! 3. it wakes, a write to its own *wait token*, which awaits that a notification has set it to 1.
//!
//! A notification without a waiting thread is a read. Otherwise it writes the variable and the
//! tokens of the threads that it wakes. The explorer chooses which one [`Condvar::notify_one`]
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
//! Module `waits` of the runtime says when a thread does not wake spuriously again, and when a
//! timeout is deferred.

use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::{Address, Operation, ThreadId};

use super::mutex::MutexGuard;
use super::{LockResult, wrapped};
use fencepost_runtime::{Current, Events, LocationRef, Object, Outcomes, Step};

const NOTIFIED: u64 = 1;
const NOT_NOTIFIED: u64 = 0;

/// A condition variable, as [`std::sync::Condvar`].
///
/// In a check a wait may return without a notification (a spurious wakeup), as in `std`, so it has
/// to be in a loop. A wait with a timeout may return at any time.
pub struct Condvar {
    object: Object,
    /// The waiting threads. Used in a check only.
    waiters: std::sync::Mutex<Vec<ThreadId>>,
    inner: std::sync::Condvar,
}

/// Whether a wait returned because of its timeout, as [`std::sync::WaitTimeoutResult`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait returned because of its timeout.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Why a wait returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Return {
    Notified,
    TimedOut,
    Spurious,
}

impl Condvar {
    /// Creates a new condition variable.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Condvar {
            object: Object::new("Condvar", 0, LocationRef::caller()),
            waiters: std::sync::Mutex::default(),
            inner: std::sync::Condvar::new(),
        }
    }

    /// Names the condition variable in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.object.set_name(name);
        self
    }

    /// Releases the mutex, waits for a notification, and acquires the mutex again. It may return
    /// without a notification.
    ///
    /// # Errors
    /// Returns the guard as an error if the mutex is poisoned. It never is in a check.
    #[inline(always)] // The caller's state is compared.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let location = LocationRef::caller();
        match self.object.current(location) {
            None => {
                let mutex = guard.mutex();
                let inner = self.inner.wait(guard.into_std());
                wrapped(inner, |inner| MutexGuard::from_std(mutex, inner, location))
            }
            Some(current) => {
                let only_waits = current.only_waits_without(
                    self.object.address(),
                    location,
                    guard.lock(),
                    &*guard,
                );
                let (guard, _) = self.wait_checked(current, guard, (false, only_waits), location);
                Ok(guard)
            }
        }
    }

    /// Waits while the condition holds.
    ///
    /// # Errors
    /// Returns the guard as an error if the mutex is poisoned. It never is in a check.
    #[inline(always)] // The caller's state is compared.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        let mut guard = guard;
        while guard.evaluate(&mut condition) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Like [`wait`](Self::wait), with a timeout. In a check it may return at any time.
    ///
    /// # Errors
    /// Returns the guard as an error if the mutex is poisoned. It never is in a check.
    #[inline(always)] // The caller's state is compared.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let location = LocationRef::caller();
        let Some(current) = self.object.current(location) else {
            let mutex = guard.mutex();
            let result = self.inner.wait_timeout(guard.into_std(), duration);
            return wrapped(result, |(inner, result)| {
                let guard = MutexGuard::from_std(mutex, inner, location);
                (guard, WaitTimeoutResult(result.timed_out()))
            });
        };
        let only_waits =
            current.only_waits_without(self.object.address(), location, guard.lock(), &*guard);
        let (guard, how) = self.wait_checked(current, guard, (true, only_waits), location);
        Ok((guard, WaitTimeoutResult(how == Return::TimedOut)))
    }

    /// Waits while the condition holds, with a timeout.
    ///
    /// # Errors
    /// Returns the guard as an error if the mutex is poisoned. It never is in a check.
    #[inline(always)] // The caller's state is compared.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let location = LocationRef::caller();
        let Some(current) = self.object.current(location) else {
            let mutex = guard.mutex();
            let inner = guard.into_std();
            let result = self.inner.wait_timeout_while(inner, duration, condition);
            return wrapped(result, |(inner, result)| {
                let guard = MutexGuard::from_std(mutex, inner, location);
                (guard, WaitTimeoutResult(result.timed_out()))
            });
        };
        let mut guard = guard;
        let mut has_timed_out = false;
        while guard.evaluate(&mut condition) {
            if has_timed_out {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let only_waits =
                current.only_waits_without(self.object.address(), location, guard.lock(), &*guard);
            let (again, how) = self.wait_checked(current, guard, (true, only_waits), location);
            guard = again;
            has_timed_out = how == Return::TimedOut;
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// Wakes one waiting thread, if there is one.
    #[track_caller]
    pub fn notify_one(&self) {
        let location = LocationRef::caller();
        let Some(current) = self.object.current(location) else {
            return self.inner.notify_one();
        };
        let object = self.object.address();
        let outcomes = Outcomes::Of(object, |waiting| {
            waiting.clamp(1, u64::from(u32::MAX)) as u32
        });
        self.notify(current, outcomes, location, |waiters, outcome| {
            let chosen = (outcome as usize).min(waiters.len() - 1);
            vec![waiters.remove(chosen)]
        });
    }

    /// Wakes all waiting threads.
    #[track_caller]
    pub fn notify_all(&self) {
        let location = LocationRef::caller();
        let Some(current) = self.object.current(location) else {
            return self.inner.notify_all();
        };
        self.notify(current, Outcomes::One, location, |waiters, _| {
            std::mem::take(waiters)
        });
    }

    fn waiters(&self) -> std::sync::MutexGuard<'_, Vec<ThreadId>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the threads that `choose` takes from a list that is not empty.
    fn notify(
        &self,
        current: Current,
        outcomes: Outcomes,
        location: LocationRef,
        choose: impl FnOnce(&mut Vec<ThreadId>, u32) -> Vec<ThreadId>,
    ) {
        let object = self.object.address();
        let intent = Intent::Access {
            object,
            effect: Effect::WriteIf(Condition::Differs(0)),
            awaits: None,
        };
        current.operation(intent, outcomes, location, |step| {
            let mut waiters = self.waiters();
            if waiters.is_empty() {
                step.read(object);
                let events = step.target().draining(Operation::LockedLoad(object));
                return step.emit(events, 0);
            }
            let chosen = choose(&mut waiters, step.outcome());
            let left = waiters.len() as u64;
            step.write(object, left);
            let events = step.target().draining(Operation::Interlocked(object));
            step.emit(events, left);
            for thread in chosen {
                let token = step.tokens(thread).wait;
                step.write(token, NOTIFIED);
                step.emit(Events::only(Operation::Interlocked(token)), NOTIFIED);
            }
        });
    }

    fn wait_checked<'a, T>(
        &self,
        current: Current,
        mut guard: MutexGuard<'a, T>,
        (is_timed, only_waits): (bool, bool),
        location: LocationRef,
    ) -> (MutexGuard<'a, T>, Return) {
        let object = self.object.address();
        let mutex = guard.mutex();
        let may_be_spurious = current.has_spurious_wakeups() && !only_waits;
        let how = if !is_timed && may_be_spurious && chooses_spurious(current, location) {
            guard.release(current, location);
            Return::Spurious
        } else {
            self.enqueue(current, location);
            guard.release(current, location);
            if is_timed && only_waits {
                self.put_off_time_out(current, location);
            }
            match is_timed {
                true => self.wake_in_time(current, may_be_spurious, location),
                false => self.wake(current, location),
            }
        };
        let guard = mutex.lock_checked(current, location);
        current.note_return(object, how == Return::Notified, location);
        (guard, how)
    }

    fn enqueue(&self, current: Current, location: LocationRef) {
        let object = self.object.address();
        let intent = Intent::Access {
            object,
            effect: Effect::Write,
            awaits: None,
        };
        current.operation(intent, Outcomes::One, location, |step| {
            let mut waiters = self.waiters();
            let place = waiters.partition_point(|&waiter| waiter < step.thread());
            waiters.insert(place, step.thread());
            step.write_in_wait(object, waiters.len() as u64);
            let events = step.target().draining(Operation::Interlocked(object));
            step.emit(events, waiters.len() as u64);
        });
    }

    /// Wakes after a notification.
    fn wake(&self, current: Current, location: LocationRef) -> Return {
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
        &self,
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
    fn leave(&self, step: &mut Step<'_>) {
        let object = self.object.address();
        let mut waiters = self.waiters();
        waiters.retain(|&waiter| waiter != step.thread());
        step.write_in_wait(object, waiters.len() as u64);
        let events = Events::only(Operation::Interlocked(object));
        step.emit(events, waiters.len() as u64);
    }

    /// Lets the explorer defer a timeout in a loop that only waits, until something that the thread
    /// has read has changed, or no other thread can run.
    fn put_off_time_out(&self, current: Current, location: LocationRef) {
        let mut watched = current.touched_since_wait();
        watched.retain(|&object| object != self.object.address());
        watched.push(current.tokens(current.thread()).wait);
        let events = watched.len() as u32;
        for object in watched {
            look_at(current, object, location);
        }
        current.wait_for_change(events, location);
    }
}

/// Whether the thread's wait returns spuriously, which the explorer chooses.
pub(crate) fn chooses_spurious(current: Current, location: LocationRef) -> bool {
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

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Condvar::new()
    }
}
