//! Random programs, written through the public API, against the store-buffer machine: the check says
//! that a program is not store-buffer safe exactly if the machine has a run of it whose trace is not
//! sequentially consistent.
//!
//! `FENCEPOST_TEST_SEED` and `FENCEPOST_TEST_PROGRAMS` choose other and more programs.

use std::sync::Arc;

use fencepost::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicU64, fence};
use fencepost::{Checker, Outcome, Target, thread};
use fencepost_memory::machine::emits_non_sc_trace;
use fencepost_memory::program::{ProgramShape, StraightLineProgram};
use fencepost_memory::{MemoryModel, Operation, Random};

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// What no variable ever holds.
const NEVER: u64 = u64::MAX;

fn perform(operation: Operation, memory: &[AtomicU64]) {
    match operation {
        Operation::Load(a) => {
            memory[a.index()].load(Relaxed);
        }
        Operation::Store(a) => memory[a.index()].store(1, Relaxed),
        Operation::Interlocked(a) => {
            memory[a.index()].fetch_add(1, Relaxed);
        }
        Operation::LockedLoad(a) => {
            let failed = memory[a.index()].compare_exchange(NEVER, 0, Relaxed, Relaxed);
            assert!(failed.is_err());
        }
        Operation::LockedStore(a) => memory[a.index()].store(2, SeqCst),
        Operation::Fence => fence(SeqCst),
        Operation::StoreBarrier => fence(Release),
    }
}

/// The program as a closure.
fn closure(program: &StraightLineProgram) -> impl Fn() + Send + Sync + 'static {
    let program = program.clone();
    let addresses = program.address_count();
    move || {
        let memory: Arc<Vec<AtomicU64>> = (0..addresses)
            .map(|address| AtomicU64::new(0).named(&format!("x{address}")))
            .collect::<Vec<_>>()
            .into();
        let threads: Vec<_> = (program.threads.iter().cloned())
            .map(|operations| {
                let memory = Arc::clone(&memory);
                thread::spawn(move || operations.into_iter().for_each(|o| perform(o, &memory)))
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
    }
}

fn run(program: &StraightLineProgram, checker: &Checker) -> Outcome {
    checker.run(closure(program))
}

/// The program as the machine gets it: a SeqCst store drains everything, and so is a barrier too.
fn compiled(program: &StraightLineProgram) -> StraightLineProgram {
    let compile = |&operation: &Operation| match operation {
        Operation::LockedStore(_) => vec![Operation::StoreBarrier, operation],
        _ => vec![operation],
    };
    StraightLineProgram {
        threads: program
            .threads
            .iter()
            .map(|operations| operations.iter().flat_map(compile).collect())
            .collect(),
    }
}

fn agrees(target: Target, model: &MemoryModel, programs: u64) {
    let first = number_from("FENCEPOST_TEST_SEED", 0);
    let programs = number_from("FENCEPOST_TEST_PROGRAMS", programs);
    let (mut safe, mut unsafe_) = (0, 0);
    for seed in first..first + programs {
        let mut random = Random::new(seed);
        let shape = match random.below(2) {
            0 => ProgramShape {
                threads: 2,
                operations: 4,
                addresses: 2,
            },
            _ => ProgramShape {
                threads: 3,
                operations: 3,
                addresses: 3,
            },
        };
        let program = StraightLineProgram::random(&mut random, shape);
        let checker = Checker::new().target(target);
        let outcome = run(&program, &checker);
        let expected = emits_non_sc_trace(model, &compiled(&program)).is_some();
        let found = matches!(outcome, Outcome::NotStoreBufferSafe(_));
        assert_eq!(found, expected, "seed {seed}: {program:?}\n{outcome}");
        assert!(found || outcome.is_verified(), "seed {seed}: {outcome}");
        if found {
            unsafe_ += 1;
            replays(&program, &checker, &outcome);
            finds_the_same_with_two_workers(&program, &checker);
        } else {
            safe += 1;
        }
    }
    assert!(safe > 0 && unsafe_ > 0, "{safe} safe, {unsafe_} not");
}

/// What was found is found again from its schedule.
fn replays(program: &StraightLineProgram, checker: &Checker, outcome: &Outcome) {
    let schedule = outcome.findings()[0].schedule().to_owned();
    let again = checker.replay(&schedule, closure(program));
    assert!(matches!(again, Outcome::NotStoreBufferSafe(_)), "{again}");
    assert_eq!(again.executions(), 1);
    let headline = |outcome: &Outcome| outcome.findings()[0].headline().to_owned();
    assert_eq!(headline(&again), headline(outcome));
}

fn finds_the_same_with_two_workers(program: &StraightLineProgram, checker: &Checker) {
    let checker = checker.clone().continue_after_failure(true);
    let one = run(program, &checker);
    let two = run(program, &checker.workers(2));
    assert_eq!(one.executions(), two.executions());
    assert_eq!(one.violations(), two.violations());
    assert_eq!(one.distinct_violations(), two.distinct_violations());
    assert_eq!(one.borderline_executions(), two.borderline_executions());
}

#[test]
fn x86_agrees_with_the_tso_machine() {
    agrees(Target::X86, &MemoryModel::TSO, 600);
}

#[test]
fn pso_agrees_with_the_pso_machine() {
    agrees(Target::Pso, &MemoryModel::PSO_OWN_ADDRESS, 600);
}

/// Accesses that are all SeqCst are never reported.
#[test]
fn sequentially_consistent_programs_are_verified() {
    let mut random = Random::new(number_from("FENCEPOST_TEST_SEED", 0));
    for _ in 0..number_from("FENCEPOST_TEST_PROGRAMS", 300) {
        let shape = ProgramShape {
            threads: 3,
            operations: 3,
            addresses: 2,
        };
        let program = StraightLineProgram::random(&mut random, shape);
        for target in [Target::X86, Target::Pso] {
            let program = program.clone();
            let outcome = Checker::new().target(target).run(move || {
                let memory = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
                let threads: Vec<_> = (program.threads.iter().cloned())
                    .map(|operations| {
                        let memory = Arc::clone(&memory);
                        thread::spawn(move || {
                            for operation in operations {
                                let Some(address) = operation.address() else {
                                    continue;
                                };
                                let variable = &memory[address.index()];
                                match (operation.reads(), operation.writes()) {
                                    (true, true) => {
                                        variable.swap(1, SeqCst);
                                    }
                                    (false, _) => variable.store(1, SeqCst),
                                    (true, false) => {
                                        variable.load(SeqCst);
                                    }
                                }
                            }
                        })
                    })
                    .collect();
                threads.into_iter().for_each(|t| t.join().unwrap());
            });
            assert!(outcome.is_verified(), "{outcome}");
        }
    }
}
