//! Findings as JSON: the one home of the schema.
//!
//! Every object has `schema` (name and version of the format) and `type`. Fields are only
//! added within a version. [`check`] has the objects of checked programs.

pub mod check;
#[cfg(feature = "litmus")]
pub mod executions;
pub mod fences;
#[cfg(feature = "hardware")]
pub mod hardware;
#[cfg(feature = "litmus")]
pub mod litmus;
#[cfg(feature = "protocol")]
pub mod protocol;

use std::collections::BTreeMap;

use fencepost_memory::{Buffering, LockedDrains, MemoryModel};
use fencepost_monitor::{Action, ExplainError, Finding, PlacedEvent, Violation, Witness};
use serde::Serialize;

use crate::names::Naming;

/// The schema of everything that `fencepost monitor --json` prints.
pub const MONITOR_SCHEMA: &str = "fencepost-monitor/1";

/// The schema of what `fencepost trace stat --json` prints.
pub const STATISTICS_SCHEMA: &str = "fencepost-trace-stat/1";

/// One event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EventObject {
    /// Its position in the interleaving, from 1.
    pub position: u64,
    /// The thread's name.
    pub thread: String,
    /// The issue index.
    pub issue: u64,
    /// The kind: `ld`, `st`, …
    pub operation: String,
    /// The address's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<u64>,
    /// The source location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

impl EventObject {
    pub(crate) fn new(placed: &PlacedEvent, names: &dyn Naming) -> Self {
        let access = &placed.event.access;
        EventObject {
            position: placed.position + 1,
            thread: names.thread(access.thread),
            issue: placed.event.issue.0,
            operation: access.operation.kind().to_string(),
            address: access.operation.address().map(|a| names.address(a)),
            value: access.value,
            location: names.source(access),
        }
    }
}

/// An event of the cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CycleObject {
    /// The event.
    #[serde(flatten)]
    pub event: EventObject,
    /// The relation to the next event.
    pub relation: &'static str,
    /// Whether the model keeps that order.
    pub kept: bool,
}

impl CycleObject {
    pub(crate) fn all(finding: &Finding, names: &dyn Naming) -> Vec<Self> {
        let steps = finding.cycle.iter().map(|step| CycleObject {
            event: EventObject::new(&step.event, names),
            relation: step.relation.name(),
            kept: step.is_kept,
        });
        steps.collect()
    }
}

/// A step of the witness.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StepObject {
    /// The event.
    #[serde(flatten)]
    pub event: EventObject,
    /// `buffer`, `forward`, `read`, `exchange`, `perform` or `commit`.
    pub action: &'static str,
    /// The position of the write that is read, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_position: Option<u64>,
}

/// The run that shows a violation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WitnessObject {
    /// Always true: an unchecked witness is never shown.
    pub checked: bool,
    /// The number of events of the interleaving before the run.
    pub starts_after: u64,
    /// The number of steps of events that do not happen after the pending write.
    pub prelude: usize,
    /// The steps.
    pub steps: Vec<StepObject>,
}

impl WitnessObject {
    pub(crate) fn new(witness: &Witness, names: &dyn Naming) -> Self {
        let steps = witness.steps.iter().map(|step| {
            let (action, source) = match step.action {
                Action::Buffer => ("buffer", None),
                Action::Forward(store) => ("forward", Some(store)),
                Action::Read(write) => ("read", write),
                Action::Exchange(write) => ("exchange", write),
                Action::Perform => ("perform", None),
                Action::Commit => ("commit", None),
            };
            StepObject {
                event: EventObject::new(&step.event, names),
                action,
                reads_position: source.map(|write| write.position + 1),
            }
        });
        WitnessObject {
            checked: true,
            starts_after: witness.starts_after,
            prelude: witness.prelude,
            steps: steps.collect(),
        }
    }
}

/// A violation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ViolationObject {
    /// [`MONITOR_SCHEMA`].
    pub schema: &'static str,
    /// `violation`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The number among the distinct violations, from 1.
    pub number: usize,
    /// The model.
    pub model: &'static str,
    /// The stores that locked operations drain, for PSO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pso_locked: Option<&'static str>,
    /// The write that can be overtaken.
    pub pending: EventObject,
    /// The last event before `event` of its thread.
    pub last: EventObject,
    /// The event that can overtake.
    pub event: EventObject,
    /// The happens-before cycle.
    pub cycle: Vec<CycleObject>,
    /// The run, or null with `witness_missing` saying why.
    pub witness: Option<WitnessObject>,
    /// Why there is no witness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness_missing: Option<String>,
}

