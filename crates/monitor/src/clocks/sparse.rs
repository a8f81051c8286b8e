//! Clocks as sorted lists of blocks of groups.

use super::{Clocks, Row};
use crate::journal::{JournalMark, Rewind};

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

/// The changed rows with their old values.
#[derive(Clone, Debug, Default)]
struct SparseJournal {
    /// The row, and the number of its blocks.
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

    fn mark(&self) -> JournalMark {
        JournalMark(
            self.journal
                .as_ref()
                .map_or(0, |journal| journal.rows.len()),
        )
    }

    fn rewind(&mut self, mark: JournalMark) -> bool {
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
