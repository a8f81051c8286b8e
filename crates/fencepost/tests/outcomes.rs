//! What each kind of program comes to, bad use included; after each of them the process can go on
//! checking.
#![allow(unsafe_code)] // To share what must not be shared.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize as RealAtomicUsize;
use std::time::Duration;

use fencepost::cell::UnsafeCell;
use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicBool, AtomicUsize, fence};
use fencepost::sync::{Arc, Barrier, Condvar, Mutex, RwLock};
use fencepost::{Checker, FenceInference, Outcome, Strategy, Target, hint, thread};

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

#[test]
fn a_failed_assertion_is_an_error_with_its_execution() {
    let program = two(
        || AtomicUsize::new(0),
        |count| count.store(count.load(SeqCst) + 1, SeqCst),
        |count| {
            count.store(count.load(SeqCst) + 1, SeqCst);
            assert_ne!(count.load(SeqCst), 0, "never");
        },
    );
    assert!(Checker::new().run(program).is_verified());
    let outcome = Checker::new().run(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&count);
        let add = |count: &AtomicUsize| count.store(count.load(SeqCst) + 1, SeqCst);
        let thread = thread::spawn(move || add(&other));
        add(&count);
        thread.join().unwrap();
        assert_eq!(count.load(SeqCst), 2, "an update was lost");
    });
    let text = error(&outcome);
    assert!(text.contains("an update was lost"), "{text}");
    assert!(text.contains("outcomes.rs"), "{text}");
    assert!(text.contains("fencepost::replay("), "{text}");
    checks_still_work();
}

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
    assert!(outcome.to_string().contains("only wait"), "{outcome}");
}

#[test]
fn an_endless_loop_without_a_hint_reaches_the_step_limit() {
    let outcome = Checker::new().max_steps(1000).run(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(Acquire) {}
    });
    let text = error(&outcome);
    assert!(text.contains("1,000"), "{text}");
    assert!(text.contains("spin_loop"), "{text}");
    checks_still_work();
}

#[test]
fn an_unprotected_cell_is_a_race() {
    let outcome = Checker::new().run(|| {
        struct Shared(UnsafeCell<u32>);
        // SAFETY: it is not; the check says so before anything bad happens.
        unsafe impl Sync for Shared {}
        let cell = std::sync::Arc::new(Shared(UnsafeCell::new(0)));
        let other = std::sync::Arc::clone(&cell);
        let thread = thread::spawn(move || other.0.with_mut(|_| ()));
        cell.0.with(|_| ());
        thread.join().unwrap();
    });
    assert_says(&outcome, "race");
}

#[test]
fn an_arc_that_is_never_dropped_is_a_leak() {
    let outcome = Checker::new().run(|| std::mem::forget(Arc::new(1)));
    assert_says(&outcome, "Arc");
}

/// Spawns threads with a body of this size, which may be too large for what is left of the stack.
fn spawns_large<const BYTES: usize>() -> Outcome {
    Checker::new()
        .stack_size(64 * 1024)
        .progress(false)
        .run(|| {
            let seen = AtomicUsize::new(0);
            thread::scope(|scope| {
                for _ in 0..3 {
                    let large = std::hint::black_box([1_u8; BYTES]);
                    let seen = &seen;
                    scope.spawn(move || {
                        let large = std::hint::black_box(large);
                        seen.fetch_add(usize::from(large[BYTES - 1]), Relaxed);
                    });
                }
            });
            assert_eq!(seen.load(Relaxed), 3);
        })
}

#[test]
fn a_spawn_at_the_end_of_a_stack_is_a_stack_overflow() {
    let outcomes = [
        spawns_large::<1_000>(),
        spawns_large::<6_000>(),
        spawns_large::<9_000>(),
        spawns_large::<11_000>(),
        spawns_large::<13_000>(),
        spawns_large::<15_000>(),
        spawns_large::<18_000>(),
        spawns_large::<22_000>(),
        spawns_large::<27_000>(),
        spawns_large::<32_000>(),
        spawns_large::<40_000>(),
        spawns_large::<50_000>(),
    ];
    assert!(
        matches!(outcomes[0], Outcome::Verified(_)),
        "{}",
        outcomes[0]
    );
    let last = outcomes.last().expect("some").to_string();
    assert!(last.contains("stack"), "{last}");
    for outcome in &outcomes {
        let is_right = match outcome {
            Outcome::Verified(_) => true,
            other => other.to_string().contains("stack"),
        };
        assert!(is_right, "{outcome}");
    }
    // And all is as it was.
    assert!(matches!(spawns_large::<1_000>(), Outcome::Verified(_)));
}

