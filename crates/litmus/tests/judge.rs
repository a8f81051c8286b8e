//! The judge accepts a valid execution, and rejects it with every kind of thing wrong: each with a message
//! that names the instruction.

use crate::common;

use common::builder::{Code, random_test, test};
use fencepost_litmus::axioms::{Limits, explore_with};
use fencepost_litmus::code::Fence;
use fencepost_litmus::execution::{Action, Event, EventId, Execution};
use fencepost_litmus::judge::{self, Rejection};
use fencepost_litmus::test::{CellId, Test};
use fencepost_memory::{MemoryModel, Random};

const X: CellId = CellId(0);
const Y: CellId = CellId(1);

fn event(thread: u32, instance: u32, action: Action) -> Event {
    Event {
        thread,
        instance,
        instruction: instance,
        locked: false,
        action,
    }
}

fn locked(event: Event) -> Event {
    Event {
        locked: true,
        ..event
    }
}

fn ids(numbers: &[u32]) -> Vec<EventId> {
    numbers.iter().copied().map(EventId).collect()
}

fn from(sources: &[Option<u32>]) -> Vec<Option<EventId>> {
    sources.iter().map(|source| source.map(EventId)).collect()
}

/// Store buffering, in which both threads read too early.
fn store_buffering() -> (Test, Execution) {
    let thread = |own, other| Code::new().store(own, 1).load(0, other);
    let execution = Execution {
        events: vec![
            event(0, 0, Action::Write(X, 1)),
            event(0, 1, Action::Read(Y, 0)),
            event(1, 0, Action::Write(Y, 1)),
            event(1, 1, Action::Read(X, 0)),
        ],
        reads_from: from(&[None; 4]),
        memory_order: ids(&[1, 3, 0, 2]),
    };
    (test(2, [thread(0, 1), thread(1, 0)]), execution)
}

/// A locked increment beside a thread that writes twice with a fence between and reads.
fn increment_and_writes(fence: Fence) -> (Test, Execution) {
    let increment = Code::new().increment(0, true);
    let writes = Code::new().store(1, 1).fence(fence).store(0, 5).load(0, 0);
    let execution = Execution {
        events: vec![
            locked(event(0, 0, Action::Read(X, 0))),
            locked(event(0, 0, Action::Write(X, 1))),
            event(1, 0, Action::Write(Y, 1)),
            event(1, 1, Action::Fence(fence)),
            event(1, 2, Action::Write(X, 5)),
            event(1, 3, Action::Read(X, 5)),
        ],
        reads_from: from(&[None, None, None, None, None, Some(4)]),
        memory_order: ids(&[0, 1, 2, 4, 5]),
    };
    (test(2, [increment, writes]), execution)
}

fn rejection(
    (test, execution): &(Test, Execution),
    model: &MemoryModel,
    change: impl FnOnce(&mut Execution),
) -> Rejection {
    let mut changed = execution.clone();
    change(&mut changed);
    judge::check(test, model, &changed).expect_err("it is wrong")
}

fn message(case: &(Test, Execution), change: impl FnOnce(&mut Execution)) -> String {
    judge::check(&case.0, &MemoryModel::TSO, &case.1).expect("it is right before it is changed");
    rejection(case, &MemoryModel::TSO, change).to_string()
}

#[test]
fn a_valid_execution_has_a_final_state() {
    let (test, execution) = store_buffering();
    let state = judge::check(&test, &MemoryModel::TSO, &execution).unwrap();
    assert_eq!(state.cells, [1, 1]);
    assert_eq!(state.observed(&test), [0, 0, 1, 1]);
    let rejected = judge::check(&test, &MemoryModel::SC, &execution).unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "P0 `MOV [c0],$1` (writes c0=1) must come before P0 `MOV r0,[c1]` (reads c1=0) in the \
         memory order: the model keeps the program order of such accesses"
    );
}

