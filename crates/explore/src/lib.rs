//! Which interleaving to run next.
//!
//! - [`program`]: what a front end is to the explorer.

pub mod program;

mod bounded;
mod dpor;
mod driver;
mod execution;
mod parallel;
mod sampling;
mod schedule;

pub use driver::checkpoint::{Checkpoint, CheckpointError};
pub use driver::estimate::Estimate;
pub use driver::replayer::Replayer;
pub use driver::settings::{Settings, SpinRule, Strategy};
pub use driver::{
    CheckpointOptions, CheckpointWriter, Limit, Progress, ProgressCallback, Report, ReportOf,
    explore, explore_with_checkpoints,
};
pub use execution::fault::{BlockedThread, Fault};
pub use execution::findings::{Counterexample, Failure};
pub use execution::monitor_feed::{MonitoredModel, shows_violation};
pub use execution::run::{can_perform, join_finished};
pub use program::{
    Condition, Effect, Intent, OptimisticLoad, Performed, Program, Stop, ThreadStatus, Touch,
    TouchKind,
};
pub use sampling::AfterSchedule;
pub use schedule::{Schedule, ScheduleError, ScheduleErrorKind, Turn};
