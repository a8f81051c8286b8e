//! What a machine can be asked to do, what it then did, and why it could not.

use std::fmt;

use thiserror::Error;

use crate::event::{Address, CoherenceIndex, IssueIndex, Operation, ThreadId};

/// The name of an event in all runs of a program: its thread and issue index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId {
    /// Who performs it.
    pub thread: ThreadId,
    /// Its number among the operations of the thread, from 1.
    pub issue: IssueIndex,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.thread, self.issue.0)
    }
}

/// One step of the machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Step {
    /// The thread issues its next operation.
    Issue(ThreadId),
    /// The thread's oldest buffered store to the address goes to memory.
    Commit(ThreadId, Address),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Issue(thread) => write!(f, "{thread} issues"),
            Step::Commit(thread, address) => write!(f, "{thread} commits {address}"),
        }
    }
}

/// What a step did.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StepEffect {
    /// A store went into its thread's buffer.
    Buffered {
        /// The store.
        store: EventId,
        /// Its address.
        address: Address,
    },
    /// A buffered store went to memory.
    Committed {
        /// The store.
        store: EventId,
        /// Its address.
        address: Address,
        /// The index that its value has at the address from now on.
        coherence: CoherenceIndex,
    },
    /// A locked operation, or under SC any store, wrote to memory as it was issued.
    Wrote {
        /// The write.
        write: EventId,
        /// Its address.
        address: Address,
        /// The write whose value it replaced (and, if it also reads, has read); `None`
        /// for the initial value.
        replaced: Option<EventId>,
        /// The index of the value that it wrote.
        coherence: CoherenceIndex,
    },
    /// A load took the value of its own thread's newest buffered store to the address.
    Forwarded {
        /// The load.
        load: EventId,
        /// Its address.
        address: Address,
        /// The buffered store.
        source: EventId,
    },
    /// A load read memory.
    Read {
        /// The load.
        load: EventId,
        /// Its address.
        address: Address,
        /// The write that it reads; `None` for the initial value.
        source: Option<EventId>,
        /// The index of the value that it read.
        coherence: CoherenceIndex,
    },
    /// A fence was passed.
    Fenced {
        /// The fence.
        fence: EventId,
    },
    /// A store-store barrier was passed.
    Barred {
        /// The barrier.
        barrier: EventId,
    },
}

impl fmt::Display for StepEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |source: Option<EventId>| match source {
            Some(source) => format!("the value of {source}"),
            None => "the initial value".to_owned(),
        };
        match self {
            StepEffect::Buffered { store, address } => {
                write!(f, "{store} puts a store to {address} into its buffer")
            }
            StepEffect::Committed {
                store,
                address,
                coherence,
            } => write!(f, "{store} commits value {} to {address}", coherence.0),
            StepEffect::Wrote {
                write,
                address,
                replaced,
                coherence,
            } => {
                let replaced = named(*replaced);
                write!(f, "{write} writes value {} to {address}, ", coherence.0)?;
                write!(f, "replacing {replaced}")
            }
            StepEffect::Forwarded {
                load,
                address,
                source,
            } => {
                let source = named(Some(*source));
                write!(f, "{load} reads {address} from its buffer: {source}")
            }
            StepEffect::Read {
                load,
                address,
                source,
                ..
            } => {
                let source = named(*source);
                write!(f, "{load} reads {address} from memory: {source}")
            }
            StepEffect::Fenced { fence } => write!(f, "{fence} passes a fence"),
            StepEffect::Barred { barrier } => write!(f, "{barrier} passes a store barrier"),
        }
    }
}

/// Why the machine cannot take a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum StepError {
    /// The program has no such thread.
    #[error("the program has no thread {thread}")]
    NoSuchThread {
        /// The thread asked for.
        thread: ThreadId,
    },
    /// The thread has issued all its operations.
    #[error("{thread} has issued all its operations")]
    ThreadFinished {
        /// The thread asked for.
        thread: ThreadId,
    },
    /// The next operation waits for a buffered store.
    #[error("{event} ({operation}) waits until {pending} has left the buffer")]
    MustDrain {
        /// The operation that was to be issued.
        event: EventId,
        /// What it is.
        operation: Operation,
        /// A store that has to commit first.
        pending: EventId,
    },
    /// The thread has no buffered store to the address.
    #[error("{thread} has no buffered store to {address}")]
    NothingToCommit {
        /// The thread asked for.
        thread: ThreadId,
        /// The address asked for.
        address: Address,
    },
    /// An older store has to commit first.
    #[error("{store} commits only after the older store {older}")]
    OlderStoreFirst {
        /// The thread's oldest buffered store to the address.
        store: EventId,
        /// A store that has to commit before it.
        older: EventId,
    },
}

/// A run cannot end while a store is buffered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the run ends while {pending} is still in its thread's buffer")]
pub struct BuffersNotEmpty {
    /// A buffered store.
    pub pending: EventId,
}

/// A store in a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferedStore {
    /// The store.
    pub store: EventId,
    /// Its address.
    pub address: Address,
    /// How many store-store barriers its thread has passed before it.
    pub epoch: u32,
}

/// What memory holds at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryContent {
    /// The last write to have reached memory; `None` if none has.
    pub write: Option<EventId>,
    /// How many writes have reached memory.
    pub coherence: CoherenceIndex,
}
