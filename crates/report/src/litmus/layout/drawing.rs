//! From rows and routes to coordinates.

use super::geometry::{Path, Piece, Point, Rectangle, point};
use super::labels::place_labels;
use super::lanes::{GapSegment, lanes, tracks};
use super::layers::layers;
use super::routes::{Route, Side, routes};
use super::{Arrow, Layout, NodeBox, ThreadColumn};
use crate::litmus::contents::BoxLine;
use crate::litmus::graph::{EventGraph, Relation};
use crate::litmus::metrics::TextStyle;

const BOX_PADDING: f64 = 10.0;
const NARROWEST_COLUMN: f64 = 84.0;
const HEADER_HEIGHT: f64 = 30.0;
const BAND_PADDING: f64 = 10.0;
/// Between rows, and between the header and the first row.
const ROW_GAP: f64 = 46.0;
const HEADER_GAP: f64 = 8.0;
/// Between columns, and how much of that is next to boxes.
const GAP: f64 = 96.0;
const EMPTY_GAP: f64 = 44.0;
const GAP_MARGIN: f64 = 14.0;
const LANE: f64 = 32.0;
const TRACK: f64 = 20.0;
/// How far ends of arrows at one side of a box are apart, at least.
const PORT: f64 = 9.0;
/// How long the head of an arrow is.
pub(super) const ARROW_HEAD: f64 = 9.0;
/// How much gaps grow if there is no room for a name, and how often.
const GROWTH: f64 = 1.25;
const MOST_TRIES: usize = 8;

/// An end of an arrow at the side of a box.
struct Port {
    edge: usize,
    is_target: bool,
    node: usize,
    side: Side,
    /// Which event of the node, and then which other ends are above.
    order: (usize, i64),
}

/// The picture as far as it is known.
pub(super) struct Draft<'a> {
    graph: &'a EventGraph,
    names: Vec<String>,
    lines: Vec<Vec<BoxLine>>,
    layer: Vec<usize>,
    rows: usize,
    routes: Vec<Route>,
    ports: Vec<Port>,
}

/// Heights: of boxes, of channels, and of both ends of every arrow.
struct Heights {
    boxes: Vec<(f64, f64)>,
    tracks: Vec<f64>,
    ends: Vec<[f64; 2]>,
    bottom: f64,
}

/// Places from left to right: of columns, and of the lanes of every arrow, in the gap where it begins and
/// in the one where it ends.
struct Widths {
    columns: Vec<(f64, f64)>,
    lanes: Vec<[f64; 2]>,
    right: f64,
}

impl<'a> Draft<'a> {
    pub(super) fn new(graph: &'a EventGraph, names: Vec<String>, lines: Vec<Vec<BoxLine>>) -> Self {
        let layer = layers(graph);
        let rows = layer.iter().max().map_or(0, |last| last + 1);
        let routes = routes(graph, &layer, names.len());
        let mut draft = Draft {
            graph,
            names,
            lines,
            layer,
            rows,
            routes,
            ports: Vec::new(),
        };
        draft.ports = draft.ports();
        draft
    }

    /// Draws with as much room as the names need.
    pub(super) fn draw(&self) -> Layout {
        let mut room = 1.0;
        for _ in 0..MOST_TRIES {
            if let Some(layout) = self.draw_with(room, true) {
                return layout;
            }
            room *= GROWTH;
        }
        let layout = self.draw_with(room, false);
        layout.expect("without obstacles every arrow has room for its name")
    }

    fn draw_with(&self, room: f64, is_strict: bool) -> Option<Layout> {
        let heights = self.heights(room);
        let widths = self.widths(room, &heights);
        let boxes = self.boxes(&heights, &widths);
        let threads = self.threads(&heights, &widths);
        let drawn: Vec<(Path, Point)> = (0..self.routes.len())
            .map(|edge| self.path(edge, &heights, &widths, &boxes))
            .collect();
        let points: Vec<Vec<Point>> = drawn.iter().map(|(path, _)| path.points()).collect();
        let sizes: Vec<(f64, f64)> = self.graph.edges.iter().map(label_size).collect();
        let mut obstacles: Vec<Rectangle> = boxes.iter().map(|node| node.rectangle).collect();
        obstacles.extend(threads.iter().map(|thread| thread.header));
        if !is_strict {
            obstacles.clear();
        }
        let labels = place_labels(&points, &sizes, &obstacles);
        let labels = match (labels, is_strict) {
            (Some(labels), _) => labels,
            (None, true) => return None,
            (None, false) => self.middles(&points, &sizes),
        };
        let edges = self.graph.edges.iter().zip(drawn).zip(labels);
        let arrows = edges.map(|((&edge, (path, tip)), label)| Arrow {
            edge,
            path,
            tip,
            label,
            is_on_cycle: self.is_on_cycle(|cycle| cycle.contains(self.graph, &edge)),
        });
        Some(Layout {
            width: widths.right,
            height: heights.bottom,
            threads,
            arrows: arrows.collect(),
            boxes,
        })
    }

