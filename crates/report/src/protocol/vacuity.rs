//! Vacuity: rules, antecedents and properties that the search never exercised.

use std::fmt::Write;

use fencepost_protocol::model::points::{PointId, PointKind};
use fencepost_protocol::outcome::Verdict;
use fencepost_protocol::vacuity::vacuous;
use fencepost_protocol::{Model, Span};

use super::SearchedModel;
use super::values::{printable, shortened};
use crate::style::{HEADING, SUCCESS, Styled, WARNING};
use crate::text::{counted, grouped};

/// The largest number of points that are listed; JSON has all.
const MAX_LISTED: usize = 20;

/// A point of the model that the search never exercised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VacuousPoint {
    /// `rule`, `antecedent`, `quantifier`, `assertion`, `invariant` or `cover`.
    pub kind: &'static str,
    /// The name of the rule or property that it is, or is in.
    pub name: Option<String>,
    /// The line where it is.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// Its text in the model, on one line.
    pub text: String,
}

impl VacuousPoint {
    fn describe(&self, width: usize) -> String {
        let name = match &self.name {
            Some(name) => format!(" `{}`", printable(name)),
            None => String::new(),
        };
        let said = match self.kind {
            "rule" => return format!("rule{name} never fired"),
            "assertion" => return format!("assertion{name} was never reached"),
            "invariant" => return format!("invariant{name} was never true: is its ruleset empty?"),
            "cover" => return format!("cover{name} was never true"),
            "antecedent" if self.name.is_some() => format!("antecedent in{name} never held: "),
            "antecedent" => "antecedent never held: ".to_owned(),
            _ if self.name.is_some() => format!("quantifier in{name} never had a value: "),
            _ => "quantifier never had a value: ".to_owned(),
        };
        let room = width.saturating_sub(said.chars().count() + 2).max(16);
        format!("{said}`{}`", shortened(&self.text, room))
    }
}

/// All points that were never exercised, in source order; none if the search has no state.
pub fn vacuous_points(checked: &SearchedModel<'_>) -> Vec<VacuousPoint> {
    let model = checked.model;
    if checked.report.states == 0 {
        return Vec::new();
    }
    // A failed property was exercised, and so was a rule that failed in its body.
    let trace = checked.report.trace.as_ref();
    let failed = match &checked.report.verdict {
        Verdict::InvariantFailed(instance) => Some(model.properties[instance.index].point),
        _ => trace
            .and_then(|trace| trace.failed.as_ref())
            .map(|failed| model.rules[failed.index].point),
    };
    let points = vacuous(model, &checked.report.hits).into_iter();
    points
        .filter(|point| Some(*point) != failed)
        .map(|point| describe_point(model, point))
        .collect()
}

fn describe_point(model: &Model, id: PointId) -> VacuousPoint {
    let point = &model.points[id.0 as usize];
    let position = model.position(point.span);
    let kind = match point.kind {
        PointKind::Rule => "rule",
        PointKind::Antecedent => "antecedent",
        PointKind::Assertion => "assertion",
        PointKind::Invariant => "invariant",
        PointKind::Cover => "cover",
        _ => "quantifier",
    };
    VacuousPoint {
        kind,
        name: name(model, id),
        line: position.line,
        column: position.column,
        text: on_one_line(&model.source[point.span.start as usize..point.span.end as usize]),
    }
}

/// The name of a point, or of the property or assertion that it is in.
fn name(model: &Model, id: PointId) -> Option<String> {
    let point = &model.points[id.0 as usize];
    if let Some(rule) = model.rules.iter().position(|rule| rule.point == id) {
        return Some(model.rule_name(rule));
    }
    let contains = |span: Span| span.start <= point.span.start && point.span.end <= span.end;
    let properties = model.properties.iter();
    if let Some(property) = { properties }.position(|p| p.point == id || contains(p.span)) {
        return Some(model.property_name(property));
    }
    let mut around = model.points.iter();
    let around = around.find(|p| p.kind == PointKind::Assertion && contains(p.span));
    point
        .name
        .clone()
        .or_else(|| around.and_then(|assertion| assertion.name.clone()))
}

/// A part of a model without line ends, and with single spaces.
pub(super) fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// The vacuity section of the report. It is there even if nothing is vacuous, which is a result too,
/// but not if a start state fails and no state was explored.
pub fn vacuity_text(checked: &SearchedModel<'_>, width: usize) -> String {
    if checked.report.states == 0 {
        return String::new();
    }
    let found = vacuous_points(checked);
    let until = match checked.is_complete() {
        true => "",
        false => " before the search stopped",
    };
    let heading = Styled(HEADING, "vacuity");
    if found.is_empty() {
        let none = Styled(SUCCESS, "none");
        // No rule fired if there is none, or the first one failed.
        let rules = match checked.report.rules_fired {
            0 => "",
            _ => "every rule fired, ",
        };
        return format!(
            "{heading}: {none} ({rules}every antecedent held, every assertion was reached)\n"
        );
    }
    let count = counted(found.len() as u64, "point");
    let never = Styled(WARNING, format!("{count} never reached"));
    let mut text = format!("{heading}: {never}{until}\n");
    let digits = { found.iter() }
        .map(|each| each.line.to_string().len())
        .max();
    let digits = digits.unwrap_or(1);
    for each in found.iter().take(MAX_LISTED) {
        let room = width.saturating_sub(digits + 10);
        let _ = writeln!(
            text,
            "  line {:>digits$}: {}",
            each.line,
            each.describe(room)
        );
    }
    if found.len() > MAX_LISTED {
        let more = grouped((found.len() - MAX_LISTED) as u64);
        let _ = writeln!(text, "  … and {more} more (use --json for all of them)");
    }
    text
}
