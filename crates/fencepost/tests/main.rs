//! The tests of checks, as one binary; `types.rs` has those of the look-alikes of `std`. Each takes minutes of a processor to
//! compile, and they are compiled at the same time.
//!
//! Apart from them are tests that depend on the process: its allocator, its environment, how it ends, and those that run
//! `cargo`.

#[path = "support/explorer.rs"]
mod explorer;
mod support;

mod backoff;
mod endless_loops;
mod families;
mod fences;
mod interleavings;
mod monitor_accesses;
mod outcomes;
mod proved_waits;
mod random_loops;
mod random_programs;
mod replays;
mod state_mutations;
mod store_buffers;
mod unseen_memory;
mod workers;
