//! Cells whose accesses are checked for data races.
//!
//! Shared data that is not atomic goes into an [`UnsafeCell`]. In a check, two accesses to it, one
//! of them a write, that no synchronization orders are a data race, and reported with both
//! places. Other threads do not see the accesses otherwise, and they cost no interleavings.
#![allow(unsafe_code)] // It is an unsafe cell.

use std::fmt;
use std::panic::Location;

pub use std::cell::{Cell, RefCell};

use fencepost_runtime::cells::{CellAccessKind, CellAccessStart, CheckedCell};

/// The core of interior mutability, as [`std::cell::UnsafeCell`], with accesses that have a
/// beginning and an end.
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
    /// A new cell. In a check, this is a write to it.
    #[track_caller]
    pub fn new(value: T) -> Self {
        UnsafeCell {
            checked: CheckedCell::new(Location::caller()),
            value: std::cell::UnsafeCell::new(value),
        }
    }

    /// Gives the cell a name for reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.checked.set_name(name);
        self
    }

    /// Takes the value out, which counts as a write.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.checked
            .begin(CellAccessKind::Write, Location::caller());
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads: lends a pointer to the value, to be used until `f` returns.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let access = self.begin(CellAccessKind::Read, Location::caller());
        let result = f(self.value.get());
        drop(access);
        result
    }

    /// Writes: lends a pointer to the value, to be used until `f` returns.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let access = self.begin(CellAccessKind::Write, Location::caller());
        let result = f(self.value.get());
        drop(access);
        result
    }

    /// Begins to read. The access ends when the pointer is dropped.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<'_, T> {
        ConstPtr {
            _access: self.begin(CellAccessKind::Read, Location::caller()),
            pointer: self.value.get(),
        }
    }

    /// Begins to write. The access ends when the pointer is dropped.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<'_, T> {
        MutPtr {
            _access: self.begin(CellAccessKind::Write, Location::caller()),
            pointer: self.value.get(),
        }
    }

    fn begin(&self, how: CellAccessKind, location: &'static Location<'static>) -> CellAccess<'_> {
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
    location: &'static Location<'static>,
}

impl Drop for CellAccess<'_> {
    fn drop(&mut self) {
        self.cell.end(self.how, self.begun, self.location);
    }
}

/// A pointer to read the value of an [`UnsafeCell`] with.
pub struct ConstPtr<'cell, T: ?Sized> {
    _access: CellAccess<'cell>,
    pointer: *const T,
}

/// A pointer to write the value of an [`UnsafeCell`] with.
pub struct MutPtr<'cell, T: ?Sized> {
    _access: CellAccess<'cell>,
    pointer: *mut T,
}

impl<T: ?Sized> ConstPtr<'_, T> {
    /// The value.
    ///
    /// # Safety
    /// As for a raw pointer: nobody may write the value meanwhile.
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's promise.
        unsafe { &*self.pointer }
    }

    /// Lends the raw pointer, to be used until `f` returns.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.pointer)
    }
}

impl<T: ?Sized> MutPtr<'_, T> {
    /// The value.
    ///
    /// # Safety
    /// As for a raw pointer: nobody may access the value meanwhile.
    #[allow(clippy::mut_from_ref)] // As loom has it; the promise is the caller's.
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.pointer }
    }

    /// Lends the raw pointer, to be used until `f` returns.
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
