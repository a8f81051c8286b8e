//! Running a check: from settings and a closure to an outcome.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use fencepost_explore::{
    AfterSchedule, CheckpointOptions, CheckpointWriter, Counterexample, Failure, Fault, Limit,
    MonitoredModel, Replayer, Report, Settings, SpinRule, Strategy as Exploring,
    explore_with_checkpoints,
};
use fencepost_memory::{LocationId, LockedDrains};
use fencepost_report::SourcePosition;
use fencepost_report::check::{CheckSummary, Gap};

use super::checker::{Checker, Strategy};
use super::checkpoint::{CheckpointFile, Identity};
use super::consequence;
use super::fences::{self, FenceInference};
use super::naming::source_position;
use super::outcome::{Details, Finding, Outcome};
use super::problems::gap;
use super::progress::ProgressLine;
use super::rounds;
use super::showing::Showing;
use super::watchdog;
use fencepost_runtime::{
    Checked, Current, Insertion, Insertions, ProgramError, Registry, Restart, Runtime, Setup,
    Target, ThreadIdSpace,
};

/// The most often that a check is begun again because something turned out to be visible.
const MOST_RESTARTS: usize = 1000;

/// Checks a program.
#[track_caller]
pub(super) fn run(checker: &Checker, program: Checked, check: Identity) -> Outcome {
    refuse_contradictions(checker);
    let has_fences = checker.fence_inference && checker.replayed.is_none();
    if has_fences {
        // Not after an hour.
        fences::refuse_samples(checker);
    }
    let searched = rounds::search(checker, &program, check);
    let (found_by, registry) = (searched.checker.clone(), Arc::clone(&searched.registry));
    let mut outcome = searched.outcome();
    if checker.confirm && checker.setup.store_buffers.is_none() {
        let findings = outcome.details_mut().findings.iter_mut();
        for finding in findings.filter(|finding| finding.is_store_buffer) {
            let found = &finding.found;
            let consequence =
                in_own_thread(|| consequence::of(&found_by, &program, check, found, &registry));
            finding.consequence = Some(consequence);
        }
    }
    if has_fences && outcome.violations() > 0 {
        let fences = match &outcome {
            // Where something else is wrong, what a fence would change says nothing.
            Outcome::ProgramError(_) => FenceInference::Unknown(outcome.clone()),
            _ => fences::infer(checker, program, check),
        };
        outcome.details_mut().fences = Some(Box::new(fences));
    }
    outcome
}

/// What is asked for must be possible.
#[track_caller]
pub(super) fn refuse_contradictions(checker: &Checker) {
    let has_buffers = checker.setup.store_buffers.is_some();
    let asked = match (checker.confirm, checker.fence_inference) {
        (true, _) => "`confirm` says what comes of store-buffer violations",
        (false, true) => "`fences` rules store-buffer violations out",
        (false, false) => return,
    };
    assert!(
        !has_buffers,
        "{asked}, and with `store_buffers` there are none: it is not a violation that store buffers add executions; \
         unset one of the two"
    );
    assert!(
        checker.monitor,
        "{asked}, and without the monitor none is found: unset `monitor(false)` or FENCEPOST_MONITOR"
    );
}

/// Explores a program.
#[track_caller]
pub(super) fn explored(checker: &Checker, program: &Checked, check: Identity) -> Explored {
    explored_with(checker, &settings(checker), program, check)
}

/// Explores a program in another way than the checker says.
#[track_caller]
pub(super) fn explored_by(
    checker: &Checker,
    strategy: Exploring,
    program: &Checked,
    check: Identity,
) -> Explored {
    let settings = Settings {
        strategy,
        ..settings(checker)
    };
    explored_with(checker, &settings, program, check)
}

#[track_caller]
fn explored_with(
    checker: &Checker,
    settings: &Settings,
    program: &Checked,
    check: Identity,
) -> Explored {
    assert!(
        Current::get().is_none(),
        "a check is run inside of a check: the program that is checked must not call fencepost::check"
    );
    match in_own_thread(|| explore_program(checker, settings, program, check)) {
        Ok(explored) => explored,
        Err(complaint) => panic!("{complaint}"),
    }
}

