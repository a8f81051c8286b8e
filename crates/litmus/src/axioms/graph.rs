//! A partial execution: the events, what each read reads from, and a part of the memory order.
//!
//! The nodes of the order are the memory accesses, except that a locked instruction is one node:
//! nothing comes between its accesses (the paper's `mo_atomicity`), so they have one position. The
//! order always contains what the model keeps of program order, each write before the reads of
//! other threads that read from it, and what follows from these for the order of writes to one
//! cell.

use fencepost_memory::{Address, MemoryModel, Operation};

use super::order::{Bits, Contradiction, Order};
use super::spins::SpinHistory;
use crate::code::Fence;
use crate::execution::{Action, Event};
use crate::test::{CellId, Test};

/// The source of the value of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The initial content of the cell.
    Initial,
    /// The write of this node.
    Node(usize),
}

/// A memory access, or all accesses of a locked instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Its kind for the model.
    pub(super) operation: Operation,
    pub(super) cell: CellId,
    /// Where it reads from, if it reads.
    pub(super) source: Option<Source>,
    /// The value that it writes, if it writes.
    pub(super) written: Option<u64>,
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    /// Nothing.
    Running,
    /// A write of this cell that is not there yet, to read from it.
    Waiting(CellId),
    /// The same, and this node has just written it: the read may read from it, or wait on.
    Offered(CellId, usize),
    /// Nothing any more: its next read reads from this node.
    Chosen(usize),
    /// It waits in a loop, and is left there.
    Idle,
    /// It has ended.
    Ended,
}

/// How far a thread has come.
#[derive(Clone, Debug)]
pub(super) struct ThreadState {
    pub(super) position: u32,
    pub(super) status: Status,
    pub(super) event_count: usize,
    /// The instruction and the position of the last event, and the instance of its instruction.
    last: Option<LastEvent>,
    pub(super) spins: SpinHistory,
}

#[derive(Clone, Copy, Debug)]
struct LastEvent {
    instance: u32,
    instruction: u32,
    position: u32,
}

/// An event and the node that it belongs to; a fence belongs to none.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrownEvent {
    pub(super) event: Event,
    pub(super) node: Option<usize>,
}

/// An execution that is being grown.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) threads: Vec<ThreadState>,
    /// The register files one after the other.
    pub(super) registers: Vec<u64>,
    /// Those of one thread are in program order.
    pub(super) events: Vec<GrownEvent>,
    pub(super) nodes: Vec<Node>,
    pub(super) order: Order,
}

impl Graph {
    /// No events yet.
    pub(super) fn new(test: &Test) -> Self {
        let threads = test.threads.iter();
        let registers = test.threads.iter().flat_map(|thread| &thread.registers);
        Graph {
            threads: threads
                .map(|_| ThreadState {
                    position: 0,
                    status: Status::Running,
                    event_count: 0,
                    last: None,
                    spins: SpinHistory::default(),
                })
                .collect(),
            registers: registers.map(|register| register.initial).collect(),
            events: Vec::new(),
            nodes: Vec::new(),
            order: Order::new(test.cells.len()),
        }
    }

    /// The value that a read from `source` has.
    pub(super) fn value(&self, test: &Test, cell: CellId, source: Source) -> u64 {
        match source {
            Source::Initial => {
                let cell = &test.cells[cell.index()];
                cell.initial & cell.width.mask()
            }
            Source::Node(node) => self.nodes[node].written.unwrap_or_default(),
        }
    }

    /// Adds an event of the operation at `position` of a thread.
    pub(super) fn add_event(
        &mut self,
        test: &Test,
        thread: usize,
        position: u32,
        locked: bool,
        action: Action,
        node: Option<usize>,
    ) {
        let instruction = test.threads[thread].instruction_of[position as usize];
        let state = &mut self.threads[thread];
        // Within an instruction control goes forward only.
        let instance = match state.last {
            None => 0,
            Some(last) if last.instruction == instruction && last.position < position => {
                last.instance
            }
            Some(last) => last.instance + 1,
        };
        state.last = Some(LastEvent {
            instance,
            instruction,
            position,
        });
        state.event_count += 1;
        let event = Event {
            thread: thread as u32,
            instance,
            instruction,
            locked,
            action,
        };
        self.events.push(GrownEvent { event, node });
    }

    /// Lets the threads that wait for a write of `cell` know that there is one.
    pub(super) fn offer(&mut self, cell: CellId, node: usize) {
        for thread in &mut self.threads {
            if thread.status == Status::Waiting(cell) {
                thread.status = Status::Offered(cell, node);
            }
        }
    }

    /// A thread that was offered a write, the cell, and the node that writes it.
    pub(super) fn first_offer(&self) -> Option<(usize, CellId, usize)> {
        let mut threads = self.threads.iter().enumerate();
        threads.find_map(|(thread, state)| match state.status {
            Status::Offered(cell, node) => Some((thread, cell, node)),
            _ => None,
        })
    }

