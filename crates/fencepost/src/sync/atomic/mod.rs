//! Atomic variables, as in [`std::sync::atomic`].
//!
//! Every operation of `std` is here, with the same name, orderings and panics. A weak
//! compare-exchange does not fail spuriously, as on x86. Each variable can be given a name for
//! reports by `named`.
//!
//! `core` is what all of them are; `integers`, `boolean` and `pointer` give it the faces of `std`;
//! `fences` has no variable, and `double` has two.

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
