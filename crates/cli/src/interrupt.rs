//! Ctrl-C: the first asks the command to stop with a summary, the second ends it at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::{self, Failure};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Listens for interrupts from now on.
pub fn listen() {
    // If the handler cannot be set, an interrupt kills the process.
    let _ = ctrlc::set_handler(|| {
        let is_second = INTERRUPTED.swap(true, Ordering::SeqCst);
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        child::pass_on(is_second);
        if is_second {
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
    INTERRUPTED.load(Ordering::SeqCst)
}

/// The process that does the work of a command.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod child {
    use std::sync::atomic::{AtomicI32, Ordering};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    /// No process.
    const NONE: i32 = 0;
    static CHILD: AtomicI32 = AtomicI32::new(NONE);

    /// Passes interrupts on to this process, also one that came before.
    pub fn set(process: u32) {
        CHILD.store(process.try_into().unwrap_or(NONE), Ordering::SeqCst);
        if super::was_requested() {
            pass_on(false);
        }
    }

    /// There is none any more.
    pub fn unset() {
        CHILD.store(NONE, Ordering::SeqCst);
    }

    /// Asks it to stop, or ends it.
    pub(super) fn pass_on(is_second: bool) {
        let signal = match is_second {
            true => Signal::SIGKILL,
            false => Signal::SIGINT,
        };
        let process = CHILD.load(Ordering::SeqCst);
        if process != NONE {
            // It may have ended in between.
            let _ = kill(Pid::from_raw(process), signal);
        }
    }
}
