//! What each thread may do by itself, if its reads have any of the values that its cells may have.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::code::Operation;
use crate::execution::{Action, Event};
use crate::test::{CellId, Test};
use crate::thread::{FaultKind, Layout, Pending, Runner};

use super::Limits;

/// The most values of a cell.
const MOST_VALUES: usize = 64;
/// The number of turns between two polls of the stop function.
const TURNS_BETWEEN_QUESTIONS: u32 = 1 << 8;
/// The most loops without an end and without an access; each takes long to notice.
const MOST_SILENT_LOOPS: usize = 4;

/// The values that each cell may have.
pub(super) type Values = Vec<BTreeSet<u64>>;

/// A thread from its beginning to its end.
#[derive(Clone, Debug)]
pub(super) struct ThreadRun {
    pub(super) events: Vec<Event>,
    pub(super) registers: Vec<u64>,
}

/// Runs all threads of a test.
pub(super) struct Runs<'a> {
    test: &'a Test,
    layout: Layout,
    limits: &'a Limits<'a>,
    /// Whether something was left out.
    pub(super) is_cut: bool,
    /// What was written, also on the way of runs that do not end.
    written: FxHashSet<(CellId, u64)>,
}

/// A thread on its way.
#[derive(Clone)]
struct Partial {
    position: u32,
    registers: Vec<u64>,
    events: Vec<Event>,
    /// The position of the last event's operation.
    last_position: u32,
    is_locked: bool,
    /// Where the thread was, since it last changed something.
    visits: Vec<(u32, Vec<u64>)>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(test: &'a Test, limits: &'a Limits<'a>) -> Self {
        Runs {
            test,
            layout: Layout::new(test),
            limits,
            is_cut: false,
            written: FxHashSet::default(),
        }
    }

    /// The values that cells may have: those that threads can come to write, beginning with the
    /// initial contents.
    pub(super) fn values(&mut self) -> Values {
        let test = self.test;
        let cells = test.cells.iter();
        let mut values: Values = cells
            .map(|cell| BTreeSet::from([cell.initial & cell.width.mask()]))
            .collect();
        let operations = test.threads.iter().flat_map(|thread| &thread.operations);
        let is_store = |operation: &&Operation| matches!(operation, Operation::Store { .. });
        let stores = operations.filter(is_store).count();
        for _ in 0..=stores {
            self.written.clear();
            for thread in 0..test.threads.len() {
                self.of_thread(thread, &values, |_| false);
            }
            let mut grown = values.clone();
            for (cell, value) in self.written.drain() {
                grown[cell.index()].insert(value);
            }
            let is_full = grown.iter().any(|values| values.len() > MOST_VALUES);
            if is_full || (self.limits.should_stop)() {
                self.is_cut = true;
                break;
            }
            if grown == values {
                return values;
            }
            values = grown;
        }
        // Without loops, no chain of writes is longer than there are stores.
        self.is_cut |= (0..test.threads.len()).any(|thread| self.has_loop(thread));
        values
    }

    fn has_loop(&self, thread: usize) -> bool {
        let operations = self.test.threads[thread].operations.iter().enumerate();
        operations
            .into_iter()
            .any(|(position, operation)| match operation {
                Operation::Jump(target) | Operation::JumpIf(_, target) => {
                    *target as usize <= position
                }
                _ => false,
            })
    }

    /// The runs of a thread whose final registers are `wanted`.
    pub(super) fn of_thread(
        &mut self,
        thread: usize,
        values: &Values,
        wanted: impl Fn(&[u64]) -> bool,
    ) -> Vec<ThreadRun> {
        let source = &self.test.threads[thread];
        let mut stack = vec![Partial {
            position: 0,
            registers: source.registers.iter().map(|r| r.initial).collect(),
            events: Vec::new(),
            last_position: 0,
            is_locked: false,
            visits: Vec::new(),
        }];
        let mut runs = Vec::new();
        let (mut silent_loops, mut ended, mut turns) = (0, 0, 0_u32);
        while let Some(mut partial) = stack.pop() {
            turns = turns.wrapping_add(1);
            if turns % TURNS_BETWEEN_QUESTIONS == 0 && (self.limits.should_stop)() {
                self.is_cut = true;
                break;
            }
            let mut runner = Runner {
                thread,
                test: self.test,
                layout: &self.layout,
                position: &mut partial.position,
                registers: &mut partial.registers,
            };
            let pending = match runner.advance() {
                Ok(pending) => pending,
                Err(fault) => {
                    // An execution with a fault has no final state.
                    if fault.kind == FaultKind::SilentLoop {
                        self.is_cut = true;
                        silent_loops += 1;
                    }
                    if silent_loops > MOST_SILENT_LOOPS {
                        break;
                    }
                    continue;
                }
            };
            match pending {
                Pending::Ended => {
                    ended += 1;
                    if wanted(&partial.registers) {
                        runs.push(ThreadRun {
                            events: partial.events,
                            registers: partial.registers,
                        });
                    }
                }
                Pending::BeginLocked | Pending::EndLocked => {
                    runner.passed();
                    partial.is_locked = pending == Pending::BeginLocked;
                    stack.push(partial);
                    continue;
                }
                _ => self.branch(thread, partial, pending, values, &mut stack),
            }
            if ended + stack.len() > self.limits.runs_per_thread {
                self.is_cut = true;
                break;
            }
        }
        runs
    }

    /// Puts what follows an event on the stack, for a read with each value that it may have.
    fn branch(
        &mut self,
        thread: usize,
        mut partial: Partial,
        pending: Pending,
        values: &Values,
        stack: &mut Vec<Partial>,
    ) {
        if partial.events.len() >= self.limits.events_per_thread {
            self.is_cut = true;
            return;
        }
        let here = (partial.position, partial.registers.clone());
        match pending {
            Pending::Store(cell, value) => {
                self.written.insert((cell, value));
                let last = partial.events.last();
                let rewrites = last.is_some_and(|last| {
                    partial.is_locked
                        && matches!(last.action, Action::Read(_, read) if read == value)
                });
                if !rewrites {
                    partial.visits.clear();
                }
            }
            _ if partial.visits.contains(&here) => return,
            _ => partial.visits.push(here),
        }
        let actions: Vec<Action> = match pending {
            Pending::Load(cell) => {
                let values = values[cell.index()].iter().rev();
                values.map(|&value| Action::Read(cell, value)).collect()
            }
            Pending::Store(cell, value) => vec![Action::Write(cell, value)],
            Pending::Fence(fence) => vec![Action::Fence(fence)],
            Pending::BeginLocked | Pending::EndLocked | Pending::Ended => Vec::new(),
        };
        let instruction = self.test.threads[thread].instruction_of[partial.position as usize];
        let instance = match partial.events.last() {
            None => 0,
            // Within an instruction control goes forward only.
            Some(last)
                if last.instruction == instruction && partial.last_position < partial.position =>
            {
                last.instance
            }
            Some(last) => last.instance + 1,
        };
        for action in actions {
            let mut next = partial.clone();
            next.last_position = next.position;
            next.events.push(Event {
                thread: thread as u32,
                instance,
                instruction,
                locked: next.is_locked,
                action,
            });
            let mut runner = Runner {
                thread,
                test: self.test,
                layout: &self.layout,
                position: &mut next.position,
                registers: &mut next.registers,
            };
            match action {
                Action::Read(_, value) => runner.loaded(value),
                Action::Write(..) | Action::Fence(_) => runner.passed(),
            }
            stack.push(next);
        }
    }
}
