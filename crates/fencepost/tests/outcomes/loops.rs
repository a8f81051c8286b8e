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

/// The same, for ever.
fn looks_until_it_is_set() {
    let flag = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| flag.store(1, Release));
        scope.spawn(|| {
            while flag.load(Acquire) == 0 {
                hint::spin_loop();
            }
        });
    });
}

#[test]
fn a_loop_that_gives_up_does_not_only_wait() {
    let exhaustive = [
        (1, 0),
        (3, 0),
        (10, 10),
        (30, 0),
        (60, 10),
        (100, 3),
        (900, 0),
    ];
    // Chance hardly ever comes to the end of many rounds.
    let sampled = [(1, 0), (3, 0)];
    let strategies = [
        (Strategy::Exhaustive, exhaustive.as_slice()),
        (Strategy::Random, &sampled),
        (Strategy::Pct, &sampled),
    ];
    for (strategy, sizes) in strategies {
        for &(rounds, looks) in sizes {
            let program = looks_around_at_most(rounds, looks, 1);
            let outcome = Checker::new().strategy(strategy).run(program.clone());
            assert!(matches!(outcome, Outcome::ProgramError(_)), "{outcome}");
            assert_says(&outcome, "gave up");
            let finding = &outcome.findings()[0];
            let again = Checker::new().replay(finding.schedule(), program);
            assert_says(&again, "gave up");
        }
    }
}

#[test]
fn who_waits_for_ever_is_right() {
    let outcome = Checker::new().run(looks_until_it_is_set);
    assert!(outcome.is_verified(), "{outcome}");
    assert!(outcome.executions() <= 3, "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("back to the same state"), "{text}");
    assert!(text.contains("tried for 1,000 rounds"), "{text}");
    // If there are not so many steps, it did not.
    let outcome = Checker::new().max_steps(50).run(looks_until_it_is_set);
    assert!(outcome.is_verified(), "{outcome}");
    assert!(!outcome.to_string().contains("1,000"), "{outcome}");
}

/// The same, and it counts its rounds where Fencepost does not see it without its allocator.
pub(super) fn looks_at_most_unseen(rounds: usize) -> impl Fn() + Clone + Send + Sync {
    move || {
        let flag = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                let count = hint::black_box(Box::new(std::cell::Cell::new(0)));
                while flag.load(Acquire) == 0 {
                    count.set(count.get() + 1);
                    assert!(count.get() < rounds, "gave up");
                    hint::spin_loop();
                }
            });
        });
    }
}

/// Memory that is not compared is a stated assumption, and a loop that depends on it is mostly found.
#[test]
fn a_loop_that_counts_in_memory_that_is_not_compared_is_tried() {
    let outcome = Checker::new().run(looks_at_most_unseen(100));
    assert_says(&outcome, "gave up");
    assert_says(&outcome, "they spin for up to 1,000 rounds");
    let outcome = Checker::new().run(looks_at_most_unseen(100_000));
    assert!(outcome.is_verified(), "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("other memory is compared only"), "{text}");
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

/// A loop that spawns threads is no wait: each round is another execution.
#[test]
fn a_loop_that_spawns_threads_does_not_only_wait() {
    let program = || {
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| flag.store(true, Release));
            scope.spawn(|| {
                while !flag.load(Acquire) {
                    thread::spawn(|| ());
                    hint::spin_loop();
                }
            });
        });
    };
    let outcome = Checker::new().max_executions(20).run(program);
    assert!(matches!(outcome, Outcome::Incomplete(_)), "{outcome}");
    assert!(!outcome.to_string().contains("same state"), "{outcome}");
}

/// A loop that gives up needs no preemption: others run while it spins.
#[test]
fn a_loop_that_gives_up_does_so_within_every_bound() {
    let checker = Checker::new().preemption_bound(0).strict_bound(true);
    let outcome = checker.run(looks_at_most(3));
    assert_says(&outcome, "gave up");
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
    let again = Checker::new().replay(outcome.findings()[0].schedule(), program);
    assert!(matches!(again, Outcome::NotStoreBufferSafe(_)), "{again}");
    // The fences are those that rule it out there, too.
    let with_fences = Checker::new().infer_fences(true).run(program);
    let fences = with_fences.inferred_fences().expect("they were asked for");
    for fences in [fences, &Checker::new().run_fence_inference(program)] {
        let FenceInference::Needed(set) = fences else {
            panic!("{fences}");
        };
        assert_eq!(set.fences().len(), 2, "{fences}");
        assert!(set.outcome().is_verified(), "{fences}");
        assert!(!fences.to_string().contains("only waits"), "{fences}");
    }
}

/// What is run when loops go round ends with the time, and is not counted.
#[test]
fn budgets_and_loops_that_are_let_go_round() {
    let program = looks_until_it_is_set;
    let outcome = Checker::new().max_executions(10).run(program);
    assert!(outcome.is_verified(), "{outcome}");
    assert!(outcome.executions() <= 10, "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("tried for"), "{text}");
    // All executions have been run when the time is over.
    let most = Duration::from_millis(200);
    let slowly = move || {
        std::thread::sleep(most / 4);
        program();
    };
    let outcome = Checker::new().max_time(most).run(slowly);
    let text = outcome.to_string();
    assert!(!text.contains("tried for"), "{text}");
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
fn a_loop_that_gives_up_late_is_found() {
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
    let outcome = Checker::new().run(program);
    assert!(error(&outcome).contains("not ready"));
}
