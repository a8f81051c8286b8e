//! In which row each node is drawn.
//!
//! There are as many rows as the longest thread has nodes. A shorter thread has room to move: its
//! nodes go where their arrows to other threads are short, one thread at a time, until nothing
//! moves any more.

use fencepost_litmus::event_graph::{EventGraph, Relation};

/// The cost of a row of distance along an arrow between threads, and along program order.
const ARROW: u64 = 1 << 24;
const STRETCH: u64 = 1 << 20;
const MAX_ROUNDS: usize = 8;

/// The row of each node.
pub(super) fn layers(graph: &EventGraph) -> Vec<usize> {
    let threads = threads(graph);
    let rows = threads.iter().map(Vec::len).max().unwrap_or(0);
    let mut layer = vec![0; graph.nodes.len()];
    for nodes in &threads {
        for (row, &node) in nodes.iter().enumerate() {
            layer[node] = row;
        }
    }
    let mut neighbours = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        if edge.relation != Relation::ProgramOrder
            && graph.thread(edge.from) != graph.thread(edge.to)
        {
            let (from, to) = (graph.node(edge.from), graph.node(edge.to));
            neighbours[from].push(to);
            neighbours[to].push(from);
        }
    }
    for _ in 0..MAX_ROUNDS {
        let before = layer.clone();
        for nodes in &threads {
            place_thread(nodes, rows, &neighbours, &mut layer);
        }
        if layer == before {
            break;
        }
    }
    layer
}

/// The nodes of each thread that has some.
fn threads(graph: &EventGraph) -> Vec<Vec<usize>> {
    let mut threads: Vec<Vec<usize>> = Vec::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        match threads.last_mut() {
            Some(last) if graph.nodes[last[0]].thread == node.thread => last.push(index),
            _ => threads.push(vec![index]),
        }
    }
    threads
}

/// The best rows for one thread while the others stay: for each node and row, the cheapest way to
/// place the nodes up to this one with this one in this row.
fn place_thread(nodes: &[usize], rows: usize, neighbours: &[Vec<usize>], layer: &mut [usize]) {
    let cost_at = |node: usize, row: usize| {
        let arrows = neighbours[node].iter().map(|&n| layer[n].abs_diff(row));
        // Among rows as good, the upper one.
        arrows.sum::<usize>() as u64 * ARROW + row as u64
    };
    let mut best: Vec<Vec<(u64, usize)>> = Vec::new();
    for (index, &node) in nodes.iter().enumerate() {
        let last_row = rows - (nodes.len() - index);
        let costs = (0..rows).map(|row| {
            if row < index || row > last_row {
                return (u64::MAX, 0);
            }
            let own = cost_at(node, row);
            let Some(previous) = best.last() else {
                return (own, 0);
            };
            let ways = (index - 1..row).filter(|&above| previous[above].0 < u64::MAX);
            let ways = ways.map(|above| {
                let stretch = (row - above - 1) as u64 * STRETCH;
                (previous[above].0 + stretch + own, above)
            });
            ways.min().unwrap_or((u64::MAX, 0))
        });
        let costs = costs.collect();
        best.push(costs);
    }
    let Some(last) = best.last() else { return };
    let mut row = (0..rows).min_by_key(|&row| last[row].0).unwrap_or(0);
    for (index, &node) in nodes.iter().enumerate().rev() {
        layer[node] = row;
        row = best[index][row].1;
    }
}
