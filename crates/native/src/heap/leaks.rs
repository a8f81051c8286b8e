//! Blocks that are still allocated at the end of an execution, and those of them that no pointer leads to.

use super::{Heap, Leak};

/// What the search for pointers has seen; kept, so that it allocates nothing when it is done again.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// For each owner and block, whether a pointer leads to it.
    seen: Vec<Vec<bool>>,
    /// Blocks whose contents are still to be searched.
    open: Vec<(usize, usize)>,
}

impl Heap {
    /// The blocks that were allocated since `main` began and are not freed, by owner, in the order of allocation.
    pub fn leaks(&self) -> impl Iterator<Item = Leak> + '_ {
        self.regions
            .iter()
            .enumerate()
            .filter(|(_, region)| region.is_used)
            .flat_map(|(owner, region)| {
                let since = region.blocks.iter().enumerate().skip(region.initial_blocks);
                since
                    .filter(|(_, block)| block.is_live())
                    .map(move |(ordinal, block)| Leak {
                        start: block.start,
                        size: block.size,
                        owner: owner as u32,
                        ordinal,
                        pc: block.pc,
                    })
            })
    }

    /// Those of [`leaks`](Self::leaks) that no pointer leads to: neither from the ranges given, nor from a block that is
    /// reached, nor from the blocks of before `main`. As in LeakSanitizer, any aligned word whose value is an address
    /// within a block is a pointer to it, so that a leak may be missed but none is invented.
    ///
    /// # Safety
    /// The ranges, of which the first address is in and the second is not, can be read.
    pub unsafe fn unreachable(
        &mut self,
        roots: impl Iterator<Item = (usize, usize)>,
    ) -> impl Iterator<Item = Leak> + '_ {
        let mut marks = std::mem::take(&mut self.marks);
        marks.seen.resize_with(self.regions.len(), Vec::new);
        for (owner, region) in self.regions.iter().enumerate() {
            let seen = &mut marks.seen[owner];
            seen.clear();
            seen.resize(region.blocks.len(), false);
            for index in 0..region.initial_blocks {
                if region.blocks[index].is_live() {
                    seen[index] = true;
                    marks.open.push((owner, index));
                }
            }
        }
        for (start, end) in roots {
            // SAFETY: by contract.
            unsafe { self.follow(start, end, &mut marks) };
        }
        while let Some((owner, index)) = marks.open.pop() {
            let block = &self.regions[owner].blocks[index];
            // SAFETY: the block is live, and so committed.
            unsafe { self.follow(block.start, block.start + block.size, &mut marks) };
        }
        self.marks = marks;
        self.leaks()
            .filter(|leak| !self.marks.seen[leak.owner as usize][leak.ordinal])
    }

    /// Marks the blocks that the words of a range point to.
    ///
    /// # Safety
    /// The range can be read.
    unsafe fn follow(&self, start: usize, end: usize, marks: &mut Marks) {
        const WORD: usize = size_of::<usize>();
        let first = start.next_multiple_of(WORD);
        for at in (first..end.saturating_sub(WORD - 1)).step_by(WORD) {
            // SAFETY: by contract; the address is aligned. Another thread of the system does not run, but the compiler is
            // not to assume anything of what the program keeps there.
            let word = unsafe { (at as *const usize).read_volatile() };
            let Some(owner) = self.owner_of(word) else {
                continue;
            };
            let region = &self.regions[owner];
            let Some(index) = region.index_before(word) else {
                continue;
            };
            let block = &region.blocks[index];
            let is_inside = word - block.start < block.size.max(1);
            if is_inside && block.is_live() && !marks.seen[owner][index] {
                marks.seen[owner][index] = true;
                marks.open.push((owner, index));
            }
        }
    }
}
