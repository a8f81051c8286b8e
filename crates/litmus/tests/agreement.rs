//! The two engines agree, and the judge accepts the witnesses of both: on random tests, under
//! every model.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more tests.

use crate::common;

use std::collections::BTreeSet;

use common::builder::{listing, random_test, random_waiting_test};
use fencepost_litmus::generate::{self, Shape};
use fencepost_litmus::test::{Architecture, Test};
use fencepost_litmus::{axioms, judge, machine, robust};
use fencepost_memory::{MemoryModel, Random};

/// The final states of the machine, each with a witness that was judged.
fn of_machine(test: &Test, model: &MemoryModel, context: &str) -> BTreeSet<Vec<u64>> {
    let found = machine::explore(test, model, &machine::Limits::default()).expect("no faults");
    assert_eq!(found.cut(), None, "{context}");
    (0..found.len())
        .map(|index| {
            let execution = found.run(index).execution();
            match judge::check(test, model, &execution) {
                Ok(state) => assert_eq!(
                    state.observed(test),
                    found.final_state(index),
                    "the machine's witness shows another state: {context}"
                ),
                Err(rejection) => panic!(
                    "the machine's witness is rejected: {rejection}\n{execution:#?}\n{context}"
                ),
            }
            found.final_state(index)
        })
        .collect()
}

/// How many reads-from maps of a test are looked at. Most have fewer.
const MOST_EXECUTIONS: u64 = 4000;

/// How many events a thread has before it is cut. Without loops it has fewer.
const MOST_EVENTS: usize = 24;

/// The final states of the axioms, each with a witness that was judged, and whether they are all.
fn of_axioms(test: &Test, model: &MemoryModel, context: &str) -> (BTreeSet<Vec<u64>>, bool) {
    let mut states = BTreeSet::new();
    let limits = axioms::Limits {
        executions: MOST_EXECUTIONS,
        events_per_thread: MOST_EVENTS,
        ..axioms::Limits::default()
    };
    let summary = axioms::explore_with(test, model, &limits, |found| {
        let execution = found.execution();
        match judge::check(test, model, &execution) {
            Ok(state) => assert_eq!(
                state.observed(test),
                found.observed(),
                "the axioms' witness shows another state: {context}"
            ),
            Err(rejection) => {
                panic!("the axioms' witness is rejected: {rejection}\n{execution:#?}\n{context}")
            }
        }
        states.insert(found.observed());
    })
    .expect("locked instructions are as expected");
    assert_eq!(summary.faults, [], "{context}");
    (states, summary.cut.is_none())
}

/// Whether the states of the axioms are all under every model.
fn assert_engines_agree(test: &Test, context: &str) -> bool {
    let mut are_all = true;
    for model in &MemoryModel::ALL {
        let context = format!("{context}{model:?}");
        let machine = of_machine(test, model, &context);
        let (axioms, is_complete) = of_axioms(test, model, &context);
        let difference = "machine and axioms differ";
        if is_complete {
            assert_eq!(machine, axioms, "{difference}: {context}");
        } else {
            assert!(machine.is_superset(&axioms), "{difference}: {context}");
            are_all = false;
        }
    }
    are_all
}

/// Whether the explorer over sequentially consistent executions and the enumeration of all
/// executions say the same about store-buffer safety. Whether the test is safe.
fn assert_safety_agrees(test: &Test, model: &MemoryModel, context: &str) -> bool {
    let limits = axioms::Limits {
        executions: MOST_EXECUTIONS,
        events_per_thread: MOST_EVENTS,
        ..axioms::Limits::default()
    };
    let (trace, summary) = axioms::find_cyclic_trace(test, model, &limits).unwrap();
    let may_be_unsafe = trace.is_some() || summary.cut.is_some();
    match robust::check(test, model, &robust::Limits::default()) {
        robust::Safety::Safe => assert!(trace.is_none(), "called safe: {context}\n{trace:#?}"),
        robust::Safety::Unsafe { .. } => assert!(may_be_unsafe, "called unsafe: {context}"),
        // A loop that writes other values again and again has no end.
        robust::Safety::Unknown(_) if summary.cut.is_some() => {}
        other => panic!("{other:?}: {context}"),
    }
    trace.is_none()
}

