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
//! Deviation: instead of incrementing a group by one, an event raises it to a number
//! that grows along the group (an issue index, a coherence index). The comparisons
//! are the same, and the number can be compared with an event without a table.
//!
//! Two representations: [`DenseClocks`] for groups that are threads, and
//! [`SparseClocks`] for groups that are addresses, of which there may be many.

use crate::journal::{Mark, Rewind};

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
    /// How many rows that makes.
    pub(crate) const COUNT: u32 = 2;
}

/// A set of clocks.
pub trait Clocks {
    /// Adds `count` zero rows and returns the first.
    fn add_rows(&mut self, count: u32) -> Row;

    /// Makes room for groups below `count`.
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

    /// Raises a group in one clock. For an event whose own clock is the first input and among
    /// the outputs of its step, this before the step does the same as a mark, and is cheaper.
    fn raise(&mut self, row: Row, group: usize, value: u64);

    /// Whether a merge is so cheap that a needless one costs less than a branch that
    /// decides whether it is needed.
    fn merges_are_cheap(&self) -> bool;

    /// Sets every clock to zero.
    fn reset(&mut self);

    /// The bytes held.
    fn memory(&self) -> usize;

    /// The bytes that would be held right after growing to so many rows and groups.
    fn memory_with(&self, rows: usize, groups: usize) -> usize;
}

/// Groups are processed in chunks of this many, so that the loops unroll.
const CHUNK: usize = 4;

type Chunk = [u64; CHUNK];

/// Clocks as rows of one matrix.
#[derive(Clone, Debug, Default)]
pub struct DenseClocks {
    /// Chunks per row.
    width: usize,
    rows: usize,
    chunks: Vec<Chunk>,
    /// Chunks that were changed, with what they were before.
    journal: Option<Vec<(u32, Chunk)>>,
}

impl Rewind for DenseClocks {
    fn keep_journal(&mut self) {
        self.journal.get_or_insert_default();
    }

    #[inline]
    fn mark(&self) -> Mark {
        Mark(self.journal.as_ref().map_or(0, Vec::len))
    }

    fn rewind(&mut self, mark: Mark) -> bool {
        let Some(journal) = &mut self.journal else {
            return false;
        };
        while journal.len() > mark.0 {
            let (chunk, before) = journal.pop().expect("it is longer");
            self.chunks[chunk as usize] = before;
        }
        true
    }
}

#[inline(always)]
fn merged(a: Chunk, b: Chunk) -> Chunk {
    std::array::from_fn(|i| a[i].max(b[i]))
}

impl DenseClocks {
    /// Merges the inputs into the outputs, in one chunk of groups.
    #[inline(always)]
    fn step_chunk(&mut self, inputs: &[Row], outputs: &[Row], width: usize, chunk: usize) {
        let mut timestamp = [0; CHUNK];
        for input in inputs {
            timestamp = merged(timestamp, self.chunks[input.0 as usize * width + chunk]);
        }
        for output in outputs {
            let number = output.0 as usize * width + chunk;
            let slot = &mut self.chunks[number];
            let after = merged(*slot, timestamp);
            if let Some(journal) = &mut self.journal
                && *slot != after
            {
                journal.push((number as u32, *slot));
            }
            *slot = after;
        }
    }

    /// As [`Clocks::step`], for sets of outputs whose size is not known beforehand.
    #[inline(always)]
    pub fn step_slices(&mut self, inputs: &[Row], marks: &[(usize, u64)], outputs: &[Row]) {
        // Most programs have few threads: one chunk is worth a path without a loop.
        if self.width == 1 {
            self.step_chunk(inputs, outputs, 1, 0);
        } else {
            for chunk in 0..self.width {
                self.step_chunk(inputs, outputs, self.width, chunk);
            }
        }
        for &(group, value) in marks {
            for &output in outputs {
                self.raise(output, group, value);
            }
        }
    }

