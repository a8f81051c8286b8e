//! What threads share, as in [`std::sync`].
//!
//! Outside of a check everything here is what `std` has. In a check:
//! - a panic ends the execution, so nothing is ever poisoned;
//! - nothing can be made in a `static`: use [`lazy_static!`](crate::lazy_static);
//! - time does not pass: a wait with a time-out may end at any time;
//! - [`Condvar::wait`] may return without a notification, as `std` says that it may, unless that is
//!   switched off;
//! - an [`Arc`] that is never dropped is an error.
//!
//! What each of them is to the explorer is said at the top of its file.

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
pub(crate) use condvar::chooses_spurious;
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub(crate) use rwlock::is_release;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use fencepost_runtime::Current;

/// Takes a lock of `std`, outside of a check; but in an execution that is over, and whose threads would be
/// waited for in vain, waits for nobody.
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

/// A lock is never poisoned in a check; unwinding at the end of an execution may say so of the lock
/// of `std` inside.
fn unpoisoned<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// What an attempt to take the lock of `std` inside has got, poisoned or not.
fn taken<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Puts the guard of `std` that a lock has returned into one of ours.
fn wrapped<G, H>(result: LockResult<G>, wrap: impl FnOnce(G) -> H) -> LockResult<H> {
    match result {
        Ok(guard) => Ok(wrap(guard)),
        Err(error) => Err(PoisonError::new(wrap(error.into_inner()))),
    }
}

/// Puts the guard of `std` that an attempt to lock has returned into one of ours.
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
