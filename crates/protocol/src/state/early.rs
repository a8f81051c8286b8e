//! Prefetching of hash-table entries.

#![allow(unsafe_code)] // The prefetch instruction takes any address.

use std::sync::atomic::AtomicU64;

/// Prefetches the cache line of an address. It is only a hint: any address is allowed.
pub(crate) fn ask_for(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = std::ptr::without_provenance::<i8>(address);
        // SAFETY: prefetching never faults, whatever the address, and changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The address of the hash table when it was last used. The table may have moved since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefetcher {
    start: usize,
    shift: u32,
}

impl Prefetcher {
    /// Those of a table whose entries are found by this shift of a hash.
    pub fn new(table: &[AtomicU64], shift: u32) -> Prefetcher {
        Prefetcher {
            start: table.as_ptr().addr(),
            shift,
        }
    }

    /// Prefetches the entry of a hash.
    pub fn ask_for(self, hash: u64) {
        let place = 8 * (hash >> self.shift) as usize;
        ask_for(self.start.wrapping_add(place));
    }
}
