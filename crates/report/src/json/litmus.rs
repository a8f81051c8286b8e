//! The results of litmus tests, as JSON: one object per line.

use std::collections::BTreeMap;

use fencepost_litmus::answer::Answer;
use fencepost_litmus::log::{Difference, LogEntry, LoggedState, parse_state, show_logged};
use fencepost_litmus::machine::Cut;
use fencepost_litmus::robust::{InstructionId, Safety, Unfinished};
use fencepost_litmus::test::Test;
use fencepost_memory::MemoryModel;
use serde::{Deserialize, Serialize};

use super::executions::{NoWitnessObject, WitnessObject};
use super::pso_locked;

/// The schema of what `fencepost litmus --json` prints.
pub const LITMUS_SCHEMA: &str = "fencepost-litmus/1";

/// A test under a model.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AnswerObject<'a> {
    schema: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    file: &'a str,
    test: &'a str,
    model: &'static str,
    /// The stores that a locked instruction drains, under PSO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pso_locked: Option<&'static str>,
    states: Vec<String>,
    verdict: &'static str,
    observation: &'static str,
    complete: bool,
    /// Why it is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    condition: &'a str,
    /// In how many final states the condition holds, and in how many not.
    positive: usize,
    negative: usize,
    /// The number of witnesses that the judge checked.
    witnesses_checked: usize,
    /// Whether the axioms came to the same states.
    cross_checked: bool,
    #[serde(flatten)]
    shown: &'a Witnesses,
    seconds: f64,
}

/// The witnesses that were asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Witnesses {
    /// One for each final state that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witnesses: Option<Vec<WitnessObject>>,
    /// Why there is none with what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_witness: Option<NoWitnessObject>,
}

/// The name of what a search was cut by.
fn limit_name(cut: Cut, was_interrupted: bool) -> &'static str {
    match cut {
        Cut::Stopped if was_interrupted => "interrupt",
        Cut::Buffer => "loop-buffer",
        Cut::LongLoop => "long-loop",
        Cut::States => "max-states",
        Cut::Memory => "max-memory",
        Cut::Stopped => "max-time",
    }
}

/// A line of JSON for a test under a model.
pub fn answer(
    file: &str,
    answer: &Answer<'_>,
    shown: &Witnesses,
    seconds: f64,
    was_interrupted: bool,
) -> String {
    let test = answer.test();
    let object = AnswerObject {
        schema: LITMUS_SCHEMA,
        kind: "answer",
        file,
        test: &test.name,
        model: answer.model().name(),
        pso_locked: pso_locked(answer.model()),
        states: answer
            .states
            .iter()
            .map(|state| test.format_state(&state.contents))
            .collect(),
        verdict: answer.verdict().name(),
        observation: answer.observation().name(),
        complete: answer.cut().is_none(),
        limit: answer.cut().map(|cut| limit_name(cut, was_interrupted)),
        condition: &test.condition_text,
        positive: answer.positive(),
        negative: answer.negative(),
        witnesses_checked: answer.checked,
        cross_checked: answer.is_cross_checked,
        shown,
        seconds,
    };
    serde_json::to_string(&object).expect("it has no maps with other keys than strings")
}

/// An instruction that takes part in a violation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct PlaceObject {
    thread: u32,
    instruction: String,
    line: u32,
    column: u32,
}

impl PlaceObject {
    fn new(test: &Test, place: &InstructionId) -> Self {
        let instruction = place.of(test);
        PlaceObject {
            thread: test.threads[place.thread].number,
            instruction: instruction.text.clone(),
            line: instruction.position.line,
            column: instruction.position.column,
        }
    }
}

/// The two instructions of a violation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct ViolationObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<PlaceObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<PlaceObject>,
}

/// Whether a test is store-buffer safe.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct SafetyObject<'a> {
    schema: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    file: &'a str,
    test: &'a str,
    /// By model; null where it is unknown.
    store_buffer_safe: BTreeMap<&'static str, Option<bool>>,
    complete: bool,
    /// By model, where it is not safe.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    violations: BTreeMap<&'static str, ViolationObject>,
    /// Why it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
}

