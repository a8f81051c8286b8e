//! Synchronization primitives, as in [`std::sync`].
//!
//! Outside of a check each type behaves as the one of `std`. In a check:
//! - a panic ends the execution, so locks are never poisoned;
//! - values cannot be created in a `static`: use [`lazy_static!`](crate::lazy_static);
//! - time does not pass: a wait with a timeout may return at any time;
//! - [`Condvar::wait`] may return without a notification (a spurious wakeup), as in `std`, unless
//!   spurious wakeups are disabled;
//! - an [`Arc`] that is never dropped is an error.
//!
//! The top of each file says how the explorer sees the type.

pub mod atomic;
pub mod mpsc;

mod arc;
mod barrier;
mod condvar;
mod lazy_lock;
mod mutex;
mod once;
mod once_lock;
mod rwlock;

pub use arc::{Arc, Weak};
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use fencepost_runtime::Current;

/// Acquires a lock of `std`, outside of a check. In an execution that is over it does not wait:
/// other threads will not release the lock.
fn lock_outside<G>(
    lock: impl FnOnce() -> LockResult<G>,
    try_lock: impl FnOnce() -> TryLockResult<G>,
) -> LockResult<G> {
    match Current::get() {
        None => lock(),
        Some(current) => match taken(try_lock()) {
            Some(guard) => Ok(guard),
            None => current.cannot_wait(),
        },
    }
}

/// Ignores poisoning, which does not exist in a check. Unwinding at the end of an execution may
/// poison the inner lock of `std`.
fn unpoisoned<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// The result of an attempt to acquire the inner lock of `std`, poisoned or not.
fn taken<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Wraps the guard that a lock of `std` has returned.
fn wrapped<G, H>(result: LockResult<G>, wrap: impl FnOnce(G) -> H) -> LockResult<H> {
    match result {
        Ok(guard) => Ok(wrap(guard)),
        Err(error) => Err(PoisonError::new(wrap(error.into_inner()))),
    }
}

/// Wraps the guard that an attempt to lock has returned.
fn try_wrapped<G, H>(result: TryLockResult<G>, wrap: impl FnOnce(G) -> H) -> TryLockResult<H> {
    match result {
        Ok(guard) => Ok(wrap(guard)),
        Err(TryLockError::Poisoned(error)) => {
            let error = PoisonError::new(wrap(error.into_inner()));
            Err(TryLockError::Poisoned(error))
        }
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}
