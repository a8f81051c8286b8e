//! Runs of litmus tests on the processor, as JSON: one object per line.

use fencepost_hardware::{Ending, Machine};
use serde::Serialize;

use super::litmus::LITMUS_SCHEMA;
use crate::hardware::{ModelComparison, TestRun};

/// A state that a model does not allow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct ForbiddenObject {
    state: String,
    count: u64,
}

/// What a model says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct ModelObject {
    model: &'static str,
    complete: bool,
    allowed: usize,
    /// Allowed states that were not seen.
    not_seen: Vec<String>,
    /// Seen states that are not allowed.
    not_allowed: Vec<ForbiddenObject>,
    /// Whether something was seen that the model forbids.
    contradicted: bool,
}

/// A test that was run.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct RunObject<'a> {
    schema: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    file: &'a str,
    test: &'a str,
    states: Vec<String>,
    /// By state: how often it was seen, and after how many seconds first.
    counts: Vec<u64>,
    first_seen_seconds: Vec<f64>,
    verdict: &'static str,
    observation: &'static str,
    condition: &'a str,
    positive: u64,
    negative: u64,
    executions: u64,
    not_counted: u64,
    skipped: u64,
    seconds: f64,
    executions_per_second: f64,
    positive_per_second: f64,
    models: Vec<ModelObject>,
    ending: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<String>,
    confined: bool,
    seed: u64,
    machine: String,
}

fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Completed => "completed",
        Ending::Stopped => "interrupt",
        Ending::Fault { .. } => "fault",
        Ending::NoEnd { .. } => "no-end",
        Ending::Killed { .. } => "killed",
        _ => "failed",
    }
}

/// A line of JSON for a test that was run.
pub fn run(run: &TestRun<'_>, machine: &Machine, seed: u64) -> String {
    let TestRun { test, record, .. } = run;
    let show = |state: &Vec<u64>| test.format_state(state);
    let (positive, negative) = run.counts();
    let seconds = record.time.as_secs_f64();
    let by_time = |count: u64| {
        if seconds > 0.0 {
            (count as f64 / seconds).round()
        } else {
            0.0
        }
    };
    let model = |comparison: &ModelComparison| ModelObject {
        model: comparison.model.name(),
        complete: comparison.is_complete,
        allowed: comparison.allowed,
        not_seen: comparison.not_seen.iter().map(show).collect(),
        not_allowed: comparison
            .not_allowed
            .iter()
            .map(|(state, count)| ForbiddenObject {
                state: show(state),
                count: *count,
            })
            .collect(),
        contradicted: comparison.is_contradiction(),
    };
    let object = RunObject {
        schema: LITMUS_SCHEMA,
        kind: "run",
        file: run.file,
        test: &test.name,
        states: record.states.keys().map(show).collect(),
        counts: record.states.values().map(|seen| seen.count).collect(),
        first_seen_seconds: record
            .states
            .values()
            .map(|seen| seen.first.as_secs_f64())
            .collect(),
        verdict: run.verdict().name(),
        observation: run.observation().name(),
        condition: &test.condition_text,
        positive,
        negative,
        executions: record.executions,
        not_counted: record.not_kept,
        skipped: record.skipped,
        seconds,
        executions_per_second: by_time(record.executions),
        positive_per_second: by_time(positive),
        models: run.models.iter().map(model).collect(),
        ending: ending_name(run.ending),
        parameters: record.parameters().map(|parameters| parameters.to_string()),
        confined: record.is_confined,
        seed,
        machine: machine.to_string(),
    };
    serde_json::to_string(&object).expect("it has no maps")
}
