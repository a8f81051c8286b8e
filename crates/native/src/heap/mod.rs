//! The heap of the checked program.
//!
//! One range of addresses is divided into a region for each *owner*: 0 for what is allocated before `main`, then one for each
//! thread. Within its region an owner's blocks follow one another, and no address is given out twice in an execution. So the
//! addresses that a thread gets depend on nothing but its own allocations, a freed block is known for one, and what was
//! allocated in an execution is forgotten by setting the regions' ends back.
#![allow(unsafe_code)] // It hands out memory, and reads and writes it by address.

mod info;
mod leaks;
mod region;
mod reserve;
mod shadow;

use std::ptr;

pub use info::{
    AllocationError, BadAccess, BadFree, BlockInfo, Freed, HeapPosition, Leak, ReallocationError,
};
pub use reserve::{Layout, ReserveError};

use crate::pages::put_back;
use region::{Block, Region};
use reserve::Reservation;
use shadow::Shadow;

/// What new memory holds, unless it is to be zero.
const PATTERN: u8 = 0xa5;
/// Blocks of this size and more are zero: they are new pages, as they are in the C library. Filling them would take longer
/// than most executions.
const LARGE: usize = 1 << 20;
/// If an owner used more in an execution, the pages are given back.
const KEPT: usize = 64 << 20;

/// The heap. Used from one thread of the system at a time, as `&mut self` says.
#[derive(Debug)]
pub struct Heap {
    base: usize,
    length: usize,
    shadow: Shadow,
    region_length: usize,
    limit: usize,
    /// Bytes that were allocated since the execution began, with the redzones.
    used: usize,
    regions: Vec<Region>,
    /// Owners whose regions hold more than at the beginning of `main`.
    grown: Vec<u32>,
    /// Initial blocks, as owner and index, that were freed since.
    freed_initial: Vec<(u32, usize)>,
    /// Owners with initial blocks, and the contents of these.
    initial: Vec<(u32, Vec<u8>)>,
    marks: leaks::Marks,
    // Last, so that the mappings outlive what points into them.
    reservation: Reservation,
}

impl Heap {
    /// Reserves the addresses.
    pub fn new(layout: Layout) -> Result<Self, ReserveError> {
        let reservation = Reservation::new(&layout)?;
        // SAFETY: the shadow has a readable byte for each granule of the reservation, which lives as long as `Heap`;
        // `allocate` commits what it opens.
        let shadow = unsafe { Shadow::new(reservation.shadow, reservation.length) };
        let region = |owner: u32| {
            Region::new(
                reservation.base + owner as usize * layout.region,
                layout.region,
            )
        };
        Ok(Heap {
            base: reservation.base,
            length: reservation.length,
            shadow,
            region_length: layout.region,
            limit: layout.limit,
            used: 0,
            regions: (0..layout.owners).map(region).collect(),
            grown: Vec::new(),
            freed_initial: Vec::new(),
            initial: Vec::new(),
            marks: leaks::Marks::default(),
            reservation,
        })
    }

    /// The first address of the range, and how long it is.
    pub fn range(&self) -> (usize, usize) {
        (self.base, self.length)
    }

