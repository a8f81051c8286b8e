//! Clocks as rows of one matrix.

use std::borrow::Cow;

use super::{Clocks, Row, ThreadClocks};

/// Groups are processed in chunks of this many, so that the loops unroll.
const CHUNK: usize = 4;

type Chunk = [u64; CHUNK];

#[inline(always)]
fn merged(a: Chunk, b: Chunk) -> Chunk {
    std::array::from_fn(|i| a[i].max(b[i]))
}

/// Clocks as rows of one matrix.
#[derive(Clone, Debug, Default)]
pub struct DenseClocks {
    /// Chunks per row.
    width: usize,
    rows: usize,
    chunks: Vec<Chunk>,
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
            let slot = &mut self.chunks[output.0 as usize * width + chunk];
            *slot = merged(*slot, timestamp);
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
}

impl ThreadClocks for DenseClocks {
    fn row(&self, row: Row) -> Cow<'_, [u64]> {
        let chunks = &self.chunks[row.0 as usize * self.width..][..self.width];
        Cow::Borrowed(chunks.as_flattened())
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
    }

    fn memory(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
    }

    fn memory_with(&self, rows: usize, groups: usize) -> usize {
        let chunks = rows.saturating_mul(groups.div_ceil(CHUNK));
        chunks.saturating_mul(size_of::<Chunk>())
    }
}
