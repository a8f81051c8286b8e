//! The machines and the axioms describe the same models: every candidate trace of every
//! small program is allowed exactly if it is emitted.

use crate::common;

use common::definition::{self, Mutation};
use common::{SmallPrograms, in_parallel, show, show_trace};
use fencepost_memory::axioms::{self, AxiomChecker};
use fencepost_memory::candidates::{CandidateKey, candidate_count, for_each_candidate};
use fencepost_memory::machine::{Machine, RunEnumerator, emitted_traces};
use fencepost_memory::{MemoryModel, ProgramShape, Random, StraightLineProgram};
use rustc_hash::FxHashSet;

const SEED: u64 = 0x5eed_0001;
const MOST_CANDIDATES: u64 = 100_000;

/// Compares the machines with the axioms, program by program.
#[derive(Default)]
struct Comparison {
    runs: RunEnumerator,
    checker: AxiomChecker,
    emitted: [FxHashSet<CandidateKey>; MemoryModel::ALL.len()],
    programs: usize,
    candidates: u64,
    allowed: [u64; MemoryModel::ALL.len()],
}

impl Comparison {
    fn compare(&mut self, program: &StraightLineProgram, origin: &str) {
        for (model, emitted) in MemoryModel::ALL.iter().zip(&mut self.emitted) {
            let result = self.runs.emitted_traces_into(model, program, emitted);
            result.unwrap();
        }
        let mut allowed = [0; MemoryModel::ALL.len()];
        for_each_candidate(program, |trace, key| {
            self.candidates += 1;
            for (index, model) in MemoryModel::ALL.iter().enumerate() {
                let is_allowed = self.checker.allows(model, trace);
                allowed[index] += usize::from(is_allowed);
                assert_eq!(
                    is_allowed,
                    self.emitted[index].contains(&key),
                    "{model:?}: allowed by the axioms (left) but for the machine (right)\n\
                     {origin}: {}\ntrace: {}",
                    show(program),
                    show_trace(trace)
                );
            }
        })
        .unwrap();
        for index in 0..MemoryModel::ALL.len() {
            // Whatever the machine emits is a candidate.
            assert_eq!(
                allowed[index],
                self.emitted[index].len(),
                "{origin}: {}",
                show(program)
            );
            self.allowed[index] += allowed[index] as u64;
        }
        self.programs += 1;
    }
}

fn sum(comparisons: &[Comparison]) -> (usize, u64, [u64; MemoryModel::ALL.len()]) {
    let mut allowed = [0; MemoryModel::ALL.len()];
    for comparison in comparisons {
        for index in 0..allowed.len() {
            allowed[index] += comparison.allowed[index];
        }
    }
    (
        comparisons.iter().map(|c| c.programs).sum(),
        comparisons.iter().map(|c| c.candidates).sum(),
        allowed,
    )
}

#[test]
fn on_every_program_of_two_threads_and_three_operations() {
    let programs = SmallPrograms::up_to(3);
    assert_eq!(programs.len(), 889_305);
    assert_eq!(programs.len(), programs.expected_len());
    let compared = in_parallel(programs.len(), Comparison::default, |comparison, index| {
        comparison.compare(&programs.get(index), &format!("small program {index}"));
    });
    let (count, candidates, allowed) = sum(&compared);
    println!("{count} programs, {candidates} candidates, {allowed:?} allowed");
    // Known counts, so that neither the test nor a model changes unnoticed.
    assert_eq!((count, candidates), (889_305, 21_534_144));
    assert_eq!(allowed, [3_707_535, 3_724_580, 3_753_069, 3_829_985]);
}

#[test]
fn on_random_programs_of_three_threads_and_four_operations() {
    let program_of = |index: usize| {
        let mut random = Random::new(SEED + index as u64);
        let shape = ProgramShape {
            threads: 3,
            operations: 4,
            addresses: 2 + (index % 2) as u32,
        };
        StraightLineProgram::random(&mut random, shape)
    };
    const PROGRAMS: usize = 5_000;
    let compared = in_parallel(PROGRAMS, Comparison::default, |comparison, index| {
        let program = program_of(index);
        if candidate_count(&program) <= MOST_CANDIDATES {
            let origin = format!("random program of seed {}", SEED + index as u64);
            comparison.compare(&program, &origin);
        }
    });
    let (count, candidates, allowed) = sum(&compared);
    println!("{count} programs, {candidates} candidates, {allowed:?} allowed");
    assert!(count > PROGRAMS * 9 / 10, "{count} of {PROGRAMS} compared");
    assert!(
        allowed.is_sorted_by(|less, more| less < more),
        "{allowed:?}"
    );
}

/// Calls `visit` with random programs of few candidates, two or three threads.
fn for_random_programs(
    programs: usize,
    most_candidates: u64,
    mut visit: impl FnMut(&StraightLineProgram, u64),
) {
    let (mut seed, mut visited) = (SEED, 0);
    while visited < programs {
        seed += 1;
        let mut random = Random::new(seed);
        let shape = ProgramShape {
            threads: 2 + (seed % 2) as u32,
            operations: 4,
            addresses: 2 + (seed / 2 % 2) as u32,
        };
        let program = StraightLineProgram::random(&mut random, shape);
        if candidate_count(&program) <= most_candidates {
            visited += 1;
            visit(&program, seed);
        }
    }
}

