//! Waiting loops that count their rounds and give up.

use std::time::Duration;

use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicBool, AtomicUsize};
use fencepost::{Checker, FenceInference, Outcome, Strategy, hint, thread};

use super::{assert_says, error, two};

/// One thread sets a flag; another looks at it so many times at most, and then does not wait any more.
pub(super) fn looks_at_most(rounds: usize) -> impl Fn() + Clone + Send + Sync {
    looks_around_at_most(rounds, 0, 1)
}

/// The same, and each time it looks elsewhere before, and hints after, so often.
fn looks_around_at_most(
    rounds: usize,
    looks: usize,
    hints: usize,
) -> impl Fn() + Clone + Send + Sync {
    move || {
        let (flag, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                for _ in 0..rounds {
                    for _ in 0..looks {
                        other.load(Relaxed);
                    }
                    if flag.load(Acquire) == 1 {
                        return;
                    }
                    for _ in 0..hints {
                        hint::spin_loop();
                    }
                }
                panic!("gave up");
            });
        });
    }
}

#[test]
fn a_loop_that_gives_up_does_not_only_wait() {
    for strategy in [Strategy::Exhaustive, Strategy::Random, Strategy::Pct] {
        for (rounds, looks) in [
            (1, 0),
            (3, 0),
            (10, 10),
            (30, 0),
            (60, 10),
            (100, 3),
            (900, 0),
        ] {
            if looks > 0 && strategy != Strategy::Exhaustive {
                // Chance hardly ever comes to the end of such a round.
                continue;
            }
            let program = looks_around_at_most(rounds, looks, 1);
            let outcome = Checker::new().strategy(strategy).run(program.clone());
            assert!(matches!(outcome, Outcome::ProgramError(_)), "{outcome}");
            assert_says(&outcome, "gave up");
            let finding = &outcome.findings()[0];
            let with_rounds = Checker::new().spin_bound(1000);
            let again = with_rounds.replay(finding.schedule(), program);
            assert_says(&again, "gave up");
        }
    }
    // Who waits for ever is right.
    let outcome = Checker::new().run(looks_at_most(usize::MAX));
    assert!(outcome.is_verified(), "{outcome}");
    assert_eq!(outcome.executions(), 3);
    let text = outcome.to_string();
    assert!(text.contains("tried for 1,000 rounds"), "{text}");
    // If there are not so many steps, it did not.
    let outcome = Checker::new().max_steps(50).run(looks_at_most(usize::MAX));
    assert!(outcome.is_verified(), "{outcome}");
    assert!(!outcome.to_string().contains("1,000"), "{outcome}");
}

/// One that hints several times in a round, and one whose rounds are long.
#[test]
fn rounds_are_no_hints_and_may_be_long() {
    for (looks, hints, rounds) in [(3, 2, 100), (5, 8, 100), (90, 1, 3)] {
        let program = looks_around_at_most(rounds, looks, hints);
        let outcome = Checker::new().run(program);
        assert_says(&outcome, "gave up");
    }
}

/// A loop in which threads are made may reach the limit when it goes round, which is not wrong.
#[test]
fn rounds_that_make_threads_are_not_wrong() {
    let outcome = Checker::new().max_steps(400).run(|| {
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| flag.store(true, Release));
            scope.spawn(|| {
                while !flag.load(Acquire) {
                    for _ in 0..4 {
                        thread::spawn(|| ());
                    }
                    hint::spin_loop();
                }
            });
        });
    });
    assert!(outcome.is_verified(), "{outcome}");
}

/// Who asks for nothing beyond a bound gets nothing.
#[test]
fn loops_do_not_go_round_beyond_a_strict_bound() {
    let checker = Checker::new().preemption_bound(0).strict_bound(true);
    let outcome = checker.run(looks_at_most(3));
    assert!(matches!(outcome, Outcome::Incomplete(_)), "{outcome}");
}

/// Spinning for a while, and then parking, as many locks do.
#[test]
fn a_thread_that_parks_after_a_while_is_not_forgotten() {
    let outcome = Checker::new().run(|| {
        let ready = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..100 {
                    if ready.load(Acquire) {
                        return;
                    }
                    hint::spin_loop();
                }
                while !ready.load(Acquire) {
                    thread::park();
                }
            });
            // And nobody unparks it.
            scope.spawn(|| ready.store(true, Release));
        });
    });
    assert!(matches!(outcome, Outcome::ProgramError(_)), "{outcome}");
    assert_says(&outcome, "deadlock");
}

