//! The axioms find exactly what the judge accepts: every final state, every execution, and whether
//! happens-before can have a cycle, on random tests and on tests with known numbers.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more tests.

use crate::common;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use common::brute_force::{everything, is_cyclic, key};
use common::builder::{Code, listing, random_test, test};
use fencepost_litmus::axioms::{
    Cut, Limits, explore, explore_with, find_cyclic_trace, visit_executions,
};
use fencepost_litmus::code::Fence;
use fencepost_litmus::judge;
use fencepost_litmus::test::Test;
use fencepost_memory::{MemoryModel, Random};

/// Every state of the axioms, each shown by a witness that the judge accepts.
fn judged_states(test: &Test, model: &MemoryModel) -> BTreeSet<Vec<u64>> {
    let mut states = BTreeSet::new();
    let summary = explore_with(test, model, &Limits::default(), |found| {
        let judged = judge::check(test, model, &found.execution());
        let state = judged.expect("the judge accepts what the axioms find");
        assert_eq!(state.observed(test), found.observed());
        assert!(states.insert(found.observed()), "a state is found once");
    })
    .unwrap();
    assert_eq!((summary.cut, summary.faults), (None, vec![]));
    states
}

#[test]
fn the_axioms_find_what_the_judge_accepts() {
    let mut cyclic = 0;
    for seed in common::seeds(25) {
        let mut random = Random::new(seed);
        let test = random_test(&mut random, 6);
        for model in &MemoryModel::ALL {
            let context = format!("seed {seed}, {model:?}:\n{}", listing(&test));
            let all = everything(&test, model);
            assert_eq!(judged_states(&test, model), all.states, "{context}");
            let mut executions = BTreeSet::new();
            visit_executions(&test, model, &Limits::default(), |found| {
                let execution = found.execution();
                judge::check(&test, model, &execution).expect("valid");
                let key = key(&test, &execution);
                assert_eq!(is_cyclic(&key), found.is_cyclic(), "{context}");
                assert!(executions.insert(key), "found twice: {context}");
                ControlFlow::Continue(())
            })
            .unwrap();
            assert_eq!(executions, all.executions, "{context}");
            let (trace, _) = find_cyclic_trace(&test, model, &Limits::default()).unwrap();
            assert_eq!(trace.is_some(), all.has_cyclic_trace, "{context}");
            if let Some(execution) = trace {
                cyclic += 1;
                judge::check(&test, model, &execution).expect("valid");
                assert!(is_cyclic(&key(&test, &execution)), "{context}");
            }
        }
    }
    assert!(cyclic > 0, "no test is unsafe");
}

fn count(test: &Test, model: &MemoryModel) -> u64 {
    let visit = visit_executions(test, model, &Limits::default(), |_| {
        ControlFlow::Continue(())
    });
    visit.unwrap().executions
}

fn ring(threads: usize) -> Test {
    let thread = |index: usize| Code::new().store(index, 1).load(0, (index + 1) % threads);
    test(threads, (0..threads).map(thread))
}

#[test]
fn store_buffering_has_four_executions_and_three_without_buffers() {
    let test = ring(2);
    assert_eq!(count(&test, &MemoryModel::TSO), 4);
    assert_eq!(count(&test, &MemoryModel::SC), 3);
    assert_eq!(judged_states(&test, &MemoryModel::TSO).len(), 4);
}

#[test]
fn two_exchanges_read_one_after_the_other() {
    let code = |value| Code::new().exchange(0, 0, value);
    let test = test(1, [code(1), code(2)]);
    let states = judged_states(&test, &MemoryModel::TSO);
    assert_eq!(states, BTreeSet::from([vec![0, 1, 2], vec![2, 0, 1]]));
}

#[test]
fn writes_to_one_cell_are_put_in_order_only_as_far_as_it_matters() {
    let test = test(1, (1..=9).map(|value| Code::new().store(0, value)));
    let found = explore(&test, &MemoryModel::TSO, &Limits::default()).unwrap();
    assert_eq!(found.states.len(), 9);
    assert_eq!(found.summary.executions, 1);
    assert_eq!(count(&test, &MemoryModel::TSO), 362_880);
    let (trace, summary) = find_cyclic_trace(&test, &MemoryModel::TSO, &Limits::default()).unwrap();
    assert_eq!((trace, summary.cut), (None, None));
}

