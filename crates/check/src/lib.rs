//! Internal crate of Fencepost: a check of a program, from the settings and a closure to an outcome.
//!
//! It does not know what the program is made of: `fencepost` checks closures that use its look-alikes of `std`,
//! `fencepost-native` the `main` of a C or C++ program.
//!
//! In the order of a check:
//! - `checker` has the settings, `variables` and `environment` override them from the environment, and `replaying`
//!   reads and writes schedules;
//! - `session` owns a check from start to end. `restarting` explores the program, with the file of `checkpoint`,
//!   `confirming` replays each finding, `rounds` unrolls waiting loops, and `sameness` says when failures are the same;
//! - `consequence` runs the program with store buffers after a violation, and `fences` infers missing fences;
//! - `concluding` makes the `outcome` and its `details`. `problems` translates failures for `fencepost-report`,
//!   `naming` has the names, and `showing` renders reports on demand;
//! - `progress` and `watchdog` keep the user informed meanwhile.

mod checker;
mod checkpoint;
mod concluding;
mod confirming;
mod consequence;
mod details;
mod environment;
mod fences;
mod invocation;
mod naming;
mod native_problems;
mod outcome;
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

pub use checker::{Checker, ForeignProgram, Strategy};
pub use details::{Assumption, Details, Limit};
pub use fences::{FenceAlternative, FenceInference, FenceSet, FenceStrength, InferredFence};
pub use outcome::{Consequence, Finding, Outcome};

/// Checks a program: explores one execution per equivalence class, and returns if the program is correct on x86,
/// store buffers included.
///
/// Environment variables override the settings: see [`Checker`].
///
/// # Panics
/// With the full report if an execution fails, if the program is not store-buffer safe, or if some
/// executions could not be explored.
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

/// Replays the execution of a program with this schedule, as a report prints it, and returns if the execution does not
/// fail.
///
/// # Panics
/// With the full report if the execution fails, and if `schedule` is not a schedule.
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
