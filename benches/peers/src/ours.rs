//! Fencepost, with the settings whose costs are compared.

use std::sync::Arc;
use std::time::Duration;

use fencepost::{Checker, Strategy, Target};

use crate::bodies::define_body;
use crate::measure::Run;
use crate::options::BOUND;
use crate::programs::Program;
use crate::tools::Tool;

define_body!(fencepost::thread, fencepost::sync::atomic);

/// Runs the program to the end, whatever is found on the way.
pub fn run(tool: Tool, program: Program, random: usize, budget: Duration) -> Run {
    let checker = Checker::new()
        .continue_after_failure(true)
        .progress(false)
        .max_time(budget);
    let checker = match tool {
        Tool::NoMonitor => checker.monitor(false),
        Tool::Pso => checker.target(Target::Pso),
        Tool::Bounded => checker.preemption_bound(BOUND as u32),
        Tool::TwoWorkers => checker.workers(2),
        Tool::Random => sample(checker, random),
        Tool::RandomNoMonitor => sample(checker.monitor(false), random),
        _ => checker,
    };
    let outcome = checker.run(move || body(program));
    Run {
        executions: outcome.executions(),
        abandoned: outcome.abandoned(),
    }
}

fn sample(checker: Checker, executions: usize) -> Checker {
    checker
        .strategy(Strategy::Random)
        .executions(executions as u64)
        .seed(1)
}
