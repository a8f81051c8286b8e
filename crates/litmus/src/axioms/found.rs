//! A valid execution that was found: its final state, and itself as a witness.

use super::coherence::last_writes;
use super::cycles::has_cycle_with_program_order;
use super::graph::{Graph, Source};
use super::growth::Growth;
use super::order::Order;
use crate::execution::{Event, EventId, Execution};
use crate::test::{CellId, Observable};

/// A valid execution: what each read reads from, and a total order of the writes to each cell.
pub struct Found<'a> {
    pub(super) growth: &'a Growth<'a>,
    pub(super) graph: &'a Graph,
    /// The writes to each cell are in a total order.
    pub(super) order: &'a Order,
}

impl Found<'_> {
    /// The final state: the contents of [`Test::observables`](crate::test::Test::observables), each
    /// cut to its width.
    pub fn observed(&self) -> Vec<u64> {
        observed(self.growth, self.graph, |cell| {
            last_writes(self.order, cell.index()).first().copied()
        })
    }

    /// Whether happens-before has a cycle: program order of all events, not only what the model
    /// keeps, together with reads-from, the order of the writes to each cell, and each read before
    /// the writes that come after what it reads. A locked instruction is one node; fences are none.
    pub fn is_cyclic(&self) -> bool {
        has_cycle_with_program_order(self.graph, self.order)
    }

    /// The execution with a memory order: the witness that the judge takes.
    pub fn execution(&self) -> Execution {
        let mut grown: Vec<(Event, Option<usize>)> = self
            .graph
            .events
            .iter()
            .map(|grown| (grown.event, grown.node))
            .collect();
        grown.sort_by_key(|(event, _)| event.thread);
        let id_of_write = |node: usize| {
            let is_it =
                |(event, of): &(Event, Option<usize>)| event.action.is_write() && *of == Some(node);
            grown
                .iter()
                .position(is_it)
                .map(|index| EventId(index as u32))
        };
        let source = |(event, node): &(Event, Option<usize>)| match self.graph.nodes
            [node.filter(|_| event.action.is_read())?]
        .source?
        {
            Source::Initial => None,
            Source::Node(write) => id_of_write(write),
        };
        let mut memory_order = Vec::new();
        for node in linearise(self.order) {
            for (index, (_, of)) in grown.iter().enumerate() {
                if *of == Some(node) {
                    memory_order.push(EventId(index as u32));
                }
            }
        }
        Execution {
            reads_from: grown.iter().map(source).collect(),
            events: grown.into_iter().map(|(event, _)| event).collect(),
            memory_order,
        }
    }
}

/// The observed final state, given the last write to each cell.
pub(super) fn observed(
    growth: &Growth<'_>,
    graph: &Graph,
    last_write: impl Fn(CellId) -> Option<usize>,
) -> Vec<u64> {
    let test = growth.test;
    let content = |observable: &Observable| match observable {
        Observable::Register {
            thread,
            register,
            width,
            ..
        } => growth.registers(graph, *thread)[register.index()] & width.mask(),
        Observable::Cell { cell, .. } => {
            let source = last_write(*cell).map_or(Source::Initial, Source::Node);
            graph.value(test, *cell, source) & test.cells[cell.index()].width.mask()
        }
    };
    test.observables().map(content).collect()
}

/// A linear extension of the order: always the first node whose predecessors are all in it.
fn linearise(order: &Order) -> Vec<usize> {
    let mut nodes: Vec<usize> = (0..order.len()).collect();
    let mut linear = Vec::with_capacity(nodes.len());
    while !nodes.is_empty() {
        let is_first = |&node: &usize| !nodes.iter().any(|&other| order.is_before(other, node));
        let Some(index) = nodes.iter().position(is_first) else {
            break;
        };
        linear.push(nodes.remove(index));
    }
    linear
}
