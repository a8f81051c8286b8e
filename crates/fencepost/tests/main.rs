//! The tests of the library, as one binary: [`support`] is compiled once, and one program is linked.
//!
//! Apart from it are tests that depend on the process: its allocator, its environment, how it ends, and those that run
//! `cargo`.

#[path = "support/explorer.rs"]
mod explorer;
mod support;

mod attempts;
mod backoff;
mod double_compare_exchange;
mod errors;
mod families;
mod fences;
mod interleavings;
mod monitor_accesses;
mod outcomes;
mod proved_waits;
mod races;
mod random_loops;
mod random_programs;
mod replays;
mod state_mutations;
mod store_buffers;
mod sync_arc;
mod sync_classes;
mod sync_condvar;
mod sync_locks;
mod sync_mpsc;
mod sync_once;
mod sync_store_buffers;
mod threads;
mod unseen_memory;
mod workers;
