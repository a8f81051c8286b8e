//! Programs that assume that their executions do not get to some place: a thread that gets there never continues. That
//! others wait for it, or for each other, is then no error; everything else is as in brute force.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more programs.

use crate::model;

use std::sync::Arc;

use fencepost_explore::{MonitoredModel, Settings, SpinRule, Strategy};
use model::buffers::leaves_sc;
use model::class::{Status, assert_same_classes};
use model::exploring::{
    Errors, MACHINES, all_of, assert_explained, assert_replays, errors, explored, recorded, seeds,
};
use model::language::{Builder, Instruction, Model, R0, Test};
use model::oracle::{Limits, reachable, truth};
use model::random::{Item, Seeded, Shape, random_program};

/// Limits within which brute force is fast.
const SMALL: Limits = Limits {
    nodes: 10_000,
    hints: 2,
};

/// More states than the random programs here may have.
const MOST_STATES: usize = 3000;

fn has_assumption(model: &Model) -> bool {
    model.uses(|instruction| matches!(instruction, Instruction::Stop))
}

/// Random programs with assumptions.
fn programs(shapes: &[Shape], count: u64) -> impl Iterator<Item = Seeded> {
    let of_shape = move |shape: &Shape| {
        let shape = shape.clone().with_assumptions();
        seeds(count).map(move |seed| random_program(seed, &shape))
    };
    let all = shapes.iter().flat_map(of_shape);
    all.filter(|program| has_assumption(&program.model))
}

fn exhaustively(monitored_model: MonitoredModel) -> Settings {
    all_of(Strategy::Exhaustive, monitored_model)
}

fn strategies(seed: u64) -> [Strategy; 5] {
    let executions = 30;
    [
        Strategy::Exhaustive,
        Strategy::Bounded { preemptions: 1 },
        Strategy::Bounded { preemptions: 1000 },
        Strategy::Random { seed, executions },
        Strategy::Pct {
            seed,
            executions,
            depth: 2,
        },
    ]
}

/// Each class is run, and once unless an operation may touch several objects. Those that an assumption ends are counted.
#[test]
fn every_class_is_run_and_those_that_stop_are_counted() {
    let shapes = [
        Shape::atomics(),
        Shape::locks(),
        Shape::counters(),
        Shape::blocking(),
        Shape::everything(),
    ];
    let (mut compared, mut stopped, mut finished, mut deadlocked) = (0, 0, 0, 0);
    for program in programs(&shapes, 300) {
        let model = &program.model;
        let Some(truth) = truth(model, &SMALL) else {
            continue;
        };
        compared += 1;
        for workers in [1, 2] {
            let settings = Settings {
                workers,
                always_share_work: workers > 1,
                ..exhaustively(MonitoredModel::None)
            };
            let (report, log) = recorded(model, &settings);
            let context = format!("{workers} workers, {program}");
            assert!(report.is_complete(), "{context}");
            assert_same_classes(log.classes.keys(), truth.classes.keys(), &context);
            let expected = truth.count(Status::Stopped) as u64;
            match model.has_partners() {
                true => assert!(report.pruned >= expected, "{context}"),
                false => assert_eq!(report.pruned, expected, "{context}"),
            }
            assert_eq!(report.pruned > 0, expected > 0, "{context}");
        }
        for preemptions in 0..3 {
            let strategy = Strategy::Bounded { preemptions };
            let (_, log) = recorded(model, &all_of(strategy, MonitoredModel::None));
            let within = truth.classes_within(preemptions);
            let context = format!("at most {preemptions}: {program}");
            assert_same_classes(log.classes.keys(), within, &context);
        }
        stopped += truth.count(Status::Stopped);
        finished += truth.count(Status::Finished);
        deadlocked += truth.count(Status::Deadlocked);
    }
    println!("{compared}: {stopped} stopped, {finished} finished, {deadlocked} deadlocked");
    assert!(compared > 500, "only {compared} were small enough");
    let least = stopped.min(finished).min(deadlocked);
    assert!(least > 500, "{stopped} {finished} {deadlocked}");
}

