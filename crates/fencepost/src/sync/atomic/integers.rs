//! Atomic integers.

use fencepost_runtime::LocationRef;
use std::fmt;
use std::sync::atomic::Ordering;

use super::core::{Atomic, StdVariable, common_operations, modifications};

macro_rules! atomic_integer {
    ($($name:ident $value:ident;)*) => {
        $(
            impl StdVariable for std::sync::atomic::$name {
                const KIND: &'static str = stringify!($name);

                #[inline]
                fn new(value: $value) -> Self {
                    Self::new(value)
                }
            }

            #[doc = concat!("An integer that threads can share, as [`std::sync::atomic::", stringify!($name), "`].")]
            pub struct $name {
                pub(super) atomic: Atomic<std::sync::atomic::$name>,
            }

            common_operations!($value, [], $name, std::sync::atomic::$name);

            impl $name {
                modifications! { $value =>
                    /// Adds, wrapping around. Returns the previous value.
                    fetch_add(value: $value) |before| before.wrapping_add(value);
                    /// Subtracts, wrapping around. Returns the previous value.
                    fetch_sub(value: $value) |before| before.wrapping_sub(value);
                    /// Bitwise "and". Returns the previous value.
                    fetch_and(value: $value) |before| before & value;
                    /// Bitwise "nand". Returns the previous value.
                    fetch_nand(value: $value) |before| !(before & value);
                    /// Bitwise "or". Returns the previous value.
                    fetch_or(value: $value) |before| before | value;
                    /// Bitwise "xor". Returns the previous value.
                    fetch_xor(value: $value) |before| before ^ value;
                    /// Stores the maximum of both values. Returns the previous value.
                    fetch_max(value: $value) |before| before.max(value);
                    /// Stores the minimum of both values. Returns the previous value.
                    fetch_min(value: $value) |before| before.min(value);
                }
            }

            impl Default for $name {
                #[track_caller]
                fn default() -> Self {
                    Self::new($value::default())
                }
            }
        )*
    };
}

atomic_integer! {
    AtomicI8 i8;
    AtomicU8 u8;
    AtomicI16 i16;
    AtomicU16 u16;
    AtomicI32 i32;
    AtomicU32 u32;
    AtomicI64 i64;
    AtomicU64 u64;
    AtomicIsize isize;
    AtomicUsize usize;
}