/// What the explorer came to, and the names of what it has seen.
pub(super) type Explored = (Report<ProgramError, Restart>, Arc<Registry>);

/// What a program does to its thread ends with it.
#[track_caller]
fn in_own_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("fencepost".to_owned());
        match thread.spawn_scoped(scope, work) {
            Ok(thread) => thread.join(),
            Err(error) => panic!("there is no thread to run the check: {error}"),
        }
    });
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

pub(super) fn settings(checker: &Checker) -> Settings {
    let strategy = match (&checker.replayed, checker.strategy) {
        (Some(schedule), _) => Exploring::Replay(schedule.clone()),
        (None, Strategy::Exhaustive) => Exploring::Exhaustive,
        (None, Strategy::Bounded) if checker.strict_bound => Exploring::Bounded {
            preemptions: checker.preemption_bound,
        },
        (None, Strategy::Bounded) => Exploring::BoundedOrExhaustive {
            preemptions: checker.preemption_bound,
        },
        (None, Strategy::Random) => Exploring::Random {
            seed: checker.seed,
            executions: checker.executions,
        },
        (None, Strategy::Pct) => Exploring::Pct {
            seed: checker.seed,
            executions: checker.executions,
            depth: checker.pct_depth,
        },
    };
    let monitored_model = match checker.monitor && checker.setup.store_buffers.is_none() {
        true => machine(checker.setup.target),
        false => MonitoredModel::None,
    };
    Settings {
        strategy,
        monitored_model,
        ..checker.settings.clone()
    }
}

/// The machine that is the target.
pub(super) fn machine(target: Target) -> MonitoredModel {
    match target {
        Target::X86 => MonitoredModel::Tso,
        Target::Pso => MonitoredModel::Pso(LockedDrains::OwnAddress),
    }
}

/// Explores, again if something turns out to be visible that was taken not to be.
fn explore_program(
    checker: &Checker,
    settings: &Settings,
    program: &Checked,
    check: Identity,
) -> Result<Explored, String> {
    let explore = |mut setup| {
        let insertions = Insertions::clone(&checker.insertions).with_requested(&checker.tried);
        let registry = Registry::new(check.location).with_insertions(Arc::new(insertions));
        let registry = Arc::new(registry);
        explore_from(checker, program, check, settings, &mut setup, registry)
    };
    let explored = explore(checker.setup)?;
    if !matches!(settings.strategy, Exploring::Replay(_)) || fits(&explored.0) {
        return Ok(explored);
    }
    // A schedule does not say what turned out to be visible before it was found.
    let strides = match checker.setup.store_buffers {
        None => vec![None],
        Some(_) => ThreadIdSpace::ALL.map(Some).to_vec(),
    };
    for store_buffers in strides {
        for visible in 0..8 {
            let again = explore(Setup {
                are_ends_visible: visible & 1 != 0,
                are_statics_visible: visible & 2 != 0,
                are_writers_announced: visible & 4 != 0,
                store_buffers,
                ..checker.setup
            })?;
            if fits(&again.0) {
                return Ok(again);
            }
        }
    }
    Ok(explored)
}

/// Whether there is an execution with the schedule that was replayed.
fn fits(report: &Report<ProgramError, Restart>) -> bool {
    let is_misfit = |found: &Counterexample<ProgramError>| {
        matches!(
            found.failure,
            Failure::Fault(Fault::InfeasibleSchedule { .. })
        )
    };
    !report.findings.iter().any(is_misfit)
}

