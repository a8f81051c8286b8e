//! Checks low-lock Rust code: finds bugs under sequential consistency and on machines with
//! store buffers, or proves that there are none.
//!
//! Write the code against this crate's [`sync`], [`thread`], [`cell`] and [`hint`] instead of those
//! of `std`. Outside of a check they are those of `std`. In a check every operation on them is a
//! step, and the checker runs the program in all the orders that matter.
//!
//! - [`sync`] has what threads share,
//! - [`thread`] has threads,
//! - [`cell`] has data that is not atomic, checked for data races,
//! - [`hint`] says that a thread waits in a loop,
//! - [`lazy_static!`] and [`thread_local!`] are for statics and thread-local storage that every
//!   execution has afresh.
//!
//! For readers of the code: [`rt`] is where it happens.

pub mod cell;
mod check;
pub mod hint;
#[doc(hidden)]
pub mod lazy;
#[doc(hidden)]
pub mod rt;
pub mod sync;
pub mod thread;

#[doc(hidden)]
pub use check::provide_source;
pub use check::{
    Checker, Consequence, Details, FencePlace, FenceSet, Fences, Finding, Instead, Outcome,
    Strategy, Strength, check, replay,
};
pub use rt::Target;
