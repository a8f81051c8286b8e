//! Resuming from a checkpoint: checking that it is of this program, and restoring the findings.
//!
//! The path to the next execution is run again and must have the same fingerprint. Each finding is
//! run again too, which restores its details.

use super::{
    Checkpoint, CheckpointError, Remaining, SavedFailure, SavedFinding, SavedPath, SavedTree,
};
use crate::dpor::learned::LearnedFootprints;
use crate::driver::MakeProgram;
use crate::driver::results::SearchResults;
use crate::driver::settings::Settings;
use crate::execution::findings::{Counterexample, Failure, Findings};
use crate::execution::fingerprint::Fingerprint;
use crate::execution::run::{End, EndOf, Run};
use crate::program::Program;
use crate::sampling::{Replay, Sampled};
use crate::schedule::{Schedule, Turn};

/// Where an exploration starts.
pub(crate) struct Resumed<E, R> {
    /// The results before the checkpoint.
    pub(crate) previous: SearchResults<E, R>,
    /// The unexplored part of the search tree of an exhaustive search.
    pub(crate) tree: Option<SavedTree>,
    /// The number of the next execution of a sample.
    pub(crate) next_sample: u64,
}

/// The error for a program that does not do what it did.
pub(crate) fn program_changed(reason: impl Into<String>) -> CheckpointError {
    let reason = reason.into();
    CheckpointError::ProgramChanged { reason }
}

/// Checks that a checkpoint is of this program, and restores its findings.
pub(crate) fn resume<P: Program>(
    checkpoint: Checkpoint,
    program: MakeProgram<'_, P>,
    settings: &Settings,
    first: Fingerprint,
) -> Result<Resumed<P::Error, P::Restart>, CheckpointError> {
    if checkpoint.program != first {
        return Err(program_changed(
            "its first execution differs from the one when the checkpoint was made",
        ));
    }
    if let Remaining::Tree(tree) = &checkpoint.remaining {
        if let Some(path) = &tree.path {
            let mut run = Run::new(program(), settings, false);
            run.learned = Some(LearnedFootprints::from_pairs(&tree.learned));
            check_path(path, run)?;
        }
    }
    let totals = checkpoint.totals;
    let mut findings = Findings::new(settings);
    for saved in &checkpoint.findings {
        findings.kept.push(reproduce(saved, program(), settings)?);
    }
    findings.tally.restore(&totals.tally);
    let counts = totals.counts;
    findings.faults = counts.faults;
    findings.borderline = counts.borderline;
    findings.violations = counts.violations;
    findings.pruned = counts.pruned;
    let previous = SearchResults {
        executions: counts.executions,
        abandoned: counts.abandoned,
        steps: counts.steps,
        hit_spin_bound: totals.hit_spin_bound,
        waits: totals.waits.into_iter().collect(),
        previous_time: totals.elapsed,
        ..SearchResults::empty(findings)
    };
    let (tree, next_sample) = match checkpoint.remaining {
        Remaining::Tree(tree) => (Some(tree), 0),
        Remaining::Samples { next } => (None, next),
    };
    Ok(Resumed {
        previous,
        tree,
        next_sample,
    })
}

impl<E: Clone + PartialEq, R: Clone> Resumed<E, R> {
    /// Starts a new exploration.
    pub(crate) fn from_start(settings: &Settings) -> Self {
        Resumed {
            previous: SearchResults::empty(Findings::new(settings)),
            tree: None,
            next_sample: 0,
        }
    }
}

/// How often the first execution is repeated while it fails fatally.
const MAX_REPEATS: usize = 100;

/// The fingerprint of the execution in which threads run in order, with its source locations.
pub(crate) fn first_execution<P: Program>(mut run: Run<P>) -> Fingerprint {
    run.findings.is_muted = true;
    let mut fingerprint = Fingerprint::START;
    for _ in 0..MAX_REPEATS {
        run.clear();
        let mut end;
        (fingerprint, end) = run_in_order(&mut run);
        run.finish(&mut end);
        // What the front end learns from a fatal error may change the next execution.
        if !std::mem::take(&mut run.findings.should_stop) {
            break;
        }
    }
    fingerprint
}

fn run_in_order<P: Program>(run: &mut Run<P>) -> (Fingerprint, EndOf<P>) {
    let mut fingerprint = Fingerprint::START;
    let mut result = run.begin();
    loop {
        if let Err(stop) = result {
            return (fingerprint.with(u64::MAX), stop.into());
        }
        let mut threads = run.threads();
        let ready = threads.find(|&thread| run.ready(thread).is_some());
        let position = run.log.len();
        result = match ready {
            Some(thread) => {
                fingerprint = fingerprint.with_location(run.program.location(thread));
                run.perform(Turn { thread, outcome: 0 })
            }
            None => match run.force() {
                Some(result) => result,
                None => return (fingerprint, End::Redundant),
            },
        };
        if run.log.len() > position {
            fingerprint = fingerprint.with_event(&run.log, position as u32);
        }
    }
}

/// Runs the path to the next execution.
fn check_path<P: Program>(path: &SavedPath, mut run: Run<P>) -> Result<(), CheckpointError> {
    let turns = &path.schedule.0;
    // The program may fail before its first operation.
    if !turns.is_empty() {
        let result = run.begin().and_then(|()| run.follow(turns));
        run.finish(&mut End::Redundant);
        result.map_err(|_| other_path(&path.schedule))?;
    }
    // The checkpoint has everything that was learned on the path.
    if run.has_learned_footprints() || Fingerprint::of(&run.log) != path.fingerprint {
        return Err(other_path(&path.schedule));
    }
    Ok(())
}

fn other_path(schedule: &Schedule) -> CheckpointError {
    program_changed(format!(
        "a prefix does not run as it did (schedule: {})",
        schedule.shortened()
    ))
}

/// Reproduces a finding.
fn reproduce<P: Program>(
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
    if let SavedFailure::Fault(Some(thread)) = saved.failure {
        schedule.0.push(Turn { thread, outcome: 0 });
    }
    let mut replay = Sampled::new(Run::new(program, &settings, false), Replay { schedule });
    replay.run_execution(0);
    let is_same = |found: &Counterexample<P::Error>| match (&found.failure, &saved.failure) {
        (Failure::StoreBuffer(violation), SavedFailure::StoreBuffer(key)) => {
            violation.distinct_key().map(|id| id.to_bits()) == *key
        }
        (Failure::Fault(fault), SavedFailure::Fault(_)) => fault.is_program_fault(),
        _ => false,
    };
    let found = replay.run.findings.kept.into_iter().find(is_same);
    let mut found = found.ok_or_else(|| {
        program_changed(format!(
            "a finding does not reproduce (schedule: {})",
            saved.schedule.shortened()
        ))
    })?;
    found.execution = saved.execution;
    Ok(found)
}
