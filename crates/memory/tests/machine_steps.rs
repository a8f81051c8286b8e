//! The machine step by step: what it says it did, and why it would not.

use crate::common;

use common::{FENCE, STBAR, X, Y, Z, il, ld, show, st};
use fencepost_memory::machine::{EventId, Machine, RunEnumerator, Step, StepError};
use fencepost_memory::{
    Access, Address, CoherenceIndex, IssueIndex, LocationId, MemoryModel, Operation, ProgramShape,
    Random, StraightLineProgram, ThreadId, axioms,
};

const T0: ThreadId = ThreadId(0);
const T1: ThreadId = ThreadId(1);

fn machine(model: &MemoryModel, threads: &[&[Operation]]) -> Machine {
    let threads = threads.iter().map(|list| list.to_vec()).collect();
    Machine::new(model, &StraightLineProgram { threads })
}

fn id(thread: ThreadId, issue: u64) -> EventId {
    EventId {
        thread,
        issue: IssueIndex(issue),
    }
}

/// Takes the steps and tells what happened, one line per step.
fn narrate(machine: &mut Machine, steps: &[Step]) -> Vec<String> {
    let mut lines = Vec::new();
    for &step in steps {
        lines.push(match machine.step(step) {
            Ok(performed) => performed.to_string(),
            Err(error) => format!("no: {error}"),
        });
    }
    lines
}

#[test]
fn a_run_of_n6_can_be_told() {
    let mut machine = machine(
        &MemoryModel::TSO,
        &[&[st(X), ld(X), ld(Y)], &[st(Y), st(X)]],
    );
    let lines = narrate(
        &mut machine,
        &[
            Step::Issue(T0),
            Step::Issue(T0),
            Step::Issue(T0),
            Step::Issue(T1),
            Step::Issue(T1),
            Step::Commit(T1, X),
            Step::Commit(T1, Y),
            Step::Commit(T1, X),
        ],
    );
    assert_eq!(
        lines,
        [
            "T0:1 puts a store to a0 into its buffer",
            "T0:2 reads a0 from its buffer: the value of T0:1",
            "T0:3 reads a1 from memory: the initial value",
            "T1:1 puts a store to a1 into its buffer",
            "T1:2 puts a store to a0 into its buffer",
            "no: T1:2 commits only after the older store T1:1",
            "T1:1 commits value 1 to a1",
            "T1:2 commits value 1 to a0",
        ]
    );
    assert_eq!(machine.memory(X).write, Some(id(T1, 2)));
    assert_eq!(machine.memory(X).coherence, CoherenceIndex(1));
    assert_eq!(machine.memory(Z).write, None);
    let buffered: Vec<_> = machine.buffer(T0).map(|b| (b.store, b.address)).collect();
    assert_eq!(buffered, [(id(T0, 1), X)]);
    let error = machine.clone().finish().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the run ends while T0:1 is still in its thread's buffer"
    );
    assert_eq!(machine.enabled(), [Step::Commit(T0, X)]);
    machine.step(Step::Commit(T0, X)).unwrap();
    assert!(machine.is_complete());
    let trace = machine.finish().unwrap();
    let coherence: Vec<u64> = trace.events().iter().map(|e| e.coherence.0).collect();
    assert_eq!(coherence, [2, 2, 0, 1, 1]);
}

#[test]
fn stores_of_pso_overtake_each_other_up_to_a_barrier() {
    let program: &[&[Operation]] = &[&[st(X), st(Y), st(X), STBAR, st(Z), FENCE, il(X)]];
    let mut machine = machine(&MemoryModel::PSO, program);
    let mut steps = vec![Step::Issue(T0); 6];
    steps.extend([
        Step::Commit(T0, Z),
        Step::Commit(T0, Y),
        Step::Commit(T0, Y),
        Step::Commit(T0, X),
        Step::Commit(T0, Z),
        Step::Commit(T0, X),
        Step::Commit(T0, Z),
        Step::Issue(T0),
        Step::Issue(T0),
        Step::Issue(T0),
    ]);
    assert_eq!(
        narrate(&mut machine, &steps),
        [
            "T0:1 puts a store to a0 into its buffer",
            "T0:2 puts a store to a1 into its buffer",
            "T0:3 puts a store to a0 into its buffer",
            "T0:4 passes a store barrier",
            "T0:5 puts a store to a2 into its buffer",
            "no: T0:6 (fence) waits until T0:1 has left the buffer",
            "no: T0:5 commits only after the older store T0:1",
            "T0:2 commits value 1 to a1",
            "no: T0 has no buffered store to a1",
            "T0:1 commits value 1 to a0",
            "no: T0:5 commits only after the older store T0:3",
            "T0:3 commits value 2 to a0",
            "T0:5 commits value 1 to a2",
            "T0:6 passes a fence",
            "T0:7 writes value 3 to a0, replacing the value of T0:3",
            "no: T0 has issued all its operations",
        ]
    );
}

