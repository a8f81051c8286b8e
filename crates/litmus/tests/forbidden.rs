//! Why a state is forbidden, against brute force: every candidate is tried.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::brute_force::{candidates, everything};
use common::builder::{Code, listing, random_test, random_waiting_test, test};
use common::read;
use fencepost_litmus::answer::{Options, answer};
use fencepost_litmus::code::Fence;
use fencepost_litmus::event_graph::{EventGraph, Relation, Strength};
use fencepost_litmus::execution::{Action, Candidate};
use fencepost_litmus::forbidden::{Axiom, Explanation, Forbidden, Limits, explain, violation};
use fencepost_litmus::test::{CellId, Observable, Proposition, Term, Test};
use fencepost_litmus::{judge, machine};
use fencepost_memory::{MemoryModel, Random};

fn is_state(state: &[u64]) -> Proposition {
    let equal = |(index, value): (usize, &u64)| {
        Proposition::Equal(Term::Observed(index), Term::Constant(*value))
    };
    Proposition::And(state.iter().enumerate().map(equal).collect())
}

/// The final state of a candidate, by running its threads again.
fn final_state(test: &Test, model: &MemoryModel, candidate: &Candidate) -> Vec<u64> {
    let violation = violation(model, candidate).expect("forbidden");
    let judged = judge::check_forbidden(test, model, candidate, &violation);
    judged.expect("it checks").observed(test)
}

/// The contents of cells and registers of a candidate, from what its reads read.
fn observed(test: &Test, candidate: &Candidate) -> Vec<u64> {
    let cell = |cell: CellId| match candidate.writes(cell).last() {
        Some(&last) => match candidate.event(last).action {
            Action::Write(_, value) => value,
            _ => unreachable!("a write"),
        },
        None => test.cells[cell.index()].initial,
    };
    test.observables()
        .map(|observable| match observable {
            Observable::Cell { cell: of, .. } => cell(*of),
            Observable::Register {
                thread, register, ..
            } => {
                let read = candidate.events.iter().rev().find_map(|event| {
                    let loads = |&operation: &usize| {
                        matches!(test.threads[*thread].operations[operation],
                            fencepost_litmus::code::Operation::Load { to, .. } if to == *register)
                    };
                    let of = &test.threads[*thread].instruction_of;
                    let mut own = (0..of.len()).filter(|&o| of[o] == event.instruction);
                    match event.action {
                        Action::Read(_, value)
                            if event.thread as usize == *thread && own.any(|o| loads(&o)) =>
                        {
                            Some(value)
                        }
                        _ => None,
                    }
                });
                read.unwrap_or(0)
            }
        })
        .collect()
}

/// Whether each thread sees its own accesses to a cell in order.
fn is_orderly(candidate: &Candidate) -> bool {
    let events = &candidate.events;
    let is_own_write = |one: usize, other: usize| {
        let (one, other) = (&events[one], &events[other]);
        one.action.is_write()
            && one.thread == other.thread
            && one.action.cell() == other.action.cell()
    };
    (0..events.len()).all(|index| {
        let Some(cell) = events[index].action.cell() else {
            return true;
        };
        let before = (0..index).rev().find(|&before| is_own_write(before, index));
        let place = |id: usize| candidate.writes(cell).iter().position(|w| w.index() == id);
        if events[index].action.is_write() {
            return before.is_none_or(|before| place(before) < place(index));
        }
        match candidate.reads_from[index] {
            None => before.is_none(),
            Some(source) if is_own_write(source.index(), index) => Some(source.index()) == before,
            Some(_) => true,
        }
    })
}

fn found(explanation: Explanation, context: &str) -> Forbidden {
    match explanation {
        Explanation::Forbidden(found) => *found,
        other => panic!("{other:?}\n{context}"),
    }
}

