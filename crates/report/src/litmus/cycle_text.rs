//! A happens-before cycle as text: `a →po b →fr c →po d →fr a`.

use fencepost_litmus::event_graph::EventGraph;
use fencepost_litmus::event_graph::cycle::{Cycle, CycleStep};

use super::words::letter;

/// A part of a cycle as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum CyclePart {
    /// A node, by the letters of its events.
    Node(String),
    /// A step from the node before to the next one.
    Step(CycleStep),
}

impl CyclePart {
    pub(super) fn text(&self) -> String {
        match self {
            CyclePart::Node(name) => name.clone(),
            CyclePart::Step(step) => format!("→{}", step.label()),
        }
    }
}

/// The nodes of a cycle, and between them the steps. The first node is repeated at the end.
pub(super) fn cycle_parts(graph: &EventGraph, cycle: &Cycle) -> Vec<CyclePart> {
    let mut parts = Vec::new();
    for step in &cycle.steps {
        parts.push(CyclePart::Node(node_name(graph, graph.node(step.from))));
        parts.push(CyclePart::Step(*step));
    }
    parts.extend(parts.first().cloned());
    parts
}

/// A step as text: `a →po b`.
pub(super) fn step_text(graph: &EventGraph, step: &CycleStep) -> String {
    let [from, to] = [step.from, step.to].map(|event| node_name(graph, graph.node(event)));
    format!("{from} →{} {to}", step.label())
}

/// A cycle as text: `a →po b →fr c →po d →fr a`.
pub fn cycle_text(graph: &EventGraph, cycle: &Cycle) -> String {
    let parts = cycle_parts(graph, cycle);
    let texts: Vec<String> = parts.iter().map(CyclePart::text).collect();
    texts.join(" ")
}

/// A node by the letters of its events: `a`, or `(c,d)` for a locked instruction.
fn node_name(graph: &EventGraph, node: usize) -> String {
    let letters: Vec<String> = graph.nodes[node]
        .events
        .iter()
        .map(|&id| letter(id))
        .collect();
    match letters.as_slice() {
        [letter] => letter.clone(),
        _ => format!("({})", letters.join(",")),
    }
}
