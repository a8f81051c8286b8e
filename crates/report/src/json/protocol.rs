//! Searches of Murphi models, as JSON: the trace if there is one, and then a summary.

use fencepost_protocol::Model;
use fencepost_protocol::model::types::{TypeId, TypeKind};
use fencepost_protocol::outcome::Trace;
use fencepost_protocol::outcome::Value;
use fencepost_protocol::outcome::{Bound, Verdict};
use fencepost_protocol::search::Symmetry;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::protocol::changes::{Change, changes};
use crate::protocol::values::keys;
use crate::protocol::{
    Parameter, SearchedModel, failed, point_name, rule_parameters, startstate_parameters,
    vacuous_points,
};

/// The schema of what `fencepost protocol --json` prints.
pub const PROTOCOL_SCHEMA: &str = "fencepost-protocol/1";

#[derive(Serialize)]
struct Summary<'a> {
    schema: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    file: &'a str,
    /// `no error`, or what failed with its name.
    verdict: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<FailedObject>,
    states: u64,
    rules_fired: u64,
    depth: u64,
    /// The length of all covered paths, if a bound ended the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    covered: Option<u64>,
    /// The symmetry reduction; null if the model has no symmetry.
    symmetry: Option<&'static str>,
    workers: usize,
    seconds: f64,
    complete: bool,
    /// The bound that ended the search early.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    /// In bytes; null if it was not measured.
    memory: Option<u64>,
    /// The probability that states were missed; null if all of each state was kept.
    omission: Option<f64>,
    vacuous: Vec<VacuousObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<Vec<PointObject>>,
    constants: Map<String, Json>,
    /// The number of steps of the counterexample.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_length: Option<usize>,
    replay: &'a str,
    /// Why the last checkpoint could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_error: Option<&'a str>,
    version: &'static str,
}

#[derive(Serialize)]
struct FailedObject {
    kind: &'static str,
    name: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

#[derive(Serialize)]
struct VacuousObject {
    kind: &'static str,
    name: Option<String>,
    line: u32,
    column: u32,
    text: String,
}

#[derive(Serialize)]
struct PointObject {
    kind: &'static str,
    name: Option<String>,
    line: u32,
    column: u32,
    times: u64,
}

/// The verdict, with the name of the failed property; its location has a field of its own.
fn named_verdict(checked: &SearchedModel<'_>) -> String {
    match &checked.report.verdict {
        Verdict::Fault { fault, .. } => fault.kind.to_string(),
        other => other.describe(checked.model),
    }
}

/// The last line: the result of the search, with the hit counts if they were collected.
pub fn summary(checked: &SearchedModel<'_>, with_coverage: bool, version: &'static str) -> String {
    let (model, report) = (checked.model, checked.report);
    let limit = match report.verdict {
        Verdict::Incomplete(bound) => Some(bound_name(bound)),
        _ => None,
    };
    let vacuous = vacuous_points(checked)
        .into_iter()
        .map(|each| VacuousObject {
            kind: each.kind,
            name: each.name,
            line: each.line,
            column: each.column,
            text: each.text,
        });
    let constants = model.constants.iter();
    let object = Summary {
        schema: PROTOCOL_SCHEMA,
        kind: "summary",
        file: checked.file,
        verdict: named_verdict(checked),
        failed: failed(checked).map(|failed| {
            let position = failed.span.map(|span| model.position(span));
            FailedObject {
                kind: failed.kind,
                name: failed.name,
                line: position.map(|position| position.line),
                column: position.map(|position| position.column),
            }
        }),
        states: report.states,
        rules_fired: report.rules_fired,
        depth: report.depth,
        covered: report.covered.filter(|_| limit.is_some()),
        symmetry: report.symmetry.map(Symmetry::name),
        workers: report.workers,
        seconds: (checked.seconds * 1e6).round() / 1e6,
        complete: checked.is_complete(),
        limit,
        memory: (report.memory > 0).then_some(report.memory),
        omission: report.omission,
        vacuous: vacuous.collect(),
        coverage: with_coverage.then(|| coverage(checked)),
        constants: constants
            .map(|constant| (constant.name.clone(), constant.value.into()))
            .collect(),
        trace_length: report
            .trace
            .as_ref()
            .map(|trace| trace.steps.len() + usize::from(trace.failed.is_some())),
        replay: checked.replay,
        checkpoint_error: checked.checkpoint_error,
        version,
    };
    super::line(&object)
}

fn coverage(checked: &SearchedModel<'_>) -> Vec<PointObject> {
    let model = checked.model;
    let points = model.points.iter().zip(&checked.report.hits);
    let mut objects: Vec<PointObject> = points
        .map(|(point, times)| {
            let position = model.position(point.span);
            PointObject {
                kind: point_name(point.kind),
                name: point.name.clone(),
                line: position.line,
                column: position.column,
                times: *times,
            }
        })
        .collect();
    objects.sort_by_key(|object| (object.line, object.column));
    objects
}

fn bound_name(bound: Bound) -> &'static str {
    match bound {
        Bound::States => "max-states",
        Bound::Time => "max-time",
        Bound::Depth => "max-depth",
        Bound::Memory => "max-memory",
        Bound::Stopped => "interrupt",
        Bound::Walks => "walks",
        Bound::Permutations => "permutations",
    }
}

