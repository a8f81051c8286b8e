//! Loops that wait come to an end, and hide nothing: errors and verdicts are those of brute force.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more programs.

use crate::model;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

use fencepost_explore::program::Intent;
use fencepost_explore::{
    Failure, Fault, Limit, MonitoredModel, Report, Settings, SpinRule, Strategy,
};
use fencepost_memory::{Address, LocationId, LockedDrains, ThreadId};
use model::buffers::leaves_sc;
use model::class::assert_same_classes;
use model::exploring::{
    Errors, MACHINES, all_of, assert_explained, assert_replays, cost, errors, explored, faults,
    keys, recorded, seeds,
};
use model::families;
use model::language::{Builder, Code, Instruction, Model, Order, R0, R1, R2, R3, R4, Test, Value};
use model::oracle::{Limits, reachable, truth};
use model::random::{Item, Seeded, Shape, random_program};
use model::running::AssertionFailed;

/// More executions than any of the programs here should take.
const TOO_MANY: u64 = 300_000;

/// Explores with a guard against loops that never end.
fn ended(
    model: &Arc<Model>,
    settings: &Settings,
    program: &impl Display,
) -> Report<AssertionFailed> {
    let settings = Settings {
        max_executions: Some(TOO_MANY),
        ..settings.clone()
    };
    let report = explored(model, &settings);
    let did_end = !report.limits.contains(&Limit::Executions(TOO_MANY));
    assert!(did_end, "more than {TOO_MANY} executions\n{program}");
    report
}

fn exhaustively(monitored_model: MonitoredModel) -> Settings {
    all_of(Strategy::Exhaustive, monitored_model)
}

/// The errors that a model has, however long its loops run.
fn true_errors(model: &Arc<Model>) -> Errors {
    let reachable = reachable(model, usize::MAX).expect("there is no limit");
    Errors {
        fails: reachable.fails,
        deadlocks: reachable.deadlocks,
        livelocks: reachable.livelocks,
        others: false,
    }
}

/// Where the spin hints of a model are.
fn hint_locations(model: &Model) -> BTreeSet<Option<LocationId>> {
    let instructions = model.threads.iter().flatten();
    let hints = instructions
        .enumerate()
        .filter(|(_, instruction)| **instruction == Instruction::Hint);
    hints
        .map(|(number, _)| Some(LocationId::from_index(number as u32)))
        .collect()
}

/// A lock that is taken with a swap, or with a look before that.
fn spin_lock(threads: usize, rounds: usize, looks_first: bool) -> Arc<Model> {
    let mut builder = Builder::new();
    let (lock, owner) = (builder.cell(0), builder.cell(0));
    for me in 1..=threads as u64 {
        builder.thread(|code| {
            for _ in 0..rounds {
                let (top, wait, got) = (code.here(), code.label(), code.label());
                if looks_first {
                    code.load(R0, lock);
                    code.jump_if(R0, Test::Different, 0, wait);
                }
                code.push(Instruction::Swap {
                    into: R0,
                    cell: lock,
                    value: Value::Constant(1),
                    order: Order::SeqCst,
                });
                code.jump_if(R0, Test::Equal, 0, got);
                code.place(wait);
                code.push(Instruction::Hint);
                code.jump(top);
                code.place(got);
                code.store(owner, me);
                code.load(R1, owner);
                code.assert(R1, Test::Equal, me);
                code.push(Instruction::Store {
                    cell: lock,
                    value: Value::Constant(0),
                    order: Order::Release,
                });
            }
        });
    }
    builder.parallel()
}

/// Hands a value over: it is written, then the flag is set; the reader waits for the flag.
fn hand_over(is_flag_first: bool) -> Arc<Model> {
    let mut builder = Builder::new();
    let (data, flag) = (builder.cell(0), builder.cell(0));
    builder.thread(|code| {
        if is_flag_first {
            code.store(flag, 1);
            code.store(data, 1);
        } else {
            code.store(data, 1);
            code.store(flag, 1);
        }
    });
    builder.thread(|code| {
        code.spin_until(R0, flag, Test::Equal, 1);
        code.load(R1, data);
        code.assert(R1, Test::Equal, 1);
    });
    builder.parallel()
}

