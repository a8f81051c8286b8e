//! What a checkpoint looks like in a file, and what is checked when one is read.
//!
//! The types here mirror those of the explorer, with plain numbers and without what can be derived.
//! Their order and their fields are the format: a change needs a new [`FORMAT_VERSION`]. Conditions
//! are saved without their numbers, which may be pointers.
//!
//! A file may be damaged or written by anyone, so decoding yields an [`UnvalidatedCheckpoint`].
//! Nothing in it decides how much memory is taken, except its length.
//! [`UnvalidatedCheckpoint::validate`] checks everything that the search relies on.

use std::time::Duration;

use fencepost_checkpoint::{Kind, open, seal};
use fencepost_memory::{Address, LocationId, ThreadId};
use serde::{Deserialize, Serialize, Serializer};

use super::{
    Checkpoint, CheckpointError, Remaining, SavedFailure, SavedFinding, SavedNode, SavedPath,
    SavedTree, Totals, settings_of,
};
use crate::dpor::footprint::Footprint;
use crate::dpor::learned::OperationClass;
use crate::dpor::wakeup::{PlannedStep, Sleeper};
use crate::driver::settings::{Settings, Strategy};
use crate::execution::fingerprint::Fingerprint;
use crate::program::{Condition, Effect, Intent, TouchKind};
use crate::schedule::{Schedule, Turn};

/// Increase this whenever a type of this file changes. Formats up to 4 were text.
const FORMAT_VERSION: u32 = 6;

/// The version of Fencepost. Another version may explore in another order.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Larger counts are refused; sums of smaller ones do not overflow.
const COUNT_LIMIT: u64 = 1 << 50;
/// The explorer keeps a table of all objects below the largest touched one.
const OBJECT_LIMIT: u32 = 1 << 20;
/// As in schedules.
const THREAD_LIMIT: u32 = 1 << 24;
/// Counts of steps that are added to each other.
const STEP_LIMIT: u32 = u32::MAX >> 1;

impl Checkpoint {
    /// Returns the checkpoint as the contents of a file of its own.
    pub fn to_bytes(&self) -> Vec<u8> {
        seal(Kind::Exploration, FORMAT_VERSION, self)
    }

    /// Reads the contents of such a file, for an exploration with these settings.
    pub fn from_bytes(bytes: &[u8], settings: &Settings) -> Result<Self, CheckpointError> {
        let checkpoint: UnvalidatedCheckpoint = open(Kind::Exploration, FORMAT_VERSION, bytes)?;
        checkpoint.validate(settings)
    }
}

impl Serialize for Checkpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Contents::from(self).serialize(serializer)
    }
}

/// A checkpoint that was decoded, but may not fit the settings, or may not be one that the explorer
/// made.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct UnvalidatedCheckpoint(Contents);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Contents {
    version: String,
    settings: Vec<(String, String)>,
    program: u64,
    totals: TotalsData,
    findings: Vec<FindingData>,
    remaining: RemainingData,
}

