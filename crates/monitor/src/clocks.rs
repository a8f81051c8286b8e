//! General vector clocks (SOBER Def. 13): the one home of clocks.
//!
//! A general vector clock has a set of *clocks* (here: rows), a set of *groups*
//! (the positions of a timestamp), and for each event the rows that flow into its
//! timestamp, the groups that it advances, and the rows that its timestamp flows
//! out to. If every group is totally ordered by the relation and the rows connect
//! exactly the related events, timestamps compare like the transitive closure
//! (SOBER Theorem 14). An instance picks rows and groups; [`Clocks::step`] does the
//! arithmetic of conditions (t2) and (t3).
//!
//! Deviation: instead of incrementing a group by one, an event sets it to a number
//! that grows along the group (an issue index, a coherence index). The comparisons
//! are the same, and the number can be compared with an event without a table.
//!
//! Two representations: [`DenseClocks`] for groups that are threads, and
//! [`SparseClocks`] for groups that are addresses, of which there may be many.

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

/// A set of clocks.
pub trait Clocks {
    /// Adds `count` zero rows and returns the first.
    fn add_rows(&mut self, count: u32) -> Row;

    /// Makes room for groups below `count`.
    fn reserve_groups(&mut self, count: usize);

    /// The value of a group in a clock.
    fn get(&self, row: Row, group: usize) -> u64;

    /// One event: merges the `inputs`, sets the groups in `marks`, and merges the
    /// result into the `outputs`.
    ///
    /// A mark must be at least the value that the group has in every row.
    fn step<const I: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        marks: &[(usize, u64)],
        outputs: [Row; O],
    );

    /// Sets every clock to zero.
    fn reset(&mut self);

    /// The bytes held.
    fn memory(&self) -> usize;
}

/// Groups are processed in chunks of this many, so that the loops unroll.
const CHUNK: usize = 4;

/// Clocks as rows of one matrix.
#[derive(Clone, Debug, Default)]
pub struct DenseClocks {
    stride: usize,
    rows: usize,
    values: Vec<u64>,
}

impl DenseClocks {
    #[inline]
    fn chunk(&self, row: Row, chunk: usize) -> [u64; CHUNK] {
        let start = row.0 as usize * self.stride + chunk * CHUNK;
        self.values[start..start + CHUNK]
            .try_into()
            .expect("a chunk has CHUNK values")
    }

    #[inline]
    fn merge_chunk(&mut self, row: Row, chunk: usize, other: [u64; CHUNK]) {
        let start = row.0 as usize * self.stride + chunk * CHUNK;
        let slot: &mut [u64; CHUNK] = (&mut self.values[start..start + CHUNK])
            .try_into()
            .expect("a chunk has CHUNK values");
        *slot = merged(*slot, other);
    }

    /// As [`Clocks::step`], for sets of outputs whose size is not known beforehand.
    pub fn step_slices(&mut self, inputs: &[Row], marks: &[(usize, u64)], outputs: &[Row]) {
        for chunk in 0..self.stride / CHUNK {
            let mut timestamp = [0; CHUNK];
            for &input in inputs {
                timestamp = merged(timestamp, self.chunk(input, chunk));
            }
            for &output in outputs {
                self.merge_chunk(output, chunk, timestamp);
            }
        }
        for &(group, value) in marks {
            for &output in outputs {
                self.values[output.0 as usize * self.stride + group] = value;
            }
        }
    }

    /// The values of a clock, by group.
    pub fn row(&self, row: Row) -> &[u64] {
        &self.values[row.0 as usize * self.stride..][..self.stride]
    }

    /// The bytes that `rows` rows of `groups` groups would take.
    pub fn projected_memory(rows: usize, groups: usize) -> usize {
        let values = rows.saturating_mul(groups.next_multiple_of(CHUNK));
        values.saturating_mul(size_of::<u64>())
    }
}

#[inline]
fn merged(a: [u64; CHUNK], b: [u64; CHUNK]) -> [u64; CHUNK] {
    std::array::from_fn(|i| a[i].max(b[i]))
}

impl Clocks for DenseClocks {
    fn add_rows(&mut self, count: u32) -> Row {
        let first = Row(u32::try_from(self.rows).expect("fewer than 2^32 clocks"));
        self.rows += count as usize;
        self.values.resize(self.rows * self.stride, 0);
        first
    }

    fn reserve_groups(&mut self, count: usize) {
        if count <= self.stride {
            return;
        }
        // Growing by half keeps the number of times that the rows move logarithmic.
        let wanted = count.max(self.stride + self.stride / 2);
        let stride = wanted.next_multiple_of(CHUNK);
        let mut values = vec![0; self.rows * stride];
        if self.stride > 0 {
            let old_rows = self.values.chunks_exact(self.stride);
            for (new, old) in values.chunks_exact_mut(stride).zip(old_rows) {
                new[..self.stride].copy_from_slice(old);
            }
        }
        self.stride = stride;
        self.values = values;
    }

    #[inline]
    fn get(&self, row: Row, group: usize) -> u64 {
        self.values[row.0 as usize * self.stride + group]
    }

