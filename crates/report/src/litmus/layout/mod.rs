//! The layout of the picture of an event graph.
//!
//! Read in this order: `layers` (the row of each node), `routes` (the way of each arrow), `ports`
//! (where at a box arrows end), `lanes` (the order of arrows that share a way), `placing` (sizes),
//! `paths` (the lines), `labels` (where the names of the arrows are), `drawing` (all of it
//! together). [`geometry`] has the shapes.
//!
//! Threads are columns and have boxes of one width, so an arrow in a gap between columns or in a
//! channel between rows meets no box. If there is no room for a name, all gaps grow and it is tried
//! again.

mod drawing;
pub mod geometry;
mod labels;
mod lanes;
mod layers;
mod paths;
mod placing;
mod ports;
mod routes;

use fencepost_litmus::execution::Candidate;
use fencepost_litmus::run::Run;
use fencepost_litmus::test::Test;

use super::contents::{BoxLine, box_lines};
use super::words::thread_name;
use drawing::Draft;
use fencepost_litmus::event_graph::{Edge, EventGraph};
use geometry::{Path, Point, Rectangle};

/// The picture of an event graph, without its frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
    /// The threads.
    pub threads: Vec<ThreadColumn>,
    /// The nodes of the graph, in its order.
    pub boxes: Vec<NodeBox>,
    /// The edges of the graph, in its order.
    pub arrows: Vec<Arrow>,
}

/// A thread.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadColumn {
    /// Its name.
    pub name: String,
    /// The place of the name.
    pub header: Rectangle,
    /// The band behind its boxes.
    pub band: Rectangle,
}

/// A node.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeBox {
    /// The place of the box.
    pub rectangle: Rectangle,
    /// The lines of its text, with their baselines. Lines are centred.
    pub lines: Vec<(BoxLine, f64)>,
    /// Whether it is on the cycle.
    pub is_on_cycle: bool,
}

/// An edge.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrow {
    /// The edge.
    pub edge: Edge,
    /// The line, up to where the arrow head begins.
    pub path: Path,
    /// The tip of the arrow head.
    pub tip: Point,
    /// The place of the name.
    pub label: Rectangle,
    /// Whether it is on the cycle.
    pub is_on_cycle: bool,
}

/// Lays the graph of an execution out. With a run of the machine, the boxes say which of its steps
/// they are.
pub fn lay_out(
    test: &Test,
    candidate: &Candidate,
    run: Option<&Run>,
    graph: &EventGraph,
) -> Layout {
    let columns = graph.nodes.iter().map(|node| node.thread + 1).max();
    let columns = test.threads.len().max(columns.unwrap_or(0) as usize);
    let names = (0..columns as u32).map(|thread| thread_name(test, thread));
    let lines = graph.nodes.iter();
    let lines = lines.map(|node| box_lines(test, candidate, run, node));
    Draft::new(graph, names.collect(), lines.collect()).draw()
}
