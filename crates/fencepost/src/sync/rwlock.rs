//! A reader-writer lock consists of the steps of [`fencepost_runtime::rwlock`], and the value. Whether a waiting writer
//! blocks readers is not specified by `std`.
//!
//! The value is in a lock of `std`. In a check that is acquired and released in the same steps, and
//! is always free when it is acquired.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::{
    LockResult, PoisonError, TryLockError, TryLockResult, lock_outside, taken, try_wrapped,
    unpoisoned, wrapped,
};
use fencepost_runtime::LocationRef;
use fencepost_runtime::names::{FREE, WAITING_WRITERS};
use fencepost_runtime::rwlock::{ReadUntil, RwLockObjects};
use fencepost_runtime::{Current, Object};

/// A reader-writer lock, as [`std::sync::RwLock`].
///
/// ```
/// use fencepost::sync::RwLock;
///
/// let lock = RwLock::new(1);
/// *lock.write().unwrap() += 1;
/// assert_eq!(*lock.read().unwrap() + *lock.read().unwrap(), 4);
/// ```
pub struct RwLock<T: ?Sized> {
    known: Known,
    inner: std::sync::RwLock<T>,
}

/// The objects of a lock.
struct Known {
    object: Object,
    /// Its state is the number of waiting writers, if writers are announced.
    waiting: Option<Object>,
    /// The joined clocks of readers that have released the lock, for writers.
    read_until: std::sync::Mutex<Vec<u32>>,
}

/// The guard of an [`RwLock`] that is held for reading, which releases it when dropped, as
/// [`std::sync::RwLockReadGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    known: &'a Known,
    /// `None` only while the guard is consumed.
    inner: Option<std::sync::RwLockReadGuard<'a, T>>,
    location: LocationRef,
}

/// The guard of an [`RwLock`] that is held for writing, which releases it when dropped, as
/// [`std::sync::RwLockWriteGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    known: &'a Known,
    /// `None` only while the guard is consumed.
    inner: Option<std::sync::RwLockWriteGuard<'a, T>>,
    location: LocationRef,
}

impl<T> RwLock<T> {
    /// Creates a new unlocked lock.
    #[track_caller]
    pub fn new(value: T) -> Self {
        RwLock {
            known: Known::new(LocationRef::caller()),
            inner: std::sync::RwLock::new(value),
        }
    }

    /// Names the lock in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.known.set_name(name);
        self
    }

    /// Consumes the lock and returns the value.
    ///
    /// # Errors
    /// Returns the value as an error if the lock is poisoned. It never is in a check.
    pub fn into_inner(self) -> LockResult<T> {
        match self.known.object.is_of_current() {
            false => self.inner.into_inner(),
            true => Ok(unpoisoned(self.inner.into_inner())),
        }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Acquires the lock for reading, and waits until no writer holds it.
    ///
    /// A waiting writer may block readers: a thread that holds the lock and acquires it again may
    /// deadlock, which a check finds.
    ///
    /// # Errors
    /// Returns the guard as an error if the lock is poisoned. It never is in a check.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let location = LocationRef::caller();
        let Some(current) = self.known.object.current(location) else {
            let (lock, try_lock) = (|| self.inner.read(), || self.inner.try_read());
            let inner = lock_outside(lock, try_lock);
            return wrapped(inner, |inner| self.reader(inner, location));
        };
        let take = || taken(self.inner.try_read());
        let inner = self.known.steps().read(current, location, take);
        match inner {
            Some(inner) => Ok(self.reader(inner, location)),
            None => current.cannot_wait(),
        }
    }

    /// Acquires the lock for reading if no writer holds it. It may fail if a writer waits for it.
    ///
    /// # Errors
    /// Returns [`TryLockError::WouldBlock`] if it fails, and the guard if the lock is poisoned.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let location = LocationRef::caller();
        let Some(current) = self.known.object.current(location) else {
            return try_wrapped(self.inner.try_read(), |inner| self.reader(inner, location));
        };
        let take = || taken(self.inner.try_read());
        let inner = self.known.steps().try_read(current, location, take);
        inner
            .map(|inner| self.reader(inner, location))
            .ok_or(TryLockError::WouldBlock)
    }

    /// Acquires the lock for writing, and waits until it is free.
    ///
    /// # Errors
    /// Returns the guard as an error if the lock is poisoned. It never is in a check.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let location = LocationRef::caller();
        let Some(current) = self.known.object.current(location) else {
            let (lock, try_lock) = (|| self.inner.write(), || self.inner.try_write());
            let inner = lock_outside(lock, try_lock);
            return wrapped(inner, |inner| self.writer(inner, location));
        };
        let take = || taken(self.inner.try_write());
        let inner = self.known.steps().write(current, location, take);
        match inner {
            Some(inner) => Ok(self.writer(inner, location)),
            None => current.cannot_wait(),
        }
    }

    /// Acquires the lock for writing if it is free.
    ///
    /// # Errors
    /// Returns [`TryLockError::WouldBlock`] if it is held, and the guard if the lock is poisoned.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let location = LocationRef::caller();
        let Some(current) = self.known.object.current(location) else {
            return try_wrapped(self.inner.try_write(), |inner| self.writer(inner, location));
        };
        let take = || taken(self.inner.try_write());
        let inner = self.known.steps().try_write(current, location, take);
        inner
            .map(|inner| self.writer(inner, location))
            .ok_or(TryLockError::WouldBlock)
    }

    /// Whether the lock is poisoned. It never is in a check.
    pub fn is_poisoned(&self) -> bool {
        !self.known.object.is_of_current() && self.inner.is_poisoned()
    }

    /// Clears the poisoned state.
    pub fn clear_poison(&self) {
        self.inner.clear_poison();
    }

    /// Returns a mutable reference to the value.
    ///
    /// # Errors
    /// Returns the value as an error if the lock is poisoned. It never is in a check.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        match self.known.object.is_of_current() {
            false => self.inner.get_mut(),
            true => Ok(unpoisoned(self.inner.get_mut())),
        }
    }

    fn reader<'a>(
        &'a self,
        inner: std::sync::RwLockReadGuard<'a, T>,
        location: LocationRef,
    ) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard {
            known: &self.known,
            inner: Some(inner),
            location,
        }
    }

    fn writer<'a>(
        &'a self,
        inner: std::sync::RwLockWriteGuard<'a, T>,
        location: LocationRef,
    ) -> RwLockWriteGuard<'a, T> {
        RwLockWriteGuard {
            known: &self.known,
            inner: Some(inner),
            location,
        }
    }
}