/// A line of JSON for what was decided about a test.
pub fn safety(file: &str, test: &Test, decided: &[(MemoryModel, Safety)]) -> String {
    let mut object = SafetyObject {
        schema: LITMUS_SCHEMA,
        kind: "safety",
        file,
        test: &test.name,
        store_buffer_safe: BTreeMap::new(),
        complete: true,
        violations: BTreeMap::new(),
        limit: None,
    };
    for (model, safety) in decided {
        let is_safe = match safety {
            Safety::Safe => Some(true),
            Safety::Unsafe { pending, event, .. } => {
                let place = |place: &Option<InstructionId>| {
                    place.as_ref().map(|p| PlaceObject::new(test, p))
                };
                let violation = ViolationObject {
                    pending: place(pending),
                    event: place(event),
                };
                object.violations.insert(model.name(), violation);
                Some(false)
            }
            Safety::Contradiction(_) => {
                object.complete = false;
                object.limit = Some("internal-error");
                None
            }
            Safety::Unknown(reason) => {
                object.complete = false;
                object.limit = Some(match reason {
                    Unfinished::Budget => "budget",
                    Unfinished::TooLong => "steps",
                    Unfinished::Fault(_) => "fault",
                });
                None
            }
        };
        object.store_buffer_safe.insert(model.name(), is_safe);
    }
    serde_json::to_string(&object).expect("its maps have strings for keys")
}

/// What differs from an earlier log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct DifferenceObject<'a> {
    schema: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    test: &'a str,
    /// None: what a processor did, beside a log that names no model either.
    model: Option<&'a str>,
    log: &'a str,
    /// Whether the two cannot both be right.
    contradiction: bool,
    /// The verdicts, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdicts: Option<VerdictsObject<'a>>,
    only_here: Vec<String>,
    only_in_log: Vec<String>,
    #[serde(flatten)]
    explained: &'a Explained,
}

/// How the states that only one side has come about, or why they do not.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Explained {
    /// Runs that end in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witnesses: Option<Vec<WitnessObject>>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_witnesses: Option<Vec<NoWitnessObject>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct VerdictsObject<'a> {
    here: &'a str,
    log: &'a str,
}

/// A line of JSON for a test that differs from a log.
pub fn difference(
    here: &LogEntry,
    difference: &Difference,
    log: &str,
    contradiction: bool,
    explained: &Explained,
) -> String {
    let shown = |states: &[LoggedState]| states.iter().map(show_logged).collect();
    let verdicts = difference.verdicts.as_ref();
    let object = DifferenceObject {
        schema: LITMUS_SCHEMA,
        kind: "difference",
        test: &here.test,
        model: here.model.as_deref(),
        log,
        contradiction,
        verdicts: verdicts.map(|(here, log)| VerdictsObject { here, log }),
        only_here: shown(&difference.only_here),
        only_in_log: shown(&difference.only_there),
        explained,
    };
    serde_json::to_string(&object).expect("its maps have strings for keys")
}

/// The totals of a comparison with an earlier log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ComparisonObject<'a> {
    schema: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    log: &'a str,
    /// How many results were compared, and how many of them differ.
    compared: usize,
    different: usize,
    /// How many others differ only in what was not seen on a processor.
    not_seen: usize,
    /// How many results the log does not have, and how many tests only it has.
    not_in_log: usize,
    only_in_log: usize,
}

/// A line of JSON for the totals: how many results were compared, differ, differ in what was not
/// seen only, are not in the log, and how many tests are only there.
pub fn comparison(
    log: &str,
    [compared, different, not_seen, not_in_log, only_in_log]: [usize; 5],
) -> String {
    let object = ComparisonObject {
        schema: LITMUS_SCHEMA,
        kind: "comparison",
        log,
        compared,
        different,
        not_seen,
        not_in_log,
        only_in_log,
    };
    serde_json::to_string(&object).expect("it has no maps")
}

/// The fields of an answer that a comparison needs.
#[derive(Deserialize)]
struct ReadAnswer {
    #[serde(rename = "type")]
    kind: Option<String>,
    test: Option<String>,
    file: Option<String>,
    model: Option<String>,
    states: Vec<String>,
    verdict: Option<String>,
    observation: Option<String>,
    complete: Option<bool>,
}

/// Reads a line that [`answer`] made, or one of a list with the same fields. `None` if it is none.
pub fn read_line(line: &str) -> Option<LogEntry> {
    let line = line.trim_start();
    if !line.starts_with('{') {
        return None;
    }
    let read: ReadAnswer = serde_json::from_str(line).ok()?;
    let name_of_file = || {
        let file = read.file.as_deref()?.rsplit('/').next()?;
        Some(file.strip_suffix(".litmus").unwrap_or(file).to_owned())
    };
    Some(LogEntry {
        test: read.test.clone().or_else(name_of_file)?,
        model: read.model,
        hash: None,
        states: read
            .states
            .iter()
            .filter_map(|state| parse_state(state))
            .collect(),
        verdict: read.verdict,
        observation: read.observation,
        is_cut: read.complete == Some(false),
        is_damaged: false,
        is_sample: read.kind.as_deref() == Some("run"),
    })
}