#[test]
fn locked_increments_are_a_chain() {
    let test = test(1, (0..6).map(|_| Code::new().increment(0, true)));
    assert_eq!(
        judged_states(&test, &MemoryModel::TSO),
        BTreeSet::from([vec![6]])
    );
    assert_eq!(count(&test, &MemoryModel::TSO), 720);
}

#[test]
fn rings_of_ten_and_many_readers_are_explored_to_the_end() {
    let states = |test: &Test, model| explore(test, model, &Limits::default()).unwrap().states;
    assert_eq!(states(&ring(10), &MemoryModel::TSO).len(), 1024);
    assert_eq!(states(&ring(10), &MemoryModel::SC).len(), 1023);
    let mut codes = vec![Code::new().store(0, 1), Code::new().store(1, 1)];
    let reader = |first: usize| Code::new().load(0, first).load(1, 1 - first);
    codes.extend((0..8).map(|index| reader(index % 2)));
    let readers = test(2, codes);
    let found = states(&readers, &MemoryModel::TSO);
    // If x is written first, the four readers of x first see all four pairs of values, and those of y first
    // see three; the other way round if y is written first. Three each are seen with both.
    assert_eq!(found.len(), 2 * 12usize.pow(4) - 3usize.pow(8));
    assert_eq!(states(&readers, &MemoryModel::SC), found);
}

#[test]
fn waiting_in_a_loop_is_no_reason_to_give_up() {
    let flag = Code::new().store(0, 7).store(1, 1);
    let waiting = Code::new().load(0, 1).repeat_if_equal(0, 0, 0).load(1, 0);
    let test = test(2, [flag, waiting]);
    for (model, states) in [
        (&MemoryModel::TSO, BTreeSet::from([vec![1, 7, 7, 1]])),
        (
            &MemoryModel::PSO,
            BTreeSet::from([vec![1, 0, 7, 1], vec![1, 7, 7, 1]]),
        ),
    ] {
        assert_eq!(judged_states(&test, model), states);
    }
}

#[test]
fn a_spin_lock_is_explored_to_the_end() {
    // The lock is free at 0. Inside, each thread increments cell 1.
    let locking = || {
        Code::new()
            .exchange(0, 0, 1)
            .repeat_if_equal(0, 1, 0)
            .load(1, 1)
            .increment(1, false)
            .store(0, 0)
    };
    let test = test(2, [locking(), locking()]);
    for model in &MemoryModel::ALL[..2] {
        let states = judged_states(&test, model);
        let expected = [vec![0, 0, 0, 1, 0, 2], vec![0, 1, 0, 0, 0, 2]];
        assert_eq!(states, BTreeSet::from(expected));
    }
    let (trace, summary) = find_cyclic_trace(&test, &MemoryModel::TSO, &Limits::default()).unwrap();
    assert_eq!((trace, summary.cut), (None, None));
}

#[test]
fn a_cycle_through_a_turn_of_a_waiting_loop_is_found() {
    // The final states are those of SC, but the loop may read too early.
    let waiting = |own: usize, other: usize| {
        Code::new()
            .store(own, 1)
            .load(0, other)
            .repeat_if_equal(0, 0, 1)
    };
    let test = test(2, [waiting(0, 1), waiting(1, 0)]);
    assert_eq!(
        judged_states(&test, &MemoryModel::SC),
        judged_states(&test, &MemoryModel::TSO)
    );
    let cyclic = |model| find_cyclic_trace(&test, model, &Limits::default()).unwrap();
    let (trace, _) = cyclic(&MemoryModel::TSO);
    assert!(is_cyclic(&key(&test, &trace.expect("a cycle"))));
    let (trace, summary) = cyclic(&MemoryModel::SC);
    assert_eq!((trace, summary.cut), (None, None));
}

