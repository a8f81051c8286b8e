//! Monitors over one sequentially consistent interleaving.
//!
//! A monitor watches one interleaving of a program, event by event, and answers: does this
//! trace show that the program also has an execution under TSO (or PSO) that is not
//! sequentially consistent? Only sequentially consistent executions are ever run.
//!
//! Read in this order: [`clocks`] (general vector clocks), [`happens_before`] (the clock
//! that every monitor uses), [`monitor`] (the trait), [`relaxed_order`] (the default
//! monitor), [`short`] (the same for short interleavings), [`sober`] and [`bss`] (the published monitors, as printed), [`watcher`] (runs a
//! monitor), [`passing`] (when a monitor need not be fed), [`explain`] (from a violation to its cycle and its checked witness), [`tally`]
//! (counts).
//!
//! This crate does not know where events come from, and it prints nothing.

pub mod bss;
pub mod clocks;
pub mod explain;
pub mod happens_before;
mod history;
pub mod journal;
pub mod monitor;
pub mod passing;
mod recent;
pub mod relaxed_order;
pub mod short;
pub mod sober;
pub mod tally;
pub mod violation;
pub mod watcher;

#[cfg(test)]
mod definition_tests;
#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod value_tests;

pub use bss::{BssPso, BssTso};
pub use explain::{
    Action, CycleEvent, ExplainError, Finding, Relation, Witness, WitnessStep, check_interleaving,
    explain_interleaving,
};
pub use happens_before::HappensBefore;
pub use journal::{Mark, Rewind};
pub use monitor::{HappensBeforeOnly, Monitor};
pub use passing::Passing;
pub use relaxed_order::{ByAddress, ByWriter, RelaxedOrder};
pub use short::ShortOrder;
pub use sober::Sober;
pub use tally::{Recorded, Tally};
pub use violation::{OperationId, Placed, Violation};
pub use watcher::{OutOfMemoryLimit, WatchLimits, Watcher, WatcherMark};
