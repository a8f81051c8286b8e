//! A mutex consists of the steps of [`fencepost_runtime::mutex`], and the value.
//!
//! The value is in a mutex of `std`. In a check that is acquired and released in the same steps,
//! and is always free when it is acquired.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::{
    LockResult, TryLockError, TryLockResult, lock_outside, taken, try_wrapped, unpoisoned, wrapped,
};
use fencepost_runtime::mutex::FREE;
use fencepost_runtime::{Current, LocationRef, Object};

/// A mutual exclusion primitive, as [`std::sync::Mutex`].
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

/// The guard of a locked [`Mutex`], which unlocks it when dropped, as [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// `None` only while the guard is consumed.
    inner: Option<std::sync::MutexGuard<'a, T>>,
    location: LocationRef,
}

impl<T> Mutex<T> {
    /// Creates a new unlocked mutex.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Mutex {
            object: Object::new("Mutex", FREE, LocationRef::caller()),
            inner: std::sync::Mutex::new(value),
        }
    }

    /// Names the mutex in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.object.set_name(name);
        self
    }

    /// Consumes the mutex and returns the value.
    ///
    /// # Errors
    /// Returns the value as an error if the mutex is poisoned. It never is in a check.
    pub fn into_inner(self) -> LockResult<T> {
        match self.object.is_of_current() {
            false => self.inner.into_inner(),
            true => Ok(unpoisoned(self.inner.into_inner())),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Acquires the mutex, and waits until it can.
    ///
    /// # Errors
    /// Returns the guard as an error if the mutex is poisoned. It never is in a check.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let location = LocationRef::caller();
        match self.object.current(location) {
            Some(current) => Ok(self.lock_checked(current, location)),
            None => {
                let (lock, try_lock) = (|| self.inner.lock(), || self.inner.try_lock());
                let inner = lock_outside(lock, try_lock);
                wrapped(inner, |inner| self.guard(inner, location))
            }
        }
    }

    /// Acquires the mutex if it is not locked.
    ///
    /// # Errors
    /// Returns [`TryLockError::WouldBlock`] if the mutex is locked, and the guard if it is
    /// poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let location = LocationRef::caller();
        let Some(current) = self.object.current(location) else {
            return try_wrapped(self.inner.try_lock(), |inner| self.guard(inner, location));
        };
        let take = || taken(self.inner.try_lock());
        let inner = current.try_lock_mutex(self.object.address(), location, take);
        inner
            .map(|inner| self.guard(inner, location))
            .ok_or(TryLockError::WouldBlock)
    }

    /// Whether the mutex is poisoned. It never is in a check.
    pub fn is_poisoned(&self) -> bool {
        !self.object.is_of_current() && self.inner.is_poisoned()
    }

    /// Clears the poisoned state.
    pub fn clear_poison(&self) {
        self.inner.clear_poison();
    }

    /// Returns a mutable reference to the value.
    ///
    /// # Errors
    /// Returns the value as an error if the mutex is poisoned. It never is in a check.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        match self.object.is_of_current() {
            false => self.inner.get_mut(),
            true => Ok(unpoisoned(self.inner.get_mut())),
        }
    }

    pub(super) fn lock_checked(
        &self,
        current: Current,
        location: LocationRef,
    ) -> MutexGuard<'_, T> {
        let take = || taken(self.inner.try_lock());
        let inner = current.lock_mutex(self.object.address(), location, take);
        match inner {
            Some(inner) => self.guard(inner, location),
            None => current.cannot_wait(),
        }
    }

    fn guard<'a>(
        &'a self,
        inner: std::sync::MutexGuard<'a, T>,
        location: LocationRef,
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

    /// Consumes the guard and returns the guard of `std`.
    pub(super) fn into_std(mut self) -> std::sync::MutexGuard<'a, T> {
        self.inner.take().expect("a guard holds its mutex")
    }

    pub(super) fn from_std(
        mutex: &'a Mutex<T>,
        inner: std::sync::MutexGuard<'a, T>,
        location: LocationRef,
    ) -> Self {
        mutex.guard(inner, location)
    }

    /// Releases the mutex, at a source location.
    pub(super) fn release(&mut self, current: Current, location: LocationRef) {
        let inner = self.inner.take();
        current.unlock_mutex(self.mutex.object.address(), location, || drop(inner));
    }

    /// The object of its mutex.
    pub(super) fn lock(&self) -> fencepost_memory::Address {
        self.mutex.object.address()
    }

    fn value(&mut self) -> &mut T {
        self.inner.as_mut().expect("a guard holds its mutex")
    }

    /// Evaluates a condition on the value, which mostly does not change it.
    pub(super) fn evaluate(&mut self, condition: &mut impl FnMut(&mut T) -> bool) -> bool
    where
        T: Sized,
    {
        match Current::get() {
            None => condition(self.value()),
            Some(current) => current.watch_changes(self.value(), condition),
        }
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
            current.note_change_by(self.mutex.object.address());
        }
        self.value()
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

/// Formats the value if the mutex is not locked, without an event.
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
