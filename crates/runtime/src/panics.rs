//! What a panic of a checked program says, and where.
//!
//! Only a panic hook learns the place. Ours is silent about threads of a check, since a
//! check may run into the same panic many times and reports it in its own way; it hands
//! everything else to the hook before it.

use std::any::Any;
use std::panic::PanicHookInfo;
use std::sync::Once;

use super::error::{OwnedLocation, ProgramError, Stop};
use super::execution::Phase;
use super::operation::Current;

/// What `std` says when a destructor panics during unwinding; it then aborts.
const PANIC_IN_CLEANUP: &str = "panic in a destructor during cleanup";

/// Puts our hook before the present one, once.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match Current::get() {
            None => previous(info),
            Some(current) => note_panic(current, info, &previous),
        }));
    });
}

fn note_panic(current: Current, info: &PanicHookInfo<'_>, previous: &dyn Fn(&PanicHookInfo<'_>)) {
    let message = message_of(info.payload());
    if message == PANIC_IN_CLEANUP {
        let stop = current
            .try_with(|execution| execution.teardown.stop.clone())
            .flatten();
        eprintln!(
            "fencepost: a destructor panicked while the threads of an execution were unwound, so \
             the process has to be aborted. Destructors must not panic while \
             `std::thread::panicking()`."
        );
        if let Some(Stop::Error(error)) = stop {
            eprintln!("fencepost: the execution had failed: {error}");
        }
        return previous(info);
    }
    // An error of ours, which happened while an operation was performed.
    let Some(phase) = current.try_with(|execution| execution.phase) else {
        return previous(info);
    };
    if phase == Phase::Teardown {
        return;
    }
    let location = info.location().map(OwnedLocation::from);
    current.with(|execution| {
        let thread = execution.running.thread;
        let error = ProgramError::Panic {
            thread,
            message,
            location,
        };
        execution.fail(error.into());
    });
}

/// What a panic said.
pub(crate) fn message_of(payload: &(dyn Any + Send)) -> String {
    match (
        payload.downcast_ref::<&str>(),
        payload.downcast_ref::<String>(),
    ) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a message".to_owned(),
    }
}