/// The counts of [`SearchResults`](crate::driver::results::SearchResults), in both forms.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) executions: u64,
    pub(super) abandoned: u64,
    pub(super) steps: u64,
    pub(super) faults: u64,
    pub(super) borderline: u64,
    pub(super) violations: u64,
    pub(super) pruned: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct TotalsData {
    counts: Counts,
    milliseconds: u64,
    hit_spin_bound: bool,
    waits: Vec<Option<u32>>,
    tally: Vec<([u64; 3], u64)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FindingData {
    execution: u64,
    failure: FailureData,
    schedule: Vec<TurnData>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum FailureData {
    StoreBuffer([u64; 3]),
    Fault(Option<u32>),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct TurnData {
    thread: u32,
    outcome: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum RemainingData {
    Tree(TreeData),
    Samples { next: u64 },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct TreeData {
    learned: Vec<LearnedData>,
    path: Option<PathData>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct LearnedData {
    object: u32,
    has_condition: bool,
    touched: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PathData {
    schedule: Vec<TurnData>,
    fingerprint: u64,
    settled: Vec<u32>,
    nodes: Vec<NodeData>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NodeData {
    explored: u32,
    asleep: Vec<SleeperData>,
    planned: Vec<PlannedData>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SleeperData {
    turn: TurnData,
    intent: Option<IntentData>,
    footprint: FootprintData,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PlannedData {
    level: u32,
    turn: TurnData,
    footprint: FootprintData,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FootprintData {
    touches: Vec<(u32, TouchKindData)>,
    is_barrier: bool,
    is_exact: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum TouchKindData {
    Read,
    Update,
    Write,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum IntentData {
    Local,
    SpinHint,
    Stopped,
    Join(u32),
    Access {
        object: u32,
        effect: EffectData,
        awaits: bool,
    },
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum EffectData {
    Read,
    Write,
    WriteIf,
    WriteMultiple,
    Update,
}

impl From<&Checkpoint> for Contents {
    fn from(checkpoint: &Checkpoint) -> Self {
        let finding = |finding: &SavedFinding| FindingData {
            execution: finding.execution,
            failure: match finding.failure {
                SavedFailure::StoreBuffer(key) => FailureData::StoreBuffer(key),
                SavedFailure::Fault(next) => FailureData::Fault(next.map(|thread| thread.0)),
            },
            schedule: schedule_data(&finding.schedule),
        };
        let settings = checkpoint.settings.iter();
        let settings = settings.map(|(name, value)| ((*name).to_owned(), value.clone()));
        Contents {
            version: VERSION.to_owned(),
            settings: settings.collect(),
            program: checkpoint.program.0,
            totals: TotalsData::from(&checkpoint.totals),
            findings: checkpoint.findings.iter().map(finding).collect(),
            remaining: match &checkpoint.remaining {
                Remaining::Tree(tree) => RemainingData::Tree(TreeData::from(tree)),
                &Remaining::Samples { next } => RemainingData::Samples { next },
            },
        }
    }
}

impl From<&Totals> for TotalsData {
    fn from(totals: &Totals) -> Self {
        let wait = |wait: &Option<LocationId>| wait.map(|location| location.index() as u32);
        TotalsData {
            counts: totals.counts,
            milliseconds: totals.elapsed.as_millis() as u64,
            hit_spin_bound: totals.hit_spin_bound,
            waits: totals.waits.iter().map(wait).collect(),
            tally: totals.tally.clone(),
        }
    }
}

impl From<&SavedTree> for TreeData {
    fn from(tree: &SavedTree) -> Self {
        let learned = |(class, touched): &(OperationClass, Address)| LearnedData {
            object: class.object.0,
            has_condition: class.has_condition,
            touched: touched.0,
        };
        let path = |path: &SavedPath| PathData {
            schedule: schedule_data(&path.schedule),
            fingerprint: path.fingerprint.0,
            settled: path.settled.clone(),
            nodes: path.nodes.iter().map(NodeData::from).collect(),
        };
        TreeData {
            learned: tree.learned.iter().map(learned).collect(),
            path: tree.path.as_ref().map(path),
        }
    }
}

impl From<&SavedNode> for NodeData {
    fn from(node: &SavedNode) -> Self {
        let sleeper = |sleeper: &Sleeper| SleeperData {
            turn: TurnData::from(sleeper.turn()),
            intent: sleeper.intent.map(IntentData::from),
            footprint: FootprintData::from(&sleeper.footprint),
        };
        let planned = |step: &PlannedStep| PlannedData {
            level: step.level,
            turn: TurnData {
                thread: step.thread.0,
                outcome: step.outcome,
            },
            footprint: FootprintData::from(&step.footprint),
        };
        NodeData {
            explored: node.explored,
            asleep: node.asleep.iter().map(sleeper).collect(),
            planned: node.planned.iter().map(planned).collect(),
        }
    }
}

impl From<Turn> for TurnData {
    fn from(turn: Turn) -> Self {
        TurnData {
            thread: turn.thread.0,
            outcome: turn.outcome,
        }
    }
}

fn schedule_data(schedule: &Schedule) -> Vec<TurnData> {
    schedule.0.iter().copied().map(TurnData::from).collect()
}

impl From<&Footprint> for FootprintData {
    fn from(footprint: &Footprint) -> Self {
        let touch = |(object, kind): (Address, TouchKind)| {
            let kind = match kind {
                TouchKind::Read => TouchKindData::Read,
                TouchKind::Update => TouchKindData::Update,
                TouchKind::Write => TouchKindData::Write,
            };
            (object.0, kind)
        };
        FootprintData {
            touches: footprint.touches().map(touch).collect(),
            is_barrier: footprint.is_barrier,
            is_exact: footprint.is_exact,
        }
    }
}

impl From<Intent> for IntentData {
    fn from(intent: Intent) -> Self {
        match intent {
            Intent::Local => IntentData::Local,
            Intent::SpinHint => IntentData::SpinHint,
            Intent::Stopped => IntentData::Stopped,
            Intent::Join(thread) => IntentData::Join(thread.0),
            Intent::Access {
                object,
                effect,
                awaits,
            } => IntentData::Access {
                object: object.0,
                effect: match effect {
                    Effect::Read => EffectData::Read,
                    Effect::Write => EffectData::Write,
                    Effect::WriteIf(_) => EffectData::WriteIf,
                    Effect::WriteMultiple => EffectData::WriteMultiple,
                    Effect::Update => EffectData::Update,
                },
                awaits: awaits.is_some(),
            },
        }
    }
}

type Validated<T> = Result<T, CheckpointError>;

fn damaged<T>(reason: &'static str) -> Validated<T> {
    Err(CheckpointError::Damaged { reason })
}

/// For messages.
fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

impl UnvalidatedCheckpoint {
    /// Returns the checkpoint if it is one of an exploration with these settings, by this version
    /// of Fencepost, and if the explorer could have made it.
    pub fn validate(self, settings: &Settings) -> Result<Checkpoint, CheckpointError> {
        let contents = self.0;
        if contents.version != VERSION {
            return Err(CheckpointError::OtherVersion {
                made: shortened(&contents.version),
                own: VERSION.to_owned(),
            });
        }
        let own_settings = settings_of(settings);
        compare_settings(&contents.settings, &own_settings)?;
        // The search keeps this many violations, and as many faults.
        if contents.findings.len() / 2 > settings.kept_findings.max(1) {
            return damaged("it has too many findings");
        }
        let validator = Validator {
            max_steps: settings.max_steps,
        };
        let findings = contents.findings.iter();
        let findings: Validated<_> = findings.map(|finding| validator.finding(finding)).collect();
        let remaining = match (contents.remaining, &settings.strategy) {
            (RemainingData::Tree(tree), Strategy::Exhaustive) => {
                Remaining::Tree(validator.tree(&tree)?)
            }
            (RemainingData::Samples { next }, strategy) if *strategy != Strategy::Exhaustive => {
                let next = count(next)?;
                Remaining::Samples { next }
            }
            _ => return damaged("it is of another strategy"),
        };
        Ok(Checkpoint {
            settings: own_settings,
            program: Fingerprint(contents.program),
            totals: totals(&contents.totals)?,
            findings: findings?,
            remaining,
        })
    }
}

fn compare_settings(
    made: &[(String, String)],
    own: &[(&'static str, String)],
) -> Result<(), CheckpointError> {
    for (index, (name, now)) in own.iter().enumerate() {
        let made = match made.get(index) {
            Some((made_name, made)) if made_name == name => made,
            _ => return damaged("a setting is missing"),
        };
        if made != now {
            return Err(CheckpointError::OtherSetting {
                name: (*name).to_owned(),
                made: shortened(made),
                now: now.clone(),
            });
        }
    }
    match made.len() == own.len() {
        true => Ok(()),
        false => damaged("it has an unknown setting"),
    }
}

fn count(number: u64) -> Validated<u64> {
    match number < COUNT_LIMIT {
        true => Ok(number),
        false => damaged("a count is too large"),
    }
}

impl Counts {
    fn validate(self) -> Validated<Self> {
        let Counts {
            executions,
            abandoned,
            steps,
            faults,
            borderline,
            violations,
            pruned,
        } = self;
        for number in [
            executions, abandoned, steps, faults, borderline, violations, pruned,
        ] {
            count(number)?;
        }
        Ok(self)
    }
}

fn thread(number: u32) -> Validated<ThreadId> {
    match number < THREAD_LIMIT {
        true => Ok(ThreadId(number)),
        false => damaged("a thread id is too large"),
    }
}

fn totals(data: &TotalsData) -> Validated<Totals> {
    let wait = |wait: &Option<u32>| match wait {
        Some(u32::MAX) => damaged("a source location is too large"),
        wait => Ok(wait.map(LocationId::from_index)),
    };
    for &(_, times) in &data.tally {
        count(times)?;
    }
    Ok(Totals {
        counts: data.counts.validate()?,
        elapsed: Duration::from_millis(count(data.milliseconds)?),
        hit_spin_bound: data.hit_spin_bound,
        waits: data.waits.iter().map(wait).collect::<Validated<_>>()?,
        tally: data.tally.clone(),
    })
}

/// Validates what depends on the settings.
struct Validator {
    max_steps: u64,
}

impl Validator {
    fn schedule(&self, turns: &[TurnData]) -> Validated<Schedule> {
        if turns.len() as u64 > self.max_steps {
            return damaged("a schedule has too many steps");
        }
        let turns: Validated<_> = turns.iter().copied().map(turn).collect();
        turns.map(Schedule)
    }

    fn finding(&self, data: &FindingData) -> Validated<SavedFinding> {
        Ok(SavedFinding {
            execution: count(data.execution)?,
            failure: match data.failure {
                FailureData::StoreBuffer(key) => SavedFailure::StoreBuffer(key),
                FailureData::Fault(next) => SavedFailure::Fault(next.map(thread).transpose()?),
            },
            schedule: self.schedule(&data.schedule)?,
        })
    }

    fn tree(&self, data: &TreeData) -> Validated<SavedTree> {
        let learned = |learned: &LearnedData| {
            if learned.touched >= OBJECT_LIMIT {
                return damaged("an object id is too large");
            }
            let class = OperationClass {
                object: Address(learned.object),
                has_condition: learned.has_condition,
            };
            Ok((class, Address(learned.touched)))
        };
        Ok(SavedTree {
            learned: data.learned.iter().map(learned).collect::<Validated<_>>()?,
            path: data.path.as_ref().map(|path| self.path(path)).transpose()?,
        })
    }

    fn path(&self, data: &PathData) -> Validated<SavedPath> {
        let schedule = self.schedule(&data.schedule)?;
        if data.nodes.len() != schedule.0.len() + 1 {
            return damaged("the nodes do not match the steps of the path");
        }
        if data.settled.contains(&u32::MAX) {
            return damaged("a race index is too large");
        }
        Ok(SavedPath {
            schedule,
            fingerprint: Fingerprint(data.fingerprint),
            settled: data.settled.clone(),
            nodes: data.nodes.iter().map(node).collect::<Validated<_>>()?,
        })
    }
}

fn turn(data: TurnData) -> Validated<Turn> {
    Ok(Turn {
        thread: thread(data.thread)?,
        outcome: data.outcome,
    })
}

fn node(data: &NodeData) -> Validated<SavedNode> {
    if data.explored >= STEP_LIMIT {
        return damaged("a node has too many explored steps");
    }
    let sleeper = |data: &SleeperData| {
        let Turn { thread, outcome } = turn(data.turn)?;
        Ok(Sleeper {
            thread,
            outcome,
            footprint: footprint(&data.footprint),
            intent: data.intent.map(intent).transpose()?,
            is_explored: true,
        })
    };
    let mut deepest = 0;
    let mut planned = Vec::new();
    for step in &data.planned {
        if step.level > deepest || step.level >= STEP_LIMIT {
            return damaged("a planned step is not below the one before");
        }
        deepest = step.level + 1;
        let Turn { thread, outcome } = turn(step.turn)?;
        planned.push(PlannedStep {
            level: step.level,
            thread,
            outcome,
            footprint: footprint(&step.footprint),
        });
    }
    Ok(SavedNode {
        explored: data.explored,
        asleep: data.asleep.iter().map(sleeper).collect::<Validated<_>>()?,
        planned,
    })
}

fn footprint(data: &FootprintData) -> Footprint {
    let mut footprint = Footprint::empty(data.is_barrier);
    footprint.is_exact = data.is_exact;
    for &(object, kind) in &data.touches {
        let kind = match kind {
            TouchKindData::Read => TouchKind::Read,
            TouchKindData::Update => TouchKind::Update,
            TouchKindData::Write => TouchKind::Write,
        };
        footprint.push(Address(object), kind);
    }
    footprint
}

fn intent(data: IntentData) -> Validated<Intent> {
    // Any number does: conditions are compared without it.
    let condition = Condition::Equals(0);
    Ok(match data {
        IntentData::Local => Intent::Local,
        IntentData::SpinHint => Intent::SpinHint,
        IntentData::Stopped => Intent::Stopped,
        IntentData::Join(joined) => Intent::Join(thread(joined)?),
        IntentData::Access {
            object,
            effect,
            awaits,
        } => Intent::Access {
            object: Address(object),
            effect: match effect {
                EffectData::Read => Effect::Read,
                EffectData::Write => Effect::Write,
                EffectData::WriteIf => Effect::WriteIf(condition),
                EffectData::WriteMultiple => Effect::WriteMultiple,
                EffectData::Update => Effect::Update,
            },
            awaits: awaits.then_some(condition),
        },
    })
}
