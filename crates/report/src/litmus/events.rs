//! The events of an execution as text.

use fencepost_litmus::event_graph::cycle::Cycle;
use fencepost_litmus::event_graph::{EventGraph, Strength};
use fencepost_litmus::execution::{Candidate, EventId};
use fencepost_litmus::test::{CellId, Test};

use super::Picture;
use super::cycle_text::{cycle_text, step_text};
use super::frame::NO_CYCLE;
use super::why::{broken_axiom, step_reason};
use super::words::{action, cell_name, instruction, letter, thread_name};
use crate::columns::aligned;
use crate::style::{HEADING, Styled, VIOLATION};

/// The events of an execution with their letters, where reads get their values, the order of
/// memory, and the cycle if there is one; of a candidate also why each step of the cycle holds.
pub fn event_list(picture: &Picture<'_>) -> String {
    let Picture {
        test,
        candidate,
        graph,
        ..
    } = picture;
    let ids = candidate.ids();
    let rows: Vec<Vec<String>> = ids.map(|id| row(test, candidate, graph, id)).collect();
    let mut text = format!("{}\n", Styled(HEADING, "events"));
    for line in aligned(&rows, "  ") {
        text += &line;
        text.push('\n');
    }
    let order = picture.memory_order.unwrap_or_default().iter();
    let order: Vec<String> = order.map(|&id| letter(id)).collect();
    if !order.is_empty() {
        let heading = Styled(HEADING, "memory order");
        text += &format!("{heading}  {}\n", order.join(" "));
    }
    let coherence = coherence(test, candidate);
    if !coherence.is_empty() {
        let heading = Styled(HEADING, "coherence");
        text += &format!("{heading}  {}\n", coherence.join("; "));
    }
    if let (Some(axiom), Some(model)) = (picture.broken, picture.options.model) {
        let heading = Styled(VIOLATION, "forbidden");
        text += &format!("{heading}  {}\n", broken_axiom(model, axiom));
    }
    let Some(cycle) = &graph.cycle else {
        return text + NO_CYCLE + "\n";
    };
    let heading = Styled(VIOLATION, "cycle");
    text += &format!("{heading}  {}\n", cycle_text(graph, cycle));
    text + &reasons(picture, cycle)
}

/// Below a cycle: why each of its steps holds, or which ones the model does not keep.
fn reasons(picture: &Picture<'_>, cycle: &Cycle) -> String {
    let graph = &picture.graph;
    if let (Some(axiom), Some(model)) = (picture.broken, picture.options.model) {
        let rows: Vec<Vec<String>> = cycle
            .steps
            .iter()
            .map(|step| {
                let reason = step_reason(picture.test, &picture.candidate, model, axiom, step);
                vec![step_text(graph, step), reason]
            })
            .collect();
        return aligned(&rows, "  ").join("\n") + "\n";
    }
    let relaxed = cycle
        .steps
        .iter()
        .filter(|step| step.strength == Strength::Relaxed);
    let relaxed: Vec<String> = relaxed.map(|step| step_text(graph, step)).collect();
    match relaxed.is_empty() {
        true => String::new(),
        false => format!("{}  {}\n", Styled(HEADING, "not kept"), relaxed.join(", ")),
    }
}

fn row(test: &Test, candidate: &Candidate, graph: &EventGraph, id: EventId) -> Vec<String> {
    let event = candidate.event(id);
    vec![
        letter(id),
        thread_name(test, event.thread),
        action(test, event),
        instruction(test, event.thread, event.instruction).to_string(),
        source(candidate, graph, id),
    ]
}

/// The source of the value of a read.
fn source(candidate: &Candidate, graph: &EventGraph, id: EventId) -> String {
    if !candidate.event(id).action.is_read() {
        return String::new();
    }
    let Some(write) = candidate.reads_from[id.index()] else {
        return "reads the initial value".into();
    };
    let mut edges = graph.edges.iter();
    let is_buffered = edges.any(|edge| edge.to == id && edge.strength == Strength::FromBuffer);
    let place = if is_buffered {
        ", in its own buffer"
    } else {
        ""
    };
    format!("reads from {}{place}", letter(write))
}

/// For each cell with several writes, these in the order in which they reach memory.
fn coherence(test: &Test, candidate: &Candidate) -> Vec<String> {
    let cells = (0..test.cells.len() as u32).map(CellId);
    let orders = cells.filter_map(|cell| {
        let writes = candidate.writes(cell).iter();
        let writes: Vec<String> = writes.map(|&id| letter(id)).collect();
        let text = || format!("{}: {}", cell_name(test, cell), writes.join(" < "));
        (writes.len() > 1).then(text)
    });
    orders.collect()
}

/// The picture in words, for assistive technology.
pub(super) fn describe_events(picture: &Picture<'_>) -> String {
    let Picture {
        test,
        candidate,
        graph,
        ..
    } = picture;
    let mut sentences = Vec::new();
    for id in candidate.ids() {
        let event = candidate.event(id);
        let mut sentence = format!(
            "{} {}: {}",
            thread_name(test, event.thread),
            letter(id),
            action(test, event)
        );
        let source = source(candidate, graph, id);
        if !source.is_empty() {
            sentence += &format!(" {source}");
        }
        sentences.push(sentence);
    }
    if let (Some(axiom), Some(model)) = (picture.broken, picture.options.model) {
        sentences.push(format!("forbidden: {}", broken_axiom(model, axiom)));
    }
    sentences.push(match &graph.cycle {
        Some(cycle) => format!("cycle: {}", cycle_text(graph, cycle)),
        None => NO_CYCLE.to_string(),
    });
    sentences.join(". ") + "."
}
