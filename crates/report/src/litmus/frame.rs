//! The frame of a picture: title, cycle and legend.

use fencepost_litmus::test::Test;
use unicode_width::UnicodeWidthStr;

use super::PictureOptions;
use super::cycle_text::{CyclePart, cycle_parts};
use super::words::model_name;
use fencepost_litmus::event_graph::{EventGraph, Relation};

/// A part of a line that is in the colour of a relation, or in none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) relation: Option<Relation>,
}

/// The name of the test, and of the model.
pub(super) fn title(test: &Test, options: &PictureOptions<'_>) -> String {
    match options.model {
        Some(model) => format!("{} under {}", test.name, model_name(model)),
        None => test.name.clone(),
    }
}

/// The final state: `0:EAX=0; 1:EAX=0;`. Empty if there is none to show.
pub(super) fn final_state_text(test: &Test, options: &PictureOptions<'_>) -> String {
    test.format_state(options.final_state.unwrap_or(&[]))
}

/// The cycle, or that there is none, in lines of at most `most` columns.
pub(super) fn cycle_lines(graph: &EventGraph, most: usize) -> Vec<Vec<Span>> {
    let span = |text: &str| Span {
        text: text.to_string(),
        relation: None,
    };
    let Some(cycle) = &graph.cycle else {
        let words = NO_CYCLE.split(' ').map(span).collect();
        return in_lines(words, most);
    };
    let mut spans = vec![span("cycle:")];
    spans.extend(cycle_parts(graph, cycle).iter().map(|part| Span {
        text: part.text(),
        relation: match part {
            CyclePart::Relation(relation) => Some(*relation),
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

/// The legend: relations with their names, and whether a read is from a buffer.
pub(super) fn legend(graph: &EventGraph) -> Vec<(Relation, bool, String)> {
    let mut entries = Vec::new();
    for relation in Relation::ALL {
        for from_buffer in [false, true] {
            let mut edges = graph.edges.iter();
            if edges.any(|e| e.relation == relation && e.from_buffer == from_buffer) {
                let place = if from_buffer { " its own buffer" } else { "" };
                let text = format!("{} {}{place}", relation.label(), relation.name());
                entries.push((relation, from_buffer, text));
            }
        }
    }
    entries
}
