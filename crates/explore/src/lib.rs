//! Which interleaving to run next.
//!
//! - [`program`]: what a front end is to the explorer.

pub mod program;

mod bounded;
mod checkpoint;
mod explore;
mod fault;
mod findings;
mod fingerprint;
mod footprint;
mod gathered;
mod letters;
mod meeting;
mod optimal;
mod partners;
mod past;
mod pool;
mod replayer;
mod run;
mod sampled;
mod schedule;
mod settings;
mod sleep;
mod wakeup;
mod watch;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use explore::{Keeping, Limit, Progress, Report, Saver, Watchman, explore, explore_keeping};
pub use fault::{Fault, Waiting};
pub use findings::{Found, Problem};
pub use program::{
    Condition, Effect, Glance, Intent, Performed, Program, Standing, Touch, TouchKind,
};
pub use replayer::Replayer;
pub use sampled::After;
pub use schedule::{Schedule, ScheduleError, ScheduleFlaw, Turn};
pub use settings::{Settings, SpinRule, Strategy};
pub use watch::{Watched, shows_violation};
