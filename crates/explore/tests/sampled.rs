//! Random and replayed executions can be repeated, and are executions of the program; limits are
//! kept and said; what goes wrong with running a program is told from what is wrong with it.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more programs.

use crate::model;

use fencepost_explore::Stop;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use fencepost_explore::program::{Effect, Intent, Performed, Program, ThreadStatus};
use fencepost_explore::{
    Fault, Limit, MonitoredModel, Progress, Report, Schedule, Settings, Strategy, explore,
};
use fencepost_memory::{Address, LocationId, ThreadId};
use model::class::assert_same_classes;
use model::exploring::{all_of, errors, explored, faults, recorded, seeds};
use model::families;
use model::language::{Builder, Code, Instruction, Model, R0, R1, Test};
use model::oracle::{Limits, truth};
use model::random::{Shape, random_program};
use model::running::{AssertionFailed, ModelProgram};

const SMALL: Limits = Limits {
    nodes: 6000,
    hints: 3,
};

fn random(seed: u64, executions: u64) -> Strategy {
    Strategy::Random { seed, executions }
}

fn pct(seed: u64, executions: u64, depth: u32) -> Strategy {
    Strategy::Pct {
        seed,
        executions,
        depth,
    }
}

fn replay(schedule: &str) -> Strategy {
    let schedule: Schedule = schedule.parse().expect("it is a schedule");
    Strategy::Replay(schedule)
}

fn without_monitor(strategy: Strategy) -> Settings {
    all_of(strategy, MonitoredModel::None)
}

/// A seed determines the executions, whoever runs them; all of them are executions of the program.
#[test]
fn a_seed_determines_the_executions() {
    let (mut compared, mut other_seeds_differ) = (0, false);
    for shape in [Shape::everything().with_assertions(), Shape::memory()] {
        for seed in seeds(150) {
            let program = random_program(seed, &shape);
            let Some(truth) = truth(&program.model, &SMALL) else {
                continue;
            };
            compared += 1;
            for depth in 0..4 {
                let strategy = |seed| match depth {
                    0 => random(seed, 40),
                    depth => pct(seed, 40, depth),
                };
                let settings = without_monitor(strategy(seed));
                let (report, log) = recorded(&program.model, &settings);
                assert_eq!(report.executions, 40, "{program}");
                assert_eq!(report.abandoned, 0, "{program}");
                assert_eq!(report.limits, [Limit::Sample], "{program}");
                for class in log.classes.keys() {
                    let is_true = truth.classes.contains_key(class);
                    assert!(is_true, "there is no such class: {class}\n{program}");
                }
                for workers in [1, 2] {
                    let settings = Settings {
                        workers,
                        ..settings.clone()
                    };
                    let (again, also) = recorded(&program.model, &settings);
                    assert!(also.classes == log.classes, "{workers} workers\n{program}");
                    assert_eq!(again.executions, 40, "{workers} workers\n{program}");
                    assert_eq!(again.faults, report.faults, "{workers}\n{program}");
                    assert_eq!(again.steps, report.steps, "{workers}\n{program}");
                }
                let (_, other) = recorded(&program.model, &without_monitor(strategy(seed + 1)));
                other_seeds_differ |= other.classes != log.classes;
            }
        }
    }
    assert!(compared > 150, "only {compared} were small enough");
    assert!(other_seeds_differ);
}

/// The findings of several workers are those of one.
#[test]
fn workers_find_the_same_in_a_sample() {
    for seed in seeds(60) {
        let program = random_program(seed, &Shape::memory().with_assertions());
        for strategy in [random(seed, 100), pct(seed, 100, 3)] {
            let settings = all_of(strategy, MonitoredModel::Tso);
            let one = explored(&program.model, &settings);
            let two = explored(
                &program.model,
                &Settings {
                    workers: 2,
                    ..settings
                },
            );
            assert_eq!(two.violations, one.violations, "{program}");
            assert_eq!(two.borderline, one.borderline, "{program}");
            assert_eq!(two.distinct_violations, one.distinct_violations);
            assert_eq!(two.faults, one.faults, "{program}");
            assert_eq!(errors(&two), errors(&one), "{program}");
        }
    }
}

