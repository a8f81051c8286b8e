//! What a monitor reports: three events that show a violation.

use fencepost_memory::{Address, Event, MemoryModel, Operation, ThreadId};

/// An event and its position in the interleaving, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacedEvent {
    /// The event.
    pub event: Event,
    /// The number of events before it.
    pub position: u64,
}

impl PlacedEvent {
    /// The thread that performed it.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.event.access.thread
    }

    /// Whether it is a plain store: it writes, and is neither locked nor a read-modify-write.
    #[inline]
    pub fn is_plain_store(&self) -> bool {
        matches!(self.event.access.operation, Operation::Store(_))
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
    pub pending: PlacedEvent,
    /// The last event of `event`'s thread before it; `pending` happens before it.
    pub last: PlacedEvent,
    /// The event that can overtake `pending`.
    pub event: PlacedEvent,
}

/// What identifies an operation of the program: its source location and kind, or else, without
/// location, its thread, kind and address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperationId(u64);

impl OperationId {
    /// Packs what identifies the operation: 1 bit says which it is, then 3 bits of kind, then
    /// either the location, or 28 bits of thread and 32 of address.
    fn of(placed: &PlacedEvent) -> Self {
        let access = placed.event.access;
        let kind = (access.operation.kind() as u64) << 60;
        if let Some(location) = access.location {
            return OperationId(1 << 63 | kind | location.index() as u64);
        }
        let thread = u64::from(access.thread.0);
        assert!(
            thread < 1 << 28,
            "vector clocks of so many threads do not fit in memory"
        );
        let address = access.operation.address().map_or(0, |a| u64::from(a.0));
        OperationId(kind | thread << 32 | address)
    }

    /// The id as a number, for a checkpoint.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The id from a checkpoint.
    pub(crate) fn from_bits(bits: u64) -> Self {
        OperationId(bits)
    }
}

impl Violation {
    /// The number of events from `pending` to `event`, both included.
    pub fn span(&self) -> u64 {
        self.event.position - self.pending.position + 1
    }

    /// The key by which violations count as the same (BSS section 5): the set of the three
    /// operations, sorted. A smaller set is filled up with its last member.
    pub fn distinct_key(&self) -> [OperationId; 3] {
        let mut key = [&self.pending, &self.last, &self.event].map(OperationId::of);
        key.sort_unstable();
        if key[0] == key[1] {
            key[1] = key[2];
        }
        key
    }
}
