//! [`OnceLock`] is a [`OnceFlag`] and a cell of `std`.

use std::fmt;

use fencepost_runtime::once::{Begin, DONE, NEW, OnceFlag};
use fencepost_runtime::{Current, LocationRef};

/// A cell that can be written only once, as [`std::sync::OnceLock`].
///
/// ```
/// use fencepost::sync::OnceLock;
///
/// let cell = OnceLock::new();
/// assert_eq!(cell.get(), None);
/// assert_eq!(cell.get_or_init(|| 1), &1);
/// assert_eq!(cell.set(2), Err(2));
/// ```
pub struct OnceLock<T> {
    progress: OnceFlag,
    inner: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    /// Creates a new empty cell.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        OnceLock {
            progress: OnceFlag::new("OnceLock", NEW, LocationRef::caller()),
            inner: std::sync::OnceLock::new(),
        }
    }

    /// Names the cell in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.progress.object().set_name(name);
        self
    }

    fn current(&self, location: LocationRef) -> Option<Current> {
        self.progress.object().current(location)
    }

    fn value(&self) -> &T {
        self.inner.get().expect("it was written")
    }

    /// Returns the value, if it was written.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let location = LocationRef::caller();
        match self.current(location) {
            Some(current) if !self.progress.is_done(current, location) => None,
            _ => self.inner.get(),
        }
    }

    /// Returns a mutable reference to the value, if it was written.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.inner.get_mut()
    }

    /// Waits until the value is written. Like the method of `std`, it needs Rust 1.86 or later.
    #[cfg(rustc_1_86)]
    #[track_caller]
    pub fn wait(&self) -> &T {
        let location = LocationRef::caller();
        match self.current(location) {
            None => self.inner.wait(),
            Some(current) => {
                self.progress.wait(current, location);
                self.value()
            }
        }
    }

    /// Writes the value.
    ///
    /// # Errors
    /// Returns the value if the cell was written before.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let location = LocationRef::caller();
        let Some(current) = self.current(location) else {
            return self.inner.set(value);
        };
        let mut value = Some(value);
        let put = || value.take().map_or(Ok(()), |value| self.inner.set(value));
        match self.progress.do_at_once(current, location, put) {
            Some(result) => result,
            None => value.map_or(Ok(()), Err),
        }
    }

    /// Returns the value. If it was not written, initializes it with `f`.
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        let location = LocationRef::caller();
        let Some(current) = self.current(location) else {
            return self.inner.get_or_init(f);
        };
        if self.progress.begin(current, location) == Begin::Claimed {
            let value = f();
            let put = || self.inner.set(value);
            // No other thread has written it.
            let _ = self.progress.complete(current, location, put);
        }
        self.value()
    }

    /// Returns the value, if it was written.
    pub fn into_inner(self) -> Option<T> {
        self.inner.into_inner()
    }

    /// Takes the value out of the cell, and leaves it empty.
    pub fn take(&mut self) -> Option<T> {
        self.progress.set(NEW);
        self.inner.take()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        OnceLock {
            progress: OnceFlag::new("OnceLock", DONE, LocationRef::caller()),
            inner: std::sync::OnceLock::from(value),
        }
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        match self.get() {
            Some(value) => OnceLock::from(value.clone()),
            None => OnceLock::new(),
        }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

/// Formats the value, without an event.
impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