/// With enough random executions, every class of a small program is run.
#[test]
fn random_executions_see_every_class() {
    let mut compared = 0;
    let shape = Shape::everything().with_threads(2, 3).with_items(1, 3);
    for seed in seeds(60) {
        let program = random_program(seed, &shape.clone().with_assertions());
        let Some(truth) = truth(&program.model, &SMALL) else {
            continue;
        };
        if truth.classes.len() > 30 {
            continue;
        }
        compared += 1;
        let mut executions = 1000;
        loop {
            let (_, log) = recorded(&program.model, &without_monitor(random(seed, executions)));
            // A class may be rare.
            if log.classes.len() == truth.classes.len() || executions > 100_000 {
                assert_same_classes(log.classes.keys(), truth.classes.keys(), &program);
                break;
            }
            executions *= 10;
        }
    }
    assert!(compared > 20, "only {compared} were small enough");
}

/// Who is first is a bug of depth 1. Each time that one of the two must be interrupted adds 1.
fn bug_of_depth(depth: u32) -> Arc<Model> {
    match depth {
        1 => families::interrupted(&[1], 1),
        2 => families::interrupted(&[0, 1], 1),
        3 => families::interrupted(&[0, 1], 2),
        _ => families::interrupted(&[0, 1, 2], 2),
    }
}

/// Bugs of a depth are found with that depth, and those that are deeper are not.
#[test]
fn pct_finds_bugs_of_its_depth() {
    for bug in 1..=4 {
        let model = bug_of_depth(bug);
        for depth in 1..=5 {
            for seed in seeds(5) {
                let report = explored(&model, &without_monitor(pct(seed, 2000, depth)));
                let fails = errors(&report).fails;
                assert_eq!(fails, depth >= bug, "seed {seed}, depth {depth}\n{model}");
            }
        }
    }
    // A depth that no execution has.
    let report = explored(&bug_of_depth(2), &without_monitor(pct(1, 2000, u32::MAX)));
    assert!(errors(&report).fails);
    // Each philosopher but the last one is interrupted.
    for threads in 2..=4 {
        let model = families::philosophers(threads);
        let depth = threads as u32;
        let report = explored(&model, &without_monitor(pct(1, 20_000, depth)));
        assert!(errors(&report).deadlocks, "{model}");
        let report = explored(&model, &without_monitor(pct(1, 2000, 1)));
        assert!(!errors(&report).deadlocks, "{model}");
    }
    // Spin loops do not starve the others.
    for model in [
        families::peterson(2, true),
        families::bakery(3, 1, true),
        families::ticket_lock(4, 2),
    ] {
        for depth in 1..4 {
            let report = explored(&model, &without_monitor(pct(1, 200, depth)));
            assert_eq!(faults(&report), [], "{model}");
        }
    }
}

