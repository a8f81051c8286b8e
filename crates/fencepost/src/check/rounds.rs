//! Whether loops that were taken to wait only wait: tried, not proved.
//!
//! A thread that goes round a loop and changes nothing is kept waiting until something that it has read changes. That is
//! right unless the loop counts its rounds, and gives up. So before such a program is called correct, some executions are run in
//! which its loops do go round, each up to a bound. They are executions like any other: what is wrong in one of them is wrong.

use std::time::{Duration, Instant};

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

/// Lets loops that were taken to wait go round, if a search that began at this time has found nothing.
pub(super) fn tried(
    checker: &Checker,
    program: &Checked,
    check: Identity,
    report: &Report<ProgramError>,
    started: Instant,
) -> Rounds {
    let waits = !report.waits.is_empty() && checker.settings.spin == SpinRule::UntilChange;
    if !waits || checker.replayed.is_some() || !report.findings.is_empty() || report.can_go_on {
        return Rounds::Untried;
    }
    let mut going_round = checker.clone();
    going_round.checkpoint = None;
    let settings = &mut going_round.settings;
    settings.spin = SpinRule::Bound(ROUNDS);
    settings.goes_on = true;
    settings.workers = 1;
    // They are few, so that they are not counted; but they may be long.
    settings.max_executions = None;
    let is_left = |most: Duration| most.saturating_sub(started.elapsed());
    settings.max_time = settings.max_time.map(is_left);
    let strategy = Exploring::Stubborn {
        seed: checker.seed,
        executions: EXECUTIONS,
    };
    let (mut report, registry) = running::explored_by(&going_round, strategy, program, check);
    going_round.settings.max_executions = checker.settings.max_executions;
    going_round.settings.max_time = checker.settings.max_time;
    // That an execution has too many steps, for one, may come of the rounds.
    let is_wrong: Vec<bool> = report.findings.iter().map(is_wrong).collect();
    if !is_wrong.contains(&true) {
        return match report.executions < EXECUTIONS {
            true => Rounds::Untried,
            false => Rounds::Fine,
        };
    }
    registry.keep_first_values_of(&is_wrong);
    let mut are_wrong = is_wrong.iter();
    report
        .findings
        .retain(|_| *are_wrong.next().expect("as many"));
    let faults = report.findings.iter();
    let faults = faults.filter(|found| matches!(found.problem, Problem::Fault(_)));
    report.faults = faults.count() as u64;
    Rounds::Wrong(Box::new(going_round), (report, registry))
}

fn is_wrong(found: &Found<ProgramError>) -> bool {
    match &found.problem {
        Problem::StoreBuffer(_) => true,
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
