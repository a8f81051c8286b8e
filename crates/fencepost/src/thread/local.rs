//! Thread-local storage for the threads of a check.
//!
//! They run on one OS thread, so they would all share the storage of `std`.
#![allow(unsafe_code)] // A value lives until the end of its thread, which no type expresses.

use std::cell::{Cell, RefCell};
use std::fmt;

use fencepost_runtime::Current;
use fencepost_runtime::locals::Destroyed;

/// A thread-local storage key, as [`std::thread::LocalKey`]. Use
/// [`thread_local!`](crate::thread_local) to declare one.
pub struct LocalKey<T: 'static> {
    outside: &'static std::thread::LocalKey<T>,
    initialize: fn() -> T,
}

/// The error of [`LocalKey::try_with`]: the value was already destroyed, as
/// [`std::thread::AccessError`].
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessError")
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl std::error::Error for AccessError {}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(
        outside: &'static std::thread::LocalKey<T>,
        initialize: fn() -> T,
    ) -> LocalKey<T> {
        LocalKey {
            outside,
            initialize,
        }
    }

    /// Calls `f` with a reference to the calling thread's value.
    ///
    /// # Panics
    /// If the value was already destroyed.
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.try_with(f)
            .expect("cannot access a Thread Local Storage value during or after destruction")
    }

    /// Calls `f` with a reference to the calling thread's value.
    ///
    /// # Errors
    /// Fails if the value was already destroyed.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let Some(current) = Current::get() else {
            return self.outside.try_with(f).map_err(|_| AccessError);
        };
        current.note_thread_dependence();
        current.note_thread_identity_use();
        let key = std::ptr::from_ref(self) as usize;
        let value = match current.local_value(key) {
            Some(found) => found.map_err(|Destroyed| AccessError)?,
            None => current.initialize_local_value(key, (self.initialize)()),
        };
        // SAFETY: the value is boxed, and the runtime drops it only after the function of its
        // thread has returned or was unwound, or has been suspended for ever. `f` is called by that
        // function, or by a destructor of another value of the same thread. That one does not drop
        // this value.
        Ok(f(unsafe { &*value }))
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// Returns a copy of the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value, and leaves the default value.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Replaces the value, and returns the old one.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Calls `f` with a reference to the value.
    ///
    /// # Panics
    /// If the value is mutably borrowed.
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Calls `f` with a mutable reference to the value.
    ///
    /// # Panics
    /// If the value is borrowed.
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value.
    ///
    /// # Panics
    /// If the value is borrowed.
    pub fn set(&'static self, value: T) {
        self.with(|cell| *cell.borrow_mut() = value);
    }

    /// Takes the value, and leaves the default value.
    ///
    /// # Panics
    /// If the value is borrowed.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Replaces the value, and returns the old one.
    ///
    /// # Panics
    /// If the value is borrowed.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Declares thread-local storage keys, as [`std::thread_local!`]. In a check, every thread of the
/// check has its own values.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = const $init:block; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = const $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = const $init:block) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = $init:expr) => {
        $(#[$attribute])*
        $vis static $name: $crate::thread::LocalKey<$type> = {
            fn initialize() -> $type {
                $init
            }
            ::std::thread_local! {
                static OUTSIDE: $type = initialize();
            }
            $crate::thread::LocalKey::new(&OUTSIDE, initialize)
        };
    };
}
