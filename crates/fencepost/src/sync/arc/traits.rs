//! Trait implementations of `Arc`, and conversions to it.

use std::any::Any;
use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc as StdArc;

use super::Arc;

impl Arc<dyn Any + Send + Sync> {
    /// Downcasts the `Arc` to a concrete type.
    ///
    /// # Errors
    /// Returns the `Arc` if the value has another type.
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Self> {
        let (value, counts) = self.into_parts();
        match value.downcast() {
            Ok(value) => Ok(Arc::from_parts(value, counts)),
            Err(value) => Err(Arc::from_parts(value, counts)),
        }
    }
}

/// The value is in an allocation of its own.
impl<T: ?Sized> Unpin for Arc<T> {}
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for Arc<T> {}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Arc::as_ptr(self), f)
    }
}

impl<T: ?Sized + Error> Error for Arc<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Self {
        Arc::new(T::default())
    }
}

impl Default for Arc<str> {
    #[track_caller]
    fn default() -> Self {
        Arc::from("")
    }
}

impl<T> Default for Arc<[T]> {
    #[track_caller]
    fn default() -> Self {
        Arc::from(Vec::new())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Arc::new(value)
    }
}

/// From everything that converts into an `Arc` of `std`.
macro_rules! from {
    ($([$($generics:tt)*] $source:ty => $value:ty;)*) => {
        $(impl<$($generics)*> From<$source> for Arc<$value> {
            #[track_caller]
            fn from(source: $source) -> Self {
                Arc::from_std(StdArc::from(source))
            }
        })*
    };
}

from! {
    [T: ?Sized] Box<T> => T;
    [T] Vec<T> => [T];
    [T: Clone] &[T] => [T];
    [T, const N: usize] [T; N] => [T];
    [] &str => str;
    [] String => str;
}

impl<'a, B: ?Sized + ToOwned> From<Cow<'a, B>> for Arc<B>
where
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[track_caller]
    fn from(cow: Cow<'a, B>) -> Self {
        match cow {
            Cow::Borrowed(borrowed) => Arc::from(borrowed),
            Cow::Owned(owned) => Arc::from(owned),
        }
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(iterator: I) -> Self {
        Arc::from(iterator.into_iter().collect::<Vec<T>>())
    }
}
