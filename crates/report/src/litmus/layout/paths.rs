//! The lines of the arrows. In a gap they are curves that are level at both ends, along a channel
//! they are straight.

use super::NodeBox;
use super::drawing::Draft;
use super::geometry::{Path, Piece, Point, Rectangle, point};
use super::placing::{Heights, Widths};
use super::routes::{Route, Side};

/// The length of the head of an arrow.
const ARROW_HEAD: f64 = 9.0;

impl Draft<'_> {
    /// The line of an arrow up to its head, and the tip of the head.
    pub(super) fn path(
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
            return straight_down(&from, &to);
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
            Route::Down => Vec::new(),
            Route::Beside { .. } => vec![bow(start, neck, first_lane)],
            Route::Across { .. } => vec![swing(start, neck, first_lane)],
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
        };
        (Path { start, pieces }, tip)
    }
}

fn straight_down(from: &Rectangle, to: &Rectangle) -> (Path, Point) {
    let tip = point(to.centre().x, to.top);
    let path = Path {
        start: point(from.centre().x, from.bottom()),
        pieces: vec![Piece::Line(point(tip.x, tip.y - ARROW_HEAD))],
    };
    (path, tip)
}

fn side_of(rectangle: &Rectangle, side: Side) -> f64 {
    match side {
        Side::Left => rectangle.left,
        Side::Right => rectangle.right(),
    }
}

/// From one side of a gap to the other, near to the lane half-way.
fn swing(from: Point, to: Point, lane: f64) -> Piece {
    Piece::Curve(point(lane, from.y), point(lane, to.y), to)
}

/// From one side of a gap back to the same side, out to the lane.
fn bow(from: Point, to: Point, lane: f64) -> Piece {
    let turn = (8.0 * lane - from.x - to.x) / 6.0;
    Piece::Curve(point(turn, from.y), point(turn, to.y), to)
}
