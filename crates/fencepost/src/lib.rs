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
//! For readers of the code: the crate `fencepost-runtime` runs the program.

pub mod cell;
mod check;
pub mod hint;
mod lazy;
pub mod sync;
pub mod thread;

/// For the macros of this crate only.
#[doc(hidden)]
pub mod __private {
    pub use crate::lazy::Lazy;
}

pub use check::{
    Assumption, Checker, Consequence, Details, FenceAlternative, FenceInference, FenceSet,
    FenceStrength, Finding, InferredFence, Limit, Outcome, Strategy, check, replay,
};
pub use fencepost_report::SourcePosition;
pub use fencepost_runtime::Target;
