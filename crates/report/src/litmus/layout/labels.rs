//! The place of the name of each arrow's relation: on the arrow, near its middle, on no box and
//! no other name, and on other arrows only if there is no other place.

use super::geometry::{Point, Rectangle, distance};

/// The number of places along an arrow that are tried.
const PLACES: usize = 48;
/// So far from the ends of an arrow no name is written, in pixels.
const FROM_ENDS: f64 = 4.0;
/// What a point of another arrow near to the name costs, in pixels from the middle of the arrow,
/// and what is near.
const COVERED: f64 = 12.0;
const NEAR: f64 = 9.0;
/// The same for the ends of the own arrow, so that its head is seen.
const HIDING: f64 = 40.0;
const AROUND_ENDS: f64 = 7.0;
/// The same for other names.
const CROWDING: f64 = 60.0;
const CROWD: f64 = 10.0;

/// Finds a place for each label. `arrows` are points along each arrow, `sizes` the width and the
/// height of each label. If there is no place for one, `None`.
pub(super) fn place_labels(
    arrows: &[Vec<Point>],
    sizes: &[(f64, f64)],
    obstacles: &[Rectangle],
) -> Option<Vec<Rectangle>> {
    let bounds: Vec<Rectangle> = arrows.iter().map(|points| bounds(points)).collect();
    let lengths: Vec<f64> = arrows.iter().map(|points| length(points)).collect();
    // The short ones have the least choice.
    let mut order: Vec<usize> = (0..arrows.len()).collect();
    order.sort_by(|&one, &other| {
        lengths[one]
            .total_cmp(&lengths[other])
            .then(one.cmp(&other))
    });
    let mut placed: Vec<Option<Rectangle>> = vec![None; arrows.len()];
    for index in order {
        let (width, height) = sizes[index];
        let mut best: Option<(f64, Rectangle)> = None;
        for (place, from_middle) in candidates(&arrows[index], lengths[index]) {
            if best.is_some_and(|(least, _)| from_middle >= least) {
                break;
            }
            let label = Rectangle::around(place, width, height);
            let is_taken = |other: &Rectangle| label.overlaps(&other.grown(2.0));
            if obstacles.iter().any(is_taken) || placed.iter().flatten().any(is_taken) {
                continue;
            }
            let around = label.grown(NEAR);
            let others = (0..arrows.len()).filter(|&other| other != index);
            let covered: usize = others
                .filter(|&other| bounds[other].grown(1.0).overlaps(&around))
                .map(|other| {
                    let points = arrows[other].iter();
                    points.filter(|&&point| around.contains(point)).count()
                })
                .sum();
            let hidden = [arrows[index].first(), arrows[index].last()];
            let hidden = hidden.into_iter().flatten();
            let hidden = hidden.filter(|&&end| label.grown(AROUND_ENDS).contains(end));
            let crowd = label.grown(CROWD);
            let crowding = placed
                .iter()
                .flatten()
                .filter(|other| crowd.overlaps(other));
            let cost = from_middle
                + covered as f64 * COVERED
                + hidden.count() as f64 * HIDING
                + crowding.count() as f64 * CROWDING;
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, label));
            }
        }
        placed[index] = Some(best?.1);
    }
    placed.into_iter().collect()
}

/// Places along an arrow, with how far they are from its middle, the nearest first.
fn candidates(points: &[Point], length: f64) -> impl Iterator<Item = (Point, f64)> {
    let steps = (0..=PLACES).map(|step| match step % 2 {
        0 => PLACES / 2 - step / 2,
        _ => PLACES / 2 + step.div_ceil(2),
    });
    steps.filter_map(move |step| {
        let along = length * step as f64 / PLACES as f64;
        let is_inside = along >= FROM_ENDS && along <= length - FROM_ENDS;
        is_inside.then(|| (point_at(points, along), (along - length / 2.0).abs()))
    })
}

fn length(points: &[Point]) -> f64 {
    points
        .windows(2)
        .map(|pair| distance(pair[0], pair[1]))
        .sum()
}

fn point_at(points: &[Point], along: f64) -> Point {
    let mut rest = along;
    for pair in points.windows(2) {
        let part = distance(pair[0], pair[1]);
        if rest <= part && part > 0.0 {
            let t = rest / part;
            return Point {
                x: pair[0].x + (pair[1].x - pair[0].x) * t,
                y: pair[0].y + (pair[1].y - pair[0].y) * t,
            };
        }
        rest -= part;
    }
    points.last().copied().unwrap_or_default()
}

fn bounds(points: &[Point]) -> Rectangle {
    let (mut low, mut high) = (points[0], points[0]);
    for point in points {
        low = Point {
            x: low.x.min(point.x),
            y: low.y.min(point.y),
        };
        high = Point {
            x: high.x.max(point.x),
            y: high.y.max(point.y),
        };
    }
    Rectangle {
        left: low.x,
        top: low.y,
        width: high.x - low.x,
        height: high.y - low.y,
    }
}