    fn is_on_cycle(&self, test: impl Fn(&crate::litmus::cycle::Cycle) -> bool) -> bool {
        self.graph.cycle.as_ref().is_some_and(test)
    }

    /// Names in the middle of their arrows, whatever is there.
    fn middles(&self, points: &[Vec<Point>], sizes: &[(f64, f64)]) -> Vec<Rectangle> {
        let middles = points.iter().zip(sizes);
        middles
            .map(|(points, size)| Rectangle::around(points[points.len() / 2], size.0, size.1))
            .collect()
    }

    fn goes_right(&self, edge: usize) -> bool {
        let edge = &self.graph.edges[edge];
        self.graph.thread(edge.from) < self.graph.thread(edge.to)
    }

    fn ports(&self) -> Vec<Port> {
        let mut ports = Vec::new();
        for (index, edge) in self.graph.edges.iter().enumerate() {
            let route = self.routes[index];
            let Some((from_side, to_side)) = route.sides(self.goes_right(index)) else {
                continue;
            };
            let (from, to) = (self.graph.node(edge.from), self.graph.node(edge.to));
            let ends = [
                (false, edge.from, from, from_side, to),
                (true, edge.to, to, to_side, from),
            ];
            for (is_target, event, node, side, other) in ends {
                let own = self.layer[node] as i64;
                let away = match route {
                    Route::Along { channel, .. } => channel as i64 - (2 * own + 1),
                    _ => 2 * (self.layer[other] as i64 - own),
                };
                // Arrows to the same column are nested; others fan out.
                let order = match route {
                    Route::Beside { .. } => away.signum() * 1_000_000 - away,
                    _ => away,
                };
                let events = &self.graph.nodes[node].events;
                let position = events.iter().position(|&e| e == event);
                ports.push(Port {
                    edge: index,
                    is_target,
                    node,
                    side,
                    order: (position.unwrap_or(0), order),
                });
            }
        }
        ports.sort_by_key(|port| (port.node, port.side, port.order, port.edge, port.is_target));
        ports
    }

    fn ports_at(&self, node: usize, side: Side) -> impl Iterator<Item = &Port> {
        let ports = self.ports.iter();
        ports.filter(move |port| port.node == node && port.side == side)
    }

    fn box_height(&self, node: usize) -> f64 {
        let text: f64 = self.lines[node]
            .iter()
            .map(|line| line.style.line_height())
            .sum();
        let ports = [Side::Left, Side::Right].map(|side| self.ports_at(node, side).count());
        let ports = (ports[0].max(ports[1]) + 1) as f64 * PORT;
        (text + BOX_PADDING * 1.4).max(ports).round()
    }

    /// The arrows along a channel, and their tracks.
    fn along(&self, channel: usize) -> (Vec<usize>, Vec<usize>, usize) {
        let mut edges = Vec::new();
        let mut intervals = Vec::new();
        for (index, route) in self.routes.iter().enumerate() {
            if let Route::Along {
                first,
                last,
                channel: own,
            } = *route
                && own == channel
            {
                edges.push(index);
                intervals.push((first, last));
            }
        }
        let (tracks, count) = tracks(&intervals);
        (edges, tracks, count)
    }

