//! The message and the source location of a panic of the program.
//!
//! Only a panic hook learns the location. Ours prints nothing for threads of a check, since a check
//! may run into the same panic many times, and reports it itself. It passes other panics on to the
//! hook that was installed before.

use std::any::Any;
use std::panic::PanicHookInfo;
use std::sync::Once;

use super::error::{ProgramError, Stop};
use super::execution::Phase;
use super::location::OwnedLocation;
use super::operation::Current;

/// The message of `std` when a destructor panics during unwinding. Then `std` aborts.
const PANIC_IN_CLEANUP: &str = "panic in a destructor during cleanup";

/// Installs our hook before the present one, once.
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
    // The execution is borrowed: an internal error, in an operation.
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

/// The message of a panic.
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
