//! Threads that wait: deadlocks, livelocks, step limits, and waits that end.

use fencepost::sync::atomic::AtomicBool;
use fencepost::sync::atomic::Ordering::{Acquire, Release};
use fencepost::sync::{Arc, Barrier, Condvar, Mutex};
use fencepost::{Checker, hint, thread};

use super::{assert_says, checks_still_work, error, two};

#[test]
fn a_deadlock_names_who_waits_for_what() {
    let outcome = Checker::new().run(two(
        || (Mutex::new(0).named("left"), Mutex::new(0).named("right")),
        |(left, right)| {
            let _left = left.lock().unwrap();
            drop(right.lock());
        },
        |(left, right)| {
            let _right = right.lock().unwrap();
            drop(left.lock());
        },
    ));
    let text = error(&outcome);
    assert!(text.contains("deadlock"), "{text}");
    assert!(
        text.contains("`left`") && text.contains("`right`"),
        "{text}"
    );
    checks_still_work();
}

#[test]
fn waiting_for_what_never_comes_is_a_livelock() {
    let outcome = Checker::new().run(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(Acquire) {
            hint::spin_loop();
        }
    });
    assert_says(&outcome, "livelock");
}

#[test]
fn waiting_for_another_thread_ends() {
    let program = two(
        || AtomicBool::new(false),
        |flag| flag.store(true, Release),
        |flag| {
            while !flag.load(Acquire) {
                hint::spin_loop();
            }
        },
    );
    let outcome = Checker::new().run(program);
    assert!(outcome.is_verified(), "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("back to the same state"), "{text}");
}

#[test]
fn an_endless_loop_that_counts_reaches_the_step_limit() {
    let outcome = Checker::new().max_steps(1000).run(|| {
        let flag = AtomicBool::new(false);
        let mut rounds = 0_u64;
        while !flag.load(Acquire) {
            rounds += 1;
        }
        hint::black_box(rounds);
    });
    let text = error(&outcome);
    assert!(text.contains("1,000"), "{text}");
    assert!(text.contains("come back to the same state"), "{text}");
    checks_still_work();
}

#[test]
fn an_endless_loop_without_a_hint_is_a_livelock() {
    let outcome = Checker::new().run(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(Acquire) {}
    });
    assert_says(&outcome, "livelock");
}

#[test]
fn what_is_waited_for_is_named() {
    let outcome = Checker::new().run(|| {
        let barrier = Arc::new(Barrier::new(2));
        barrier.wait();
    });
    assert_says(
        &outcome,
        "main waits for more threads at `barrier` (1 has arrived)",
    );
    let outcome = Checker::new().run(|| {
        let (mutex, ready) = (Mutex::new(false), Condvar::new());
        let mut guard = mutex.lock().unwrap();
        while !*guard {
            guard = ready.wait(guard).unwrap();
        }
    });
    assert_says(&outcome, "main waits for a notification of `ready`");
}

/// A thread sets a flag and unparks main, which waits for the flag in this way.
fn unparked(wait: fn(&AtomicBool)) -> impl Fn() + Clone + Send + Sync {
    two(
        || (AtomicBool::new(false), thread::current()),
        |(flag, main)| {
            flag.store(true, Release);
            main.unpark();
        },
        move |(flag, _)| wait(flag),
    )
}

#[test]
fn a_park_may_return_for_no_reason() {
    let bare = unparked(|flag| {
        thread::park();
        assert!(flag.load(Acquire), "too early");
    });
    assert!(error(&Checker::new().run(bare.clone())).contains("too early"));
    let outcome = Checker::new().spurious_wakeups(false).run(bare);
    assert!(outcome.is_verified(), "{outcome}");

    let in_a_loop = unparked(|flag| {
        while !flag.load(Acquire) {
            thread::park();
        }
    });
    // The flag is seen at once, after a park, or after a park that returned for no reason; and then
    // it is not seen, and a second park is left by the token.
    let outcome = Checker::new().run(in_a_loop.clone());
    assert!(outcome.is_verified(), "{outcome}");
    assert!((4..=8).contains(&outcome.executions()), "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("back to the same state"), "{text}");
    let outcome = Checker::new().spurious_wakeups(false).run(in_a_loop);
    assert_eq!(outcome.executions(), 2, "{outcome}");
}

#[test]
fn parks_that_take_turns_come_to_an_end() {
    let program = unparked(|flag| {
        while !flag.load(Acquire) {
            thread::park();
            if !flag.load(Acquire) {
                thread::park();
            }
        }
    });
    let outcome = Checker::new().run(program);
    assert!(outcome.is_verified(), "{outcome}");
    let lost = two(
        || (AtomicBool::new(false), thread::current()),
        |(flag, _)| flag.store(true, Release),
        |(flag, _)| {
            while !flag.load(Acquire) {
                thread::park();
            }
        },
    );
    assert!(error(&Checker::new().run(lost)).contains("deadlock: "));
}

#[test]
fn only_those_who_spin_are_said_to_spin() {
    let outcome = Checker::new().run(two(
        || AtomicBool::new(false),
        |flag| {
            while !flag.load(Acquire) {
                hint::spin_loop();
            }
        },
        |_| (),
    ));
    let text = error(&outcome);
    assert!(
        text.starts_with("error: livelock: T1 spins forever\n"),
        "{text}"
    );
    assert!(text.contains("T1 spins here\n"), "{text}");
    assert!(text.contains("main waits for the end of T1\n"), "{text}");
    assert!(text.contains("note: it reads the same values"), "{text}");
    assert!(text.lines().count() < 40, "{text}");
}
