//! Lanes for arrows that share a gap between columns or a channel between rows.

use super::routes::Side;

/// A part of an arrow within a gap: it comes in at one end, goes up or down in a lane of its own,
/// and leaves at the other end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct GapSegment {
    /// The side of the gap and the height at which it begins and ends.
    pub(super) ends: [(Side, f64); 2],
}

impl GapSegment {
    fn range(&self) -> (f64, f64) {
        let [one, other] = self.ends.map(|(_, y)| y);
        (one.min(other), one.max(other))
    }

    fn heights_at(&self, side: Side) -> impl Iterator<Item = f64> {
        let ends = self.ends.into_iter();
        ends.filter(move |end| end.0 == side).map(|end| end.1)
    }

    /// How often two segments cross if this one's lane is left of the other's: where the way to
    /// the one's lane passes through the other's lane.
    fn crossings_left_of(&self, other: &GapSegment) -> usize {
        let within = |(low, high): (f64, f64), y: f64| low < y && y < high;
        let own = self.heights_at(Side::Right);
        let others = other.heights_at(Side::Left);
        own.filter(|&y| within(other.range(), y)).count()
            + others.filter(|&y| within(self.range(), y)).count()
    }
}

/// The smallest distance between segments in one lane.
const CLEARANCE: f64 = 24.0;
const MAX_ROUNDS: usize = 20;

/// The lane of each segment of a gap, from the left, and how many lanes there are. Few cross.
pub(super) fn lanes(segments: &[GapSegment]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..segments.len()).collect();
    // Those that come back to a side stay near it, if nothing speaks against it.
    order.sort_by_key(|&index| match segments[index].ends.map(|end| end.0) {
        [Side::Left, Side::Left] => 0,
        [Side::Right, Side::Right] => 2,
        _ => 1,
    });
    move_to_better_places(&mut order, segments);
    let mut lane = vec![0; segments.len()];
    let mut count = 0;
    for (index, &segment) in order.iter().enumerate() {
        let (low, high) = segments[segment].range();
        let in_the_way = order[..index].iter().filter(|&&other| {
            let (other_low, other_high) = segments[other].range();
            low < other_high + CLEARANCE && other_low < high + CLEARANCE
        });
        lane[segment] = in_the_way.map(|&other| lane[other] + 1).max().unwrap_or(0);
        count = count.max(lane[segment] + 1);
    }
    (lane, count)
}

/// Moves one segment after the other to where it crosses least, as long as that helps.
fn move_to_better_places(order: &mut Vec<usize>, segments: &[GapSegment]) {
    let crossings: Vec<Vec<i64>> = segments
        .iter()
        .map(|left| {
            let others = segments.iter();
            others
                .map(|right| left.crossings_left_of(right) as i64)
                .collect()
        })
        .collect();
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for position in 0..order.len() {
            let moved = order[position];
            // What it changes to go past one neighbour after the other, to the left and to the
            // right.
            let mut best = (0, position);
            let mut change = 0;
            for target in (0..position).rev() {
                let other = order[target];
                change += crossings[moved][other] - crossings[other][moved];
                best = best.min((change, target));
            }
            change = 0;
            for target in position + 1..order.len() {
                let other = order[target];
                change += crossings[other][moved] - crossings[moved][other];
                best = best.min((change, target));
            }
            if best.0 < 0 {
                order.remove(position);
                order.insert(best.1, moved);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
}

/// The track of each interval in a channel, from the top, and how many tracks there are. Intervals
/// of one track have no gap in common.
pub(super) fn tracks(intervals: &[(usize, usize)]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..intervals.len()).collect();
    order.sort_by_key(|&index| (intervals[index], index));
    let mut track = vec![0; intervals.len()];
    // For each track where its last interval ends.
    let mut ends: Vec<usize> = Vec::new();
    for &index in &order {
        let (first, last) = intervals[index];
        let free = ends.iter().position(|&end| end < first);
        track[index] = free.unwrap_or(ends.len());
        match free {
            Some(free) => ends[free] = last,
            None => ends.push(last),
        }
    }
    (track, ends.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Side::{Left, Right};

    #[test]
    fn parallel_segments_do_not_cross() {
        let down = |from: f64| GapSegment {
            ends: [(Left, from), (Right, from + 10.0)],
        };
        let (lane, count) = lanes(&[down(0.0), down(2.0), down(4.0)]);
        assert_eq!((lane, count), (vec![2, 1, 0], 3));
    }

    #[test]
    fn segments_that_are_apart_share_a_lane() {
        let across = |y: f64| GapSegment {
            ends: [(Left, y), (Right, y)],
        };
        assert_eq!(lanes(&[across(0.0), across(100.0)]), (vec![0, 0], 1));
    }

    #[test]
    fn intervals_of_a_track_do_not_meet() {
        assert_eq!(tracks(&[(1, 2), (2, 4), (3, 5)]), (vec![0, 1, 0], 2));
    }
}
