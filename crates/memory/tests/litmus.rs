//! The classic litmus tests: what each model says about the outcome that makes the test
//! interesting, by its axioms and by its machine.

use crate::common;

use common::{FENCE, STBAR, W, X, Y, Z, il, ld, outcome, show, st};
use fencepost_memory::candidates::CandidateKey;
use fencepost_memory::machine::{emits_non_sc_trace, emitted_traces};
use fencepost_memory::order::happens_before_cycle;
use fencepost_memory::{MemoryModel, Operation, StraightLineProgram, Trace, axioms, load_buffer};

struct Litmus {
    name: &'static str,
    threads: Vec<Vec<Operation>>,
    /// The coherence index of every operation in the outcome.
    outcome: &'static [&'static [u64]],
    /// Whether SC, TSO, PSO and PSO with locked operations that drain their own address
    /// allow it, in this order.
    allowed: [bool; 4],
    /// Whether the TSO-LB machine emits it.
    by_load_buffers: bool,
}

const NEVER: [bool; 4] = [false; 4];
const STORE_BUFFERS: [bool; 4] = [false, true, true, true];
const STORES_OUT_OF_ORDER: [bool; 4] = [false, false, true, true];
const WEAK_LOCKS: [bool; 4] = [false, false, false, true];

fn litmus(
    name: &'static str,
    threads: impl Into<Vec<Vec<Operation>>>,
    outcome: &'static [&'static [u64]],
    allowed: [bool; 4],
) -> Litmus {
    Litmus {
        name,
        threads: threads.into(),
        outcome,
        allowed,
        by_load_buffers: allowed[1],
    }
}

fn locked_load(address: fencepost_memory::Address) -> Operation {
    Operation::LockedLoad(address)
}

fn locked_store(address: fencepost_memory::Address) -> Operation {
    Operation::LockedStore(address)
}

fn tests() -> Vec<Litmus> {
    let mut tests = store_buffering_tests();
    tests.extend(message_passing_tests());
    tests.extend(write_order_tests());
    tests.extend(single_address_tests());
    tests
}

fn store_buffering_tests() -> Vec<Litmus> {
    vec![
        litmus(
            "SB",
            [vec![st(X), ld(Y)], vec![st(Y), ld(X)]],
            &[&[1, 0], &[1, 0]],
            STORE_BUFFERS,
        ),
        litmus(
            "SB+fences",
            [vec![st(X), FENCE, ld(Y)], vec![st(Y), FENCE, ld(X)]],
            &[&[1, 0, 0], &[1, 0, 0]],
            NEVER,
        ),
        litmus(
            "SB+fence+po",
            [vec![st(X), FENCE, ld(Y)], vec![st(Y), ld(X)]],
            &[&[1, 0, 0], &[1, 0]],
            STORE_BUFFERS,
        ),
        litmus(
            "SB+stbars",
            [vec![st(X), STBAR, ld(Y)], vec![st(Y), STBAR, ld(X)]],
            &[&[1, 0, 0], &[1, 0, 0]],
            STORE_BUFFERS,
        ),
        litmus(
            "SB with locked stores",
            [vec![locked_store(X), ld(Y)], vec![locked_store(Y), ld(X)]],
            &[&[1, 0], &[1, 0]],
            NEVER,
        ),
        litmus(
            "SB with interlocked operations",
            [vec![il(X), ld(Y)], vec![il(Y), ld(X)]],
            &[&[1, 0], &[1, 0]],
            NEVER,
        ),
        litmus(
            "SB+locked loads elsewhere",
            [
                vec![st(X), locked_load(Z), ld(Y)],
                vec![st(Y), locked_load(W), ld(X)],
            ],
            &[&[1, 0, 0], &[1, 0, 0]],
            WEAK_LOCKS,
        ),
        litmus(
            "SB+stbars+locked loads elsewhere",
            [
                vec![st(X), STBAR, locked_load(Z), ld(Y)],
                vec![st(Y), STBAR, locked_load(W), ld(X)],
            ],
            &[&[1, 0, 0, 0], &[1, 0, 0, 0]],
            NEVER,
        ),
        litmus(
            "SB+own loads (iwp2.4)",
            [vec![st(X), ld(X), ld(Y)], vec![st(Y), ld(Y), ld(X)]],
            &[&[1, 1, 0], &[1, 1, 0]],
            STORE_BUFFERS,
        ),
        n6(),
        Litmus {
            by_load_buffers: false,
            ..litmus(
                "TSO-CC Fig. 3",
                [
                    vec![st(X), st(Z), ld(Y), ld(Y), ld(W)],
                    vec![st(Y), st(W), ld(X), ld(X), ld(Z)],
                ],
                &[&[1, 1, 0, 1, 0], &[1, 1, 0, 1, 0]],
                STORE_BUFFERS,
            )
        },
        // What Fig. 3 shows needs three operations per thread only: the left store is
        // last, so nothing was propagated between the two stores to y.
        Litmus {
            by_load_buffers: false,
            ..litmus(
                "TSO-CC Fig. 3, smaller",
                [vec![st(X), ld(Y), ld(Y)], vec![st(Y), st(Y), st(X)]],
                &[&[2, 0, 1], &[1, 2, 1]],
                STORE_BUFFERS,
            )
        },
    ]
}

