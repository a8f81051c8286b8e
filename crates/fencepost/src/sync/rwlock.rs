//! A reader-writer lock is an object whose state is the number of its readers, or [`WRITTEN`].
//! Acquiring and releasing it are writes, for readers too, and a failed attempt is a read.
//! Readers are ordered with writers, but not with each other.
//!
//! A waiting writer may block readers that come after it: `std` does not specify that. Mostly it
//! makes no difference, since the writer could have come a little later. But it does for a reader
//! that waits while it holds the lock, since it may wait for a blocked reader (itself, if it reads
//! again), and for a reader that does not wait (`try_read`). If a program has either, the check
//! restarts with [`Setup::are_writers_announced`](fencepost_runtime::Setup::are_writers_announced):
//! another object of the lock then counts the waiting writers. Readers may wait until there are none,
//! and an attempt to read may fail while there are some. They need not: when the lock becomes free,
//! `std` wakes a writer, and a reader may still come first.
//!
//! The value is in a lock of `std`. In a check that is acquired and released in the same steps, and
//! is always free when it is acquired.

use std::fmt;
use std::ops::{Deref, DerefMut};

use fencepost_explore::{Condition, Effect, Intent, OptimisticLoad};
use fencepost_memory::Address;

use super::{
    LockResult, PoisonError, TryLockError, TryLockResult, lock_outside, taken, try_wrapped,
    unpoisoned, wrapped,
};
use fencepost_runtime::LocationRef;
use fencepost_runtime::names::{FREE, READER_LEFT, WAITING_WRITERS, WRITTEN};
use fencepost_runtime::{Current, Object, Outcomes, Step};

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

