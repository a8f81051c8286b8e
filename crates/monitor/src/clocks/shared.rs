//! Clocks that share their timestamps.
//!
//! An event's timestamp flows out to several clocks, and is mostly their new value. So a clock is
//! the index of a timestamp, and timestamps are immutable: an event costs one new timestamp.
//! Rewinding restores the old indices and drops the timestamps that were added.
//!
//! The timestamps grow with the interleaving. That suits an explorer, whose interleavings are short
//! and share prefixes.

use std::borrow::Cow;

use super::{Clocks, Row, ThreadClocks};
use crate::journal::{FIRST_EVENTS, JournalMark, Rewind};

/// Groups are processed in chunks of this many, so that the loops unroll.
const CHUNK: usize = 4;

/// Half the size of the counters elsewhere, which is enough for short interleavings. Signed,
/// because every processor has vector comparisons of signed numbers.
type Chunk = [i32; CHUNK];

#[inline(always)]
fn merged(a: Chunk, b: Chunk) -> Chunk {
    std::array::from_fn(|i| a[i].max(b[i]))
}

#[inline]
fn narrow(value: u64) -> i32 {
    i32::try_from(value).expect("a rewindable interleaving has less than 2^31 events")
}

/// The number of clocks for which memory is allocated in advance.
const FIRST_ROWS: usize = 128;

/// The index of the zero timestamp.
const ZERO: u32 = 0;

/// Clocks as indices of timestamps.
#[derive(Clone, Debug, Default)]
pub struct SharedClocks {
    /// Chunks per timestamp.
    width: usize,
    /// The timestamps one after the other, the first of them zero.
    chunks: Vec<Chunk>,
    /// The number of timestamps.
    count: u32,
    /// The timestamp of each clock.
    rows: Vec<u32>,
    journal: Option<Vec<Change>>,
}

/// The change of a clock.
#[derive(Clone, Copy, Debug)]
struct Change {
    row: u32,
    before: u32,
    /// The number of timestamps before the event.
    timestamps: u32,
}

impl Rewind for SharedClocks {
    fn keep_journal(&mut self) {
        let changes = 4 * FIRST_EVENTS;
        self.journal
            .get_or_insert_with(|| Vec::with_capacity(changes));
        self.rows.reserve(FIRST_ROWS);
    }

    #[inline]
    fn mark(&self) -> JournalMark {
        JournalMark(self.journal.as_ref().map_or(0, Vec::len))
    }

    fn rewind(&mut self, mark: JournalMark) -> bool {
        let Some(journal) = &mut self.journal else {
            return false;
        };
        let mut timestamps = None;
        while journal.len() > mark.0 {
            let change = journal.pop().expect("it is longer");
            self.rows[change.row as usize] = change.before;
            timestamps = Some(change.timestamps);
        }
        if let Some(timestamps) = timestamps {
            self.count = timestamps;
            self.chunks.truncate(timestamps as usize * self.width);
        }
        true
    }
}

impl SharedClocks {
    #[inline]
    fn timestamp(&self, number: u32) -> &[Chunk] {
        &self.chunks[number as usize * self.width..][..self.width]
    }

    /// Adds the join of two timestamps. Returns its index.
    #[inline]
    fn push_merged(&mut self, one: u32, other: u32) -> u32 {
        let (one, other) = (one as usize * self.width, other as usize * self.width);
        self.chunks.reserve(self.width);
        for at in 0..self.width {
            let chunk = merged(self.chunks[one + at], self.chunks[other + at]);
            self.chunks.push(chunk);
        }
        self.count += 1;
        self.count - 1
    }

    /// The join of two timestamps: one of them, if it includes the other.
    #[inline]
    fn join(&mut self, one: u32, other: u32) -> u32 {
        if one == other || other == ZERO {
            return one;
        }
        if one == ZERO {
            return other;
        }
        // A difference is negative where the first number is below the second; none is so large
        // that it wraps.
        let (mut rises, mut falls) = ([0; CHUNK], [0; CHUNK]);
        for (a, b) in self.timestamp(one).iter().zip(self.timestamp(other)) {
            for i in 0..CHUNK {
                rises[i] |= b[i].wrapping_sub(a[i]);
                falls[i] |= a[i].wrapping_sub(b[i]);
            }
        }
        let is_any_negative = |all: [i32; CHUNK]| all.iter().fold(0, |any, one| any | one) < 0;
        if !is_any_negative(rises) {
            return other;
        }
        if !is_any_negative(falls) {
            return one;
        }
        self.push_merged(one, other)
    }

