//! The failures of programs in C and C++ as JSON.

use fencepost_memory::ThreadId;
use serde::Serialize;

use super::PlaceObject;
use crate::check::{BadMemory, FailureKind, LeakedBlocks, LockMisuse, ThreadPlace};
use crate::names::Naming;
use crate::source::SourcePosition;

/// A thread that has done something, and where.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ThreadPlaceObject {
    /// The thread's name.
    pub thread: String,
    /// The location, or null.
    pub source: Option<PlaceObject>,
}

impl ThreadPlaceObject {
    fn new(place: &ThreadPlace, names: &dyn Naming) -> Self {
        ThreadPlaceObject {
            thread: names.thread(place.thread),
            source: PlaceObject::of(&place.location),
        }
    }
}

/// A failure that ends the process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FailedObject {
    /// `assertion`, `abort`, `exception`, `exit`, `verifier-error`, or the name of a signal.
    pub what: &'static str,
    /// The thread's name.
    pub thread: String,
    /// The message, which may be empty.
    pub message: String,
    /// The exit status, of an exit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    /// The address that was accessed, if a signal has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The location, or null.
    pub source: Option<PlaceObject>,
}

impl FailedObject {
    pub(super) fn new(
        thread: ThreadId,
        kind: FailureKind,
        message: &str,
        location: &Option<SourcePosition>,
        names: &dyn Naming,
    ) -> Self {
        let (status, address) = match kind {
            FailureKind::ExitStatus(status) => (Some(status), None),
            FailureKind::Signal(signal) => (None, signal.address()),
            _ => (None, None),
        };
        FailedObject {
            what: kind.name(),
            thread: names.thread(thread),
            message: message.to_owned(),
            status,
            address: address.map(|address| format!("{address:#x}")),
            source: PlaceObject::of(location),
        }
    }
}

/// A bad use of a heap block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BadMemoryObject {
    /// `use-after-free`, `out-of-bounds`, `double-free` or `invalid-free`.
    pub what: &'static str,
    /// The name of the memory, or null.
    pub memory: Option<String>,
    /// The thread's name.
    pub thread: String,
    /// How many bytes are accessed.
    pub size: u64,
    /// Whether the access writes.
    pub writes: bool,
    /// The location of the use, or null.
    pub source: Option<PlaceObject>,
    /// The size of the block, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_size: Option<u64>,
    /// The address minus that of the block, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// Where the block was allocated, or null.
    pub allocated: Option<PlaceObject>,
    /// Who has freed it, or null.
    pub freed: Option<ThreadPlaceObject>,
}

impl BadMemoryObject {
    pub(super) fn new(misuse: &BadMemory, names: &dyn Naming) -> Self {
        BadMemoryObject {
            what: misuse.kind.name(),
            memory: misuse.name.clone(),
            thread: names.thread(misuse.by.thread),
            size: misuse.size,
            writes: misuse.writes,
            source: PlaceObject::of(&misuse.by.location),
            block_size: misuse.block.map(|block| block.size),
            offset: misuse.block.map(|block| block.offset),
            allocated: PlaceObject::of(&misuse.allocated),
            freed: misuse
                .freed
                .as_ref()
                .map(|freed| ThreadPlaceObject::new(freed, names)),
        }
    }
}

/// Heap blocks of one place that were not freed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LeakedBlocksObject {
    /// How many there are.
    pub count: u64,
    /// Their size together.
    pub bytes: u64,
    /// Where they were allocated, or null.
    pub source: Option<PlaceObject>,
}

impl LeakedBlocksObject {
    pub(super) fn new(leak: &LeakedBlocks) -> Self {
        LeakedBlocksObject {
            count: leak.count,
            bytes: leak.bytes,
            source: PlaceObject::of(&leak.location),
        }
    }
}

/// A bad use of a lock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LockMisuseObject {
    /// `not-held`, `destroyed-while-held`, `destroyed` or `uninitialized`.
    pub what: &'static str,
    /// The lock.
    pub lock: String,
    /// The thread's name.
    pub thread: String,
    /// The location of the use, or null.
    pub source: Option<PlaceObject>,
    /// The thread that holds the lock, or has destroyed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<ThreadPlaceObject>,
}

impl LockMisuseObject {
    pub(super) fn new(
        misuse: &LockMisuse,
        lock: &str,
        by: &ThreadPlace,
        names: &dyn Naming,
    ) -> Self {
        LockMisuseObject {
            what: misuse.name(),
            lock: lock.to_owned(),
            thread: names.thread(by.thread),
            source: PlaceObject::of(&by.location),
            other: misuse
                .other()
                .map(|other| ThreadPlaceObject::new(other, names)),
        }
    }
}
