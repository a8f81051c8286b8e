//! Atomic types, as in [`std::sync::atomic`].
//!
//! They have every operation of `std`, with the same names, orderings and panics. In a check a weak
//! compare-exchange does not fail spuriously, as on x86. `named` gives a variable a name for
//! reports.
//!
//! `core` is the common part; `integers`, `boolean` and `pointer` are the types of `std`; `fences`
//! has the fences, and `double` a compare-exchange of two variables.

mod boolean;
mod core;
mod double;
mod fences;
mod integers;
mod pointer;

pub use self::boolean::AtomicBool;
#[doc(hidden)]
pub use self::double::double_compare_exchange;
pub use self::fences::{compiler_fence, fence};
pub use self::integers::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize,
};
pub use self::pointer::AtomicPtr;
pub use std::sync::atomic::Ordering;