fn n6() -> Litmus {
    litmus(
        "n6",
        [vec![st(X), ld(X), ld(Y)], vec![st(Y), st(X)]],
        &[&[2, 2, 0], &[1, 1]],
        STORE_BUFFERS,
    )
}

fn message_passing_tests() -> Vec<Litmus> {
    let reader = || vec![ld(Y), ld(X)];
    vec![
        litmus(
            "MP",
            [vec![st(X), st(Y)], reader()],
            &[&[1, 1], &[1, 0]],
            STORES_OUT_OF_ORDER,
        ),
        litmus(
            "MP+stbar",
            [vec![st(X), STBAR, st(Y)], reader()],
            &[&[1, 0, 1], &[1, 0]],
            NEVER,
        ),
        litmus(
            "MP+stbar before both",
            [vec![STBAR, st(X), st(Y)], reader()],
            &[&[0, 1, 1], &[1, 0]],
            STORES_OUT_OF_ORDER,
        ),
        litmus(
            "MP+fence",
            [vec![st(X), FENCE, st(Y)], reader()],
            &[&[1, 0, 1], &[1, 0]],
            NEVER,
        ),
        litmus(
            "MP with a locked store",
            [vec![st(X), locked_store(Y)], reader()],
            &[&[1, 1], &[1, 0]],
            WEAK_LOCKS,
        ),
        litmus(
            "MP+stbar with a locked store",
            [vec![st(X), STBAR, locked_store(Y)], reader()],
            &[&[1, 0, 1], &[1, 0]],
            NEVER,
        ),
        litmus(
            "LB",
            [vec![ld(X), st(Y)], vec![ld(Y), st(X)]],
            &[&[1, 1], &[1, 1]],
            NEVER,
        ),
        litmus(
            "WRC",
            [vec![st(X)], vec![ld(X), st(Y)], vec![ld(Y), ld(X)]],
            &[&[1], &[1, 1], &[1, 0]],
            NEVER,
        ),
        litmus(
            "IRIW",
            [
                vec![st(X)],
                vec![st(Y)],
                vec![ld(X), ld(Y)],
                vec![ld(Y), ld(X)],
            ],
            &[&[1], &[1], &[1, 0], &[1, 0]],
            NEVER,
        ),
    ]
}

fn write_order_tests() -> Vec<Litmus> {
    vec![
        litmus(
            "2+2W",
            [vec![st(X), st(Y)], vec![st(Y), st(X)]],
            &[&[2, 1], &[2, 1]],
            STORES_OUT_OF_ORDER,
        ),
        litmus(
            "2+2W+stbars",
            [vec![st(X), STBAR, st(Y)], vec![st(Y), STBAR, st(X)]],
            &[&[2, 0, 1], &[2, 0, 1]],
            NEVER,
        ),
        litmus(
            "2+2W+one stbar",
            [vec![st(X), STBAR, st(Y)], vec![st(Y), st(X)]],
            &[&[2, 0, 1], &[2, 1]],
            STORES_OUT_OF_ORDER,
        ),
        litmus(
            "R",
            [vec![st(X), st(Y)], vec![st(Y), ld(X)]],
            &[&[1, 1], &[2, 0]],
            STORE_BUFFERS,
        ),
        litmus(
            "R+po+fence",
            [vec![st(X), st(Y)], vec![st(Y), FENCE, ld(X)]],
            &[&[1, 1], &[2, 0, 0]],
            STORES_OUT_OF_ORDER,
        ),
        litmus(
            "R+stbar+fence",
            [vec![st(X), STBAR, st(Y)], vec![st(Y), FENCE, ld(X)]],
            &[&[1, 0, 1], &[2, 0, 0]],
            NEVER,
        ),
        litmus(
            "S",
            [vec![st(X), st(Y)], vec![ld(Y), st(X)]],
            &[&[2, 1], &[1, 1]],
            STORES_OUT_OF_ORDER,
        ),
        litmus(
            "S+stbar",
            [vec![st(X), STBAR, st(Y)], vec![ld(Y), st(X)]],
            &[&[2, 0, 1], &[1, 1]],
            NEVER,
        ),
    ]
}

