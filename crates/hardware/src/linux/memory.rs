//! Memory from the operating system.

use std::io;
use std::ptr;

const PAGE: usize = 4096;

/// Pages that are given back when it is dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    address: *mut u8,
    bytes: usize,
    /// All that is reserved, with guard pages.
    reserved: (*mut u8, usize),
}

impl Mapping {
    /// Zeroed memory that a child process shares.
    pub fn shared(bytes: usize) -> io::Result<Self> {
        Self::map(ptr::null_mut(), bytes, libc::MAP_SHARED)
    }

    /// Zeroed memory between pages that cannot be accessed, at this address.
    pub fn at(address: u64, bytes: usize) -> io::Result<Self> {
        let wanted = (address as usize - PAGE) as *mut u8;
        let mapping = Self::map(wanted, bytes, libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE)?;
        // An old kernel takes the address for a wish.
        match mapping.reserved.0 == wanted {
            true => Ok(mapping),
            false => Err(io::Error::from_raw_os_error(libc::EEXIST)),
        }
    }

    /// Code: written, and then no longer writable.
    pub fn code(code: &[u8]) -> io::Result<Self> {
        let mapping = Self::map(ptr::null_mut(), code.len(), libc::MAP_PRIVATE)?;
        // SAFETY: the mapping is writable, new, and at least as long as the code.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), mapping.address, code.len()) };
        mapping.protect(libc::PROT_READ | libc::PROT_EXEC)?;
        Ok(mapping)
    }

    fn map(wanted: *mut u8, bytes: usize, flags: i32) -> io::Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(PAGE);
        let all = bytes + 2 * PAGE;
        let flags = flags | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: it is a new mapping; with an address, the flag keeps it from replacing one.
        let found = unsafe { libc::mmap(wanted.cast(), all, libc::PROT_NONE, flags, -1, 0) };
        if found == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = Mapping {
            address: found.cast::<u8>().wrapping_add(PAGE),
            bytes,
            reserved: (found.cast(), all),
        };
        mapping.protect(libc::PROT_READ | libc::PROT_WRITE)?;
        Ok(mapping)
    }

    fn protect(&self, protection: i32) -> io::Result<()> {
        // SAFETY: these are pages of this mapping.
        match unsafe { libc::mprotect(self.address.cast(), self.bytes, protection) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        self.address
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nobody keeps a pointer into a mapping that he does not own.
        unsafe { libc::munmap(self.reserved.0.cast(), self.reserved.1) };
    }
}
