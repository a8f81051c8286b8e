//! The outcome of each kind of program, misuse included. After each of them the process can still check others.

mod failures;
mod limits;
mod loops;
mod names;
mod refusals;
mod replaying;
mod robustness;
mod waiting;

use fencepost::sync::Arc;
use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::Relaxed;
use fencepost::{Checker, Outcome, thread};

/// Two threads, each run with the shared state.
fn two<T: Send + Sync + 'static>(
    state: impl Fn() -> T + Send + Sync + Clone + 'static,
    first: impl Fn(&T) + Send + Sync + Clone + 'static,
    second: impl Fn(&T) + Send + Sync + Clone + 'static,
) -> impl Fn() + Send + Sync + Clone + 'static {
    move || {
        let shared = Arc::new(state());
        let (other, first) = (Arc::clone(&shared), first.clone());
        let thread = thread::spawn(move || first(&other));
        second(&shared);
        thread.join().unwrap();
    }
}

fn error(outcome: &Outcome) -> String {
    assert!(matches!(outcome, Outcome::ProgramError(_)), "{outcome}");
    assert_eq!(outcome.errors(), 1, "{outcome}");
    let finding = &outcome.findings()[0];
    assert!(!finding.is_store_buffer());
    assert!(outcome.json().contains("fencepost-check/1"));
    outcome.to_string()
}

/// Fails unless it is an error that is said in these words, and checks work after it.
#[track_caller]
fn assert_says(outcome: &Outcome, words: &str) {
    let text = error(outcome);
    assert!(text.contains(words), "{text}");
    checks_still_work();
}

/// After whatever happened, checks work.
fn checks_still_work() {
    let outcome = Checker::new().run(two(
        || AtomicUsize::new(0),
        |count| {
            count.fetch_add(1, Relaxed);
        },
        |count| {
            count.fetch_add(1, Relaxed);
        },
    ));
    assert!(outcome.is_verified(), "{outcome}");
    assert_eq!(outcome.executions(), 2);
}

fn message_of(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a message")).to_owned(),
    }
}

fn store_buffering() -> impl Fn() + Send + Sync + 'static {
    two(
        || {
            (
                AtomicUsize::new(0).named("x"),
                AtomicUsize::new(0).named("y"),
            )
        },
        |(x, y)| {
            x.store(1, Relaxed);
            y.load(Relaxed);
        },
        |(x, y)| {
            y.store(1, Relaxed);
            x.load(Relaxed);
        },
    )
}
