//! One execution of a test: what its threads did to memory, and in which order memory saw it.
//!
//! This is the witness that the engines make and the [`judge`](crate::judge) checks, and what
//! pictures are drawn from. It is the event structure with the execution witness of x86-TSO
//! section 3.2, without the register events: those follow from the values that were read.

use fencepost_memory::{
    Access, Address, CoherenceIndex, Event as TraceEvent, IssueIndex, MemoryModel, Operation,
    ThreadId, Trace, axioms,
};

use crate::code::Fence;
use crate::test::CellId;

/// An event: an index into [`Execution::events`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId(pub u32);

impl EventId {
    /// The event's number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The action of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// It reads a cell.
    Read(CellId, u64),
    /// It writes a cell.
    Write(CellId, u64),
    /// It is a fence.
    Fence(Fence),
}

impl Action {
    /// The cell that is read or written.
    pub fn cell(self) -> Option<CellId> {
        match self {
            Action::Read(cell, _) | Action::Write(cell, _) => Some(cell),
            Action::Fence(_) => None,
        }
    }

    /// Whether it reads.
    pub fn is_read(self) -> bool {
        matches!(self, Action::Read(..))
    }

    /// Whether it writes.
    pub fn is_write(self) -> bool {
        matches!(self, Action::Write(..))
    }
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Event {
    /// The thread: an index into [`Test::threads`](crate::test::Test::threads).
    pub thread: u32,
    /// How many instructions with events the thread performed before this one: the paper's
    /// program-order index. The events of one instruction share it.
    pub instance: u32,
    /// The instruction: an index into the thread's instructions.
    pub instruction: u32,
    /// Whether it belongs to a locked instruction. All memory events of that instance do.
    pub locked: bool,
    /// Its action.
    pub action: Action,
}

/// An execution.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Execution {
    /// The events, those of a thread in program order, threads one after the other.
    pub events: Vec<Event>,
    /// For each event, where a read gets its value: `Some` write, or `None` for the initial
    /// content (and for events that do not read).
    pub reads_from: Vec<Option<EventId>>,
    /// The reads and writes in the order of memory: a read when it takes its value (from memory or
    /// from its own thread's buffer), a write when it reaches memory.
    pub memory_order: Vec<EventId>,
}

/// A candidate execution: events that the threads make if their reads have these values, where
/// each read gets its value, and the order of the writes to each cell. It says nothing of an order
/// of memory, so a model may allow it or not.
///
/// A locked instruction does not read its own write.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Candidate {
    /// The events, those of a thread in program order, threads one after the other.
    pub events: Vec<Event>,
    /// For each event, where a read gets its value, as in [`Execution::reads_from`].
    pub reads_from: Vec<Option<EventId>>,
    /// For each cell, its writes in the order in which memory sees them. Cells at the end may be
    /// left out if nothing writes them.
    pub coherence: Vec<Vec<EventId>>,
}

impl Candidate {
    /// The event.
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.index()]
    }

    /// The number of each event.
    pub fn ids(&self) -> impl Iterator<Item = EventId> + use<> {
        (0..self.events.len() as u32).map(EventId)
    }

    /// Whether the axioms of the memory models allow the candidate as a trace. `None` if it is none:
    /// an interlocked operation of a trace reads the write before its own.
    pub fn is_allowed_trace(&self, model: &MemoryModel) -> Option<bool> {
        let trace = Trace::new(self.trace_events()?).ok()?;
        Some(axioms::check(model, &trace).is_ok())
    }

    /// The events with their indices: those of a locked instruction that writes are one.
    fn trace_events(&self) -> Option<Vec<TraceEvent>> {
        let mut place = vec![0u64; self.events.len()];
        for writes in &self.coherence {
            for (index, write) in writes.iter().enumerate() {
                place[write.index()] = index as u64 + 1;
            }
        }
        // Threads and addresses of a trace are numbered densely.
        let mut cells: Vec<CellId> = self.events.iter().filter_map(|e| e.action.cell()).collect();
        cells.sort_unstable();
        cells.dedup();
        let address = |cell| Address(cells.partition_point(|&other| other < cell) as u32);
        let mut found: Vec<TraceEvent> = Vec::new();
        let (mut thread, mut issued, mut threads) = (u32::MAX, 0, 0);
        for (index, event) in self.events.iter().enumerate() {
            if event.thread != thread {
                (thread, issued) = (event.thread, 0);
                threads += 1;
            }
            let source = self.reads_from[index].map_or(0, |source| place[source.index()]);
            let before = index.checked_sub(1).map(|before| &self.events[before]);
            let continues = before.is_some_and(|before| {
                (before.locked && event.locked)
                    && (before.thread, before.instance) == (event.thread, event.instance)
            });
            if let (Action::Write(cell, _), true) = (event.action, continues) {
                let read = found.pop()?;
                if read.coherence.0 + 1 != place[index] {
                    return None;
                }
                let operation = Operation::Interlocked(address(cell));
                let access = Access::new(ThreadId(threads - 1), operation);
                found.push(TraceEvent {
                    access,
                    coherence: CoherenceIndex(place[index]),
                    ..read
                });
                continue;
            }
            let (operation, coherence) = match (event.action, event.locked) {
                (Action::Read(cell, _), false) => (Operation::Load(address(cell)), source),
                (Action::Read(cell, _), true) => (Operation::LockedLoad(address(cell)), source),
                (Action::Write(cell, _), false) => (Operation::Store(address(cell)), place[index]),
                (Action::Write(cell, _), true) => {
                    (Operation::LockedStore(address(cell)), place[index])
                }
                (Action::Fence(Fence::Full), _) => (Operation::Fence, 0),
                (Action::Fence(Fence::Store), _) => (Operation::StoreBarrier, 0),
                (Action::Fence(Fence::Load), _) => continue,
            };
            issued += 1;
            found.push(TraceEvent {
                access: Access::new(ThreadId(threads - 1), operation),
                issue: IssueIndex(issued),
                coherence: CoherenceIndex(coherence),
            });
        }
        Some(found)
    }

    /// The writes to a cell in coherence order.
    pub fn writes(&self, cell: CellId) -> &[EventId] {
        self.coherence.get(cell.index()).map_or(&[], Vec::as_slice)
    }
}

impl Execution {
    /// The execution without its order of memory, except on the writes to each cell.
    pub fn candidate(&self) -> Candidate {
        let mut coherence: Vec<Vec<EventId>> = Vec::new();
        for &id in &self.memory_order {
            if let Action::Write(cell, _) = self.event(id).action {
                let cells = coherence.len().max(cell.index() + 1);
                coherence.resize_with(cells, Vec::new);
                coherence[cell.index()].push(id);
            }
        }
        Candidate {
            events: self.events.clone(),
            reads_from: self.reads_from.clone(),
            coherence,
        }
    }

    /// The event.
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.index()]
    }

    /// The number of each event.
    pub fn ids(&self) -> impl Iterator<Item = EventId> + use<> {
        (0..self.events.len() as u32).map(EventId)
    }
}
