//! Programs whose heap comes from Fencepost's allocator.
#![allow(unsafe_code)] // Blocks of all layouts are allocated by hand.

mod blocks;
mod loops;

#[global_allocator]
static ALLOCATOR: fencepost::Allocator = fencepost::Allocator;
