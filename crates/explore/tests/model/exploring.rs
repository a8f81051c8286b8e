//! Explores models with the explorer under test, and looks at what it reports.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use fencepost_explore::{
    AfterSchedule, CheckpointOptions, Counterexample, Failure, Fault, MonitoredModel, Report,
    Schedule, Settings, Stop, Strategy, explore, explore_with_checkpoints,
};
use fencepost_memory::LockedDrains;
use fencepost_monitor::OperationId;

use super::class::{Log, Recording, enabled_threads, is_before_join};
use super::language::Model;
use super::running::{AssertionFailed, ModelProgram};
use fencepost_explore::program::{Intent, Performed, Program, ThreadStatus};

/// Every machine that there is a monitor for.
pub const MACHINES: [MonitoredModel; 3] = [
    MonitoredModel::Tso,
    MonitoredModel::Pso(LockedDrains::Everything),
    MonitoredModel::Pso(LockedDrains::OwnAddress),
];

/// The number in an environment variable.
fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// The seeds of this many programs, unless `FENCEPOST_SEED` or `FENCEPOST_PROGRAMS` says otherwise.
pub fn seeds(programs: u64) -> Range<u64> {
    let first = number_from("FENCEPOST_SEED", 0);
    first..first + number_from("FENCEPOST_PROGRAMS", programs)
}

/// All findings, not only the first one.
pub fn all_of(strategy: Strategy, monitored_model: MonitoredModel) -> Settings {
    Settings {
        strategy,
        monitored_model,
        continue_after_failure: true,
        kept_findings: 100_000,
        ..Settings::default()
    }
}

/// Explores a model.
pub fn explored(model: &Arc<Model>, settings: &Settings) -> Report<AssertionFailed> {
    let program = ModelProgram::new(model);
    explore(|| program.clone(), settings, &mut |_| {
        ControlFlow::Continue(())
    })
}

/// Explores a model and notes which classes are run.
pub fn recorded(model: &Arc<Model>, settings: &Settings) -> (Report<AssertionFailed>, Log) {
    let program = Recording::new(ModelProgram::new(model));
    let log = program.shared_log();
    let report = explore(|| program.clone(), settings, &mut |_| {
        ControlFlow::Continue(())
    });
    let log = log.lock().unwrap().clone();
    (report, log)
}

/// What makes store-buffer violations the same.
pub type Key = [OperationId; 3];

/// What a finding is, without the execution that shows it.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    StoreBuffer(Key),
    Fault(Fault<AssertionFailed>),
}

pub fn kind(found: &Counterexample<AssertionFailed>) -> Kind {
    match &found.failure {
        Failure::StoreBuffer(violation) => Kind::StoreBuffer(violation.distinct_key()),
        Failure::Fault(fault) => Kind::Fault(fault.clone()),
    }
}

/// The distinct store-buffer violations.
pub fn keys(report: &Report<AssertionFailed>) -> BTreeSet<Key> {
    let keys = report
        .findings
        .iter()
        .filter_map(|found| match kind(found) {
            Kind::StoreBuffer(key) => Some(key),
            Kind::Fault(_) => None,
        });
    keys.collect()
}

/// What was wrong with executions.
pub fn faults(report: &Report<AssertionFailed>) -> Vec<Fault<AssertionFailed>> {
    let faults = report
        .findings
        .iter()
        .filter_map(|found| match kind(found) {
            Kind::StoreBuffer(_) => None,
            Kind::Fault(fault) => Some(fault),
        });
    faults.collect()
}

/// Whether an execution is wrong in each of these ways.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Errors {
    pub fails: bool,
    pub deadlocks: bool,
    pub livelocks: bool,
    /// In some other way, which is a mistake of the explorer.
    pub others: bool,
}

pub fn errors(report: &Report<AssertionFailed>) -> Errors {
    let mut errors = Errors::default();
    for fault in faults(report) {
        match fault {
            Fault::Program(_) => errors.fails = true,
            Fault::Deadlock(_) => errors.deadlocks = true,
            Fault::Livelock(_) => errors.livelocks = true,
            _ => errors.others = true,
        }
    }
    errors
}

/// Fails if a violation has no checked witness.
pub fn assert_explained(report: &Report<AssertionFailed>, program: &impl Display) {
    for found in &report.findings {
        if let Some(Err(error)) = found.explain() {
            let problem = &found.failure;
            panic!("{error}: {problem:?}\n{}\n{program}", found.schedule);
        }
    }
}

