//! The memory that a test and its harness use: results, start times, states of loops, cells.

use std::io;

use fencepost_litmus::code::Width;

use super::memory::Mapping;
use crate::geometry::Geometry;

/// The memory of a test. Every access is checked to be in it.
#[derive(Debug)]
pub(super) struct Arena {
    harness: Mapping,
    /// Cells at the addresses of the test, if they must be there.
    cells: Option<Mapping>,
}

impl Arena {
    pub fn new(geometry: &Geometry) -> io::Result<Self> {
        let harness = Mapping::at(geometry.base, geometry.bytes as usize)?;
        let cells = match geometry.fixed_range() {
            Some((first, last)) if geometry.is_fixed => {
                Some(Mapping::at(first, (last - first) as usize)?)
            }
            _ => None,
        };
        Ok(Arena { harness, cells })
    }

    fn pointer(&self, address: u64, width: Width) -> *mut u8 {
        let bytes = width.bytes();
        let lies_in = |mapping: &Mapping| {
            let start = mapping.start() as u64;
            address >= start && address + bytes <= start + mapping.len() as u64
        };
        assert!(
            lies_in(&self.harness) || self.cells.as_ref().is_some_and(lies_in),
            "{address:#x} is not in the arena"
        );
        assert!(address.is_multiple_of(bytes), "{address:#x} is not aligned");
        address as *mut u8
    }

    /// Reads as much as the width says.
    #[inline]
    pub fn read(&self, width: Width, address: u64) -> u64 {
        let pointer = self.pointer(address, width);
        // SAFETY: the pointer is aligned and in memory of this value, which code of the test writes
        // too: so the access is volatile, and what it reads is any number.
        unsafe {
            match width {
                Width::Byte => u64::from(pointer.read_volatile()),
                Width::Word => u64::from(pointer.cast::<u16>().read_volatile()),
                Width::Long => u64::from(pointer.cast::<u32>().read_volatile()),
                Width::Quad => pointer.cast::<u64>().read_volatile(),
            }
        }
    }

    /// Writes as much as the width says.
    #[inline]
    pub fn write(&self, width: Width, address: u64, value: u64) {
        let pointer = self.pointer(address, width);
        // SAFETY: as above; there are no references to this memory.
        unsafe {
            match width {
                Width::Byte => pointer.write_volatile(value as u8),
                Width::Word => pointer.cast::<u16>().write_volatile(value as u16),
                Width::Long => pointer.cast::<u32>().write_volatile(value as u32),
                Width::Quad => pointer.cast::<u64>().write_volatile(value),
            }
        }
    }

    /// Puts a line out of all caches.
    pub fn flush(&self, address: u64) {
        let pointer = self.pointer(address, Width::Byte);
        // SAFETY: every x86-64 processor has the instruction, and the address is mapped.
        unsafe { std::arch::x86_64::_mm_clflush(pointer) };
    }
}
