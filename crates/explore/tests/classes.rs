//! The explorer runs every equivalence class: exactly once where it is exhaustive, unless an operation may touch
//! several objects, and those with few preemptions under a bound. Compared with brute force on random programs, and with known counts.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more programs.

use crate::model;

use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_explore::{
    Fault, MonitoredModel, Report, Schedule, Settings, Strategy, Turn, explore,
};
use fencepost_memory::{Random, ThreadId};
use model::class::{ClassKey, Log, Recording, Status, assert_same_classes};
use model::exploring::{faults, recorded};
use model::families;
use model::language::Model;
use model::oracle::{Limits, random_prefix, truth, truth_after};
use model::random::{Shape, random_program};
use model::running::{AssertionFailed, ModelProgram};
use rustc_hash::FxHashSet;

/// Limits within which brute force is fast.
const SMALL: Limits = Limits {
    nodes: 10_000,
    hints: 3,
};

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Explores without a monitor and past findings.
fn run(model: &Arc<Model>, strategy: Strategy) -> (Report<AssertionFailed>, Log) {
    run_with(model, strategy, 1, false)
}

fn run_with(
    model: &Arc<Model>,
    strategy: Strategy,
    workers: usize,
    always_share_work: bool,
) -> (Report<AssertionFailed>, Log) {
    let program = Recording::new(ModelProgram::new(model));
    let log = program.shared_log();
    let settings = Settings {
        strategy,
        monitored_model: MonitoredModel::None,
        continue_after_failure: true,
        workers,
        always_share_work,
        ..Settings::default()
    };
    let report = explore(|| program.clone(), &settings, &mut |_| {
        ControlFlow::Continue(())
    });
    let log = log.lock().unwrap().clone();
    (report, log)
}

fn executions_of(model: &Arc<Model>) -> u64 {
    let (report, log) = run(model, Strategy::Exhaustive);
    assert_eq!(report.abandoned, 0);
    assert_eq!(log.classes.len() as u64, report.executions);
    assert!(report.is_complete());
    report.executions
}

#[test]
fn families_have_their_known_numbers_of_classes() {
    for (threads, classes) in [(2, 3), (3, 7), (4, 15), (6, 63)] {
        assert_eq!(
            executions_of(&families::store_buffering(threads, false)),
            classes
        );
    }
    for (threads, additions, classes) in [(2, 2, 6), (3, 2, 90), (4, 2, 2520)] {
        assert_eq!(
            executions_of(&families::counter(threads, additions)),
            classes
        );
    }
    for (readers, classes) in [(3, 8), (8, 256)] {
        assert_eq!(executions_of(&families::readers(readers)), classes);
    }
    for (elements, classes) in [(5, 64), (10, 3328)] {
        assert_eq!(executions_of(&families::last_zero(elements)), classes);
    }
    assert_eq!(executions_of(&families::private_cells(5, 3)), 1);
}

/// What the explorer may do besides running each class once. Where what an operation touches depends on the
/// state, it may also run a class several times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waste {
    Nothing,
    /// Give up executions half-way.
    Abandoned,
}

fn agrees_with_brute_force(shape: &Shape, programs: u64, waste: Waste) {
    let first = number_from("FENCEPOST_SEED", 0);
    let programs = number_from("FENCEPOST_PROGRAMS", programs);
    let mut compared = 0;
    for seed in first..first + programs {
        let program = random_program(seed, shape);
        let Some(truth) = truth(&program.model, &SMALL) else {
            continue;
        };
        compared += 1;
        let (report, log) = run(&program.model, Strategy::Exhaustive);
        for class in log.classes.keys() {
            let is_true = truth.classes.contains_key(class);
            assert!(is_true, "there is no such class\n{program}");
        }
        let is_missing = |class: &&ClassKey| !log.classes.contains_key(*class);
        let missing = truth.classes.keys().filter(is_missing).count();
        let all = truth.classes.len();
        assert_eq!(missing, 0, "of {all} classes are missing\n{program}");
        if program.model.has_partners() {
            assert!(report.executions >= all as u64, "{program}");
        } else {
            assert_eq!(log.repeated().count(), 0, "were run twice\n{program}");
            assert_eq!(report.executions, all as u64, "{program}");
        }
        assert!(
            report.abandoned == 0 || waste == Waste::Abandoned,
            "{program}"
        );
        assert!(report.is_complete());
    }
    assert!(
        compared * 3 > programs,
        "only {compared} of {programs} were small enough"
    );
}

