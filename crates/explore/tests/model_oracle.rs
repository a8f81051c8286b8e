//! The truth that the explorer is tested against is itself tested: counts made by hand,
//! interpreters that agree with each other, and monitors that agree with store buffers.

use crate::model;

use std::sync::Arc;

use fencepost_memory::{MemoryModel, Random};
use model::buffers::{buffered, leaves_sc};
use model::class::{Recording, Status, assert_same_classes};
use model::driver::{every_class, is_reported, run_at_random};
use model::families;
use model::language::{Builder, Instruction, Model, R0, Test};
use model::oracle::{Limits, Truth, every_interleaving, reachable, truth};
use model::random::{Shape, random_program};
use model::running::ModelProgram;
use rustc_hash::FxHashMap;

const UNLIMITED: Limits = Limits {
    nodes: usize::MAX,
    hints: 3,
};

fn truth_of(model: &Arc<Model>) -> Truth {
    truth(model, &UNLIMITED).expect("there is no limit")
}

/// The numbers of classes: finished, deadlocked, failed.
fn counts(model: &Arc<Model>) -> [usize; 3] {
    let truth = truth_of(model);
    [Status::Finished, Status::Deadlocked, Status::Failed].map(|status| truth.count(status))
}

fn factorial(number: u128) -> u128 {
    (1..=number).product()
}

#[test]
fn additions_to_one_cell_never_commute() {
    for (threads, additions) in [(1, 3), (2, 1), (2, 3), (3, 1), (3, 2), (4, 2)] {
        let orders = factorial((threads * additions) as u128)
            / factorial(additions as u128).pow(threads as u32);
        let truth = truth_of(&families::counter(threads, additions));
        assert_eq!(truth.classes.len() as u128, orders);
        assert_eq!(truth.interleavings, orders);
        assert_eq!(truth.count(Status::Finished) as u128, orders);
    }
}

#[test]
fn a_ring_of_store_buffering_cannot_read_only_zeros() {
    for threads in 2..=5 {
        let model = families::store_buffering(threads, false);
        assert_eq!(counts(&model), [(1 << threads) - 1, 0, 0]);
    }
}

#[test]
fn each_reader_is_before_or_after_the_writer() {
    for readers in 1..=6 {
        let truth = truth_of(&families::readers(readers));
        assert_eq!(truth.classes.len(), 1 << readers);
        assert_eq!(truth.interleavings, factorial(readers as u128 + 1));
    }
}

#[test]
fn last_zero_has_its_published_count() {
    assert_eq!(counts(&families::last_zero(5)), [64, 0, 0]);
}

#[test]
fn private_cells_have_one_class() {
    let truth = truth_of(&families::private_cells(3, 1));
    assert_eq!(truth.classes.len(), 1);
    assert_eq!(truth.interleavings, factorial(6) / 8);
}

#[test]
fn critical_sections_come_in_every_order() {
    assert_eq!(counts(&families::critical_sections(2, 1)), [2, 0, 0]);
    assert_eq!(counts(&families::critical_sections(3, 1)), [6, 0, 0]);
    assert_eq!(counts(&families::critical_sections(2, 2)), [6, 0, 0]);
}

/// Either thread has both mutexes first, or each has one and waits for the other's.
#[test]
fn two_mutexes_in_two_orders_deadlock_in_one_way() {
    let model = families::philosophers(2);
    assert_eq!(counts(&model), [2, 1, 0]);
    let truth = truth_of(&model);
    assert_eq!(truth.classes_within(0).len(), 2);
    assert_eq!(truth.classes_within(1).len(), 3);
    assert_eq!(truth.fewest_preemptions(Status::Deadlocked), Some(1));
    assert!(truth.deadlocks() && !truth.fails());
}

/// Of three forks each is taken first by one of its two neighbours: eight ways, of which one is
/// the deadlock, and one would need each to take its right fork first.
#[test]
fn three_philosophers_deadlock_in_one_way() {
    assert_eq!(counts(&families::philosophers(3)), [6, 1, 0]);
}

/// The `try_lock` comes before, in or after the critical section.
#[test]
fn a_failed_try_lock_is_a_read() {
    let mut builder = Builder::new();
    let mutex = builder.mutex();
    builder.thread(|code| {
        code.lock(mutex);
        code.unlock(mutex);
    });
    for _ in 0..2 {
        builder.thread(|code| {
            let end = code.label();
            code.push(Instruction::TryLock { into: R0, mutex });
            code.jump_if(R0, Test::Equal, 0, end);
            code.unlock(mutex);
            code.place(end);
        });
    }
    // With one `try_lock`: 3. Of two, both fail in the first section (1), one fails there and
    // the other is before or after (2 * 2), or none does: then three sections come in any
    // order (6), or one of the two is inside the other, which is before or after (2 * 2).
    assert_eq!(counts(&builder.parallel()), [15, 0, 0]);
}

