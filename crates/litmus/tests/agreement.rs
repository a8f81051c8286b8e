//! The two engines agree, and the judge accepts the witnesses of both: on random tests, under
//! every model.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more tests.

mod common;

use std::collections::BTreeSet;

use common::builder::{listing, random_test};
use fencepost_litmus::test::Test;
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

/// The final states of the axioms, each with a witness that was judged.
fn of_axioms(test: &Test, model: &MemoryModel, context: &str) -> BTreeSet<Vec<u64>> {
    let mut states = BTreeSet::new();
    let limits = axioms::Limits::default();
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
    assert_eq!((summary.cut, summary.faults.len()), (None, 0), "{context}");
    states
}

fn assert_engines_agree(test: &Test, context: &str) {
    for model in &MemoryModel::ALL {
        let context = format!("{context}{model:?}");
        let machine = of_machine(test, model, &context);
        let axioms = of_axioms(test, model, &context);
        assert_eq!(machine, axioms, "machine and axioms differ: {context}");
    }
}

/// Whether the explorer over sequentially consistent executions and the enumeration of all
/// executions say the same about store-buffer safety. Whether the test is safe.
fn assert_safety_agrees(test: &Test, model: &MemoryModel, context: &str) -> bool {
    let (trace, summary) =
        axioms::find_cyclic_trace(test, model, &axioms::Limits::default()).unwrap();
    assert_eq!(summary.cut, None, "{context}");
    match robust::check(test, model, &robust::Limits::default()) {
        robust::Safety::Safe => assert!(trace.is_none(), "called safe: {context}\n{trace:#?}"),
        robust::Safety::Unsafe { .. } => assert!(trace.is_some(), "called unsafe: {context}"),
        robust::Safety::Unknown(why) => panic!("{why:?}: {context}"),
    }
    trace.is_none()
}

#[test]
fn machine_and_axioms_agree_on_built_tests() {
    for seed in common::seeds(300) {
        let mut random = Random::new(seed);
        let accesses = 6 + random.below(7) as usize;
        let test = random_test(&mut random, accesses);
        assert_engines_agree(&test, &format!("seed {seed}:\n{}", listing(&test)));
    }
}

#[test]
fn safety_is_what_enumeration_says() {
    let (mut safe, mut not) = (0, 0);
    for seed in common::seeds(200) {
        let mut random = Random::new(seed);
        let accesses = 4 + random.below(6) as usize;
        let test = random_test(&mut random, accesses);
        if listing(&test).contains("LOCK MOV") {
            // No instruction of the processor only reads and is locked whatever it reads.
            continue;
        }
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
