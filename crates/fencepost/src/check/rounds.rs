//! Whether loops that were taken to wait only wait: tried, not proved.
//!
//! A thread that goes round a loop and changes nothing is kept waiting until something that it has read changes. That is
//! right unless the loop counts its rounds, and gives up. So before such a program is called correct, some executions are run in
//! which its loops do go round, each up to a bound. They are executions like any other: what is wrong in one of them is wrong.

use fencepost_explore::{Fault, Found, Problem, Report, SpinRule, Strategy as Exploring};

use super::checker::Checker;
use super::checkpoint::Identity;
use super::running::{self, Explored};
use crate::rt::{Checked, ProgramError};

/// How often a loop goes round at most, where nothing has changed.
pub(super) const ROUNDS: u32 = 64;

/// How many executions are run.
const EXECUTIONS: u64 = 64;

/// What comes of it if loops that were taken to wait go round.
pub(super) enum Rounds {
    /// It was not tried: there are none, or something is wrong anyway.
    Untried,
    /// Nothing.
    Fine,
    /// Something is wrong, and this checker finds it.
    Wrong(Box<Checker>, Explored),
}

/// Lets loops that were taken to wait go round, if a search has found nothing.
pub(super) fn tried(
    checker: &Checker,
    program: &Checked,
    check: Identity,
    report: &Report<ProgramError>,
) -> Rounds {
    let waits = !report.waits.is_empty() && checker.settings.spin == SpinRule::UntilChange;
    if !waits || checker.replayed.is_some() || !report.findings.is_empty() {
        return Rounds::Untried;
    }
    let mut going_round = checker.clone();
    going_round.checkpoint = None;
    going_round.settings.spin = SpinRule::Bound(ROUNDS);
    going_round.settings.goes_on = true;
    going_round.settings.workers = 1;
    let strategy = Exploring::Stubborn {
        seed: checker.seed,
        executions: EXECUTIONS,
    };
    let (mut report, registry) = running::explored_by(&going_round, strategy, program, check);
    // That an execution has too many steps, for one, may come of the rounds.
    report.findings.retain(is_wrong);
    if report.findings.is_empty() {
        return Rounds::Fine;
    }
    report.faults = report.findings.len() as u64;
    (report.violations, report.borderline) = (0, 0);
    report.distinct_violations = 0;
    Rounds::Wrong(Box::new(going_round), (report, registry))
}

fn is_wrong(found: &Found<ProgramError>) -> bool {
    match &found.problem {
        Problem::StoreBuffer(_) => false,
        Problem::Fault(fault) => matches!(fault, Fault::Program(_) | Fault::Deadlock(_)),
    }
}

/// What the report of something that is wrong ends with.
pub(super) fn note() -> String {
    format!(
        "the search took loops that go round without a change to wait only, and found nothing; this was found when \
         they were let go round up to {ROUNDS} times"
    )
}
