//! The tests of the look-alikes of `std`, as one binary.

#[path = "support/explorer.rs"]
mod explorer;
mod support;

mod attempts;
mod double_compare_exchange;
mod errors;
mod races;
mod sync_arc;
mod sync_classes;
mod sync_condvar;
mod sync_locks;
mod sync_mpsc;
mod sync_once;
mod sync_store_buffers;
mod threads;
