//! Which interleaving to run next.
//!
//! - [`program`]: what a front end is to the explorer.

pub mod program;

pub use program::{Condition, Effect, Intent, Performed, Program, Standing, Touch, TouchKind};
