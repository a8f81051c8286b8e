//! Shared ownership. The value is in an `Arc` of `std`. In a check, all references to it share a
//! [`Counts`], which is an object of the execution.
//!
//! - `counts`: how the explorer sees the counts;
//! - `weak`: weak references;
//! - `traits`: trait implementations.

mod counts;
mod traits;
mod weak;

use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc as StdArc;

pub use weak::Weak;

use counts::{Counts, Uniqueness, Word};
use fencepost_runtime::{Current, LocationRef};

/// A thread-safe reference-counting pointer, as [`std::sync::Arc`].
///
/// In a check, an `Arc` that is created in an execution and not dropped by its end is reported as a
/// leak.
///
/// An `Arc` cannot be coerced to an unsized type, since that needs an unstable feature. Use
/// [`Arc::from_std`] or `From<Box<T>>`:
///
/// ```
/// use fencepost::sync::Arc;
///
/// let shown: Arc<dyn std::fmt::Display> = Arc::from_std(std::sync::Arc::new(3));
/// assert_eq!(shown.clone().to_string(), "3");
/// let numbers: Arc<[i32]> = Arc::from(vec![1, 2]);
/// assert_eq!(Arc::strong_count(&numbers), 1);
/// ```
pub struct Arc<T: ?Sized> {
    /// `None` only while the reference is consumed.
    value: Option<StdArc<T>>,
    /// None outside of a check.
    counts: Option<StdArc<Counts>>,
}

impl<T> Arc<T> {
    /// Creates a new `Arc`.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Arc::from_std(StdArc::new(value))
    }

    /// Creates a new `Arc` whose value may contain weak references to itself.
    #[track_caller]
    pub fn new_cyclic<F>(data_fn: F) -> Self
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let counts = Counts::new(0, LocationRef::caller());
        let value = StdArc::new_cyclic(|weak| {
            let weak = Weak::from_parts(weak.clone(), counts.clone());
            let value = data_fn(&weak);
            // It is not counted: the value does not keep it.
            drop(weak.into_parts());
            value
        });
        if let Some(counts) = &counts {
            counts.come_alive();
        }
        Arc::from_parts(value, counts)
    }

    /// Creates a new pinned `Arc`.
    #[track_caller]
    #[allow(unsafe_code)] // There is no other way to pin a pointer type of our own.
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: the value is in an allocation of its own, and is not moved while there are
        // references: `get_mut` and `try_unwrap` take an `Arc` that is not pinned, and a `Pin`
        // gives none away.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// Returns the value, if this is the only strong reference.
    ///
    /// # Errors
    /// Returns the `Arc` if there are other strong references.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        let location = LocationRef::caller();
        let (value, counts) = this.into_parts();
        if let Some((counts, current)) = in_check(&counts) {
            if !counts.take_if_only(current, || StdArc::strong_count(&value), location) {
                return Err(Arc::from_parts(value, Some(counts.clone())));
            }
        }
        StdArc::try_unwrap(value).map_err(|value| Arc::from_parts(value, counts))
    }

    /// Returns the value, if this is the last strong reference. Exactly one of all calls returns
    /// it.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        let location = LocationRef::caller();
        let (value, counts) = this.into_parts();
        if let Some((counts, current)) = in_check(&counts) {
            counts.remove_and_learn(current, location);
        }
        StdArc::into_inner(value)
    }

    /// Returns the value if this is the only strong reference, and otherwise a clone of it.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|arc| (*arc).clone())
    }
}

impl<T: Clone> Arc<T> {
    /// Returns a mutable reference to the value, and clones the value first if there are other
    /// references.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        let location = LocationRef::caller();
        if let Some((counts, current)) = in_check(&this.counts) {
            match counts.leave_weak(current, location) {
                Uniqueness::Only => {}
                Uniqueness::OnlyButWeak => {
                    // The value moves to a new allocation, without the weak references.
                    this.counts = Counts::new(1, location);
                }
                Uniqueness::Shared => {
                    let copy = T::clone(this);
                    *this = Arc::from_std_at(StdArc::new(copy), location);
                }
            }
        }
        let value = this.value.as_mut();
        StdArc::make_mut(value.expect("a reference has its value"))
    }
}

impl<T: ?Sized> Arc<T> {
    /// Converts an `Arc` of `std`, which may have an unsized type. A check does not see other
    /// `Arc`s of `std` to the same value.
    #[track_caller]
    pub fn from_std(value: StdArc<T>) -> Self {
        Arc::from_std_at(value, LocationRef::caller())
    }

    fn from_std_at(value: StdArc<T>, location: LocationRef) -> Self {
        Arc::from_parts(value, Counts::new(1, location))
    }

    fn from_parts(value: StdArc<T>, counts: Option<StdArc<Counts>>) -> Self {
        Arc {
            value: Some(value),
            counts,
        }
    }

    /// Consumes the reference without changing the counts.
    fn into_parts(mut self) -> (StdArc<T>, Option<StdArc<Counts>>) {
        let value = self.value.take().expect("a reference has its value");
        (value, self.counts.take())
    }

