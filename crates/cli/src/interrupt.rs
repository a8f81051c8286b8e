//! Ctrl-C: the first asks the command to stop with a summary, the second ends it at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::{self, Failure};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Listens for interrupts from now on.
pub fn listen() {
    // If the handler cannot be set, an interrupt kills the process.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(exit::INTERRUPTED.into());
        }
    });
}

/// Fails if there was an interrupt, for commands that have no partial result.
pub fn check() -> Result<(), Failure> {
    match was_requested() {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}

/// Whether there was an interrupt.
pub fn was_requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
