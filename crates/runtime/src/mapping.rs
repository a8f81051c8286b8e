//! The memory events of each operation, on a machine with store buffers.
//!
//! Only this module decides that. There are two targets:
//!
//! | operation | x86 (TSO) | PSO |
//! | --- | --- | --- |
//! | load | `ld` | `ld` |
//! | store, Relaxed | `st` | `st` |
//! | store, Release | `st` | `stbar` `st` |
//! | store, SeqCst | `lst` | `stbar` `lst` |
//! | read-modify-write, Relaxed or Acquire | `il` | `il` |
//! | read-modify-write, Release, AcqRel or SeqCst | `il` | `stbar` `il` |
//! | compare-exchange that fails | `lld` | as the `il` that it would have been: `lld` or `stbar` `lld` |
//! | fence, Acquire | | |
//! | fence, Release or AcqRel | | `stbar` |
//! | fence, SeqCst | `fence` | `fence` |
//! | lock of a mutex | `il` | `il` |
//! | unlock of a mutex | `il` | `stbar` `il` |
//! | `RwLock`, taken by an operation that waits | `il` | `il` |
//! | `RwLock`, taken by `try_read` or `try_write` | `ld` `il` | `ld` `il` |
//! | `RwLock`, not taken by `try_read` or `try_write` | `ld` | `ld` |
//! | release of an `RwLock` | `il` | `stbar` `il` |
//! | send to a channel without receiver, except for a rendezvous | `ld` | `ld` |
//! | condition variable, other operations on a channel, barrier, spawn, join, park, unpark | a locked operation | `fence` and a locked operation |
//! | count of an `Arc`, up | `il` to an address of the thread | such an `il` |
//! | count of an `Arc`, down | `il` to an address of the thread | `stbar` and such an `il` |
//! | count of an `Arc`, read | a `ld` of every other such address | the same |
//! | count of an `Arc`, compared | `fence` and a `lld` of every other such address | a `lld` of every such address |
//! | count of an `Arc` that is not shared | `fence` | `stbar` if down |
//!
//! On x86 a locked operation drains the whole store buffer; PSO is the machine of BSS, where it
//! drains only its own address, so that what must drain everything needs a `fence` before it.

use std::sync::atomic::Ordering;

use fencepost_explore::MonitoredModel;
use fencepost_memory::{Address, LockedDrains, Operation};

/// The machine that a program is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Target {
    /// x86: total store order.
    #[default]
    X86,
    /// Partial store order, as in BSS.
    Pso,
}

impl Target {
    /// The name of the target in settings.
    pub fn name(self) -> &'static str {
        match self {
            Target::X86 => "x86",
            Target::Pso => "pso",
        }
    }

    /// The memory model of the target, for a monitor.
    pub fn monitored_model(self) -> MonitoredModel {
        match self {
            Target::X86 => MonitoredModel::Tso,
            Target::Pso => MonitoredModel::Pso(LockedDrains::OwnAddress),
        }
    }
}

/// The events of one operation, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Events {
    /// The barrier or fence before the operation.
    pub barrier: Option<Operation>,
    /// The operation itself.
    pub operation: Option<Operation>,
}

impl Events {
    /// No event.
    pub const NONE: Events = Events {
        barrier: None,
        operation: None,
    };

    /// One event.
    #[inline]
    pub const fn only(operation: Operation) -> Events {
        Events {
            barrier: None,
            operation: Some(operation),
        }
    }

    #[inline]
    fn after(barrier: Operation, is_needed: bool, operation: Operation) -> Events {
        Events {
            barrier: is_needed.then_some(barrier),
            operation: Some(operation),
        }
    }
}

/// The stores that must be in memory before an operation is performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drains<'a> {
    /// None: stores may stay in the buffer.
    Nothing,
    /// The thread's stores to these addresses, and all its stores before its last store barrier.
    Addresses(&'a [Address]),
    /// All stores of the thread.
    Everything,
}

/// Whether an operation with this ordering is a release operation.
#[inline]
pub fn releases(ordering: Ordering) -> bool {
    matches!(
        ordering,
        Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
    )
}

impl Target {
    /// A load.
    #[inline]
    pub fn load(self, address: Address) -> Events {
        Events::only(Operation::Load(address))
    }

    /// A store.
    #[inline]
    pub fn store(self, address: Address, ordering: Ordering) -> Events {
        let operation = match ordering {
            Ordering::SeqCst => Operation::LockedStore(address),
            _ => Operation::Store(address),
        };
        self.releasing(ordering, operation)
    }

    /// A read-modify-write that writes.
    #[inline]
    pub fn read_modify_write(self, address: Address, ordering: Ordering) -> Events {
        self.releasing(ordering, Operation::Interlocked(address))
    }

    /// A compare-exchange that fails. The ordering is that of its success.
    #[inline]
    pub fn failed_exchange(self, address: Address, success: Ordering) -> Events {
        self.releasing(success, Operation::LockedLoad(address))
    }

