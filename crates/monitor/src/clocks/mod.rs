//! General vector clocks (SOBER Def. 13).
//!
//! A general vector clock has a set of *clocks* (here: rows), a set of *groups*
//! (the positions of a timestamp), and for each event the rows that flow into its
//! timestamp, the groups that it advances, and the rows that its timestamp flows
//! out to. If every group is totally ordered by the relation and the rows connect
//! exactly the related events, timestamps compare like the transitive closure
//! (SOBER Theorem 14). An instance picks rows and groups; [`Clocks::step`] does the
//! arithmetic of conditions (t2) and (t3).
//!
//! Deviation: instead of incrementing a group by one, an event raises it to a number
//! that grows along the group (an issue index, a coherence index). The comparisons
//! are the same, and the number can be compared with an event without a table.
//!
//! Three representations: [`DenseClocks`] for groups that are threads, [`SparseClocks`] for groups
//! that are addresses, of which there may be many, and [`SharedClocks`] for groups that are
//! threads where interleavings are short and are rewound often.

use std::borrow::Cow;

mod dense;
mod shared;
mod sparse;

pub use dense::DenseClocks;
pub use shared::SharedClocks;
pub use sparse::SparseClocks;

/// A clock: an index into a [`Clocks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row(u32);

impl Row {
    /// The row `offset` places after this one, among rows that were added together.
    #[inline]
    pub fn offset(self, offset: u32) -> Row {
        Row(self.0 + offset)
    }
}

/// The rows of an address, in every instance here: its last write, and all its accesses. A read
/// flows in from the first, a write from the second.
pub(crate) mod address_rows {
    /// The last write.
    pub(crate) const LAST_WRITE: u32 = 0;
    /// All accesses.
    pub(crate) const ALL_ACCESSES: u32 = 1;
    /// The number of these rows.
    pub(crate) const COUNT: u32 = 2;
}

/// A set of clocks.
pub trait Clocks {
    /// Adds `count` zero rows and returns the first.
    fn add_rows(&mut self, count: u32) -> Row;

    /// Reserves groups below `count`.
    fn reserve_groups(&mut self, count: usize);

    /// The value of a group in a clock.
    fn get(&self, row: Row, group: usize) -> u64;

    /// One event: merges the `inputs`, raises the groups in `marks` to the numbers given
    /// there (0 raises nothing), and merges the result into the `outputs`.
    fn step<const I: usize, const M: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        marks: [(usize, u64); M],
        outputs: [Row; O],
    );

    /// As [`step`](Self::step), for an event whose own clock is the first input and among the
    /// outputs: raising that clock before does the same as a mark.
    #[inline]
    fn step_raising<const I: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        (group, value): (usize, u64),
        outputs: [Row; O],
    ) {
        self.raise(inputs[0], group, value);
        self.step(inputs, [], outputs);
    }

    /// As [`step_raising`](Self::step_raising), where whatever is in the outputs is in the inputs
    /// too: the outputs become the timestamp.
    #[inline]
    fn overwrite_raising<const I: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        mark: (usize, u64),
        outputs: [Row; O],
    ) {
        self.step_raising(inputs, mark, outputs);
    }

    /// As [`step`](Self::step), where whatever is in the outputs is in the inputs too: the outputs
    /// become the timestamp.
    #[inline]
    fn overwrite<const I: usize, const M: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        marks: [(usize, u64); M],
        outputs: [Row; O],
    ) {
        self.step(inputs, marks, outputs);
    }

    /// Raises a group in one clock.
    fn raise(&mut self, row: Row, group: usize, value: u64);

    /// Whether a merge is so cheap that a needless one costs less than a branch that
    /// decides whether it is needed.
    fn merges_are_cheap(&self) -> bool;

    /// Sets every clock to zero.
    fn reset(&mut self);

    /// The memory in use, in bytes.
    fn memory(&self) -> usize;

    /// The memory in use right after growing to this many rows and groups, in bytes.
    fn memory_with(&self, rows: usize, groups: usize) -> usize;
}

/// Clocks whose groups are threads: few, so that a clock has a value for each.
pub trait ThreadClocks: Clocks + Default {
    /// The values of a clock, by group.
    fn row(&self, row: Row) -> Cow<'_, [u64]>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_memory::Random;

    /// All representations compute what the definition says, on random steps.
    fn agrees_with_the_definition<C: Clocks + Default>(seed: u64, groups: usize) {
        let mut random = Random::new(seed);
        let mut clocks = C::default();
        let mut expected: Vec<Vec<u64>> = Vec::new();
        let mut rows: Vec<Row> = Vec::new();
        let mut used_groups = 1;
        clocks.reserve_groups(1);
        for step in 0..400 {
            if rows.len() < 2 || random.below(20) == 0 {
                let first = clocks.add_rows(2);
                rows.extend([first, first.offset(1)]);
                expected.extend([vec![0; groups], vec![0; groups]]);
            }
            if used_groups < groups && random.below(10) == 0 {
                used_groups += 1 + random.below((groups - used_groups) as u64) as usize;
                clocks.reserve_groups(used_groups);
            }
            let mut pick = || random.below(rows.len() as u64) as usize;
            let (inputs, outputs) = ([pick(), pick()], [pick(), pick(), pick()]);
            let raised = pick();
            let group = random.below(used_groups as u64) as usize;
            // Marks of 0, of the future and of the past.
            let mark = random.below(3) * random.below(step + 2);
            let (from, to) = (inputs.map(|i| rows[i]), outputs.map(|o| rows[o]));
            clocks.step(from, [(group, mark)], to);
            let raised_to = random.below(step + 2);
            clocks.raise(rows[raised], group, raised_to);
            clocks.step_raising(
                [rows[raised], from[0]],
                (group, raised_to),
                [rows[raised], to[0]],
            );

            let mut timestamp: Vec<u64> = (0..groups)
                .map(|g| expected[inputs[0]][g].max(expected[inputs[1]][g]))
                .collect();
            timestamp[group] = timestamp[group].max(mark);
            for output in outputs {
                for g in 0..groups {
                    expected[output][g] = expected[output][g].max(timestamp[g]);
                }
            }
            expected[raised][group] = expected[raised][group].max(raised_to);
            let joined: Vec<u64> = (0..groups)
                .map(|g| expected[raised][g].max(expected[inputs[0]][g]))
                .collect();
            for output in [raised, outputs[0]] {
                for g in 0..groups {
                    expected[output][g] = expected[output][g].max(joined[g]);
                }
            }
            for (row, values) in rows.iter().zip(&expected) {
                for g in 0..used_groups {
                    assert_eq!(clocks.get(*row, g), values[g], "seed {seed}, step {step}");
                }
            }
        }
    }

    #[test]
    fn dense_clocks_follow_definition_13() {
        for seed in 0..20 {
            agrees_with_the_definition::<DenseClocks>(seed, 1 + seed as usize);
        }
    }

    #[test]
    fn shared_clocks_follow_definition_13() {
        for seed in 0..20 {
            agrees_with_the_definition::<SharedClocks>(seed, 1 + seed as usize);
        }
    }

    #[test]
    fn sparse_clocks_follow_definition_13() {
        for seed in 0..20 {
            agrees_with_the_definition::<SparseClocks>(seed, 1 + 7 * seed as usize);
        }
    }
}
