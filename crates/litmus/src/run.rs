//! A run of the store-buffer machine, step by step, and the corresponding execution.

use crate::code::Fence;
use crate::execution::{Action, Event, EventId, Execution};
use crate::test::CellId;

/// The action of a step of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunAction {
    /// A load takes its value from memory.
    ReadMemory(CellId, u64),
    /// A load takes its value from the thread's own buffer.
    ReadBuffer(CellId, u64),
    /// A store goes into the buffer.
    Issue(CellId, u64),
    /// The oldest buffered store of the thread to this cell reaches memory.
    Commit(CellId, u64),
    /// A store goes straight to memory, as under SC.
    Write(CellId, u64),
    /// A locked instruction reads memory.
    LockedRead(CellId, u64),
    /// A locked instruction writes memory.
    LockedWrite(CellId, u64),
    /// A fence is passed.
    Fence(Fence),
}

/// One step of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunStep {
    /// The thread: an index into [`Test::threads`](crate::test::Test::threads).
    pub thread: u32,
    /// The instruction: an index into the thread's instructions. For a commit, that of the store.
    pub instruction: u32,
    /// How many instructions with events the thread had begun before this one.
    pub instance: u32,
    /// Its action.
    pub action: RunAction,
}

/// A run of the machine from the first state to one in which all threads have ended and all
/// buffers are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// The steps.
    pub steps: Vec<RunStep>,
}

impl Run {
    /// Makes a run of bare steps: finds for each commit its store, and numbers the instructions.
    pub(crate) fn new(threads: usize, mut steps: Vec<RunStep>) -> Run {
        let mut issued: Vec<Vec<(CellId, RunStep)>> = vec![Vec::new(); threads];
        let mut begun = vec![0u32; threads];
        let mut last: Vec<Option<RunStep>> = vec![None; threads];
        for step in &mut steps {
            let thread = step.thread as usize;
            if let RunAction::Commit(cell, _) = step.action {
                let position = issued[thread].iter().position(|(other, _)| *other == cell);
                let (_, store) = issued[thread].remove(position.expect("a commit has its store"));
                (step.instruction, step.instance) = (store.instruction, store.instance);
                continue;
            }
            // An instruction reads at most once and then writes at most once: a second event of an
            // instruction continues it only as a write after a read.
            let continues = last[thread].is_some_and(|before| {
                before.instruction == step.instruction && !writes(before) && writes(*step)
            });
            if !continues {
                begun[thread] += 1;
            }
            step.instance = begun[thread] - 1;
            last[thread] = Some(*step);
            if let RunAction::Issue(cell, _) = step.action {
                issued[thread].push((cell, *step));
            }
        }
        Run { steps }
    }

    /// The execution that the run is.
    pub fn execution(&self) -> Execution {
        let threads = self
            .steps
            .iter()
            .map(|step| step.thread + 1)
            .max()
            .unwrap_or(0);
        let mut order: Vec<usize> = Vec::new();
        for thread in 0..threads {
            let own = |&index: &usize| self.steps[index].thread == thread;
            let events = (0..self.steps.len()).filter(own);
            order.extend(events.filter(|&index| self.event(index).is_some()));
        }
        let mut id_of = vec![EventId(0); self.steps.len()];
        for (id, &index) in order.iter().enumerate() {
            id_of[index] = EventId(id as u32);
        }
        let mut execution = Execution {
            events: order
                .iter()
                .filter_map(|&index| self.event(index))
                .collect(),
            reads_from: vec![None; order.len()],
            memory_order: Vec::new(),
        };
        self.order_and_sources(&id_of, &mut execution);
        execution
    }

    fn order_and_sources(&self, id_of: &[EventId], execution: &mut Execution) {
        let mut buffered: Vec<(u32, CellId, EventId)> = Vec::new();
        let mut memory: Vec<(CellId, EventId)> = Vec::new();
        for (step, &id) in self.steps.iter().zip(id_of) {
            let own = |(thread, _, _): &&(u32, CellId, EventId)| *thread == step.thread;
            let mut write = |cell: CellId, id: EventId| {
                memory.retain(|(other, _)| *other != cell);
                memory.push((cell, id));
                execution.memory_order.push(id);
            };
            match step.action {
                RunAction::ReadMemory(cell, _) | RunAction::LockedRead(cell, _) => {
                    let source = memory.iter().find(|(other, _)| *other == cell);
                    execution.reads_from[id.index()] = source.map(|(_, id)| *id);
                    execution.memory_order.push(id);
                }
                RunAction::ReadBuffer(cell, _) => {
                    let newest = buffered
                        .iter()
                        .rev()
                        .filter(own)
                        .find(|entry| entry.1 == cell);
                    execution.reads_from[id.index()] = newest.map(|entry| entry.2);
                    execution.memory_order.push(id);
                }
                RunAction::Issue(cell, _) => buffered.push((step.thread, cell, id)),
                RunAction::Commit(cell, _) => {
                    let oldest = buffered
                        .iter()
                        .position(|entry| entry.0 == step.thread && entry.1 == cell)
                        .expect("a commit has its store");
                    let (_, _, id) = buffered.remove(oldest);
                    write(cell, id);
                }
                RunAction::Write(cell, _) | RunAction::LockedWrite(cell, _) => write(cell, id),
                RunAction::Fence(_) => {}
            }
        }
    }

    /// The event that a step begins; none for a commit.
    fn event(&self, index: usize) -> Option<Event> {
        let step = &self.steps[index];
        let (locked, action) = match step.action {
            RunAction::ReadMemory(cell, value) | RunAction::ReadBuffer(cell, value) => {
                (false, Action::Read(cell, value))
            }
            RunAction::Issue(cell, value) | RunAction::Write(cell, value) => {
                (false, Action::Write(cell, value))
            }
            RunAction::LockedRead(cell, value) => (true, Action::Read(cell, value)),
            RunAction::LockedWrite(cell, value) => (true, Action::Write(cell, value)),
            RunAction::Fence(fence) => (false, Action::Fence(fence)),
            RunAction::Commit(..) => return None,
        };
        Some(Event {
            thread: step.thread,
            instance: step.instance,
            instruction: step.instruction,
            locked,
            action,
        })
    }
}

fn writes(step: RunStep) -> bool {
    use RunAction::*;
    matches!(step.action, Issue(..) | Write(..) | LockedWrite(..))
}
