//! loom: exhaustive, and with a preemption bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::bodies::define_body;
use crate::measure::Run;
use crate::programs::Program;

define_body!(loom::thread, loom::sync::atomic);

/// The number of executions after which loom reads the clock.
const LOOK_AT_CLOCK: usize = 100;

/// Whether loom can run the program at all.
pub fn can_run(program: Program) -> bool {
    program.threads() <= loom::MAX_THREADS
}

/// Runs the program exhaustively, or with a preemption bound.
pub fn run(program: Program, preemption_bound: Option<usize>, budget: Duration) -> Run {
    let mut builder = loom::model::Builder::new();
    builder.max_threads = program.threads();
    builder.preemption_bound = preemption_bound;
    builder.max_duration = Some(budget);
    builder.checkpoint_interval = LOOK_AT_CLOCK;
    let executions = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&executions);
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        body(program);
    });
    Run {
        executions: executions.load(Ordering::Relaxed),
        abandoned: 0,
    }
}