/// Programs that wait in loops, by name.
fn waiting_programs() -> Vec<(String, Arc<Model>)> {
    let mut programs = Vec::new();
    for is_fenced in [false, true] {
        let name = |family: &str| format!("{family}, fenced: {is_fenced}");
        programs.push((name("Peterson"), families::peterson(1, is_fenced)));
        programs.push((name("Peterson twice"), families::peterson(2, is_fenced)));
        programs.push((name("Dekker"), families::dekker(1, is_fenced)));
        programs.push((name("Dekker twice"), families::dekker(2, is_fenced)));
        programs.push((name("bakery"), families::bakery(2, 1, is_fenced)));
    }
    for (threads, rounds) in [(2, 1), (2, 2), (3, 1)] {
        let name = |family: &str| format!("{family}, {threads} threads, {rounds} rounds");
        programs.push((name("ticket lock"), families::ticket_lock(threads, rounds)));
        programs.push((name("spin lock"), spin_lock(threads, rounds, false)));
        programs.push((
            name("spin lock that looks"),
            spin_lock(threads, rounds, true),
        ));
    }
    programs.push(("hand-over".into(), hand_over(false)));
    programs.push(("hand-over, flag first".into(), hand_over(true)));
    programs
}

/// Exploration ends on loops as they are, and errors are found where there are some.
#[test]
fn waiting_programs_have_their_errors() {
    for (name, model) in waiting_programs() {
        let report = ended(&model, &exhaustively(MonitoredModel::None), &name);
        assert!(report.is_complete(), "{name}: {:?}", report.limits);
        assert_eq!(errors(&report), true_errors(&model), "{name}");
        let waits: BTreeSet<_> = report.waits.iter().copied().collect();
        assert_eq!(waits.len(), report.waits.len(), "{name}");
        assert!(waits.is_subset(&hint_locations(&model)), "{name}");
        assert!(!waits.is_empty(), "{name}");
    }
}

/// The monitors' verdicts on them are those of store buffers with loops that run a few rounds.
#[test]
fn waiting_programs_have_their_verdicts() {
    let (mut verdicts, mut compared) = (BTreeSet::new(), 0);
    for (name, model) in waiting_programs() {
        for monitored_model in MACHINES {
            let report = ended(&model, &exhaustively(monitored_model), &name);
            assert_explained(&report, &name);
            let is_reported = report.violations > 0;
            if errors(&report).fails && !is_reported {
                continue;
            }
            if verdict_is_right(&model, monitored_model, &report, 12_000, &name) {
                verdicts.insert((format!("{monitored_model:?}"), is_reported));
                compared += 1;
            }
        }
    }
    assert_eq!(verdicts.len(), 2 * MACHINES.len(), "{verdicts:?}");
    assert!(compared > 30, "only {compared} were small enough");
}

/// Compares a verdict with brute force, as far as that goes within so many states. Whether it went
/// far enough.
fn verdict_is_right(
    model: &Arc<Model>,
    monitored_model: MonitoredModel,
    report: &Report<AssertionFailed>,
    nodes: usize,
    program: &impl Display,
) -> bool {
    let is_reported = report.violations > 0;
    let brute_force = |hints| leaves_sc(model, &monitored_model.model(), &Limits { nodes, hints });
    if !is_reported {
        // What is there with more rounds is there with few; if not, it is missed here.
        for hints in [2, 1] {
            if let Some(leaves_sc) = brute_force(hints) {
                assert!(
                    !leaves_sc,
                    "{monitored_model:?} missed with {hints} hints: {program}"
                );
                return true;
            }
        }
        return false;
    }
    // As many rounds as the shortest execution has that shows one.
    let shown = report.findings.iter();
    let shown = shown.filter(|found| matches!(found.failure, Failure::StoreBuffer(_)));
    let hints = shown.map(|found| cost(model, &found.schedule).hints).min();
    let hints = hints.expect("the first one is kept");
    for hints in [hints, hints + 1] {
        match brute_force(hints) {
            None => return false,
            Some(true) => return true,
            Some(false) => {}
        }
    }
    panic!("{monitored_model:?} reported, and there is none with {hints} hints: {program}");
}

