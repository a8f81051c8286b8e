//! Atomic booleans.

use fencepost_runtime::LocationRef;
use std::fmt;
use std::sync::atomic::Ordering;

use super::core::{Atomic, StdVariable, common_operations, modifications};

impl StdVariable for std::sync::atomic::AtomicBool {
    const KIND: &'static str = "AtomicBool";

    #[inline]
    fn new(value: bool) -> Self {
        Self::new(value)
    }
}

/// A boolean type which can be safely shared between threads, as [`std::sync::atomic::AtomicBool`].
pub struct AtomicBool {
    atomic: Atomic<std::sync::atomic::AtomicBool>,
}

common_operations!(bool, [], AtomicBool, std::sync::atomic::AtomicBool);

impl AtomicBool {
    modifications! { bool =>
        /// Logical "and". Returns the previous value.
        fetch_and(value: bool) |before| before & value;
        /// Logical "nand". Returns the previous value.
        fetch_nand(value: bool) |before| !(before & value);
        /// Logical "or". Returns the previous value.
        fetch_or(value: bool) |before| before | value;
        /// Logical "xor". Returns the previous value.
        fetch_xor(value: bool) |before| before ^ value;
    }

    /// Logical "not". Returns the previous value.
    #[inline(always)]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        match self.atomic.current(LocationRef::caller()) {
            None => self.atomic.variable.fetch_not(order),
            Some(current) => self.atomic.modify(current, order, |before| !before),
        }
    }
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}