    #[inline]
    fn step<const I: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        marks: &[(usize, u64)],
        outputs: [Row; O],
    ) {
        for chunk in 0..self.stride / CHUNK {
            let mut timestamp = self.chunk(inputs[0], chunk);
            for &input in &inputs[1..] {
                timestamp = merged(timestamp, self.chunk(input, chunk));
            }
            for output in outputs {
                self.merge_chunk(output, chunk, timestamp);
            }
        }
        for &(group, value) in marks {
            for output in outputs {
                self.values[output.0 as usize * self.stride + group] = value;
            }
        }
    }

    fn reset(&mut self) {
        self.values.fill(0);
    }

    fn memory(&self) -> usize {
        self.values.capacity() * size_of::<u64>()
    }
}

/// Neighbouring groups are kept together, so that small address spaces are as
/// cheap as dense rows and large ones stay sparse.
const BLOCK: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Block {
    number: u32,
    values: [u64; BLOCK],
}

/// Clocks as sorted lists of blocks of groups; a group that is absent is zero.
#[derive(Clone, Debug, Default)]
pub struct SparseClocks {
    rows: Vec<Vec<Block>>,
    timestamp: Vec<Block>,
    merged: Vec<Block>,
}

impl SparseClocks {
    /// Merges `from` into `into`, using `spare` for the result if blocks are missing.
    fn merge(into: &mut Vec<Block>, from: &[Block], spare: &mut Vec<Block>) {
        let mut missing = false;
        let mut at = 0;
        for block in from {
            while at < into.len() && into[at].number < block.number {
                at += 1;
            }
            match into.get_mut(at) {
                Some(slot) if slot.number == block.number => {
                    slot.values = std::array::from_fn(|i| slot.values[i].max(block.values[i]));
                }
                _ => missing = true,
            }
        }
        if !missing {
            return;
        }
        spare.clear();
        let mut old = into.iter().peekable();
        for block in from {
            while let Some(before) = old.next_if(|b| b.number < block.number) {
                spare.push(*before);
            }
            spare.push(*old.next_if(|b| b.number == block.number).unwrap_or(block));
        }
        spare.extend(old);
        std::mem::swap(into, spare);
    }

    fn set(row: &mut Vec<Block>, group: usize, value: u64) {
        let number = (group / BLOCK) as u32;
        let at = match row.binary_search_by_key(&number, |b| b.number) {
            Ok(at) => at,
            Err(at) => {
                let values = [0; BLOCK];
                row.insert(at, Block { number, values });
                at
            }
        };
        row[at].values[group % BLOCK] = value;
    }

    /// The most bytes that `rows` rows of `groups` groups can take.
    pub fn projected_memory(rows: usize, groups: usize) -> usize {
        let row = size_of::<Vec<Block>>() + groups.div_ceil(BLOCK) * size_of::<Block>();
        rows.saturating_mul(row)
    }
}

impl Clocks for SparseClocks {
    fn add_rows(&mut self, count: u32) -> Row {
        let first = Row(u32::try_from(self.rows.len()).expect("fewer than 2^32 clocks"));
        self.rows
            .resize_with(self.rows.len() + count as usize, Vec::new);
        first
    }

    fn reserve_groups(&mut self, _count: usize) {}

    #[inline]
    fn get(&self, row: Row, group: usize) -> u64 {
        let blocks = &self.rows[row.0 as usize];
        let number = (group / BLOCK) as u32;
        // Rows of small address spaces hold every block, each at its own index.
        match blocks.get(number as usize) {
            Some(block) if block.number == number => block.values[group % BLOCK],
            _ => match blocks.binary_search_by_key(&number, |b| b.number) {
                Ok(at) => blocks[at].values[group % BLOCK],
                Err(_) => 0,
            },
        }
    }

    fn step<const I: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        marks: &[(usize, u64)],
        outputs: [Row; O],
    ) {
        let SparseClocks {
            rows,
            timestamp,
            merged,
        } = self;
        timestamp.clear();
        timestamp.extend_from_slice(&rows[inputs[0].0 as usize]);
        for input in &inputs[1..] {
            Self::merge(timestamp, &rows[input.0 as usize], merged);
        }
        for &(group, value) in marks {
            Self::set(timestamp, group, value);
        }
        for output in outputs {
            Self::merge(&mut rows[output.0 as usize], timestamp, merged);
        }
    }

    fn reset(&mut self) {
        self.rows.iter_mut().for_each(Vec::clear);
    }

    fn memory(&self) -> usize {
        let blocks: usize = self.rows.iter().map(Vec::capacity).sum();
        blocks * size_of::<Block>() + self.rows.capacity() * size_of::<Vec<Block>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_memory::Random;

    /// Both representations compute what the definition says, on random steps.
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
            let group = random.below(used_groups as u64) as usize;
            let marked = random.below(2) == 0;
            let mark = [(group, step + 1)];
            let marks = if marked { &mark[..] } else { &[] };
            clocks.step(inputs.map(|i| rows[i]), marks, outputs.map(|o| rows[o]));

            let mut timestamp: Vec<u64> = (0..groups)
                .map(|g| expected[inputs[0]][g].max(expected[inputs[1]][g]))
                .collect();
            if marked {
                timestamp[group] = step + 1;
            }
            for output in outputs {
                for g in 0..groups {
                    expected[output][g] = expected[output][g].max(timestamp[g]);
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
    fn sparse_clocks_follow_definition_13() {
        for seed in 0..20 {
            agrees_with_the_definition::<SparseClocks>(seed, 1 + 7 * seed as usize);
        }
    }
}