/// The value of `pso_locked`.
pub fn pso_locked(model: &MemoryModel) -> Option<&'static str> {
    (model.buffering() == Buffering::PerAddress).then_some(match model.locked_drains() {
        LockedDrains::Everything => "everything",
        LockedDrains::OwnAddress => "own-address",
    })
}

impl ViolationObject {
    /// The violation as an object.
    pub fn new(
        number: usize,
        violation: &Violation,
        explained: &Result<Finding, ExplainError>,
        names: &dyn Naming,
    ) -> Self {
        let event = |placed: &PlacedEvent| EventObject::new(placed, names);
        let finding = explained.as_ref().ok();
        ViolationObject {
            schema: MONITOR_SCHEMA,
            kind: "violation",
            number,
            model: violation.model.name(),
            pso_locked: pso_locked(&violation.model),
            pending: event(&violation.pending),
            last: event(&violation.last),
            event: event(&violation.event),
            cycle: finding.map_or_else(Vec::new, |f| CycleObject::all(f, names)),
            witness: finding.map(|f| WitnessObject::new(&f.witness, names)),
            witness_missing: explained.as_ref().err().map(ToString::to_string),
        }
    }
}

/// The number of occurrences of a violation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CountObject {
    /// The number among the distinct violations.
    pub number: usize,
    /// The number of occurrences.
    pub count: u64,
}

/// The result of a run of a monitor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MonitorSummary {
    /// [`MONITOR_SCHEMA`].
    pub schema: &'static str,
    /// `summary`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The file as given.
    pub file: String,
    /// The model.
    pub model: &'static str,
    /// The stores that locked operations drain, for PSO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pso_locked: Option<&'static str>,
    /// The monitor.
    pub monitor: &'static str,
    /// The events read.
    pub events: u64,
    /// The threads seen.
    pub threads: usize,
    /// The addresses seen.
    pub addresses: usize,
    /// Whether there was a violation. One interleaving without one proves nothing.
    pub violation_found: bool,
    /// All violations.
    pub violations: u64,
    /// The distinct violations, by source locations.
    pub distinct: usize,
    /// Whether `distinct` is only a lower bound.
    pub distinct_is_lower_bound: bool,
    /// The number of occurrences of each violation that was printed.
    pub counts: Vec<CountObject>,
    /// Whether the whole trace was read.
    pub complete: bool,
    /// The limit that stopped the run: `max-events`, `memory`, `names` or `interrupt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<&'static str>,
    /// The reason as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    /// The version of Fencepost.
    pub version: &'static str,
}

/// The statistics of a trace: `fencepost trace stat --json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StatisticsObject {
    /// [`STATISTICS_SCHEMA`].
    pub schema: &'static str,
    /// `trace-statistics`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The file as given.
    pub file: String,
    /// `text` or `binary`.
    pub format: &'static str,
    /// All events.
    pub events: u64,
    /// Events that read.
    pub reads: u64,
    /// Events that write.
    pub writes: u64,
    /// Events by kind.
    pub operations: BTreeMap<&'static str, u64>,
    /// The threads that have events.
    pub threads: usize,
    /// The addresses with the most events.
    pub busiest_threads: Vec<ThreadObject>,
    /// The addresses that are accessed.
    pub addresses: usize,
    /// The source locations that occur.
    pub locations: usize,
    /// Events with a value.
    pub with_value: u64,
    /// Events with a source location.
    pub with_location: u64,
}

/// A thread and its events.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ThreadObject {
    /// The thread's name.
    pub thread: String,
    /// Its events.
    pub events: u64,
}

/// Why a command with `--json` could not go on: the last line, instead of a summary.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ErrorObject {
    /// The schema of the command.
    pub schema: &'static str,
    /// `error`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The exit code.
    pub exit_code: u8,
    /// The message on standard error.
    pub message: String,
}

/// One line of JSON.
pub fn line(object: &impl Serialize) -> String {
    serde_json::to_string(object).expect("the objects have string keys only")
}