/// Where every loop can make its thread wait, every loop is named.
#[test]
fn the_report_names_the_loops_that_waited() {
    for model in [
        families::peterson(1, true),
        families::ticket_lock(2, 1),
        hand_over(false),
    ] {
        let report = explored(&model, &exhaustively(MonitoredModel::None));
        let waits: BTreeSet<_> = report.waits.iter().copied().collect();
        assert_eq!(waits, hint_locations(&model), "{model}");
        for strategy in [
            Strategy::Bounded { preemptions: 2 },
            Strategy::Random {
                seed: 1,
                executions: 500,
            },
        ] {
            let report = explored(&model, &all_of(strategy, MonitoredModel::None));
            assert!(!report.waits.is_empty(), "{model}");
        }
    }
    // Nobody waits.
    let model = families::treiber(2, 2, true);
    let report = explored(&model, &exhaustively(MonitoredModel::None));
    assert_eq!(report.waits, []);
}

/// Random programs with loops that brute force is quick with.
fn looping(shape: &Shape, count: u64) -> impl Iterator<Item = Seeded> {
    let made = seeds(count).map(move |seed| random_program(seed, shape));
    made.filter(|program| program.model.spins() && !is_too_large(&program.model))
}

/// Random programs with loops: errors of every strategy that goes through everything.
#[test]
fn random_programs_with_loops_have_their_errors() {
    let shapes = [
        Shape::spinning(),
        Shape::spinning().with_assertions(),
        Shape::spinning().with_threads(2, 2).with_items(2, 6),
        Shape::spinning().with_threads(4, 4).with_items(1, 2),
    ];
    let (mut compared, mut failing, mut livelocking, mut right) = (0, 0, 0, 0);
    for shape in shapes {
        for program in looping(&shape, 100) {
            let model = &program.model;
            compared += 1;
            let expected = true_errors(model);
            let report = ended(model, &exhaustively(MonitoredModel::None), &program);
            let found = errors(&report);
            assert!(report.is_complete(), "{program}");
            assert_eq!(found.fails, expected.fails, "{program}");
            // What comes after a failed assertion is not run.
            assert!(expected.fails || found == expected, "{found:?} {program}");
            let waits: BTreeSet<_> = report.waits.iter().copied().collect();
            assert!(waits.is_subset(&hint_locations(model)), "{program}");
            if program.seed % 4 == 0 {
                let bounded = all_of(
                    Strategy::Bounded { preemptions: 1000 },
                    MonitoredModel::None,
                );
                let bounded = ended(model, &bounded, &program);
                assert_eq!(errors(&bounded), expected, "bounded: {program}");
            }
            failing += usize::from(expected.fails);
            livelocking += usize::from(expected.livelocks);
            right += usize::from(expected == Errors::default());
        }
    }
    assert!(compared > 200, "only {compared} were small enough");
    let least = failing.min(livelocking).min(right);
    assert!(least > 10, "{failing} {livelocking} {right} of {compared}");
}

/// Whether brute force with short loops takes long.
fn is_too_large(model: &Arc<Model>) -> bool {
    let limits = Limits {
        nodes: 6000,
        hints: 2,
    };
    truth(model, &limits).is_none()
}

/// Random programs with loops: what the monitors say.
#[test]
fn random_programs_with_loops_have_their_verdicts() {
    let (mut compared, mut reported) = (0, 0);
    // Mostly loads and stores that nothing orders.
    let mut plain = Shape::spinning().with_items(2, 4);
    let is_plain = |item| matches!(item, Item::Load | Item::Store | Item::Spin | Item::Guard);
    plain.weights.retain(|(item, _)| is_plain(*item));
    plain.has_late_spawns = false;
    plain.has_orders = false;
    let pairs = plain.clone().with_threads(2, 2).with_items(3, 5);
    for shape in [Shape::spinning(), pairs, plain] {
        for program in looping(&shape, 60) {
            let model = &program.model;
            for monitored_model in MACHINES {
                let report = ended(model, &exhaustively(monitored_model), &program);
                assert_explained(&report, &program);
                if verdict_is_right(model, monitored_model, &report, 20_000, &program) {
                    compared += 1;
                    reported += usize::from(report.violations > 0);
                }
            }
        }
    }
    assert!(compared > 200, "only {compared} were small enough");
    assert!(
        (30..compared).contains(&reported),
        "{reported} of {compared}"
    );
}