#[test]
fn exhaustive_is_optimal_on_atomics() {
    agrees_with_brute_force(&Shape::atomics(), 1500, Waste::Nothing);
}

#[test]
fn exhaustive_is_optimal_with_locks() {
    agrees_with_brute_force(&Shape::locks(), 1500, Waste::Nothing);
}

#[test]
fn exhaustive_is_optimal_with_counters() {
    agrees_with_brute_force(&Shape::counters(), 1000, Waste::Nothing);
}

/// Where an operation has several outcomes or touches several objects, some executions are abandoned.
#[test]
fn exhaustive_runs_each_class_with_everything_that_blocks() {
    agrees_with_brute_force(&Shape::blocking(), 1500, Waste::Abandoned);
    agrees_with_brute_force(&Shape::everything(), 1000, Waste::Abandoned);
}

/// Several workers do what one does.
#[test]
fn workers_share_the_work_and_change_nothing() {
    let mut programs: Vec<_> = [
        families::counter(4, 2),
        families::last_zero(9),
        families::store_buffering(6, false),
        families::readers(8),
        families::philosophers(4),
    ]
    .map(|model| (model, Waste::Nothing))
    .into();
    // Where choices are planned while something is asleep that is still being explored.
    let choosing = random_program(1015, &Shape::blocking());
    programs.push((choosing.model, Waste::Abandoned));
    let seeds = number_from("FENCEPOST_SEED", 0)..;
    for seed in seeds.take(number_from("FENCEPOST_PROGRAMS", 200) as usize) {
        for (shape, waste) in [
            (Shape::atomics(), Waste::Nothing),
            (Shape::locks(), Waste::Nothing),
            (Shape::blocking(), Waste::Abandoned),
            (Shape::everything(), Waste::Abandoned),
        ] {
            let model = random_program(seed, &shape).model;
            if truth(&model, &SMALL).is_some() {
                programs.push((model, waste));
            }
        }
    }
    for (model, waste) in &programs {
        let (one, classes) = run(model, Strategy::Exhaustive);
        // One that shares its work with nobody goes through it in another order, always the same.
        for workers in [1, 2, 3] {
            let (many, also) = run_with(model, Strategy::Exhaustive, workers, true);
            let context = format!("{workers} workers, {model}");
            if classes.has(Status::Failed) {
                // What would come after a failed assertion is not run, so which executions there
                // are depends on where it is met first.
                assert!(also.has(Status::Failed), "{context}");
                continue;
            }
            assert_eq!(many.executions, one.executions, "{context}");
            assert_same_classes(also.classes.keys(), classes.classes.keys(), &context);
            assert_eq!(many.faults, one.faults, "{context}");
            assert!(many.is_complete(), "{context}");
            // Others may be begun again, by one worker.
            if *waste == Waste::Nothing {
                assert_eq!(also.repeated().next(), None, "{context}");
                assert_eq!(many.abandoned, 0, "{context}");
            }
        }
    }
}

/// The others are called when the first has done some of the work, and get some when they have nothing to do.
#[test]
fn workers_that_come_later_change_nothing() {
    for model in [
        families::counter(4, 2),
        families::last_zero(10),
        families::readers(11),
    ] {
        let (one, classes) = run(&model, Strategy::Exhaustive);
        for workers in [2, 3, 4] {
            let (many, also) = run_with(&model, Strategy::Exhaustive, workers, false);
            let context = format!("{workers} workers, {model}");
            assert_eq!(many.executions, one.executions, "{context}");
            assert_eq!(many.abandoned, 0, "{context}");
            assert_same_classes(also.classes.keys(), classes.classes.keys(), &context);
        }
    }
}

