//! Checking a closure: how it is asked for, and what comes of it.
//!
//! [`Checker`] holds the settings, `environment` overrides them from variables, `running` hands the
//! closure to the explorer, [`outcome`] is what a caller gets, `problems` turns what the explorer
//! found into what `fencepost-report` can show, `showing` has it shown when someone looks, `naming` knows
//! what things are called and where source text is, `consequence` runs the program on from a violation, `rounds` tries loops that were taken to wait, `progress` tells people that something is going on, `watchdog` that nothing is, and `checkpoint` is the file
//! from which an interrupted check goes on.

mod checker;
mod checkpoint;
mod concluding;
mod confirming;
mod consequence;
mod details;
mod environment;
pub mod fences;
mod naming;
pub mod outcome;
mod problems;
mod progress;
mod replaying;
mod restarting;
mod rounds;
mod sameness;
mod session;
mod showing;
mod variables;
mod watchdog;

pub use checker::{Checker, Strategy};
pub use details::{Assumption, Details, Limit};
pub use fences::{FenceAlternative, FenceInference, FenceSet, FenceStrength, InferredFence};
pub use outcome::{Consequence, Finding, Outcome};

/// Checks a program: runs the closure in every order of its operations that matters, and decides
/// whether it is correct on x86, store buffers included.
///
/// Returns if it is. Environment variables override the settings: see [`Checker`].
///
/// # Panics
/// With the full report if an execution is wrong, if the program is not store-buffer safe, or if not
/// all executions could be run.
///
/// ```
/// use fencepost::sync::Arc;
/// use fencepost::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// use fencepost::thread;
///
/// fencepost::check(|| {
///     let count = Arc::new(AtomicUsize::new(0));
///     let other = Arc::clone(&count);
///     let thread = thread::spawn(move || other.fetch_add(1, Relaxed));
///     count.fetch_add(1, Relaxed);
///     thread.join().unwrap();
///     assert_eq!(count.load(Relaxed), 2);
/// });
/// ```
#[track_caller]
pub fn check(program: impl Fn() + Send + Sync + 'static) {
    Checker::new().check(program);
}

/// Runs one execution of a program again: the one with this schedule, as a report gives it.
///
/// Returns if nothing is wrong with it.
///
/// # Panics
/// With the full report of what is wrong, and if `schedule` is not a schedule.
///
/// ```should_panic
/// use fencepost::sync::Arc;
/// use fencepost::sync::atomic::{AtomicUsize, Ordering::SeqCst};
/// use fencepost::thread;
///
/// // The update is lost if both threads load before one of them stores.
/// fencepost::replay("0.1.0.1", || {
///     let count = Arc::new(AtomicUsize::new(0));
///     let other = Arc::clone(&count);
///     let add = |count: &AtomicUsize| count.store(count.load(SeqCst) + 1, SeqCst);
///     let thread = thread::spawn(move || add(&other));
///     add(&count);
///     thread.join().unwrap();
///     assert_eq!(count.load(SeqCst), 2);
/// });
/// ```
#[track_caller]
pub fn replay(schedule: &str, program: impl Fn() + Send + Sync + 'static) {
    let outcome = Checker::new().replay(schedule, program);
    if outcome.has_failed() {
        outcome.panic_with_report();
    }
}
