//! shuttle: depth-first through all interleavings, and at random.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use shuttle::scheduler::{DfsScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

use crate::bodies::define_body;
use crate::measure::Run;
use crate::programs::Program;

define_body!(shuttle::thread, shuttle::sync::atomic);

/// The seed of the random runs, so that they can be repeated.
const SEED: u64 = 1;

/// Runs the program in every interleaving.
pub fn run_dfs(program: Program, budget: Duration) -> Run {
    run(DfsScheduler::new(None, false), program, budget)
}

/// Runs the program at random.
pub fn run_random(program: Program, executions: usize, budget: Duration) -> Run {
    run(
        RandomScheduler::new_from_seed(SEED, executions),
        program,
        budget,
    )
}

fn run(scheduler: impl Scheduler + 'static, program: Program, budget: Duration) -> Run {
    let mut config = Config::new();
    // It takes all atomics as sequentially consistent, and would say so each time.
    config.silence_warnings = true;
    config.max_time = Some(budget);
    let executions = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&executions);
    Runner::new(scheduler, config).run(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        body(program);
    });
    Run {
        executions: executions.load(Ordering::Relaxed),
        abandoned: 0,
    }
}