/// Replays of what cannot be say so, with the first step that cannot.
#[test]
fn a_schedule_that_cannot_be_is_refused() {
    let mut builder = Builder::new();
    let (cell, mutex) = (builder.cell(0), builder.mutex());
    for _ in 0..2 {
        builder.thread(|code| {
            code.lock(mutex);
            code.store(cell, 1);
            code.unlock(mutex);
        });
    }
    let model = builder.parallel();
    let run = |schedule: &str| explored(&model, &without_monitor(replay(schedule)));
    let refused = |schedule: &str, step: usize, thread: u32| {
        let report = run(schedule);
        let thread = ThreadId(thread);
        let expected = Fault::InfeasibleSchedule { step, thread };
        assert_eq!(faults(&report), [expected], "{schedule}");
        assert_eq!(
            report.limits,
            [Limit::Sample, Limit::FirstFailure],
            "{schedule}"
        );
        assert_eq!(report.findings[0].schedule.0.len(), step - 1);
    };
    // The mutex is held; there is no such thread; no such outcome; it has ended.
    refused("0.1", 2, 1);
    refused("0x2.7", 3, 7);
    refused("0.0:1", 2, 0);
    refused("0x4", 4, 0);
    // After the schedule, threads run in order.
    for schedule in ["-", "1", "1x3", "0x3.1x3"] {
        let report = run(schedule);
        assert_eq!(faults(&report), [], "{schedule}");
        assert_eq!(report.executions, 1, "{schedule}");
        assert_eq!(report.steps, 6, "{schedule}");
        assert_eq!(report.limits, [Limit::Sample], "{schedule}");
    }
}

/// A schedule that continues after all threads have finished is not of this program.
#[test]
fn a_schedule_that_is_too_long_is_refused() {
    let model = families::counter(2, 1);
    let report = explored(&model, &without_monitor(replay("0.1.0")));
    let thread = ThreadId(0);
    let expected = Fault::InfeasibleSchedule { step: 3, thread };
    assert_eq!(faults(&report), [expected]);
}

/// A program that does something else after some executions.
#[derive(Clone)]
struct Fickle {
    first: ModelProgram,
    then: ModelProgram,
    executions: u32,
    change_after: u32,
}

impl Fickle {
    fn new(first: &Arc<Model>, then: &Arc<Model>, change_after: u32) -> Self {
        Fickle {
            first: ModelProgram::new(first),
            then: ModelProgram::new(then),
            executions: 0,
            change_after,
        }
    }

    fn now(&self) -> &ModelProgram {
        if self.executions <= self.change_after {
            &self.first
        } else {
            &self.then
        }
    }

    fn now_mut(&mut self) -> &mut ModelProgram {
        if self.executions <= self.change_after {
            &mut self.first
        } else {
            &mut self.then
        }
    }

    fn explore(&self, settings: &Settings) -> Report<AssertionFailed> {
        explore(
            || self.clone(),
            settings,
            &mut |_| ControlFlow::Continue(()),
        )
    }
}

impl Program for Fickle {
    type Error = AssertionFailed;
    type Restart = Infallible;

    fn start(
        &mut self,
        performed: &mut Performed,
    ) -> Result<(), Stop<AssertionFailed, Infallible>> {
        self.executions += 1;
        self.now_mut().start(performed)
    }

    fn thread_bound(&self) -> usize {
        self.now().thread_bound()
    }

    fn status(&self, thread: ThreadId) -> ThreadStatus {
        self.now().status(thread)
    }

    fn state(&self, object: Address) -> u64 {
        self.now().state(object)
    }

    fn location(&self, thread: ThreadId) -> Option<LocationId> {
        self.now().location(thread)
    }

    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop<AssertionFailed, Infallible>> {
        self.now_mut().step(thread, outcome, performed)
    }

    fn finish(&mut self, is_complete: bool) -> Result<(), Stop<AssertionFailed, Infallible>> {
        self.now_mut().finish(is_complete)
    }
}

/// Thread 0 does what it is told, then both threads race on a cell.
fn beginning_with(first: u64, write: impl Fn(&mut Code, [Address; 2])) -> Arc<Model> {
    let mut builder = Builder::new();
    let cells = [builder.cell(first), builder.cell(0)];
    let race = builder.cell(0);
    builder.thread(|code| {
        code.load(R0, cells[1]);
        write(code, cells);
        code.store(race, 1);
    });
    builder.thread(|code| code.load(R0, race));
    builder.parallel()
}

