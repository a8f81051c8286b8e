//! The latest accesses of an interleaving, in a compact ring: it is written with every event, and
//! the smaller it is, the more of the cache is left for the clocks.

use fencepost_memory::{Access, Address, LocationId, OperationKind, ThreadId};

/// An access without its value. Three words, of which the first has 3 bits of kind and 29 of
/// thread, and the last is 0 for no location.
#[derive(Clone, Copy, Debug)]
struct Packed([u32; 3]);

const KIND_BITS: u32 = 3;

impl Packed {
    #[inline]
    fn new(access: &Access) -> Self {
        let kind = access.operation.kind() as u32;
        debug_assert!(access.thread.0 < 1 << (32 - KIND_BITS));
        let address = access.operation.address().map_or(0, |a| a.0);
        let location = access.location.map_or(0, |l| l.index() as u32 + 1);
        Packed([access.thread.0 << KIND_BITS | kind, address, location])
    }

    fn unpack(self, value: Option<u64>) -> Access {
        let Packed([first, address, location]) = self;
        let kind = OperationKind::ALL[(first & ((1 << KIND_BITS) - 1)) as usize];
        Access {
            thread: ThreadId(first >> KIND_BITS),
            operation: kind.at(Address(address)),
            value,
            location: location.checked_sub(1).map(LocationId::from_index),
        }
    }
}

/// A ring of the latest accesses.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    ring: Vec<Packed>,
    /// As long as `ring` once an access had a value, else empty.
    values: Vec<Option<u64>>,
    capacity: usize,
    /// The index of the oldest access, once the ring is full.
    next: usize,
}

impl Recent {
    pub(crate) fn new(capacity: usize) -> Self {
        Recent {
            ring: Vec::new(),
            values: Vec::new(),
            capacity,
            next: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, access: &Access) {
        if self.capacity == 0 {
            return;
        }
        if access.value.is_some() && self.values.len() < self.ring.len() {
            self.values.resize(self.ring.len(), None);
        }
        let has_values = !self.values.is_empty() || access.value.is_some();
        if self.ring.len() < self.capacity {
            self.ring.push(Packed::new(access));
            if has_values {
                self.values.push(access.value);
            }
        } else {
            self.ring[self.next] = Packed::new(access);
            if has_values {
                self.values[self.next] = access.value;
            }
            self.next += 1;
            if self.next == self.capacity {
                self.next = 0;
            }
        }
    }

    /// The last `count` accesses, oldest first, if the ring has that many.
    pub(crate) fn last(&self, count: u64) -> Option<Vec<Access>> {
        let count = usize::try_from(count).ok()?;
        let skipped = self.ring.len().checked_sub(count)?;
        let indices = (self.next..self.ring.len()).chain(0..self.next);
        let unpack = |index: usize| {
            let value = self.values.get(index).copied().flatten();
            self.ring[index].unpack(value)
        };
        Some(indices.skip(skipped).map(unpack).collect())
    }

    pub(crate) fn reset(&mut self) {
        self.ring.clear();
        self.values.clear();
        self.next = 0;
    }

    pub(crate) fn memory(&self) -> usize {
        self.ring.capacity() * size_of::<Packed>()
            + self.values.capacity() * size_of::<Option<u64>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_memory::Random;

    #[test]
    fn the_ring_remembers_the_latest_accesses() {
        let mut random = Random::new(5);
        for capacity in [0, 1, 2, 7, 64] {
            let mut recent = Recent::new(capacity);
            let mut all = Vec::new();
            for step in 0..300_u64 {
                let kind = OperationKind::ALL[random.below(7) as usize];
                let address = Address(random.below(1 << 32) as u32);
                let mut access =
                    Access::new(ThreadId(random.below(1 << 20) as u32), kind.at(address));
                // Values and locations appear after a while.
                if step > 30 && random.below(2) == 0 {
                    access.value = Some(random.next_u64());
                    access.location = Some(LocationId::from_index(random.below(99) as u32));
                }
                recent.push(&access);
                all.push(access);
                let most = capacity.min(all.len());
                for count in 0..=most {
                    let last = recent.last(count as u64);
                    assert_eq!(last.as_deref(), Some(&all[all.len() - count..]));
                }
                assert_eq!(recent.last(most as u64 + 1), None);
            }
            recent.reset();
            assert_eq!(recent.last(1), None);
        }
    }
}