fn single_address_tests() -> Vec<Litmus> {
    vec![
        litmus(
            "CoRR",
            [vec![st(X)], vec![ld(X), ld(X)]],
            &[&[1], &[1, 0]],
            NEVER,
        ),
        litmus("CoWR", [vec![st(X), ld(X)]], &[&[1, 0]], NEVER),
        litmus("CoRW", [vec![ld(X), st(X)]], &[&[1, 1]], NEVER),
        litmus("CoWW", [vec![st(X), st(X)]], &[&[2, 1]], NEVER),
        litmus(
            "n5",
            [vec![st(X), ld(X)], vec![st(X), ld(X)]],
            &[&[1, 2], &[2, 1]],
            NEVER,
        ),
        litmus(
            "a store between the halves of an interlocked operation",
            [vec![il(X)], vec![st(X), ld(X)]],
            &[&[1], &[2, 1]],
            NEVER,
        ),
        litmus(
            "a store after an interlocked operation",
            [vec![il(X), ld(X)], vec![st(X)]],
            &[&[1, 1], &[2]],
            [true; 4],
        ),
    ]
}

fn emits(model: &MemoryModel, program: &StraightLineProgram, trace: &Trace) -> bool {
    let key = CandidateKey::of_trace(trace).unwrap();
    emitted_traces(model, program).unwrap().contains(&key)
}

#[test]
fn every_model_gives_the_known_verdict() {
    for test in tests() {
        let program = StraightLineProgram {
            threads: test.threads,
        };
        let trace = outcome(&program, test.outcome);
        for (model, allowed) in MemoryModel::ALL.iter().zip(test.allowed) {
            let context = format!("{} under {model:?}", test.name);
            let verdict = axioms::check(model, &trace);
            assert_eq!(verdict.is_ok(), allowed, "{context}: {verdict:?}");
            assert_eq!(emits(model, &program, &trace), allowed, "{context}");
        }
    }
}

#[test]
fn load_buffers_give_the_known_verdict() {
    for test in tests() {
        let program = StraightLineProgram {
            threads: test.threads,
        };
        let trace = outcome(&program, test.outcome);
        let emitted = load_buffer::emitted_traces(&program).unwrap();
        let key = CandidateKey::of_trace(&trace).unwrap();
        let expected = test.by_load_buffers;
        assert_eq!(emitted.contains(&key), expected, "{}", test.name);
        assert_eq!(load_buffer::emits(&trace), Ok(expected), "{}", test.name);
    }
}

/// SOBER Def. 3 as printed forbids what the machine of the same report emits.
#[test]
fn the_printed_definition_is_not_the_machine() {
    let test = n6();
    let program = StraightLineProgram {
        threads: test.threads,
    };
    let trace = outcome(&program, test.outcome);
    assert!(emits(&MemoryModel::TSO, &program, &trace));
    assert_eq!(axioms::check(&MemoryModel::TSO, &trace), Ok(()));
    assert!(axioms::check(&MemoryModel::SC, &trace).is_err());
    let violation = axioms::sober_definition_3(&trace).unwrap_err();
    let text = violation.to_string();
    // The edge that should not be there: from the other thread's store into the load.
    assert!(
        text.contains("T1:2 st a0 (value 1) → T0:2 ld a0 (value 2)"),
        "{text}"
    );
}

#[test]
fn the_oracle_finds_a_trace_that_is_not_sequentially_consistent() {
    for test in tests() {
        let program = StraightLineProgram {
            threads: test.threads,
        };
        for model in &MemoryModel::ALL {
            let found = emits_non_sc_trace(model, &program);
            let emitted = emitted_traces(model, &program).unwrap();
            let consistent = emitted_traces(&MemoryModel::SC, &program).unwrap();
            assert_eq!(
                found.is_some(),
                emitted.len() > consistent.len(),
                "{}: {}",
                test.name,
                show(&program)
            );
            if let Some(trace) = found {
                assert!(happens_before_cycle(&trace).is_some());
                assert!(emits(model, &program, &trace));
            }
        }
    }
}
