//! A choice between two values that compiles to a conditional move, where the compiler supports a hint.

#[cfg(rustc_1_88)]
pub(crate) use std::hint::select_unpredictable;

/// Before Rust 1.88, the compiler decides whether it branches.
#[cfg(not(rustc_1_88))]
#[inline]
pub(crate) fn select_unpredictable<T>(condition: bool, if_true: T, if_false: T) -> T {
    if condition { if_true } else { if_false }
}
