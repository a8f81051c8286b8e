//! loom: exhaustive.

use std::sync::atomic::Ordering;

use crate::bodies::define_body;
use crate::measure::{End, Row, measure};
use crate::options::Options;
use crate::programs::Program;

define_body!(loom::thread, loom::sync::atomic);

/// Runs the program in all ways that loom knows.
pub fn run(program: Program, options: &Options) -> Result<Row, &'static str> {
    if program.threads() > loom::MAX_THREADS {
        return Err("more threads than loom can run");
    }
    let mut builder = loom::model::Builder::new();
    builder.max_threads = program.threads();
    builder.preemption_bound = None;
    // loom looks at the cap only when it would write a checkpoint, before the execution.
    builder.max_permutations = Some(options.cap);
    builder.checkpoint_interval = options.cap + 1;
    let cap = options.cap as u64;
    let row = measure(
        |executions| {
            builder.check(move || {
                executions.fetch_add(1, Ordering::Relaxed);
                body(program);
            });
        },
        |executions| if executions < cap { End::All } else { End::Cap },
    );
    Ok(row)
}
