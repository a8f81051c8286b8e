//! A condition variable consists of the steps of [`fencepost_runtime::condvar`].

use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

use fencepost_memory::ThreadId;

use super::mutex::MutexGuard;
use super::{LockResult, wrapped};
use fencepost_runtime::condvar::{CondvarObject, Return, Waiters, Waiting};
use fencepost_runtime::{Current, LocationRef, Object};

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

/// The waiting threads of a variable.
#[derive(Clone, Copy)]
struct WaitersOf<'a>(&'a Condvar);

impl Waiters for WaitersOf<'_> {
    fn with<R>(self, f: impl FnOnce(&mut Vec<ThreadId>) -> R) -> R {
        let waiters = self.0.waiters.lock();
        f(&mut waiters.unwrap_or_else(PoisonError::into_inner))
    }
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
        self.steps().notify_one(current, location);
    }

    /// Wakes all waiting threads.
    #[track_caller]
    pub fn notify_all(&self) {
        let location = LocationRef::caller();
        let Some(current) = self.object.current(location) else {
            return self.inner.notify_all();
        };
        self.steps().notify_all(current, location);
    }

    fn steps(&self) -> CondvarObject<WaitersOf<'_>> {
        CondvarObject {
            object: self.object.address(),
            waiters: WaitersOf(self),
        }
    }

    fn wait_checked<'a, T>(
        &self,
        current: Current,
        mut guard: MutexGuard<'a, T>,
        (is_timed, only_waits): (bool, bool),
        location: LocationRef,
    ) -> (MutexGuard<'a, T>, Return) {
        let mutex = guard.mutex();
        let how = Waiting {
            is_timed,
            only_waits,
        };
        let mut again = None;
        let release = || guard.release(current, location);
        let acquire = || again = Some(mutex.lock_checked(current, location));
        let why = self.steps().wait(current, how, location, release, acquire);
        let guard = again.expect("the mutex was acquired again");
        (guard, why)
    }
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