    #[inline]
    fn value(&self) -> &StdArc<T> {
        self.value.as_ref().expect("a reference has its value")
    }

    /// Names it in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        if let Some(counts) = &self.counts {
            counts.set_name(name);
        }
        self
    }

    /// Returns the number of strong references.
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        let location = LocationRef::caller();
        match in_check(&this.counts) {
            None => StdArc::strong_count(this.value()),
            Some((counts, current)) => counts.read(current, &[Word::Strong], location).strong,
        }
    }

    /// Returns the number of weak references.
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        let location = LocationRef::caller();
        match in_check(&this.counts) {
            None => StdArc::weak_count(this.value()),
            Some((counts, current)) => counts.read(current, &[Word::Weak], location).weak,
        }
    }

    /// Creates a weak reference to the value.
    #[must_use]
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        let location = LocationRef::caller();
        if let Some((counts, current)) = in_check(&this.counts) {
            counts.add_weak(current, location);
        }
        Weak::from_parts(StdArc::downgrade(this.value()), this.counts.clone())
    }

    /// Returns a mutable reference to the value, if there is no other reference.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let location = LocationRef::caller();
        if let Some((counts, current)) = in_check(&this.counts) {
            if counts.look_if_only(current, location) != Uniqueness::Only {
                return None;
            }
        }
        let value = this.value.as_mut();
        StdArc::get_mut(value.expect("a reference has its value"))
    }

    /// Whether two `Arc`s point to the same allocation.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        StdArc::ptr_eq(this.value(), other.value())
    }

    /// Returns a raw pointer to the value.
    pub fn as_ptr(this: &Self) -> *const T {
        StdArc::as_ptr(this.value())
    }

    /// Consumes the `Arc` and returns a raw pointer. Convert it back with [`Arc::from_raw`].
    pub fn into_raw(this: Self) -> *const T {
        let (value, counts) = this.into_parts();
        let pointer = StdArc::into_raw(value);
        associate_with_pointer(pointer, counts);
        pointer
    }

    /// Constructs an `Arc` from a raw pointer.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::from_raw`]: the pointer must come from [`Arc::into_raw`] of this
    /// type, and own one strong reference.
    #[allow(unsafe_code)] // As in `std`.
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: the caller promises that `into_raw` returned it, which got it from the `into_raw`
        // of `std`, and that it owns one reference.
        let value = unsafe { StdArc::from_raw(pointer) };
        Arc::from_parts(value, associated_with_pointer(pointer))
    }

    /// Increments the strong count of the `Arc` of a raw pointer.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::increment_strong_count`]: the pointer must come from
    /// [`Arc::into_raw`], and there must be a strong reference during the call.
    #[track_caller]
    #[allow(unsafe_code)] // As in `std`.
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the caller's promise. The reference that this takes is returned below.
        let arc = unsafe { Arc::from_raw(pointer) };
        let _ = Arc::into_raw(arc.clone());
        let _ = Arc::into_raw(arc);
    }

    /// Decrements the strong count of the `Arc` of a raw pointer.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::decrement_strong_count`]: the pointer must come from
    /// [`Arc::into_raw`], and own a strong reference, which must not be used any more.
    #[track_caller]
    #[allow(unsafe_code)] // As in `std`.
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the caller promises that the pointer owns a reference.
        drop(unsafe { Arc::from_raw(pointer) });
    }
}

/// The counts, and the current execution. Reports a misuse and does not return if the counts belong
/// to another execution.
#[inline]
#[track_caller]
fn in_check(counts: &Option<StdArc<Counts>>) -> Option<(&StdArc<Counts>, Current)> {
    let counts = counts.as_ref()?;
    let current = counts.current(LocationRef::caller());
    current.map(|current| (counts, current))
}

/// The same, for a reference that is dropped.
#[inline]
fn in_check_to_drop(counts: &Option<StdArc<Counts>>) -> Option<(&StdArc<Counts>, Current)> {
    let counts = counts.as_ref()?;
    counts.current_in_drop().map(|current| (counts, current))
}

fn associate_with_pointer<T: ?Sized>(pointer: *const T, counts: Option<StdArc<Counts>>) {
    if let (Some(counts), Some(current)) = (counts, Current::get()) {
        current.associate_with_pointer(pointer.addr(), counts);
    }
}

fn associated_with_pointer<T: ?Sized>(pointer: *const T) -> Option<StdArc<Counts>> {
    let kept = Current::get()?.associated_with_pointer(pointer.addr())?;
    kept.downcast().ok()
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if let Some((counts, current)) = in_check(&self.counts) {
            counts.add(current, LocationRef::caller());
        }
        Arc::from_parts(self.value().clone(), self.counts.clone())
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        let Some(value) = self.value.take() else {
            return;
        };
        let counts = self.counts.take();
        match in_check_to_drop(&counts) {
            None => drop(value),
            Some((counts, current)) => counts.remove(current, || drop(value)),
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value()
    }
}
