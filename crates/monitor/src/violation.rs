//! What a monitor reports: three events that show a violation.

use fencepost_memory::{Address, Event, MemoryModel, OperationKind, ThreadId};

/// An event and its position in the interleaving, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The event.
    pub event: Event,
    /// How many events came before it.
    pub position: u64,
}

impl Placed {
    /// Who performed it.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.event.access.thread
    }

    /// The address that it accesses, if any.
    #[inline]
    pub fn address(&self) -> Option<Address> {
        self.event.access.operation.address()
    }
}

/// A store-buffer violation: under the model, `event` can overtake `pending`, a write
/// to the same address that happens before it, and the program leaves sequential
/// consistency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The model under which it is one.
    pub model: MemoryModel,
    /// The write that can be overtaken. It can still be in its store buffer; or, if it is a
    /// locked one, a store of `event`'s thread can be, past which the two are reordered.
    pub pending: Placed,
    /// The last event of `event`'s thread before it; `pending` happens before it.
    pub last: Placed,
    /// The event that can overtake `pending`.
    pub event: Placed,
}

/// What identifies an operation of the program: its source location, or else what it
/// is (thread, kind and address).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OperationId {
    /// The index of the source location.
    Location(u32),
    /// An operation without source location.
    Operation(ThreadId, OperationKind, Option<Address>),
}

impl OperationId {
    fn of(placed: &Placed) -> Self {
        let access = placed.event.access;
        match access.location {
            Some(location) => OperationId::Location(location.index() as u32),
            None => OperationId::Operation(
                access.thread,
                access.operation.kind(),
                access.operation.address(),
            ),
        }
    }
}

impl Violation {
    /// What makes violations the same to a person (BSS section 5): the set of the three
    /// operations.
    pub fn distinct_key(&self) -> [OperationId; 3] {
        let mut key = [&self.pending, &self.last, &self.event].map(OperationId::of);
        key.sort_unstable();
        key
    }
}
