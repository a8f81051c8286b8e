//! Completes what is known of the memory order, where the reads leave it open.
//!
//! Once the writes to each cell are in a total order, an execution is valid exactly if the order
//! has no cycle: a read comes before all writes that come after the one that it reads from, and
//! every linear order that contains this one is a memory order. So only pairs of writes to one cell
//! are ever decided, and only those that are still open.

use super::graph::Graph;
use super::order::Order;

/// Two writes to one cell whose order is not known, of those that matter.
pub(super) fn open_pair(
    order: &Order,
    cells: usize,
    matters: impl Fn(usize) -> bool,
) -> Option<(usize, usize)> {
    for cell in 0..cells {
        let writers = || order.writers(cell).filter(|&node| matters(node));
        for (count, one) in writers().enumerate() {
            for other in writers().skip(count + 1) {
                if !order.is_before(one, other) && !order.is_before(other, one) {
                    return Some((one, other));
                }
            }
        }
    }
    None
}

/// The order with one node before another and all that follows, if there is no cycle.
pub(super) fn with_pair(
    graph: &Graph,
    order: &Order,
    first: usize,
    second: usize,
) -> Option<Order> {
    let mut decided = order.clone();
    decided.require(first, second).ok()?;
    decided.saturate(&graph.nodes).ok()?;
    Some(decided)
}

/// All ways to put the writes to each cell in a total order, one after the other.
pub(super) struct Completions<'a> {
    graph: &'a Graph,
    cells: usize,
    stack: Vec<Order>,
}

impl<'a> Completions<'a> {
    /// The completions of `order`, which is the graph's or contains it.
    pub(super) fn new(graph: &'a Graph, cells: usize, order: Order) -> Self {
        Completions {
            graph,
            cells,
            stack: vec![order],
        }
    }
}

impl Iterator for Completions<'_> {
    type Item = Order;

    fn next(&mut self) -> Option<Order> {
        while let Some(order) = self.stack.pop() {
            let Some((one, other)) = open_pair(&order, self.cells, |_| true) else {
                return Some(order);
            };
            self.stack.extend(with_pair(self.graph, &order, other, one));
            self.stack.extend(with_pair(self.graph, &order, one, other));
        }
        None
    }
}

/// The writes that may be the last to a cell, as far as is known: none comes after them.
pub(super) fn last_writes(order: &Order, cell: usize) -> Vec<usize> {
    let is_last = |&write: &usize| {
        (0..order.words())
            .all(|word| order.after(write, word) & order.writers_word(cell, word) == 0)
    };
    order.writers(cell).filter(is_last).collect()
}

/// The order with one write to a cell after all others, if there is no cycle.
pub(super) fn with_last(graph: &Graph, order: &Order, cell: usize, last: usize) -> Option<Order> {
    let mut decided = order.clone();
    for write in order.writers(cell) {
        if write != last {
            decided.require(write, last).ok()?;
        }
    }
    decided.saturate(&graph.nodes).ok()?;
    Some(decided)
}
