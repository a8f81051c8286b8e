//! Checks lock-free Rust code. It explores every interleaving that matters, detects the behaviour that store buffers
//! (x86-TSO, PSO) add, and shows the bug or proves that there is none.
//!
//! ```
//! use fencepost::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! use fencepost::thread;
//!
//! fencepost::check(|| {
//!     let count = AtomicUsize::new(0);
//!     thread::scope(|scope| {
//!         scope.spawn(|| count.fetch_add(1, SeqCst));
//!         scope.spawn(|| count.fetch_add(1, SeqCst));
//!     });
//!     assert_eq!(count.load(SeqCst), 2);
//! });
//! ```
//!
//! Write the code against this crate's modules instead of those of `std`:
//! - [`sync`]: atomics, locks, channels and `Arc`,
//! - [`thread`]: threads and thread-local storage,
//! - [`cell`]: cells that are checked for data races,
//! - [`hint`]: the spin hint,
//! - [`lazy_static!`] and [`thread_local!`]: statics that every execution initializes anew.
//!
//! With the global allocator [`Allocator`], a check also compares what the program has allocated before it takes a loop
//! to wait.
//!
//! In a check, each operation on them is a step that the checker schedules. Outside of a check, they behave as those
//! of `std`. [`check`] panics with a report if the program is wrong; [`Checker`] has settings and returns an
//! [`Outcome`].
//!
//! For readers of the code: this crate has the look-alikes of `std`. The crate `fencepost-check` runs a check, and
//! `fencepost-runtime` runs the program.

pub mod cell;
pub mod hint;
mod lazy;
pub mod sync;
pub mod thread;

/// For the macros of this crate only.
#[doc(hidden)]
pub mod __private {
    pub use crate::lazy::Lazy;
}

pub use fencepost_check::{
    Assumption, Checker, Consequence, Details, FenceAlternative, FenceInference, FenceSet,
    FenceStrength, Finding, InferredFence, Limit, Outcome, Strategy, check, replay,
};
pub use fencepost_report::SourcePosition;
pub use fencepost_runtime::{Allocator, Target};
