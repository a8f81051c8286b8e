//! Blocks of memory that the next execution reuses, for what a thread and its joiner share.
//!
//! Every spawn needs one, and executions spawn the same threads again and again. All blocks have
//! one size, so that any of them will do for a value that fits.
#![allow(unsafe_code)] // Memory without a type.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;

use fencepost_memory::ThreadId;

use super::coroutine::reserve_stack;
use super::object::Object;
use super::operation::Current;

/// The layout of a block. Few results of threads need more.
const BLOCK: Layout = match Layout::from_size_align(192, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("that is a size and an alignment"),
};

/// The free blocks.
#[derive(Default)]
pub(crate) struct Blocks {
    free: Vec<NonNull<u8>>,
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for block in self.free.drain(..) {
            // SAFETY: all of them came from `allocate` with this layout, and `free` gave them back.
            unsafe { dealloc(block.as_ptr(), BLOCK) };
        }
    }
}

/// Whether a value of a type fits into a block.
const fn fits<T>() -> bool {
    size_of::<T>() <= BLOCK.size() && align_of::<T>() <= BLOCK.align()
}

/// The layout of the memory that a value of a type is put in.
const fn layout_for<T>() -> Layout {
    match fits::<T>() {
        true => BLOCK,
        false => Layout::new::<T>(),
    }
}

#[cold]
fn allocate(layout: Layout) -> NonNull<u8> {
    reserve_stack();
    // SAFETY: the size is not 0: it is that of a block, or what does not fit into one.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

impl Current {
    /// Moves a value to memory of its own, where it stays until [`free`]. `make` is given the name
    /// and the park token of a thread: see [`handle_of`](Self::handle_of).
    #[inline]
    pub fn allocate_for<T>(
        self,
        thread: ThreadId,
        make: impl FnOnce(Option<Arc<str>>, Object) -> T,
    ) -> NonNull<T> {
        // In one loan, since each spawn does this.
        let (block, (name, token)) = self.with(|execution| {
            let block = match fits::<T>() {
                true => execution.blocks.free.pop(),
                false => None,
            };
            (block, execution.handle_of(thread))
        });
        // It may outlive the execution, so it does not come from the heap of the program.
        let block = block.unwrap_or_else(|| self.with(|_| allocate(layout_for::<T>())));
        let memory = block.cast::<T>();
        // SAFETY: it has the layout for `T`, and was free or is new.
        unsafe { memory.write(make(name, token)) };
        memory
    }
}

/// Drops a value of [`Current::allocate_for`], and frees its memory.
///
/// # Safety
/// The pointer must come from [`Current::allocate_for`], in this execution or in another, and must not
/// be used any more.
#[inline]
pub unsafe fn free<T>(value: NonNull<T>) {
    // SAFETY: the caller's promise: the value is there, and it is dropped once.
    unsafe { value.drop_in_place() };
    match Current::get() {
        Some(current) if fits::<T>() => {
            current.with(|execution| execution.blocks.free.push(value.cast()));
        }
        // SAFETY: it was allocated with this layout.
        _ => unsafe { dealloc(value.as_ptr().cast(), layout_for::<T>()) },
    }
}
