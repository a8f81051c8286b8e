//! Monitors over one sequentially consistent interleaving.
//!
//! A monitor observes one interleaving of a program, event by event, and answers: does this trace
//! show that the program also has an execution under TSO (or PSO) that is not sequentially
//! consistent? Only sequentially consistent executions are ever run.
//!
//! Read in this order:
//! - [`clocks`]: general vector clocks; [`happens_before`]: the clock that every monitor uses;
//! - [`monitor`]: the trait; [`relaxed_order`]: the default monitor;
//! - [`sober`] and [`bss`]: the published monitors, as printed;
//! - [`runner`]: runs a monitor over a trace;
//! - [`bitset`]: the default monitor for short interleavings; [`reordering`]: when nothing need be
//!   observed; [`rewinding`]: the monitor of an explorer, which combines them and rewinds;
//! - [`explain`]: from a violation to its cycle and its checked witness; [`repair`]: which fences
//!   rule it out; [`tally`]: counts.
//!
//! This crate does not know where events come from, and it prints nothing.

pub mod bitset;
pub mod bss;
pub mod clocks;
pub mod explain;
pub mod happens_before;
mod history;
pub mod journal;
pub mod monitor;
mod recent;
pub mod relaxed_order;
pub mod reordering;
pub mod repair;
pub mod rewinding;
pub mod runner;
mod select;
pub mod sober;
pub mod tally;
pub mod violation;

#[cfg(test)]
mod definition_tests;
#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod runner_tests;
#[cfg(test)]
mod value_tests;

pub use bitset::BitsetMonitor;
pub use bss::{BssPso, BssTso};
pub use explain::{
    Action, CycleEvent, ExplainError, Finding, Relation, Witness, WitnessStep, check_interleaving,
    explain_interleaving,
};
pub use happens_before::HappensBefore;
pub use journal::{JournalMark, Rewind};
pub use monitor::{HappensBeforeOnly, Monitor};
pub use relaxed_order::{ByAddress, ByWriter, RelaxedOrderMonitor};
pub use reordering::ReorderingDetector;
pub use repair::{FenceGap, Repair, StrongerOrdering, fence_gaps};
pub use rewinding::{MonitoredModel, ObservedPrefix, RewindingMonitor};
pub use runner::{MemoryLimitExceeded, MonitorLimits, MonitorRunner, RunnerMark};
pub use sober::Sober;
pub use tally::{TallyResult, ViolationTally};
pub use violation::{OperationId, PlacedEvent, Violation};
