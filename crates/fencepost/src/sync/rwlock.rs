//! A reader-writer lock is an object whose state is the number of its readers, or [`WRITTEN`].
//! Every taking and releasing is a write to it, that of a reader too, and a failed attempt is a read.
//!
//! The value is in a lock of `std`. In a check that is taken and released in the same steps, and
//! never waited for.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use fencepost_explore::{Condition, Effect, Intent};

use super::{
    LockResult, TryLockError, TryLockResult, lock_outside, taken, try_wrapped, unpoisoned, wrapped,
};
use crate::rt::{Current, Object, Outcomes, Step};

/// Nobody holds the lock.
const FREE: u64 = 0;
/// A writer holds the lock.
const WRITTEN: u64 = u64::MAX;

/// A lock that many readers or one writer can hold, as [`std::sync::RwLock`].
///
/// ```
/// use fencepost::sync::RwLock;
///
/// let lock = RwLock::new(1);
/// *lock.write().unwrap() += 1;
/// assert_eq!(*lock.read().unwrap() + *lock.read().unwrap(), 4);
/// ```
pub struct RwLock<T: ?Sized> {
    object: Object,
    inner: std::sync::RwLock<T>,
}

/// Holds an [`RwLock`] for reading until it is dropped, as [`std::sync::RwLockReadGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    object: &'a Object,
    /// Taken away only where the guard is used up.
    inner: Option<std::sync::RwLockReadGuard<'a, T>>,
    location: &'static Location<'static>,
}

/// Holds an [`RwLock`] for writing until it is dropped, as [`std::sync::RwLockWriteGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    object: &'a Object,
    /// Taken away only where the guard is used up.
    inner: Option<std::sync::RwLockWriteGuard<'a, T>>,
    location: &'static Location<'static>,
}

impl<T> RwLock<T> {
    /// A new lock, which nobody holds.
    #[track_caller]
    pub fn new(value: T) -> Self {
        RwLock {
            object: Object::new("RwLock", FREE, Location::caller()),
            inner: std::sync::RwLock::new(value),
        }
    }

