//! The events of an execution as text.

use fencepost_litmus::execution::{EventId, Execution};
use fencepost_litmus::test::{CellId, Test};

use super::cycle_text::cycle_text;
use super::frame::NO_CYCLE;
use super::words::{action, cell_name, instruction, letter, thread_name};
use crate::columns::aligned;
use crate::style::{HEADING, Styled, VIOLATION};
use fencepost_litmus::event_graph::{EventGraph, Relation};

/// The events of an execution with their letters, where reads get their values, the order of
/// memory, and the cycle if there is one.
pub fn event_list(test: &Test, execution: &Execution) -> String {
    let graph = EventGraph::new(execution);
    let rows: Vec<Vec<String>> = execution
        .ids()
        .map(|id| row(test, execution, &graph, id))
        .collect();
    let mut text = format!("{}\n", Styled(HEADING, "events"));
    for line in aligned(&rows, "  ") {
        text += &line;
        text.push('\n');
    }
    let order: Vec<String> = execution
        .memory_order
        .iter()
        .map(|&id| letter(id))
        .collect();
    if !order.is_empty() {
        let heading = Styled(HEADING, "memory order");
        text += &format!("{heading}  {}\n", order.join(" "));
    }
    let coherence = coherence(test, execution);
    if !coherence.is_empty() {
        let heading = Styled(HEADING, "coherence");
        text += &format!("{heading}  {}\n", coherence.join("; "));
    }
    text += &match &graph.cycle {
        Some(cycle) => format!(
            "{}  {}\n",
            Styled(VIOLATION, "cycle"),
            cycle_text(&graph, cycle)
        ),
        None => format!("{NO_CYCLE}\n"),
    };
    text
}

fn row(test: &Test, execution: &Execution, graph: &EventGraph, id: EventId) -> Vec<String> {
    let event = execution.event(id);
    vec![
        letter(id),
        thread_name(test, event.thread),
        action(test, event),
        instruction(test, event.thread, event.instruction).to_string(),
        source(execution, graph, id),
    ]
}

/// The source of the value of a read.
fn source(execution: &Execution, graph: &EventGraph, id: EventId) -> String {
    if !execution.event(id).action.is_read() {
        return String::new();
    }
    let Some(write) = execution.reads_from[id.index()] else {
        return "reads the initial value".into();
    };
    let mut edges = graph.edges.iter();
    let is_buffered =
        edges.any(|edge| edge.relation == Relation::ReadsFrom && edge.to == id && edge.from_buffer);
    let place = if is_buffered {
        ", in its own buffer"
    } else {
        ""
    };
    format!("reads from {}{place}", letter(write))
}

/// For each cell with several writes, these in the order in which they reach memory.
fn coherence(test: &Test, execution: &Execution) -> Vec<String> {
    let cells = (0..test.cells.len() as u32).map(CellId);
    let orders = cells.filter_map(|cell| {
        let order = execution.memory_order.iter().copied();
        let writes = order.filter(|&id| {
            let action = execution.event(id).action;
            action.is_write() && action.cell() == Some(cell)
        });
        let writes: Vec<String> = writes.map(letter).collect();
        let text = || format!("{}: {}", cell_name(test, cell), writes.join(" < "));
        (writes.len() > 1).then(text)
    });
    orders.collect()
}

/// The picture in words, for assistive technology.
pub(super) fn describe_events(test: &Test, execution: &Execution, graph: &EventGraph) -> String {
    let mut sentences = Vec::new();
    for id in execution.ids() {
        let event = execution.event(id);
        let mut sentence = format!(
            "{} {}: {}",
            thread_name(test, event.thread),
            letter(id),
            action(test, event)
        );
        let source = source(execution, graph, id);
        if !source.is_empty() {
            sentence += &format!(" {source}");
        }
        sentences.push(sentence);
    }
    sentences.push(match &graph.cycle {
        Some(cycle) => format!("cycle: {}", cycle_text(graph, cycle)),
        None => NO_CYCLE.to_string(),
    });
    sentences.join(". ") + "."
}
