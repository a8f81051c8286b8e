//! Saving an exploration, so that another process can resume it.
//!
//! A [`Checkpoint`] has the totals and findings so far, and what remains: for an exhaustive search,
//! which has one worker then, the current path with the sleep set and the wakeup tree of each node;
//! for a sample, the number of the next execution. It is exact: the resumed search continues as if
//! it had not been interrupted.
//!
//! Findings are saved as schedules, and run again on resuming. Ids of threads, objects and
//! locations must mean the same then. The front end ensures that, and saves its own tables together
//! with the checkpoint.
//!
//! - `format`: what is in a file, and what is validated when one is read;
//! - `saving`: making checkpoints;
//! - `resuming`: continuing from one.

mod format;
mod resuming;
mod saving;

use std::time::Duration;

use fencepost_checkpoint::OpenError;
use fencepost_memory::{Address, LocationId, LockedDrains, ThreadId};
use fencepost_monitor::MonitoredModel;
use thiserror::Error;

use crate::dpor::learned::OperationClass;
use crate::dpor::wakeup::{PlannedStep, Sleeper};
use crate::driver::settings::{LIVELOCK_AFTER, Settings, SpinRule, Strategy};
use crate::execution::fingerprint::Fingerprint;
use crate::schedule::Schedule;

use format::Counts;
pub use format::UnvalidatedCheckpoint;
pub(crate) use resuming::{Resumed, first_execution, program_changed, resume};
pub(crate) use saving::CheckpointCoordinator;

/// The state of an exploration between two executions.
///
/// It serializes with serde; the counterpart for reading is [`UnvalidatedCheckpoint`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// The settings that it depends on, by name.
    settings: Vec<(&'static str, String)>,
    /// The fingerprint of the execution in which threads run in order.
    program: Fingerprint,
    totals: Totals,
    findings: Vec<SavedFinding>,
    remaining: Remaining,
}

impl Checkpoint {
    /// The number of executions that ran to their end or to a failure.
    pub fn executions(&self) -> u64 {
        self.totals.counts.executions
    }

    /// The time that the exploration has taken.
    pub fn elapsed(&self) -> Duration {
        self.totals.elapsed
    }
}

/// Why an exploration cannot be resumed or saved. Messages complete "cannot resume: …".
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The bytes are not a checkpoint of an exploration, or are damaged.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Another version of Fencepost made the checkpoint.
    #[error("written by another version of Fencepost (version {made}; this is version {own})")]
    OtherVersion {
        /// The version that made it.
        made: String,
        /// This version.
        own: String,
    },
    /// The checksum is right, but the explorer makes no such checkpoints.
    #[error("the checkpoint is damaged ({reason})")]
    Damaged {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The checkpoint was made with other settings.
    #[error("the checkpoint was made with another setting ({name} was {made}, now it is {now})")]
    OtherSetting {
        /// The setting.
        name: String,
        /// Its value in the checkpoint.
        made: String,
        /// Its value now.
        now: String,
    },
    /// The checkpoint is of another program.
    #[error("the program has changed since the checkpoint, or is not deterministic ({reason})")]
    ProgramChanged {
        /// How that was noticed.
        reason: String,
    },
    /// The strategy has no checkpoints.
    #[error("only exhaustive, random and PCT explorations have checkpoints")]
    Unsupported,
}

/// What there is so far besides findings.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Totals {
    counts: Counts,
    hit_spin_bound: bool,
    elapsed: Duration,
    waits: Vec<Option<LocationId>>,
    /// The keys of the distinct violations, and how often each was seen.
    tally: Vec<([u64; 3], u64)>,
}

/// A finding, by the schedule that reproduces it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SavedFinding {
    execution: u64,
    failure: SavedFailure,
    schedule: Schedule,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SavedFailure {
    /// A violation with this distinct key.
    StoreBuffer([u64; 3]),
    /// A fault, and the thread that was about to take the next step if the fault depends on it.
    Fault(Option<ThreadId>),
}

