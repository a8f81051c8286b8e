//! OS threads that use objects of a check to which they do not belong.
//!
//! Such a thread has no execution to report to. It leaves a note for the worker whose execution it
//! is, and panics.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::ProgramError;
use super::location::{LocationRef, OwnedLocation};

static NOTES: Mutex<Notes> = Mutex::new(Notes {
    runtimes: Vec::new(),
    unread: Vec::new(),
});
static NOTE_COUNT: AtomicUsize = AtomicUsize::new(0);

struct Notes {
    /// The runtimes that exist, by the upper bits of the serial numbers of their executions.
    runtimes: Vec<u64>,
    unread: Vec<(u64, ProgramError)>,
}

/// More notes would say nothing new.
const MAX_NOTES: usize = 64;

/// The part of an execution's serial number that counts the executions of one runtime.
pub(crate) const EXECUTION_BITS: u32 = 40;

fn notes() -> MutexGuard<'static, Notes> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Accepts notes for a runtime.
pub(crate) fn register_runtime(runtime: u64) {
    notes().runtimes.push(runtime);
}

/// Drops the notes for a runtime that is dropped.
pub(crate) fn deregister_runtime(runtime: u64) {
    let mut notes = notes();
    notes.runtimes.retain(|&other| other != runtime);
    notes.forget(|serial| serial >> EXECUTION_BITS == runtime);
}

impl Notes {
    fn forget(&mut self, is_over: impl Fn(u64) -> bool) {
        self.unread.retain(|(serial, _)| !is_over(*serial));
        NOTE_COUNT.store(self.unread.len(), Ordering::Release);
    }
}

/// Reports that an OS thread outside of any check uses an object of an execution.
pub(crate) fn report_foreign_use(execution: u64, created_at: LocationRef, location: LocationRef) {
    if std::thread::panicking() {
        return;
    }
    let message = format!(
        "the object created in a check, at {}, is used by a thread that the check does not know, at \
         {}: spawn threads with fencepost::thread, and use nothing of a check after it",
        OwnedLocation::from(created_at),
        OwnedLocation::from(location)
    );
    note(
        execution,
        ProgramError::Misuse {
            message: message.clone(),
            location: Some(location.into()),
        },
    );
    panic!("{message}");
}

/// Reports that an OS thread outside of any check drops a reference to an object of an execution.
/// Unlike a use, this does not panic.
pub fn report_foreign_drop(execution: u64, created_at: LocationRef) {
    let message = format!(
        "the object created in a check, at {}, is dropped by a thread that the check does not know: spawn \
         threads with fencepost::thread, and keep nothing of a check after it",
        OwnedLocation::from(created_at)
    );
    note(
        execution,
        ProgramError::Misuse {
            message,
            location: Some(created_at.into()),
        },
    );
}

fn note(execution: u64, error: ProgramError) {
    let mut notes = notes();
    // A check that is over has no worker that would read it.
    if notes.runtimes.contains(&(execution >> EXECUTION_BITS)) && notes.unread.len() < MAX_NOTES {
        notes.unread.push((execution, error));
        NOTE_COUNT.store(notes.unread.len(), Ordering::Release);
    }
}

/// The misuse of the objects of an execution, if there is one.
#[inline]
pub(crate) fn misuse_of(execution: u64) -> Option<ProgramError> {
    if NOTE_COUNT.load(Ordering::Acquire) == 0 {
        return None;
    }
    take_note(execution)
}

#[cold]
fn take_note(execution: u64) -> Option<ProgramError> {
    let mut notes = notes();
    let of_it = notes.unread.iter().find(|(serial, _)| *serial == execution);
    let error = of_it.map(|(_, error)| error.clone());
    let runtime = execution >> EXECUTION_BITS;
    notes.forget(|serial| serial >> EXECUTION_BITS == runtime && serial <= execution);
    error
}
