//! Checks of a program through the public API, and what two of them must have in common.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use fencepost::{Checker, Outcome};

use crate::journal::{AllResults, Journal, Results};
use crate::over_fencepost;
use crate::program::Program;

/// A program with more executions is left out.
pub const MOST_EXECUTIONS: u64 = 2_000;

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    pub verdict: &'static str,
    pub executions: u64,
    pub errors: u64,
    pub violations: u64,
    pub headlines: BTreeSet<String>,
    pub results: BTreeSet<Results>,
}

impl Summary {
    /// The verdict and the results, without the numbers, which depend on the search.
    pub fn without_counts(&self) -> (&'static str, &BTreeSet<Results>) {
        (self.verdict, &self.results)
    }
}

fn verdict(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::ProgramError(_) => "program error",
        Outcome::NotStoreBufferSafe(_) => "not store-buffer safe",
        Outcome::Verified(_) => "verified",
        _ => "incomplete",
    }
}

pub fn checker() -> Checker {
    Checker::new()
        .without_environment()
        .continue_after_failure(true)
        .progress(false)
        .name("fuzzer")
}

fn run_once(program: &Arc<Program>, checker: &Checker, all: &AllResults) -> Outcome {
    let (program, all) = (program.clone(), all.clone());
    checker.run(move || {
        let journal = Arc::new(Journal::adding_to(all.clone()));
        over_fencepost::run(&program, journal, None);
    })
}

fn summary(outcome: &Outcome, all: AllResults) -> Summary {
    let headline = |finding: &fencepost::Finding| finding.headline().to_owned();
    Summary {
        verdict: verdict(outcome),
        executions: outcome.executions(),
        errors: outcome.errors(),
        violations: outcome.violations(),
        headlines: outcome.findings().iter().map(headline).collect(),
        results: std::mem::take(&mut *all.lock().unwrap()),
    }
}

/// The result of a check. None if the program has too many executions, or some that are not continued: where a search
/// gives them up depends on its order.
pub fn run(program: &Arc<Program>, checker: &Checker) -> Option<Summary> {
    let all = AllResults::default();
    let checker = checker.clone().max_executions(MOST_EXECUTIONS);
    let outcome = run_once(program, &checker, &all);
    let is_whole = outcome.executions() < MOST_EXECUTIONS && outcome.abandoned() == 0;
    is_whole.then(|| summary(&outcome, all))
}

/// The result of a check that stops after every few executions and is resumed from its checkpoint, and how often it
/// was resumed.
pub fn run_in_pieces(
    program: &Arc<Program>,
    file: &Path,
    mut piece: impl FnMut() -> u64,
) -> (Summary, u64) {
    let all = AllResults::default();
    let checker = checker().checkpoint(file);
    for resumed in 0.. {
        let outcome = run_once(program, &checker.clone().max_executions(piece()), &all);
        if !file.exists() {
            return (summary(&outcome, all), resumed);
        }
    }
    unreachable!("it is resumed until it ends")
}