pub(super) fn explore_from(
    checker: &Checker,
    program: &Checked,
    check: Identity,
    settings: &Settings,
    setup: &mut Setup,
    mut registry: Arc<Registry>,
) -> Result<Explored, String> {
    let mut from = None;
    let file = CheckpointFile::of(checker, check)?;
    if let Some(file) = &file {
        if let Some(loaded) = file.load(settings, *setup)? {
            from = Some(loaded.checkpoint);
            registry = Arc::new(loaded.registry);
            *setup = loaded.setup;
        }
    }
    let mut progress = ProgressLine::new(checker.progress);
    let mut replayer = None;
    let mut report = until_visible(setup, |setup| {
        let make = || runtime(checker, program, setup, &registry);
        let mut update = |state: &_| {
            progress.update(state);
            ControlFlow::Continue(())
        };
        let mut save = |checkpoint| {
            if let Some(file) = &file {
                file.save(checkpoint, &registry, setup);
            }
        };
        let saver = file.as_ref().map(|file| CheckpointWriter {
            interval: file.every,
            save: &mut save,
        });
        let from = from.take();
        let explored = explore_with_checkpoints(
            make,
            settings,
            &mut update,
            CheckpointOptions {
                resume_from: from,
                writer: saver,
            },
        );
        let (report, again) = explored.map_err(|error| match &file {
            Some(file) => file.refuse(&error),
            None => error.to_string(),
        })?;
        replayer = Some(again);
        Ok(report)
    })?;
    progress.end();
    if let Some(file) = &file {
        file.end(report.is_resumable);
    }
    if let Some(replayer) = replayer {
        confirm(&mut report, replayer, &registry, settings);
    }
    Ok((report, registry))
}

/// A worker that is looked after.
pub(super) fn runtime(
    checker: &Checker,
    program: &Checked,
    setup: Setup,
    registry: &Arc<Registry>,
) -> Runtime {
    let setup = Setup {
        max_steps: checker.settings.max_steps,
        ..setup
    };
    let runtime = Runtime::new(Arc::clone(program), setup, Arc::clone(registry));
    if checker.progress != Some(false) {
        watchdog::watch(runtime.heartbeat(), registry);
    }
    runtime
}

/// Explores until nothing turns out to be visible any more that was taken not to be.
pub(super) fn until_visible(
    setup: &mut Setup,
    mut explore: impl FnMut(Setup) -> Result<Report<ProgramError, Restart>, String>,
) -> Result<Report<ProgramError, Restart>, String> {
    for _ in 0..MOST_RESTARTS {
        let report = explore(*setup)?;
        match report.restart {
            None => return Ok(report),
            // The registry knows of it.
            Some(Restart::OrderedDrops) => {}
            Some(Restart::VisibleEnds) => setup.are_ends_visible = true,
            Some(Restart::VisibleStatics) => setup.are_statics_visible = true,
            Some(Restart::AnnouncedWriters) => setup.are_writers_announced = true,
            Some(Restart::WiderThreadIdSpace) => {
                let wider = setup.store_buffers.and_then(ThreadIdSpace::next);
                let too_many = "the program has too many threads to be run with store buffers";
                setup.store_buffers = Some(wider.ok_or(too_many)?);
            }
            Some(restart) => panic!("internal error: the check cannot restart with {restart:?}"),
        }
    }
    panic!("internal error: a check was begun again too often; this is a bug in Fencepost");
}