impl Known {
    fn new(location: LocationRef) -> Self {
        let is_announced = Current::get().is_some_and(Current::are_writers_announced);
        Known {
            object: Object::new("RwLock", FREE, location),
            waiting: is_announced.then(|| Object::new(WAITING_WRITERS, 0, location)),
            read_until: std::sync::Mutex::default(),
        }
    }

    fn set_name(&self, name: &str) {
        self.object.set_name(name);
        if let Some(waiting) = &self.waiting {
            waiting.set_name(&format!("{WAITING_WRITERS} {name}"));
        }
    }

    fn steps(&self) -> RwLockObjects<&Known> {
        RwLockObjects {
            object: self.object.address(),
            waiting: self.waiting.map(|waiting| waiting.address()),
            read_until: self,
        }
    }
}

impl ReadUntil for &Known {
    fn with(self, f: impl FnOnce(&mut Vec<u32>)) {
        let read_until = self.read_until.lock();
        f(&mut read_until.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Releases the lock, or downgrades it, in a step that calls `release` and sets the state to
/// `after` of the state before.
fn release<R>(
    known: &Known,
    location: LocationRef,
    release: impl FnOnce() -> R,
    after: impl FnOnce(u64) -> u64,
) -> R {
    let Some(current) = known.object.current_in_drop() else {
        return release();
    };
    known.steps().release(current, location, release, after)
}

#[cfg(rustc_1_92)]
impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Atomically downgrades a write lock to a read lock. Like the method of `std`, it needs Rust
    /// 1.92 or later.
    #[track_caller]
    pub fn downgrade(mut this: Self) -> RwLockReadGuard<'a, T> {
        let location = LocationRef::caller();
        let inner = this.inner.take().expect("a guard holds its lock");
        let downgrade = || std::sync::RwLockWriteGuard::downgrade(inner);
        let inner = release(this.known, location, downgrade, |_| 1);
        // The thread keeps the lock.
        if this.known.object.is_of_current() {
            if let Some(current) = Current::get() {
                current.note_lock(this.known.object.address());
            }
        }
        RwLockReadGuard {
            known: this.known,
            inner: Some(inner),
            location,
        }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            let after = |state: u64| state.saturating_sub(1);
            release(self.known, self.location, || drop(inner), after);
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            release(self.known, self.location, || drop(inner), |_| FREE);
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("a guard holds its lock")
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("a guard holds its lock")
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        if let Some(current) = Current::get() {
            current.note_change();
        }
        self.inner.as_mut().expect("a guard holds its lock")
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Formats the value if no writer holds the lock, without an event.
impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}