/// What remains to be explored.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Remaining {
    /// The unexplored part of the search tree.
    Tree(SavedTree),
    /// The executions of a sample from this number on.
    Samples { next: u64 },
}

/// The unexplored part of the search tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SavedTree {
    /// The objects that classes of operations are taken to touch besides their own.
    pub(crate) learned: Vec<(OperationClass, Address)>,
    /// The path to the next execution, unless everything has been explored.
    pub(crate) path: Option<SavedPath>,
}

/// The path to the node from which the next execution is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SavedPath {
    pub(crate) schedule: Schedule,
    pub(crate) fingerprint: Fingerprint,
    /// The indices of the races that are settled.
    pub(crate) settled: Vec<u32>,
    /// The nodes from the root on: one more than there are steps.
    pub(crate) nodes: Vec<SavedNode>,
}

/// A node of the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SavedNode {
    /// The number of steps that have been explored from here.
    pub(crate) explored: u32,
    pub(crate) asleep: Vec<Sleeper>,
    pub(crate) planned: Vec<PlannedStep>,
}

/// The settings that a checkpoint depends on: those that decide which executions there are and how
/// they are judged.
fn settings_of(settings: &Settings) -> Vec<(&'static str, String)> {
    // Lists all fields, so that a new one is not forgotten.
    let Settings {
        strategy,
        monitored_model,
        continue_after_failure,
        spin,
        livelock_after,
        max_steps,
        kept_findings,
        max_executions: _,
        max_time: _,
        workers: _,
        memory: _,
        always_share_work: _,
        prefix: _,
    } = settings;
    let switch = |is_on| if is_on { "on" } else { "off" }.to_owned();
    let spin_bound = match spin {
        SpinRule::UntilChange => "none".to_owned(),
        SpinRule::Bound(rounds) => rounds.to_string(),
    };
    let mut listed = vec![
        ("strategy", strategy_text(strategy)),
        ("monitor", switch(*monitored_model != MonitoredModel::None)),
        ("target", target_text(*monitored_model)),
        ("continue_after_failure", switch(*continue_after_failure)),
        ("spin_bound", spin_bound),
        ("max_steps", max_steps.to_string()),
        ("kept_findings", kept_findings.to_string()),
    ];
    if *livelock_after != LIVELOCK_AFTER {
        listed.push(("livelock_after", livelock_after.to_string()));
    }
    listed
}

/// A strategy in terms of the settings that choose it.
fn strategy_text(strategy: &Strategy) -> String {
    match strategy {
        Strategy::Exhaustive => "exhaustive".to_owned(),
        Strategy::Random { seed, executions } => {
            format!("random (seed {seed}, executions {executions})")
        }
        Strategy::Pct {
            seed,
            executions,
            depth,
        } => format!("pct (seed {seed}, executions {executions}, pct_depth {depth})"),
        // The others have no checkpoints.
        other => format!("{other:?}"),
    }
}

fn target_text(monitored_model: MonitoredModel) -> String {
    match monitored_model {
        MonitoredModel::None => "any".to_owned(),
        MonitoredModel::Tso => "x86".to_owned(),
        MonitoredModel::Pso(LockedDrains::OwnAddress) => "pso".to_owned(),
        MonitoredModel::Pso(LockedDrains::Everything) => {
            "pso (locked operations drain everything)".to_owned()
        }
    }
}

/// Whether the strategy has checkpoints.
pub(crate) fn are_supported(settings: &Settings) -> bool {
    match settings.strategy {
        _ if !settings.prefix.0.is_empty() => false,
        Strategy::Exhaustive | Strategy::Random { .. } | Strategy::Pct { .. } => true,
        Strategy::Bounded { .. }
        | Strategy::BoundedOrExhaustive { .. }
        | Strategy::StickyRandom { .. }
        | Strategy::Replay(_) => false,
    }
}
