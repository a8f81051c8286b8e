//! From rows and routes to coordinates.

use super::geometry::{Path, Point, Rectangle};
use super::labels::place_labels;
use super::layers::layers;
use super::placing::{BAND_PADDING, HEADER_HEIGHT, Heights, Widths, text_height};
use super::ports::Ports;
use super::routes::{Route, routes};
use super::{Arrow, Layout, NodeBox, ThreadColumn};
use crate::litmus::contents::BoxLine;
use crate::litmus::metrics::TextStyle;
use fencepost_litmus::event_graph::EventGraph;

/// The growth of gaps if there is no room for a name, and the number of attempts.
const GROWTH: f64 = 1.25;
const MAX_TRIES: usize = 8;

/// The picture without coordinates.
pub(super) struct Draft<'a> {
    pub(super) graph: &'a EventGraph,
    /// The rectangles of the threads.
    pub(super) names: Vec<String>,
    /// The rectangles of the nodes.
    pub(super) lines: Vec<Vec<BoxLine>>,
    pub(super) layer: Vec<usize>,
    pub(super) rows: usize,
    /// The paths of the edges.
    pub(super) routes: Vec<Route>,
    pub(super) ports: Ports,
}

impl<'a> Draft<'a> {
    pub(super) fn new(graph: &'a EventGraph, names: Vec<String>, lines: Vec<Vec<BoxLine>>) -> Self {
        let layer = layers(graph);
        let routes = routes(graph, &layer, names.len());
        Draft {
            ports: Ports::new(graph, &layer, &routes),
            rows: layer.iter().max().map_or(0, |last| last + 1),
            graph,
            names,
            lines,
            layer,
            routes,
        }
    }

    /// Whether an arrow leads to a column further right.
    pub(super) fn goes_right(&self, edge: usize) -> bool {
        let edge = &self.graph.edges[edge];
        self.graph.thread(edge.from) < self.graph.thread(edge.to)
    }

    /// Draws with as much room as the names need.
    pub(super) fn draw(&self) -> Layout {
        let mut room = 1.0;
        for _ in 0..MAX_TRIES {
            let (layout, is_complete) = self.draw_with(room);
            if is_complete {
                return layout;
            }
            room *= GROWTH;
        }
        self.draw_with(room).0
    }

    /// Draws with gaps that are `room` times as large as usual. Also, whether every name has a
    /// place; if not, they are all in the middle of their arrows.
    fn draw_with(&self, room: f64) -> (Layout, bool) {
        let heights = self.heights(room);
        let widths = self.widths(room, &heights);
        let boxes = self.boxes(&heights, &widths);
        let threads = self.threads(&heights, &widths);
        let drawn: Vec<(Path, Point)> = (0..self.routes.len())
            .map(|edge| self.path(edge, &heights, &widths, &boxes))
            .collect();
        let points: Vec<Vec<Point>> = drawn.iter().map(|(path, _)| path.points()).collect();
        let sizes: Vec<(f64, f64)> = self.label_sizes();
        let mut obstacles: Vec<Rectangle> = boxes.iter().map(|node| node.rectangle).collect();
        obstacles.extend(threads.iter().map(|thread| thread.header));
        let labels = place_labels(&points, &sizes, &obstacles);
        let is_complete = labels.is_some();
        let labels = labels.unwrap_or_else(|| middles(&points, &sizes));

        let edges = self.graph.edges.iter().zip(drawn).zip(labels);
        let cycle = self.graph.cycle.as_ref();
        let arrows = edges.map(|((&edge, (path, tip)), label)| Arrow {
            edge,
            path,
            tip,
            label,
            is_on_cycle: cycle.is_some_and(|cycle| cycle.contains(&edge)),
        });
        let layout = Layout {
            width: widths.right,
            height: heights.bottom,
            threads,
            arrows: arrows.collect(),
            boxes,
        };
        (layout, is_complete)
    }

    fn label_sizes(&self) -> Vec<(f64, f64)> {
        let edges = self.graph.edges.iter();
        let sizes = edges.map(|edge| {
            let width = TextStyle::Arrow.width(self.graph.label(edge));
            (width + 6.0, TextStyle::Arrow.line_height())
        });
        sizes.collect()
    }

    fn boxes(&self, heights: &Heights, widths: &Widths) -> Vec<NodeBox> {
        let cycle = self.graph.cycle.as_ref();
        let nodes = self.graph.nodes.iter().enumerate();
        nodes
            .map(|(index, node)| {
                let (left, width) = widths.columns[node.thread as usize];
                let own = &heights.boxes[index];
                let mut y = own.top + (own.height - text_height(&self.lines[index])) / 2.0;
                let lines = self.lines[index].iter().map(|line| {
                    y += line.style.line_height();
                    (line.clone(), y - line.style.size() * 0.36)
                });
                NodeBox {
                    rectangle: Rectangle {
                        left,
                        top: own.top,
                        width,
                        height: own.height,
                    },
                    lines: lines.collect(),
                    is_on_cycle: cycle.is_some_and(|cycle| cycle.visits(self.graph, index)),
                }
            })
            .collect()
    }

    fn threads(&self, heights: &Heights, widths: &Widths) -> Vec<ThreadColumn> {
        let columns = self.names.iter().zip(&widths.columns);
        columns
            .map(|(name, &(left, width))| {
                let band = Rectangle {
                    left: left - BAND_PADDING,
                    top: 0.0,
                    width: width + 2.0 * BAND_PADDING,
                    height: heights.bottom,
                };
                ThreadColumn {
                    name: name.clone(),
                    header: Rectangle {
                        height: HEADER_HEIGHT,
                        ..band
                    },
                    band,
                }
            })
            .collect()
    }
}

/// Names in the middle of their arrows, whatever is there.
fn middles(points: &[Vec<Point>], sizes: &[(f64, f64)]) -> Vec<Rectangle> {
    let middles = points.iter().zip(sizes);
    middles
        .map(|(points, size)| Rectangle::around(points[points.len() / 2], size.0, size.1))
        .collect()
}
