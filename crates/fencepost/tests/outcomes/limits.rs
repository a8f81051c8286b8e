//! Limits make an outcome incomplete, and what was switched off is an assumption.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fencepost::sync::Arc;
use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::{Relaxed, SeqCst};
use fencepost::{Checker, Outcome, Strategy, thread};

use super::{checks_still_work, error, message_of, two};

#[test]
fn limits_make_a_result_incomplete_and_say_so() {
    let counter = || {
        two(
            || AtomicUsize::new(0),
            |count| {
                (0..4).for_each(|_| {
                    count.fetch_add(1, Relaxed);
                })
            },
            |count| {
                (0..4).for_each(|_| {
                    count.fetch_add(1, Relaxed);
                })
            },
        )
    };
    assert_eq!(Checker::new().run(counter()).executions(), 70);
    let cases = [
        (Checker::new().max_executions(10), "10 executions"),
        (Checker::new().max_time(Duration::ZERO), "after 0 s"),
        (Checker::new().preemption_bound(1), "preemption"),
        (
            Checker::new()
                .strategy(Strategy::Random)
                .executions(20)
                .seed(5),
            "random",
        ),
        (
            Checker::new().strategy(Strategy::Pct).executions(20),
            "random",
        ),
    ];
    let nothing = Checker::new().max_executions(0).run(counter());
    let text = nothing.to_string();
    assert!(text.contains("explored: 0 executions, 0 steps\n"), "{text}");
    let is_shown = text.contains("shown:") || nothing.json().contains("\"shown\"");
    assert!(!is_shown, "{text}");
    for (checker, reason) in cases {
        let outcome = checker.run(counter());
        assert!(outcome.to_string().contains("\n  shown: "), "{outcome}");
        assert!(matches!(outcome, Outcome::Incomplete(_)), "{outcome}");
        assert!(outcome.executions() < 70, "{outcome}");
        assert!(outcome.to_string().contains(reason), "{reason}: {outcome}");
        let panic = catch_unwind(AssertUnwindSafe(|| checker.check(counter()))).unwrap_err();
        assert!(message_of(panic).contains(reason));
    }
    checks_still_work();
}

/// Only the bound that was asked for is called the bound.
#[test]
fn a_finding_within_a_smaller_bound_leaves_no_bound_out() {
    let outcome = Checker::new().preemption_bound(2).run(|| {
        let turns = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let other = Arc::clone(&turns);
        let thread = thread::spawn(move || other[0].fetch_add(1, Relaxed));
        turns[1].fetch_add(1, Relaxed);
        thread.join().unwrap();
        panic!("always");
    });
    let text = error(&outcome);
    assert!(!text.contains("preemption_bound"), "{text}");
    assert!(text.contains("stopped at the first failure"), "{text}");
}

#[test]
fn a_verified_result_names_what_was_switched_off() {
    let program = two(
        || AtomicUsize::new(0),
        |count| count.store(1, SeqCst),
        |_| (),
    );
    let outcome = Checker::new().spurious_wakeups(false).run(program);
    assert!(outcome.is_verified(), "{outcome}");
    assert!(outcome.to_string().contains("`spurious_wakeups(false)`"));
    assert!(outcome.json().contains("`spurious_wakeups(false)`"));
    let outcome = Checker::new().monitor(false).run(|| ());
    assert!(outcome.is_verified(), "{outcome}");
    assert!(outcome.to_string().contains("`monitor(false)`"));
    let outcome = Checker::new().run(|| ());
    assert_eq!(outcome.to_string().matches("assumes:").count(), 1);
}