/// Tests of the literature, with and without fences.
fn known_shapes() -> Vec<Test> {
    let fenced = |code: Code, fence: bool| match fence {
        true => code.fence(Fence::Full),
        false => code,
    };
    let mut shapes = Vec::new();
    for fence in [false, true] {
        let writes_and_reads =
            |one: usize| fenced(Code::new().store(one, 1), fence).load(0, 1 - one);
        let reads_and_writes =
            |one: usize| fenced(Code::new().load(0, one), fence).store(1 - one, 1);
        let writes = |one: usize| fenced(Code::new().store(one, 1), fence).store(1 - one, 2);
        let reads = |one: usize| fenced(Code::new().load(0, one), fence).load(1, 1 - one);
        shapes.push(test(2, [0, 1].map(writes_and_reads)));
        shapes.push(test(2, [0, 1].map(reads_and_writes)));
        shapes.push(test(2, [0, 1].map(writes)));
        shapes.push(test(2, [writes(0), reads(1)]));
        shapes.push(test(2, [writes(0), writes_and_reads(1)]));
        shapes.push(test(
            2,
            [writes(0).fence(Fence::Store), reads_and_writes(1)],
        ));
    }
    let locked = |one: usize| Code::new().exchange(0, one, 1).load(1, 1 - one);
    shapes.push(test(2, [0, 1].map(locked)));
    shapes.push(test(
        1,
        [0, 0].map(|cell| Code::new().increment(cell, true)),
    ));
    shapes.push(test(
        1,
        [0, 0].map(|cell| Code::new().increment(cell, false)),
    ));
    let barrier = Code::new().store(0, 1).fence(Fence::Store).store(1, 1);
    shapes.push(test(2, [barrier, Code::new().load(0, 1).load(1, 0)]));
    shapes
}

#[test]
fn the_axioms_forbid_exactly_the_candidates_that_no_order_of_memory_completes() {
    let (mut allowed, mut forbidden, mut traces) = (0, BTreeMap::new(), 0);
    let random = common::seeds(25).map(|seed| random_test(&mut Random::new(seed), 5));
    for test in known_shapes().into_iter().chain(random) {
        let candidates = candidates(&test);
        for model in &MemoryModel::ALL {
            let context = format!("{model:?}:\n{}", listing(&test));
            let all = everything(&test, model);
            for candidate in &candidates {
                let key = (
                    candidate.events.clone(),
                    candidate.reads_from.clone(),
                    candidate.coherence.clone(),
                );
                let is_allowed = all.executions.contains(&key);
                let violation = violation(model, candidate);
                assert_eq!(violation.is_none(), is_allowed, "{candidate:?}\n{context}");
                if let Some(trace) = candidate.is_allowed_trace(model) {
                    traces += 1;
                    assert_eq!(trace, is_allowed, "{candidate:?}\n{context}");
                }
                let Some(violation) = violation else {
                    allowed += 1;
                    continue;
                };
                *forbidden.entry(violation.axiom).or_insert(0) += 1;
                let judged = judge::check_forbidden(&test, model, candidate, &violation);
                let judged = judged.unwrap_or_else(|e| panic!("{e}: {violation:?}\n{context}"));
                assert_eq!(
                    judged.observed(&test),
                    observed(&test, candidate),
                    "{context}"
                );
            }
        }
    }
    println!("{allowed} allowed, {forbidden:?} forbidden, {traces} as traces");
    assert!(
        allowed > 300 && traces > 1000 && forbidden.len() == 3,
        "{forbidden:?}"
    );
    assert!(forbidden.values().all(|count| *count > 20), "{forbidden:?}");
}