/// Findings of programs with loops can be replayed, also where threads were forced to continue.
#[test]
fn findings_in_loops_can_be_replayed() {
    let mut replayed = 0;
    let shape = Shape::spinning().with_assertions();
    for program in looping(&shape, 80) {
        let model = &program.model;
        for strategy in [
            Strategy::Exhaustive,
            Strategy::Bounded { preemptions: 1 },
            Strategy::Pct {
                seed: program.seed,
                executions: 20,
                depth: 2,
            },
        ] {
            for spin in [SpinRule::UntilChange, SpinRule::Bound(2)] {
                let settings = Settings {
                    spin,
                    ..all_of(
                        strategy.clone(),
                        MonitoredModel::Pso(LockedDrains::Everything),
                    )
                };
                let report = ended(model, &settings, &program);
                assert_replays(model, &settings, &report, &program);
                replayed += report.findings.len();
            }
        }
    }
    assert!(replayed > 50, "only {replayed} findings");
}

/// With a bound on rounds, all that is found is there, and if something was left out it is said.
#[test]
fn bounded_rounds_find_only_what_is_there() {
    let shape = Shape::spinning().with_assertions();
    let (mut compared, mut cut, mut wrong) = (0, 0, 0);
    for program in looping(&shape, 200) {
        let model = &program.model;
        compared += 1;
        let expected = true_errors(model);
        for rounds in [0, 1, 3] {
            let settings = Settings {
                spin: SpinRule::Bound(rounds),
                ..exhaustively(MonitoredModel::Tso)
            };
            let report = ended(model, &settings, &program);
            let found = errors(&report);
            let is_real = |found: bool, expected: bool| expected || !found;
            assert!(is_real(found.fails, expected.fails), "{program}");
            assert!(is_real(found.deadlocks, expected.deadlocks), "{program}");
            assert!(!found.livelocks && !found.others, "{found:?} {program}");
            assert_explained(&report, &program);
            assert_eq!(report.waits, [], "nothing is assumed {program}");
            let is_cut = report.limits.contains(&Limit::Spins(rounds));
            assert_eq!(is_cut, !report.is_complete(), "{program}");
            if !expected.fails {
                // A thread that waits for ever cannot be brought to an end.
                assert!(is_cut || !expected.livelocks, "{program}");
            }
            // What is complete has everything.
            if report.is_complete() && !expected.fails {
                let all = ended(model, &exhaustively(MonitoredModel::Tso), &program);
                assert_eq!(keys(&report), keys(&all), "{program}");
            }
            cut += usize::from(is_cut);
            wrong += usize::from(found != Errors::default());
        }
    }
    assert!(compared > 50, "only {compared} were small enough");
    assert!(cut > 20 && wrong > 20, "{cut} cut, {wrong} wrong");
}

/// With more rounds than a program takes, nothing is cut.
#[test]
fn bounded_rounds_on_mutual_exclusion() {
    for is_fenced in [false, true] {
        for model in [
            families::peterson(1, is_fenced),
            families::dekker(1, is_fenced),
            families::ticket_lock(2, 1),
        ] {
            let mut executions = 0;
            for rounds in [0, 1, 2] {
                let settings = Settings {
                    spin: SpinRule::Bound(rounds),
                    ..exhaustively(MonitoredModel::Tso)
                };
                let report = ended(&model, &settings, &model);
                assert_eq!(errors(&report), Errors::default(), "{model}");
                assert!(report.executions >= executions, "{model}");
                executions = report.executions;
                let all = ended(&model, &exhaustively(MonitoredModel::Tso), &model);
                assert_eq!(report.violations > 0, all.violations > 0, "{model}");
            }
        }
    }
}

