//! Memory that is used again in the next execution: for what belongs to a thread and to who joins it.
//!
//! Every spawn needs some, and executions spawn the same threads again and again. All blocks have one size, so that
//! any of them will do for what fits.
#![allow(unsafe_code)] // Memory without a type.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::operation::Current;

/// Of a block. Few results of threads need more.
const BLOCK: Layout = match Layout::from_size_align(192, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("that is a size and an alignment"),
};

/// Blocks that nobody uses.
#[derive(Default)]
pub(crate) struct Blocks {
    free: Vec<NonNull<u8>>,
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for block in self.free.drain(..) {
            // SAFETY: all of them came from `allocate` with this layout, and nobody uses them.
            unsafe { dealloc(block.as_ptr(), BLOCK) };
        }
    }
}

/// Whether a value of a type fits into a block.
const fn fits<T>() -> bool {
    size_of::<T>() <= BLOCK.size() && align_of::<T>() <= BLOCK.align()
}

/// What a value of a type is put in.
const fn layout_for<T>() -> Layout {
    match fits::<T>() {
        true => BLOCK,
        false => Layout::new::<T>(),
    }
}

#[cold]
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: the size is not 0: it is that of a block, or what does not fit into one.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

impl Current {
    /// Puts a value where it stays, until it is handed to [`free`].
    #[inline]
    pub fn place<T>(self, value: T) -> NonNull<T> {
        let block = match fits::<T>() {
            true => self.with(|execution| execution.blocks.free.pop()),
            false => None,
        };
        let place = block.unwrap_or_else(|| allocate(layout_for::<T>()));
        let place = place.cast::<T>();
        // SAFETY: it is large enough and aligned, and nobody else has it.
        unsafe { place.write(value) };
        place
    }
}

/// Drops a value that was placed, and frees its memory.
///
/// # Safety
/// It came from [`Current::place`], of this execution or another, and nobody uses it any more.
#[inline]
pub unsafe fn free<T>(place: NonNull<T>) {
    // SAFETY: the caller's promise: the value is there, and it is dropped once.
    unsafe { place.drop_in_place() };
    match Current::get() {
        Some(current) if fits::<T>() => {
            current.with(|execution| execution.blocks.free.push(place.cast()));
        }
        // SAFETY: it was allocated with this layout.
        _ => unsafe { dealloc(place.as_ptr().cast(), layout_for::<T>()) },
    }
}