#[test]
fn a_state_is_forbidden_by_a_shortest_cycle_or_impossible() {
    let (mut forbidden, mut impossible) = (0, 0);
    for seed in common::seeds(40) {
        let mut random = Random::new(seed);
        let test = random_test(&mut random, 6);
        let candidates = candidates(&test);
        let mut by_state: BTreeMap<Vec<u64>, Vec<&Candidate>> = BTreeMap::new();
        for candidate in &candidates {
            by_state
                .entry(observed(&test, candidate))
                .or_default()
                .push(candidate);
        }
        for model in &MemoryModel::ALL {
            let context = format!("seed {seed}, {model:?}:\n{}", listing(&test));
            let machine = machine::explore(&test, model, &Default::default()).expect("no faults");
            let reached: BTreeSet<Vec<u64>> = machine.final_states().collect();
            assert!(
                reached.iter().all(|state| by_state.contains_key(state)),
                "{context}"
            );
            for (state, candidates) in &by_state {
                let explanation = explain(&test, model, &is_state(state), &Limits::default());
                if reached.contains(state) {
                    assert!(matches!(explanation, Explanation::Allowed(_)), "{context}");
                    continue;
                }
                forbidden += 1;
                let found = found(explanation, &context);
                assert_eq!(found.state, *state, "{context}");
                assert_eq!(
                    final_state(&test, model, &found.candidate),
                    *state,
                    "{context}"
                );
                assert!(candidates.contains(&&found.candidate), "{context}");
                let rank = |candidate: &Candidate| {
                    let violation = violation(model, candidate).expect("forbidden");
                    let steps = violation.cycle.steps.len();
                    (
                        violation.axiom,
                        !is_orderly(candidate),
                        steps,
                        candidate.events.len(),
                    )
                };
                let best = candidates.iter().map(|candidate| rank(candidate)).min();
                assert_eq!(Some(rank(&found.candidate)), best, "{state:?}\n{context}");
                assert_ne!(
                    found.candidate.is_allowed_trace(model),
                    Some(true),
                    "{context}"
                );
            }
            for _ in 0..20 {
                let width = test.observables().count();
                let state: Vec<u64> = (0..width).map(|_| random.below(5)).collect();
                if !by_state.contains_key(&state) {
                    impossible += 1;
                    let explanation = explain(&test, model, &is_state(&state), &Limits::default());
                    assert_eq!(explanation, Explanation::Impossible, "{state:?}\n{context}");
                }
            }
        }
    }
    println!("{forbidden} forbidden, {impossible} impossible");
    assert!(
        forbidden > 200 && impossible > 1000,
        "{forbidden} {impossible}"
    );
}

#[test]
fn what_waiting_threads_cannot_do_is_explained_too() {
    let (mut forbidden, mut other) = (0, 0);
    for seed in common::seeds(60) {
        let mut random = Random::new(seed);
        let test = random_waiting_test(&mut random);
        for model in &MemoryModel::ALL {
            let context = format!("seed {seed}, {model:?}:\n{}", listing(&test));
            let machine = machine::explore(&test, model, &Default::default()).expect("no faults");
            if machine.cut().is_some() {
                continue;
            }
            let reached: BTreeSet<Vec<u64>> = machine.final_states().collect();
            for _ in 0..6 {
                let width = test.observables().count();
                let state: Vec<u64> = (0..width).map(|_| random.below(3)).collect();
                let limits = Limits {
                    steps: 1 << 16,
                    ..Limits::default()
                };
                match explain(&test, model, &is_state(&state), &limits) {
                    Explanation::Allowed(_) => assert!(reached.contains(&state), "{context}"),
                    // The search may end before it comes to the candidate that is allowed.
                    Explanation::Forbidden(_) if reached.contains(&state) => {}
                    Explanation::Forbidden(found) => {
                        forbidden += 1;
                        assert_eq!(
                            final_state(&test, model, &found.candidate),
                            state,
                            "{context}"
                        );
                    }
                    Explanation::Impossible => {
                        other += 1;
                        assert!(!reached.contains(&state), "{context}");
                    }
                    Explanation::Unknown => {}
                }
            }
        }
    }
    println!("{forbidden} forbidden, {other} impossible");
    assert!(forbidden > 5 && other > 20, "{forbidden} {other}");
}