#[test]
fn a_compare_exchange_that_fails_is_a_read() {
    let mut builder = Builder::new();
    let cell = builder.cell(0);
    builder.thread(|code| code.compare_exchange(R0, cell, 5, 6));
    builder.thread(|code| code.compare_exchange(R0, cell, 7, 8));
    assert_eq!(counts(&builder.parallel()), [1, 0, 0]);
}

#[test]
fn a_lost_wake_up_is_a_deadlock() {
    let lost = |producers, spurious| families::producer_consumer(producers, false, spurious);
    // The producer is first, and nobody is notified; or the consumer is.
    assert_eq!(counts(&lost(1, false)), [1, 1, 0]);
    // The producer is first; or it notifies before the consumer wakes; or it does not, and
    // either has the mutex first after that.
    assert_eq!(counts(&lost(1, true)), [4, 0, 0]);
    // With a look before the wait: either is first.
    let checked = families::producer_consumer(1, true, false);
    assert_eq!(counts(&checked), [2, 0, 0]);
}

/// Two wait, one is notified: whichever it is, the other one waits for ever.
#[test]
fn which_waiter_is_notified_is_a_choice() {
    let mut builder = Builder::new();
    let (mutex, condvar) = (builder.mutex(), builder.condvar());
    let started = builder.channel(None);
    builder.thread(|code| {
        code.push(Instruction::Receive(started));
        code.push(Instruction::Receive(started));
        code.lock(mutex);
        code.push(Instruction::NotifyOne(condvar));
        code.unlock(mutex);
    });
    for _ in 0..2 {
        builder.thread(|code| {
            code.lock(mutex);
            code.push(Instruction::Send(started));
            code.wait(condvar, mutex, false);
            code.unlock(mutex);
        });
    }
    let model = builder.parallel();
    // Two orders of the waiters. After the second send the notification can come only when both
    // wait, since they hold the mutex until then. The first receive comes before or after
    // the second send.
    assert_eq!(counts(&model), [0, 2 * 2 * 2, 0]);
}

#[test]
fn channels_order_what_is_done_to_them() {
    let channel_of = |capacity| {
        let mut builder = Builder::new();
        let channel = builder.channel(capacity);
        builder.thread(|code| code.push(Instruction::Receive(channel)));
        for _ in 0..2 {
            builder.thread(|code| code.push(Instruction::Send(channel)));
        }
        builder.parallel()
    };
    // The receive comes after one or after two sends, which come in two orders.
    assert_eq!(counts(&channel_of(None)), [4, 0, 0]);
    // With room for one, it comes between them.
    assert_eq!(counts(&channel_of(Some(1))), [2, 0, 0]);
}

#[test]
fn updates_commute_with_each_other_and_not_with_reads() {
    let counted = |readers: usize| {
        let mut builder = Builder::new();
        let counter = builder.counter();
        for _ in 0..3 {
            builder.thread(|code| code.push(Instruction::Update(counter)));
        }
        for _ in 0..readers {
            builder.thread(|code| code.push(Instruction::ReadCount { into: R0, counter }));
        }
        builder.parallel()
    };
    assert_eq!(counts(&counted(0)), [1, 0, 0]);
    // A reader sees any set of them. Of two readers one sees at least what the other sees:
    // 2 * 3^3 pairs, of which the 2^3 equal ones were counted twice.
    assert_eq!(counts(&counted(1)), [8, 0, 0]);
    assert_eq!(counts(&counted(2)), [2 * 27 - 8, 0, 0]);
}

#[test]
fn a_join_waits_and_a_late_thread_comes_late() {
    let mut builder = Builder::new();
    let cell = builder.cell(0);
    builder.thread(|code| {
        code.store(cell, 1);
        code.push(Instruction::Spawn(1));
        code.load(R0, cell);
        code.push(Instruction::Join(1));
        code.load(R0, cell);
        code.assert(R0, Test::Equal, 2);
    });
    builder.thread(|code| code.store(cell, 2));
    let model = builder.model();
    assert_eq!(counts(&model), [2, 0, 0]);
    assert_eq!(truth_of(&model).classes_within(0).len(), 1);
}