/// Runs what was found again, from its schedule alone. What does not happen again is reported as
/// what it is: the program is not deterministic.
fn confirm(
    report: &mut Report<ProgramError, Restart>,
    mut replayer: Replayer<Runtime>,
    registry: &Registry,
    settings: &Settings,
) {
    if matches!(settings.strategy, Exploring::Replay(_)) {
        return registry.keep_first_values();
    }
    replayer.program_mut().keep_first_values();
    let mut unconfirmed_violations = 0;
    for found in &mut report.findings {
        if let Failure::Fault(fault) = &found.failure {
            if !matches!(fault, Fault::Program(_) | Fault::Deadlock(_)) {
                registry.keep_first_values();
                continue;
            }
        }
        let is_violation = matches!(found.failure, Failure::StoreBuffer(_));
        // What comes after a violation at which the search ended has never been run, and need not be.
        let after = match is_violation && !settings.continue_after_failure {
            true => AfterSchedule::Stop,
            false => AfterSchedule::RunToEnd,
        };
        let replayed = replayer.replay(&found.schedule, after);
        registry.keep_first_values();
        let is_refused = |found: &Counterexample<ProgramError>| {
            let Failure::Fault(Fault::Program(error)) = &found.failure else {
                return false;
            };
            matches!(error, ProgramError::Misuse { .. })
        };
        let refused = replayed.iter().find(|other| is_refused(other));
        let refused = refused.map(|other| other.failure.clone());
        let same = replayed.into_iter().find(|other| is_same(other, found));
        match (same, refused) {
            // Its values belong together: those of the first may come from several executions.
            (Some(same), _) => {
                found.interleaving = same.interleaving;
                found.optimistic_loads = same.optimistic_loads;
                if let Failure::StoreBuffer(_) = same.failure {
                    found.failure = same.failure;
                }
            }
            // What was kept from one execution to the next may be why they differ.
            (None, Some(refused)) => {
                unconfirmed_violations += usize::from(is_violation);
                found.failure = refused;
            }
            // What is refused is wrong, whether it happens again or not.
            (None, None) if is_refused(found) => {}
            (None, None) => {
                unconfirmed_violations += usize::from(is_violation);
                found.failure = Failure::Fault(Fault::Program(ProgramError::Misuse {
                    message: format!(
                        "the program is not deterministic: what was found did not happen again \
                         when the same schedule was run again (it was: {})",
                        described(&found.failure)
                    ),
                    location: None,
                }));
            }
        }
    }
    recount(report, unconfirmed_violations);
}

/// What was taken for violations are faults of the program.
fn recount(report: &mut Report<ProgramError, Restart>, unconfirmed_violations: usize) {
    report.faults += unconfirmed_violations as u64;
    report.distinct_violations -= unconfirmed_violations;
    if report.distinct_violations == 0 {
        (report.violations, report.borderline) = (0, 0);
    }
}

fn described(problem: &Failure<ProgramError>) -> String {
    match problem {
        Failure::StoreBuffer(_) => "a store-buffer violation".to_owned(),
        Failure::Fault(Fault::Program(error)) => error.to_string(),
        Failure::Fault(Fault::Deadlock(_)) => "a deadlock".to_owned(),
        Failure::Fault(_) => "an error".to_owned(),
    }
}

pub(super) fn is_same(
    one: &Counterexample<ProgramError>,
    other: &Counterexample<ProgramError>,
) -> bool {
    match (&one.failure, &other.failure) {
        (Failure::StoreBuffer(one), Failure::StoreBuffer(other)) => {
            one.distinct_key() == other.distinct_key()
        }
        (Failure::Fault(Fault::Program(one)), Failure::Fault(Fault::Program(other))) => {
            // Messages may have addresses in them.
            std::mem::discriminant(one) == std::mem::discriminant(other)
        }
        (Failure::Fault(one), Failure::Fault(other)) => one == other,
        _ => false,
    }
}

