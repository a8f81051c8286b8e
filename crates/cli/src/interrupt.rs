//! Ctrl-C: the first asks the command to stop and say what it has, the second kills it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Failure;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The exit code of a command that was killed by an interrupt, as shells have it.
pub const KILLED: i32 = 130;

/// Listens for interrupts from now on.
pub fn listen() {
    // Without a handler an interrupt kills the process, which is no worse than before.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(KILLED);
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
