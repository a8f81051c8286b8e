//! Atomic pointers.

use fencepost_runtime::LocationRef;
use std::fmt;
use std::sync::atomic::Ordering;

#[cfg(rustc_1_91)]
use super::core::modifications;
use super::core::{Atomic, StdVariable, common_operations};

impl<T> StdVariable for std::sync::atomic::AtomicPtr<T> {
    const KIND: &'static str = "AtomicPtr";

    #[inline]
    fn new(value: *mut T) -> Self {
        Self::new(value)
    }
}

/// A raw pointer type which can be safely shared between threads, as
/// [`std::sync::atomic::AtomicPtr`].
pub struct AtomicPtr<T> {
    atomic: Atomic<std::sync::atomic::AtomicPtr<T>>,
}

common_operations!(*mut T, [T], AtomicPtr<T>, std::sync::atomic::AtomicPtr<T>);

/// Like those of `std`, these need Rust 1.91 or later.
#[cfg(rustc_1_91)]
impl<T> AtomicPtr<T> {
    modifications! { *mut T =>
        /// Moves the pointer up by a number of elements. Returns the previous value.
        fetch_ptr_add(count: usize) |before| before.wrapping_add(count);
        /// Moves the pointer down by a number of elements. Returns the previous value.
        fetch_ptr_sub(count: usize) |before| before.wrapping_sub(count);
        /// Moves the pointer up by a number of bytes. Returns the previous value.
        fetch_byte_add(count: usize) |before| before.wrapping_byte_add(count);
        /// Moves the pointer down by a number of bytes. Returns the previous value.
        fetch_byte_sub(count: usize) |before| before.wrapping_byte_sub(count);
        /// Bitwise "or" of the address. Returns the previous value.
        fetch_or(bits: usize) |before| before.map_addr(|address| address | bits);
        /// Bitwise "and" of the address. Returns the previous value.
        fetch_and(bits: usize) |before| before.map_addr(|address| address & bits);
        /// Bitwise "xor" of the address. Returns the previous value.
        fetch_xor(bits: usize) |before| before.map_addr(|address| address ^ bits);
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

/// Formats the pointer, without an event.
impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.atomic.peek(), f)
    }
}
