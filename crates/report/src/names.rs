//! The names of threads, addresses and locations, and the notation of events.

use fencepost_memory::{Access, Address, LocationId, OperationKind, ThreadId};
use fencepost_monitor::PlacedEvent;

use crate::language::ProgramLanguage;
use crate::source::SourcePosition;

/// The names that a front end gives to threads, addresses and source locations.
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

    /// Whether reports show the values of a variable: those of a lock mean nothing to a reader.
    fn has_values(&self, _address: Address) -> bool {
        true
    }

    /// Whether the program chooses the `Ordering` of accesses to a variable: not for a lock.
    fn has_ordering(&self, _address: Address) -> bool {
        true
    }

    /// The initial value of a variable, where the front end knows it.
    fn first_value(&self, _address: Address) -> Option<u64> {
        None
    }

    /// The language of the program, in whose words reports are.
    fn language(&self) -> ProgramLanguage {
        ProgramLanguage::default()
    }

    /// An operation with its address: `st x`, `fence`.
    fn operation(&self, access: &Access) -> String {
        let kind = access.operation.kind();
        match access.operation.address() {
            Some(address) => format!("{kind} {}", self.address(address)),
            None => kind.to_string(),
        }
    }

    /// An operation as programmers say it: `store x`, `fence`.
    fn action(&self, access: &Access) -> String {
        let verb = action_verb(access.operation.kind(), self.language());
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

    /// The source location of an access, if it is known.
    fn source(&self, access: &Access) -> Option<String> {
        access.location.and_then(|location| self.location(location))
    }
}

/// The verb for an operation of this kind, as programmers say it.
pub fn action_verb(kind: OperationKind, language: ProgramLanguage) -> &'static str {
    match kind {
        OperationKind::Load => "load",
        OperationKind::Store => "store",
        OperationKind::Interlocked => "update",
        OperationKind::LockedLoad => "failed update",
        OperationKind::LockedStore => match language {
            ProgramLanguage::Rust => "SeqCst store",
            ProgramLanguage::C => "seq_cst store",
        },
        OperationKind::Fence => "fence",
        OperationKind::StoreBarrier => "store barrier",
    }
}
