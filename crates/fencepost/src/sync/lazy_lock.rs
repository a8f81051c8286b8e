//! [`LazyLock`] is a [`OnceLock`](super::OnceLock) and the function that initializes it.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

use super::once_lock::OnceLock;

/// A value that is initialized on the first access, as [`std::sync::LazyLock`].
///
/// In a `static`, use [`lazy_static!`](crate::lazy_static) instead.
///
/// ```
/// use fencepost::sync::LazyLock;
///
/// let lazy = LazyLock::new(|| 6 * 7);
/// assert_eq!(*lazy, 42);
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    cell: OnceLock<T>,
    /// Taken by the thread that initializes the value.
    initialize: std::sync::Mutex<Option<F>>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Creates a value that `f` will initialize.
    #[track_caller]
    pub fn new(f: F) -> Self {
        LazyLock {
            cell: OnceLock::new(),
            initialize: std::sync::Mutex::new(Some(f)),
        }
    }

    /// Names it in reports.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.cell = self.cell.named(name);
        self
    }

    /// Returns the value, and initializes it if necessary.
    ///
    /// # Panics
    /// If the initialization has panicked before, outside of a check.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        this.cell.get_or_init(|| {
            let mut place = this
                .initialize
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let initialize = place.take();
            drop(place);
            make(initialize)
        })
    }

    /// Returns a mutable reference to the value, and initializes it if necessary.
    ///
    /// # Panics
    /// If the initialization has panicked before, outside of a check.
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        if this.cell.get_mut().is_none() {
            let place = this.initialize.get_mut();
            let initialize = place.unwrap_or_else(PoisonError::into_inner).take();
            // The exclusive reference rules out other threads.
            let _ = this.cell.set(make(initialize));
        }
        this.cell.get_mut().expect("it is initialized")
    }

    /// Returns the value, if it is initialized.
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        this.cell.get()
    }

    /// Returns a mutable reference to the value, if it is initialized.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.cell.get_mut()
    }
}

#[track_caller]
fn make<T, F: FnOnce() -> T>(initialize: Option<F>) -> T {
    match initialize {
        Some(initialize) => initialize(),
        None => panic!("LazyLock instance has previously been poisoned"),
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[track_caller]
    fn default() -> Self {
        LazyLock::new(T::default)
    }
}

/// Formats the value if it is initialized, without an event.
impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cell.fmt(f)
    }
}
