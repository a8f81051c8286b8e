//! Grows every execution of a test, each once.
//!
//! In every model here a read comes before what follows it in its thread, and after the write of
//! another thread that it reads from. So program order and reads-from together have no cycle, and
//! an execution can be grown event by event such that each read finds the write that it reads from.
//! To reach each execution in only one way, the next event always belongs to the first thread, in a
//! fixed order of the threads, that can continue: one that is not before a read whose write is
//! missing. A read chooses the write that it reads from among the existing ones; or it waits, and
//! then each new write of its cell may be the one. These choices exclude each other, and the
//! execution determines them.
//!
//! A graph is discarded as soon as its order has a cycle, since later events only add to the order.
//! It is also discarded if a read waits for a write that no thread can perform any more.

use fencepost_memory::MemoryModel;

use super::graph::{Graph, Node, Source, Status, ThreadState, operation};
use super::order::Contradiction;
use super::reach::Reach;
use super::spins::Purpose;
use super::{Cut, Error, Limits};
use crate::code::Fence;
use crate::execution::Action;
use crate::test::{CellId, Test};
use crate::thread::{Fault, Layout, Pending, Runner};

/// What all executions of a test share.
pub(super) struct Growth<'a> {
    pub(super) test: &'a Test,
    pub(super) model: &'a MemoryModel,
    pub(super) limits: &'a Limits<'a>,
    pub(super) reach: Reach,
    purpose: Purpose,
    layout: Layout,
    /// The index of the first register of each thread.
    first_register: Vec<usize>,
}

/// The result of growing a graph.
pub(super) enum Grown {
    /// No thread can continue.
    Whole(Graph),
    /// A thread faults.
    Faulty(Graph, Fault),
    /// It is not an execution, or its successors are on the stack.
    Nothing,
    /// A limit was reached.
    Cut(Cut),
}

/// The next step of growing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Read { cell: CellId, locked: bool },
    Write(CellId, u64),
    Fence(Fence),
    End,
}

enum Extended {
    /// All threads have ended, or wait forever.
    Whole,
    /// The successors are on the stack.
    Branched,
}

/// Why a graph is not grown further.
enum Halt {
    /// No execution has this prefix, or none that matters.
    Contradiction,
    Fault(Fault),
    Cut(Cut),
    Unsupported(Error),
}

impl From<Contradiction> for Halt {
    fn from(_: Contradiction) -> Self {
        Halt::Contradiction
    }
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

impl<'a> Growth<'a> {
    pub(super) fn new(
        test: &'a Test,
        model: &'a MemoryModel,
        limits: &'a Limits<'a>,
        purpose: Purpose,
    ) -> Self {
        let mut first_register = Vec::with_capacity(test.threads.len());
        let mut next = 0;
        for thread in &test.threads {
            first_register.push(next);
            next += thread.registers.len();
        }
        Growth {
            test,
            model,
            limits,
            reach: Reach::new(test),
            purpose,
            layout: Layout::new(test),
            first_register,
        }
    }