fn asked(source: &str, model: &MemoryModel) -> (Test, Explanation) {
    let test = read(source);
    let options = Options {
        limits: machine::Limits::default(),
        cross_check: true,
    };
    let answer = answer(&test, model, &options).expect("an answer");
    let explanation = answer
        .why_not(&answer.asked(), &Limits::default())
        .expect("it checks");
    drop(answer);
    (test, explanation)
}

fn labels(found: &Forbidden) -> Vec<&'static str> {
    let steps = found.violation.cycle.steps.iter();
    steps.map(|step| step.label()).collect()
}

const SB: &str = "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MFENCE | MFENCE ;\n \
                  MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";

#[test]
fn known_tests_have_their_cycles() {
    let (test, explanation) = asked(SB, &MemoryModel::TSO);
    let found = found(explanation, SB);
    assert_eq!(test.format_state(&found.state), "0:EAX=0; 1:EAX=0;");
    assert_eq!(found.violation.axiom, Axiom::Order);
    assert_eq!(labels(&found), ["mfence", "fr", "mfence", "fr"]);
    // Each step is an arrow, beside those of the two fences.
    let model = MemoryModel::TSO;
    let graph = EventGraph::with_cycle(&found.candidate, &model, &found.violation.cycle);
    let direct = graph
        .edges
        .iter()
        .filter(|edge| graph.label(edge) == "mfence");
    assert_eq!(direct.count(), 2);
    let by_fence = |edge: &&_| edge_strength(edge) == Strength::ByFence(Fence::Full);
    assert_eq!(graph.edges.iter().filter(by_fence).count(), 6);

    let mp = "X86 MP\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV EAX,[y] ;\n MOV [y],$1 | MOV EBX,[x] ;\n\
              ~exists (1:EAX=1 /\\ 1:EBX=0)\n";
    let found = self::found(asked(mp, &MemoryModel::TSO).1, mp);
    assert_eq!(labels(&found), ["po", "rf", "po", "fr"]);
    let fenced = mp.replace("MOV [x],$1 |", "MOV [x],$1 | ; SFENCE |");
    let found = self::found(asked(&fenced, &MemoryModel::PSO).1, mp);
    assert_eq!(labels(&found), ["sfence", "rf", "po", "fr"]);
    assert!(matches!(
        asked(SB, &MemoryModel::SC).1,
        Explanation::Forbidden(_)
    ));
}

fn edge_strength(edge: &fencepost_litmus::event_graph::Edge) -> Strength {
    edge.strength
}

#[test]
fn each_axiom_has_its_kind_of_cycle() {
    let lost = "X86 L\n{ }\n P0 | P1 ;\n LOCK INC [x] | LOCK INC [x] ;\nforall (x=2)\n";
    let found = self::found(asked(lost, &MemoryModel::TSO).1, lost);
    assert_eq!(found.violation.axiom, Axiom::Atomicity);
    assert_eq!(labels(&found), ["fr", "co"]);

    let backwards = "X86 C\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV EAX,[x] ;\n MOV [x],$2 | MOV EBX,[x] ;\n\
                     exists (1:EAX=2 /\\ 1:EBX=1)\n";
    let found = self::found(asked(backwards, &MemoryModel::PSO).1, backwards);
    assert_eq!(found.violation.axiom, Axiom::Coherence);
    assert_eq!(labels(&found), ["rf", "po", "fr"]);

    let unknown = "X86 U\n{ x=1; }\n P0 ;\n MOV EAX,[x] ;\nexists (0:EAX=7)\n";
    assert_eq!(asked(unknown, &MemoryModel::TSO).1, Explanation::Impossible);
    let own = "X86 O\n{ 0:EAX=1; }\n P0 ;\n XCHG [x],EAX ;\nexists (0:EAX=1)\n";
    assert_eq!(asked(own, &MemoryModel::TSO).1, Explanation::Impossible);
    let thin = "X86 T\n{ }\n P0 | P1 ;\n MOV EAX,[x] | MOV EAX,[y] ;\n MOV [y],EAX | MOV [x],EAX ;\n\
                exists (0:EAX=1)\n";
    assert_eq!(asked(thin, &MemoryModel::PSO).1, Explanation::Impossible);
}

