//! Runs litmus tests on the processor, and counts the final states.
//!
//! Read in this order:
//! 1. `registers`, `instruction`, `assembler`: from an instruction of a test to bytes.
//! 2. `addresses`, `geometry`: what a test does with addresses, and where everything lies in memory.
//! 3. `program`: the code of a test, many instances of which run in a loop.
//! 4. [`Parameters`]: how they are run, and the search for what shows most.
//! 5. [`Record`] and [`Ending`]: what was seen, and how a run ended.
//! 6. `linux`: the process of a test, its threads, and who watches it. Elsewhere: `elsewhere`.
//!
//! Each thread of a test is pinned to a processor. An instance, or *slot*, begins for all threads at
//! a reading of the time-stamp counter: no thread waits for another one. A thread that is late skips
//! slots until it is in time again, and a slot counts if all threads have run it.
//!
//! This crate knows tests and processors. What a memory model allows, it does not know.

#![cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(
        dead_code,
        reason = "where nothing can be run, only `listing` uses the rest"
    )
)]

mod addresses;
mod assembler;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere;
mod error;
mod geometry;
mod instruction;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux;
mod listing;
mod machine;
mod parameters;
mod program;
mod record;
mod registers;

use std::time::Duration;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::Processor;
pub use error::{NotHere, Refusal};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use linux::Processor;
pub use listing::{ListedInstruction, listing};
pub use machine::Machine;
pub use parameters::{Caching, FixedParameters, Parameters, ParametersError, Tuner};
pub use record::{Ending, Goal, Record, Seen};

/// How to run a test.
pub struct Request<'a> {
    /// For how long.
    pub time: Duration,
    /// What to search for.
    pub goal: Goal,
    /// Where random numbers begin.
    pub seed: u64,
    /// Parameters that are not searched.
    pub fixed: FixedParameters,
    /// Whether to stop; asked some times each second.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Request<'_> {
    /// For this long, with what is usual.
    pub fn new(time: Duration) -> Self {
        Request {
            time,
            goal: Goal::Variety,
            seed: 0,
            fixed: FixedParameters::default(),
            stop: &|| false,
        }
    }
}