/// Waits a number of rounds for the cell, then gives up and fails.
fn give_up(cell: Address, rounds: u64, code: &mut Code) {
    let (top, out) = (code.here(), code.label());
    code.load(R0, cell);
    code.jump_if(R0, Test::Different, 0, out);
    code.set(R1, (R1, 1));
    code.assert(R1, Test::Below, rounds);
    code.push(Instruction::Hint);
    code.jump(top);
    code.place(out);
}

/// A loop that counts its rounds does more than wait. With the assumption that loops only wait, its
/// place is named; with a bound on rounds, that rounds were left out is said, until there are enough
/// of them.
#[test]
fn a_loop_that_gives_up_is_named_or_said_to_be_cut() {
    let mut builder = Builder::new();
    let flag = builder.cell(0);
    builder.thread(|code| give_up(flag, 6, code));
    builder.thread(|code| code.store(flag, 1));
    let model = builder.parallel();
    let report = explored(&model, &exhaustively(MonitoredModel::None));
    let waits: BTreeSet<_> = report.waits.iter().copied().collect();
    assert_eq!(waits, hint_locations(&model));
    for rounds in 0..8 {
        let settings = Settings {
            spin: SpinRule::Bound(rounds),
            ..exhaustively(MonitoredModel::None)
        };
        let report = explored(&model, &settings);
        let fails = errors(&report).fails;
        let is_cut = report.limits == [Limit::Spins(rounds)];
        assert!(fails || is_cut, "{rounds} rounds: {:?}", report.limits);
        assert_eq!(fails, rounds >= 4, "{rounds} rounds");
    }
}

/// A thread that gives up runs on when no one else can move, and ends.
#[test]
fn a_thread_that_gives_up_ends_when_no_one_else_can_move() {
    let gives_up = |code: &mut Code, cell| {
        let (top, out) = (code.here(), code.label());
        code.load(R0, cell);
        code.jump_if(R0, Test::Different, 0, out);
        code.set(R1, (R1, 1));
        code.jump_if(R1, Test::Equal, 20, out);
        code.push(Instruction::Hint);
        code.jump(top);
        code.place(out);
    };
    // Alone; with a thread that has ended; with one that is blocked until it has given up; and two
    // that both give up.
    let mut programs = Vec::new();
    for others in 0..4 {
        let mut builder = Builder::new();
        let (cell, other) = (builder.cell(0), builder.cell(0));
        let mutex = builder.mutex();
        builder.thread(|code| {
            if others == 2 {
                code.lock(mutex);
            }
            gives_up(code, cell);
            code.store(other, 1);
            if others == 2 {
                code.unlock(mutex);
            }
        });
        match others {
            1 => builder.thread(|code| code.load(R0, other)),
            2 => builder.thread(|code| {
                code.lock(mutex);
                code.store(cell, 1);
                code.unlock(mutex);
            }),
            3 => builder.thread(|code| gives_up(code, cell)),
            _ => {}
        }
        programs.push(builder.parallel());
    }
    for model in programs {
        for strategy in [
            Strategy::Exhaustive,
            Strategy::Bounded { preemptions: 3 },
            Strategy::Random {
                seed: 3,
                executions: 50,
            },
        ] {
            let report = ended(&model, &all_of(strategy, MonitoredModel::None), &model);
            assert_eq!(faults(&report), [], "{model}");
        }
    }
}

fn livelock_of(report: &Report<AssertionFailed>) -> Vec<(ThreadId, Intent)> {
    match &faults(report)[..] {
        [Fault::Livelock(waiting)] => {
            for waiting in waiting {
                assert!(waiting.location.is_some());
            }
            waiting.iter().map(|w| (w.thread, w.intent)).collect()
        }
        other => panic!("{other:?} is no livelock"),
    }
}