/// A program that does not do the same again is told from one that is wrong, and the thread and the
/// step are named.
#[test]
fn what_is_not_repeatable_is_reported_as_that() {
    let original = beginning_with(0, |code, cells| code.compare_exchange(R1, cells[0], 0, 1));
    let others = [
        // Another operation, another object, another outcome of the same one, nothing at all.
        beginning_with(0, |code, cells| code.load(R1, cells[0])),
        beginning_with(0, |code, cells| code.compare_exchange(R1, cells[1], 0, 1)),
        beginning_with(1, |code, cells| code.compare_exchange(R1, cells[0], 0, 1)),
        beginning_with(0, |_, _| ()),
        beginning_with(0, |code, _| code.fence()),
        beginning_with(0, |code, _| code.push(Instruction::Hint)),
        beginning_with(0, |code, _| code.push(Instruction::Join(1))),
    ];
    for other in others {
        let standing = {
            let mut program = ModelProgram::new(&other);
            let mut performed = Performed::default();
            program.start(&mut performed).unwrap();
            performed.clear();
            program.step(ThreadId(0), 0, &mut performed).unwrap();
            program.status(ThreadId(0))
        };
        for continue_after_failure in [false, true] {
            let settings = Settings {
                continue_after_failure,
                ..without_monitor(Strategy::Exhaustive)
            };
            let report = Fickle::new(&original, &other, 1).explore(&settings);
            let [
                Fault::NonDeterminism {
                    thread,
                    step,
                    expected,
                    found,
                    location,
                },
            ] = &faults(&report)[..]
            else {
                panic!("{:?}\n{other}", faults(&report));
            };
            assert_eq!((*thread, *step), (ThreadId(0), 2), "{other}");
            let Intent::Access { object, effect, .. } = expected else {
                panic!("{expected:?}");
            };
            assert_eq!(*object, Address(0), "{other}");
            assert!(matches!(effect, Effect::WriteIf(_)), "{other}");
            assert_eq!(*found, standing, "{other}");
            assert!(location.is_some(), "{other}");
            assert_eq!(report.executions, 2, "{other}");
            assert_eq!(report.limits, [Limit::FirstFailure], "{other}");
        }
        // Under a bound it may also be somewhere where nothing is repeated.
        let bounded = without_monitor(Strategy::Bounded { preemptions: 2 });
        let mut is_noticed = false;
        for change_after in 1..8 {
            let report = Fickle::new(&original, &other, change_after).explore(&bounded);
            for fault in faults(&report) {
                let named = match fault {
                    Fault::NonDeterminism { thread, step, .. } => (thread, step),
                    other => panic!("{other:?}"),
                };
                assert_eq!(named.0, ThreadId(0), "{other}");
                is_noticed = true;
            }
        }
        assert!(is_noticed, "{other}");
    }
    // Values may differ: addresses of memory do.
    let stores = |number| beginning_with(0, move |code, cells| code.store(cells[0], number));
    let program = Fickle::new(&stores(1), &stores(2), 1);
    let report = program.explore(&without_monitor(Strategy::Exhaustive));
    assert_eq!(faults(&report), []);
    assert_eq!(report.executions, 2);
}

/// A program that ends earlier the second time.
#[test]
fn a_thread_that_ends_early_the_second_time_is_not_repeatable() {
    let with = |stores: u64| {
        let mut builder = Builder::new();
        let cells = builder.cells(2);
        builder.thread(|code| {
            for value in 0..stores {
                code.store(cells[0], value);
            }
        });
        builder.thread(|code| {
            code.store(cells[1], 1);
            code.load(R0, cells[1]);
        });
        builder.thread(|code| code.load(R0, cells[1]));
        builder.parallel()
    };
    let program = Fickle::new(&with(3), &with(2), 1);
    let report = program.explore(&without_monitor(Strategy::Exhaustive));
    match &faults(&report)[..] {
        [
            Fault::NonDeterminism {
                thread,
                step,
                found,
                ..
            },
        ] => assert_eq!(
            (*thread, *step, *found),
            (ThreadId(0), 3, ThreadStatus::Finished)
        ),
        other => panic!("{other:?}"),
    }
}