    fn heights(&self, room: f64) -> Heights {
        let mut boxes = vec![(0.0, 0.0); self.lines.len()];
        let mut track_of = vec![0.0; self.routes.len()];
        let mut y = HEADER_HEIGHT;
        for channel in 0..=2 * self.rows {
            let (edges, tracks, count) = self.along(channel);
            let needed = count as f64 * TRACK * room;
            let nodes = (0..self.layer.len()).filter(|&node| 2 * self.layer[node] + 1 == channel);
            let nodes: Vec<usize> = nodes.collect();
            let height = if channel == 0 {
                HEADER_GAP + needed
            } else if channel == 2 * self.rows {
                needed
            } else if channel % 2 == 0 {
                ROW_GAP * room + needed
            } else {
                let heights = nodes.iter().map(|&node| self.box_height(node));
                heights.fold(needed, f64::max)
            };
            for node in nodes {
                let own = self.box_height(node);
                boxes[node] = (y + (height - own) / 2.0, own);
            }
            for (edge, track) in edges.into_iter().zip(tracks) {
                let from_middle = track as f64 - (count - 1) as f64 / 2.0;
                track_of[edge] = y + height / 2.0 + from_middle * TRACK * room;
            }
            y += height;
        }
        let ends = self.port_heights(&boxes);
        Heights {
            boxes,
            tracks: track_of,
            ends,
            bottom: y + BAND_PADDING,
        }
    }

    /// At each side of a box the ends of arrows are spread evenly, beside the line of their event.
    fn port_heights(&self, boxes: &[(f64, f64)]) -> Vec<[f64; 2]> {
        let mut ends = vec![[0.0; 2]; self.routes.len()];
        for (node, &(top, height)) in boxes.iter().enumerate() {
            let events = self.graph.nodes[node].events.len();
            for side in [Side::Left, Side::Right] {
                for event in 0..events {
                    let ports: Vec<&Port> = self
                        .ports_at(node, side)
                        .filter(|port| port.order.0 == event)
                        .collect();
                    let part = height / events as f64;
                    let step = part / (ports.len() + 1) as f64;
                    for (index, port) in ports.into_iter().enumerate() {
                        ends[port.edge][usize::from(port.is_target)] =
                            top + part * event as f64 + step * (index + 1) as f64;
                    }
                }
            }
        }
        ends
    }

    fn widths(&self, room: f64, heights: &Heights) -> Widths {
        let columns = self.names.len();
        let mut x = 0.0;
        let mut places = Vec::new();
        let mut lane_of = vec![[0.0; 2]; self.routes.len()];
        for gap in 0..=columns {
            let (owners, segments) = self.segments(gap, heights);
            let (lanes, count) = lanes(&segments);
            let needed = count as f64 * LANE * room + 2.0 * GAP_MARGIN;
            let is_outer = gap == 0 || gap == columns;
            let width = match (is_outer, count) {
                (true, 0) => BAND_PADDING,
                (true, _) => needed,
                (false, 0) => EMPTY_GAP * room,
                (false, _) => needed.max(GAP * room),
            };
            let step = (width - 2.0 * GAP_MARGIN) / count.max(1) as f64;
            for ((edge, end), lane) in owners.into_iter().zip(lanes) {
                lane_of[edge][end] = x + GAP_MARGIN + step * (lane as f64 + 0.5);
            }
            x += width;
            if gap < columns {
                let width = self.column_width(gap);
                places.push((x, width));
                x += width;
            }
        }
        Widths {
            columns: places,
            lanes: lane_of,
            right: x,
        }
    }

    fn column_width(&self, column: usize) -> f64 {
        let nodes = self.graph.nodes.iter().zip(&self.lines);
        let own = nodes.filter(|(node, _)| node.thread as usize == column);
        let lines = own.flat_map(|(_, lines)| lines.iter().map(BoxLine::width));
        let header = TextStyle::Thread.width(&self.names[column]);
        let text = lines.fold(header, f64::max) + 2.0 * BOX_PADDING;
        text.max(NARROWEST_COLUMN).ceil()
    }

    /// What arrows do in a gap: each with its edge and whether it is where the arrow ends.
    fn segments(&self, gap: usize, heights: &Heights) -> (Vec<(usize, usize)>, Vec<GapSegment>) {
        let mut owners = Vec::new();
        let mut segments = Vec::new();
        let opposite = |side| match side {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        };
        for (edge, route) in self.routes.iter().enumerate() {
            let Some((from, to)) = route.sides(self.goes_right(edge)) else {
                continue;
            };
            let [begin, end] = heights.ends[edge];
            // The right side of a column is the left side of the gap.
            let (from, to) = (opposite(from), opposite(to));
            match *route {
                Route::Beside { gap: own, .. } | Route::Across { gap: own } if own == gap => {
                    owners.push((edge, 0));
                    segments.push(GapSegment {
                        ends: [(from, begin), (to, end)],
                    });
                }
                Route::Along { first, last, .. } => {
                    let gaps = match from {
                        Side::Left => [first, last],
                        Side::Right => [last, first],
                    };
                    let track = heights.tracks[edge];
                    if gaps[0] == gap {
                        owners.push((edge, 0));
                        segments.push(GapSegment {
                            ends: [(from, begin), (opposite(from), track)],
                        });
                    }
                    if gaps[1] == gap {
                        owners.push((edge, 1));
                        segments.push(GapSegment {
                            ends: [(opposite(to), track), (to, end)],
                        });
                    }
                }
                _ => {}
            }
        }
        (owners, segments)
    }

