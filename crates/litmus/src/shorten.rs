//! Witnesses without turns of a loop that say nothing.
//!
//! The machine finds one run for each final state, and a thread that waits in it may have looked
//! several times. A part of a thread between two arrivals at one instruction, in which it only
//! reads, passes fences or performs locked instructions, is left out if what is left is still a run
//! that ends in the same state. The judge decides that, so nothing has to be known about loops.

use fencepost_memory::MemoryModel;

use crate::judge;
use crate::run::{Run, RunAction, RunStep};
use crate::test::Test;

/// Runs with more steps are left as they are.
const LONGEST: usize = 400;

/// The run, shortened as long as it stays one that ends in `state`: the contents of the test's
/// observables.
pub(crate) fn shortened(test: &Test, model: &MemoryModel, run: Run, state: &[u64]) -> Run {
    let mut run = run;
    if run.steps.len() > LONGEST {
        return run;
    }
    while let Some(shorter) = shorter(test, model, &run, state) {
        run = shorter;
    }
    run
}

fn shorter(test: &Test, model: &MemoryModel, run: &Run, state: &[u64]) -> Option<Run> {
    for thread in 0..test.threads.len() as u32 {
        let arrivals = arrivals(run, thread);
        for (index, first) in arrivals.iter().enumerate() {
            // The longest part first.
            for last in arrivals[index + 1..].iter().rev() {
                if first.instruction != last.instruction {
                    continue;
                }
                let is_left_out = |step: &RunStep| {
                    step.thread == thread
                        && (first.instance..last.instance).contains(&step.instance)
                };
                let mut left_out = run.steps.iter().filter(|step| is_left_out(step));
                if left_out.any(|step| !says_nothing(step.action)) {
                    continue;
                }
                let steps = run.steps.iter().filter(|step| !is_left_out(step));
                let shorter = Run::new(test.threads.len(), steps.copied().collect());
                let judged = judge::check(test, model, &shorter.execution());
                if judged.is_ok_and(|judged| judged.observed(test) == state) {
                    return Some(shorter);
                }
            }
        }
    }
    None
}

/// The first step of each instruction that a thread performs.
fn arrivals(run: &Run, thread: u32) -> Vec<RunStep> {
    let own = run.steps.iter().filter(|step| step.thread == thread);
    let mut arrivals: Vec<RunStep> = Vec::new();
    for step in own.filter(|step| !matches!(step.action, RunAction::Commit(..))) {
        if arrivals
            .last()
            .is_none_or(|last| last.instance != step.instance)
        {
            arrivals.push(*step);
        }
    }
    arrivals
}

fn says_nothing(action: RunAction) -> bool {
    match action {
        RunAction::ReadMemory(..)
        | RunAction::ReadBuffer(..)
        | RunAction::LockedRead(..)
        | RunAction::LockedWrite(..)
        | RunAction::Fence(_) => true,
        RunAction::Issue(..) | RunAction::Commit(..) | RunAction::Write(..) => false,
    }
}