    /// Whether an address is in the range.
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.length
    }

    /// How many bytes were allocated since the execution began, redzones and freed blocks included.
    pub fn used(&self) -> usize {
        self.used
    }

    /// How many blocks an owner has allocated, freed ones included.
    pub fn blocks_of(&self, owner: u32) -> usize {
        self.regions
            .get(owner as usize)
            .map_or(0, |region| region.blocks.len())
    }

    /// A new block of `size` bytes at a multiple of `align`, and of 16. It is zero if it is to be or if it is large, and
    /// otherwise filled with a pattern.
    pub fn allocate(
        &mut self,
        owner: u32,
        size: usize,
        align: usize,
        zeroed: bool,
        pc: usize,
    ) -> Result<usize, AllocationError> {
        if !align.is_power_of_two() {
            return Err(AllocationError::Alignment(align));
        }
        let owners = self.regions.len() as u32;
        let Some(region) = self.regions.get_mut(owner as usize) else {
            return Err(AllocationError::Owner { owner, owners });
        };
        let placed = region
            .place(size, align.max(16))
            .ok_or(AllocationError::Region { requested: size });
        let (start, cursor) = match placed {
            Err(_) if size > self.limit => {
                return Err(AllocationError::Limit {
                    requested: size,
                    used: self.used,
                    limit: self.limit,
                });
            }
            placed => placed?,
        };
        let before = region.cursor;
        let used = self.used + (cursor - before);
        if used > self.limit {
            return Err(AllocationError::Limit {
                requested: size,
                used: self.used,
                limit: self.limit,
            });
        }
        if cursor > region.committed {
            let offset = |address: usize| address - self.base;
            let (from, to) = (offset(region.committed), offset(cursor));
            let committed =
                self.reservation
                    .commit(offset(region.start), from, to, offset(region.end));
            let committed = committed.map_err(|e| AllocationError::System {
                code: e.raw_os_error().unwrap_or(0),
            })?;
            region.committed = self.base + committed;
        }
        self.used = used;
        if !region.is_used {
            region.is_used = true;
            self.grown.push(owner);
        }
        region.cursor = cursor;
        region.blocks.push(Block::new(start, size, pc));
        self.shadow.open(start - self.base, size);
        self.fill(before, start, cursor, size, zeroed);
        Ok(start)
    }

    /// Sets the contents of a new block from `start` on and of what surrounds it, so that they do not depend on earlier executions.
    fn fill(&self, before: usize, start: usize, cursor: usize, size: usize, zeroed: bool) {
        let set = |from: usize, to: usize, value: u8| {
            // SAFETY: the range lies between the region's old and new end, which is committed, and nothing borrows it.
            unsafe { ptr::write_bytes(from as *mut u8, value, to - from) };
        };
        if size >= LARGE {
            self.reservation.discard(before, cursor - before);
        } else if zeroed {
            set(before, start, PATTERN);
            set(start, start + size, 0);
            set(start + size, cursor, PATTERN);
        } else {
            set(before, cursor, PATTERN);
        }
    }

    /// A new block with the contents of another one, as far as they fit; the other one is freed. It is never the same block, so
    /// that pointers to the old one are known for wrong. A null pointer is not a block: callers allocate then.
    pub fn reallocate(
        &mut self,
        owner: u32,
        pointer: usize,
        size: usize,
        pc: usize,
    ) -> Result<usize, ReallocationError> {
        let (of, index) = self.live(pointer)?;
        let old = self.regions[of].blocks[index].size;
        let new = self.allocate(owner, size, 16, false, pc)?;
        // SAFETY: both blocks are live, and blocks do not overlap.
        unsafe { ptr::copy_nonoverlapping(pointer as *const u8, new as *mut u8, old.min(size)) };
        self.free(of, index, owner, pc);
        Ok(new)
    }

    /// Frees the block that begins at an address; the block as it was before.
    pub fn release(&mut self, owner: u32, pointer: usize, pc: usize) -> Result<BlockInfo, BadFree> {
        let (of, index) = self.live(pointer)?;
        let block = self.regions[of]
            .nearest(pointer, of as u32)
            .ok_or(BadFree::NotStart(None))?;
        self.free(of, index, owner, pc);
        Ok(block)
    }

    /// The size of the live block that begins at an address, as it was asked for.
    pub fn usable_size(&self, pointer: usize) -> Option<usize> {
        self.live(pointer)
            .ok()
            .map(|(owner, index)| self.regions[owner].blocks[index].size)
    }

    /// The block that an address is in, or the nearest one of the same owner.
    pub fn block_at(&self, address: usize) -> Option<BlockInfo> {
        let owner = self.owner_of(address)?;
        self.regions[owner].nearest(address, owner as u32)
    }

    /// Whether all bytes of an access are in an allocated block, or outside of the heap.
    #[inline(always)]
    pub fn check(&self, address: usize, size: usize) -> Result<(), BadAccess> {
        let offset = address.wrapping_sub(self.base);
        if offset >= self.length || self.shadow.allows_small(offset, size) {
            return Ok(());
        }
        self.check_slowly(address, size)
    }

    /// An access that spans granules, or that is wrong.
    #[cold]
    #[inline(never)]
    fn check_slowly(&self, address: usize, size: usize) -> Result<(), BadAccess> {
        let offset = address - self.base;
        match self.shadow.first_bad(offset, offset.saturating_add(size)) {
            None => Ok(()),
            Some(bad) => {
                let address = self.base + bad;
                Err(BadAccess {
                    address,
                    block: self.block_at(address.min(self.base + self.length - 1)),
                })
            }
        }
    }

    /// `main` begins: what is allocated is the heap with which every execution begins.
    pub fn seal(&mut self) {
        self.initial.clear();
        self.freed_initial.clear();
        self.grown.clear();
        self.used = 0;
        for (owner, region) in self.regions.iter_mut().enumerate() {
            region.is_used = false;
            region.initial_blocks = region.blocks.len();
            region.initial_cursor = region.cursor;
            if region.cursor > region.start {
                let length = region.cursor - region.start;
                // SAFETY: all before the cursor is committed, and nothing writes to it now.
                let contents =
                    unsafe { std::slice::from_raw_parts(region.start as *const u8, length) };
                self.initial.push((owner as u32, contents.to_vec()));
            }
        }
        // Those that were freed before stay so, and are not freed again.
    }

    /// Puts the heap back as it was when `main` began.
    pub fn begin_execution(&mut self) {
        self.used = 0;
        for owner in self.grown.drain(..) {
            let region = &mut self.regions[owner as usize];
            let (from, to) = (region.initial_cursor, region.cursor);
            self.shadow.close(from - self.base, to - from);
            if to - from > KEPT {
                self.reservation.discard(from, to - from);
            }
            region.blocks.truncate(region.initial_blocks);
            region.cursor = from;
            region.is_used = false;
        }
        for (owner, index) in self.freed_initial.drain(..) {
            let block = &mut self.regions[owner as usize].blocks[index];
            block.revive();
            self.shadow.open(block.start - self.base, block.size);
        }
        for (owner, contents) in &self.initial {
            // SAFETY: the memory was committed when the contents were saved; what is in it is the checked program's, which does
            // not run.
            unsafe { put_back(self.regions[*owner as usize].start, contents) };
        }
    }

    fn owner_of(&self, address: usize) -> Option<usize> {
        self.contains(address)
            .then(|| (address - self.base) / self.region_length)
    }

    /// Owner and index of the live block that begins at an address.
    fn live(&self, pointer: usize) -> Result<(usize, usize), BadFree> {
        let owner = self.owner_of(pointer).ok_or(BadFree::NotOurs)?;
        let region = &self.regions[owner];
        let nearest = || region.nearest(pointer, owner as u32);
        let index = region
            .index_at(pointer)
            .ok_or_else(|| BadFree::NotStart(nearest()))?;
        if region.blocks[index].is_live() {
            return Ok((owner, index));
        }
        Err(nearest().map_or(BadFree::NotStart(None), BadFree::Twice))
    }

    fn free(&mut self, of: usize, index: usize, by: u32, pc: usize) {
        let region = &mut self.regions[of];
        let block = &mut region.blocks[index];
        block.free(by, pc);
        self.shadow.close(block.start - self.base, block.size);
        if index < region.initial_blocks {
            self.freed_initial.push((of as u32, index));
        }
    }
}

#[cfg(test)]
mod tests;
