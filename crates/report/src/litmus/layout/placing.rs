//! Sizes: how high rows and the channels between them are, and how wide columns and the gaps
//! between them.

use super::drawing::Draft;
use super::lanes::{GapSegment, lanes, tracks};
use super::ports::BoxHeight;
use super::routes::{Route, Side};
use crate::litmus::contents::BoxLine;
use crate::litmus::metrics::TextStyle;

const BOX_PADDING: f64 = 10.0;
const NARROWEST_COLUMN: f64 = 84.0;
pub(super) const HEADER_HEIGHT: f64 = 30.0;
pub(super) const BAND_PADDING: f64 = 10.0;
/// Between rows, and between the header and the first row.
const ROW_GAP: f64 = 46.0;
const HEADER_GAP: f64 = 8.0;
/// Between columns, and how much of that is next to boxes.
const GAP: f64 = 108.0;
const EMPTY_GAP: f64 = 44.0;
const GAP_MARGIN: f64 = 14.0;
const LANE: f64 = 32.0;
const TRACK: f64 = 20.0;

/// From the top: of boxes, of the track of every arrow that has one, and of both ends of every
/// arrow.
pub(super) struct Heights {
    pub(super) boxes: Vec<BoxHeight>,
    pub(super) tracks: Vec<f64>,
    pub(super) ends: Vec<[f64; 2]>,
    pub(super) bottom: f64,
}

/// From left to right: of columns, and of the lanes of every arrow, in the gap where it begins and
/// in the one where it ends.
pub(super) struct Widths {
    pub(super) columns: Vec<(f64, f64)>,
    pub(super) lanes: Vec<[f64; 2]>,
    pub(super) right: f64,
}

/// The height of the text of a box.
pub(super) fn text_height(lines: &[BoxLine]) -> f64 {
    lines.iter().map(|line| line.style.line_height()).sum()
}

impl Draft<'_> {
    /// The heights; gaps are `room` times as high as usual.
    pub(super) fn heights(&self, room: f64) -> Heights {
        let mut boxes: Vec<BoxHeight> = (0..self.lines.len())
            .map(|node| self.box_at(node, 0.0))
            .collect();
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
                let heights = nodes.iter().map(|&node| boxes[node].height);
                heights.fold(needed, f64::max)
            };
            for node in nodes {
                boxes[node] = self.box_at(node, y + (height - boxes[node].height) / 2.0);
            }
            for (edge, track) in edges.into_iter().zip(tracks) {
                let from_middle = track as f64 - (count - 1) as f64 / 2.0;
                track_of[edge] = y + height / 2.0 + from_middle * TRACK * room;
            }
            y += height;
        }
        Heights {
            ends: self.ports.heights(&boxes, &self.routes),
            boxes,
            tracks: track_of,
            bottom: y + BAND_PADDING,
        }
    }

    fn box_at(&self, node: usize, top: f64) -> BoxHeight {
        let text = text_height(&self.lines[node]);
        let events = self.graph.nodes[node].events.len();
        let height = (text + BOX_PADDING * 1.4).max(self.ports.least_height(node, events));
        let height = height.round();
        let line = TextStyle::Event.line_height();
        let first = top + (height - text) / 2.0 + line / 2.0;
        BoxHeight {
            top,
            height,
            event_lines: (0..events)
                .map(|event| first + line * event as f64)
                .collect(),
        }
    }

    /// The arrows along a channel, their tracks, and how many tracks there are.
    fn along(&self, wanted: usize) -> (Vec<usize>, Vec<usize>, usize) {
        let routes = self.routes.iter().enumerate();
        let own = routes.filter_map(|(index, route)| match *route {
            Route::Along {
                first,
                last,
                channel,
            } if channel == wanted => Some((index, (first, last))),
            _ => None,
        });
        let (edges, intervals): (Vec<usize>, Vec<(usize, usize)>) = own.unzip();
        let (tracks, count) = tracks(&intervals);
        (edges, tracks, count)
    }

    /// The widths; gaps are `room` times as wide as usual.
    pub(super) fn widths(&self, room: f64, heights: &Heights) -> Widths {
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

    /// The segments of arrows in a gap: each with its edge, and 1 if it is where an arrow along a
    /// channel ends, else 0.
    fn segments(&self, gap: usize, heights: &Heights) -> (Vec<(usize, usize)>, Vec<GapSegment>) {
        let mut owners = Vec::new();
        let mut segments = Vec::new();
        let mut add = |owner: (usize, usize), ends: [(Side, f64); 2]| {
            owners.push(owner);
            segments.push(GapSegment { ends });
        };
        for (edge, route) in self.routes.iter().enumerate() {
            let Some((from, to)) = route.sides(self.goes_right(edge)) else {
                continue;
            };
            let [begin, end] = heights.ends[edge];
            // The right side of a column is the left side of the gap.
            let (from, to) = (from.opposite(), to.opposite());
            match *route {
                Route::Beside { gap: own, .. } | Route::Across { gap: own } if own == gap => {
                    add((edge, 0), [(from, begin), (to, end)]);
                }
                Route::Along { first, last, .. } => {
                    let gaps = match from {
                        Side::Left => [first, last],
                        Side::Right => [last, first],
                    };
                    let track = heights.tracks[edge];
                    if gaps[0] == gap {
                        add((edge, 0), [(from, begin), (from.opposite(), track)]);
                    }
                    if gaps[1] == gap {
                        add((edge, 1), [(to.opposite(), track), (to, end)]);
                    }
                }
                _ => {}
            }
        }
        (owners, segments)
    }
}
