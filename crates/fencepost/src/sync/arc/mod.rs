//! Shared ownership. The value is in an `Arc` of `std`; in a check, a [`Counts`] goes with it, which all
//! references to the value share, and which is an object of the execution.
//!
//! - `counts`: what counting is to the explorer;
//! - `weak`: references that keep nothing alive;
//! - `traits`: what an `Arc` can do because its value can.

mod counts;
mod traits;
mod weak;

use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc as StdArc;

pub use weak::Weak;

use counts::{Counts, Uniqueness, Word};
use fencepost_runtime::Current;

/// Shares ownership of a value, as [`std::sync::Arc`].
///
/// In a check, an `Arc` that is made in an execution and not dropped by its end is reported as a
/// leak.
///
/// An `Arc` of a type without a size cannot be made by coercion, since that takes an unstable
/// feature. Use [`Arc::from_std`] or `From<Box<T>>`:
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
    /// Taken away only where the reference is used up.
    value: Option<StdArc<T>>,
    /// None outside of a check.
    counts: Option<StdArc<Counts>>,
}

impl<T> Arc<T> {
    /// A new value, and the first reference to it.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Arc::from_std(StdArc::new(value))
    }

    /// A new value that may contain weak references to itself.
    #[track_caller]
    pub fn new_cyclic<F>(data_fn: F) -> Self
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let counts = Counts::new(0, Location::caller());
        let value = StdArc::new_cyclic(|weak| {
            let weak = Weak::from_parts(weak.clone(), counts.clone());
            let value = data_fn(&weak);
            // It was not counted: the value does not keep it.
            drop(weak.into_parts());
            value
        });
        if let Some(counts) = &counts {
            counts.come_alive();
        }
        Arc::from_parts(value, counts)
    }

    /// A new value that is pinned.
    #[track_caller]
    #[allow(unsafe_code)] // There is no other way to make a pin of one's own type.
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: the value is in an allocation of its own, and does not leave it as long as there
        // are references: `get_mut` and `try_unwrap` need an `Arc` that is not pinned.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// The value, if this is the only reference to it, weak ones aside.
    ///
    /// # Errors
    /// The reference, if it is not.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        let location = Location::caller();
        let (value, counts) = this.into_parts();
        if let Some((counts, current)) = in_check(&counts) {
            if !counts.take_if_only(current, || StdArc::strong_count(&value), location) {
                return Err(Arc::from_parts(value, Some(counts.clone())));
            }
        }
        StdArc::try_unwrap(value).map_err(|value| Arc::from_parts(value, counts))
    }

    /// The value, if this is the last reference to it. Of all references, exactly one gets it.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        let location = Location::caller();
        let (value, counts) = this.into_parts();
        if let Some((counts, current)) = in_check(&counts) {
            counts.remove_and_learn(current, location);
        }
        StdArc::into_inner(value)
    }

    /// The value, if this is the only reference to it, or a clone of it.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|arc| (*arc).clone())
    }
}

impl<T: Clone> Arc<T> {
    /// The value, to be changed. It is cloned first if there are other references to it.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        let location = Location::caller();
        if let Some((counts, current)) = in_check(&this.counts) {
            match counts.leave_weak(current, location) {
                Uniqueness::Only => {}
                Uniqueness::OnlyButWeak => {
                    // The value moves to a new place, and leaves the weak references behind.
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
    /// Takes over an `Arc` of `std`, which may be of a type without a size. In a check, other
    /// references of `std` to its value are not seen.
    #[track_caller]
    pub fn from_std(value: StdArc<T>) -> Self {
        Arc::from_std_at(value, Location::caller())
    }

    fn from_std_at(value: StdArc<T>, location: &'static Location<'static>) -> Self {
        Arc::from_parts(value, Counts::new(1, location))
    }

    fn from_parts(value: StdArc<T>, counts: Option<StdArc<Counts>>) -> Self {
        Arc {
            value: Some(value),
            counts,
        }
    }

    /// Nothing is counted.
    fn into_parts(mut self) -> (StdArc<T>, Option<StdArc<Counts>>) {
        let value = self.value.take().expect("a reference has its value");
        (value, self.counts.take())
    }

    #[inline]
    fn value(&self) -> &StdArc<T> {
        self.value.as_ref().expect("a reference has its value")
    }

    /// Gives it a name for reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        if let Some(counts) = &self.counts {
            counts.set_name(name);
        }
        self
    }

    /// How many references to the value there are, weak ones aside.
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        let location = Location::caller();
        match in_check(&this.counts) {
            None => StdArc::strong_count(this.value()),
            Some((counts, current)) => counts.read(current, &[Word::Strong], location).strong,
        }
    }

