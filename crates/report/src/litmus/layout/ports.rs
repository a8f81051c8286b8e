//! Ports: where at the side of a box each arrow begins or ends.

use super::routes::{Route, Side};
use fencepost_litmus::event_graph::EventGraph;

/// The smallest distance between ports at one side of a box, and from a port to a corner.
const PORT: f64 = 10.0;
/// The largest distance between ports at the line of one of several events.
const WIDEST_PORT: f64 = 15.0;

/// An end of an arrow at the side of a box.
struct Port {
    edge: usize,
    is_target: bool,
    node: usize,
    side: Side,
    /// Which event of the node, then what is above, then which event of the other node.
    order: (usize, i64, usize),
}

/// The ends of all arrows that begin and end at sides of boxes, in order from the top.
pub(super) struct Ports(Vec<Port>);

/// A box as far as ports need it: where it is, and the middle of each event's line.
pub(super) struct BoxHeight {
    pub(super) top: f64,
    pub(super) height: f64,
    pub(super) event_lines: Vec<f64>,
}

impl Ports {
    pub(super) fn new(graph: &EventGraph, layer: &[usize], routes: &[Route]) -> Self {
        let mut ports = Vec::new();
        for (index, (edge, &route)) in graph.edges.iter().zip(routes).enumerate() {
            let goes_right = graph.thread(edge.from) < graph.thread(edge.to);
            let Some((from_side, to_side)) = route.sides(goes_right) else {
                continue;
            };
            let (from, to) = (graph.node(edge.from), graph.node(edge.to));
            let line = |node: usize, event| {
                let events = &graph.nodes[node].events;
                events.iter().position(|&e| e == event).unwrap_or(0)
            };
            let lines = [line(from, edge.from), line(to, edge.to)];
            let ends = [
                (false, lines, from, from_side, to),
                (true, [lines[1], lines[0]], to, to_side, from),
            ];
            for (is_target, [line, other_line], node, side, other) in ends {
                let own = layer[node] as i64;
                let away = match route {
                    Route::Along { channel, .. } => channel as i64 - (2 * own + 1),
                    _ => 2 * (layer[other] as i64 - own),
                };
                // Arrows to the same column are nested; others fan out.
                let (order, within) = match route {
                    Route::Beside { .. } => (away.signum() * 1_000_000 - away, 0),
                    _ => (away, other_line),
                };
                ports.push(Port {
                    edge: index,
                    is_target,
                    node,
                    side,
                    order: (line, order, within),
                });
            }
        }
        ports.sort_by_key(|port| (port.node, port.side, port.order, port.edge, port.is_target));
        Ports(ports)
    }

    fn at(&self, node: usize, side: Side) -> impl Iterator<Item = &Port> {
        let ports = self.0.iter();
        ports.filter(move |port| port.node == node && port.side == side)
    }

    /// The height that a box needs for its ports.
    pub(super) fn least_height(&self, node: usize, events: usize) -> f64 {
        let sides = [Side::Left, Side::Right];
        let most = sides.map(|side| self.at(node, side).count());
        // Each event has its own part of the side.
        (most[0].max(most[1]) + events) as f64 * PORT
    }

    /// The height at which each arrow begins and ends.
    pub(super) fn heights(&self, boxes: &[BoxHeight], routes: &[Route]) -> Vec<[f64; 2]> {
        let mut ends = vec![[0.0; 2]; routes.len()];
        for (node, own) in boxes.iter().enumerate() {
            for side in [Side::Left, Side::Right] {
                for event in 0..own.event_lines.len() {
                    let ports = self.at(node, side).filter(|port| port.order.0 == event);
                    let ports: Vec<&Port> = ports.collect();
                    let heights = own.spread(event, ports.len());
                    for (port, height) in ports.into_iter().zip(heights) {
                        ends[port.edge][usize::from(port.is_target)] = height;
                    }
                }
            }
        }
        self.straighten(boxes, routes, &mut ends);
        ends
    }

    /// An end that is alone at its side goes to the height of the other end, if that is possible:
    /// the arrow is straight then.
    fn straighten(&self, boxes: &[BoxHeight], routes: &[Route], ends: &mut [[f64; 2]]) {
        for port in &self.0 {
            let own = &boxes[port.node];
            let is_alone = self.at(port.node, port.side).count() == 1;
            let is_across = matches!(routes[port.edge], Route::Across { .. });
            let other = ends[port.edge][usize::from(!port.is_target)];
            let fits = own.top + PORT <= other && other <= own.top + own.height - PORT;
            if is_alone && is_across && fits && own.event_lines.len() == 1 {
                ends[port.edge][usize::from(port.is_target)] = other;
            }
        }
    }
}

impl BoxHeight {
    /// Heights for so many ends of arrows at one event: over the whole side if it is the only
    /// event, else beside its line.
    fn spread(&self, event: usize, count: usize) -> impl Iterator<Item = f64> {
        let bottom = self.top + self.height;
        let lines = &self.event_lines;
        let (from, to, step) = match lines.len() {
            1 => (self.top, bottom, self.height / (count + 1) as f64),
            events => {
                let between = |one: usize| (lines[one] + lines[one + 1]) / 2.0;
                let from = event.checked_sub(1).map_or(self.top, between);
                let to = if event + 1 < events {
                    between(event)
                } else {
                    bottom
                };
                let step = (to - from) / (count + 1) as f64;
                (from, to, step.min(WIDEST_PORT))
            }
        };
        let half = step * (count.max(1) - 1) as f64 / 2.0;
        let wanted = match lines.len() {
            1 => (from + to) / 2.0,
            _ => lines[event],
        };
        let middle = wanted.clamp(from + half + step / 2.0, to - half - step / 2.0);
        (0..count).map(move |index| middle - half + step * index as f64)
    }
}
