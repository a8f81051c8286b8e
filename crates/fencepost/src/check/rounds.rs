//! Whether loops that were taken to wait only wait: tried, not proved.
//!
//! A thread that goes round a loop and changes nothing is kept waiting until something that it has read changes. That is
//! right unless the loop counts its rounds, and gives up. So before such a program is called correct, some executions are run in
//! which its loops do go round, each up to a bound. They are executions like any other: what is wrong in one of them is wrong.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fencepost_explore::{Counterexample, Failure, Fault, Report, SpinRule, Strategy as Exploring};
use fencepost_report::check::Note;
use rustc_hash::FxHashMap;

use super::checker::{Checker, Strategy};
use super::checkpoint::Identity;
use super::outcome::Outcome;
use super::running;
use fencepost_runtime::{Checked, ProgramError, Registry, Restart};

/// How often a loop goes round at most, where nothing has changed.
const ROUNDS: u32 = 1000;

/// How many executions are run.
const EXECUTIONS: u64 = 64;

/// What a search has come to, and what comes of it if loops that it took to wait go round.
pub(super) struct Searched<'a> {
    /// Who finds it again.
    pub(super) checker: Cow<'a, Checker>,
    pub(super) report: Report<ProgramError, Restart>,
    pub(super) registry: Arc<Registry>,
    rounds: Rounds,
}

enum Rounds {
    /// It was not tried for all loops: there are none, or something is wrong anyway, or there was no time.
    Untried,
    /// Nothing, though each of them went round so often.
    Fine(u32),
    /// Something is wrong, and the report says so.
    Wrong,
}

impl Searched<'_> {
    /// The outcome, with what it rests on.
    pub(super) fn outcome(self) -> Outcome {
        let mut outcome = running::outcome(&self.checker, self.report, self.registry);
        let summary = &mut outcome.details_mut().summary;
        match self.rounds {
            Rounds::Untried => {}
            Rounds::Fine(rounds) => summary.tried_rounds = Some(rounds),
            Rounds::Wrong => summary.notes.push(Note::FoundInRounds(ROUNDS)),
        }
        outcome
    }

    /// Whether something is wrong only because a loop that was taken to wait does more.
    pub(super) fn is_wrong_in_rounds(&self) -> bool {
        matches!(self.rounds, Rounds::Wrong)
    }

    pub(super) fn into_owned(self) -> Searched<'static> {
        Searched {
            checker: Cow::Owned(self.checker.into_owned()),
            ..self
        }
    }
}

/// Explores a program; and, if that finds nothing, lets loops that were taken to wait go round.
#[track_caller]
pub(super) fn search<'a>(checker: &'a Checker, program: &Checked, check: Identity) -> Searched<'a> {
    let started = Instant::now();
    let (report, registry) = running::explored(checker, program, check);
    let mut searched = Searched {
        checker: Cow::Borrowed(checker),
        report,
        registry,
        rounds: Rounds::Untried,
    };
    let report = &searched.report;
    let waits = !report.waits.is_empty() && checker.settings.spin == SpinRule::UntilChange;
    let is_strict = checker.strategy == Strategy::Bounded && checker.strict_bound;
    if waits
        && !is_strict
        && checker.replayed.is_none()
        && report.findings.is_empty()
        && !report.is_resumable
    {
        searched.go_round(checker, program, check, started);
    }
    searched
}

impl Searched<'_> {
    #[track_caller]
    fn go_round(
        &mut self,
        checker: &Checker,
        program: &Checked,
        check: Identity,
        started: Instant,
    ) {
        let mut going_round = checker.clone();
        going_round.checkpoint = None;
        let settings = &mut going_round.settings;
        settings.spin = SpinRule::Bound(ROUNDS);
        settings.continue_after_failure = true;
        settings.workers = 1;
        // They are few, so that they are not counted; but they may be long.
        settings.max_executions = None;
        let is_left = |most: Duration| most.saturating_sub(started.elapsed());
        settings.max_time = settings.max_time.map(is_left);
        let strategy = Exploring::StickyRandom {
            seed: checker.seed,
            executions: EXECUTIONS,
        };
        let (mut report, registry) = running::explored_by(&going_round, strategy, program, check);
        // That an execution has too many steps, for one, may come of the rounds.
        let is_wrong: Vec<bool> = report.findings.iter().map(is_wrong).collect();
        if !is_wrong.contains(&true) {
            self.rounds = match self.least_rounds(&report, &registry) {
                0 => Rounds::Untried,
                least => Rounds::Fine(least),
            };
            return;
        }
        registry.keep_first_values_of(&is_wrong);
        let mut are_wrong = is_wrong.iter();
        report
            .findings
            .retain(|_| *are_wrong.next().expect("as many"));
        let faults = report.findings.iter();
        let faults = faults.filter(|found| matches!(found.failure, Failure::Fault(_)));
        report.faults = faults.count() as u64;
        going_round.settings.max_executions = checker.settings.max_executions;
        going_round.settings.max_time = checker.settings.max_time;
        *self = Searched {
            checker: Cow::Owned(going_round),
            report,
            registry,
            rounds: Rounds::Wrong,
        };
    }

    /// How often each of the loops went round at least, in the execution in which it did most often.
    fn least_rounds(&self, report: &Report<ProgramError, Restart>, registry: &Registry) -> u32 {
        let rounds = report.rounds.iter();
        let rounds: FxHashMap<_, _> = rounds
            .map(|&(id, rounds)| (id.map(|id| registry.location(id)), rounds))
            .collect();
        let loops = self.report.waits.iter();
        let loops = loops.map(|id| id.map(|id| self.registry.location(id)));
        let rounds = loops.map(|place| rounds.get(&place).copied().unwrap_or(0));
        rounds.min().unwrap_or(0)
    }
}

fn is_wrong(found: &Counterexample<ProgramError>) -> bool {
    match &found.failure {
        Failure::StoreBuffer(_) => true,
        Failure::Fault(Fault::Program(error)) => !matches!(error, ProgramError::StepLimit { .. }),
        Failure::Fault(fault) => matches!(fault, Fault::Deadlock(_)),
    }
}