#[test]
fn a_cycle_through_a_write_of_a_thread_that_does_nothing_else_is_found() {
    // P1 goes on only if it has read P0's write. If it reads it again, and the write of P2 comes after it, there is a
    // cycle with P2; but the reads do not say in which order the two writes are.
    let first = Code::new().store(0, 1);
    let second = Code::new()
        .load(0, 0)
        .skip_if_equal(0, 0, 2)
        .store(1, 1)
        .load(1, 0);
    let third = Code::new().store(0, 2).load(0, 1);
    let test = test(2, [first, second, third]);
    let (trace, _) = find_cyclic_trace(&test, &MemoryModel::TSO, &Limits::default()).unwrap();
    let trace = trace.expect("a cycle");
    judge::check(&test, &MemoryModel::TSO, &trace).expect("valid");
    assert!(is_cyclic(&key(&test, &trace)));
}

#[test]
fn a_cycle_counts_though_a_thread_never_ends() {
    let thread = |own, other| Code::new().store(own, 1).load(0, other);
    let endless = Code::new().load(0, 2).repeat_if_equal(0, 0, 0);
    let test = test(3, [endless, thread(0, 1), thread(1, 0)]);
    assert_eq!(judged_states(&test, &MemoryModel::TSO), BTreeSet::new());
    let is_cyclic = |model| {
        let (trace, summary) = find_cyclic_trace(&test, model, &Limits::default()).unwrap();
        assert_eq!(summary.cut, None);
        trace.is_some()
    };
    assert!(is_cyclic(&MemoryModel::TSO) && !is_cyclic(&MemoryModel::SC));
}

#[test]
fn a_loop_that_changes_something_is_cut() {
    let counting = Code::new()
        .increment(0, true)
        .load(0, 0)
        .repeat_if_equal(0, 9, 0);
    let endless = Code::new()
        .load(0, 0)
        .increment(0, true)
        .repeat_if_equal(0, 0, 1);
    let limits = Limits {
        events_per_thread: 12,
        ..Limits::default()
    };
    let cut = |code| explore(&test(1, [code]), &MemoryModel::TSO, &limits).unwrap();
    assert_eq!(cut(counting).summary.cut, None);
    assert_eq!(cut(endless).summary.cut, Some(Cut::Events));
}

#[test]
fn limits_are_said() {
    let test = ring(3);
    let limits = Limits {
        executions: 3,
        ..Limits::default()
    };
    let found = explore(&test, &MemoryModel::TSO, &limits).unwrap();
    assert_eq!(found.summary.cut, Some(Cut::Executions));
    let all = Limits {
        executions: 8,
        ..Limits::default()
    };
    assert_eq!(
        explore(&test, &MemoryModel::TSO, &all).unwrap().summary.cut,
        None
    );
    let stop = Limits {
        should_stop: &|| true,
        ..Limits::default()
    };
    let found = explore(&ring(10), &MemoryModel::TSO, &stop).unwrap();
    assert_eq!(found.summary.cut, Some(Cut::Stopped));
}

#[test]
fn fences_order_what_they_order_in_the_model() {
    let with = |fence| {
        let thread = |own, other| Code::new().store(own, 1).fence(fence).load(0, other);
        test(2, [thread(0, 1), thread(1, 0)])
    };
    for model in &MemoryModel::ALL[1..] {
        assert_eq!(judged_states(&with(Fence::Full), model).len(), 3);
        assert_eq!(judged_states(&with(Fence::Store), model).len(), 4);
        assert_eq!(judged_states(&with(Fence::Load), model).len(), 4);
    }
    let passing = |fence| {
        let writer = Code::new().store(0, 1).fence(fence).store(1, 1);
        test(2, [writer, Code::new().load(0, 1).load(1, 0)])
    };
    assert_eq!(
        judged_states(&passing(Fence::Store), &MemoryModel::PSO).len(),
        3
    );
    assert_eq!(
        judged_states(&passing(Fence::Load), &MemoryModel::PSO).len(),
        4
    );
}
