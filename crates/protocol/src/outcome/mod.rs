//! The vocabulary of results, which both searches share: verdicts, faults, traces and the states in
//! them.
//!
//! Nothing here searches or evaluates. The reference and the compiled search share this, the model,
//! and no other code, so that each can be compared with the other.

mod deadlock;
mod fault;
mod trace;
mod value;
mod verdict;

pub use deadlock::DeadlockRule;
pub use fault::{Fault, FaultKind};
pub use trace::{Step, Trace};
pub use value::Value;
pub use verdict::{Bound, FaultContext, Instance, Verdict};
