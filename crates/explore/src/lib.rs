//! Chooses which interleaving of a program to run next.
//!
//! A front end implements [`Program`]; [`explore`] runs it under a [`Strategy`] and returns a
//! [`Report`].
//!
//! Read the modules in this order:
//! - [`program`]: the contract between a front end and the explorer;
//! - `schedule`: which thread takes which step, as text;
//! - `execution`: one execution, its events, their races, what the monitor sees, what is found;
//! - `sampling`: random walks, PCT and replay, where executions do not depend on each other;
//! - `dpor`: exhaustive search by optimal dynamic partial-order reduction;
//! - `bounded`: search under a preemption bound;
//! - `parallel`: what several workers share;
//! - `driver`: settings, budgets, workers, checkpoints and the report.
//!
//! This crate does no I/O and knows no names: threads, objects and source locations are ids that
//! the front end keeps the same from execution to execution.

pub mod program;

mod bounded;
mod dpor;
mod driver;
mod execution;
mod parallel;
mod sampling;
mod schedule;

pub use driver::budget::{Progress, ProgressCallback};
pub use driver::checkpoint::{Checkpoint, CheckpointError, UnvalidatedCheckpoint};
pub use driver::estimate::Estimate;
pub use driver::replayer::Replayer;
pub use driver::report::{Limit, Report, ReportOf};
pub use driver::settings::{Settings, SpinRule, Strategy};
pub use driver::{CheckpointOptions, CheckpointWriter, explore, explore_with_checkpoints};
pub use execution::fault::{BlockedThread, Fault};
pub use execution::findings::{Counterexample, Failure};
pub use execution::monitor_feed::shows_violation;
pub use execution::run::{can_perform, join_finished};
pub use fencepost_monitor::MonitoredModel;
pub use program::{
    Condition, Effect, Intent, OptimisticLoad, Performed, Program, Round, Stop, ThreadStatus,
    Touch, TouchKind,
};
pub use sampling::AfterSchedule;
pub use schedule::{Schedule, ScheduleError, ScheduleErrorKind, Turn};