#[test]
fn a_body_that_does_not_fit_on_its_own_stack_is_a_stack_overflow() {
    let outcome = Checker::new().run(|| {
        let large = std::hint::black_box([1_u8; 100_000]);
        let builder = thread::Builder::new().stack_size(32 * 1024);
        let thread = builder.spawn(move || usize::from(std::hint::black_box(large)[99_999]));
        assert_eq!(thread.unwrap().join().unwrap(), 1);
    });
    assert_says(&outcome, "stack");
    let outcome = Checker::new().run(|| {
        let large = std::hint::black_box([1_u8; 20_000]);
        let builder = thread::Builder::new().stack_size(256 * 1024);
        let thread = builder.spawn(move || usize::from(std::hint::black_box(large)[19_999]));
        assert_eq!(thread.unwrap().join().unwrap(), 1);
    });
    assert!(matches!(outcome, Outcome::Verified(_)), "{outcome}");
}

#[test]
fn recursion_without_end_is_a_stack_overflow() {
    #[allow(unconditional_recursion)]
    fn descend(ballast: [u64; 64]) -> u64 {
        let deeper = std::hint::black_box(ballast);
        descend(deeper) + deeper[0]
    }
    let outcome = Checker::new().run(|| {
        descend([0; 64]);
    });
    assert_says(&outcome, "stack");
}

/// Only the first execution is not safe. What was seen there is no violation of the program, and no fence is said to help
/// or not to be needed.
#[test]
fn a_violation_that_does_not_happen_again_is_an_error() {
    for has_fences in [false, true] {
        let runs = std::sync::Arc::new(RealAtomicUsize::new(0));
        let outcome = Checker::new().infer_fences(has_fences).run(move || {
            let is_first = runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
            let ordering = if is_first { Relaxed } else { SeqCst };
            let both = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let other = Arc::clone(&both);
            let thread = thread::spawn(move || {
                other[0].store(1, ordering);
                other[1].load(ordering);
            });
            both[1].store(1, ordering);
            both[0].load(ordering);
            thread.join().unwrap();
        });
        assert!(matches!(outcome, Outcome::ProgramError(_)), "{outcome}");
        assert_eq!((outcome.errors(), outcome.violations()), (1, 0));
        assert_says(&outcome, "not deterministic");
        let text = outcome.to_string();
        assert!(!text.contains("verified"), "{text}");
        assert!(text.contains("1 distinct failure\n"), "{text}");
    }
}