    /// Gives the lock a name for reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.object.set_name(name);
        self
    }

    /// The value.
    ///
    /// # Errors
    /// The value, if the lock is poisoned. It never is in a check.
    pub fn into_inner(self) -> LockResult<T> {
        match self.object.is_of_current() {
            false => self.inner.into_inner(),
            true => Ok(unpoisoned(self.inner.into_inner())),
        }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no writer holds the lock, and takes it for reading.
    ///
    /// # Errors
    /// The guard, if the lock is poisoned. It never is in a check.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let location = Location::caller();
        let Some(current) = self.object.current(location) else {
            let (lock, try_lock) = (|| self.inner.read(), || self.inner.try_read());
            let inner = lock_outside(lock, try_lock);
            return wrapped(inner, |inner| self.reader(inner, location));
        };
        let awaits = Some(Condition::Differs(WRITTEN));
        let intent = self.intent(Effect::Write, awaits);
        let inner = current.operation(intent, Outcomes::One, location, |step| self.take_read(step));
        match inner {
            Some(inner) => Ok(self.reader(inner, location)),
            None => current.cannot_wait(),
        }
    }

    /// Takes the lock for reading if no writer holds it.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if one does, and the guard if the lock is poisoned.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let location = Location::caller();
        let Some(current) = self.object.current(location) else {
            return try_wrapped(self.inner.try_read(), |inner| self.reader(inner, location));
        };
        let intent = self.intent(Effect::WriteIf(Condition::Differs(WRITTEN)), None);
        let inner = current.operation(intent, Outcomes::One, location, |step| self.take_read(step));
        inner
            .map(|inner| self.reader(inner, location))
            .ok_or(TryLockError::WouldBlock)
    }

    /// Waits until nobody holds the lock, and takes it for writing.
    ///
    /// # Errors
    /// The guard, if the lock is poisoned. It never is in a check.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let location = Location::caller();
        let Some(current) = self.object.current(location) else {
            let (lock, try_lock) = (|| self.inner.write(), || self.inner.try_write());
            let inner = lock_outside(lock, try_lock);
            return wrapped(inner, |inner| self.writer(inner, location));
        };
        let intent = self.intent(Effect::Write, Some(Condition::Equals(FREE)));
        let inner = current.operation(intent, Outcomes::One, location, |step| {
            self.take_write(step)
        });
        match inner {
            Some(inner) => Ok(self.writer(inner, location)),
            None => current.cannot_wait(),
        }
    }

    /// Takes the lock for writing if nobody holds it.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if it is held, and the guard if the lock is poisoned.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let location = Location::caller();
        let Some(current) = self.object.current(location) else {
            return try_wrapped(self.inner.try_write(), |inner| self.writer(inner, location));
        };
        let intent = self.intent(Effect::WriteIf(Condition::Equals(FREE)), None);
        let inner = current.operation(intent, Outcomes::One, location, |step| {
            self.take_write(step)
        });
        inner
            .map(|inner| self.writer(inner, location))
            .ok_or(TryLockError::WouldBlock)
    }

    /// Whether a writer has panicked while it held the lock. Never in a check.
    pub fn is_poisoned(&self) -> bool {
        !self.object.is_of_current() && self.inner.is_poisoned()
    }

    /// Forgets that the lock was poisoned.
    pub fn clear_poison(&self) {
        self.inner.clear_poison();
    }

    /// The value, for who has the lock alone.
    ///
    /// # Errors
    /// The value, if the lock is poisoned. It never is in a check.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        match self.object.is_of_current() {
            false => self.inner.get_mut(),
            true => Ok(unpoisoned(self.inner.get_mut())),
        }
    }

    fn intent(&self, effect: Effect, awaits: Option<Condition>) -> Intent {
        Intent::Access {
            object: self.object.address(),
            effect,
            awaits,
        }
    }

    fn take_read(&self, step: &mut Step<'_>) -> Option<std::sync::RwLockReadGuard<'_, T>> {
        let inner = taken(self.inner.try_read());
        let readers = step.state(self.object.address()).wrapping_add(1);
        self.record_attempt(step, inner.is_some().then_some(readers));
        inner
    }

    fn take_write(&self, step: &mut Step<'_>) -> Option<std::sync::RwLockWriteGuard<'_, T>> {
        let inner = taken(self.inner.try_write());
        self.record_attempt(step, inner.is_some().then_some(WRITTEN));
        inner
    }

    /// The lock is taken, which gives it a new state, or not.
    fn record_attempt(&self, step: &mut Step<'_>, state: Option<u64>) {
        let object = self.object.address();
        match state {
            Some(state) => {
                step.write_lock(object, state);
                step.acquire(object);
                step.emit(step.target().lock(object), state);
            }
            None => {
                let state = step.read(object);
                step.emit(step.target().failed_lock(object), state);
            }
        }
    }

    fn reader<'a>(
        &'a self,
        inner: std::sync::RwLockReadGuard<'a, T>,
        location: &'static Location<'static>,
    ) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard {
            object: &self.object,
            inner: Some(inner),
            location,
        }
    }

    fn writer<'a>(
        &'a self,
        inner: std::sync::RwLockWriteGuard<'a, T>,
        location: &'static Location<'static>,
    ) -> RwLockWriteGuard<'a, T> {
        RwLockWriteGuard {
            object: &self.object,
            inner: Some(inner),
            location,
        }
    }
}

/// Releases the lock, or a part of it, in a step that calls `release` and gives it the state
/// that `after` makes of the one before.
fn release<R>(
    object: &Object,
    location: &'static Location<'static>,
    release: impl FnOnce() -> R,
    after: impl FnOnce(u64) -> u64,
) -> R {
    let Some(current) = Current::get().filter(|_| object.is_of_current()) else {
        return release();
    };
    let object = object.address();
    let intent = Intent::Access {
        object,
        effect: Effect::Write,
        awaits: None,
    };
    current.operation(intent, Outcomes::One, location, |step| {
        let result = release();
        let state = after(step.state(object));
        step.write_lock(object, state);
        step.release(object);
        step.emit(step.target().unlock(object), state);
        result
    })
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Turns the writer into a reader, without a gap for other writers.
    #[track_caller]
    pub fn downgrade(mut this: Self) -> RwLockReadGuard<'a, T> {
        let location = Location::caller();
        let inner = this.inner.take().expect("a guard holds its lock");
        let downgrade = || std::sync::RwLockWriteGuard::downgrade(inner);
        let inner = release(this.object, location, downgrade, |_| 1);
        // The thread goes on holding the lock.
        if this.object.is_of_current()
            && let Some(current) = Current::get()
        {
            current.note_lock(this.object.address());
        }
        RwLockReadGuard {
            object: this.object,
            inner: Some(inner),
            location,
        }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            let after = |state: u64| state.saturating_sub(1);
            release(self.object, self.location, || drop(inner), after);
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            release(self.object, self.location, || drop(inner), |_| FREE);
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

/// The value, if no writer holds the lock; without an event.
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
