//! One execution of a test: what its threads did to memory, and in which order memory saw it.
//!
//! This is the witness that the engines make and the [`judge`](crate::judge) checks, and what
//! pictures are drawn from. It is the event structure with the execution witness of x86-TSO
//! section 3.2, without the register events: those follow from the values that were read.

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

impl Execution {
    /// The event.
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.index()]
    }

    /// The number of each event.
    pub fn ids(&self) -> impl Iterator<Item = EventId> + use<> {
        (0..self.events.len() as u32).map(EventId)
    }
}
