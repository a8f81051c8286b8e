//! [`Once`] is a [`OnceFlag`].

use std::fmt;

use fencepost_runtime::once::{Begin, NEW, OnceFlag};
use fencepost_runtime::{Current, LocationRef};

/// A primitive for one-time initialization, as [`std::sync::Once`].
///
/// ```
/// use fencepost::sync::Once;
///
/// let once = Once::new();
/// let mut count = 0;
/// once.call_once(|| count += 1);
/// once.call_once(|| count += 1);
/// assert_eq!(count, 1);
/// ```
pub struct Once {
    progress: OnceFlag,
    inner: std::sync::Once,
}

/// The state that [`Once::call_once_force`] passes to its function, as [`std::sync::OnceState`].
#[derive(Debug)]
pub struct OnceState {
    is_poisoned: bool,
}

impl OnceState {
    /// Whether an earlier call has panicked. Always false in a check.
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned
    }
}

impl Once {
    /// Creates a new value. No function has run yet.
    #[must_use]
    #[track_caller]
    #[allow(clippy::new_without_default)] // As in `std`.
    pub fn new() -> Self {
        Once {
            progress: OnceFlag::new("Once", NEW, LocationRef::caller()),
            inner: std::sync::Once::new(),
        }
    }

    /// Names it in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.progress.object().set_name(name);
        self
    }

    /// Runs the function if it is the first call. Returns after the first call has completed.
    ///
    /// # Panics
    /// Panics if an earlier call has panicked, outside of a check.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        let location = LocationRef::caller();
        match self.progress.object().current(location) {
            None => self.inner.call_once(f),
            Some(current) => self.call(current, location, |_| f()),
        }
    }

    /// Like [`call_once`](Self::call_once), even if an earlier call has panicked.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let location = LocationRef::caller();
        match self.progress.object().current(location) {
            None => self.inner.call_once_force(|state| {
                f(&OnceState {
                    is_poisoned: state.is_poisoned(),
                });
            }),
            Some(current) => self.call(current, location, f),
        }
    }

    fn call(&self, current: Current, location: LocationRef, f: impl FnOnce(&OnceState)) {
        if self.progress.begin(current, location) == Begin::Claimed {
            f(&OnceState { is_poisoned: false });
            self.progress.complete(current, location, || ());
        }
    }

    /// Whether a call has completed.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let location = LocationRef::caller();
        match self.progress.object().current(location) {
            None => self.inner.is_completed(),
            Some(current) => self.progress.is_done(current, location),
        }
    }

    /// Waits until a call has completed. Like the method of `std`, it needs Rust 1.86 or later.
    ///
    /// # Panics
    /// Panics if an earlier call has panicked, outside of a check.
    #[cfg(rustc_1_86)]
    #[track_caller]
    pub fn wait(&self) {
        let location = LocationRef::caller();
        match self.progress.object().current(location) {
            None => self.inner.wait(),
            Some(current) => self.progress.wait(current, location),
        }
    }

    /// Like [`wait`](Self::wait), even if an earlier call has panicked. It needs Rust 1.86 or
    /// later.
    #[cfg(rustc_1_86)]
    #[track_caller]
    pub fn wait_force(&self) {
        let location = LocationRef::caller();
        match self.progress.object().current(location) {
            None => self.inner.wait_force(),
            Some(current) => self.progress.wait(current, location),
        }
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