/// A loop without a hint runs until the step limit.
#[test]
fn an_endless_loop_without_hints_reaches_the_step_limit() {
    let with_loop = || {
        let mut builder = Builder::new();
        let cell = builder.cell(0);
        builder.thread(|code| {
            let top = code.here();
            code.load(R0, cell);
            code.jump_if(R0, Test::Equal, 0, top);
        });
        (builder, cell)
    };
    let (builder, cell) = with_loop();
    let alone = builder.parallel();
    for strategy in [
        Strategy::Exhaustive,
        Strategy::Bounded { preemptions: 1 },
        random(1, 1),
        pct(1, 1, 2),
        replay("-"),
    ] {
        let settings = Settings {
            max_steps: 50,
            ..all_of(strategy, MonitoredModel::Tso)
        };
        let report = explored(&alone, &settings);
        let [Fault::StepLimit { steps, last }] = &faults(&report)[..] else {
            panic!("{:?}", faults(&report));
        };
        assert_eq!((*steps, last.thread), (50, ThreadId(0)));
        assert!(matches!(last.intent, Intent::Access { object, .. } if object == cell));
        assert_eq!(report.steps, 50);
        assert_eq!((report.executions, report.faults), (1, 1));
        assert_eq!(report.findings[0].schedule.0.len(), 50);
    }
    // A thread that ends it can come after any of its rounds, or too late.
    let (mut builder, cell) = with_loop();
    builder.thread(|code| code.store(cell, 1));
    let model = builder.parallel();
    for strategy in [Strategy::Exhaustive, Strategy::Bounded { preemptions: 10 }] {
        let settings = Settings {
            max_steps: 50,
            ..without_monitor(strategy)
        };
        let (report, log) = recorded(&model, &settings);
        let found = faults(&report);
        let is_limit = |fault: &Fault<_>| matches!(fault, Fault::StepLimit { .. });
        assert!(!found.is_empty() && found.iter().all(is_limit), "{found:?}");
        assert!(report.executions <= 52, "{}", report.executions);
        // The store is the first step, or the second, and so on to the forty-ninth, and
        // one step is left for the load.
        assert_eq!(log.classes.len(), 49);
    }
}