#[derive(Serialize)]
struct TraceObject<'a> {
    schema: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    file: &'a str,
    verdict: String,
    start: StartObject,
    steps: Vec<StepObject>,
    /// The rule that failed in the last state, if that is what is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<RuleObject>,
}

#[derive(Serialize)]
struct StartObject {
    startstate: String,
    parameters: Map<String, Json>,
    line: u32,
    state: Json,
}

#[derive(Serialize)]
struct RuleObject {
    rule: String,
    parameters: Map<String, Json>,
    line: u32,
}

#[derive(Serialize)]
struct StepObject {
    #[serde(flatten)]
    rule: RuleObject,
    changes: Vec<Json>,
    state: Json,
}

/// One line: the way to the error, with all states. Nothing if there is none.
pub fn trace(checked: &SearchedModel<'_>) -> Option<String> {
    let model = checked.model;
    let trace: &Trace = checked.report.trace.as_ref()?;
    let rule = |instance, before: &[Value]| {
        let parameters = rule_parameters(model, instance, before);
        RuleObject {
            rule: model.rule_name(instance.index),
            parameters: named(parameters),
            line: model.position(model.rules[instance.index].span).line,
        }
    };
    let mut before = &trace.first;
    let mut steps = Vec::new();
    for step in &trace.steps {
        let found = changes(model, before, &step.state);
        steps.push(StepObject {
            rule: rule(&step.rule, before),
            changes: found.iter().map(|each| change(model, each)).collect(),
            state: state(model, &step.state),
        });
        before = &step.state;
    }
    let start = &model.startstates[trace.start.index];
    let object = TraceObject {
        schema: PROTOCOL_SCHEMA,
        kind: "trace",
        file: checked.file,
        verdict: named_verdict(checked),
        start: StartObject {
            startstate: model.startstate_name(trace.start.index),
            parameters: named(startstate_parameters(model, &trace.start)),
            line: model.position(start.span).line,
            state: state(model, &trace.first),
        },
        steps,
        failed: trace.failed.as_ref().map(|failed| rule(failed, before)),
    };
    Some(super::line(&object))
}

fn named(parameters: Vec<Parameter>) -> Map<String, Json> {
    let pairs = parameters.into_iter();
    pairs.map(|each| (each.name, each.value.into())).collect()
}

fn change(model: &Model, change: &Change<'_>) -> Json {
    let place = change.place().name(model);
    match change {
        Change::Value {
            type_id,
            before,
            after,
            ..
        } => serde_json::json!({
            "place": place,
            "before": value(model, *type_id, before),
            "after": value(model, *type_id, after),
        }),
        Change::Bag {
            element,
            removed,
            added,
            ..
        } => {
            let all = |elements: &[&Value]| -> Vec<Json> {
                let elements = elements.iter();
                elements.map(|each| value(model, *element, each)).collect()
            };
            serde_json::json!({ "place": place, "removed": all(removed), "added": all(added) })
        }
    }
}

fn state(model: &Model, state: &[Value]) -> Json {
    let globals = model.globals.iter().zip(state);
    let pairs = globals.map(|(global, each)| {
        let each = value(model, global.type_id, each);
        (global.name.clone(), each)
    });
    Json::Object(pairs.collect())
}

/// Records and arrays are objects, multisets are lists, undefined is null.
fn value(model: &Model, id: TypeId, of: &Value) -> Json {
    let types = &model.types;
    match (of, &types[id].kind) {
        (Value::Simple(number), TypeKind::Boolean) => (*number != 0).into(),
        (Value::Simple(number), TypeKind::Range(..)) => (*number).into(),
        (Value::Simple(number), _) => types.show(id, *number).into(),
        (Value::Parts(parts), TypeKind::Record(fields)) => {
            let pairs = parts.iter().zip(fields);
            let pairs = pairs.map(|(part, f)| (f.name.clone(), value(model, f.type_id, part)));
            Json::Object(pairs.collect())
        }
        (Value::Parts(parts), TypeKind::Array { index, element }) => {
            let pairs = keys(types, *index).zip(parts);
            let pairs = pairs.map(|(key, part)| {
                let name = types.show(*index, key);
                (name, value(model, *element, part))
            });
            Json::Object(pairs.collect())
        }
        (Value::Elements(elements), TypeKind::Multiset { element, .. }) => {
            let present = elements.iter().flatten();
            let present = present.map(|each| value(model, *element, each));
            Json::Array(present.collect())
        }
        _ => Json::Null,
    }
}
