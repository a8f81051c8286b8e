//! The routes of the arrows, before anything has a size.
//!
//! Columns are threads. To the left of column `c` is gap `c`, to its right gap `c + 1`. Rows and
//! the space between them are channels: row `r` is channel `2r + 1`, and channels `2r` and `2r + 2`
//! are above and below it.

use fencepost_litmus::event_graph::{EventGraph, Relation};

/// A side of a column, or of a gap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Side {
    Left,
    Right,
}

impl Side {
    pub(super) fn opposite(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// The way of an arrow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
    /// Straight down, to the next node of the thread.
    Down,
    /// From a side of a column to the same side, in a gap.
    Beside { gap: usize, side: Side },
    /// Between neighbouring columns, in the gap between them.
    Across { gap: usize },
    /// Over columns in between: from the first gap to the last along a channel.
    Along {
        first: usize,
        last: usize,
        channel: usize,
    },
}

impl Route {
    /// The sides of its nodes at which an arrow begins and ends; none for one straight down.
    pub(super) fn sides(self, goes_right: bool) -> Option<(Side, Side)> {
        match self {
            Route::Down => None,
            Route::Beside { side, .. } => Some((side, side)),
            Route::Across { .. } | Route::Along { .. } if goes_right => {
                Some((Side::Right, Side::Left))
            }
            Route::Across { .. } | Route::Along { .. } => Some((Side::Left, Side::Right)),
        }
    }
}

/// The cost of each arrow that is already in a channel or gap, in quarters of a channel.
const LOAD: usize = 1;
const DISTANCE: usize = 4;

/// The route of each edge. `columns` is how many there are; each node has its row in `layer`.
pub(super) fn routes(graph: &EventGraph, layer: &[usize], columns: usize) -> Vec<Route> {
    let rows = layer.iter().max().map_or(0, |last| last + 1);
    let mut occupied = vec![vec![false; rows]; columns];
    for (node, &row) in graph.nodes.iter().zip(layer) {
        occupied[node.thread as usize][row] = true;
    }
    let mut gap_load = vec![0usize; columns + 1];
    let mut along: Vec<(usize, usize, usize)> = Vec::new();
    let mut routes = vec![Route::Down; graph.edges.len()];
    // Arrows with a choice come last.
    for (index, edge) in graph.edges.iter().enumerate() {
        let (from, to) = (graph.thread(edge.from), graph.thread(edge.to));
        if from.abs_diff(to) == 1 {
            let gap = from.max(to) as usize;
            gap_load[gap] += 1;
            routes[index] = Route::Across { gap };
        }
    }
    for (index, edge) in graph.edges.iter().enumerate() {
        let ends = [graph.thread(edge.from), graph.thread(edge.to)].map(|t| t as usize);
        let (left, right) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        if right - left < 2 {
            continue;
        }
        let (first, last) = (left + 1, right);
        let layers = [layer[graph.node(edge.from)], layer[graph.node(edge.to)]];
        let is_free = |&channel: &usize| {
            let between = &occupied[left + 1..right];
            channel % 2 == 0 || between.iter().all(|column| !column[channel / 2])
        };
        let cost = |&channel: &usize| {
            let way: usize = layers.iter().map(|l| (2 * l + 1).abs_diff(channel)).sum();
            let others = along.iter();
            let load = others.filter(|o| o.2 == channel && o.0 <= last && first <= o.1);
            // The outermost channels make the picture larger.
            let is_outer = channel == 0 || channel == 2 * rows;
            way * DISTANCE + load.count() * LOAD + usize::from(is_outer)
        };
        let channel = (0..=2 * rows).filter(is_free).min_by_key(cost).unwrap_or(0);
        along.push((first, last, channel));
        gap_load[first] += 1;
        gap_load[last] += 1;
        routes[index] = Route::Along {
            first,
            last,
            channel,
        };
    }
    for (index, edge) in graph.edges.iter().enumerate() {
        let column = graph.thread(edge.from);
        let is_next = graph.node(edge.from) + 1 == graph.node(edge.to);
        let is_down = edge.relation == Relation::ProgramOrder && is_next;
        if column == graph.thread(edge.to) && !is_down {
            let column = column as usize;
            let (gap, side) = match gap_load[column] < gap_load[column + 1] {
                true => (column, Side::Left),
                false => (column + 1, Side::Right),
            };
            gap_load[gap] += 1;
            routes[index] = Route::Beside { gap, side };
        }
    }
    routes
}