/// Threads that wait for what no one does are reported, with all that have not ended.
#[test]
fn waiting_for_ever_is_a_livelock() {
    let strategies = || {
        [
            Strategy::Exhaustive,
            Strategy::Bounded { preemptions: 2 },
            Strategy::Random {
                seed: 5,
                executions: 3,
            },
            Strategy::Pct {
                seed: 5,
                executions: 3,
                depth: 2,
            },
        ]
    };
    let hint = |thread| (ThreadId(thread), Intent::SpinHint);
    // One alone.
    let mut builder = Builder::new();
    let cell = builder.cell(0);
    builder.thread(|code| code.spin_until(R0, cell, Test::Equal, 1));
    let lone = builder.parallel();
    // Two that wait for two flags.
    let mut builder = Builder::new();
    let cells = builder.cells(2);
    for cell in cells {
        builder.thread(|code| code.spin_until(R0, cell, Test::Equal, 1));
    }
    let two = builder.parallel();
    for strategy in strategies() {
        for continue_after_failure in [false, true] {
            let settings = Settings {
                continue_after_failure,
                ..all_of(strategy.clone(), MonitoredModel::Tso)
            };
            let report = explored(&lone, &settings);
            assert_eq!(livelock_of(&report), [hint(0)], "{strategy:?}");
            assert_replays(&lone, &settings, &report, &lone);
            let report = explored(&two, &settings);
            assert_eq!(livelock_of(&report), [hint(0), hint(1)], "{strategy:?}");
            assert_replays(&two, &settings, &report, &two);
        }
    }
    // One waits in a loop and holds what another one is blocked on.
    let mut builder = Builder::new();
    let (cell, mutex) = (builder.cell(0), builder.mutex());
    builder.thread(|code| {
        code.lock(mutex);
        code.spin_until(R0, cell, Test::Equal, 1);
        code.unlock(mutex);
    });
    builder.thread(|code| {
        code.lock(mutex);
        code.store(cell, 1);
        code.unlock(mutex);
    });
    let blocked = builder.parallel();
    let report = explored(&blocked, &exhaustively(MonitoredModel::None));
    assert_eq!(report.executions, 2);
    let waiting = livelock_of(&report);
    let threads: Vec<ThreadId> = waiting.iter().map(|(thread, _)| *thread).collect();
    assert_eq!(threads, [ThreadId(0), ThreadId(1)]);
    assert_eq!(waiting[0].1, Intent::SpinHint);
    assert!(matches!(waiting[1].1, Intent::Access { object, .. } if object == mutex));
    // Only in some executions: what they wait for was taken by someone else.
    let mut builder = Builder::new();
    let cell = builder.cell(1);
    for _ in 0..2 {
        builder.thread(|code| {
            let (top, out) = (code.here(), code.label());
            code.compare_exchange(R0, cell, 1, 2);
            code.jump_if(R0, Test::Equal, 1, out);
            code.push(Instruction::Hint);
            code.jump(top);
            code.place(out);
        });
    }
    let taken = builder.parallel();
    let report = ended(&taken, &exhaustively(MonitoredModel::None), &taken);
    assert!(errors(&report).livelocks);
    assert_eq!(
        report.faults, report.executions,
        "the second one always waits"
    );
}

/// A hint that is not in a loop does nothing.
#[test]
fn a_single_yield_hides_nothing() {
    let mut builder = Builder::new();
    let cells = builder.cells(2);
    builder.thread(|code| {
        let go_on = code.label();
        code.load(R0, cells[0]);
        code.jump_if(R0, Test::Different, 0, go_on);
        code.push(Instruction::Hint);
        code.place(go_on);
        code.store(cells[1], 1);
        code.load(R1, cells[0]);
        code.assert(R1, Test::Equal, 1);
    });
    builder.thread(|code| {
        code.store(cells[0], 1);
        code.load(R0, cells[1]);
    });
    let model = builder.parallel();
    let (report, log) = recorded(&model, &exhaustively(MonitoredModel::None));
    let limits = Limits {
        nodes: usize::MAX,
        hints: 1,
    };
    let truth = truth(&model, &limits).expect("there is no limit");
    assert!(errors(&report).fails, "the yield waited for the other");
    assert!(truth.fails() && !truth.is_cut);
    assert_eq!(report.waits, []);
    assert!(
        log.classes
            .keys()
            .all(|class| truth.classes.contains_key(class))
    );
}

