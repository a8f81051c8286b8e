//! A value that is made when it is first used: a cell that is written once, and the function that makes
//! the value.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

use super::once_lock::OnceLock;

/// A value that is made when it is first used, as [`std::sync::LazyLock`].
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
    /// Taken by who makes the value.
    initialize: std::sync::Mutex<Option<F>>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that `f` will make.
    #[track_caller]
    pub fn new(f: F) -> Self {
        LazyLock {
            cell: OnceLock::new(),
            initialize: std::sync::Mutex::new(Some(f)),
        }
    }

    /// Gives it a name for reports.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.cell = self.cell.named(name);
        self
    }

    /// The value, which is made if it was not.
    ///
    /// # Panics
    /// If making the value has panicked before, outside of a check.
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

    /// The value, which is made if it was not, for who has it alone.
    ///
    /// # Panics
    /// If making the value has panicked before, outside of a check.
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        if this.cell.get_mut().is_none() {
            let place = this.initialize.get_mut();
            let initialize = place.unwrap_or_else(PoisonError::into_inner).take();
            // Nobody else can have written it.
            let _ = this.cell.set(make(initialize));
        }
        this.cell.get_mut().expect("it was made")
    }

    /// The value, if it was made.
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        this.cell.get()
    }

    /// The value, if it was made, for who has it alone.
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

/// The value, if it was made; without an event.
impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cell.fmt(f)
    }
}