#[test]
fn a_filter_and_a_negated_condition_are_part_of_the_question() {
    let test = SB
        .replace("exists (0", "filter (0:EAX=0)\nforall (0")
        .replace("1:EAX=0)", "1:EAX=1)");
    let found = self::found(asked(&test, &MemoryModel::TSO).1, &test);
    assert_eq!(labels(&found), ["mfence", "fr", "mfence", "fr"]);
    let none = test.replace("filter (0:EAX=0)", "filter (0:EAX=5)");
    assert_eq!(asked(&none, &MemoryModel::TSO).1, Explanation::Impossible);
}

#[test]
fn a_wrong_reason_is_noticed() {
    let (test, explanation) = asked(SB, &MemoryModel::TSO);
    let right = found(explanation, SB);
    let model = MemoryModel::TSO;
    let is_right = |wrong: &Forbidden, model: &MemoryModel| {
        judge::check_forbidden(&test, model, &wrong.candidate, &wrong.violation).is_ok()
    };
    assert!(is_right(&right, &model));
    for index in 0..right.violation.cycle.steps.len() {
        let mut shorter = right.clone();
        shorter.violation.cycle.steps.remove(index);
        assert!(!is_right(&shorter, &model), "without step {index}");
        for relation in Relation::ALL {
            let mut other = right.clone();
            let step = &mut other.violation.cycle.steps[index];
            let is_same = step.relation == relation;
            step.relation = relation;
            assert_eq!(
                is_right(&other, &model),
                is_same,
                "step {index} as {relation:?}"
            );
        }
        let mut backwards = right.clone();
        let step = &mut backwards.violation.cycle.steps[index];
        (step.from, step.to) = (step.to, step.from);
        assert!(!is_right(&backwards, &model), "step {index} backwards");
    }
    let mut nothing = right.clone();
    nothing.violation.cycle.steps.clear();
    assert!(!is_right(&nothing, &model));
    for axiom in [Axiom::Atomicity, Axiom::Coherence] {
        let mut other = right.clone();
        other.violation.axiom = axiom;
        assert!(!is_right(&other, &model), "{axiom:?}");
    }
    let mut elsewhere = right.clone();
    elsewhere.candidate.reads_from.swap(0, 2);
    elsewhere.candidate.coherence.swap(0, 1);
    assert!(!is_right(&elsewhere, &model));
    // Without the fences the same cycle is none of TSO.
    let relaxed = read(&SB.replace(" MFENCE | MFENCE ;\n", ""));
    let cycle =
        violation(&MemoryModel::SC, &without_fences(&right.candidate)).expect("forbidden by SC");
    let candidate = without_fences(&right.candidate);
    let judged = |model| judge::check_forbidden(&relaxed, model, &candidate, &cycle).is_ok();
    assert!(judged(&MemoryModel::SC) && !judged(&MemoryModel::TSO));
}

fn without_fences(candidate: &Candidate) -> Candidate {
    let kept: Vec<_> = candidate
        .ids()
        .filter(|id| candidate.event(*id).action.cell().is_some())
        .collect();
    let number = |id| {
        fencepost_litmus::execution::EventId(kept.iter().position(|&k| k == id).unwrap() as u32)
    };
    let mut instances = BTreeMap::new();
    let events = kept.iter().map(|&id| {
        let mut event = *candidate.event(id);
        let next = instances.entry(event.thread).or_insert(0);
        event.instance = *next;
        event.instruction = *next;
        *next += 1;
        event
    });
    Candidate {
        events: events.collect(),
        reads_from: kept
            .iter()
            .map(|id| candidate.reads_from[id.index()].map(number))
            .collect(),
        coherence: candidate
            .coherence
            .iter()
            .map(|w| w.iter().map(|&id| number(id)).collect())
            .collect(),
    }
}