pub(super) fn outcome(
    checker: &Checker,
    mut report: Report<ProgramError, Restart>,
    registry: Arc<Registry>,
) -> Outcome {
    let model = match checker.setup.store_buffers {
        None => settings(checker).monitored_model.model(),
        Some(_) => machine(checker.setup.target).model(),
    };
    let stride = checker.setup.store_buffers.and(registry.thread_id_space());
    let showing = Showing::new(Arc::clone(&registry), checker.setup.target, model, stride);
    let showing = showing
        .with_replay(replaying(checker))
        .with_waits(!report.waits.is_empty());
    let showing = Arc::new(showing.with_all_fences(fences::are_told(checker)));
    let is_replay = checker.replayed.is_some();

    let mut findings = Vec::with_capacity(report.findings.len());
    let mut is_memory_limit = None;
    for (index, found) in report.findings.drain(..).enumerate() {
        if let Failure::Fault(Fault::OutOfMemory(limit)) = &found.failure {
            is_memory_limit = Some(*limit);
            continue;
        }
        stop_if_unsound(&found);
        findings.push(Finding {
            number: findings.len() + 1,
            is_store_buffer: matches!(found.failure, Failure::StoreBuffer(_)),
            found,
            consequence: None,
            first_values: registry.first_values(index),
            showing: Arc::clone(&showing),
            finding: OnceLock::new(),
            shown: OnceLock::new(),
        });
    }
    // Where the search was when something else ended it, which is told too.
    let is_smaller_bound = |limit: &Limit| matches!(limit, Limit::Preemptions(bound) if *bound < checker.preemption_bound);
    let mut gaps: Vec<Gap> = report
        .limits
        .iter()
        .filter(|limit| !is_smaller_bound(limit))
        .map(|&limit| gap(limit, checker, is_replay))
        .collect();
    if let Some(limit) = is_memory_limit {
        gaps.retain(|gap| *gap != Gap::StoppedAtProblem);
        gaps.push(Gap::MemoryBudget(limit.limit as u64));
    }
    if registry.has_excess_drain() {
        gaps.push(Gap::Other(
            "executions in which stores wait longer: an operation on an `Arc`, a lock or a channel waited for \
             stores that may stay in the buffer on the machine"
                .to_owned(),
        ));
    }
    let bound = report.limits.iter().find_map(|limit| match limit {
        Limit::Preemptions(bound) => Some(*bound),
        _ => None,
    });
    let is_stopped = report.limits.len() > 1;
    let faults = report.faults;
    let places = |locations: &mut dyn Iterator<Item = LocationId>| {
        let mut places: Vec<SourcePosition> = locations
            .map(|location| source_position(registry.location(location)))
            .collect();
        places.sort();
        places.dedup();
        places
    };
    let distinct_faults = findings.iter().filter(|f| !f.is_store_buffer).count() as u64;
    let summary = CheckSummary {
        executions: report.executions,
        steps: report.steps,
        abandoned: report.abandoned,
        problems: report.violations + faults,
        distinct: report.distinct_violations as u64 + distinct_faults,
        distinct_is_lower_bound: false,
        gaps,
        covered_preemptions: bound.filter(|_| !is_stopped),
        waiting_loops: places(&mut report.waits.iter().copied().flatten()),
        tried_rounds: None,
        repeated_waits: places(&mut registry.waits().into_iter()),
        store_buffers: checker.setup.store_buffers.is_some(),
        assumptions: assumptions(checker),
        notes: notes(&report, &registry, !findings.is_empty()),
    };
    let details = Details {
        showing,
        shown: OnceLock::new(),
        faults,
        violations: report.violations,
        distinct_violations: report.distinct_violations as u64,
        borderline: report.borderline,
        findings,
        summary,
        fences: None,
    };
    if faults > 0 {
        Outcome::ProgramError(details)
    } else if report.violations > 0 {
        Outcome::NotStoreBufferSafe(details)
    } else if details.summary.gaps.is_empty() {
        Outcome::Verified(details)
    } else {
        Outcome::Incomplete(details)
    }
}

/// What the result rests on because of the settings, each to follow "assuming that".
fn assumptions(checker: &Checker) -> Vec<String> {
    let mut all = Vec::new();
    if !checker.monitor && checker.setup.store_buffers.is_none() {
        all.push(
            "every store is in memory at once, as on no machine with store buffers (`monitor(false)`)",
        );
    }
    if !checker.setup.leak_check {
        all.push("no `Arc` leaks, which was not checked (`leak_check(false)`)");
    }
    if !checker.setup.spurious_wakeups {
        all.push(
            "no wait on a condition variable ends without a notification and no `park` without having \
             been unparked, although `std` allows that (`spurious_wakeups(false)`)",
        );
    }
    let mut all: Vec<String> = all.into_iter().map(str::to_owned).collect();
    for (place, insertion) in &checker.tried {
        let fence = match insertion {
            Insertion::StoreBarrier => "Release",
            Insertion::Fence | Insertion::SeqCstStore => "SeqCst",
        };
        let place = SourcePosition::new(&place.file, place.line, place.column);
        all.push(format!(
            "`fence(Ordering::{fence})` is before {place}, where the program has none (`insert_fence`)"
        ));
    }
    all
}