/// What comes after a violation has not been run when the search ends there, nor is it when that is run again.
#[test]
fn nothing_is_run_after_a_violation_that_ends_the_search() {
    let after = std::sync::Arc::new(RealAtomicUsize::new(0));
    let count = std::sync::Arc::clone(&after);
    let program = move || {
        let both = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let threads = [0, 1].map(|one| {
            let (both, count) = (Arc::clone(&both), std::sync::Arc::clone(&count));
            thread::spawn(move || {
                both[one].store(1, Release);
                both[1 - one].load(Acquire);
                both[one].load(Acquire);
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    };
    let outcome = Checker::new().run(program.clone());
    assert!(matches!(outcome, Outcome::NotStoreBufferSafe(_)));
    // The other thread may have ended before.
    let ended = after.swap(0, std::sync::atomic::Ordering::Relaxed);
    assert!(ended <= 2, "{ended}");
    let outcome = Checker::new().continue_after_failure(true).run(program);
    assert!(matches!(outcome, Outcome::NotStoreBufferSafe(_)));
    let ended = after.load(std::sync::atomic::Ordering::Relaxed) as u64;
    assert!(ended > 2 * outcome.executions(), "{ended}");
}

/// One thread sets a flag; another looks at it so many times at most, and then does not wait any more.
fn looks_at_most(rounds: usize) -> impl Fn() + Clone + Send + Sync {
    looks_around_at_most(rounds, 0)
}

/// The same, and each time it looks elsewhere before, so often.
fn looks_around_at_most(rounds: usize, looks: usize) -> impl Fn() + Clone + Send + Sync {
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
                    fencepost::hint::spin_loop();
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
            let program = looks_around_at_most(rounds, looks);
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
        let outcome = Checker::new().run(move || {
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
        });
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

#[test]
fn a_program_that_is_not_deterministic_is_named() {
    static RUNS: RealAtomicUsize = RealAtomicUsize::new(0);
    let outcome = Checker::new().run(|| {
        let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (a, b) = (
            Arc::new(AtomicUsize::new(0).named("a")),
            AtomicUsize::new(0).named("b"),
        );
        let other = Arc::clone(&a);
        let thread = thread::spawn(move || other.store(1, SeqCst));
        if run % 2 == 0 {
            a.store(2, SeqCst);
        } else {
            b.store(2, SeqCst);
        }
        thread.join().unwrap();
    });
    assert_says(&outcome, "deterministic");
}

/// Here the thread does the same number of steps on the same variable, and yet others.
#[test]
fn a_program_that_reads_where_it_wrote_is_not_deterministic() {
    static RUNS: RealAtomicUsize = RealAtomicUsize::new(0);
    let outcome = Checker::new().run(|| {
        let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let thread = thread::spawn(move || {
            if run % 2 == 0 {
                y.store(1, SeqCst);
            } else {
                y.load(SeqCst);
                y.load(SeqCst);
            }
        });
        x.store(2, SeqCst);
        x.load(SeqCst);
        thread.join().unwrap();
    });
    assert_says(&outcome, "deterministic");
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
fn a_check_inside_a_check_is_refused() {
    let outcome = Checker::new().run(|| fencepost::check(|| ()));
    assert_says(&outcome, "inside of a check");
}

#[test]
fn what_is_kept_from_outside_is_refused() {
    let outside = std::sync::Arc::new(AtomicUsize::new(0));
    let outcome = Checker::new().run(move || {
        outside.load(SeqCst);
    });
    let text = error(&outcome);
    assert!(text.contains("outside"), "{text}");

    let kept: std::sync::Mutex<Option<std::sync::Arc<AtomicUsize>>> = std::sync::Mutex::new(None);
    let outcome = Checker::new().run(move || {
        let mut kept = kept.lock().unwrap();
        let value = kept.get_or_insert_with(|| std::sync::Arc::new(AtomicUsize::new(0)));
        let own = std::sync::Arc::new(AtomicUsize::new(0));
        let other = std::sync::Arc::clone(&own);
        let thread = thread::spawn(move || other.store(1, SeqCst));
        own.store(2, SeqCst);
        value.load(SeqCst);
        drop(kept);
        thread.join().unwrap();
    });
    let text = error(&outcome);
    assert!(
        text.contains("not deterministic") || text.contains("earlier execution"),
        "{text}"
    );
    checks_still_work();
}

#[test]
fn a_real_thread_cannot_use_what_belongs_to_a_check() {
    let outcome = Checker::new().run(|| {
        let value = std::sync::Arc::new(AtomicUsize::new(0));
        let other = std::sync::Arc::clone(&value);
        let _ = std::thread::spawn(move || other.store(1, SeqCst)).join();
        value.load(SeqCst);
    });
    assert_says(&outcome, "fencepost::thread");
}

#[test]
fn a_panic_while_a_lock_is_held_is_that_panic() {
    let outcome = Checker::new().run(two(
        || Mutex::new(0),
        |mutex| {
            let _guard = mutex.lock().unwrap();
            panic!("while it holds the lock");
        },
        |mutex| drop(mutex.lock()),
    ));
    assert_says(&outcome, "while it holds the lock");
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

#[test]
fn store_buffering_is_not_safe_and_fences_make_it_so() {
    let outcome = Checker::new().run(store_buffering());
    assert!(
        matches!(outcome, Outcome::NotStoreBufferSafe(_)),
        "{outcome}"
    );
    let text = outcome.to_string();
    for part in [
        "not store-buffer safe",
        "`x`",
        "`y`",
        "fence(Ordering::SeqCst)",
        "replay",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let fenced = Checker::new().run(two(
        || (AtomicUsize::new(0), AtomicUsize::new(0)),
        |(x, y)| {
            x.store(1, Relaxed);
            fence(SeqCst);
            y.load(Relaxed);
        },
        |(x, y)| {
            y.store(1, Relaxed);
            fence(SeqCst);
            x.load(Relaxed);
        },
    ));
    assert!(fenced.is_verified(), "{fenced}");
}

#[test]
fn message_passing_needs_release_under_pso_only() {
    let program = |order| {
        two(
            || (AtomicUsize::new(0), AtomicBool::new(false)),
            move |(data, ready)| {
                data.store(1, Relaxed);
                ready.store(true, order);
            },
            |(data, ready)| {
                if ready.load(Acquire) {
                    assert_eq!(data.load(Relaxed), 1);
                }
            },
        )
    };
    let pso = Checker::new().target(Target::Pso);
    assert!(Checker::new().run(program(Relaxed)).is_verified());
    assert!(matches!(
        pso.run(program(Relaxed)),
        Outcome::NotStoreBufferSafe(_)
    ));
    assert!(pso.run(program(Release)).is_verified());
}

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

#[test]
fn replay_runs_one_execution_and_refuses_what_does_not_fit() {
    let outcome = Checker::new().run(store_buffering());
    let schedule = outcome.findings()[0].schedule().to_owned();
    let again = Checker::new().replay(&schedule, store_buffering());
    assert!(matches!(again, Outcome::NotStoreBufferSafe(_)), "{again}");
    assert_eq!(again.executions(), 1);
    let panic = catch_unwind(|| fencepost::replay("1x5", store_buffering())).unwrap_err();
    let message = message_of(panic);
    assert!(message.contains("does not fit"), "{message}");
    let panic = catch_unwind(|| fencepost::replay("one, two", store_buffering())).unwrap_err();
    let message = message_of(panic);
    assert!(message.contains("schedule"), "{message}");
    checks_still_work();
}

#[test]
fn a_schedule_with_many_rounds_of_loops_is_short() {
    let program = two(
        || [AtomicBool::new(false), AtomicBool::new(false)],
        |flags| {
            while !flags[0].load(Acquire) {
                hint::spin_loop();
            }
        },
        |flags| {
            while !flags[1].load(Acquire) {
                hint::spin_loop();
            }
        },
    );
    let outcome = Checker::new().run(program.clone());
    assert!(error(&outcome).contains("livelock"), "{outcome}");
    let schedule = outcome.findings()[0].schedule().to_owned();
    assert!(schedule.contains("]x") && schedule.len() < 40, "{schedule}");
    let again = Checker::new().replay(&schedule, program);
    assert!(error(&again).contains("livelock"), "{again}");
}

#[test]
fn a_schedule_of_loops_that_go_round_says_how_to_replay_it() {
    let gives_up = looks_at_most(3);
    let outcome = Checker::new().run(gives_up.clone());
    let text = error(&outcome);
    assert!(
        text.contains("gave up") && text.contains(".spin_bound(1000)."),
        "{text}"
    );
    let schedule = outcome.findings()[0].schedule().to_owned();
    let again = Checker::new()
        .spin_bound(1000)
        .replay(&schedule, gives_up.clone());
    assert!(error(&again).contains("gave up"), "{again}");
    let again = Checker::new().replay(&schedule, gives_up);
    let text = error(&again);
    assert!(text.contains("does not fit"), "{text}");
    assert!(text.contains("with `spin_bound`"), "{text}");
    assert!(text.contains("FENCEPOST_SPIN_BOUND"), "{text}");

    // There are no loops here.
    let misfit = Checker::new().replay("1x5", store_buffering());
    assert!(!error(&misfit).contains("SPIN_BOUND"), "{misfit}");
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

/// Its last step: there is no telling where it was.
#[test]
fn a_stack_overflow_has_the_last_step_of_its_thread() {
    #[allow(unconditional_recursion)] // It is meant to.
    fn deep(depth: u64) -> u64 {
        let array = std::hint::black_box([depth; 64]);
        deep(depth + 1) + std::hint::black_box(array)[3]
    }
    let outcome = Checker::new().run(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let thread = thread::spawn({
            let value = Arc::clone(&value);
            move || {
                value.fetch_add(1, Relaxed);
                deep(0)
            }
        });
        let _ = thread.join();
    });
    assert_says(&outcome, "T1's last checked operation");
    let text = outcome.to_string();
    assert!(text.contains("value.fetch_add(1, Relaxed);\n"), "{text}");
}

/// Whoever takes a lock has no ordering to change.
#[test]
fn a_hint_gives_no_ordering_to_a_lock() {
    let text = |outcome: &Outcome| {
        assert!(
            matches!(outcome, Outcome::NotStoreBufferSafe(_)),
            "{outcome}"
        );
        outcome.to_string()
    };
    let checker = Checker::new().target(Target::Pso);
    let state = || (AtomicUsize::new(0), Mutex::new(()), AtomicBool::new(false));
    let locked = two(
        state,
        |(data, lock, _)| {
            data.store(1, Relaxed);
            std::mem::forget(lock.try_lock());
        },
        |(data, lock, _)| {
            if lock.try_lock().is_err() {
                data.load(Relaxed);
            }
        },
    );
    let locked = text(&checker.run(locked));
    assert!(!locked.contains("so does"), "{locked}");
    let stored = two(
        state,
        |(data, _, is_ready)| {
            data.store(1, Relaxed);
            is_ready.store(true, Relaxed);
        },
        |(data, _, is_ready)| {
            if is_ready.load(Relaxed) {
                data.load(Relaxed);
            }
        },
    );
    let stored = text(&checker.run(stored));
    assert!(stored.contains("or use `Ordering::Release`"), "{stored}");
}

/// What is done at the end of a lock is not shown as what was called at its beginning.
#[test]
fn releases_are_called_unlock() {
    let outcome = Checker::new().target(Target::Pso).run(two(
        || {
            let lock = RwLock::new(0);
            let second = RwLock::new(());
            (lock, second, AtomicUsize::new(0).named("count"))
        },
        |(lock, second, count)| {
            drop(lock.read());
            drop(second.write());
            count.fetch_add(1, Relaxed);
        },
        |(lock, _, count)| {
            // The other may read and release meanwhile.
            let guard = lock.read();
            assert_eq!(count.load(Relaxed), 0);
            drop(guard);
        },
    ));
    let text = error(&outcome);
    let times = |what: &str| text.matches(what).count();
    assert_eq!(
        (times(" read lock"), times(" unlock lock")),
        (2, 1),
        "{text}"
    );
    assert_eq!(
        (times(" write second"), times(" unlock second")),
        (1, 1),
        "{text}"
    );
    assert_eq!(times("store barrier (in unlock)"), 2, "{text}");
}

/// Each thread's part of a count is called after the thread.
#[test]
fn references_are_called_after_their_threads() {
    let outcome = Checker::new().run(|| {
        let p = Arc::new(0);
        let other = Arc::clone(&p);
        let thread = thread::spawn(move || drop(other));
        let count = Arc::strong_count(&p);
        thread.join().unwrap();
        assert_eq!(count, 2);
    });
    let text = error(&outcome);
    let own = "strong_count T1's reference to p";
    assert!(text.contains(own), "{text}");
    assert!(
        text.contains("strong_count later references to p"),
        "{text}"
    );
    assert!(!text.contains('#'), "{text}");
}

/// The line of the hint, if there is one: `fence … after a:1 and before a:2`.
fn hint(outcome: &Outcome) -> String {
    let text = outcome.to_string();
    let help = text.lines().find(|line| line.starts_with("help:"));
    help.unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_hint_names_only_the_side_without_a_fence() {
    for target in [Target::X86, Target::Pso] {
        let one_fence = two(
            || [AtomicBool::new(false), AtomicBool::new(false)],
            |wants| {
                wants[0].store(true, Relaxed);
                fence(SeqCst);
                wants[1].load(Relaxed);
            },
            |wants| {
                wants[1].store(true, Relaxed);
                wants[0].load(Relaxed);
            },
        );
        let outcome = Checker::new().target(target).run(one_fence);
        let help = hint(&outcome);
        assert!(help.ends_with("(main) to rule out this cycle"), "{outcome}");
        let cycle = outcome.to_string();
        assert_eq!(cycle.matches("not kept by").count(), 1, "{cycle}");

        // An update of another variable is a fence on x86, and none under PSO.
        let one_update = two(
            || {
                (
                    [AtomicBool::new(false), AtomicBool::new(false)],
                    AtomicUsize::new(0),
                )
            },
            |(wants, turn)| {
                wants[0].store(true, Relaxed);
                turn.fetch_add(1, Relaxed);
                wants[1].load(Relaxed);
            },
            |(wants, _)| {
                wants[1].store(true, Relaxed);
                wants[0].load(Relaxed);
            },
        );
        let outcome = Checker::new().target(target).run(one_update);
        let places = outcome.to_string().matches("not kept by").count();
        let expected = if target == Target::X86 { 1 } else { 2 };
        assert_eq!(places, expected, "{outcome}");
    }
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

#[test]
fn a_park_may_return_for_no_reason() {
    let bare = two(
        || (AtomicBool::new(false), thread::current()),
        |(flag, main)| {
            flag.store(true, Release);
            main.unpark();
        },
        |(flag, _)| {
            thread::park();
            assert!(flag.load(Acquire), "too early");
        },
    );
    assert!(error(&Checker::new().run(bare.clone())).contains("too early"));
    let outcome = Checker::new().spurious_wakeups(false).run(bare);
    assert!(outcome.is_verified(), "{outcome}");

    let in_a_loop = two(
        || (AtomicBool::new(false), thread::current()),
        |(flag, main)| {
            flag.store(true, Release);
            main.unpark();
        },
        |(flag, _)| {
            while !flag.load(Acquire) {
                thread::park();
            }
        },
    );
    // The flag is seen at once, after a park, or after a park that returned for no reason; and then
    // it is not seen, and a second park is left by the token.
    let outcome = Checker::new().run(in_a_loop.clone());
    assert!(outcome.is_verified(), "{outcome}");
    assert_eq!(outcome.executions(), 4, "{outcome}");
    assert!(outcome.to_string().contains("the wait at"), "{outcome}");
    let outcome = Checker::new().spurious_wakeups(false).run(in_a_loop);
    assert_eq!(outcome.executions(), 2, "{outcome}");
}

#[test]
fn parks_that_take_turns_come_to_an_end() {
    let program = two(
        || (AtomicBool::new(false), thread::current()),
        |(flag, main)| {
            flag.store(true, Release);
            main.unpark();
        },
        |(flag, _)| {
            while !flag.load(Acquire) {
                thread::park();
                if !flag.load(Acquire) {
                    thread::park();
                }
            }
        },
    );
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

#[test]
fn cells_and_leaks_are_called_by_their_names() {
    struct Shared {
        value: UnsafeCell<u32>,
        other: UnsafeCell<u32>,
    }
    // SAFETY: that is what is tested; threads of a check never run at the same time.
    unsafe impl Sync for Shared {}
    let make = || Shared {
        value: UnsafeCell::new(0),
        other: UnsafeCell::new(0).named("the other"),
    };
    let derived = Checker::new().run(two(
        make,
        |shared| shared.value.with_mut(|_| ()),
        |shared| shared.value.with(|_| ()),
    ));
    assert!(
        error(&derived).contains("data race on `value`: "),
        "{derived}"
    );
    let given = Checker::new().run(two(
        make,
        |shared| shared.other.with_mut(|_| ()),
        |shared| shared.other.with(|_| ()),
    ));
    assert!(
        error(&given).contains("data race on `the other`: "),
        "{given}"
    );

    let leaking = || {
        let kept = Arc::new(1);
        std::mem::forget(kept);
        std::mem::forget(Arc::new(2).named("named"));
    };
    let outcome = Checker::new().run(leaking);
    let text = error(&outcome);
    assert!(
        text.starts_with("error: leak: the `Arc` `kept` was not dropped"),
        "{text}"
    );
    assert!(text.contains("`leak_check(false)`"), "{text}");
    let outcome = Checker::new().leak_check(false).run(leaking);
    assert!(outcome.is_verified(), "{outcome}");
    assert!(
        outcome.to_string().contains("`leak_check(false)`"),
        "{outcome}"
    );
    let outcome = Checker::new().run(|| std::mem::forget(Arc::new(2).named("named")));
    assert!(
        error(&outcome).contains("leak: the `Arc` `named` was"),
        "{outcome}"
    );
}

#[test]
fn what_does_not_come_again_is_not_to_be_replayed() {
    let program = || AtomicBool::new(false).store(true, Relaxed);
    let text = Checker::new().replay("5.5", program).to_string();
    assert!(
        text.contains("at step 1 there is no thread with number 5 ("),
        "{text}"
    );
    assert!(!text.contains("replay(\""), "{text}");
    let text = Checker::new().replay("0x9", program).to_string();
    assert!(text.contains("at step 2 main cannot continue;"), "{text}");
    assert!(!text.contains("replay("), "{text}");
}

#[test]
fn tables_say_what_people_wrote() {
    let outcome = Checker::new().run(|| {
        let left = Arc::new(AtomicUsize::new(7));
        let right = Arc::new(AtomicUsize::new(8));
        let gate = Mutex::new(());
        let (other_left, other_right) = (Arc::clone(&left), Arc::clone(&right));
        let thread = thread::spawn(move || {
            other_left.store(1, Release);
            other_right.load(Acquire);
        });
        drop(gate.lock().unwrap());
        right.store(1, Release);
        left.load(Acquire);
        thread.join().unwrap();
    });
    assert!(
        matches!(outcome, Outcome::NotStoreBufferSafe(_)),
        "{outcome}"
    );
    let text = outcome.to_string();
    for part in [
        "fence (in Arc::clone)",
        "spawn T1",
        " begin",
        "lock gate",
        "unlock gate",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in [
        "start of",
        "old value",
        "gate =",
        "gate=",
        "right#2",
        "left#2",
    ] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    // What the one that overtakes reads: the first value.
    assert!(
        text.contains("load right = 8") || text.contains("load left = 7"),
        "{text}"
    );

    let parked = || {
        thread::current().unpark();
        thread::park();
        thread::park();
    };
    let text = Checker::new().run(parked).to_string();
    assert!(text.contains("unpark main"), "{text}");
    assert!(text.contains("main waits for an `unpark`"), "{text}");
    let outcome = Checker::new().continue_after_failure(true).run(|| {
        thread::park();
        panic!("too early");
    });
    let text = outcome.to_string();
    let park = "thread::park returns spuriously";
    assert!(text.contains(park), "{text}");
}

fencepost::lazy_static! {
    static ref SOURCE: AtomicUsize = AtomicUsize::new(0);
    static ref COPY: usize = SOURCE.load(SeqCst);
}

/// A schedule that has steps of what turned out to be visible can be replayed.
#[test]
fn an_initialiser_that_reads_is_found_and_replayed() {
    let program = || {
        let thread = thread::spawn(|| SOURCE.store(1, SeqCst));
        assert_eq!(*COPY, 0);
        thread.join().unwrap();
    };
    let outcome = Checker::new().run(program);
    assert!(error(&outcome).contains("left == right"), "{outcome}");
    let schedule = outcome.findings()[0].schedule().to_string();
    let again = Checker::new().replay(&schedule, program);
    assert!(error(&again).contains("left == right"), "{again}");
    checks_still_work();
}

#[test]
fn a_reader_that_reads_again_is_found_and_replayed() {
    let program = || {
        let lock = Arc::new(fencepost::sync::RwLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.write().unwrap() = 1);
        let guards = (lock.read(), lock.read());
        drop(guards);
        thread.join().unwrap();
    };
    let outcome = Checker::new().run(program);
    let text = error(&outcome);
    assert!(text.contains("writers that wait for lock"), "{text}");
    let schedule = outcome.findings()[0].schedule().to_string();
    error(&Checker::new().replay(&schedule, program));
    checks_still_work();
}

/// A thread that the check does not know may hide what it did wrong behind the panic of who joins it.
#[test]
fn a_use_by_an_unknown_thread_is_what_is_reported() {
    let outcome = Checker::new().run(|| {
        let value = std::sync::Arc::new(AtomicUsize::new(0));
        let other = std::sync::Arc::clone(&value);
        std::thread::spawn(move || other.store(1, Relaxed))
            .join()
            .unwrap();
        value.load(Relaxed);
    });
    assert_says(&outcome, "is used by a thread that the check does not know");
    let outcome = Checker::new().run(|| {
        let value = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| value.load(Relaxed));
        });
    });
    assert_says(&outcome, "is used by a thread that the check does not know");
    let outcome = Checker::new().run(|| {
        let value = Arc::new(1);
        let other = Arc::clone(&value);
        std::thread::spawn(move || drop(other)).join().unwrap();
    });
    assert_says(
        &outcome,
        "is dropped by a thread that the check does not know",
    );
}

/// What one execution leaves in a static of `std` for the next.
#[test]
fn what_is_kept_from_an_earlier_execution_is_refused() {
    use std::sync::Mutex as RealMutex;

    fn two_orders() {
        let value = std::sync::Arc::new(AtomicUsize::new(0));
        let other = std::sync::Arc::clone(&value);
        let thread = thread::spawn(move || other.fetch_add(1, Relaxed));
        value.fetch_add(1, Relaxed);
        thread.join().unwrap();
    }
    let refused = "in an earlier execution, is used in this one";

    static HANDLE: RealMutex<Option<thread::JoinHandle<()>>> = RealMutex::new(None);
    let outcome = Checker::new().run(|| {
        two_orders();
        let kept = HANDLE.lock().unwrap().replace(thread::spawn(|| ()));
        if let Some(kept) = kept {
            kept.join().unwrap();
        }
    });
    assert_says(&outcome, refused);

    // Every second execution: it does not happen again when it is run again, and is what is wrong all the same.
    static TURNS: RealMutex<Option<std::sync::Arc<AtomicUsize>>> = RealMutex::new(None);
    let outcome = Checker::new().run(|| {
        two_orders();
        let kept = TURNS.lock().unwrap().take();
        match kept {
            Some(kept) => drop(kept.load(Relaxed)),
            None => *TURNS.lock().unwrap() = Some(std::sync::Arc::new(AtomicUsize::new(0))),
        }
    });
    assert_says(&outcome, refused);
    assert!(!error(&outcome).contains("not deterministic"), "{outcome}");

    struct Kept<T>(T);
    // SAFETY: threads of a check run on one thread of the system.
    unsafe impl<T> Send for Kept<T> {}
    static GUARD: RealMutex<Option<Kept<fencepost::sync::MutexGuard<'_, u32>>>> =
        RealMutex::new(None);
    let outcome = Checker::new().run(|| {
        two_orders();
        let lock: &'static Mutex<u32> = Box::leak(Box::new(Mutex::new(0)));
        let kept = GUARD.lock().unwrap().replace(Kept(lock.lock().unwrap()));
        drop(kept);
    });
    assert_says(&outcome, refused);

    static ARC: std::sync::OnceLock<Arc<u32>> = std::sync::OnceLock::new();
    let outcome = Checker::new().run(|| {
        let value = Arc::clone(ARC.get_or_init(|| Arc::new(0)));
        thread::spawn(move || drop(value)).join().unwrap();
    });
    assert_says(&outcome, refused);
}