/// Hints are put into random programs without loops, anywhere: all classes are run, once.
#[test]
fn yields_change_no_classes() {
    let mut compared = 0;
    for mut shape in [Shape::atomics(), Shape::memory(), Shape::locks()] {
        shape.weights.retain(|(item, _)| *item != Item::Retry);
        for seed in seeds(120) {
            let program = random_program(seed, &shape);
            let model = Arc::new(with_yields(&program.model, seed));
            let limits = Limits {
                nodes: 6000,
                hints: 1000,
            };
            let Some(truth) = truth(&model, &limits) else {
                continue;
            };
            compared += 1;
            let seeded = format!("seed {seed}\n{model}");
            let (report, log) = recorded(&model, &exhaustively(MonitoredModel::None));
            assert_same_classes(log.classes.keys(), truth.classes.keys(), &seeded);
            assert_eq!(report.executions, truth.classes.len() as u64, "{seeded}");
            assert_eq!(report.waits, [], "{seeded}");
            let bounded = all_of(Strategy::Bounded { preemptions: 1 }, MonitoredModel::None);
            let (_, log) = recorded(&model, &bounded);
            assert_same_classes(log.classes.keys(), truth.classes_within(1), &seeded);
        }
    }
    assert!(compared > 200, "only {compared} were small enough");
}

/// The program with a hint before every third instruction.
fn with_yields(model: &Model, seed: u64) -> Model {
    let mut with = model.clone();
    for (thread, code) in with.threads.iter_mut().enumerate() {
        let mut places = vec![0; code.len() + 1];
        let mut longer = Vec::new();
        for (position, &instruction) in code.iter().enumerate() {
            places[position] = longer.len();
            if (seed as usize + thread + position) % 3 == 0 {
                longer.push(Instruction::Hint);
            }
            longer.push(instruction);
        }
        places[code.len()] = longer.len();
        for instruction in &mut longer {
            if let Instruction::Jump { to } | Instruction::JumpIf { to, .. } = instruction {
                *to = places[*to];
            }
        }
        *code = longer;
    }
    with
}

/// A loop may hint in two places.
#[test]
fn a_loop_with_two_hints_waits_too() {
    let mut builder = Builder::new();
    let cells = builder.cells(2);
    builder.thread(|code| {
        let (top, out) = (code.here(), code.label());
        for cell in &cells {
            code.load(R0, *cell);
            code.jump_if(R0, Test::Different, 0, out);
            code.push(Instruction::Hint);
        }
        code.jump(top);
        code.place(out);
    });
    builder.thread(|code| code.store(cells[1], 1));
    let model = builder.parallel();
    let settings = Settings {
        max_steps: 100,
        ..exhaustively(MonitoredModel::Tso)
    };
    let report = ended(&model, &settings, &model);
    assert_eq!(true_errors(&model), Errors::default());
    assert_eq!(faults(&report), [], "{model}");
}

/// A loop in a loop: rounds of the outer one change something, so they are no waits.
#[test]
fn waits_inside_work_are_each_their_own() {
    let mut builder = Builder::new();
    let (turn, done) = (builder.cell(0), builder.cell(0));
    for me in 0..2_u64 {
        builder.thread(|code| {
            // Three rounds, in turns.
            code.set(R3, 0);
            let top = code.here();
            code.spin_until(R0, turn, Test::Equal, me);
            code.fetch_add(R2, done, 1);
            code.store(turn, 1 - me);
            code.set(R3, (R3, 1));
            code.jump_if(R3, Test::Below, 3, top);
            code.set(R4, 0);
        });
    }
    let model = builder.parallel();
    let report = ended(&model, &exhaustively(MonitoredModel::Tso), &model);
    assert_eq!(errors(&report), Errors::default(), "{model}");
    assert_eq!(true_errors(&model), Errors::default());
}
