//! shuttle: depth-first through all interleavings, and at random.

use std::sync::atomic::Ordering;

use crate::bodies::define_body;
use crate::measure::{End, Row, measure};
use crate::options::Options;
use crate::programs::Program;
use shuttle::scheduler::{DfsScheduler, RandomScheduler};
use shuttle::{Config, Runner};

define_body!(shuttle::thread, shuttle::sync::atomic);

/// The seed of the random runs, so that they can be repeated.
const SEED: u64 = 1;

fn config() -> Config {
    let mut config = Config::new();
    // All atomics are sequentially consistent here, as shuttle takes them.
    config.silence_warnings = true;
    config
}

/// Runs the program in every interleaving.
pub fn run_dfs(program: Program, options: &Options) -> Row {
    let cap = options.cap as u64;
    measure(
        |executions| {
            let scheduler = DfsScheduler::new(Some(options.cap), false);
            Runner::new(scheduler, config()).run(move || {
                executions.fetch_add(1, Ordering::Relaxed);
                body(program);
            });
        },
        |executions| if executions < cap { End::All } else { End::Cap },
    )
}

/// Runs the program at random.
pub fn run_random(program: Program, options: &Options) -> Row {
    measure(
        |executions| {
            let scheduler = RandomScheduler::new_from_seed(SEED, options.random);
            Runner::new(scheduler, config()).run(move || {
                executions.fetch_add(1, Ordering::Relaxed);
                body(program);
            });
        },
        |_| End::Sample,
    )
}