    /// The register file of a thread.
    pub(super) fn registers<'g>(&self, graph: &'g Graph, thread: usize) -> &'g [u64] {
        let length = self.test.threads[thread].registers.len();
        &graph.registers[self.first_register[thread]..][..length]
    }

    fn runner<'g>(&'g self, graph: &'g mut Graph, thread: usize) -> Runner<'g> {
        let length = self.test.threads[thread].registers.len();
        Runner {
            thread,
            test: self.test,
            layout: &self.layout,
            position: &mut graph.threads[thread].position,
            registers: &mut graph.registers[self.first_register[thread]..][..length],
        }
    }

    /// Grows a graph up to a choice, and puts what the choices give on the stack.
    pub(super) fn grow(&self, mut graph: Graph, stack: &mut Vec<Graph>) -> Result<Grown, Error> {
        match self.extend(&mut graph, stack) {
            Ok(Extended::Whole) => Ok(Grown::Whole(graph)),
            Ok(Extended::Branched) | Err(Halt::Contradiction) => Ok(Grown::Nothing),
            Err(Halt::Fault(fault)) => Ok(Grown::Faulty(graph, fault)),
            Err(Halt::Cut(cut)) => Ok(Grown::Cut(cut)),
            Err(Halt::Unsupported(error)) => Err(error),
        }
    }

    fn extend(&self, graph: &mut Graph, stack: &mut Vec<Graph>) -> Result<Extended, Halt> {
        loop {
            if let Some((thread, cell, node)) = graph.first_offer() {
                if self.may_be_written_by_others(graph, thread, cell) {
                    let mut waiting = graph.clone();
                    waiting.threads[thread].status = Status::Waiting(cell);
                    stack.push(waiting);
                }
                graph.threads[thread].status = Status::Chosen(node);
                continue;
            }
            if !self.can_all_continue(graph) {
                return Err(Halt::Contradiction);
            }
            let can_go = |&&thread: &&usize| {
                let status = graph.threads[thread].status;
                matches!(status, Status::Running | Status::Chosen(_))
            };
            let Some(&thread) = self.reach.visit_order().iter().find(can_go) else {
                return Ok(Extended::Whole);
            };
            let next = self.next_event(graph, thread)?;
            if next == Next::End {
                graph.threads[thread].status = Status::Ended;
                continue;
            }
            if graph.threads[thread].event_count >= self.limits.events_per_thread {
                return Err(Halt::Cut(Cut::Events));
            }
            if self.is_idle_turn(graph, thread, next) {
                match self.purpose {
                    Purpose::FinalStates => return Err(Halt::Contradiction),
                    Purpose::Cycles => graph.threads[thread].status = Status::Idle,
                }
                continue;
            }
            match next {
                Next::Fence(fence) => {
                    let position = graph.threads[thread].position;
                    let action = Action::Fence(fence);
                    graph.add_event(self.test, thread, position, false, action, None);
                    self.runner(graph, thread).passed();
                }
                Next::Write(cell, value) => self.write(graph, thread, cell, value)?,
                Next::Read { cell, locked } => {
                    let Status::Chosen(node) = graph.threads[thread].status else {
                        self.choose_source(graph, thread, cell, locked, stack)?;
                        return Ok(Extended::Branched);
                    };
                    graph.threads[thread].status = Status::Running;
                    self.read(graph, thread, cell, locked, Source::Node(node))?;
                }
                Next::End => {}
            }
        }
    }

    /// Whether every thread that waits may still get what it waits for, from a thread that may
    /// itself continue.
    fn can_all_continue(&self, graph: &Graph) -> bool {
        let waits_for = |thread: usize| match graph.threads[thread].status {
            Status::Waiting(cell) => Some(cell),
            _ => None,
        };
        let count = graph.threads.len();
        if (0..count).all(|thread| waits_for(thread).is_none()) {
            return true;
        }
        let mut can_continue: Vec<bool> = (0..count).map(|t| waits_for(t).is_none()).collect();
        loop {
            let mut has_changed = false;
            for thread in 0..count {
                let Some(cell) = waits_for(thread).filter(|_| !can_continue[thread]) else {
                    continue;
                };
                let may_come = (0..count)
                    .any(|other| can_continue[other] && self.may_write(graph, other, cell));
                if may_come {
                    can_continue[thread] = true;
                    has_changed = true;
                }
            }
            if !has_changed {
                return can_continue.into_iter().all(|can_continue| can_continue);
            }
        }
    }

    fn may_write(&self, graph: &Graph, thread: usize, cell: CellId) -> bool {
        let ThreadState {
            position, status, ..
        } = graph.threads[thread];
        status != Status::Idle && self.reach.may_write(thread, position, cell)
    }

    fn may_be_written_by_others(&self, graph: &Graph, thread: usize, cell: CellId) -> bool {
        (0..graph.threads.len()).any(|other| other != thread && self.may_write(graph, other, cell))
    }

    /// Runs the thread-local operations of a thread. Returns what comes next. For a locked
    /// instruction it looks ahead, but does not begin it.
    fn next_event(&self, graph: &mut Graph, thread: usize) -> Result<Next, Halt> {
        let mut runner = self.runner(graph, thread);
        Ok(match runner.advance()? {
            Pending::Load(cell) => Next::Read {
                cell,
                locked: false,
            },
            Pending::Store(cell, value) => Next::Write(cell, value),
            Pending::Fence(fence) => Next::Fence(fence),
            Pending::Ended => Next::End,
            Pending::BeginLocked => {
                let mut position = *runner.position;
                let mut registers = runner.registers.to_vec();
                let mut inside = Runner {
                    thread,
                    test: self.test,
                    layout: &self.layout,
                    position: &mut position,
                    registers: &mut registers,
                };
                inside.passed();
                match inside.advance()? {
                    Pending::Load(cell) => Next::Read { cell, locked: true },
                    _ => return Err(self.unsupported(thread, position)),
                }
            }
            Pending::EndLocked => {
                let position = *runner.position;
                return Err(self.unsupported(thread, position));
            }
        })
    }

    /// Whether the thread is in a state in which it has been often enough without changing
    /// anything. See [`spins`](super::spins).
    fn is_idle_turn(&self, graph: &mut Graph, thread: usize, next: Next) -> bool {
        let is_first_look = graph.threads[thread].status == Status::Running;
        if !self.reach.has_loop(thread) || !is_first_look {
            return false;
        }
        if let Next::Write(..) = next {
            graph.threads[thread].spins.clear();
            return false;
        }
        let position = graph.threads[thread].position;
        let length = self.test.threads[thread].registers.len();
        let registers = &graph.registers[self.first_register[thread]..][..length];
        let visits = graph.threads[thread].spins.visit(position, registers);
        visits >= self.purpose.visits()
    }

    fn write(
        &self,
        graph: &mut Graph,
        thread: usize,
        cell: CellId,
        value: u64,
    ) -> Result<(), Halt> {
        let node = Node {
            operation: operation(cell, false, true, false),
            cell,
            source: None,
            written: Some(value),
        };
        let added = graph.add_node(self.model, thread, node)?;
        let position = graph.threads[thread].position;
        let action = Action::Write(cell, value);
        graph.add_event(self.test, thread, position, false, action, Some(added));
        self.runner(graph, thread).passed();
        graph.offer(cell, added);
        Ok(())
    }

    /// Performs a read, and if it belongs to a locked instruction, all of that.
    fn read(
        &self,
        graph: &mut Graph,
        thread: usize,
        cell: CellId,
        locked: bool,
        source: Source,
    ) -> Result<(), Halt> {
        let value = graph.value(self.test, cell, source);
        let mut runner = self.runner(graph, thread);
        if locked {
            runner.passed();
            runner.advance()?;
        }
        let read_position = *runner.position;
        runner.loaded(value);
        let write = if locked {
            self.finish_locked(runner, cell)?
        } else {
            None
        };
        let written = write.map(|(written, _)| written);
        if written.is_some_and(|written| written != value) {
            graph.threads[thread].spins.clear();
        }
        let node = Node {
            operation: operation(cell, true, written.is_some(), locked),
            cell,
            source: Some(source),
            written,
        };
        let added = graph.add_node(self.model, thread, node)?;
        let action = Action::Read(cell, value);
        let node = Some(added);
        graph.add_event(self.test, thread, read_position, locked, action, node);
        if let Some((written, position)) = write {
            let action = Action::Write(cell, written);
            graph.add_event(self.test, thread, position, locked, action, node);
            graph.offer(cell, added);
        }
        Ok(())
    }

    /// Goes to the end of a locked instruction whose read was performed. Gives what it writes, and
    /// where.
    fn finish_locked(
        &self,
        mut runner: Runner<'_>,
        cell: CellId,
    ) -> Result<Option<(u64, u32)>, Halt> {
        let mut write = None;
        loop {
            match runner.advance()? {
                Pending::Store(stored, written) if stored == cell && write.is_none() => {
                    write = Some((written, *runner.position));
                    runner.passed();
                }
                Pending::EndLocked => {
                    runner.passed();
                    return Ok(write);
                }
                _ => return Err(self.unsupported(runner.thread, *runner.position)),
            }
        }
    }

    /// Pushes the graphs in which the read reads from each existing write, and the one in which it
    /// waits.
    fn choose_source(
        &self,
        graph: &Graph,
        thread: usize,
        cell: CellId,
        locked: bool,
        stack: &mut Vec<Graph>,
    ) -> Result<(), Halt> {
        if self.may_be_written_by_others(graph, thread, cell) {
            let mut waiting = graph.clone();
            waiting.threads[thread].status = Status::Waiting(cell);
            stack.push(waiting);
        }
        let writers = graph.order.writers(cell.index()).map(Source::Node);
        for source in writers.chain([Source::Initial]) {
            let mut reading = graph.clone();
            match self.read(&mut reading, thread, cell, locked, source) {
                Ok(()) => stack.push(reading),
                Err(Halt::Contradiction) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    fn unsupported(&self, thread: usize, position: u32) -> Halt {
        let source = &self.test.threads[thread];
        let instruction = source.instruction_of[position as usize] as usize;
        let text = source.instructions.get(instruction);
        Halt::Unsupported(Error::UnsupportedLocked {
            thread: source.number,
            instruction: text.map_or(String::new(), |found| found.text.clone()),
        })
    }
}