/// The failed assertion ends the execution, wherever the other thread is.
#[test]
fn a_failed_assertion_ends_the_execution() {
    let mut builder = Builder::new();
    let cells = builder.cells(2);
    builder.thread(|code| {
        code.load(R0, cells[0]);
        code.assert(R0, Test::Equal, 0);
    });
    builder.thread(|code| {
        code.store(cells[0], 1);
        code.store(cells[1], 1);
    });
    // Finished: the load is first. Failed: after one store or two.
    assert_eq!(counts(&builder.parallel()), [1, 0, 2]);
}

#[test]
fn mutual_exclusion_holds_and_store_buffers_break_it() {
    type Exclusion = fn(bool) -> Arc<Model>;
    let exclusions: [(&str, Exclusion); 3] = [
        ("Peterson", |is_fenced| families::peterson(1, is_fenced)),
        ("Dekker", |is_fenced| families::dekker(1, is_fenced)),
        ("bakery", |is_fenced| families::bakery(2, 1, is_fenced)),
    ];
    let limits = Limits {
        nodes: usize::MAX,
        hints: 1,
    };
    for (name, program) in exclusions {
        for is_fenced in [false, true] {
            let seen = reachable(&program(is_fenced), usize::MAX).expect("there is no limit");
            assert!(seen.finishes && !seen.fails, "{name}: {seen:?}");
            assert!(!seen.deadlocks && !seen.livelocks, "{name}: {seen:?}");
        }
        for memory in [MemoryModel::TSO, MemoryModel::PSO] {
            let leaves = leaves_sc(&program(false), &memory, &limits);
            assert_eq!(leaves, Some(true), "{name} on {}", memory.name());
            let leaves = leaves_sc(&program(true), &memory, &limits);
            assert_eq!(
                leaves,
                Some(false),
                "{name} with fences on {}",
                memory.name()
            );
        }
    }
}

#[test]
fn a_loop_that_nobody_ends_is_a_livelock() {
    let mut builder = Builder::new();
    let cells = builder.cells(2);
    builder.thread(|code| code.spin_until(R0, cells[0], Test::Equal, 1));
    builder.thread(|code| {
        let end = code.label();
        code.load(R0, cells[1]);
        code.jump_if(R0, Test::Equal, 0, end);
        code.store(cells[0], 1);
        code.place(end);
    });
    builder.thread(|code| code.store(cells[1], 1));
    let seen = reachable(&builder.parallel(), 1000).expect("it is small");
    assert!(seen.finishes && seen.livelocks && !seen.deadlocks);
}

#[test]
fn a_ticket_lock_and_a_stack_are_right() {
    let ticket_lock = families::ticket_lock(3, 1);
    let seen = reachable(&ticket_lock, usize::MAX).expect("there is no limit");
    assert!(seen.finishes && !seen.fails && !seen.deadlocks && !seen.livelocks);
    for has_popper in [false, true] {
        let truth = truth_of(&families::treiber(2, 2, has_popper));
        assert!(!truth.fails() && !truth.deadlocks());
    }
}

/// Beginnings in one class may be kept as one: the same comes out as without.
#[test]
fn classes_and_counts_are_those_of_every_single_interleaving() {
    let mut compared = 0;
    for (shape, base) in [
        (Shape::atomics(), 0),
        (Shape::everything(), 1000),
        (Shape::blocking().with_assertions(), 2000),
        (Shape::spinning().with_assertions(), 3000),
    ] {
        for seed in base..base + 150 {
            let program = random_program(seed, &shape.clone().with_items(1, 3));
            let limits = Limits {
                nodes: 3000,
                hints: 1,
            };
            let Some(truth) = truth(&program.model, &limits) else {
                continue;
            };
            if truth.interleavings > 20_000 {
                continue;
            }
            let mut classes = FxHashMap::default();
            let mut interleavings = 0;
            every_interleaving(&program.model, &limits, &mut |class, preemptions| {
                let fewest = classes.entry(class).or_insert(preemptions);
                *fewest = preemptions.min(*fewest);
                interleavings += 1;
            });
            assert_eq!(truth.classes, classes, "{program}");
            assert_eq!(truth.interleavings, interleavings, "{program}");
            compared += 1;
        }
    }
    assert!(compared > 300, "only {compared} programs were small enough");
}

fn shapes() -> [Shape; 6] {
    [
        Shape::atomics(),
        Shape::locks(),
        Shape::blocking(),
        Shape::counters(),
        Shape::everything(),
        Shape::everything().with_assertions(),
    ]
}