/// How the lock is acquired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    /// By an operation that waits.
    Waiting,
    /// By an attempt. `std` first reads the lock with a plain load, and fails if that shows that it
    /// is not free.
    Trying,
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
        self.known.await_writers(current, location);
        let awaits = Some(Condition::Differs(WRITTEN));
        let intent = self.intent(Effect::Write, awaits);
        let inner = current.lock_operation(intent, Outcomes::One, location, |step| {
            self.take_read(step, Taking::Waiting)
        });
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
        if self.known.is_held_up(current, location) {
            return Err(TryLockError::WouldBlock);
        }
        let mut met_readers = false;
        let intent = self.intent(Effect::WriteIf(Condition::Differs(WRITTEN)), None);
        let inner = current.lock_operation(intent, Outcomes::One, location, |step| {
            let state = step.state(self.known.object.address());
            met_readers = step.is_recorded() && state != FREE && state != WRITTEN;
            self.take_read(step, Taking::Trying)
        });
        if met_readers {
            // It could have failed because of a waiting writer.
            current.note_blocked_reader(self.known.object.address());
        }
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
        current.note_writer(self.known.object.address());
        let inner = match self.known.waiting {
            None => {
                let intent = self.intent(Effect::Write, Some(Condition::Equals(FREE)));
                current.lock_operation(intent, Outcomes::One, location, |step| {
                    self.take_write(step, Taking::Waiting)
                })
            }
            Some(waiting) => self.write_announced(current, waiting.address(), location),
        };
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
        let intent = self.intent(Effect::WriteIf(Condition::Equals(FREE)), None);
        let inner = current.lock_operation(intent, Outcomes::One, location, |step| {
            self.take_write(step, Taking::Trying)
        });
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

    /// Acquires the lock for writing. Meanwhile it is announced as a waiting writer.
    fn write_announced(
        &self,
        current: Current,
        waiting: Address,
        location: LocationRef,
    ) -> Option<std::sync::RwLockWriteGuard<'_, T>> {
        let count = |change: fn(u64) -> u64| {
            let intent = Intent::Access {
                object: waiting,
                effect: Effect::Write,
                awaits: None,
            };
            current.plain_operation(intent, Outcomes::One, location, |step| {
                let writers = change(step.state(waiting));
                step.write_in_wait(waiting, writers);
            });
        };
        count(|writers| writers + 1);
        let intent = self.intent(Effect::Write, Some(Condition::Equals(FREE)));
        let inner = current.lock_operation(intent, Outcomes::One, location, |step| {
            self.take_write(step, Taking::Waiting)
        });
        // Until then it blocks only those that the lock blocks.
        count(|writers| writers.saturating_sub(1));
        inner
    }

    fn intent(&self, effect: Effect, awaits: Option<Condition>) -> Intent {
        Intent::Access {
            object: self.known.object.address(),
            effect,
            awaits,
        }
    }

    fn take_read(
        &self,
        step: &mut Step<'_>,
        taking: Taking,
    ) -> Option<std::sync::RwLockReadGuard<'_, T>> {
        let inner = taken(self.inner.try_read());
        let object = self.known.object.address();
        let readers = step.state(object).wrapping_add(1);
        let fails = Condition::Equals(WRITTEN);
        self.record_attempt(step, taking, fails, inner.is_some().then_some(readers));
        if inner.is_some() {
            step.begin_reading(object);
        }
        inner
    }

    fn take_write(
        &self,
        step: &mut Step<'_>,
        taking: Taking,
    ) -> Option<std::sync::RwLockWriteGuard<'_, T>> {
        let inner = taken(self.inner.try_write());
        let fails = Condition::Differs(FREE);
        self.record_attempt(step, taking, fails, inner.is_some().then_some(WRITTEN));
        inner
    }

    /// Acquires the lock, which gives it a new state. An attempt fails in states for which `fails`
    /// holds.
    fn record_attempt(
        &self,
        step: &mut Step<'_>,
        taking: Taking,
        fails: Condition,
        state: Option<u64>,
    ) {
        let object = self.known.object.address();
        if taking == Taking::Trying {
            // An attempt that reads too early that the lock is free continues with an exchange,
            // which may fail.
            let optimistic_load = match state {
                Some(_) => OptimisticLoad::FailsOnStale(fails),
                None => OptimisticLoad::Retries,
            };
            let before = step.state(object);
            step.emit_optimistic_load(object, before, optimistic_load);
        }
        match state {
            Some(state) => {
                step.write_lock(object, state);
                step.acquire(object);
                if state == WRITTEN {
                    self.known.acquire_from_readers(step);
                }
                step.emit(step.target().lock(object), state);
            }
            None => {
                step.read(object);
            }
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

    fn intent_on_waiting(waiting: Object, awaits: Option<Condition>) -> Intent {
        Intent::Access {
            object: waiting.address(),
            effect: Effect::Read,
            awaits,
        }
    }

    /// Waits for the waiting writers, if they are announced and hold the reader up.
    fn await_writers(&self, current: Current, location: LocationRef) {
        let Some(waiting) = self.waiting_that_blocks(current, location) else {
            return;
        };
        let intent = Known::intent_on_waiting(waiting, Some(Condition::Equals(0)));
        current.plain_operation(intent, Outcomes::One, location, |step| {
            step.read(waiting.address());
        });
    }

    /// The object that counts the waiting writers, if there are some and they hold the reader up,
    /// which the explorer chooses.
    fn waiting_that_blocks(&self, current: Current, location: LocationRef) -> Option<Object> {
        let waiting = self.waiting.filter(|_| !current.is_tearing_down())?;
        let either = |writers| 1 + u32::from(writers > 0);
        let intent = Known::intent_on_waiting(waiting, None);
        let outcomes = Outcomes::Of(waiting.address(), either);
        let is_held_up = current.plain_operation(intent, outcomes, location, |step| {
            step.read(waiting.address());
            step.is_recorded() && step.outcome() == 1
        });
        is_held_up.then_some(waiting)
    }

    /// Whether an attempt to read fails because a writer waits.
    fn is_held_up(&self, current: Current, location: LocationRef) -> bool {
        if self.waiting_that_blocks(current, location).is_none() {
            return false;
        }
        // A writer waits only for threads that hold the lock.
        let object = self.object.address();
        let intent = Intent::Access {
            object,
            effect: Effect::Read,
            awaits: None,
        };
        current.lock_operation(intent, Outcomes::One, location, |step| {
            let state = step.read(object);
            step.emit_optimistic_load(object, state, OptimisticLoad::Retries);
            state != FREE
        })
    }

    /// What readers have done happens before what the writer does.
    fn acquire_from_readers(&self, step: &mut Step<'_>) {
        let thread = step.thread();
        if let Some(races) = step.races() {
            let read_until = self.read_until.lock();
            races.learn(thread, &read_until.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// What the reader has done happens before what writers do, but not before what other readers
    /// do.
    fn release_to_writers(&self, step: &mut Step<'_>) {
        let thread = step.thread();
        if let Some(races) = step.races() {
            let read_until = self.read_until.lock();
            let mut read_until = read_until.unwrap_or_else(PoisonError::into_inner);
            races.publish_more(thread, &mut read_until);
        }
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
    let object = known.object.address();
    let intent = Intent::Access {
        object,
        effect: Effect::Write,
        awaits: None,
    };
    current.operation(intent, Outcomes::One, location, |step| {
        let result = release();
        let before = step.state(object);
        let state = after(before);
        step.write_lock(object, state);
        if before == WRITTEN {
            step.release(object);
        } else {
            known.release_to_writers(step);
            step.end_reading(object);
        }
        if state != FREE && before == WRITTEN {
            step.begin_reading(object);
        }
        let value = match state {
            FREE => FREE,
            // A downgrade does not release the lock.
            readers if before == WRITTEN => readers,
            readers => readers | READER_LEFT,
        };
        step.emit(step.target().unlock(object), value);
        result
    })
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
