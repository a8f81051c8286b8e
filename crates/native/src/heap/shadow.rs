//! One byte for each 8 bytes of heap, which says how many of them may be accessed, counted from the first.

use super::reserve::GRANULE;

/// All bytes may be accessed. Less is as many; 0 is between blocks, in freed ones and where nothing was allocated.
const WHOLE: u8 = GRANULE as u8;

/// The shadow of a heap, by offset from the heap's base.
#[derive(Debug)]
pub(super) struct Shadow {
    bytes: *mut u8,
    /// The bytes of heap that it describes.
    length: usize,
}

impl Shadow {
    /// # Safety
    /// `bytes` points to a byte for each of the `length / 8` granules, all of which can be read as long as this lives; what is
    /// written to was committed.
    pub(super) unsafe fn new(bytes: *mut u8, length: usize) -> Self {
        Shadow { bytes, length }
    }

    /// Whether an access within one granule is allowed; those across two are `false`.
    #[inline(always)]
    pub(super) fn allows_small(&self, offset: usize, size: usize) -> bool {
        debug_assert!(offset < self.length);
        // SAFETY: the offset is within the heap, by contract of this function.
        let usable = unsafe { *self.bytes.add(offset / GRANULE) };
        (offset % GRANULE).saturating_add(size) <= usable as usize
    }

    /// The first offset from `offset` up to `end` that may not be accessed.
    pub(super) fn first_bad(&self, offset: usize, end: usize) -> Option<usize> {
        let end_inside = end.min(self.length);
        let mut at = offset;
        while at < end_inside {
            let granule = at / GRANULE;
            if at.is_multiple_of(GRANULE * 8) && end_inside - at >= GRANULE * 8 {
                // SAFETY: the eight granules lie before `end_inside`, and the pointer is aligned as the offset is.
                let eight = unsafe { self.bytes.add(granule).cast::<u64>().read() };
                if eight == u64::from_ne_bytes([WHOLE; 8]) {
                    at += GRANULE * 8;
                    continue;
                }
            }
            // SAFETY: `at` is within the heap.
            let usable = unsafe { *self.bytes.add(granule) } as usize;
            let next = (granule + 1) * GRANULE;
            let stop = granule * GRANULE + usable;
            if stop < next.min(end_inside) {
                return Some(at.max(stop));
            }
            at = next;
        }
        // What runs off the end of all addresses of the heap is bad from there on.
        (end > self.length).then_some(self.length)
    }

    /// A block may be accessed from now on.
    pub(super) fn open(&mut self, offset: usize, size: usize) {
        self.fill(offset, size, WHOLE);
        if !size.is_multiple_of(GRANULE) {
            // SAFETY: the granule of the block's last bytes, which is committed.
            unsafe { *self.bytes.add((offset + size) / GRANULE) = (size % GRANULE) as u8 };
        }
    }

    /// Nothing may be accessed there any more, up to the end of the last granule.
    pub(super) fn close(&mut self, offset: usize, size: usize) {
        self.fill(offset, size.next_multiple_of(GRANULE), 0);
    }

    /// Sets the bytes of the granules that are wholly in the range.
    fn fill(&mut self, offset: usize, size: usize, value: u8) {
        debug_assert!(offset.is_multiple_of(GRANULE) && offset + size <= self.length);
        // SAFETY: the granules are in the committed part of the heap.
        unsafe {
            self.bytes
                .add(offset / GRANULE)
                .write_bytes(value, size / GRANULE)
        };
    }
}
