//! Weak references.

use fencepost_runtime::LocationRef;
use std::fmt;
use std::sync::Arc as StdArc;
use std::sync::Weak as StdWeak;

use super::counts::{Counts, Word};
use super::{Arc, associate_with_pointer, associated_with_pointer, in_check, in_check_to_drop};

/// A weak reference to the value of an [`Arc`], as [`std::sync::Weak`].
pub struct Weak<T: ?Sized> {
    value: StdWeak<T>,
    counted: Counted,
}

/// A weak reference as it is counted.
struct Counted(Option<StdArc<Counts>>);

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some((counts, current)) = in_check_to_drop(&self.0) {
            counts.remove_weak(current);
        }
    }
}

impl<T> Weak<T> {
    /// Creates a weak reference without a value.
    #[must_use]
    pub fn new() -> Self {
        Weak::from_parts(StdWeak::new(), None)
    }
}

impl<T: ?Sized> Weak<T> {
    /// Wraps a reference that the caller has counted.
    pub(super) fn from_parts(value: StdWeak<T>, counts: Option<StdArc<Counts>>) -> Self {
        Weak {
            value,
            counted: Counted(counts),
        }
    }

    /// Wraps a reference that is not counted.
    pub(super) fn into_parts(mut self) -> (StdWeak<T>, Option<StdArc<Counts>>) {
        (self.value, self.counted.0.take())
    }

    /// Upgrades to an [`Arc`], if the value has not been dropped.
    #[must_use]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let location = LocationRef::caller();
        if let Some((counts, current)) = in_check(&self.counted.0) {
            if !counts.add_if_alive(current, location) {
                return None;
            }
        }
        let value = self.value.upgrade()?;
        Some(Arc::from_parts(value, self.counted.0.clone()))
    }

    /// Returns the number of strong references.
    #[must_use]
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        let location = LocationRef::caller();
        match in_check(&self.counted.0) {
            None => self.value.strong_count(),
            Some((counts, current)) => counts.read(current, &[Word::Strong], location).strong,
        }
    }

    /// Returns the number of weak references, or 0 if there are no strong ones.
    #[must_use]
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        let location = LocationRef::caller();
        let Some((counts, current)) = in_check(&self.counted.0) else {
            return self.value.weak_count();
        };
        let count = counts.read(current, &[Word::Weak, Word::Strong], location);
        if count.strong == 0 { 0 } else { count.weak }
    }

    /// Whether two references point to the same allocation, or both have no value.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.value.ptr_eq(&other.value)
    }

    /// Returns a raw pointer to the value, which is valid only while there are strong references.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.value.as_ptr()
    }

    /// Consumes the reference and returns a raw pointer. Convert it back with [`Weak::from_raw`].
    #[must_use]
    pub fn into_raw(self) -> *const T {
        let (value, counts) = self.into_parts();
        let pointer = value.into_raw();
        associate_with_pointer(pointer, counts);
        pointer
    }

    /// Constructs a weak reference from a raw pointer.
    ///
    /// # Safety
    /// As for [`std::sync::Weak::from_raw`]: the pointer must come from [`Weak::into_raw`], and own
    /// one weak reference.
    #[must_use]
    #[allow(unsafe_code)] // As in `std`.
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: the caller promises that `into_raw` returned it, which got it from the `into_raw`
        // of `std`, and that it owns one reference.
        let value = unsafe { StdWeak::from_raw(pointer) };
        Weak::from_parts(value, associated_with_pointer(pointer))
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if let Some((counts, current)) = in_check(&self.counted.0) {
            counts.add_weak(current, LocationRef::caller());
        }
        Weak::from_parts(self.value.clone(), self.counted.0.clone())
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