/// Failures are found wherever another thread may have been stopped; deadlocks and livelocks only where none was.
#[test]
fn errors_are_those_of_executions_that_no_assumption_ends() {
    let shapes = [
        Shape::blocking(),
        Shape::blocking().with_assertions(),
        Shape::spinning(),
        Shape::spinning().with_assertions(),
        Shape::spinning().with_threads(2, 2).with_items(2, 6),
        Shape::atomics().with_assertions(),
    ];
    let (mut compared, mut excused, mut failing, mut waiting) = (0, 0, 0, 0);
    for (number, program) in programs(&shapes, 120).enumerate() {
        let mut model = (*program.model).clone();
        model.ends_with_first = number % 4 == 0;
        let model = Arc::new(model);
        let Some(truth) = reachable(&model, MOST_STATES) else {
            continue;
        };
        compared += 1;
        let expected = Errors {
            fails: truth.fails,
            deadlocks: truth.deadlocks,
            livelocks: truth.livelocks,
            others: false,
        };
        for strategy in strategies(program.seed) {
            let settings = all_of(strategy.clone(), MonitoredModel::None);
            let report = explored(&model, &settings);
            let found = errors(&report);
            let context = format!("{strategy:?} {model}");
            let is_real = |found: bool, expected: bool| expected || !found;
            assert!(is_real(found.fails, expected.fails), "{context}");
            assert!(is_real(found.deadlocks, expected.deadlocks), "{context}");
            assert!(is_real(found.livelocks, expected.livelocks), "{context}");
            assert!(!found.others, "{context}");
            assert!(truth.stops || report.pruned == 0, "{context}");
            if number % 8 == 0 {
                assert_replays(&model, &settings, &report, &context);
            }
            let is_whole = match strategy {
                Strategy::Exhaustive => true,
                // Where a failed assertion ends executions, others may need more preemptions than there are.
                Strategy::Bounded { preemptions } => preemptions == 1000,
                _ => false,
            };
            if is_whole {
                assert_eq!(found.fails, expected.fails, "{context}");
                // What comes after a failed assertion is not run.
                assert!(expected.fails || found == expected, "{found:?} {context}");
                let is_right = expected == Errors::default();
                let all_stop = is_right && !truth.finishes && !model.ends_with_first;
                assert!(!all_stop || report.pruned > 0, "{context}");
            }
        }
        // The same threads waiting where nothing is assumed.
        let mut blocked = (*model).clone();
        for instruction in blocked.threads.iter_mut().flatten() {
            if *instruction == Instruction::Stop {
                let never = blocked.objects.len() as u32;
                *instruction = Instruction::Receive(fencepost_memory::Address(never));
            }
        }
        blocked
            .objects
            .push(model::language::Object::Channel { capacity: None });
        let blocked = reachable(&Arc::new(blocked), usize::MAX).expect("there is no limit");
        excused += usize::from(blocked.deadlocks && !truth.deadlocks);
        failing += usize::from(expected.fails);
        waiting += usize::from(expected.deadlocks || expected.livelocks);
    }
    println!("{compared}: {excused} excused, {failing} fail, {waiting} wait");
    assert!(compared > 200, "only {compared} were small enough");
    let least = excused.min(failing).min(waiting);
    assert!(least > 20, "{excused} {failing} {waiting}");
}

/// An execution that an assumption ends is as good as any for the monitor: what its threads did before is a beginning of
/// other executions.
#[test]
fn violations_are_those_of_store_buffers() {
    let mut plain = Shape::memory().with_threads(2, 2).with_items(2, 5);
    plain.has_late_spawns = false;
    plain.cells = 2;
    plain.weights.retain(|(item, _)| {
        matches!(
            item,
            Item::Load | Item::Store | Item::StoreRegister | Item::Fence
        )
    });
    let (mut compared, mut unsafe_ones, mut stopping) = (0, 0, 0);
    for program in programs(&[plain, Shape::memory()], 250) {
        let model = &program.model;
        for monitored_model in MACHINES {
            let Some(expected) = leaves_sc(model, &monitored_model.model(), &SMALL) else {
                continue;
            };
            let report = explored(model, &exhaustively(monitored_model));
            assert!(report.is_complete(), "{program}");
            let found = report.violations > 0;
            assert_eq!(found, expected, "{monitored_model:?} {program}");
            assert_explained(&report, &program);
            compared += 1;
            unsafe_ones += u32::from(expected);
            stopping += u32::from(expected && report.pruned == report.executions);
        }
    }
    println!("{compared}: {unsafe_ones} unsafe, {stopping} of them never end");
    assert!(compared > 200, "only {compared} were small enough");
    assert!(
        unsafe_ones > 40 && compared - unsafe_ones > 40,
        "{unsafe_ones} of {compared}"
    );
    assert!(stopping > 0);
}

/// A thread stops unless it comes first; another one spins until it has done more.
fn waits_for_one_that_stops() -> Arc<Model> {
    let mut builder = Builder::new();
    let (first, flag) = (builder.cell(0), builder.cell(0));
    builder.thread(|code| {
        let goes_on = code.label();
        code.load(R0, first);
        code.jump_if(R0, Test::Equal, 0, goes_on);
        code.push(Instruction::Stop);
        code.place(goes_on);
        code.store(flag, 1);
    });
    builder.thread(|code| {
        code.store(first, 1);
        code.spin_until(R0, flag, Test::Equal, 1);
    });
    builder.parallel()
}

#[test]
fn a_wait_for_a_thread_that_has_stopped_is_no_livelock() {
    let model = waits_for_one_that_stops();
    for strategy in strategies(1) {
        let report = explored(&model, &all_of(strategy.clone(), MonitoredModel::Tso));
        assert_eq!(errors(&report), Errors::default(), "{strategy:?}");
        if strategy == Strategy::Exhaustive {
            assert!(report.is_complete());
            // It spins for no round, for one, or for one and until there is a change.
            assert_eq!((report.pruned, report.executions), (1, 4));
        }
    }
    // With a bound on rounds it may be that more of them would have been needed.
    let settings = Settings {
        spin: SpinRule::Bound(2),
        ..exhaustively(MonitoredModel::Tso)
    };
    let report = explored(&model, &settings);
    assert_eq!(errors(&report), Errors::default());
    assert!(!report.is_complete());
}

/// A loop that never comes back, and that the thread that has stopped would have ended. It is bounded, which the program
/// has to report.
#[test]
fn a_loop_without_end_is_left_where_a_thread_has_stopped() {
    let mut model = (*waits_for_one_that_stops()).clone();
    model.loops_have_no_end = true;
    let model = Arc::new(model);
    for strategy in strategies(1) {
        let report = explored(&model, &all_of(strategy.clone(), MonitoredModel::Tso));
        assert_eq!(errors(&report), Errors::default(), "{strategy:?}");
        let is_exhaustive = strategy == Strategy::Exhaustive;
        assert!(report.pruned == 1 || !is_exhaustive, "{}", report.pruned);
    }
}