    /// The values of a clock, by group.
    pub fn row(&self, row: Row) -> &[u64] {
        self.chunks[row.0 as usize * self.width..][..self.width].as_flattened()
    }
}

impl Clocks for DenseClocks {
    fn add_rows(&mut self, count: u32) -> Row {
        let first = Row(u32::try_from(self.rows).expect("fewer than 2^32 clocks"));
        self.rows += count as usize;
        self.chunks.resize(self.rows * self.width, [0; CHUNK]);
        first
    }

    fn reserve_groups(&mut self, count: usize) {
        let wanted = count.div_ceil(CHUNK);
        if wanted <= self.width {
            return;
        }
        // Growing by half keeps the number of times that the rows move logarithmic.
        let width = wanted.max(self.width + self.width / 2);
        let mut chunks = vec![[0; CHUNK]; self.rows * width];
        if self.width > 0 {
            let old_rows = self.chunks.chunks_exact(self.width);
            for (new, old) in chunks.chunks_exact_mut(width).zip(old_rows) {
                new[..self.width].copy_from_slice(old);
            }
        }
        for (chunk, _) in self.journal.iter_mut().flatten() {
            let (row, column) = (*chunk as usize / self.width, *chunk as usize % self.width);
            *chunk = (row * width + column) as u32;
        }
        self.width = width;
        self.chunks = chunks;
    }

    #[inline]
    fn get(&self, row: Row, group: usize) -> u64 {
        self.chunks[row.0 as usize * self.width + group / CHUNK][group % CHUNK]
    }

    #[inline]
    fn raise(&mut self, row: Row, group: usize, value: u64) {
        let chunk = row.0 as usize * self.width + group / CHUNK;
        let before = self.chunks[chunk];
        if let Some(journal) = &mut self.journal
            && before[group % CHUNK] < value
        {
            journal.push((chunk as u32, before));
        }
        let slot = &mut self.chunks[chunk][group % CHUNK];
        *slot = value.max(*slot);
    }

    #[inline]
    fn merges_are_cheap(&self) -> bool {
        self.width <= 2
    }

    #[inline]
    fn step<const I: usize, const M: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        marks: [(usize, u64); M],
        outputs: [Row; O],
    ) {
        self.step_slices(&inputs, &marks, &outputs);
    }

    fn reset(&mut self) {
        self.chunks.fill([0; CHUNK]);
        self.journal.iter_mut().for_each(Vec::clear);
    }

    fn memory(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, Vec::capacity);
        self.chunks.capacity() * size_of::<Chunk>() + journal * size_of::<(u32, Chunk)>()
    }

    fn memory_with(&self, rows: usize, groups: usize) -> usize {
        let chunks = rows.saturating_mul(groups.div_ceil(CHUNK));
        chunks.saturating_mul(size_of::<Chunk>())
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
    /// The blocks that the rows have space for.
    capacity: usize,
    timestamp: Vec<Block>,
    merged: Vec<Block>,
    journal: Option<SparseJournal>,
}

/// Rows that were changed, with what they were before.
#[derive(Clone, Debug, Default)]
struct SparseJournal {
    /// The row, and how many blocks it had.
    rows: Vec<(u32, u32)>,
    blocks: Vec<Block>,
}

impl SparseJournal {
    fn note(&mut self, number: u32, row: &[Block]) {
        self.rows.push((number, row.len() as u32));
        self.blocks.extend_from_slice(row);
    }
}

impl Rewind for SparseClocks {
    fn keep_journal(&mut self) {
        self.journal.get_or_insert_default();
    }

    fn mark(&self) -> Mark {
        Mark(
            self.journal
                .as_ref()
                .map_or(0, |journal| journal.rows.len()),
        )
    }

