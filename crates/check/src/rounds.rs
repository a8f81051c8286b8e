//! Unrolling waiting loops: a test of the assumption that they only wait.
//!
//! The explorer blocks a thread that repeats a loop without effect until something changes that the thread has read.
//! That is sound unless the loop counts its rounds and gives up. So before a program with such loops is verified, some
//! executions run in which the loops repeat, each up to a bound. A failure of such an execution is a failure of the
//! program. If a loop does something else although it has come back to the same state and reads the same values, it
//! depends on memory that is not compared: then the search starts over, and explores its rounds one by one.

use std::time::{Duration, Instant};

use fencepost_explore::{Failure, Fault, SpinRule, Strategy as Exploring};
use fencepost_report::check::Note;
use fencepost_runtime::{ProgramError, Registry, Restart};
use rustc_hash::FxHashMap;

use super::checker::Strategy;
use super::outcome::Outcome;
use super::session::{Counterexample, Report, Session};

/// The maximum number of rounds of a loop without a change.
const ROUNDS: u32 = 1000;

/// The number of executions.
const EXECUTIONS: u64 = 64;

/// A session that has explored its program, and the report.
pub(super) struct Searched {
    /// The session that found what is in the report. It is the one that unrolled loops if that one found a failure.
    pub(super) session: Session,
    pub(super) report: Report,
    rounds: Rounds,
}

/// The result of unrolling the waiting loops.
enum Rounds {
    /// Some loops were not unrolled: there are none, the program fails anyway, or the time was used up.
    Untried,
    /// No execution failed, although each loop repeated at least so often in one of them.
    Fine(u32),
    /// An execution failed. The report is the one of the unrolled executions.
    Failed,
    /// A loop depends on memory that is not compared. The registry of the session knows which.
    Unseen,
}

impl Searched {
    /// The outcome of the check.
    pub(super) fn outcome(self) -> Outcome {
        let mut outcome = self.session.outcome(self.report);
        let summary = &mut outcome.details_mut().summary;
        match self.rounds {
            Rounds::Untried | Rounds::Unseen => {}
            Rounds::Fine(rounds) => summary.tried_rounds = Some(rounds),
            Rounds::Failed => summary.notes.push(Note::FoundInRounds(ROUNDS)),
        }
        outcome
    }

    /// Whether the failure was found only because a loop that was assumed to wait does more.
    pub(super) fn has_failed_in_rounds(&self) -> bool {
        matches!(self.rounds, Rounds::Failed)
    }
}

impl Session {
    /// Explores the program. If nothing is found, it also unrolls the loops that were assumed to wait only.
    #[track_caller]
    pub(super) fn search(mut self) -> Searched {
        let started = Instant::now();
        let most_time = self.settings.max_time;
        loop {
            let searched = self.search_once(started);
            if !matches!(searched.rounds, Rounds::Unseen) {
                return searched;
            }
            self = searched.session;
            let is_left = |most: Duration| most.saturating_sub(started.elapsed());
            self.settings.max_time = most_time.map(is_left);
        }
    }

    /// Whether the session repeats loops that seem to wait.
    pub(super) fn unrolls(&self) -> bool {
        matches!(self.settings.strategy, Exploring::StickyRandom { .. })
    }

    #[track_caller]
    fn search_once(mut self, started: Instant) -> Searched {
        let report = self.explore_in_own_thread();
        let checker = &self.checker;
        let waits = !report.waits.is_empty() && checker.settings.spin == SpinRule::UntilChange;
        let is_strict = checker.strategy == Strategy::Bounded && checker.strict_bound;
        let is_tried = waits
            && !is_strict
            && checker.replayed.is_none()
            && report.findings.is_empty()
            && !report.is_resumable;
        let searched = Searched {
            session: self,
            report,
            rounds: Rounds::Untried,
        };
        match is_tried {
            true => searched.unroll(started),
            false => searched,
        }
    }
}

impl Searched {
    /// Runs some executions in which the loops that were assumed to wait are repeated.
    #[track_caller]
    fn unroll(self, started: Instant) -> Self {
        let mut checker = self.session.checker.clone();
        checker.checkpoint = None;
        let settings = &mut checker.settings;
        settings.spin = SpinRule::Bound(ROUNDS);
        settings.continue_after_failure = true;
        settings.workers = 1;
        let mut session = self.session.with_checker(checker);
        session.settings.strategy = Exploring::StickyRandom {
            seed: session.checker.seed,
            executions: EXECUTIONS,
        };
        // The executions are few, so the budget does not apply; but they may be long, so the time limit does.
        session.settings.max_executions = None;
        let is_left = |most: Duration| most.saturating_sub(started.elapsed());
        session.settings.max_time = session.settings.max_time.map(is_left);
        self.session.registry.copy_loops(&session.registry);
        let mut report = session.explore_in_own_thread();
        // Some failures, such as too many steps, may be caused by the unrolling itself.
        let is_failure: Vec<bool> = report.findings.iter().map(is_failure).collect();
        let is_unseen = report.restart == Some(Restart::UnseenMemory);
        if is_unseen && !is_failure.contains(&true) {
            session.registry.copy_loops(&self.session.registry);
            let rounds = Rounds::Unseen;
            return Searched { rounds, ..self };
        }
        if !is_failure.contains(&true) {
            let rounds = match self.least_rounds(&report, &session.registry) {
                0 => Rounds::Untried,
                least => Rounds::Fine(least),
            };
            return Searched { rounds, ..self };
        }
        session.registry.keep_first_values_of(&is_failure);
        let mut are_failures = is_failure.iter();
        report
            .findings
            .retain(|_| *are_failures.next().expect("as many"));
        let faults = report.findings.iter();
        let faults = faults.filter(|found| matches!(found.failure, Failure::Fault(_)));
        report.faults = faults.count() as u64;
        Searched {
            session,
            report,
            rounds: Rounds::Failed,
        }
    }

    /// The minimum over all waiting loops of the maximum number of rounds in an execution.
    fn least_rounds(&self, report: &Report, registry: &Registry) -> u32 {
        let rounds = report.rounds.iter();
        let rounds: FxHashMap<_, _> = rounds
            .map(|&(id, rounds)| (id.map(|id| registry.location(id)), rounds))
            .collect();
        let loops = self.report.waits.iter();
        let loops = loops.map(|id| id.map(|id| self.session.registry.location(id)));
        let rounds = loops.map(|place| rounds.get(&place).copied().unwrap_or(0));
        rounds.min().unwrap_or(0)
    }
}

fn is_failure(found: &Counterexample) -> bool {
    match &found.failure {
        Failure::StoreBuffer(_) => true,
        Failure::Fault(Fault::Program(error)) => !matches!(error, ProgramError::StepLimit { .. }),
        Failure::Fault(fault) => matches!(fault, Fault::Deadlock(_)),
    }
}
