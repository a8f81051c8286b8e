//! A mutex is an object whose state is 1 while it is held. Taking it is a write that awaits 0,
//! releasing it is a write, and a failed attempt is a read.
//!
//! The value is in a mutex of `std`. In a check that is taken and released in the same steps, and
//! never waited for.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use fencepost_explore::{Condition, Effect, Intent};

use super::{
    LockResult, TryLockError, TryLockResult, lock_outside, taken, try_wrapped, unpoisoned, wrapped,
};
use fencepost_runtime::{Current, Object, Outcomes, Step};

const FREE: u64 = 0;
const HELD: u64 = 1;

/// Mutual exclusion, as [`std::sync::Mutex`].
///
/// ```
/// use fencepost::sync::Mutex;
///
/// let count = Mutex::new(1);
/// *count.lock().unwrap() += 1;
/// assert_eq!(count.into_inner().unwrap(), 2);
/// ```
pub struct Mutex<T: ?Sized> {
    object: Object,
    inner: std::sync::Mutex<T>,
}

/// Holds a [`Mutex`] until it is dropped, as [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Taken away only where the guard is used up.
    inner: Option<std::sync::MutexGuard<'a, T>>,
    location: &'static Location<'static>,
}

impl<T> Mutex<T> {
    /// A new mutex, which nobody holds.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Mutex {
            object: Object::new("Mutex", FREE, Location::caller()),
            inner: std::sync::Mutex::new(value),
        }
    }

    /// Gives the mutex a name for reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.object.set_name(name);
        self
    }

    /// The value.
    ///
    /// # Errors
    /// The value, if the mutex is poisoned. It never is in a check.
    pub fn into_inner(self) -> LockResult<T> {
        match self.object.is_of_current() {
            false => self.inner.into_inner(),
            true => Ok(unpoisoned(self.inner.into_inner())),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until nobody holds the mutex, and takes it.
    ///
    /// # Errors
    /// The guard, if the mutex is poisoned. It never is in a check.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let location = Location::caller();
        match self.object.current(location) {
            Some(current) => Ok(self.lock_checked(current, location)),
            None => {
                let (lock, try_lock) = (|| self.inner.lock(), || self.inner.try_lock());
                let inner = lock_outside(lock, try_lock);
                wrapped(inner, |inner| self.guard(inner, location))
            }
        }
    }

    /// Takes the mutex if nobody holds it.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if it is held, and the guard if the mutex is poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let location = Location::caller();
        let Some(current) = self.object.current(location) else {
            return try_wrapped(self.inner.try_lock(), |inner| self.guard(inner, location));
        };
        let intent = Intent::Access {
            object: self.object.address(),
            effect: Effect::WriteIf(Condition::Equals(FREE)),
            awaits: None,
        };
        let inner = current.lock_operation(intent, Outcomes::One, location, |step| self.take(step));
        inner
            .map(|inner| self.guard(inner, location))
            .ok_or(TryLockError::WouldBlock)
    }

    /// Whether a thread has panicked while it held the mutex. Never in a check.
    pub fn is_poisoned(&self) -> bool {
        !self.object.is_of_current() && self.inner.is_poisoned()
    }

    /// Forgets that the mutex was poisoned.
    pub fn clear_poison(&self) {
        self.inner.clear_poison();
    }

    /// The value, for who has the mutex alone.
    ///
    /// # Errors
    /// The value, if the mutex is poisoned. It never is in a check.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        match self.object.is_of_current() {
            false => self.inner.get_mut(),
            true => Ok(unpoisoned(self.inner.get_mut())),
        }
    }

    pub(super) fn lock_checked(
        &self,
        current: Current,
        location: &'static Location<'static>,
    ) -> MutexGuard<'_, T> {
        let intent = Intent::Access {
            object: self.object.address(),
            effect: Effect::Write,
            awaits: Some(Condition::Equals(FREE)),
        };
        let inner = current.lock_operation(intent, Outcomes::One, location, |step| self.take(step));
        match inner {
            Some(inner) => self.guard(inner, location),
            None => current.cannot_wait(),
        }
    }

    /// Takes the mutex, or sees that it cannot.
    fn take(&self, step: &mut Step<'_>) -> Option<std::sync::MutexGuard<'_, T>> {
        let object = self.object.address();
        let inner = taken(self.inner.try_lock());
        if inner.is_some() {
            step.write_lock(object, HELD);
            step.acquire(object);
            step.emit(step.target().lock(object), HELD);
        } else {
            step.read(object);
            step.emit(step.target().failed_lock(object), HELD);
        }
        inner
    }

    fn guard<'a>(
        &'a self,
        inner: std::sync::MutexGuard<'a, T>,
        location: &'static Location<'static>,
    ) -> MutexGuard<'a, T> {
        MutexGuard {
            mutex: self,
            inner: Some(inner),
            location,
        }
    }
}

/// For [`Condvar`](super::Condvar).
impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }

    /// The guard of `std` instead of this one.
    pub(super) fn into_std(mut self) -> std::sync::MutexGuard<'a, T> {
        self.inner.take().expect("a guard holds its mutex")
    }

    pub(super) fn from_std(
        mutex: &'a Mutex<T>,
        inner: std::sync::MutexGuard<'a, T>,
        location: &'static Location<'static>,
    ) -> Self {
        mutex.guard(inner, location)
    }

    /// Releases the mutex; `location` is where.
    pub(super) fn release(&mut self, current: Current, location: &'static Location<'static>) {
        let object = self.mutex.object.address();
        let inner = self.inner.take();
        let intent = Intent::Access {
            object,
            effect: Effect::Write,
            awaits: None,
        };
        current.operation(intent, Outcomes::One, location, |step| {
            drop(inner);
            step.write_lock(object, FREE);
            step.release(object);
            step.emit(step.target().unlock(object), FREE);
        });
    }

    /// The value, for code that is trusted not to change it.
    pub(super) fn peek_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("a guard holds its mutex")
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.inner.is_some() {
            if let Some(current) = self.mutex.object.current_in_drop() {
                self.release(current, self.location);
            }
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("a guard holds its mutex")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        if let Some(current) = Current::get() {
            current.note_change();
        }
        self.peek_mut()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The value, if nobody holds the mutex; without an event.
impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}