    /// How many weak references to the value there are.
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        let location = Location::caller();
        match in_check(&this.counts) {
            None => StdArc::weak_count(this.value()),
            Some((counts, current)) => counts.read(current, &[Word::Weak], location).weak,
        }
    }

    /// A weak reference to the value.
    #[must_use]
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        let location = Location::caller();
        if let Some((counts, current)) = in_check(&this.counts) {
            counts.add_weak(current, location);
        }
        Weak::from_parts(StdArc::downgrade(this.value()), this.counts.clone())
    }

    /// The value, to be changed, if there is no other reference to it.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let location = Location::caller();
        if let Some((counts, current)) = in_check(&this.counts) {
            if counts.look_if_only(current, location) != Uniqueness::Only {
                return None;
            }
        }
        let value = this.value.as_mut();
        StdArc::get_mut(value.expect("a reference has its value"))
    }

    /// Whether two references are to the same value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        StdArc::ptr_eq(this.value(), other.value())
    }

    /// A pointer to the value.
    pub fn as_ptr(this: &Self) -> *const T {
        StdArc::as_ptr(this.value())
    }

    /// Turns the reference into a pointer, to be turned back by [`Arc::from_raw`].
    pub fn into_raw(this: Self) -> *const T {
        let (value, counts) = this.into_parts();
        let pointer = StdArc::into_raw(value);
        associate_with_pointer(pointer, counts);
        pointer
    }

    /// Turns a pointer back into the reference that it was.
    ///
    /// # Safety
    /// As [`std::sync::Arc::from_raw`]: the pointer is from [`Arc::into_raw`] of this type, and stands for one
    /// reference.
    #[allow(unsafe_code)] // As in `std`.
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: `into_raw` got it from the `into_raw` of `std`, and the caller has one reference.
        let value = unsafe { StdArc::from_raw(pointer) };
        Arc::from_parts(value, associated_with_pointer(pointer))
    }

    /// Adds a reference to those that a pointer stands for.
    ///
    /// # Safety
    /// As [`std::sync::Arc::increment_strong_count`]: the pointer is from [`Arc::into_raw`], and there is a
    /// reference meanwhile.
    #[track_caller]
    #[allow(unsafe_code)] // As in `std`.
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the caller's promise; the reference is given back at once.
        let arc = unsafe { Arc::from_raw(pointer) };
        let _ = Arc::into_raw(arc.clone());
        let _ = Arc::into_raw(arc);
    }

    /// Drops one of the references that a pointer stands for.
    ///
    /// # Safety
    /// As [`std::sync::Arc::decrement_strong_count`]: the pointer is from [`Arc::into_raw`], and stands for a
    /// reference that is not used any more.
    #[track_caller]
    #[allow(unsafe_code)] // As in `std`.
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the caller's promise.
        drop(unsafe { Arc::from_raw(pointer) });
    }
}

/// The counts, and the execution that is running here. Does not return if the counts are those of
/// another.
#[inline]
#[track_caller]
fn in_check(counts: &Option<StdArc<Counts>>) -> Option<(&StdArc<Counts>, Current)> {
    let counts = counts.as_ref()?;
    let current = counts.current(Location::caller());
    current.map(|current| (counts, current))
}

/// The same, for a reference that is being dropped.
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
            counts.add(current, Location::caller());
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
