//! Where an exploration is, so that it can go on later, in another process.
//!
//! A [`Checkpoint`] has the totals and findings so far, and what is left: for an exhaustive
//! search, which has one worker then, its path with what is asleep and what is planned at each
//! node; for random executions, which number is next. It is exact: the search goes on as if it had not
//! been interrupted.
//!
//! Findings are kept as schedules, and run again when the search goes on. The number of threads,
//! objects and locations must mean the same then, which is the front end's business: it
//! adds what it has to remember ([`Checkpoint::front_end`]).
//!
//! - `text` writes and reads them,
//! - `saving` makes them,
//! - `resuming` goes on from them.

mod letters;
mod resuming;
mod saving;
mod text;

use std::time::Duration;

use fencepost_memory::{Address, LocationId, LockedDrains, ThreadId};
use thiserror::Error;

use crate::dpor::learned::OperationClass;
use crate::dpor::wakeup::{PlannedStep, Sleeper};
use crate::driver::settings::{LIVELOCK_AFTER, Settings, SpinRule, Strategy};
use crate::execution::fingerprint::Fingerprint;
use crate::execution::monitor_feed::MonitoredModel;
use crate::schedule::Schedule;

pub(crate) use resuming::{Resumed, changed, first_execution, resume};
pub(crate) use saving::Keeper;

/// Where an exploration is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// What the front end has to remember: its settings and names. Any text.
    pub front_end: String,
    /// The settings that it belongs to, by name.
    settings: Vec<(&'static str, String)>,
    /// What the program does when its threads run in order.
    program: Fingerprint,
    totals: Totals,
    findings: Vec<SavedFinding>,
    place: Place,
}

impl Checkpoint {
    /// The executions that were run to an end, or to where something was found.
    pub fn executions(&self) -> u64 {
        self.totals.executions
    }

    /// The time that it has taken.
    pub fn elapsed(&self) -> Duration {
        self.totals.elapsed
    }
}

/// A checkpoint that cannot be used, or cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It is something else.
    #[error("it is no checkpoint")]
    NoCheckpoint,
    /// It was written by another version.
    #[error("it was made by another version of Fencepost ({made}; this is {own})")]
    OtherVersion {
        /// The version that made it.
        made: String,
        /// This one.
        own: String,
    },
    /// It is not as it was written.
    #[error("it is damaged: {what}")]
    Damaged {
        /// What is wrong with it.
        what: String,
    },
    /// It belongs to other settings.
    #[error("it was made with another setting: {name} was {made}, and is {now}")]
    OtherSetting {
        /// Which setting.
        name: String,
        /// What it was.
        made: String,
        /// What it is.
        now: String,
    },
    /// It belongs to another program.
    #[error("the program has changed since the checkpoint, or is not deterministic: {what}")]
    ProgramChanged {
        /// How that was noticed.
        what: String,
    },
    /// There are no checkpoints with this strategy.
    #[error(
        "there are no checkpoints with this strategy: only exhaustive, random and PCT searches have them"
    )]
    Unsupported,
}

/// What has been done and counted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Totals {
    executions: u64,
    abandoned: u64,
    steps: u64,
    faults: u64,
    borderline: u64,
    violations: u64,
    was_cut: bool,
    elapsed: Duration,
    waits: Vec<Option<LocationId>>,
    /// The distinct violations, and how often each was seen.
    tally: Vec<([u64; 3], u64)>,
}

/// A finding, to be found again.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SavedFinding {
    execution: u64,
    kind: SavedKind,
    schedule: Schedule,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum SavedKind {
    /// By its distinct key.
    StoreBuffer([u64; 3]),
    /// With the thread that would have gone next, where that is known.
    Fault(Option<ThreadId>),
}

/// What is left to explore.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    Tree(Tree),
    /// The number of the next execution.
    Sample(u64),
}

/// The tree of executions, as far as something is left of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tree {
    /// What operations are taken to touch besides their objects.
    pub(crate) learned: Vec<(OperationClass, Address)>,
    /// Where the search is, unless all has been explored.
    pub(crate) path: Option<Path>,
}

/// The way to where the next execution begins to differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    pub(crate) schedule: Schedule,
    pub(crate) fingerprint: Fingerprint,
    /// The races that need no further look.
    pub(crate) settled: Vec<u32>,
    /// The nodes, from the root on: one more than there are steps.
    pub(crate) nodes: Vec<SavedNode>,
}

/// What was done and what is left at a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SavedNode {
    /// How many steps have been explored from here.
    pub(crate) done: u32,
    pub(crate) asleep: Vec<Sleeper>,
    pub(crate) planned: Vec<PlannedStep>,
}

/// What decides which executions there are and how they are judged: what a checkpoint depends on.
fn settings_of(settings: &Settings) -> Vec<(&'static str, String)> {
    // All fields, so that a new one is not forgotten.
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
        ("go_on", switch(*continue_after_failure)),
        ("spin_bound", spin_bound),
        ("max_steps", max_steps.to_string()),
        ("kept_findings", kept_findings.to_string()),
    ];
    if *livelock_after != LIVELOCK_AFTER {
        listed.push(("livelock_after", livelock_after.to_string()));
    }
    listed
}

/// A strategy as the settings say it that choose it.
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
        // They have no checkpoints.
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

/// Whether there are checkpoints with these settings.
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
