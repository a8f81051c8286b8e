//! Whether the events are those of the test: each thread is run again with the values that its
//! reads have, and must make exactly its events, and then end.

use super::rejection::{EventLabel, Rejection};
use crate::execution::{Action, Event, Execution};
use crate::test::Test;
use crate::thread::{Fault, Layout, Pending, Runner};

/// Checks the events of all threads; gives the register files at their ends.
pub(super) fn check(test: &Test, execution: &Execution) -> Result<Vec<Vec<u64>>, Rejection> {
    if execution.reads_from.len() != execution.events.len() {
        return Err(Rejection::ReadsFromLength {
            entries: execution.reads_from.len(),
            events: execution.events.len(),
        });
    }
    let layout = Layout::new(test);
    let mut rest = execution.events.as_slice();
    let mut registers = Vec::with_capacity(test.threads.len());
    for thread in 0..test.threads.len() {
        let is_other = |event: &Event| event.thread as usize != thread;
        let length = rest.iter().position(is_other).unwrap_or(rest.len());
        let (own, others) = rest.split_at(length);
        registers.push(replay_thread(test, &layout, thread, own)?);
        rest = others;
    }
    match rest.first() {
        Some(event) => Err(Rejection::MisplacedEvent {
            event: EventLabel::new(test, event),
        }),
        None => Ok(registers),
    }
}

/// Where an instruction was when it made its last event: enough to tell whether the next event is
/// of the same performance of it. An instruction goes forward through its operations, so an event
/// that stands no later than the last one belongs to a new performance.
#[derive(Clone, Copy)]
struct Performance {
    instance: u32,
    instruction: u32,
    position: u32,
}

fn replay_thread(
    test: &Test,
    layout: &Layout,
    thread: usize,
    events: &[Event],
) -> Result<Vec<u64>, Rejection> {
    let source = &test.threads[thread];
    let initial = source.registers.iter().map(|register| register.initial);
    let mut registers: Vec<u64> = initial.collect();
    let mut position = 0;
    let mut rest = events.iter();
    let mut last: Option<Performance> = None;
    let mut is_locked = false;
    loop {
        let mut runner = Runner {
            thread,
            test,
            layout,
            position: &mut position,
            registers: &mut registers,
        };
        let pending = runner.advance().map_err(|fault| faulty(test, &fault))?;
        let at = *runner.position;
        match pending {
            Pending::BeginLocked | Pending::EndLocked => {
                is_locked = pending == Pending::BeginLocked;
                runner.passed();
                continue;
            }
            Pending::Ended if rest.as_slice().is_empty() => return Ok(registers),
            _ => {}
        }
        let instruction = source.instruction_of[at as usize];
        let instance = match last {
            None => 0,
            Some(last) if last.instruction == instruction && last.position < at => last.instance,
            Some(last) => last.instance + 1,
        };
        last = Some(Performance {
            instance,
            instruction,
            position: at,
        });
        let Some(found) = rest.next() else {
            return Err(other_event(test, thread, at, pending, None));
        };
        let action = match (pending, found.action) {
            (Pending::Load(cell), Action::Read(_, value)) => Some(Action::Read(cell, value)),
            (Pending::Store(cell, value), _) => Some(Action::Write(cell, value)),
            (Pending::Fence(fence), _) => Some(Action::Fence(fence)),
            _ => None,
        };
        let expected = action.map(|action| Event {
            thread: thread as u32,
            instance,
            instruction,
            locked: is_locked,
            action,
        });
        if expected != Some(*found) {
            return Err(other_event(test, thread, at, pending, Some(found)));
        }
        match found.action {
            Action::Read(_, value) => runner.loaded(value),
            Action::Write(..) | Action::Fence(_) => runner.passed(),
        }
    }
}

fn instruction_text(test: &Test, thread: usize, instruction: usize) -> String {
    let instructions = &test.threads[thread].instructions;
    match instructions.get(instruction) {
        Some(found) => found.text.clone(),
        None => "the end".to_owned(),
    }
}

fn faulty(test: &Test, fault: &Fault) -> Rejection {
    Rejection::Fault {
        thread: test.threads[fault.thread].number,
        instruction: instruction_text(test, fault.thread, fault.instruction),
        kind: fault.kind,
    }
}

fn other_event(
    test: &Test,
    thread: usize,
    position: u32,
    pending: Pending,
    found: Option<&Event>,
) -> Rejection {
    let cell = |index: usize| test.cells[index].name.as_str();
    let expected = match pending {
        Pending::Load(read) => format!("reads {}", cell(read.index())),
        Pending::Store(written, value) => format!("writes {}={value}", cell(written.index())),
        Pending::Fence(fence) => format!("performs a {fence:?} fence"),
        Pending::BeginLocked | Pending::EndLocked => "locks".to_owned(),
        Pending::Ended => "has ended".to_owned(),
    };
    let found = match found {
        Some(event) => format!(
            "{}, instance {}{}",
            EventLabel::new(test, event),
            event.instance,
            if event.locked { ", locked" } else { "" },
        ),
        None => "no more events of it".to_owned(),
    };
    let source = &test.threads[thread];
    let instruction = source.instruction_of[position as usize] as usize;
    Rejection::OtherEvent {
        thread: source.number,
        instruction: instruction_text(test, thread, instruction),
        expected,
        found,
    }
}
