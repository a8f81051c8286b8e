//! A run of the store-buffer machine as a table: one line per step, one column per thread, and what
//! the buffers and the memory hold after it.

use fencepost_litmus::run::{Run, RunAction, RunStep};
use fencepost_litmus::test::{CellId, Test};

use super::words::{content, instruction, thread_name};
use crate::columns::aligned;
use crate::style::{HEADING, Styled};

/// The largest number of thread columns; more threads share one.
const MAX_COLUMNS: usize = 6;

/// The table of a run, all steps of it.
pub fn step_table(test: &Test, run: &Run) -> String {
    let last = run.steps.iter().map(|step| step.thread + 1).max();
    let threads = (test.threads.len() as u32).max(last.unwrap_or(0));
    let shares_column = threads as usize > MAX_COLUMNS;
    let names: Vec<String> = (0..threads)
        .map(|thread| thread_name(test, thread))
        .collect();

    let mut headings = vec!["step".to_string()];
    match shares_column {
        true => headings.extend(["thread".to_string(), "does".to_string()]),
        false => headings.extend(names.iter().cloned()),
    }
    headings.extend(["store buffers".to_string(), "memory".to_string()]);
    let columns = headings.len();
    let mut rows = vec![headings];

    let mut machine = Machine::new(test, threads as usize);
    let mut first = vec![String::new(); columns];
    first[columns - 1] = machine.memory(test);
    rows.push(first);
    for (index, step) in run.steps.iter().enumerate() {
        machine.perform(step);
        let mut row = vec![(index + 1).to_string()];
        let does = describe(test, step);
        match shares_column {
            true => row.extend([thread_name(test, step.thread), does]),
            false => row.extend((0..threads).map(|thread| {
                let is_own = thread == step.thread;
                if is_own { does.clone() } else { String::new() }
            })),
        }
        row.extend([machine.buffers(test, &names), machine.memory(test)]);
        rows.push(row);
    }
    let mut text = String::new();
    for (index, line) in aligned(&rows, "").into_iter().enumerate() {
        text += &match index {
            0 => format!("{}\n", Styled(HEADING, line)),
            _ => format!("{line}\n"),
        };
    }
    text
}

fn describe(test: &Test, step: &RunStep) -> String {
    let text = instruction(test, step.thread, step.instruction);
    let at = |cell: CellId, value: u64| content(test, cell, value);
    match step.action {
        RunAction::ReadMemory(cell, value) | RunAction::LockedRead(cell, value) => {
            format!("{text} reads {}", at(cell, value))
        }
        RunAction::ReadBuffer(cell, value) => {
            format!("{text} reads {} (own buffer)", at(cell, value))
        }
        RunAction::Issue(..) => format!("{text} → buffer"),
        RunAction::Commit(cell, value) => format!("commit {}", at(cell, value)),
        RunAction::Write(cell, value) | RunAction::LockedWrite(cell, value) => {
            format!("{text} writes {}", at(cell, value))
        }
        RunAction::Fence(_) => text.to_string(),
    }
}

/// The contents of buffers and memory.
struct Machine {
    buffers: Vec<Vec<(CellId, u64)>>,
    memory: Vec<u64>,
}

impl Machine {
    fn new(test: &Test, threads: usize) -> Self {
        Machine {
            buffers: vec![Vec::new(); threads],
            memory: test.cells.iter().map(|cell| cell.initial).collect(),
        }
    }

    fn perform(&mut self, step: &RunStep) {
        let buffer = &mut self.buffers[step.thread as usize];
        match step.action {
            RunAction::Issue(cell, value) => buffer.push((cell, value)),
            RunAction::Commit(cell, value) => {
                if let Some(oldest) = buffer.iter().position(|store| store.0 == cell) {
                    buffer.remove(oldest);
                }
                self.write(cell, value);
            }
            RunAction::Write(cell, value) | RunAction::LockedWrite(cell, value) => {
                self.write(cell, value);
            }
            RunAction::ReadMemory(..)
            | RunAction::ReadBuffer(..)
            | RunAction::LockedRead(..)
            | RunAction::Fence(_) => {}
        }
    }

    fn write(&mut self, cell: CellId, value: u64) {
        if let Some(content) = self.memory.get_mut(cell.index()) {
            *content = value;
        }
    }

    fn buffers(&self, test: &Test, names: &[String]) -> String {
        let full = names.iter().zip(&self.buffers);
        let texts = full.filter(|(_, buffer)| !buffer.is_empty());
        let texts = texts.map(|(name, buffer)| {
            let stores = buffer
                .iter()
                .map(|&(cell, value)| content(test, cell, value));
            format!("{name}: {}", stores.collect::<Vec<_>>().join(" "))
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    fn memory(&self, test: &Test) -> String {
        let cells = self.memory.iter().enumerate();
        let texts = cells.map(|(cell, &value)| content(test, CellId(cell as u32), value));
        texts.collect::<Vec<_>>().join(" ")
    }
}
