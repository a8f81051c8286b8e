//! How a hook performs an operation.

use std::cell::UnsafeCell;

use fencepost_memory::Address;
use fencepost_runtime::{Current, LocationRef};

use crate::accesses;
use crate::state::{Known, state};

/// A byte that the assembly of the hooks reads.
pub(crate) struct Flag(UnsafeCell<u8>);

// SAFETY: only the OS thread that runs the program uses it.
unsafe impl Sync for Flag {}

impl Flag {
    pub(crate) fn set(&self, is_on: bool) {
        // SAFETY: nobody else uses it now.
        unsafe { self.0.get().write(is_on.into()) };
    }
}

/// Whether hooks clear the stack below the frame of the program: what earlier calls have left there would be taken for a part
/// of the state of the thread.
pub(crate) static CLEARS_STACK: Flag = Flag(UnsafeCell::new(0));

/// The execution in which the calling thread performs an operation, and the source location of it. What the thread has done
/// since its last operation is handed over.
pub(crate) fn begin(returns_to: usize) -> (Current, LocationRef) {
    let current = Current::get().expect("a thread of the program runs in an execution");
    if current.is_tearing_down() {
        // An operation has ended the execution, and this thread with it.
        current.abandon();
    }
    accesses::hand_over(current);
    (current, state().location(returns_to))
}

/// The object at an address.
pub(crate) fn object_at(
    current: Current,
    address: usize,
    kind: &'static str,
    size: u8,
    value: impl FnOnce() -> u64,
) -> Address {
    let name = || name_of(address);
    known_or((address, kind, size), current, value, name)
}

/// What reports call an address.
pub(crate) fn name_of(address: usize) -> String {
    format!("{address:#x}")
}

/// An object of another kind that belongs to something at an address, and is known by a number that no address of an object
/// is. Its state is 0 at first.
pub(crate) fn object_named(
    current: Current,
    number: usize,
    kind: &'static str,
    relation: &str,
) -> Address {
    let name = || format!("{relation} {}", name_of(number - 1));
    known_or((number, kind, 0), current, || 0, name)
}

/// An object that a program has once: its name is its kind. Its state is 0 at first.
pub(crate) fn object_global(current: Current, kind: &'static str) -> Address {
    let number = kind.as_ptr().addr();
    known_or((number, kind, 0), current, || 0, || kind.to_owned())
}

/// The object that is known in this execution, or else a new one.
#[inline]
fn known_or(
    (address, kind, size): (usize, &'static str, u8),
    current: Current,
    value: impl FnOnce() -> u64,
    name: impl FnOnce() -> String,
) -> Address {
    let state = state();
    let (execution, location) = (state.execution, state.main_location);
    if let Some(known) = state.objects.get(&address) {
        if known.execution == execution && known.size == size {
            return known.object;
        }
    }
    drop(state);
    let object = current.object_in_memory(address, kind, value(), name, location);
    let known = Known {
        execution,
        object,
        size,
    };
    self::state().objects.insert(address, known);
    object
}