    /// Adds a node at the end of a thread, before its events are added, and what follows from it
    /// for the order.
    pub(super) fn add_node(
        &mut self,
        model: &MemoryModel,
        thread: usize,
        node: Node,
    ) -> Result<usize, Contradiction> {
        let added = self.order.add_node();
        self.nodes.push(node);
        if node.written.is_some() {
            self.order.mark_writer(node.cell.index(), added);
        }
        self.keep_program_order(model, thread, added)?;
        if let Some(source) = node.source {
            self.read_from(thread, added, source)?;
        }
        self.order.saturate(&self.nodes)?;
        Ok(added)
    }

    /// The paper's `mo_po_read_access`, `mo_po_write_write`, `mo_po_mfence` and
    /// `mo_po_access/lock`, as far as the model has them.
    fn keep_program_order(
        &mut self,
        model: &MemoryModel,
        thread: usize,
        added: usize,
    ) -> Result<(), Contradiction> {
        let later = self.nodes[added].operation;
        let (mut has_full_fence, mut has_store_fence) = (false, false);
        for grown in self.events.iter().rev() {
            if grown.event.thread as usize != thread {
                continue;
            }
            match grown.event.action {
                Action::Fence(Fence::Full) => has_full_fence = true,
                Action::Fence(Fence::Store) => has_store_fence = true,
                _ => {}
            }
            let Some(node) = grown.node else { continue };
            let earlier = self.nodes[node].operation;
            let is_kept = model.keeps(earlier, later, has_store_fence)
                || has_full_fence
                    && model.keeps(earlier, Operation::Fence, false)
                    && model.keeps(Operation::Fence, later, false);
            if is_kept {
                self.order.require(node, added)?;
            }
        }
        Ok(())
    }

    /// The paper's `check_rfmap_written` and `check_rfmap_initial`, for what does not change when
    /// events are added: a write of another thread is seen in memory, and what the thread itself
    /// has written to the cell is not newer than what it reads.
    fn read_from(
        &mut self,
        thread: usize,
        read: usize,
        source: Source,
    ) -> Result<(), Contradiction> {
        let cell = self.nodes[read].cell;
        let own = |grown: &&GrownEvent| grown.event.thread as usize == thread;
        let is_own_source = |grown: &GrownEvent| grown.node.map(Source::Node) == Some(source);
        let own_write = self.events.iter().rev().filter(own).find(
            |grown| matches!(grown.event.action, Action::Write(written, _) if written == cell),
        );
        let own_write = own_write.and_then(|grown| grown.node);
        match source {
            Source::Initial => match own_write {
                Some(_) => Err(Contradiction),
                None => Ok(()),
            },
            Source::Node(write) => {
                if !self.events.iter().filter(own).any(is_own_source) {
                    self.order.require(write, read)?;
                }
                match own_write {
                    Some(own_write) if own_write != write => self.order.require(own_write, write),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl Order {
    /// Adds what follows from the reads for the writes to one cell, until nothing more follows. If
    /// a read `r` reads from `w`, then a write `w'` to the same cell that comes before `r` comes
    /// before `w`, or `r` would see `w'`; and if `w` comes before `w'`, then so does `r`.
    pub(super) fn saturate(&mut self, nodes: &[Node]) -> Result<(), Contradiction> {
        loop {
            let mut has_changed = false;
            for (read, node) in nodes.iter().enumerate() {
                let Some(source) = node.source else { continue };
                let cell = node.cell.index();
                for word in 0..self.words() {
                    let writers = self.writers_word(cell, word);
                    let visible = self.before(read, word) & writers;
                    let newer = match source {
                        Source::Initial if visible != 0 => return Err(Contradiction),
                        Source::Initial => writers,
                        Source::Node(write) => {
                            let overwritten = visible & !self.before(write, word);
                            for bit in Bits(overwritten & !bit_of(write, word)) {
                                self.require(word * 64 + bit, write)?;
                                has_changed = true;
                            }
                            self.after(write, word) & writers
                        }
                    };
                    let newer = newer & !self.after(read, word) & !bit_of(read, word);
                    for bit in Bits(newer) {
                        self.require(read, word * 64 + bit)?;
                        has_changed = true;
                    }
                }
            }
            if !has_changed {
                return Ok(());
            }
        }
    }
}

/// The node's bit in a word of a row.
fn bit_of(node: usize, word: usize) -> u64 {
    if node / 64 == word {
        1 << (node % 64)
    } else {
        0
    }
}

/// The kind of an access for the model.
pub(super) fn operation(cell: CellId, reads: bool, writes: bool, locked: bool) -> Operation {
    let address = Address(cell.0);
    match (locked, reads, writes) {
        (true, true, true) => Operation::Interlocked(address),
        (true, true, false) => Operation::LockedLoad(address),
        (true, false, _) => Operation::LockedStore(address),
        (false, true, _) => Operation::Load(address),
        (false, false, _) => Operation::Store(address),
    }
}
