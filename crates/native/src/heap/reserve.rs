//! The reserved addresses of the heap and its shadow. Nothing of them takes memory until it is committed.

use std::io;
use std::ptr;

use thiserror::Error;

/// Bytes of heap that one byte of shadow stands for.
pub(super) const GRANULE: usize = 8;
/// What is committed at once, so that small programs need one call: a page of shadow per this many bytes of heap at least.
const CHUNK: usize = 256 << 10;

/// Where the heap lies, and how it is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The address that is tried first. Every process that finds it free has the same addresses.
    pub base: usize,
    /// How many owners there can be.
    pub owners: u32,
    /// The bytes of addresses of each owner, a multiple of 256 KiB.
    pub region: usize,
    /// The most bytes that an execution may allocate, what was freed and the space between blocks included.
    pub limit: usize,
}

impl Default for Layout {
    fn default() -> Self {
        // Executables lie from 0x5555_0000_0000 on, libraries and stacks below 0x7fff_ffff_ffff.
        Layout {
            base: 0x1000_0000_0000,
            owners: 256,
            region: 4 << 30,
            limit: 1 << 30,
        }
    }
}

/// Why there is no heap.
#[derive(Debug, Error)]
pub enum ReserveError {
    /// The numbers of the layout do not fit together.
    #[error("the heap cannot have {owners} regions of {region} bytes at {base:#x}")]
    Layout {
        /// [`Layout::base`].
        base: usize,
        /// [`Layout::owners`].
        owners: u32,
        /// [`Layout::region`].
        region: usize,
    },
    /// The system refuses the addresses.
    #[error(
        "{bytes} bytes of addresses cannot be reserved for the program's heap ({source}); is there a limit (ulimit -v)?"
    )]
    Refused {
        /// How many were asked for.
        bytes: usize,
        /// What the system says.
        source: io::Error,
    },
}

/// The mappings. Both are reserved as a whole; the shadow can be read everywhere, and is 0 where nothing was committed.
#[derive(Debug)]
pub(super) struct Reservation {
    pub(super) base: usize,
    pub(super) length: usize,
    pub(super) shadow: *mut u8,
}

impl Reservation {
    pub(super) fn new(layout: &Layout) -> Result<Self, ReserveError> {
        let wrong = || ReserveError::Layout {
            base: layout.base,
            owners: layout.owners,
            region: layout.region,
        };
        let length = layout
            .region
            .checked_mul(layout.owners as usize)
            .ok_or_else(wrong)?;
        let fits =
            length > 0 && layout.region.is_multiple_of(CHUNK) && layout.base.is_multiple_of(CHUNK);
        if !fits || layout.base == 0 || layout.base.checked_add(length).is_none() {
            return Err(wrong());
        }
        let refused = |bytes, source| ReserveError::Refused { bytes, source };
        let base = reserve_near(layout.base, length).map_err(|source| refused(length, source))?;
        let shadow = map(0, length / GRANULE, libc::PROT_READ, 0);
        let shadow = shadow.map_err(|source| {
            unmap(base, length);
            refused(length / GRANULE, source)
        })?;
        Ok(Reservation {
            base,
            length,
            shadow: shadow as *mut u8,
        })
    }

    /// Makes a region that begins at offset `start` and is usable up to `from` usable up to `to` at least, and `end` at most;
    /// how far it then is.
    pub(super) fn commit(
        &self,
        start: usize,
        from: usize,
        to: usize,
        end: usize,
    ) -> Result<usize, io::Error> {
        // Twice as much each time, so that the number of calls is small.
        let to = to
            .max(from + (from - start))
            .next_multiple_of(CHUNK)
            .min(end);
        make_writable(self.base + from, to - from)?;
        make_writable(self.shadow as usize + from / GRANULE, (to - from) / GRANULE)?;
        Ok(to)
    }

    /// Gives the pages that lie wholly in a committed range back; they are zero then.
    pub(super) fn discard(&self, start: usize, length: usize) {
        debug_assert!(start >= self.base && start + length <= self.base + self.length);
        let (first, end) = (start.next_multiple_of(4096), (start + length) & !4095);
        let mut done = false;
        if first < end {
            // SAFETY: the pages are this heap's own, and hold nothing but what the checked program keeps there.
            done = unsafe { libc::madvise(first as *mut _, end - first, libc::MADV_DONTNEED) } == 0;
        }
        let rest = if done {
            [(start, first), (end, start + length)]
        } else {
            [(start, start + length), (0, 0)]
        };
        for (from, to) in rest.into_iter().filter(|(from, to)| from < to) {
            // SAFETY: as above; the range is committed.
            unsafe { ptr::write_bytes(from as *mut u8, 0, to - from) };
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        unmap(self.base, self.length);
        unmap(self.shadow as usize, self.length / GRANULE);
    }
}

/// The first free place of `base`, and then of as many after it: two processes of the same program find the same one.
fn reserve_near(base: usize, length: usize) -> io::Result<usize> {
    const TRIES: usize = 16;
    const STEP: usize = 1 << 40;
    let mut refusal = io::Error::from_raw_os_error(libc::ENOMEM);
    for attempt in 0..TRIES {
        let Some(address) = length
            .max(STEP)
            .checked_mul(attempt)
            .and_then(|offset| base.checked_add(offset))
        else {
            break;
        };
        match map(address, length, libc::PROT_NONE, libc::MAP_FIXED_NOREPLACE) {
            Ok(found) if found == address => return Ok(found),
            // A kernel before 4.17 takes the address for a hint.
            Ok(elsewhere) => unmap(elsewhere, length),
            Err(error) => {
                let taken = error.raw_os_error() == Some(libc::EEXIST);
                refusal = error;
                if !taken {
                    break;
                }
            }
        }
    }
    Err(refusal)
}

fn map(address: usize, length: usize, protection: i32, flags: i32) -> io::Result<usize> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, which replaces none: the address is a hint, or `MAP_FIXED_NOREPLACE` is among the flags.
    let found = unsafe { libc::mmap(address as *mut _, length, protection, flags, -1, 0) };
    if found == libc::MAP_FAILED {
        Err(io::Error::last_os_error())
    } else {
        Ok(found as usize)
    }
}

fn unmap(address: usize, length: usize) {
    // SAFETY: the range was mapped by `map`, and is not used any more.
    unsafe { libc::munmap(address as *mut _, length) };
}

fn make_writable(address: usize, length: usize) -> io::Result<()> {
    // SAFETY: the range is part of a mapping of this heap.
    let result = unsafe {
        libc::mprotect(
            address as *mut _,
            length,
            libc::PROT_READ | libc::PROT_WRITE,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
