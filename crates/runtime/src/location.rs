//! Source locations, in three forms: [`LocationRef`] is one word, for everything that happens at
//! every step; [`SourceLocation`] is compared by value; [`OwnedLocation`] owns its file name.
#![allow(unsafe_code)] // A tagged pointer.

use std::fmt;
use std::panic::Location;
use std::ptr::NonNull;

/// A source location that lives for ever, in one word: one that the Rust compiler has made
/// ([`LocationRef::caller`]), or one of a program in another language ([`LocationRef::leaked`]).
///
/// Equal references have equal locations. Different ones may have: compare [`SourceLocation`]s.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocationRef(
    /// A `&'static Location<'static>`, or a `&'static SourceLocation` with the lowest bit set.
    NonNull<u8>,
);

/// Set in references to a [`SourceLocation`].
const IS_SOURCE: usize = 1;

const _: () = assert!(align_of::<Location<'_>>() > 1 && align_of::<SourceLocation>() > 1);

// SAFETY: it refers to values that are never changed and never freed, and are `Send` and `Sync`.
unsafe impl Send for LocationRef {}
// SAFETY: the same.
unsafe impl Sync for LocationRef {}

impl LocationRef {
    /// The location of the caller, as [`Location::caller`].
    #[inline(always)]
    #[track_caller]
    pub const fn caller() -> Self {
        LocationRef::of(Location::caller())
    }

    #[inline(always)]
    const fn of(location: &'static Location<'static>) -> Self {
        let pointer: *const Location<'static> = location;
        // SAFETY: a reference is not null.
        LocationRef(unsafe { NonNull::new_unchecked(pointer.cast_mut().cast()) })
    }

    /// A location that the Rust compiler does not know. It is never freed, so create it once.
    pub fn leaked(location: SourceLocation) -> Self {
        let location = NonNull::from(Box::leak(Box::new(location)));
        LocationRef(location.cast().map_addr(|address| address | IS_SOURCE))
    }

    /// Its address, which tells references apart.
    #[inline]
    pub(crate) fn addr(self) -> usize {
        self.0.as_ptr().addr()
    }

    /// The file, as the compiler was given it.
    pub fn file(self) -> &'static str {
        SourceLocation::from(self).file
    }

    /// The line, from 1.
    pub fn line(self) -> u32 {
        SourceLocation::from(self).line
    }

    /// The column, from 1. 0 if it is not known.
    pub fn column(self) -> u32 {
        SourceLocation::from(self).column
    }

    /// A pointer for [`from_ptr`](Self::from_ptr).
    #[inline]
    pub(crate) fn as_ptr(self) -> *mut u8 {
        self.0.as_ptr()
    }

    /// The reference with this pointer; none for a null pointer.
    ///
    /// # Safety
    /// The pointer must be null or come from [`as_ptr`](Self::as_ptr).
    pub(crate) unsafe fn from_ptr(pointer: *mut u8) -> Option<Self> {
        NonNull::new(pointer).map(LocationRef)
    }
}

impl From<&'static Location<'static>> for LocationRef {
    #[inline(always)]
    fn from(location: &'static Location<'static>) -> Self {
        LocationRef::of(location)
    }
}

impl fmt::Debug for LocationRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for LocationRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&SourceLocation::from(*self), f)
    }
}

/// A source location that is compared by value, since the compiler may have several
/// copies of the same [`Location`], and another process has them at other addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourceLocation {
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl SourceLocation {
    /// A location in a file, as its compiler was given it. Lines and columns count from 1; a column
    /// that is not known is 0.
    pub fn new(file: &'static str, line: u32, column: u32) -> Self {
        SourceLocation { file, line, column }
    }

    /// The file, as the compiler was given it.
    pub fn file(self) -> &'static str {
        self.file
    }

    /// The line, from 1.
    pub fn line(self) -> u32 {
        self.line
    }

    /// The column, from 1.
    pub fn column(self) -> u32 {
        self.column
    }
}

impl From<LocationRef> for SourceLocation {
    fn from(LocationRef(pointer): LocationRef) -> Self {
        if pointer.addr().get() & IS_SOURCE != 0 {
            let pointer = pointer.as_ptr().map_addr(|address| address & !IS_SOURCE);
            // SAFETY: with the bit it comes from `leaked`, which never frees the location.
            return unsafe { *pointer.cast::<SourceLocation>() };
        }
        // SAFETY: without the bit it was made of a static reference, whose type the cast restores.
        let location: &'static Location<'static> = unsafe { pointer.cast().as_ref() };
        SourceLocation {
            file: location.file(),
            line: location.line(),
            column: location.column(),
        }
    }
}

impl From<&'static Location<'static>> for SourceLocation {
    fn from(location: &'static Location<'static>) -> Self {
        LocationRef::from(location).into()
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A source location with an owned file name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OwnedLocation {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&Location<'_>> for OwnedLocation {
    fn from(location: &Location<'_>) -> Self {
        OwnedLocation {
            file: location.file().to_owned(),
            line: location.line(),
            column: location.column(),
        }
    }
}

impl From<LocationRef> for OwnedLocation {
    fn from(location: LocationRef) -> Self {
        SourceLocation::from(location).into()
    }
}

impl From<SourceLocation> for OwnedLocation {
    fn from(location: SourceLocation) -> Self {
        OwnedLocation {
            file: location.file.to_owned(),
            line: location.line,
            column: location.column,
        }
    }
}

impl fmt::Display for OwnedLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn caller() -> LocationRef {
        LocationRef::caller()
    }

    #[test]
    fn a_reference_has_the_location_that_it_was_made_of() {
        let here = Location::caller();
        let both = (caller(), Location::caller());
        assert_eq!(both.0.line(), both.1.line());
        assert_eq!(SourceLocation::from(here), LocationRef::from(here).into());
        assert_eq!(both.0.file(), file!());

        let elsewhere = SourceLocation::new("queue.c", 12, 0);
        let leaked = LocationRef::leaked(elsewhere);
        assert_eq!(SourceLocation::from(leaked), elsewhere);
        assert_eq!(OwnedLocation::from(leaked).to_string(), "queue.c:12:0");
        assert_eq!(leaked, leaked);
        assert_ne!(leaked, LocationRef::leaked(elsewhere));
        // SAFETY: the pointer comes from `as_ptr`.
        let again = unsafe { LocationRef::from_ptr(leaked.as_ptr()) };
        assert_eq!(again, Some(leaked));
    }
}
