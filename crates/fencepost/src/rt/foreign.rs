//! Threads that a check does not know, and that use its objects all the same.
//!
//! They have no execution to report to, so they leave a note for the worker whose
//! execution it was, and panic.

use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::error::{Place, ProgramError};

static NOTES: Mutex<Vec<(u64, ProgramError)>> = Mutex::new(Vec::new());
static NOTE_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Notes about executions that are over stay unread.
const MAX_NOTES: usize = 64;

/// Complains about a use, on a thread outside of any check, of an object of an execution.
pub(crate) fn used_by_unknown_thread(
    execution: u64,
    made_at: &'static Location<'static>,
    location: &'static Location<'static>,
) {
    if std::thread::panicking() {
        return;
    }
    let message = format!(
        "the object made in a check, at {}, is used by a thread that the check does not know, at \
         {}: spawn threads with fencepost::thread, and use nothing of a check after it",
        Place::from(made_at),
        Place::from(location)
    );
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.len() == MAX_NOTES {
        notes.remove(0);
    }
    let error = ProgramError::BadUse {
        message: message.clone(),
        place: Some(location.into()),
    };
    notes.push((execution, error));
    NOTE_COUNT.store(notes.len(), Ordering::Release);
    drop(notes);
    panic!("{message}");
}

/// The complaint about an execution, if there is one.
#[inline]
pub(crate) fn complaint_about(execution: u64) -> Option<ProgramError> {
    if NOTE_COUNT.load(Ordering::Acquire) == 0 {
        return None;
    }
    take_note(execution)
}

#[cold]
fn take_note(execution: u64) -> Option<ProgramError> {
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    let index = notes.iter().position(|(serial, _)| *serial == execution)?;
    let (_, error) = notes.remove(index);
    NOTE_COUNT.store(notes.len(), Ordering::Release);
    Some(error)
}
