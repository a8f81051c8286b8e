//! A machine with an error is noticed: each error changes a verdict of the tests in `litmus`, and both the
//! axioms and the judge contradict it.

use std::collections::BTreeSet;
use std::path::Path;

use fencepost_litmus::machine::{Limits, Mutation, explore, explore_mutated};
use fencepost_litmus::test::Test;
use fencepost_litmus::{axioms, judge, parse};
use fencepost_memory::MemoryModel;

fn tests() -> Vec<Test> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus");
    let mut files: Vec<_> = ["x86-tso", "basic"]
        .iter()
        .flat_map(|directory| std::fs::read_dir(root.join(directory)).expect("litmus tests"))
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    assert!(files.len() >= 36);
    let read = |file| {
        let bytes = std::fs::read(file).expect("a test");
        parse(&bytes, &Default::default()).expect("our tests can be read")
    };
    files.iter().map(read).collect()
}

fn condition_holds(test: &Test, states: &BTreeSet<Vec<u64>>) -> Vec<bool> {
    let holds: BTreeSet<bool> = states
        .iter()
        .map(|state| test.condition.holds(state))
        .collect();
    holds.into_iter().collect()
}

#[test]
fn each_mistake_changes_a_verdict_and_is_contradicted() {
    let tests = tests();
    let model = MemoryModel::TSO;
    for mutation in [
        Mutation::FenceDoesNotWait,
        Mutation::StoresPassStores,
        Mutation::NoForwarding,
        Mutation::LockedDoesNotDrain,
    ] {
        let (mut changed, mut axioms_contradict, mut judge_rejects) = (vec![], 0, 0);
        for test in &tests {
            let limits = Limits::default();
            let right = explore(test, &model, &limits).expect("no faults");
            let wrong = explore_mutated(test, &model, &limits, Some(mutation)).expect("no faults");
            let right: BTreeSet<_> = right.final_states().collect();
            let states: BTreeSet<_> = wrong.final_states().collect();
            if condition_holds(test, &right) != condition_holds(test, &states) {
                changed.push(test.name.as_str());
            }
            let by_axioms = axioms::explore(test, &model, &Default::default()).expect("axioms");
            let by_axioms: BTreeSet<_> = by_axioms.states.into_iter().collect();
            assert_eq!(by_axioms, right, "{}", test.name);
            axioms_contradict += usize::from(by_axioms != states);
            for index in 0..wrong.len() {
                let execution = wrong.run(index).execution();
                judge_rejects += usize::from(judge::check(test, &model, &execution).is_err());
            }
        }
        println!("{mutation:?}: {changed:?}");
        assert!(!changed.is_empty(), "{mutation:?} changes no verdict");
        assert!(
            axioms_contradict > 0,
            "the axioms do not notice {mutation:?}"
        );
        assert!(judge_rejects > 0, "the judge does not notice {mutation:?}");
    }
}
