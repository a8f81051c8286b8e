//! Memory that is put back as it was.
#![allow(unsafe_code)] // It is the checked program's memory, which nothing borrows.

use std::{ptr, slice};

/// The size of a page of memory on x86-64.
pub(crate) const PAGE: usize = 4096;
/// Up to here a copy is faster than looking for what has changed.
const COPIED: usize = 256 << 10;

/// Makes the bytes from `address` on equal to `saved`. Of much memory only the pages that differ are written.
///
/// # Safety
/// The bytes can be read and written, and nothing borrows them.
pub(crate) unsafe fn put_back(address: usize, saved: &[u8]) {
    if saved.len() <= COPIED {
        // SAFETY: by contract; `saved` is memory of our own.
        unsafe { ptr::copy_nonoverlapping(saved.as_ptr(), address as *mut u8, saved.len()) };
        return;
    }
    let mut at = address;
    // The first piece ends with the first page.
    let (head, rest) = saved.split_at((address.next_multiple_of(PAGE) - address).min(saved.len()));
    for piece in std::iter::once(head).chain(rest.chunks(PAGE)) {
        // SAFETY: the pieces lie one after the other within the bytes of the contract.
        unsafe {
            if slice::from_raw_parts(at as *const u8, piece.len()) != piece {
                ptr::copy_nonoverlapping(piece.as_ptr(), at as *mut u8, piece.len());
            }
        }
        at += piece.len();
    }
}
