//! Executions that are not sequentially consistent: happens-before has a cycle.

use super::coherence::{Completions, open_pair, with_pair};
use super::graph::{Graph, Node, Source};
use super::order::Order;
use crate::execution::Action;

/// Whether what is known of the order, together with all of program order, has a cycle.
pub(super) fn has_cycle_with_program_order(graph: &Graph, order: &Order) -> bool {
    let mut both = order.clone();
    let mut last_of_thread = vec![None; graph.threads.len()];
    for grown in &graph.events {
        let Some(node) = grown.node else { continue };
        let last: &mut Option<usize> = &mut last_of_thread[grown.event.thread as usize];
        if let Some(earlier) = last.replace(node) {
            if earlier != node && both.require(earlier, node).is_err() {
                return true;
            }
        }
    }
    false
}

/// A valid order of the writes to each cell with which happens-before has a cycle, if there is one.
///
/// A cycle is kept by every completion of the order, so any completion will do. Writes that no
/// thread reads, of threads that do nothing else, are in no shortest cycle: the access before such
/// a write, to the same cell, comes before the access after it. Their order is not completed.
pub(super) fn cyclic_completion(graph: &Graph, cells: usize) -> Option<Order> {
    let matters = can_be_in_cycle(graph);
    let mut stack = vec![graph.order.clone()];
    while let Some(order) = stack.pop() {
        if has_cycle_with_program_order(graph, &order) {
            match Completions::new(graph, cells, order).next() {
                Some(completed) => return Some(completed),
                None => continue,
            }
        }
        let pair = open_pair(&order, cells, |node| matters[node]);
        if let Some((one, other)) = pair {
            stack.extend(with_pair(graph, &order, one, other));
            stack.extend(with_pair(graph, &order, other, one));
        }
    }
    None
}

fn can_be_in_cycle(graph: &Graph) -> Vec<bool> {
    let mut accesses = vec![0; graph.threads.len()];
    for grown in &graph.events {
        if grown.node.is_some() {
            accesses[grown.event.thread as usize] += 1;
        }
    }
    let mut matters = vec![true; graph.nodes.len()];
    for grown in &graph.events {
        let is_alone = accesses[grown.event.thread as usize] == 1;
        if let (Action::Write(..), Some(node), true) = (grown.event.action, grown.node, is_alone) {
            let is_source = |other: &Node| other.source == Some(Source::Node(node));
            matters[node] = graph.nodes.iter().any(is_source);
        }
    }
    matters
}