#[test]
fn large_tests_end_within_the_limits() {
    let writers = (0..10).map(|_| (0..6).fold(Code::new(), |code, value| code.store(0, value)));
    let readers = (0..3).map(|_| (0..8).fold(Code::new(), |code, register| code.load(register, 0)));
    let large = test(1, writers.chain(readers));
    let limits = Limits {
        steps: 1 << 16,
        ..Limits::default()
    };
    let mut state = vec![0; large.observables().count()];
    state[0] = 9;
    let explanation = explain(&large, &MemoryModel::TSO, &is_state(&state), &limits);
    assert!(matches!(
        explanation,
        Explanation::Unknown | Explanation::Impossible
    ));
    let stop = Limits {
        should_stop: &|| true,
        ..limits
    };
    state[0] = 1;
    let explanation = explain(&large, &MemoryModel::TSO, &is_state(&state), &stop);
    assert_ne!(explanation, Explanation::Impossible);
}

/// To find a cycle takes memory for each pair of events, of which there are millions here.
#[test]
fn candidates_with_thousands_of_events_are_left_out() {
    let wide = |threads: usize| {
        let mut rows = String::new();
        for row in 0..40 {
            let asked = [
                "MOV [x],$1 | MOV [y],$1",
                "MFENCE | MFENCE",
                "MOV EAX,[y] | MOV EAX,[x]",
            ];
            rows += asked.get(row).unwrap_or(&"|");
            rows.extend((2..threads).map(|thread| format!(" | MOV [a{thread}],${row}")));
            rows += " ;\n";
        }
        let heads: Vec<String> = (0..threads).map(|thread| format!("P{thread}")).collect();
        let heads = heads.join(" | ");
        let test = read(&format!(
            "X86 wide\n{{ }}\n {heads} ;\n{rows}exists (0:EAX=0 /\\ 1:EAX=0)\n"
        ));
        explain(
            &test,
            &MemoryModel::TSO,
            &test.condition,
            &Limits::default(),
        )
    };
    assert!(matches!(wide(20), Explanation::Forbidden(_)));
    assert_eq!(wide(60), Explanation::Unknown);
}

#[test]
fn witnesses_have_no_turns_of_loops_that_say_nothing() {
    let spin = "X86 S\n{ }\n P0 | P1 ;\n MOV [x],$1 | L: MOV EAX,[x] ;\n MOV [y],$1 | CMP EAX,$1 ;\n \
                | JNE L ;\n | MOV EBX,[y] ;\nexists (1:EBX=0)\n";
    let test = read(spin);
    for model in &MemoryModel::ALL {
        let options = Options {
            limits: machine::Limits::default(),
            cross_check: true,
        };
        let answer = answer(&test, model, &options).expect("an answer");
        for number in 0..answer.states.len() {
            let run = answer.short_run(number);
            let execution = run.execution();
            let judged = judge::check(&test, model, &execution).expect("valid");
            assert_eq!(judged.observed(&test), answer.states[number].contents);
            assert_eq!(execution.events.len(), 4, "{run:?}");
        }
    }
    let mut shorter = 0;
    for seed in common::seeds(100) {
        let test = random_waiting_test(&mut Random::new(seed));
        let options = Options {
            limits: machine::Limits::default(),
            cross_check: false,
        };
        let model = MemoryModel::TSO;
        let answer = answer(&test, &model, &options).expect("an answer");
        for number in 0..answer.states.len() {
            let run = answer.short_run(number);
            let judged = judge::check(&test, &model, &run.execution()).expect("valid");
            assert_eq!(
                judged.observed(&test),
                answer.states[number].contents,
                "seed {seed}"
            );
            shorter += usize::from(run.steps.len() < answer.run(number).steps.len());
        }
    }
    println!("{shorter} shorter");
}
