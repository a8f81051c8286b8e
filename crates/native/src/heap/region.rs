//! The blocks of one owner, in the order in which they were allocated, which is that of their addresses.

use super::{BlockInfo, Freed, HeapPosition};

/// At least this many bytes lie between two blocks.
pub(super) const REDZONE: usize = 16;
const NOT_FREED: u32 = u32::MAX;

/// A block as it is stored.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) pc: usize,
    freed_pc: usize,
    freed_by: u32,
}

impl Block {
    pub(super) fn new(start: usize, size: usize, pc: usize) -> Self {
        Block {
            start,
            size,
            pc,
            freed_pc: 0,
            freed_by: NOT_FREED,
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.freed_by == NOT_FREED
    }

    pub(super) fn free(&mut self, by: u32, pc: usize) {
        (self.freed_by, self.freed_pc) = (by, pc);
    }

    pub(super) fn revive(&mut self) {
        (self.freed_by, self.freed_pc) = (NOT_FREED, 0);
    }

    fn freed(&self) -> Option<Freed> {
        (!self.is_live()).then_some(Freed {
            owner: self.freed_by,
            pc: self.freed_pc,
        })
    }
}

/// Addresses of one owner: `start` up to `end`, of which those before `cursor` are taken and those before `committed` usable.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) cursor: usize,
    pub(super) committed: usize,
    pub(super) blocks: Vec<Block>,
    /// How many of `blocks` there were when `main` began, and where `cursor` was.
    pub(super) initial_blocks: usize,
    pub(super) initial_cursor: usize,
    /// Whether this region is among those that were used since the execution began.
    pub(super) is_used: bool,
}

impl Region {
    pub(super) fn new(start: usize, length: usize) -> Self {
        Region {
            start,
            end: start + length,
            cursor: start,
            committed: start,
            blocks: Vec::new(),
            initial_blocks: 0,
            initial_cursor: start,
            is_used: false,
        }
    }

    /// Where a block would begin, and what `cursor` would be after it, with space for a redzone on both sides.
    pub(super) fn place(&self, size: usize, align: usize) -> Option<(usize, usize)> {
        // Long blocks are overrun by longer steps.
        let redzone = (size / 8).clamp(REDZONE, 1024).next_multiple_of(REDZONE);
        let start = self
            .cursor
            .checked_add(REDZONE)?
            .checked_next_multiple_of(align)?;
        let end = start
            .checked_add(size)?
            .checked_next_multiple_of(REDZONE)?
            .checked_add(redzone)?;
        (end <= self.end).then_some((start, end))
    }

    /// The last block that begins at or before an address.
    pub(super) fn index_before(&self, address: usize) -> Option<usize> {
        match self.blocks.last() {
            // Most of what is freed was allocated just before.
            Some(last) if last.start <= address => Some(self.blocks.len() - 1),
            _ => self
                .blocks
                .partition_point(|block| block.start <= address)
                .checked_sub(1),
        }
    }

    /// The block that begins at an address.
    pub(super) fn index_at(&self, address: usize) -> Option<usize> {
        self.index_before(address)
            .filter(|&index| self.blocks[index].start == address)
    }

    /// The block that an address is in, or else the nearest one.
    pub(super) fn nearest(&self, address: usize, owner: u32) -> Option<BlockInfo> {
        let info = |index: usize, place| {
            let block = &self.blocks[index];
            BlockInfo {
                start: block.start,
                size: block.size,
                owner,
                ordinal: index,
                pc: block.pc,
                freed: block.freed(),
                is_initial: index < self.initial_blocks,
                place,
            }
        };
        let before = self.index_before(address);
        let next = before.map_or(0, |index| index + 1);
        let behind = |index: usize| {
            let block = &self.blocks[index];
            // A block of no bytes is at its address all the same.
            (address - block.start).checked_sub(block.size.max(1))
        };
        match (before, self.blocks.get(next)) {
            (Some(index), following) => match (behind(index), following) {
                (None, _) => Some(info(
                    index,
                    HeapPosition::Inside(address - self.blocks[index].start),
                )),
                (Some(past), Some(following)) if following.start - address < past => {
                    Some(info(next, HeapPosition::Before(following.start - address)))
                }
                _ => Some(info(
                    index,
                    HeapPosition::Behind(
                        address - self.blocks[index].start - self.blocks[index].size,
                    ),
                )),
            },
            (None, Some(following)) => {
                Some(info(next, HeapPosition::Before(following.start - address)))
            }
            (None, None) => None,
        }
    }
}
