//! Fencepost: every class once. Behind the feature `fencepost`.

use crate::measure::Row;
use crate::options::Options;
use crate::programs::Program;

/// Runs the program in every way that differs.
#[cfg(not(feature = "fencepost"))]
pub fn run(_program: Program, _options: &Options) -> Result<Row, &'static str> {
    Err("built without --features fencepost")
}

#[cfg(feature = "fencepost")]
crate::bodies::define_body!(fencepost::thread, fencepost::sync::atomic);

/// Runs the program in every way that differs.
#[cfg(feature = "fencepost")]
pub fn run(program: Program, _options: &Options) -> Result<Row, &'static str> {
    use std::sync::atomic::Ordering;

    let row = crate::measure::measure(
        |executions| {
            let outcome = fencepost::Checker::new().run(move || body(program));
            executions.store(outcome.executions(), Ordering::Relaxed);
        },
        |_| crate::measure::End::All,
    );
    Ok(row)
}
