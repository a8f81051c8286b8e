//! Going on from a checkpoint: is it of this program, and what had been found?
//!
//! The beginning of the next execution is run again and must be what it was. The same for each finding,
//! which also brings back its details.

use super::{Checkpoint, CheckpointError, Path, Place, SavedFinding, SavedKind, Tree};
use crate::dpor::learned::LearnedFootprints;
use crate::driver::results::SearchResults;
use crate::driver::settings::Settings;
use crate::execution::findings::{Counterexample, Failure, Findings};
use crate::execution::fingerprint::Fingerprint;
use crate::execution::run::{End, EndOf, Run};
use crate::program::Program;
use crate::sampling::{Replay, Sampled};
use crate::schedule::{Schedule, Turn};

/// What an exploration goes on with.
pub(crate) struct Resumed<E, R> {
    /// What was done before.
    pub(crate) before: SearchResults<E, R>,
    pub(crate) tree: Option<Tree>,
    /// For random executions: the next one.
    pub(crate) next: u64,
}

/// The error for a program that does not do what it did.
pub(crate) fn changed(what: impl Into<String>) -> CheckpointError {
    CheckpointError::ProgramChanged { what: what.into() }
}

/// Checks that a checkpoint is of this program, and brings back what was found.
pub(crate) fn resume<P: Program>(
    checkpoint: Checkpoint,
    program: &impl Fn() -> P,
    settings: &Settings,
    first: Fingerprint,
) -> Result<Resumed<P::Error, P::Restart>, CheckpointError> {
    if checkpoint.program != first {
        return Err(changed(
            "its first execution is another one than when the checkpoint was made",
        ));
    }
    if let Place::Tree(tree) = &checkpoint.place {
        if let Some(path) = &tree.path {
            let mut run = Run::new(program(), settings, false);
            run.learned = Some(LearnedFootprints::from_pairs(&tree.learned));
            check_path(path, run)?;
        }
    }
    let totals = checkpoint.totals;
    let mut findings = Findings::new(settings);
    for saved in &checkpoint.findings {
        findings.kept.push(find_again(saved, program(), settings)?);
    }
    findings.tally.restore(&totals.tally);
    findings.faults = totals.faults;
    findings.borderline = totals.borderline;
    findings.violations = totals.violations;
    let before = SearchResults {
        executions: totals.executions,
        abandoned: totals.abandoned,
        steps: totals.steps,
        was_cut: totals.was_cut,
        waits: totals.waits.into_iter().collect(),
        earlier: totals.elapsed,
        ..SearchResults::nothing(findings)
    };
    let (tree, next) = match checkpoint.place {
        Place::Tree(tree) => (Some(tree), 0),
        Place::Sample(next) => (None, next),
    };
    Ok(Resumed { before, tree, next })
}

impl<E: Clone + PartialEq, R: Clone> Resumed<E, R> {
    /// A new exploration.
    pub(crate) fn nothing(settings: &Settings) -> Self {
        Resumed {
            before: SearchResults::nothing(Findings::new(settings)),
            tree: None,
            next: 0,
        }
    }
}

/// How often an execution that asks to be begun again is.
const MOST_REPEATS: usize = 100;

/// What the program does when its threads run in order, with where it does it.
pub(crate) fn first_execution<P: Program>(mut run: Run<P>) -> Fingerprint {
    run.findings.is_muted = true;
    let mut fingerprint = Fingerprint::START;
    for _ in 0..MOST_REPEATS {
        run.clear();
        let (met, end) = in_order(&mut run);
        fingerprint = met;
        run.finish(end);
        // What the front end has learnt from a fatal error may change the next execution.
        if !std::mem::take(&mut run.findings.is_enough) {
            break;
        }
    }
    fingerprint
}

fn in_order<P: Program>(run: &mut Run<P>) -> (Fingerprint, EndOf<P>) {
    let mut fingerprint = Fingerprint::START;
    let mut result = run.begin();
    loop {
        if let Err(stop) = result {
            return (fingerprint.with(u64::MAX), stop.into());
        }
        let mut threads = run.threads();
        let ready = threads.find(|&thread| run.ready(thread).is_some());
        let before = run.log.len();
        result = match ready {
            Some(thread) => {
                fingerprint = fingerprint.with_location(run.program.location(thread));
                run.perform(Turn { thread, outcome: 0 })
            }
            None => match run.force() {
                Some(result) => result,
                None => return (fingerprint, End::Known),
            },
        };
        if run.log.len() > before {
            fingerprint = fingerprint.with_event(&run.log, before as u32);
        }
    }
}

/// Runs the beginning of the execution that is next.
fn check_path<P: Program>(path: &Path, mut run: Run<P>) -> Result<(), CheckpointError> {
    let turns = &path.schedule.0;
    // The program may fail before its first operation.
    if !turns.is_empty() {
        let result = run.begin().and_then(|()| run.follow(turns));
        run.finish(End::Known);
        result.map_err(|_| other_beginning(&path.schedule))?;
    }
    // What operations touch on the way was known when the checkpoint was made.
    if run.has_learned_footprints() || Fingerprint::of(&run.log) != path.fingerprint {
        return Err(other_beginning(&path.schedule));
    }
    Ok(())
}

fn other_beginning(schedule: &Schedule) -> CheckpointError {
    changed(format!(
        "an execution does not begin as it did (schedule: {})",
        schedule.shortened()
    ))
}

/// Runs a finding again.
fn find_again<P: Program>(
    saved: &SavedFinding,
    program: P,
    settings: &Settings,
) -> Result<Counterexample<P::Error>, CheckpointError> {
    let settings = Settings {
        continue_after_failure: true,
        kept_findings: usize::MAX,
        ..settings.clone()
    };
    let mut schedule = saved.schedule.clone();
    if let SavedKind::Fault(Some(thread)) = saved.kind {
        schedule.0.push(Turn { thread, outcome: 0 });
    }
    let mut replay = Sampled::new(Run::new(program, &settings, false), Replay { schedule });
    replay.run_execution(0);
    let is_it = |found: &Counterexample<P::Error>| match (&found.failure, &saved.kind) {
        (Failure::StoreBuffer(violation), SavedKind::StoreBuffer(key)) => {
            violation.distinct_key().map(|id| id.to_bits()) == *key
        }
        (Failure::Fault(fault), SavedKind::Fault(_)) => fault.is_program_fault(),
        _ => false,
    };
    let found = replay.run.findings.kept.into_iter().find(is_it);
    let mut found = found.ok_or_else(|| {
        changed(format!(
            "what had been found did not happen again (schedule: {})",
            saved.schedule.shortened()
        ))
    })?;
    found.execution = saved.execution;
    Ok(found)
}