    /// The join of the inputs, with the marks.
    #[inline]
    fn timestamp_of<const I: usize, const M: usize>(
        &mut self,
        inputs: [u32; I],
        marks: [(usize, u64); M],
    ) -> u32 {
        if M == 0 {
            let others = inputs[1..].iter();
            return others.fold(inputs[0], |one, &other| self.join(one, other));
        }
        let mut timestamp = inputs[0];
        for &other in &inputs[1.min(I - 1)..] {
            timestamp = self.push_merged(timestamp, other);
        }
        let start = self.chunks.len() - self.width;
        for (group, value) in marks {
            let slot = &mut self.chunks[start + group / CHUNK][group % CHUNK];
            *slot = narrow(value).max(*slot);
        }
        timestamp
    }

    /// Sets the timestamp of a clock; `timestamps` is the number of timestamps before the event.
    #[inline]
    fn set(&mut self, row: Row, after: u32, timestamps: u32) {
        let slot = &mut self.rows[row.0 as usize];
        let before = std::mem::replace(slot, after);
        if let Some(journal) = &mut self.journal {
            if before != after {
                journal.push(Change {
                    row: row.0,
                    before,
                    timestamps,
                });
            }
        }
    }
}

impl ThreadClocks for SharedClocks {
    fn row(&self, row: Row) -> Cow<'_, [u64]> {
        let values = self.timestamp(self.rows[row.0 as usize]).as_flattened();
        values.iter().map(|&value| value as u64).collect()
    }
}

impl Clocks for SharedClocks {
    fn add_rows(&mut self, count: u32) -> Row {
        let first = Row(u32::try_from(self.rows.len()).expect("fewer than 2^32 clocks"));
        self.rows.resize(self.rows.len() + count as usize, ZERO);
        first
    }

    fn reserve_groups(&mut self, count: usize) {
        let wanted = count.div_ceil(CHUNK);
        if wanted <= self.width {
            return;
        }
        let width = wanted.max(self.width + self.width / 2);
        self.count = self.count.max(1);
        let room = FIRST_EVENTS.max(self.count as usize) * width;
        let mut chunks = Vec::with_capacity(room);
        chunks.resize(self.count as usize * width, [0; CHUNK]);
        if self.width > 0 {
            let old = self.chunks.chunks_exact(self.width);
            for (new, old) in chunks.chunks_exact_mut(width).zip(old) {
                new[..self.width].copy_from_slice(old);
            }
        }
        self.width = width;
        self.chunks = chunks;
    }

    #[inline]
    fn get(&self, row: Row, group: usize) -> u64 {
        let number = self.rows[row.0 as usize] as usize;
        self.chunks[number * self.width + group / CHUNK][group % CHUNK] as u64
    }

    #[inline]
    fn step<const I: usize, const M: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        marks: [(usize, u64); M],
        outputs: [Row; O],
    ) {
        let before = self.count;
        let inputs = inputs.map(|row| self.rows[row.0 as usize]);
        let timestamp = self.timestamp_of(inputs, marks);
        for output in outputs {
            let old = self.rows[output.0 as usize];
            let new = match inputs.contains(&old) {
                true => timestamp,
                false => self.join(old, timestamp),
            };
            self.set(output, new, before);
        }
    }

    #[inline]
    fn overwrite<const I: usize, const M: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        marks: [(usize, u64); M],
        outputs: [Row; O],
    ) {
        let before = self.count;
        let inputs = inputs.map(|row| self.rows[row.0 as usize]);
        let timestamp = self.timestamp_of(inputs, marks);
        for output in outputs {
            self.set(output, timestamp, before);
        }
    }

    #[inline]
    fn step_raising<const I: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        mark: (usize, u64),
        outputs: [Row; O],
    ) {
        self.step(inputs, [mark], outputs);
    }

    #[inline]
    fn overwrite_raising<const I: usize, const O: usize>(
        &mut self,
        inputs: [Row; I],
        mark: (usize, u64),
        outputs: [Row; O],
    ) {
        self.overwrite(inputs, [mark], outputs);
    }

    #[inline]
    fn raise(&mut self, row: Row, group: usize, value: u64) {
        if self.get(row, group) < value {
            self.overwrite([row], [(group, value)], [row]);
        }
    }

    /// A merge that is not needed may add a timestamp.
    #[inline]
    fn merges_are_cheap(&self) -> bool {
        false
    }

    fn reset(&mut self) {
        self.rows.fill(ZERO);
        self.chunks.truncate(self.width);
        self.count = self.count.min(1);
        self.journal.iter_mut().for_each(Vec::clear);
    }

    fn memory(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, Vec::capacity);
        self.chunks.capacity() * size_of::<Chunk>()
            + self.rows.capacity() * size_of::<u32>()
            + journal * size_of::<Change>()
    }

    /// What is in the timestamps of new clocks is counted when they have it.
    fn memory_with(&self, rows: usize, groups: usize) -> usize {
        let width = groups.div_ceil(CHUNK).max(self.width);
        let timestamps = (self.count.max(1) as usize).saturating_mul(width);
        let timestamps = timestamps.saturating_mul(size_of::<Chunk>());
        let rows = rows.saturating_mul(size_of::<u32>());
        self.memory().max(timestamps.saturating_add(rows))
    }
}