#[test]
fn a_locked_operation_waits_for_what_its_model_says() {
    let program: &[&[Operation]] = &[&[st(X), STBAR, st(Y), st(Z), il(Z)]];
    let waits_for = |model: &MemoryModel, commits: &[Address]| {
        let mut machine = machine(model, program);
        narrate(&mut machine, &[Step::Issue(T0); 4]);
        for &address in commits {
            machine.step(Step::Commit(T0, address)).unwrap();
        }
        match machine.step(Step::Issue(T0)) {
            Ok(_) => None,
            Err(StepError::MustDrain { pending, .. }) => Some(pending),
            Err(other) => panic!("{other}"),
        }
    };
    let own_address = MemoryModel::PSO_OWN_ADDRESS;
    assert_eq!(waits_for(&own_address, &[]), Some(id(T0, 1)));
    assert_eq!(waits_for(&own_address, &[X]), Some(id(T0, 4)));
    assert_eq!(waits_for(&own_address, &[X, Z]), None);
    assert_eq!(waits_for(&MemoryModel::PSO, &[X, Z]), Some(id(T0, 3)));
    assert_eq!(waits_for(&MemoryModel::PSO, &[X, Z, Y]), None);
    assert_eq!(waits_for(&MemoryModel::TSO, &[X, Y]), Some(id(T0, 4)));
    assert_eq!(waits_for(&MemoryModel::SC, &[]), None);
}

#[test]
fn a_step_of_nobody_is_refused() {
    let mut machine = machine(&MemoryModel::TSO, &[&[ld(X)]]);
    let nobody = ThreadId(u32::MAX);
    assert_eq!(
        narrate(
            &mut machine,
            &[
                Step::Issue(nobody),
                Step::Commit(nobody, X),
                Step::Commit(T0, Address(u32::MAX)),
            ]
        ),
        [
            "no: the program has no thread T4294967295",
            "no: the program has no thread T4294967295",
            "no: T0 has no buffered store to a4294967295",
        ]
    );
    assert_eq!(machine.next_access(nobody), None);
    assert_eq!(machine.buffer(nobody).count(), 0);
}

#[test]
fn a_prefix_is_a_trace_and_accesses_keep_their_locations() {
    let location = |index| Some(LocationId::from_index(index));
    let access = |operation, value, index| Access {
        value,
        location: location(index),
        ..Access::new(T1, operation)
    };
    let threads = vec![
        vec![access(st(X), Some(7), 0), access(ld(X), Some(99), 1)],
        vec![access(ld(X), Some(99), 2), access(st(Y), None, 3)],
    ];
    let mut machine = Machine::of_accesses(&MemoryModel::TSO, threads);
    let steps = [Step::Issue(T0), Step::Issue(T1), Step::Issue(T0)];
    narrate(&mut machine, &steps);
    assert_eq!(machine.next_access(T1).map(|a| a.operation), Some(st(Y)));
    assert!(machine.clone().finish().is_err());
    machine.step(Step::Commit(T0, X)).unwrap();
    assert!(machine.is_drained() && !machine.is_complete());
    let trace = machine.finish().unwrap();
    let told = |e: &fencepost_memory::Event| (e.thread(), e.access.value, e.access.location);
    let told: Vec<_> = trace.events().iter().map(told).collect();
    assert_eq!(
        told,
        [
            (T0, Some(7), location(0)),
            (T0, Some(7), location(1)),
            (T1, None, location(2)),
        ]
    );
}

/// Half a million stores stay buffered while as many loads forward from them.
#[test]
fn a_step_takes_constant_time_however_much_is_buffered() {
    const STORES: u32 = 500_000;
    let address = |index: u32| Address(index % 1_000);
    let stores = (0..STORES).map(|index| st(address(index)));
    let loads = (0..STORES).map(|index| ld(address(index)));
    let program = StraightLineProgram {
        threads: vec![stores.chain(loads).collect()],
    };
    for model in [MemoryModel::TSO, MemoryModel::PSO] {
        let mut machine = Machine::new(&model, &program);
        for _ in 0..2 * STORES {
            machine.step(Step::Issue(T0)).unwrap();
        }
        for index in 0..STORES {
            let index = match model == MemoryModel::TSO {
                true => index,
                // Address by address, the last address first.
                false => 999 - index / (STORES / 1_000),
            };
            machine.step(Step::Commit(T0, address(index))).unwrap();
        }
        let trace = machine.finish().unwrap();
        assert_eq!(axioms::check(&model, &trace), Ok(()));
    }
}

/// What the oracle gives as proof that a program leaves SC is a trace of the model.
#[test]
fn the_oracle_emits_traces_that_the_axioms_allow() {
    let mut runs = RunEnumerator::default();
    for (threads, operations) in [(2, 5), (3, 3), (4, 3)] {
        let mut random = Random::new(23);
        let shape = ProgramShape {
            threads,
            operations,
            addresses: 3,
        };
        const PROGRAMS: u32 = 300;
        let mut unsafe_ones = 0;
        for _ in 0..PROGRAMS {
            let program = StraightLineProgram::random(&mut random, shape);
            for model in [MemoryModel::TSO, MemoryModel::PSO] {
                let found = runs.non_sc_trace(&model, &program).unwrap();
                unsafe_ones += u32::from(found.is_some());
                if let Some(trace) = found {
                    let verdict = axioms::check(&model, &trace);
                    assert_eq!(verdict, Ok(()), "{}", show(&program));
                }
            }
        }
        assert!(
            (20..2 * PROGRAMS - 20).contains(&unsafe_ones),
            "{unsafe_ones}"
        );
    }
}