/// Under a bound: every class that has an execution within it, and no other.
#[test]
fn bounded_runs_every_class_within_the_bound() {
    let first = number_from("FENCEPOST_SEED", 0);
    let programs = number_from("FENCEPOST_PROGRAMS", 400);
    let mut cut = 0;
    for shape in [Shape::atomics(), Shape::locks(), Shape::everything()] {
        for seed in first..first + programs {
            let program = random_program(seed, &shape);
            let Some(truth) = truth(&program.model, &SMALL) else {
                continue;
            };
            for preemptions in 0..3 {
                let within = truth.classes_within(preemptions);
                let (report, log) = run(&program.model, Strategy::Bounded { preemptions });
                let run: FxHashSet<_> = log.classes.keys().collect();
                assert_eq!(run.len(), within.len(), "at most {preemptions}\n{program}");
                assert!(run == within, "at most {preemptions}\n{program}");
                assert_eq!(report.executions, within.len() as u64, "{program}");
                let is_all = within.len() == truth.classes.len();
                assert!(is_all || !report.is_complete(), "{program}");
                cut += u64::from(!is_all);
                let strategy = Strategy::BoundedOrExhaustive { preemptions };
                let (report, log) = run_with(&program.model, strategy, 1, false);
                let run: FxHashSet<_> = log.classes.keys().collect();
                let expected = match report.is_complete() {
                    true => truth.classes.keys().collect(),
                    false => within,
                };
                assert!(run.is_superset(&expected), "{program}");
                let count = expected.len() as u64;
                if program.model.has_partners() && report.is_complete() {
                    assert!(report.executions >= count, "{program}");
                } else {
                    assert_eq!(report.executions, count, "{program}");
                }
            }
        }
    }
    assert!(cut > 0, "the bound never cut anything");
}

fn schedule(steps: &[(usize, usize)]) -> Schedule {
    let turns = steps.iter().map(|&(thread, way)| Turn {
        thread: ThreadId(thread as u32),
        outcome: way as u32,
    });
    Schedule(turns.collect())
}

/// From a prefix: every class that has an execution which starts with it, and no other.
#[test]
fn a_prefix_is_continued_in_every_way() {
    let first = number_from("FENCEPOST_SEED", 0);
    let programs = number_from("FENCEPOST_PROGRAMS", 400);
    let (mut compared, mut narrower) = (0, 0);
    for shape in [
        Shape::atomics(),
        Shape::locks(),
        Shape::counters(),
        Shape::everything(),
    ] {
        for seed in first..first + programs {
            let program = random_program(seed, &shape);
            let Some(whole) = truth(&program.model, &SMALL) else {
                continue;
            };
            let mut random = Random::new(seed);
            let most = 1 + random.below(8) as usize;
            let prefix = random_prefix(&program.model, &mut random, most);
            let Some(truth) = truth_after(&program.model, &prefix, &SMALL) else {
                continue;
            };
            compared += 1;
            narrower += u64::from(truth.classes.len() < whole.classes.len());
            let settings = Settings {
                monitored_model: MonitoredModel::None,
                continue_after_failure: true,
                prefix: schedule(&prefix),
                ..Settings::default()
            };
            let context = format!("from {}\n{program}", settings.prefix);
            let (report, log) = recorded(&program.model, &settings);
            assert_same_classes(log.classes.keys(), truth.classes.keys(), &context);
            if !program.model.has_partners() {
                assert_eq!(report.executions, truth.classes.len() as u64, "{context}");
            }
            assert!(report.is_complete(), "{context}");
            for found in &report.findings {
                let start = &found.schedule.0[..prefix.len()];
                assert_eq!(start, settings.prefix.0, "{context}");
            }
        }
    }
    assert!(compared * 2 > programs && narrower * 2 > compared);
}

#[test]
fn a_prefix_that_the_program_cannot_take_is_a_fault() {
    let model = families::store_buffering(2, false);
    let settings = Settings {
        prefix: "0.7".parse().unwrap(),
        monitored_model: MonitoredModel::None,
        ..Settings::default()
    };
    let (report, _) = recorded(&model, &settings);
    let (step, thread) = (2, ThreadId(7));
    assert_eq!(
        faults(&report),
        [Fault::InfeasibleSchedule { step, thread }]
    );
}

#[test]
#[should_panic(expected = "an exploration with a prefix has no monitor")]
fn a_prefix_is_refused_with_a_monitor() {
    let settings = Settings {
        prefix: "1".parse().unwrap(),
        monitored_model: MonitoredModel::Tso,
        ..Settings::default()
    };
    recorded(&families::store_buffering(2, false), &settings);
}
