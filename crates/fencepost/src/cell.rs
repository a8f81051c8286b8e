//! Cells whose accesses are checked for data races.
//!
//! Shared data that is not atomic goes into an [`UnsafeCell`]. In a check, two accesses to it, one
//! of them a write, that happens-before does not order are a data race, which is reported with both
//! source locations. The accesses are not steps, so they add no interleavings.
#![allow(unsafe_code)] // It is an unsafe cell.

use std::fmt;

pub use std::cell::{Cell, RefCell};

use fencepost_runtime::LocationRef;
use fencepost_runtime::cells::{CellAccessKind, CellAccessStart, CheckedCell};

/// The core primitive for interior mutability, as [`std::cell::UnsafeCell`], with accesses that
/// have a beginning and an end.
///
/// ```
/// use fencepost::cell::UnsafeCell;
///
/// let cell = UnsafeCell::new(1);
/// cell.with_mut(|pointer| unsafe { *pointer += 1 });
/// assert_eq!(cell.with(|pointer| unsafe { *pointer }), 2);
/// ```
pub struct UnsafeCell<T: ?Sized> {
    checked: CheckedCell,
    value: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// Creates a new cell. In a check, this counts as a write.
    #[track_caller]
    pub fn new(value: T) -> Self {
        UnsafeCell {
            checked: CheckedCell::new(LocationRef::caller()),
            value: std::cell::UnsafeCell::new(value),
        }
    }

    /// Names the cell in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.checked.set_name(name);
        self
    }

    /// Consumes the cell and returns the value. In a check, this counts as a write.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.checked
            .begin(CellAccessKind::Write, LocationRef::caller());
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Calls `f` with a pointer to the value, for a read that ends when `f` returns.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let access = self.begin(CellAccessKind::Read, LocationRef::caller());
        let result = f(self.value.get());
        drop(access);
        result
    }

    /// Calls `f` with a pointer to the value, for a write that ends when `f` returns.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let access = self.begin(CellAccessKind::Write, LocationRef::caller());
        let result = f(self.value.get());
        drop(access);
        result
    }

    /// Starts a read, which ends when the pointer is dropped.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<'_, T> {
        ConstPtr {
            _access: self.begin(CellAccessKind::Read, LocationRef::caller()),
            pointer: self.value.get(),
        }
    }

    /// Starts a write, which ends when the pointer is dropped.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<'_, T> {
        MutPtr {
            _access: self.begin(CellAccessKind::Write, LocationRef::caller()),
            pointer: self.value.get(),
        }
    }

    fn begin(&self, how: CellAccessKind, location: LocationRef) -> CellAccess<'_> {
        CellAccess {
            cell: &self.checked,
            how,
            begun: self.checked.begin(how, location),
            location,
        }
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

/// An access from its beginning to its end.
struct CellAccess<'cell> {
    cell: &'cell CheckedCell,
    how: CellAccessKind,
    begun: CellAccessStart,
    location: LocationRef,
}

impl Drop for CellAccess<'_> {
    fn drop(&mut self) {
        self.cell.end(self.how, self.begun, self.location);
    }
}

/// A pointer to the value of an [`UnsafeCell`] for a read.
pub struct ConstPtr<'cell, T: ?Sized> {
    _access: CellAccess<'cell>,
    pointer: *const T,
}

/// A pointer to the value of an [`UnsafeCell`] for a write.
pub struct MutPtr<'cell, T: ?Sized> {
    _access: CellAccess<'cell>,
    pointer: *mut T,
}

impl<T: ?Sized> ConstPtr<'_, T> {
    /// Returns a reference to the value.
    ///
    /// # Safety
    /// As for a raw pointer: the value must not be written while the reference is used.
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's promise.
        unsafe { &*self.pointer }
    }

    /// Calls `f` with the raw pointer.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.pointer)
    }
}

impl<T: ?Sized> MutPtr<'_, T> {
    /// Returns a mutable reference to the value.
    ///
    /// # Safety
    /// As for a raw pointer: there must be no other access to the value while the reference is
    /// used.
    #[allow(clippy::mut_from_ref)] // As in loom; the caller promises that it is exclusive.
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.pointer }
    }

    /// Calls `f` with the raw pointer.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.pointer)
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pointer.fmt(f)
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pointer.fmt(f)
    }
}