    fn boxes(&self, heights: &Heights, widths: &Widths) -> Vec<NodeBox> {
        let nodes = self.graph.nodes.iter().enumerate();
        nodes
            .map(|(index, node)| {
                let (left, width) = widths.columns[node.thread as usize];
                let (top, height) = heights.boxes[index];
                let text: f64 = self.lines[index]
                    .iter()
                    .map(|line| line.style.line_height())
                    .sum();
                let mut y = top + (height - text) / 2.0;
                let lines = self.lines[index].iter().map(|line| {
                    y += line.style.line_height();
                    (line.clone(), y - line.style.size() * 0.36)
                });
                NodeBox {
                    rectangle: Rectangle {
                        left,
                        top,
                        width,
                        height,
                    },
                    lines: lines.collect(),
                    is_on_cycle: self.is_on_cycle(|cycle| cycle.visits(self.graph, index)),
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

    /// The line of an arrow up to its head, and the tip of the head.
    fn path(
        &self,
        index: usize,
        heights: &Heights,
        widths: &Widths,
        boxes: &[NodeBox],
    ) -> (Path, Point) {
        let edge = &self.graph.edges[index];
        let from = boxes[self.graph.node(edge.from)].rectangle;
        let to = boxes[self.graph.node(edge.to)].rectangle;
        let Some((from_side, to_side)) = self.routes[index].sides(self.goes_right(index)) else {
            let tip = point(to.centre().x, to.top);
            let path = Path {
                start: point(from.centre().x, from.bottom()),
                pieces: vec![Piece::Line(point(tip.x, tip.y - ARROW_HEAD))],
            };
            return (path, tip);
        };
        let [begin, end] = heights.ends[index];
        let start = point(side_of(&from, from_side), begin);
        let tip = point(side_of(&to, to_side), end);
        let neck = match to_side {
            Side::Left => point(tip.x - ARROW_HEAD, tip.y),
            Side::Right => point(tip.x + ARROW_HEAD, tip.y),
        };
        let [first_lane, last_lane] = widths.lanes[index];
        let pieces = match self.routes[index] {
            Route::Beside { .. } => vec![bow(start, neck, first_lane)],
            Route::Along { first, last, .. } => {
                let track = heights.tracks[index];
                let (left, _) = widths.columns[first];
                let (last_left, last_width) = widths.columns[last - 1];
                let mut corners = [point(left, track), point(last_left + last_width, track)];
                if from_side == Side::Left {
                    corners.reverse();
                }
                vec![
                    swing(start, corners[0], first_lane),
                    Piece::Line(corners[1]),
                    swing(corners[1], neck, last_lane),
                ]
            }
            _ => vec![swing(start, neck, first_lane)],
        };
        (Path { start, pieces }, tip)
    }
}

fn side_of(rectangle: &Rectangle, side: Side) -> f64 {
    match side {
        Side::Left => rectangle.left,
        Side::Right => rectangle.right(),
    }
}

/// From one side of a gap to the other, level at both ends, through the lane half-way.
fn swing(from: Point, to: Point, lane: f64) -> Piece {
    let turn = (8.0 * lane - from.x - to.x) / 6.0;
    let turn = turn.clamp(from.x.min(to.x), from.x.max(to.x));
    Piece::Curve(point(turn, from.y), point(turn, to.y), to)
}

/// From one side of a gap back to the same side, out to the lane.
fn bow(from: Point, to: Point, lane: f64) -> Piece {
    let turn = (8.0 * lane - from.x - to.x) / 6.0;
    Piece::Curve(point(turn, from.y), point(turn, to.y), to)
}

fn label_size(edge: &crate::litmus::graph::Edge) -> (f64, f64) {
    let relation: Relation = edge.relation;
    let width = TextStyle::Arrow.width(relation.label());
    (width + 6.0, TextStyle::Arrow.line_height())
}