#[test]
fn the_linear_axioms_agree_with_the_definition() {
    let mut checker = AxiomChecker::default();
    let mut traces = 0;
    for_random_programs(3_000, 2_000, |program, seed| {
        for_each_candidate(program, |trace, _| {
            traces += 1;
            let context = || format!("seed {seed}: {}\n{}", show(program), show_trace(trace));
            for model in &MemoryModel::ALL {
                let expected = definition::allows(model, trace, None);
                assert_eq!(checker.allows(model, trace), expected, "{}", context());
            }
            assert_eq!(
                checker.is_sequentially_consistent(trace),
                definition::is_sequentially_consistent(trace),
                "{}",
                context()
            );
            assert_eq!(
                axioms::sober_definition_3(trace).is_ok(),
                definition::allows_by_sober_definition_3(trace),
                "{}",
                context()
            );
        })
        .unwrap();
    });
    assert!(traces > 200_000, "{traces}");
}

#[test]
fn a_check_and_a_reason_agree() {
    let mut checker = AxiomChecker::default();
    for_random_programs(300, 500, |program, _| {
        for_each_candidate(program, |trace, _| {
            for model in &MemoryModel::ALL {
                let verdict = axioms::check(model, trace);
                assert_eq!(verdict.is_ok(), checker.allows(model, trace));
                if let Err(violation) = verdict {
                    reason_is_right(model, trace, &violation);
                }
            }
        })
        .unwrap();
    });
}

/// A cycle goes along the relation, and a pair is one.
fn reason_is_right(
    model: &MemoryModel,
    trace: &fencepost_memory::Trace,
    violation: &axioms::AxiomViolation,
) {
    use fencepost_memory::Operation;
    use fencepost_memory::axioms::AxiomViolation;
    use fencepost_memory::order::{conflict_order, happens_before, program_order};
    let (cycle, is_relaxed) = match violation {
        AxiomViolation::PerLocation { earlier, later } => {
            assert!(program_order(&earlier.1, &later.1));
            assert!(conflict_order(&later.1, &earlier.1));
            return;
        }
        AxiomViolation::HappensBefore(cycle) => (cycle, false),
        AxiomViolation::RelaxedHappensBefore(cycle) => (cycle, true),
        other => panic!("{other}"),
    };
    for (index, x) in cycle.events.iter().enumerate() {
        assert_eq!(trace.events()[cycle.positions[index]], *x);
        let y = &cycle.events[(index + 1) % cycle.events.len()];
        if !is_relaxed {
            assert!(happens_before(x, y), "{violation}");
        } else if x.thread() == y.thread() {
            let has_barrier = trace.events().iter().any(|b| {
                b.operation() == Operation::StoreBarrier
                    && program_order(x, b)
                    && program_order(b, y)
            });
            assert!(program_order(x, y), "{violation}");
            let keeps = model.keeps(x.operation(), y.operation(), has_barrier);
            assert!(keeps, "{violation}");
        } else {
            assert!(conflict_order(x, y), "{violation}");
        }
    }
}

#[test]
fn every_mistake_in_the_axioms_is_noticed() {
    for mutation in Mutation::ALL {
        let mut noticed = Vec::new();
        for model in &MemoryModel::ALL[1..] {
            let mut differences = 0;
            for_random_programs(600, 500, |program, _| {
                let emitted = emitted_traces(model, program).unwrap();
                for_each_candidate(program, |trace, key| {
                    let allowed = definition::allows(model, trace, Some(mutation));
                    differences += usize::from(allowed != emitted.contains(&key));
                })
                .unwrap();
            });
            if differences > 0 {
                noticed.push(differences);
            }
        }
        println!("{mutation:?}: {noticed:?} differences");
        assert!(!noticed.is_empty(), "{mutation:?} makes no difference");
    }
}

/// The enumeration takes shortcuts; stepping through everything that the machine says is
/// enabled does not.
#[test]
fn the_enumeration_misses_no_run() {
    fn every_run(machine: &Machine, keys: &mut FxHashSet<CandidateKey>) {
        if machine.is_complete() {
            let trace = machine.clone().finish().unwrap();
            keys.insert(CandidateKey::of_trace(&trace).unwrap());
        }
        let enabled = machine.enabled();
        assert_eq!(enabled.is_empty(), machine.is_complete());
        for step in enabled {
            let mut next = machine.clone();
            next.step(step).unwrap();
            every_run(&next, keys);
        }
    }
    let mut compared = 0;
    for_random_programs(1_500, u64::MAX, |program, seed| {
        if program.len() > 6 {
            return;
        }
        compared += 1;
        for model in &MemoryModel::ALL {
            let mut expected = FxHashSet::default();
            every_run(&Machine::new(model, program), &mut expected);
            let emitted = emitted_traces(model, program).unwrap();
            assert_eq!(emitted, expected, "seed {seed}: {}", show(program));
        }
    });
    assert!(compared > 500, "{compared}");
}