/// What is not store-buffer safe may come only after a loop has given up.
#[test]
fn a_violation_after_a_loop_that_gives_up_is_found() {
    let program = || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                x.store(1, Relaxed);
                y.load(Relaxed);
                flag.store(true, SeqCst);
            });
            scope.spawn(|| {
                for _ in 0..3 {
                    if flag.load(Acquire) {
                        return;
                    }
                    hint::spin_loop();
                }
                y.store(1, Relaxed);
                x.load(Relaxed);
            });
        });
    };
    let outcome = Checker::new().run(program);
    assert!(
        matches!(outcome, Outcome::NotStoreBufferSafe(_)),
        "{outcome}"
    );
    let text = outcome.to_string();
    assert!(text.contains("they spin for up to 1,000 rounds"), "{text}");
    assert!(text.contains(".spin_bound(1000).replay("), "{text}");
    let again = Checker::new().spin_bound(1000);
    let again = again.replay(outcome.findings()[0].schedule(), program);
    assert!(matches!(again, Outcome::NotStoreBufferSafe(_)), "{again}");
    // The fences are those that rule it out there, too.
    let with_fences = Checker::new().infer_fences(true).run(program);
    let fences = with_fences.inferred_fences().expect("they were asked for");
    for fences in [fences, &Checker::new().run_fence_inference(program)] {
        let FenceInference::Needed(set) = fences else {
            panic!("{fences}");
        };
        assert_eq!(set.fences().len(), 2, "{fences}");
        // The loop was seen to do more than wait, so that not all executions were run.
        assert!(matches!(set.outcome(), Outcome::Incomplete(_)), "{fences}");
        assert!(!fences.to_string().contains("only waits"), "{fences}");
    }
}

/// What is run when loops go round ends with the time, and is not counted.
#[test]
fn budgets_and_loops_that_are_let_go_round() {
    let program = looks_at_most(usize::MAX);
    let outcome = Checker::new().max_executions(10).run(program.clone());
    assert!(outcome.is_verified(), "{outcome}");
    assert!(outcome.executions() <= 10, "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("not proved"), "{text}");
    // All executions have been run when the time is over.
    let most = Duration::from_millis(200);
    let slowly = move || {
        std::thread::sleep(most / 4);
        program();
    };
    let outcome = Checker::new().max_time(most).run(slowly);
    let text = outcome.to_string();
    assert!(!text.contains("not proved"), "{text}");
}

/// A hint between two looks at a count hides none of what the count can be.
#[test]
fn a_hint_hides_no_count() {
    fn pause() {
        fencepost::hint::spin_loop();
    }
    let outcome = Checker::new().run(|| {
        let a = fencepost::sync::Arc::new(0);
        let (b, c) = (a.clone(), a.clone());
        let thread = thread::spawn(move || {
            drop(b);
            drop(c);
        });
        pause();
        if fencepost::sync::Arc::strong_count(&a) == 3 {
            pause();
            assert!(fencepost::sync::Arc::strong_count(&a) != 2, "one is gone");
        }
        thread.join().unwrap();
    });
    let text = error(&outcome);
    assert!(text.contains("one is gone"), "{text}");
}

#[test]
fn a_loop_that_gives_up_is_named_with_what_to_look_for() {
    let program = two(
        || AtomicBool::new(false),
        |flag| flag.store(true, Release),
        |flag| {
            for _ in 0..5000 {
                if flag.load(Acquire) {
                    return;
                }
                hint::spin_loop();
            }
            panic!("not ready");
        },
    );
    // So many rounds are not tried.
    let outcome = Checker::new().run(program.clone());
    assert!(outcome.is_verified(), "{outcome}");
    let text = outcome.to_string();
    let place = format!("the loop at {}:{}", file!(), line!() - 9);
    assert!(text.contains(&place), "{text}");
    assert!(text.contains("never gives up"), "{text}");
    assert!(text.contains("`spin_bound`"), "{text}");
    let outcome = Checker::new().spin_bound(6000).run(program);
    assert!(error(&outcome).contains("not ready"));
}
