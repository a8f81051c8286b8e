//! What things are called, and how one event is written.

use fencepost_memory::{Access, Address, LocationId, OperationKind, ThreadId};
use fencepost_monitor::PlacedEvent;

use crate::source::SourcePosition;

/// What the front end calls threads, addresses and source locations.
pub trait Naming {
    /// The name of a thread.
    fn thread(&self, thread: ThreadId) -> String;

    /// The name of an address.
    fn address(&self, address: Address) -> String;

    /// A source location, such as `src/queue.rs:31`.
    fn location(&self, location: LocationId) -> Option<String>;

    /// A source location as file, line and column, where the front end knows them.
    fn position(&self, _location: LocationId) -> Option<SourcePosition> {
        None
    }

    /// A value of a variable.
    fn value(&self, _address: Address, value: u64) -> String {
        value.to_string()
    }

    /// Whether the values of a variable mean something to people: those of a lock do not.
    fn has_values(&self, _address: Address) -> bool {
        true
    }

    /// Whether the program says with which `Ordering` a variable is accessed: not of a lock.
    fn has_ordering(&self, _address: Address) -> bool {
        true
    }

    /// The value of a variable before the first write to it, where the front end knows it.
    fn first_value(&self, _address: Address) -> Option<u64> {
        None
    }

    /// An operation with its address: `st x`, `fence`.
    fn operation(&self, access: &Access) -> String {
        let kind = access.operation.kind();
        match access.operation.address() {
            Some(address) => format!("{kind} {}", self.address(address)),
            None => kind.to_string(),
        }
    }

    /// An operation in the words of someone who writes Rust: `store x`, `fence`.
    fn action(&self, access: &Access) -> String {
        let verb = action_verb(access.operation.kind());
        match access.operation.address() {
            Some(address) => format!("{verb} {}", self.address(address)),
            None => verb.to_string(),
        }
    }

    /// An operation with its thread and issue index: `T0:2 st x`.
    fn event(&self, placed: &PlacedEvent) -> String {
        let access = &placed.event.access;
        format!(
            "{}:{} {}",
            self.thread(access.thread),
            placed.event.issue.0,
            self.operation(access)
        )
    }

    /// Where an access comes from, if known.
    fn source(&self, access: &Access) -> Option<String> {
        access.location.and_then(|location| self.location(location))
    }
}

/// What Rust's programmers call an operation of this kind.
pub fn action_verb(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Load => "load",
        OperationKind::Store => "store",
        OperationKind::Interlocked => "update",
        OperationKind::LockedLoad => "failed update",
        OperationKind::LockedStore => "SeqCst store",
        OperationKind::Fence => "fence",
        OperationKind::StoreBarrier => "store barrier",
    }
}
