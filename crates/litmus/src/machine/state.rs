//! A state of the machine, and how it is stored.
//!
//! Section 3.1 of the paper: registers, a write buffer per processor, one memory. The lock is
//! not here, because a locked instruction is one step.

use crate::test::{CellId, Test};

use super::facts::Facts;

/// A buffered store, or a barrier between stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    cell: u32,
    pub(super) value: u64,
}

impl Entry {
    pub(super) const BARRIER: Entry = Entry {
        cell: u32::MAX,
        value: 0,
    };

    pub(super) fn store(cell: CellId, value: u64) -> Self {
        Entry {
            cell: cell.0,
            value,
        }
    }

    #[inline]
    pub(super) fn cell(self) -> Option<CellId> {
        (self != Entry::BARRIER).then_some(CellId(self.cell))
    }
}

/// A state. `clone_from` reuses what is there, so that a search allocates nothing once it is warm.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) positions: Vec<u32>,
    pub(super) registers: Vec<u64>,
    pub(super) memory: Vec<u64>,
    pub(super) buffers: Vec<Vec<Entry>>,
}

impl Clone for State {
    fn clone(&self) -> Self {
        State {
            positions: self.positions.clone(),
            registers: self.registers.clone(),
            memory: self.memory.clone(),
            buffers: self.buffers.clone(),
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.positions.clone_from(&source.positions);
        self.registers.clone_from(&source.registers);
        self.memory.clone_from(&source.memory);
        self.buffers.clone_from(&source.buffers);
    }
}

impl State {
    pub(super) fn initial(test: &Test) -> Self {
        let registers = test.threads.iter().flat_map(|thread| &thread.registers);
        State {
            positions: vec![0; test.threads.len()],
            registers: registers.map(|register| register.initial).collect(),
            memory: test
                .cells
                .iter()
                .map(|cell| cell.initial & cell.width.mask())
                .collect(),
            buffers: vec![Vec::new(); test.threads.len()],
        }
    }

    /// The newest buffered value of a cell.
    #[inline]
    pub(super) fn buffered(&self, thread: usize, cell: CellId) -> Option<u64> {
        let entry = self.buffers[thread]
            .iter()
            .rfind(|entry| entry.cell == cell.0)?;
        Some(entry.value)
    }

    /// Writes what distinguishes the state into `bytes`. Registers that do not matter any more are
    /// left out, so states that differ only in them are the same.
    pub(super) fn encode(&self, facts: &Facts, bytes: &mut Vec<u8>) {
        bytes.clear();
        for (thread, &position) in facts.threads.iter().zip(&self.positions) {
            write_number(bytes, u64::from(position));
            for &register in &thread.live[position as usize] {
                write_number(
                    bytes,
                    self.registers[thread.first_register + register as usize],
                );
            }
        }
        for &content in &self.memory {
            write_number(bytes, content);
        }
        for buffer in &self.buffers {
            write_number(bytes, buffer.len() as u64);
            for entry in buffer {
                write_number(bytes, u64::from(entry.cell.wrapping_add(1)));
                write_number(bytes, entry.value);
            }
        }
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub(super) fn decode(&mut self, facts: &Facts, mut bytes: &[u8]) {
        self.registers.clear();
        self.registers.resize(facts.register_count, 0);
        for (thread, position) in facts.threads.iter().zip(&mut self.positions) {
            *position = read_number(&mut bytes) as u32;
            for &register in &thread.live[*position as usize] {
                let value = read_number(&mut bytes);
                self.registers[thread.first_register + register as usize] = value;
            }
        }
        for content in &mut self.memory {
            *content = read_number(&mut bytes);
        }
        for buffer in &mut self.buffers {
            buffer.clear();
            for _ in 0..read_number(&mut bytes) {
                let cell = (read_number(&mut bytes) as u32).wrapping_sub(1);
                let value = read_number(&mut bytes);
                buffer.push(Entry { cell, value });
            }
        }
    }
}

/// Seven bits per byte, lowest first: nearly all numbers of a litmus test are one byte.
#[inline]
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[inline]
fn read_number(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    let mut shift = 0;
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    number
}