/// What else the user has to know.
fn notes(
    report: &Report<ProgramError, Restart>,
    registry: &Registry,
    has_findings: bool,
) -> Vec<String> {
    let unmatched = registry.insertions().unmatched();
    let mut notes: Vec<String> = unmatched
        .map(|place| {
            let place = SourcePosition::new(&place.file, place.line, place.column);
            format!(
                "no operation was met at {place}, before which a fence was to be inserted: it changed nothing"
            )
        })
        .collect();
    let nothing_done = report.steps == 0 && report.executions > 0 && !has_findings;
    let unused = match (registry.thread_count(), registry.has_objects()) {
        _ if !nothing_done => None,
        (1, false) => Some(
            "the program has used no thread, atomic or lock of Fencepost's: are they those of `std`? If a `cfg` decides, is \
             it set?",
        ),
        (1, true) => None,
        _ => Some(
            "there are several threads, and none of them has used a type of Fencepost's: are the atomics and \
             locks those of `std`?",
        ),
    };
    notes.extend(unused.map(str::to_owned));
    notes
}

/// The checker with which a schedule is replayed, as code: with all settings that decide what the program does.
pub(super) fn replaying(checker: &Checker) -> String {
    let (setup, usual) = (&checker.setup, Checker::new());
    let mut code = String::new();
    let mut set = |is_set: bool, call: String| {
        if is_set {
            code.push_str(&call);
        }
    };
    let is_pso = setup.target == Target::Pso;
    set(is_pso, ".target(fencepost::Target::Pso)".to_owned());
    set(
        setup.store_buffers.is_some(),
        ".store_buffers(true)".to_owned(),
    );
    if let SpinRule::Bound(rounds) = checker.settings.spin {
        set(true, format!(".spin_bound({rounds})"));
    }
    let steps = checker.settings.max_steps;
    set(
        steps != usual.settings.max_steps,
        format!(".max_steps({steps})"),
    );
    set(
        !setup.spurious_wakeups,
        ".spurious_wakeups(false)".to_owned(),
    );
    set(!setup.leak_check, ".leak_check(false)".to_owned());
    let bytes = setup.stack_size;
    set(
        bytes != usual.setup.stack_size,
        format!(".stack_size({bytes})"),
    );
    for (place, insertion) in &checker.tried {
        let strength = match insertion {
            Insertion::StoreBarrier => "Release",
            _ => "SeqCst",
        };
        let place = SourcePosition::new(&place.file, place.line, place.column);
        set(
            true,
            format!(".insert_fence(\"{place}\", fencepost::FenceStrength::{strength})"),
        );
    }
    match code.is_empty() {
        true => "fencepost::".to_owned(),
        false => format!("fencepost::Checker::new(){code}."),
    }
}

/// A violation that does not check is a bug of ours, and nothing that the tool says can be trusted.
fn stop_if_unsound(found: &Counterexample<ProgramError>) {
    if let Some(Err(error)) = found.check() {
        panic!("{error} (schedule: {})", found.schedule);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::{AtomicU32, Ordering::*};
    use crate::thread;

    #[test]
    fn workers_without_memory_leave_the_check_incomplete() {
        for workers in [1, 2, 4] {
            let mut checker = Checker::new().strategy(Strategy::Random).executions(100);
            checker.settings.memory = 1;
            checker.settings.workers = workers;
            let outcome = checker.run(|| {
                let data: Arc<[AtomicU32; 2]> = Arc::new([0, 0].map(AtomicU32::new));
                let other = Arc::clone(&data);
                let thread = thread::spawn(move || {
                    other[0].store(1, Relaxed);
                    other[1].store(1, Relaxed);
                    other[0].load(Relaxed)
                });
                data[1].store(2, Relaxed);
                data[0].load(Relaxed);
                thread.join().unwrap();
            });
            assert!(matches!(outcome, Outcome::Incomplete(_)), "{outcome}");
            assert_eq!((outcome.errors(), outcome.findings().len()), (0, 0));
            assert!(outcome.to_string().contains("memory"), "{outcome}");
        }
    }
}
