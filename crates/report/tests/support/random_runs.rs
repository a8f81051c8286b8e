//! Random runs of the store-buffer machine, of any size, and random executions that no machine has.

use std::collections::VecDeque;

use fencepost_litmus::code::Fence;
use fencepost_litmus::execution::{Action, EventId, Execution};
use fencepost_litmus::run::{Run, RunAction, RunStep};
use fencepost_litmus::test::{CellId, Test};
use fencepost_memory::random::Random;

use super::litmus::{add_text, cell, empty_test, empty_thread};

/// How large runs are.
#[derive(Clone, Copy)]
pub struct Size {
    pub threads: u64,
    pub cells: u64,
    /// The most instructions of all threads together.
    pub instructions: u64,
}

fn pick(random: &mut Random, bound: usize) -> usize {
    random.below(bound as u64) as usize
}

/// A run of threads that choose their next instruction as they go, under TSO.
pub fn random_run(random: &mut Random, size: Size) -> (Test, Run) {
    let mut test = empty_test("random");
    for index in 0..size.cells {
        cell(&mut test, &format!("v{index}"));
    }
    test.threads = (0..size.threads as u32).map(empty_thread).collect();
    let mut memory = vec![0u64; size.cells as usize];
    let mut buffers: Vec<VecDeque<(CellId, u64, RunStep)>> =
        vec![VecDeque::new(); size.threads as usize];
    let mut steps: Vec<RunStep> = Vec::new();
    let mut written = 0;
    let mut left = size.instructions;
    while left > 0 || buffers.iter().any(|buffer| !buffer.is_empty()) {
        let thread = pick(random, test.threads.len());
        let commits = left == 0 || random.below(3) == 0;
        if let Some((cell, value, store)) = buffers[thread].front().copied() {
            if commits {
                buffers[thread].pop_front();
                memory[cell.index()] = value;
                let action = RunAction::Commit(cell, value);
                steps.push(RunStep { action, ..store });
                continue;
            }
        }
        if left == 0 {
            continue;
        }
        left -= 1;
        let instance = test.threads[thread].instructions.len() as u32;
        let step = |action| RunStep {
            thread: thread as u32,
            instruction: instance,
            instance,
            action,
        };
        let cell = CellId(random.below(size.cells) as u32);
        let is_empty = buffers[thread].is_empty();
        let text = match random.below(10) {
            0 if is_empty => {
                steps.push(step(RunAction::Fence(Fence::Full)));
                "MFENCE".to_string()
            }
            1 if is_empty => {
                written += 1;
                steps.push(step(RunAction::LockedRead(cell, memory[cell.index()])));
                steps.push(step(RunAction::LockedWrite(cell, written)));
                memory[cell.index()] = written;
                format!("XCHG [v{}],EAX", cell.0)
            }
            2..6 => {
                written += 1;
                let issue = step(RunAction::Issue(cell, written));
                buffers[thread].push_back((cell, written, issue));
                steps.push(issue);
                format!("MOV [v{}],${written}", cell.0)
            }
            _ => {
                let own = buffers[thread].iter().rev().find(|store| store.0 == cell);
                steps.push(step(match own {
                    Some(store) => RunAction::ReadBuffer(cell, store.1),
                    None => RunAction::ReadMemory(cell, memory[cell.index()]),
                }));
                format!("MOV EAX,[v{}]", cell.0)
            }
        };
        add_text(&mut test.threads[thread], text);
    }
    (test, Run { steps })
}

/// Lets reads read from anywhere and memory see writes in any order: mostly what no machine does.
pub fn shuffled(random: &mut Random, execution: &Execution) -> Execution {
    let mut execution = execution.clone();
    for index in (1..execution.memory_order.len()).rev() {
        let other = pick(random, index + 1);
        execution.memory_order.swap(index, other);
    }
    for read in 0..execution.events.len() {
        let Action::Read(cell, _) = execution.events[read].action else {
            continue;
        };
        let writes = execution.ids().filter(|&id| {
            let action = execution.event(id).action;
            action.is_write() && action.cell() == Some(cell)
        });
        let mut sources: Vec<Option<EventId>> = writes.map(Some).collect();
        sources.push(None);
        let source = sources[pick(random, sources.len())];
        execution.reads_from[read] = source;
        let value = source.map_or(0, |write| match execution.event(write).action {
            Action::Write(_, value) => value,
            _ => 0,
        });
        execution.events[read].action = Action::Read(cell, value);
    }
    execution
}
