//! Which interleaving to run next.
//!
//! - [`program`]: what a front end is to the explorer.

pub mod program;

mod bounded;
mod explore;
mod fault;
mod findings;
mod footprint;
mod optimal;
mod past;
mod pool;
mod run;
mod sampled;
mod schedule;
mod settings;
mod wakeup;
mod watch;

pub use explore::{Limit, Progress, Report, Watchman, explore};
pub use fault::{Fault, Waiting};
pub use findings::{Found, Problem};
pub use program::{Condition, Effect, Intent, Performed, Program, Standing, Touch, TouchKind};
pub use schedule::{Schedule, ScheduleError, Turn};
pub use settings::{Settings, SpinRule, Strategy};
pub use watch::{Shown, Watched};
