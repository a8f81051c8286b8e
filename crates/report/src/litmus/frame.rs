//! The frame of a picture: title, cycle and legend.

use fencepost_litmus::code::Fence;
use fencepost_litmus::event_graph::{Edge, EventGraph, Relation, Strength};
use unicode_width::UnicodeWidthStr;

use super::Picture;
use super::cycle_text::{CyclePart, cycle_parts};
use super::why::broken_axiom;
use super::words::model_name;

/// A part of a line that is in the colour of a relation, or in none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) colour: Option<Colour>,
}

/// What decides the colour of an edge and of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Colour {
    /// Its relation.
    Of(Relation),
    /// That a fence keeps it.
    Fence,
}

impl Colour {
    pub(super) fn of(relation: Relation, strength: Strength) -> Self {
        match strength {
            Strength::ByFence(_) => Colour::Fence,
            Strength::Plain | Strength::Relaxed | Strength::FromBuffer => Colour::Of(relation),
        }
    }

    /// The classes of an element of a picture.
    pub(super) fn class(self) -> &'static str {
        match self {
            Colour::Of(relation) => relation.label(),
            Colour::Fence => "po fence",
        }
    }
}

/// The name of the test, and of the model.
pub(super) fn title(picture: &Picture<'_>) -> String {
    let name = &picture.test.name;
    match (picture.options.model, picture.broken) {
        (Some(model), None) => format!("{name} under {}", model_name(model)),
        (Some(model), Some(_)) => format!("{name}: forbidden under {}", model_name(model)),
        (None, _) => name.clone(),
    }
}

/// The final state: `0:EAX=0; 1:EAX=0;`. Empty if there is none to show.
pub(super) fn final_state_text(picture: &Picture<'_>) -> String {
    picture
        .test
        .format_state(picture.options.final_state.unwrap_or(&[]))
}

/// Why a candidate is forbidden; empty for an execution.
pub(super) fn reason_text(picture: &Picture<'_>) -> String {
    match (picture.options.model, picture.broken) {
        (Some(model), Some(axiom)) => broken_axiom(model, axiom),
        _ => String::new(),
    }
}

/// The cycle, or that there is none, in lines of at most `most` columns.
pub(super) fn cycle_lines(graph: &EventGraph, most: usize) -> Vec<Vec<Span>> {
    let span = |text: &str| Span {
        text: text.to_string(),
        colour: None,
    };
    let Some(cycle) = &graph.cycle else {
        let words = NO_CYCLE.split(' ').map(span).collect();
        return in_lines(words, most);
    };
    let mut spans = vec![span("cycle:")];
    spans.extend(cycle_parts(graph, cycle).iter().map(|part| Span {
        text: part.text(),
        colour: match part {
            CyclePart::Step(step) => Some(Colour::of(step.relation, step.strength)),
            CyclePart::Node(_) => None,
        },
    }));
    in_lines(spans, most)
}

/// The caption of an execution without a cycle.
pub(super) const NO_CYCLE: &str = "no cycle: sequentially consistent";

/// Spans with a space between them, in lines.
fn in_lines(spans: Vec<Span>, most: usize) -> Vec<Vec<Span>> {
    let mut lines: Vec<Vec<Span>> = vec![Vec::new()];
    let mut width = 0;
    for span in spans {
        let own = span.text.width();
        if width > 0 && width + 1 + own > most {
            lines.push(Vec::new());
            width = 0;
        }
        width += own + usize::from(width > 0);
        if let Some(line) = lines.last_mut() {
            line.push(span);
        }
    }
    lines
}

/// An entry of the legend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LegendEntry {
    /// The line that it explains, if it explains one.
    pub(super) line: Option<(Relation, Strength)>,
    pub(super) text: String,
}

/// The legend: the kinds of lines that there are, and the names of locked accesses.
pub(super) fn legend(picture: &Picture<'_>, graph: &EventGraph) -> Vec<LegendEntry> {
    let model = picture.options.model.map(model_name).unwrap_or_default();
    let mut entries = Vec::new();
    for relation in Relation::ALL {
        let (label, name) = (relation.label(), relation.name());
        let kinds = [
            (Strength::Plain, format!("{label} {name}")),
            (
                Strength::ByFence(Fence::Full),
                format!("{name}, kept by a fence"),
            ),
            (
                Strength::Relaxed,
                format!("{label} {name}, not kept by {model}"),
            ),
            (
                Strength::FromBuffer,
                format!("{label} {name} its own buffer"),
            ),
        ];
        for (strength, text) in kinds {
            let is_such = |edge: &Edge| match (edge.strength, strength) {
                (Strength::ByFence(_), Strength::ByFence(_)) => true,
                (one, other) => one == other,
            };
            let mut edges = graph.edges.iter();
            if edges.any(|edge| edge.relation == relation && is_such(edge)) {
                entries.push(LegendEntry {
                    line: Some((relation, strength)),
                    text,
                });
            }
        }
    }
    if picture.candidate.events.iter().any(|event| event.locked) {
        entries.push(LegendEntry {
            line: None,
            text: "RL, WL: read and write of a locked instruction".to_owned(),
        });
    }
    entries
}
