//! Programs that end with their first thread: threads that wait for ever after that are no deadlock and no livelock, and
//! whatever else they do wrong is found.

use crate::model;

use std::sync::Arc;

use fencepost_explore::{MonitoredModel, SpinRule, Strategy};
use model::exploring::{Errors, all_of, assert_replays, errors, explored, seeds};
use model::language::{Builder, Instruction, Model, R0, Test, Value};
use model::oracle::reachable;
use model::random::{Shape, random_program};

/// More states than the random programs here may have.
const MOST_STATES: usize = 2000;

/// The same program, which ends with its first thread, and in which that waits for no other one.
fn ending_with_first(model: &Model) -> Arc<Model> {
    let mut ending = model.clone();
    ending.ends_with_first = true;
    for instruction in &mut ending.threads[0] {
        if let Instruction::Join(_) = instruction {
            *instruction = Instruction::Set {
                into: R0,
                value: Value::Constant(0),
            };
        }
    }
    Arc::new(ending)
}

fn strategies() -> [Strategy; 4] {
    [
        Strategy::Exhaustive,
        Strategy::Bounded { preemptions: 3 },
        Strategy::Random {
            seed: 1,
            executions: 30,
        },
        Strategy::Pct {
            seed: 1,
            executions: 30,
            depth: 2,
        },
    ]
}

/// Thread 0 spawns a thread that waits for a message, or spins on a cell, for ever, and then fails or not.
fn worker(spins: bool, fails: bool, joins: bool) -> Arc<Model> {
    let mut builder = Builder::new();
    let (cell, channel) = (builder.cell(0), builder.channel(None));
    builder.thread(|code| {
        code.push(Instruction::Spawn(1));
        if joins {
            code.push(Instruction::Join(1));
        }
    });
    builder.thread(|code| {
        code.load(R0, cell);
        if fails {
            code.assert(R0, Test::Equal, 1);
        }
        match spins {
            true => code.spin_until(R0, cell, Test::Equal, 1),
            false => code.push(Instruction::Receive(channel)),
        }
    });
    let mut model = (*builder.model()).clone();
    model.ends_with_first = true;
    Arc::new(model)
}

#[test]
fn what_is_left_when_the_first_thread_has_ended_may_wait_for_ever() {
    for strategy in strategies() {
        let settings = all_of(strategy, MonitoredModel::Tso);
        for spins in [false, true] {
            let found = |fails, joins| errors(&explored(&worker(spins, fails, joins), &settings));
            assert_eq!(found(false, false), Errors::default(), "{settings:?}");
            let failing = Errors {
                fails: true,
                ..Errors::default()
            };
            assert_eq!(found(true, false), failing, "{settings:?}");
            let waiting = Errors {
                deadlocks: !spins,
                livelocks: spins,
                ..Errors::default()
            };
            assert_eq!(found(false, true), waiting, "{settings:?}");
        }
    }
}

/// A loop that never comes back is left where it is when the first thread has ended, and otherwise goes on.
#[test]
fn loops_without_end_are_left_when_the_first_thread_has_ended() {
    for strategy in strategies() {
        let settings = all_of(strategy, MonitoredModel::Tso);
        for ends in [false, true] {
            let mut model = (*worker(true, false, false)).clone();
            (model.ends_with_first, model.loops_have_no_end) = (ends, true);
            let found = errors(&explored(&Arc::new(model), &settings));
            let expected = Errors {
                // Too many steps.
                others: !ends,
                ..Errors::default()
            };
            assert_eq!(found, expected, "{settings:?}");
        }
    }
}

/// With a bound on rounds, a thread that spins is not known to spin for ever.
#[test]
fn threads_at_the_spin_bound_are_left_out() {
    let mut settings = all_of(Strategy::Exhaustive, MonitoredModel::Tso);
    settings.spin = SpinRule::Bound(2);
    let report = explored(&worker(true, false, false), &settings);
    assert_eq!(errors(&report), Errors::default());
    assert!(!report.is_complete());
}

#[test]
fn random_programs_that_end_with_their_first_thread_have_their_errors() {
    let shapes = [
        Shape::blocking(),
        Shape::blocking().with_assertions(),
        Shape::spinning(),
        Shape::spinning().with_assertions(),
    ];
    let (mut excused, mut failing, mut deadlocking, mut compared) = (0, 0, 0, 0);
    for (number, shape) in shapes.iter().enumerate() {
        for seed in seeds(60) {
            let program = random_program(seed, shape);
            let model = ending_with_first(&program.model);
            let Some(expected) = reachable(&model, MOST_STATES) else {
                continue;
            };
            compared += 1;
            let expected = Errors {
                fails: expected.fails,
                deadlocks: expected.deadlocks,
                livelocks: expected.livelocks,
                others: false,
            };
            for strategy in strategies() {
                let is_exhaustive = strategy == Strategy::Exhaustive;
                let settings = all_of(strategy, MonitoredModel::None);
                let report = explored(&model, &settings);
                let found = errors(&report);
                let name = format!("shape {number}, seed {seed}, {settings:?}\n{model}");
                let is_real = |found: bool, expected: bool| expected || !found;
                assert!(is_real(found.fails, expected.fails), "{name}");
                assert!(is_real(found.deadlocks, expected.deadlocks), "{name}");
                assert!(is_real(found.livelocks, expected.livelocks), "{name}");
                assert_replays(&model, &settings, &report, &model);
                if !is_exhaustive {
                    continue;
                }
                assert_eq!(found.fails, expected.fails, "{name}");
                // What comes after a failed assertion is not run.
                assert!(expected.fails || found == expected, "{found:?} {name}");
                // The executions are those of the same program in which waiting for ever is an error.
                let mut waiting = (*model).clone();
                waiting.ends_with_first = false;
                let waiting = explored(&Arc::new(waiting), &settings);
                assert_eq!(report.executions, waiting.executions, "{name}");
                let errors = errors(&waiting);
                excused += usize::from(errors != found);
            }
            failing += usize::from(expected.fails);
            deadlocking += usize::from(expected.deadlocks || expected.livelocks);
        }
    }
    println!("{compared}: {excused} excused, {failing} fail, {deadlocking} wait");
    assert!(compared > 200, "only {compared} were small enough");
    let least = excused.min(failing).min(deadlocking);
    assert!(least > 10, "{excused} {failing} {deadlocking}");
}