#[test]
fn events_that_the_threads_do_not_make_are_rejected() {
    let case = store_buffering();
    let changed = |change: fn(&mut Execution)| message(&case, change);
    assert_eq!(
        changed(|e| e.events[0].action = Action::Write(X, 2)),
        "P0 `MOV [c0],$1`: the thread writes c0=1, but the execution has P0 `MOV [c0],$1` (writes \
         c0=2), instance 0"
    );
    assert_eq!(
        changed(|e| e.events[3].locked = true),
        "P1 `MOV r0,[c0]`: the thread reads c0, but the execution has P1 `MOV r0,[c0]` (reads \
         c0=0), instance 1, locked"
    );
    assert_eq!(
        changed(|e| e.events[1].action = Action::Read(X, 0)),
        "P0 `MOV r0,[c1]`: the thread reads c1, but the execution has P0 `MOV r0,[c1]` (reads \
         c0=0), instance 1"
    );
    assert_eq!(
        changed(|e| {
            e.events.pop();
            e.reads_from.pop();
        }),
        "P1 `MOV r0,[c0]`: the thread reads c0, but the execution has no more events of it"
    );
    assert_eq!(
        changed(|e| {
            e.events.push(event(1, 2, Action::Fence(Fence::Full)));
            e.reads_from.push(None);
        }),
        "P1 `the end`: the thread has ended, but the execution has P1 `` (Full fence), instance 2"
    );
    assert_eq!(
        changed(|e| {
            e.events.push(event(7, 0, Action::Write(X, 1)));
            e.reads_from.push(None);
        }),
        "P7 `` (writes c0=1) does not stand with the events of its thread"
    );
    assert_eq!(
        changed(|e| {
            e.reads_from.pop();
        }),
        "the reads-from map has 3 entries for 4 events"
    );
    for change in [
        (|e| e.events[1].instance = 0) as fn(&mut Execution),
        |e| e.events[1].instance = 2,
        |e| e.events[1].instruction = 0,
        |e| e.events.swap(0, 1),
        |e| e.events.swap(1, 2),
    ] {
        let rejected = rejection(&case, &MemoryModel::TSO, change);
        assert!(
            matches!(rejected, Rejection::OtherEvent { .. }),
            "{rejected}"
        );
    }
}

#[test]
fn a_fault_is_no_execution() {
    let (mut test, execution) = store_buffering();
    test.cells[1].address = 0x8000;
    assert_eq!(
        rejection(&(test, execution), &MemoryModel::TSO, |_| {}).to_string(),
        "P0 `MOV r0,[c1]`: there is no location at address 0x1008"
    );
}

#[test]
fn a_memory_order_that_is_none_is_rejected() {
    let case = increment_and_writes(Fence::Full);
    let with_order = |order: &[u32]| message(&case, |e| e.memory_order = ids(order));
    assert_eq!(
        with_order(&[0, 1, 2, 4, 5, 6]),
        "the memory order has event 6, but there are 6 events"
    );
    assert_eq!(
        with_order(&[0, 1, 2, 3, 4, 5]),
        "P1 `Full` (Full fence) is in the memory order, but accesses no memory"
    );
    assert_eq!(
        with_order(&[0, 1, 2, 4, 5, 2]),
        "P1 `MOV [c1],$1` (writes c1=1) is in the memory order twice"
    );
    assert_eq!(
        with_order(&[0, 1, 4, 5]),
        "P1 `MOV [c1],$1` (writes c1=1) is not in the memory order"
    );
}

#[test]
fn program_order_that_the_model_keeps_must_be_kept() {
    let fenced = increment_and_writes(Fence::Full);
    let stored = increment_and_writes(Fence::Store);
    let swapped: fn(&mut Execution) = |e| e.memory_order = ids(&[0, 1, 4, 2, 5]);
    let pair = "P1 `MOV [c1],$1` (writes c1=1) must come before P1 `MOV [c0],$5` (writes c0=5) \
                in the memory order: ";
    assert_eq!(
        rejection(&fenced, &MemoryModel::TSO, swapped).to_string(),
        format!("{pair}the model keeps the program order of such accesses")
    );
    assert_eq!(
        rejection(&fenced, &MemoryModel::PSO, swapped).to_string(),
        format!("{pair}an MFENCE stands between them")
    );
    assert_eq!(
        rejection(&stored, &MemoryModel::PSO, swapped).to_string(),
        format!("{pair}they are writes with an SFENCE between them")
    );
    let (test, mut execution) = increment_and_writes(Fence::Load);
    swapped(&mut execution);
    judge::check(&test, &MemoryModel::PSO, &execution).expect("LFENCE does nothing");
}

#[test]
fn a_locked_instruction_is_whole() {
    let case = increment_and_writes(Fence::Full);
    assert_eq!(
        message(&case, |e| e.memory_order = ids(&[0, 2, 1, 4, 5])),
        "P1 `MOV [c1],$1` (writes c1=1) comes between P0 `LOCK INC [c0]` (reads c0=0) and P0 `LOCK \
         INC [c0]` (writes c0=1), which are one locked instruction"
    );
    assert!(
        message(&case, |e| e.memory_order = ids(&[1, 0, 2, 4, 5])).contains("must come before")
    );
}

