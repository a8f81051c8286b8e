//! The verdict of a search, with the source lines of an error.

use fencepost_diagnostics::{Label, LabelledSource, render_error};
use fencepost_protocol::Span;
use fencepost_protocol::model::PropertyKind;
use fencepost_protocol::outcome::{Bound, FaultContext, FaultKind, Verdict};

use super::SearchedModel;
use super::instances::{in_parentheses, property_parameters};
use crate::style::{SUCCESS, Styled, WARNING};
use crate::text::grouped;

/// The property that failed, for scripts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// `invariant`, `assertion`, `error`, `deadlock`, `cover` or `fault`.
    pub kind: &'static str,
    /// The name of the property, if it has one.
    pub name: Option<String>,
    /// Its source location; none for a deadlock.
    pub span: Option<Span>,
}

/// The property that failed, if there is one.
pub fn failed(checked: &SearchedModel<'_>) -> Option<Failed> {
    let model = checked.model;
    Some(match &checked.report.verdict {
        Verdict::NoError | Verdict::Incomplete(_) => return None,
        Verdict::InvariantFailed(instance) => Failed {
            kind: "invariant",
            name: Some(model.property_name(instance.index)),
            span: Some(model.properties[instance.index].span),
        },
        Verdict::Fault { fault, .. } => {
            let (kind, name) = match &fault.kind {
                FaultKind::Assertion(name) => ("assertion", name.clone()),
                FaultKind::Error(message) => ("error", Some(message.clone())),
                _ => ("fault", None),
            };
            Failed {
                kind,
                name,
                span: Some(fault.span),
            }
        }
        Verdict::Deadlock => Failed {
            kind: "deadlock",
            name: None,
            span: None,
        },
        Verdict::CoverMissed(point) => {
            let point = &model.points[point.0 as usize];
            Failed {
                kind: "cover",
                name: point.name.clone(),
                span: Some(point.span),
            }
        }
    })
}

/// The verdict in one line.
pub fn headline(checked: &SearchedModel<'_>) -> String {
    let model = checked.model;
    match &checked.report.verdict {
        Verdict::InvariantFailed(instance) => {
            let parameters = in_parentheses(&property_parameters(model, instance));
            let name = model.property_name(instance.index);
            format!("invariant failed: {name}{parameters}")
        }
        Verdict::Fault { fault, .. } => match &fault.kind {
            // The level of the message is `error` already.
            FaultKind::Error(message) => message.clone(),
            kind => kind.to_string(),
        },
        Verdict::Deadlock => {
            "deadlock: no rule leads from the last state to another state".to_owned()
        }
        other => other.describe(model),
    }
}

/// The verdict with its source lines.
pub fn verdict(checked: &SearchedModel<'_>, width: usize) -> String {
    let model = checked.model;
    match &checked.report.verdict {
        Verdict::NoError => format!(
            "{}: all states were explored\n",
            Styled(SUCCESS, "no error")
        ),
        Verdict::Incomplete(bound) => incomplete(checked, *bound),
        Verdict::InvariantFailed(instance) => {
            let span = model.properties[instance.index].span;
            let label = "does not hold in the last state of the trace";
            excerpt(checked, &[(span, label, true)], None, width)
        }
        Verdict::Fault { fault, at } => {
            let mut marks = vec![(fault.span, "", true)];
            let (around, label) = match at {
                FaultContext::Startstate(instance) => (
                    model.startstates[instance.index].span,
                    "in this start state",
                ),
                FaultContext::Guard(index) => {
                    (model.rules[*index].span, "in the guard of this rule")
                }
                FaultContext::Rule(instance) => (model.rules[instance.index].span, "in this rule"),
                FaultContext::Property(index) => {
                    let property = &model.properties[*index];
                    let label = match property.kind {
                        PropertyKind::Invariant => "while this invariant is checked",
                        PropertyKind::Assumption => "while this assumption is checked",
                        PropertyKind::Cover => "while this cover is checked",
                    };
                    (property.span, label)
                }
            };
            let is_within = around.start <= fault.span.start && fault.span.end <= around.end;
            match is_within {
                true => marks[0].1 = label,
                false => marks.push((around, label, false)),
            }
            excerpt(checked, &marks, fault_help(&fault.kind), width)
        }
        Verdict::Deadlock => {
            let help = "if the model may stop there, use --deadlock off";
            excerpt(checked, &[], Some(help), width)
        }
        Verdict::CoverMissed(point) => {
            let span = model.points[point.0 as usize].span;
            let label = "all states were explored, and this was never true";
            excerpt(checked, &[(span, label, true)], None, width)
        }
    }
}

fn fault_help(kind: &FaultKind) -> Option<&'static str> {
    match kind {
        FaultKind::Undefined | FaultKind::UndefinedIndex => {
            Some("variables are undefined until they are assigned, and after `undefine`")
        }
        FaultKind::LoopTooLong { .. } => Some("--while-rounds allows more rounds"),
        FaultKind::MultisetFull { .. } => {
            Some("declare the multiset larger, or send only if there is room")
        }
        _ => None,
    }
}

/// An error with its source lines. A mark is a location, its label, and whether the error is there.
fn excerpt(
    checked: &SearchedModel<'_>,
    marks: &[(Span, &str, bool)],
    help: Option<&str>,
    width: usize,
) -> String {
    let labels = marks.iter().map(|&(span, text, is_primary)| Label {
        span: span.start as usize..span.end as usize,
        text,
        is_primary,
    });
    let source = LabelledSource {
        path: checked.file,
        text: &checked.model.source,
        first_line: 1,
        labels: labels.collect(),
    };
    let sources = match marks.is_empty() {
        true => &[],
        false => std::slice::from_ref(&source),
    };
    render_error(&headline(checked), sources, help, width)
}

fn incomplete(checked: &SearchedModel<'_>, bound: Bound) -> String {
    let states = match checked.report.states {
        1 => "one explored state".to_owned(),
        states => format!("{} explored states", grouped(states)),
    };
    let (why, help) = match bound {
        Bound::States => (
            "the search stopped at --max-states",
            "raise --max-states to explore more",
        ),
        Bound::Time => (
            "the search stopped at --max-time",
            "raise --max-time to explore more",
        ),
        Bound::Depth => (
            "states deeper than --max-depth were not explored",
            "raise --max-depth to explore more",
        ),
        Bound::Memory => (
            "the search ran out of memory",
            match checked.report.omission {
                None => {
                    "raise --max-memory, store fewer bits per state with --compact, or use smaller constants with --const"
                }
                Some(_) => "raise --max-memory, or use smaller constants with --const",
            },
        ),
        Bound::Stopped => (
            "the search was interrupted",
            "run it again to explore all states",
        ),
        Bound::Walks => (
            "random walks do not cover all states",
            "use --check to explore all states, or another --seed or more --walks to sample others",
        ),
        Bound::Permutations => (
            "there are too many permutations of the scalarsets",
            "use --symmetry fast or --symmetry off",
        ),
    };
    let incomplete = Styled(WARNING, "incomplete");
    format!("{incomplete}: {why}\nno error in {states}\n  = help: {help}\n")
}