/// Fails if the schedule of a finding, as text, does not lead to the same finding.
pub fn assert_replays(
    model: &Arc<Model>,
    settings: &Settings,
    report: &Report<AssertionFailed>,
    program: &impl Display,
) {
    // Who has explored some of it can run everything again.
    let some = Settings {
        max_executions: Some(4),
        ..settings.clone()
    };
    let made = ModelProgram::new(model);
    let on_progress = &mut |_: &_| ControlFlow::Continue(());
    let explored_some = explore_with_checkpoints(
        || made.clone(),
        &some,
        on_progress,
        CheckpointOptions::default(),
    );
    let (_, mut replayer) = explored_some.expect("there is no checkpoint");
    for found in &report.findings {
        let text = found.schedule.to_string();
        let schedule: Schedule = text.parse().expect("it was written by a schedule");
        assert_eq!(schedule, found.schedule, "{text}");
        let settings = Settings {
            strategy: Strategy::Replay(schedule),
            continue_after_failure: true,
            ..settings.clone()
        };
        let replayed = explored(model, &settings);
        assert_eq!(replayed.executions, 1, "{text}\n{program}");
        let expected = kind(found);
        let again = replayed.findings.iter().find(|f| kind(f) == expected);
        let Some(again) = again else {
            let found: Vec<Kind> = replayed.findings.iter().map(kind).collect();
            panic!("{expected:?} is not in {found:?}\n{text}\n{program}");
        };
        assert_eq!(again.schedule, found.schedule, "{text}\n{program}");
        assert_eq!(again.interleaving, found.interleaving, "{text}\n{program}");
        let by_replayer = replayer.replay(&found.schedule, AfterSchedule::RunToEnd);
        let whole = |all: &[Counterexample<AssertionFailed>]| -> Vec<_> {
            let parts =
                |f: &Counterexample<_>| (kind(f), f.schedule.clone(), f.interleaving.clone());
            all.iter().map(parts).collect()
        };
        assert_eq!(
            whole(&by_replayer),
            whole(&replayed.findings),
            "{text}\n{program}"
        );
        let up_to_it = replayer.replay(&found.schedule, AfterSchedule::Stop);
        if let Kind::StoreBuffer(_) = expected {
            let last = up_to_it.iter().rev().find(|f| kind(f) == expected);
            assert!(last.is_some(), "{text}\n{program}");
            let is_within = |f: &Counterexample<_>| f.schedule.0.len() <= found.schedule.0.len();
            assert!(up_to_it.iter().all(is_within), "{text}\n{program}");
        }
    }
}

/// What running a schedule takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Switches away from a thread that is enabled and not at a spin hint.
    pub preemptions: u32,
    /// The most spin hints that one thread passes.
    pub hints: u32,
}

fn join_ended<P: Program>(
    program: &mut P,
    performed: &mut Performed,
    result: &mut Result<(), Stop<P::Error, P::Restart>>,
) {
    while result.is_ok() {
        let [thread] = enabled_threads(program)[..] else {
            break;
        };
        if !is_before_join(program, thread) {
            break;
        }
        *result = program.step(thread, 0, performed);
    }
}

pub fn cost(model: &Arc<Model>, schedule: &Schedule) -> Cost {
    let mut program = ModelProgram::new(model);
    let mut performed = Performed::default();
    let mut preemptions = 0;
    let mut hints = vec![0; model.threads.len()];
    let mut last = None;
    let is_before_hint = |program: &ModelProgram, thread| {
        let standing = program.status(thread);
        matches!(standing, ThreadStatus::Pending { intent, .. } if intent == Intent::SpinHint)
    };
    let mut result = program.start(&mut performed);
    join_ended(&mut program, &mut performed, &mut result);
    for turn in &schedule.0 {
        assert_eq!(result, Ok(()), "nothing comes after a failure");
        let could_go_on = last.is_some_and(|last| {
            last != turn.thread
                && enabled_threads(&program).contains(&last)
                && !is_before_hint(&program, last)
        });
        preemptions += u32::from(could_go_on);
        hints[turn.thread.index()] += u32::from(is_before_hint(&program, turn.thread));
        last = Some(turn.thread);
        performed.clear();
        result = program.step(turn.thread, turn.outcome, &mut performed);
        join_ended(&mut program, &mut performed, &mut result);
    }
    Cost {
        preemptions,
        hints: hints.into_iter().max().unwrap_or(0),
    }
}
