//! Why an execution is no witness, in words that name the instructions.

use std::fmt;

use thiserror::Error;

use crate::execution::{Action, Event, Execution};
use crate::test::{CellId, Test};
use crate::thread::FaultKind;

/// An event as messages show it: ``P1 `MOV EAX,[y]` (reads y=0)``.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventLabel {
    /// The thread's number in the source.
    pub thread: u32,
    /// The instruction as it was written; empty if there is none.
    pub instruction: String,
    /// The action of the event.
    pub action: String,
}

impl EventLabel {
    pub(super) fn new(test: &Test, event: &Event) -> Box<Self> {
        let name = |cell: CellId| match test.cells.get(cell.index()) {
            Some(cell) => cell.name.clone(),
            None => format!("cell {}", cell.0),
        };
        let action = match event.action {
            Action::Read(cell, value) => format!("reads {}={value}", name(cell)),
            Action::Write(cell, value) => format!("writes {}={value}", name(cell)),
            Action::Fence(fence) => format!("{fence:?} fence"),
        };
        let thread = test.threads.get(event.thread as usize);
        let instruction =
            thread.and_then(|thread| thread.instructions.get(event.instruction as usize));
        Box::new(EventLabel {
            thread: thread.map_or(event.thread, |thread| thread.number),
            instruction: instruction.map_or(String::new(), |found| found.text.clone()),
            action,
        })
    }

    pub(super) fn of(test: &Test, execution: &Execution, index: usize) -> Box<Self> {
        Self::new(test, &execution.events[index])
    }
}

impl fmt::Display for EventLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "P{} `{}` ({})",
            self.thread, self.instruction, self.action
        )
    }
}

/// Why an execution is not a valid one of a test under a model.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The reads-from map has not one entry per event.
    #[error("the reads-from map has {entries} entries for {events} events")]
    ReadsFromLength {
        /// The entries.
        entries: usize,
        /// The events.
        events: usize,
    },
    /// An event of a thread that the test does not have, or after events of a later thread.
    #[error("{event} does not stand with the events of its thread")]
    MisplacedEvent {
        /// The event.
        event: Box<EventLabel>,
    },
    /// The thread does something else with the values that it has read.
    #[error("P{thread} `{instruction}`: the thread {expected}, but the execution has {found}")]
    OtherEvent {
        /// The thread's number in the source.
        thread: u32,
        /// The instruction that the thread is at.
        instruction: String,
        /// The event of the thread.
        expected: String,
        /// The event of the execution.
        found: String,
    },
    /// The thread cannot do what it is about to do.
    #[error("P{thread} `{instruction}`: {kind}")]
    Fault {
        /// The thread's number in the source.
        thread: u32,
        /// The instruction that the thread is at.
        instruction: String,
        /// The fault.
        kind: FaultKind,
    },
    /// The memory order names an unknown event.
    #[error("the memory order has event {event}, but there are {events} events")]
    NoSuchEvent {
        /// The number that is named.
        event: u32,
        /// How many events there are.
        events: usize,
    },
    /// The memory order has a fence.
    #[error("{event} is in the memory order, but accesses no memory")]
    NoAccess {
        /// The fence.
        event: Box<EventLabel>,
    },
    /// The memory order has an event twice.
    #[error("{event} is in the memory order twice")]
    TwiceInMemoryOrder {
        /// The event.
        event: Box<EventLabel>,
    },
    /// The memory order lacks a read or a write.
    #[error("{event} is not in the memory order")]
    NotInMemoryOrder {
        /// The event.
        event: Box<EventLabel>,
    },
    /// The model keeps an order that the memory order does not keep.
    #[error("{earlier} must come before {later} in the memory order: {reason}")]
    ProgramOrder {
        /// The first event in program order.
        earlier: Box<EventLabel>,
        /// The first event in memory order.
        later: Box<EventLabel>,
        /// Why the model keeps their order.
        reason: KeptBecause,
    },
    /// Something comes between the accesses of a locked instruction.
    #[error("{intruder} comes between {first} and {last}, which are one locked instruction")]
    SplitLocked {
        /// The first access of the locked instruction.
        first: Box<EventLabel>,
        /// Its last.
        last: Box<EventLabel>,
        /// The event between them.
        intruder: Box<EventLabel>,
    },
    /// Something that does not read has a write that it reads from.
    #[error("{event} has a write that it reads from, but does not read")]
    SourceOfNoRead {
        /// The event.
        event: Box<EventLabel>,
    },
    /// A read reads from something that is not a write of that value to that cell.
    #[error("{read} cannot read from {source_event}")]
    NotTheValue {
        /// The read.
        read: Box<EventLabel>,
        /// The write that it claims to read from.
        source_event: String,
    },
    /// A read reads from a write that is not yet visible to it.
    #[error("{read} reads from {write}, which comes after it")]
    NotYetWritten {
        /// The read.
        read: Box<EventLabel>,
        /// The write that it reads from.
        write: Box<EventLabel>,
    },
    /// A read reads from a write, but a later one is visible to it.
    #[error("{read} reads from {write}, but must see {newer}")]
    Overwritten {
        /// The read.
        read: Box<EventLabel>,
        /// The write that it reads from.
        write: Box<EventLabel>,
        /// The later write.
        newer: Box<EventLabel>,
    },
    /// A read of the initial content has another value.
    #[error("{read} reads the initial content, which is {initial}")]
    NotTheInitialValue {
        /// The read.
        read: Box<EventLabel>,
        /// The initial content.
        initial: u64,
    },
    /// A read reads the initial content, but a write is visible to it.
    #[error("{read} reads the initial content, but must see {newer}")]
    InitialOverwritten {
        /// The read.
        read: Box<EventLabel>,
        /// The write.
        newer: Box<EventLabel>,
    },
    /// The order of the writes to a cell has something that is no write to it.
    #[error("event {event} is no write to the cell in whose order it is")]
    BadCoherence {
        /// The event's number.
        event: u32,
    },
    /// A step of a cycle that does not hold, or that the axiom does not have.
    #[error("there is no step {relation} from {from} to {to} that the model keeps")]
    NoStep {
        /// The relation.
        relation: &'static str,
        /// The source.
        from: String,
        /// The target.
        to: String,
    },
    /// Steps that do not lead around.
    #[error("the steps are no cycle")]
    NoCycle,
}

/// Why a model keeps the order of two accesses of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeptBecause {
    /// The model keeps the order of such accesses always.
    Always,
    /// A store barrier stands between.
    StoreFence,
    /// A full fence stands between.
    FullFence,
}

impl fmt::Display for KeptBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeptBecause::Always => "the model keeps the program order of such accesses",
            KeptBecause::StoreFence => "they are writes with an SFENCE between them",
            KeptBecause::FullFence => "an MFENCE stands between them",
        })
    }
}