    fn rewind(&mut self, mark: Mark) -> bool {
        let Some(journal) = &mut self.journal else {
            return false;
        };
        while journal.rows.len() > mark.0 {
            let (number, length) = journal.rows.pop().expect("it is longer");
            let row = &mut self.rows[number as usize];
            let first = journal.blocks.len() - length as usize;
            self.capacity -= row.capacity();
            row.clear();
            row.extend(journal.blocks.drain(first..));
            self.capacity += row.capacity();
        }
        true
    }
}

impl SparseClocks {
    /// Merges `from` into `into`, using `spare` for the result if blocks are missing.
    fn merge(into: &mut Vec<Block>, from: &[Block], spare: &mut Vec<Block>) {
        let mut missing = false;
        let mut at = 0;
        for block in from {
            if into.get(at).is_some_and(|b| b.number < block.number) {
                at += 1;
                // Mostly it is the next one; where rows differ much, it may be far.
                if into.get(at).is_some_and(|b| b.number < block.number) {
                    at += into[at..].partition_point(|b| b.number < block.number);
                }
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
        // Copied, not swapped: a short row must not end up with the space of a long one.
        into.clear();
        into.extend_from_slice(spare);
    }

    fn raise_in(row: &mut Vec<Block>, group: usize, value: u64) {
        let number = (group / BLOCK) as u32;
        let at = match row.binary_search_by_key(&number, |b| b.number) {
            Ok(at) => at,
            Err(at) => {
                let values = [0; BLOCK];
                row.insert(at, Block { number, values });
                at
            }
        };
        let slot = &mut row[at].values[group % BLOCK];
        *slot = value.max(*slot);
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

    fn raise(&mut self, row: Row, group: usize, value: u64) {
        if value > 0 {
            let number = row.0;
            let row = &mut self.rows[number as usize];
            if let Some(journal) = &mut self.journal {
                journal.note(number, row);
            }
            self.capacity -= row.capacity();
            Self::raise_in(row, group, value);
            self.capacity += row.capacity();
        }
    }

    fn merges_are_cheap(&self) -> bool {
        false
    }

    fn step<const I: usize, const M: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        marks: [(usize, u64); M],
        outputs: [Row; O],
    ) {
        let SparseClocks {
            rows,
            capacity,
            timestamp,
            merged,
            journal,
        } = self;
        timestamp.clear();
        timestamp.extend_from_slice(&rows[inputs[0].0 as usize]);
        for input in &inputs[1..] {
            Self::merge(timestamp, &rows[input.0 as usize], merged);
        }
        for (group, value) in marks {
            Self::raise_in(timestamp, group, value);
        }
        for output in outputs {
            let row = &mut rows[output.0 as usize];
            if let Some(journal) = journal {
                journal.note(output.0, row);
            }
            *capacity -= row.capacity();
            Self::merge(row, timestamp, merged);
            *capacity += row.capacity();
        }
    }

    fn reset(&mut self) {
        self.rows.iter_mut().for_each(Vec::clear);
        if let Some(journal) = &mut self.journal {
            journal.rows.clear();
            journal.blocks.clear();
        }
    }

    fn memory(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, |journal| {
            journal.blocks.capacity() * size_of::<Block>() + journal.rows.capacity() * 8
        });
        self.capacity * size_of::<Block>()
            + self.rows.capacity() * size_of::<Vec<Block>>()
            + journal
    }

    /// New rows are empty: what they will hold is counted when they do.
    fn memory_with(&self, rows: usize, _groups: usize) -> usize {
        let new_rows = rows.saturating_sub(self.rows.capacity());
        let rows = new_rows.saturating_mul(size_of::<Vec<Block>>());
        self.memory().saturating_add(rows)
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
            let raised = pick();
            let group = random.below(used_groups as u64) as usize;
            // Marks of 0, of the future and of the past.
            let mark = random.below(3) * random.below(step + 2);
            let (from, to) = (inputs.map(|i| rows[i]), outputs.map(|o| rows[o]));
            clocks.step(from, [(group, mark)], to);
            let raised_to = random.below(step + 2);
            clocks.raise(rows[raised], group, raised_to);

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