#[test]
fn reads_have_the_latest_value_that_they_see() {
    let case = increment_and_writes(Fence::Full);
    let changed = |change: fn(&mut Execution)| message(&case, change);
    assert_eq!(
        changed(|e| e.reads_from[1] = Some(EventId(4))),
        "P0 `LOCK INC [c0]` (writes c0=1) has a write that it reads from, but does not read"
    );
    assert_eq!(
        changed(|e| e.reads_from[5] = Some(EventId(1))),
        "P1 `MOV r0,[c0]` (reads c0=5) cannot read from P0 `LOCK INC [c0]` (writes c0=1)"
    );
    assert_eq!(
        changed(|e| e.reads_from[5] = Some(EventId(77))),
        "P1 `MOV r0,[c0]` (reads c0=5) cannot read from event 77, which there is not"
    );
    assert_eq!(
        changed(|e| e.reads_from[5] = None),
        "P1 `MOV r0,[c0]` (reads c0=5) reads the initial content, which is 0"
    );
    assert_eq!(
        changed(|e| e.memory_order = ids(&[2, 4, 0, 1, 5])),
        "P0 `LOCK INC [c0]` (reads c0=0) reads the initial content, but must see P1 `MOV \
         [c0],$5` (writes c0=5)"
    );
    assert_eq!(
        changed(|e| {
            e.events[0].action = Action::Read(X, 5);
            e.events[1].action = Action::Write(X, 6);
            e.reads_from[0] = Some(EventId(4));
        }),
        "P0 `LOCK INC [c0]` (reads c0=5) reads from P1 `MOV [c0],$5` (writes c0=5), which comes \
         after it"
    );
    assert_eq!(
        changed(|e| {
            e.events[5].action = Action::Read(X, 1);
            e.reads_from[5] = Some(EventId(1));
        }),
        "P1 `MOV r0,[c0]` (reads c0=1) reads from P0 `LOCK INC [c0]` (writes c0=1), but must see \
         P1 `MOV [c0],$5` (writes c0=5)"
    );
    // Its own write is seen before it is in memory.
    let (test, mut execution) = increment_and_writes(Fence::Load);
    execution.memory_order = ids(&[5, 0, 1, 2, 4]);
    judge::check(&test, &MemoryModel::TSO, &execution).expect("read from the buffer");
}

/// What is accepted after a change shows another execution, or one that is as valid: the state is
/// always among those of the axioms. The changes are random.
#[test]
fn no_change_of_a_witness_makes_the_judge_accept_another_state() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in common::seeds(100) {
        let mut random = Random::new(seed);
        let test = random_test(&mut random, 7);
        for model in &MemoryModel::ALL {
            let mut witnesses = Vec::new();
            let limits = Limits::default();
            let visit = explore_with(&test, model, &limits, |found| {
                witnesses.push((found.observed(), found.execution()));
            });
            visit.unwrap();
            for (_, execution) in &witnesses {
                for _ in 0..10 {
                    let mut changed = execution.clone();
                    change_something(&mut random, &mut changed);
                    match judge::check(&test, model, &changed) {
                        Ok(state) => {
                            accepted += 1;
                            let state = state.observed(&test);
                            let is_known = witnesses.iter().any(|(known, _)| *known == state);
                            assert!(is_known, "seed {seed}, {model:?}: {changed:#?}");
                        }
                        Err(_) => rejected += 1,
                    }
                }
            }
        }
    }
    assert!(accepted > 100 && rejected > 100, "{accepted}, {rejected}");
}

fn change_something(random: &mut Random, execution: &mut Execution) {
    let mut below = |bound: usize| random.below(bound as u64) as usize;
    let order = &mut execution.memory_order;
    let events = execution.events.len();
    match below(5) {
        0 | 1 if order.len() > 1 => {
            let place = below(order.len() - 1);
            order.swap(place, place + 1);
        }
        2 => {
            let source = Some(EventId(below(events) as u32));
            execution.reads_from[below(events)] = source;
        }
        3 => execution.reads_from[below(events)] = None,
        _ => {
            let value = below(4) as u64;
            match &mut execution.events[below(events)].action {
                Action::Read(_, content) | Action::Write(_, content) => *content = value,
                Action::Fence(_) => {}
            }
        }
    }
}
