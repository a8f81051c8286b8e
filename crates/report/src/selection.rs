//! Selects the relevant rows of a long table.
#![allow(clippy::single_range_in_vec_init)] // Lists of ranges often have one.

use std::collections::BTreeSet;
use std::ops::Range;

/// The number of rows shown before and after an important one.
const CONTEXT: usize = 2;

/// The first and the last rows, half of `most` each.
pub(crate) fn head_and_tail(total: usize, most: usize) -> Vec<Range<usize>> {
    match total <= most {
        true => vec![0..total],
        false => vec![0..most / 2, total - most / 2..total],
    }
}

/// About `most` of `total` rows: the important ones, those next to them, and if it `fills`, then
/// those before the last important one. As ranges, in order, that do not touch.
pub(crate) fn around(
    total: usize,
    important: &[usize],
    most: usize,
    fills: bool,
) -> Vec<Range<usize>> {
    if total <= most {
        return vec![0..total];
    }
    let mut important: Vec<usize> = important.iter().copied().filter(|&r| r < total).collect();
    important.sort_unstable();
    important.dedup();
    if important.is_empty() {
        important.push(total - 1);
    }
    let mut chosen = BTreeSet::new();
    for kept in head_and_tail(important.len(), most) {
        chosen.extend(&important[kept]);
    }
    let centres: Vec<usize> = chosen.iter().copied().collect();
    for distance in 1..=CONTEXT {
        for &centre in &centres {
            let near = [centre.checked_sub(distance), Some(centre + distance)];
            for row in near.into_iter().flatten().filter(|&row| row < total) {
                if chosen.len() < most {
                    chosen.insert(row);
                }
            }
        }
    }
    let last = centres.last().copied().unwrap_or(0);
    for row in (0..last).rev() {
        if chosen.len() >= most || !fills {
            break;
        }
        chosen.insert(row);
    }
    joined(&chosen, total)
}

/// The rows as ranges. A gap of one row is closed: saying that it is left out takes a row too.
fn joined(rows: &BTreeSet<usize>, total: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for &row in rows {
        match ranges.last_mut() {
            Some(range) if row <= range.end + 1 => range.end = row + 1,
            _ if row == 1 => ranges.push(0..2),
            _ => ranges.push(row..row + 1),
        }
    }
    if let Some(range) = ranges.last_mut() {
        if range.end + 1 == total {
            range.end = total;
        }
    }
    ranges
}

/// The gaps before, between and after the ranges: how many rows are left out, and before
/// which of the rows that are shown.
pub(crate) fn gaps(ranges: &[Range<usize>], total: usize) -> Vec<(usize, usize)> {
    let mut gaps = Vec::new();
    let (mut next, mut shown) = (0, 0);
    for range in ranges.iter().cloned().chain([total..total]) {
        if range.start > next {
            gaps.push((range.start - next, shown));
        }
        shown += range.len();
        next = range.end;
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_tables_are_whole() {
        assert_eq!(around(5, &[1], 5, true), [0..5]);
        assert_eq!(head_and_tail(5, 5), [0..5]);
        assert!(gaps(&around(5, &[1], 5, true), 5).is_empty());
    }

    #[test]
    fn important_rows_are_kept_with_their_surroundings() {
        let ranges = around(1000, &[100, 500], 12, true);
        assert_eq!(ranges, [98..103, 496..503]);
        assert_eq!(gaps(&ranges, 1000), [(98, 0), (393, 5), (497, 12)]);
        let unfilled = around(1000, &[100, 500], 12, false);
        assert_eq!(unfilled, [98..103, 498..503]);
        assert_eq!(around(1000, &[], 10, true), [990..1000]);
        assert_eq!(around(1000, &[2000], 10, true), [990..1000]);
    }

    #[test]
    fn a_gap_of_one_row_is_closed() {
        assert_eq!(around(100, &[3, 9], 10, true), [0..12]);
        assert_eq!(around(100, &[97], 4, true), [95..100]);
    }

    #[test]
    fn too_many_important_rows_lose_their_middle() {
        let important: Vec<usize> = (0..1000).map(|i| 5 * i).collect();
        let shown: usize = around(5000, &important, 20, true)
            .iter()
            .map(Range::len)
            .sum();
        assert_eq!(shown, 20);
    }

    #[test]
    fn head_and_tail_leave_one_gap() {
        let ranges = head_and_tail(100, 60);
        assert_eq!(ranges, [0..30, 70..100]);
        assert_eq!(gaps(&ranges, 100), [(40, 30)]);
    }
}