/// Explores, and says how far it is in between.
fn explored_with_callback(
    model: &Arc<Model>,
    settings: &Settings,
    mut on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Report<AssertionFailed> {
    let program = ModelProgram::new(model);
    explore(|| program.clone(), settings, &mut on_progress)
}

/// A budget of executions is used up and no more; if it is enough, it is no limit.
#[test]
fn a_budget_of_executions_is_kept() {
    let model = families::counter(3, 2);
    for workers in 1..=3 {
        for most in [0, 1, 10, 89, 90, 91, 1000] {
            let settings = Settings {
                max_executions: Some(most),
                workers,
                ..without_monitor(Strategy::Exhaustive)
            };
            let report = explored(&model, &settings);
            let begun = report.executions + report.abandoned;
            assert_eq!(begun, most.min(90), "{most}, {workers} workers");
            let limits = match most {
                0..90 => vec![Limit::Executions(most)],
                _ => Vec::new(),
            };
            assert_eq!(report.limits, limits, "{most}, {workers} workers");
        }
    }
    for most in [0, 1, 10, 99, 200] {
        for strategy in [random(1, 100), pct(1, 100, 2)] {
            for workers in 1..=2 {
                let settings = Settings {
                    max_executions: Some(most),
                    workers,
                    ..without_monitor(strategy.clone())
                };
                let report = explored(&model, &settings);
                assert_eq!(report.executions, most.min(100), "{strategy:?}");
                let is_limit = report.limits.contains(&Limit::Executions(most));
                assert!(report.limits.contains(&Limit::Sample));
                assert_eq!(is_limit, most < 100, "{most} {:?}", report.limits);
            }
        }
    }
    let strategy = Strategy::Bounded { preemptions: 100 };
    let all = explored(&model, &without_monitor(strategy.clone()));
    assert_eq!((all.executions, &all.limits[..]), (90, &[][..]));
    for most in [0, 1, 10] {
        let settings = Settings {
            max_executions: Some(most),
            ..without_monitor(strategy.clone())
        };
        let report = explored(&model, &settings);
        assert!(report.executions + report.abandoned <= most);
        assert!(report.limits.contains(&Limit::Executions(most)));
    }
}

/// A budget that is just enough for a sample is no limit.
#[test]
fn a_budget_that_is_just_enough_is_no_limit() {
    for strategy in [random(1, 100), pct(1, 100, 2)] {
        let settings = Settings {
            max_executions: Some(100),
            ..without_monitor(strategy)
        };
        let report = explored(&families::counter(3, 2), &settings);
        assert_eq!(report.executions, 100);
        assert_eq!(report.limits, [Limit::Sample]);
    }
}

/// With no time at all, it stops at the first look at the clock.
#[test]
fn a_budget_of_time_is_kept() {
    let model = families::counter(4, 2);
    let strategies = [
        (Strategy::Exhaustive, 2520),
        (Strategy::Bounded { preemptions: 20 }, 2520),
        (Strategy::BoundedOrExhaustive { preemptions: 20 }, 2520),
        (random(1, 2520), 2520),
        (pct(1, 2520, 3), 2520),
    ];
    for (strategy, all) in strategies {
        for workers in 1..=2 {
            let with_time = |time| Settings {
                max_time: Some(time),
                workers,
                ..without_monitor(strategy.clone())
            };
            let none = Duration::ZERO;
            let report = explored(&model, &with_time(none));
            let is_limit = |report: &Report<_>, time| report.limits.contains(&Limit::Time(time));
            assert!(is_limit(&report, none), "{strategy:?} {workers}");
            assert!(report.executions < all, "{strategy:?} {workers}");
            assert!(!report.is_complete());
            let plenty = Duration::from_secs(1 << 20);
            let report = explored(&model, &with_time(plenty));
            assert!(!is_limit(&report, plenty), "{strategy:?} {workers}");
            assert_eq!(report.executions, all, "{strategy:?} {workers}");
        }
    }
}

/// The callback receives the progress and can stop the exploration.
#[test]
fn the_callback_receives_progress_and_can_stop() {
    let model = families::counter(4, 2);
    let bounded = Strategy::Bounded { preemptions: 20 };
    for strategy in [
        Strategy::Exhaustive,
        bounded.clone(),
        random(1, 2520),
        pct(1, 2520, 3),
    ] {
        for workers in 1..=2 {
            let settings = Settings {
                workers,
                ..without_monitor(strategy.clone())
            };
            let mut received: Vec<Progress> = Vec::new();
            let report = explored_with_callback(&model, &settings, |progress| {
                received.push(*progress);
                ControlFlow::Continue(())
            });
            assert_eq!(report.executions, 2520, "{strategy:?} {workers}");
            assert!(!received.is_empty(), "{strategy:?} {workers}");
            for pair in received.windows(2) {
                assert!(pair[0].steps <= pair[1].steps, "{strategy:?}");
                assert!(pair[0].elapsed <= pair[1].elapsed, "{strategy:?}");
                let is_same_bound = pair[0].bound == pair[1].bound;
                let grows = pair[0].executions <= pair[1].executions;
                assert!(grows || !is_same_bound, "{strategy:?} {pair:?}");
            }
            for progress in &received {
                assert!(progress.executions <= report.executions, "{strategy:?}");
                assert_eq!(progress.bound.is_some(), strategy == bounded);
                let is_exhaustive = strategy == Strategy::Exhaustive;
                assert_eq!(progress.estimate.is_some(), is_exhaustive);
                if let Some(estimate) = progress.estimate {
                    let executions = progress.executions as f64;
                    assert!(estimate.executions >= executions, "{progress:?}");
                }
            }
            if workers > 1 {
                // The others may have done all the work before this one is asked twice.
                continue;
            }
            let mut calls = 0;
            let report = explored_with_callback(&model, &settings, |_| {
                calls += 1;
                match calls {
                    1 => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                }
            });
            assert_eq!(calls, 2, "{strategy:?} {workers}");
            assert!(report.limits.contains(&Limit::Cancelled), "{strategy:?}");
            assert!(report.executions < 2520, "{strategy:?} {workers}");
        }
    }
}

/// Executions with fewer preemptions than the last bound are not counted twice.
fn is_bounded(strategy: &Strategy) -> bool {
    matches!(
        strategy,
        Strategy::Bounded { .. } | Strategy::BoundedOrExhaustive { .. }
    )
}

/// Long executions and many threads.
#[test]
fn large_programs_work() {
    // 1,000 steps each, of one class; of two; and in a race all along.
    let long = |race: u64| {
        let mut builder = Builder::new();
        let cells = builder.cells(3);
        for thread in 0..2 {
            builder.thread(|code| {
                for number in 0..1000 {
                    code.store(cells[thread], number);
                    if number < race {
                        code.fetch_add(R0, cells[2], 1);
                    }
                }
            });
        }
        builder.parallel()
    };
    for (race, classes) in [(0, 1), (1, 2), (3, 20)] {
        for workers in 1..=2 {
            let settings = Settings {
                workers,
                ..all_of(Strategy::Exhaustive, MonitoredModel::Tso)
            };
            let report = explored(&long(race), &settings);
            assert_eq!(report.executions, classes);
            assert!(report.is_complete());
        }
    }
    for strategy in [
        Strategy::Exhaustive,
        Strategy::Bounded { preemptions: 2 },
        Strategy::BoundedOrExhaustive { preemptions: 2 },
        random(1, 20),
        pct(1, 20, 4),
    ] {
        let settings = Settings {
            max_executions: Some(20),
            ..all_of(strategy.clone(), MonitoredModel::Tso)
        };
        let report = explored(&long(1000), &settings);
        let begun = report.executions + report.abandoned;
        assert!(begun == 20 || is_bounded(&strategy) && begun < 20);
        assert_eq!(report.faults, 0, "{strategy:?}");
    }
    let all = all_of(Strategy::Exhaustive, MonitoredModel::Tso);
    let report = explored(&families::private_cells(64, 2), &all);
    assert_eq!((report.executions, report.violations), (1, 0));
    for strategy in [
        Strategy::Exhaustive,
        Strategy::Bounded { preemptions: 2 },
        Strategy::BoundedOrExhaustive { preemptions: 2 },
        random(1, 100),
        pct(1, 100, 3),
    ] {
        for model in [
            families::counter(64, 2),
            families::store_buffering(64, false),
            families::critical_sections(64, 2),
            families::philosophers(64),
            families::ticket_lock(64, 1),
        ] {
            let settings = Settings {
                max_executions: Some(100),
                ..all_of(strategy.clone(), MonitoredModel::Tso)
            };
            let report = explored(&model, &settings);
            let begun = report.executions + report.abandoned;
            assert!(begun == 100 || is_bounded(&strategy) && begun < 100);
            let found = errors(&report);
            assert!(!found.fails && !found.livelocks && !found.others);
        }
    }
    // Each of 64 is before or after: the 64th class at least.
    let settings = Settings {
        max_executions: Some(5000),
        ..without_monitor(Strategy::Exhaustive)
    };
    let (report, log) = recorded(&families::readers(63), &settings);
    assert_eq!(report.executions, 5000);
    assert_eq!(log.classes.len(), 5000, "each is another class");
}