    /// The stores that a read-modify-write of these addresses waits for, whether or not it writes;
    /// with `Acquire`, also those of a lock operation.
    #[inline]
    pub fn drained_by_exchange(self, addresses: &[Address], ordering: Ordering) -> Drains<'_> {
        match self {
            Target::Pso if !releases(ordering) => Drains::Addresses(addresses),
            _ => Drains::Everything,
        }
    }

    /// The stores that a fence waits for.
    #[inline]
    pub fn drained_by_fence(self, ordering: Ordering) -> Drains<'static> {
        match ordering {
            Ordering::SeqCst => Drains::Everything,
            _ => Drains::Nothing,
        }
    }

    /// Whether a store enters the buffer.
    #[inline]
    pub fn buffers_store(self, ordering: Ordering) -> bool {
        ordering != Ordering::SeqCst
    }

    /// A fence.
    #[inline]
    pub fn fence(self, ordering: Ordering) -> Events {
        match (self, ordering) {
            (_, Ordering::SeqCst) => Events::only(Operation::Fence),
            (Target::Pso, _) if releases(ordering) => Events::only(Operation::StoreBarrier),
            _ => Events::NONE,
        }
    }

    /// The lock of a mutex.
    #[inline]
    pub fn lock(self, address: Address) -> Events {
        self.read_modify_write(address, Ordering::Acquire)
    }

    /// An attempt to lock that fails.
    #[inline]
    pub fn failed_lock(self, address: Address) -> Events {
        self.failed_exchange(address, Ordering::Acquire)
    }

    /// The unlock of a mutex.
    #[inline]
    pub fn unlock(self, address: Address) -> Events {
        self.read_modify_write(address, Ordering::Release)
    }

    /// A locked operation that drains everything: of a condition variable, a channel, a barrier,
    /// spawn, join, park or unpark.
    #[inline]
    pub fn draining(self, operation: Operation) -> Events {
        debug_assert!(operation.is_locked(), "{operation} drains nothing on x86");
        Events::after(Operation::Fence, self == Target::Pso, operation)
    }

    /// A locked operation on a reference count, apart from the addresses of the threads that have
    /// changed it: no thread can observe the order of such changes, so they are not ordered.
    #[inline]
    pub fn count(self, is_releasing: bool) -> Events {
        match self {
            Target::X86 => Events::only(Operation::Fence),
            Target::Pso if is_releasing => Events::only(Operation::StoreBarrier),
            Target::Pso => Events::NONE,
        }
    }

    #[inline]
    fn releasing(self, ordering: Ordering, operation: Operation) -> Events {
        let is_needed = self == Target::Pso && releases(ordering);
        Events::after(Operation::StoreBarrier, is_needed, operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

    const A: Address = Address(3);

    fn show(events: Events) -> String {
        let names: Vec<_> = [events.barrier, events.operation]
            .into_iter()
            .flatten()
            .map(|operation| operation.kind().mnemonic())
            .collect();
        names.join(" ")
    }

    /// The columns of the table above, row by row.
    #[test]
    fn operations_map_as_in_the_table() {
        type Map = Box<dyn Fn(Target) -> Events>;
        let rows: Vec<(Map, &str, &str)> = vec![
            (Box::new(|t: Target| t.load(A)), "ld", "ld"),
            (Box::new(|t: Target| t.store(A, Relaxed)), "st", "st"),
            (Box::new(|t: Target| t.store(A, Release)), "st", "stbar st"),
            (Box::new(|t: Target| t.store(A, SeqCst)), "lst", "stbar lst"),
            (
                Box::new(|t: Target| t.read_modify_write(A, Relaxed)),
                "il",
                "il",
            ),
            (
                Box::new(|t: Target| t.read_modify_write(A, Acquire)),
                "il",
                "il",
            ),
            (
                Box::new(|t: Target| t.read_modify_write(A, Release)),
                "il",
                "stbar il",
            ),
            (
                Box::new(|t: Target| t.read_modify_write(A, AcqRel)),
                "il",
                "stbar il",
            ),
            (
                Box::new(|t: Target| t.read_modify_write(A, SeqCst)),
                "il",
                "stbar il",
            ),
            (
                Box::new(|t: Target| t.failed_exchange(A, Relaxed)),
                "lld",
                "lld",
            ),
            (
                Box::new(|t: Target| t.failed_exchange(A, Acquire)),
                "lld",
                "lld",
            ),
            (
                Box::new(|t: Target| t.failed_exchange(A, Release)),
                "lld",
                "stbar lld",
            ),
            (
                Box::new(|t: Target| t.failed_exchange(A, AcqRel)),
                "lld",
                "stbar lld",
            ),
            (
                Box::new(|t: Target| t.failed_exchange(A, SeqCst)),
                "lld",
                "stbar lld",
            ),
            (Box::new(|t: Target| t.fence(Acquire)), "", ""),
            (Box::new(|t: Target| t.fence(Release)), "", "stbar"),
            (Box::new(|t: Target| t.fence(AcqRel)), "", "stbar"),
            (Box::new(|t: Target| t.fence(SeqCst)), "fence", "fence"),
            (Box::new(|t: Target| t.lock(A)), "il", "il"),
            (Box::new(|t: Target| t.failed_lock(A)), "lld", "lld"),
            (Box::new(|t: Target| t.unlock(A)), "il", "stbar il"),
            (
                Box::new(|t: Target| t.draining(Operation::LockedStore(A))),
                "lst",
                "fence lst",
            ),
            (Box::new(|t: Target| t.count(false)), "fence", ""),
            (Box::new(|t: Target| t.count(true)), "fence", "stbar"),
        ];
        for (row, (map, x86, pso)) in rows.iter().enumerate() {
            assert_eq!(show(map(Target::X86)), *x86, "row {row}");
            assert_eq!(show(map(Target::Pso)), *pso, "row {row}");
        }
    }
}