/// The program as the explorer sees it does what the oracle says, no less and no more.
#[test]
fn the_two_interpreters_agree() {
    let mut compared = 0;
    let mut totals = [0; 3];
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..200 {
            let program = random_program(seed + 10_000 * number as u64, shape);
            let limits = Limits {
                nodes: 10_000,
                ..Limits::default()
            };
            let Some(truth) = truth(&program.model, &limits) else {
                continue;
            };
            let runs = every_class(&ModelProgram::new(&program.model), limits.nodes);
            let runs = runs.expect("the oracle looks at more beginnings");
            assert_same_classes(runs.keys(), truth.classes.keys(), &program);
            let statuses = [Status::Finished, Status::Deadlocked, Status::Failed];
            for (total, status) in totals.iter_mut().zip(statuses) {
                *total += truth.count(status);
            }
            compared += 1;
        }
    }
    assert!(compared > 800, "only {compared} programs were small enough");
    assert!(totals.iter().all(|&total| total > 500), "{totals:?}");
}

/// Random runs stay within the classes, and end up in all of them; the recorder checks that
/// operations do what they say.
#[test]
fn random_runs_see_every_class() {
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..20 {
            let shape = shape.clone().with_threads(2, 3).with_items(1, 3);
            let program = random_program(seed + 77_000 * number as u64, &shape);
            let limits = Limits {
                nodes: 2000,
                ..Limits::default()
            };
            let Some(truth) = truth(&program.model, &limits) else {
                continue;
            };
            if truth.classes.len() > 40 {
                continue;
            }
            let mut recording = Recording::new(ModelProgram::new(&program.model));
            let mut random = Random::new(seed);
            // A class may be rare.
            while recording.log().executions < 200_000
                && recording.log().classes.len() < truth.classes.len()
                || recording.log().executions < 1000
            {
                let status = run_at_random(&mut recording, &mut random, 1000);
                assert!(status.is_some(), "it ends: {program}");
            }
            let log = recording.log();
            assert_eq!(log.abandoned, 0);
            assert_same_classes(log.classes.keys(), truth.classes.keys(), &program);
        }
    }
}

/// A machine without buffers is sequentially consistent, and has the oracle's errors.
#[test]
fn the_machine_without_buffers_agrees_with_the_oracle() {
    let mut compared = 0;
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..60 {
            let shape = shape.clone().with_threads(2, 3);
            let program = random_program(seed + 5_000 * number as u64, &shape);
            let limits = Limits::default();
            let Some(seen) = buffered(&program.model, &MemoryModel::SC, &limits) else {
                continue;
            };
            let truth = reachable(&program.model, usize::MAX).expect("there is no limit");
            assert!(!seen.leaves_sc, "{program}");
            assert_eq!(seen.fails, truth.fails, "{program}");
            if !truth.fails {
                assert_eq!(seen.deadlocks, truth.deadlocks, "{program}");
            }
            compared += 1;
        }
    }
    assert!(compared > 200, "only {compared} programs were small enough");
}

/// The monitor over one execution per class reports exactly the programs that leave sequential
/// consistency on the machine.
#[test]
fn monitors_over_all_classes_agree_with_store_buffers() {
    let models = [
        MemoryModel::TSO,
        MemoryModel::PSO,
        MemoryModel::PSO_OWN_ADDRESS,
    ];
    let mut unsafe_ones = [0; 3];
    let mut compared = 0;
    for seed in 0..400 {
        let program = random_program(seed, &Shape::memory());
        let limits = Limits {
            nodes: 20_000,
            ..Limits::default()
        };
        let Some(runs) = every_class(&ModelProgram::new(&program.model), 5_000) else {
            continue;
        };
        let verdicts = models.map(|memory| leaves_sc(&program.model, &memory, &limits));
        let [Some(tso), Some(pso), Some(own_address)] = verdicts else {
            continue;
        };
        let expected = [tso, pso, own_address];
        let executions = || runs.values().map(|run| &run.accesses[..]);
        let found = models.map(|memory| is_reported(executions(), &memory));
        assert_eq!(found, expected, "TSO, PSO, PSO own address: {program}");
        for (count, is_unsafe) in unsafe_ones.iter_mut().zip(expected) {
            *count += usize::from(is_unsafe);
        }
        compared += 1;
    }
    assert!(compared > 200, "only {compared} programs were small enough");
    for count in unsafe_ones {
        let range = compared / 20..compared;
        assert!(range.contains(&count), "{unsafe_ones:?} of {compared}");
    }
}