#[test]
fn machine_and_axioms_agree_on_built_tests() {
    let (mut tests, mut compared) = (0, 0);
    for seed in common::seeds(150) {
        let mut random = Random::new(seed);
        let accesses = 6 + random.below(6) as usize;
        let test = random_test(&mut random, accesses);
        let context = format!("seed {seed}:\n{}", listing(&test));
        compared += u64::from(assert_engines_agree(&test, &context));
        tests += 1;
    }
    assert!(compared * 4 > tests * 3, "{compared} of {tests} compared");
}

#[test]
fn machine_and_axioms_agree_on_tests_that_wait_in_loops() {
    let (mut tests, mut compared) = (0, 0);
    for seed in common::seeds(100) {
        let test = random_waiting_test(&mut Random::new(seed));
        let context = format!("seed {seed}:\n{}", listing(&test));
        compared += u64::from(assert_engines_agree(&test, &context));
        tests += 1;
    }
    assert!(compared * 4 > tests * 3, "{compared} of {tests} compared");
}

#[test]
fn safety_of_tests_that_wait_in_loops_is_what_enumeration_says() {
    let (mut safe, mut not) = (0, 0);
    for seed in common::seeds(50) {
        let test = random_waiting_test(&mut Random::new(seed));
        for model in &MemoryModel::ALL {
            let context = format!("seed {seed}, {model:?}:\n{}", listing(&test));
            match assert_safety_agrees(&test, model, &context) {
                true => safe += 1,
                false => not += 1,
            }
        }
    }
    assert!(safe > 0 && not > 0, "{safe} safe, {not} not");
}

/// A random test as text, and as it is read.
fn generated(seed: u64) -> (String, Test) {
    let mut random = Random::new(seed);
    let architecture = match random.below(2) {
        0 => Architecture::X86,
        _ => Architecture::X86_64,
    };
    let threads = 2 + random.below(3) as usize;
    let shape = Shape {
        architecture,
        threads,
        instructions: 1 + random.below([4, 3, 2][threads - 2]) as usize,
        locations: 1 + random.below(3) as usize,
    };
    let text = generate::random_test(&mut random, &format!("random-{seed}"), &shape);
    match fencepost_litmus::parse(text.as_bytes(), &fencepost_litmus::Limits::default()) {
        Ok(test) => (text, test),
        Err(error) => panic!("a generated test is not read: {error}\n{text}"),
    }
}

#[test]
fn machine_and_axioms_agree_on_generated_tests() {
    let (mut tests, mut compared) = (0, 0);
    for seed in common::seeds(200) {
        let (text, test) = generated(seed);
        compared += u64::from(assert_engines_agree(
            &test,
            &format!("seed {seed}:\n{text}"),
        ));
        tests += 1;
    }
    assert!(compared * 4 > tests * 3, "{compared} of {tests} compared");
}

#[test]
fn safety_of_generated_tests_is_what_enumeration_says() {
    let (mut safe, mut not) = (0, 0);
    for seed in common::seeds(200) {
        let (text, test) = generated(seed);
        for model in &MemoryModel::ALL {
            let context = format!("seed {seed}, {model:?}:\n{text}");
            match assert_safety_agrees(&test, model, &context) {
                true => safe += 1,
                false => not += 1,
            }
        }
    }
    assert!(safe > 0 && not > 0, "{safe} safe, {not} not");
}

#[test]
fn safety_is_what_enumeration_says() {
    let (mut safe, mut not) = (0, 0);
    for seed in common::seeds(200) {
        let mut random = Random::new(seed);
        let accesses = 4 + random.below(6) as usize;
        let test = random_test(&mut random, accesses);
        for model in &MemoryModel::ALL {
            let context = format!("seed {seed}, {model:?}:\n{}", listing(&test));
            match assert_safety_agrees(&test, model, &context) {
                true => safe += 1,
                false => not += 1,
            }
        }
    }
    assert!(safe > 0 && not > 0, "{safe} safe, {not} not");
}
