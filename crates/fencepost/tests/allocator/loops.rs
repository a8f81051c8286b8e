//! Loops that depend on the heap or on other stacks, and loops that only use them.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::Ordering as Std;

use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use fencepost::sync::{Condvar, Mutex};
use fencepost::{Assumption, Checker, Limit, Outcome, Strategy, thread};

/// A thread sets a flag, for which another one waits. In each round the latter calls what `make`
/// has returned.
fn waiting<F: FnMut()>(
    make: impl Fn() -> F + Clone + Send + Sync,
) -> impl Fn() + Clone + Send + Sync {
    move || {
        let flag = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                let mut round = make();
                while flag.load(Acquire) == 0 {
                    round();
                }
            });
        });
    }
}

fn waits_with<F: FnMut() + 'static>(
    make: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> Outcome {
    Checker::new().run(waiting(make))
}

fn counts_in_box(rounds: usize) -> impl Fn() + Clone + Send + Sync {
    waiting(move || {
        let count = black_box(Box::new(Cell::new(0)));
        move || {
            count.set(count.get() + 1);
            assert!(count.get() < rounds, "gave up");
        }
    })
}

pub(super) fn gives_up_in_box(checker: Checker, rounds: usize) -> Outcome {
    checker.run(counts_in_box(rounds))
}

#[track_caller]
pub(super) fn assert_gave_up(outcome: &Outcome) {
    let text = outcome.to_string();
    assert!(text.contains("gave up"), "{text}");
    // The search itself has found it, not the sampled executions with long rounds.
    assert!(!text.contains("they spin for up to"), "{text}");
}

#[test]
fn a_counter_on_the_heap_is_seen() {
    for rounds in [2, 3, 10, 2000] {
        assert_gave_up(&gives_up_in_box(Checker::new(), rounds));
    }
}

#[test]
fn a_counter_on_the_heap_is_seen_by_every_search() {
    let checkers = [
        Checker::new().strategy(Strategy::Random),
        Checker::new().strategy(Strategy::Pct),
        Checker::new().preemption_bound(1),
        Checker::new().preemption_bound(1).strict_bound(true),
        Checker::new().workers(3),
        Checker::new().store_buffers(true),
    ];
    for checker in checkers {
        let outcome = gives_up_in_box(checker, 4);
        assert_gave_up(&outcome);
        let replayed = Checker::new().store_buffers(outcome.to_string().contains("store_buffers"));
        let schedule = outcome.findings()[0].schedule().to_owned();
        assert_gave_up(&replayed.replay(&schedule, counts_in_box(4)));
    }
}

#[test]
fn a_search_in_pieces_sees_what_one_search_sees() {
    let program = waiting(|| {
        let count = black_box(Box::new(Cell::new(0)));
        move || count.set((count.get() + 1) % 7)
    });
    let whole = Checker::new().name("whole").run(program.clone());
    assert!(whole.is_verified(), "{whole}");
    let folder = std::env::temp_dir().join(format!("fencepost-allocator-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut executions = 0;
    let last = loop {
        let checker = Checker::new().name("pieces").progress(false);
        let piece = checker
            .checkpoint(folder.join("pieces"))
            .max_executions(2)
            .run(program.clone());
        executions += 1;
        assert!(executions < 100, "{piece}");
        if piece.is_verified() {
            break piece;
        }
    };
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(executions > 1);
    assert_eq!(last.executions(), whole.executions());
    let assumptions = |outcome: &Outcome| outcome.details().assumptions();
    assert_eq!(assumptions(&last), assumptions(&whole));
}

#[test]
fn a_vector_that_grows_is_seen() {
    assert_gave_up(&waits_with(|| {
        let mut all = Box::new(Vec::new());
        move || {
            all.push(1_u8);
            assert!(all.len() < 20, "gave up");
        }
    }));
}

#[test]
fn a_list_of_leaked_blocks_is_seen() {
    assert_gave_up(&waits_with(|| {
        // Only the allocator knows how many there are.
        let first = black_box(Box::leak(Box::new([0_u8; 32]))).as_ptr().addr();
        move || {
            let block = black_box(Box::leak(Box::new([0_u8; 32]))).as_ptr().addr();
            assert!(block.wrapping_sub(first) < 20 * 32, "gave up");
        }
    }));
}

#[test]
fn a_counter_on_another_stack_is_seen() {
    let outcome = Checker::new().run(|| {
        let flag = AtomicUsize::new(0);
        let count = black_box(std::sync::atomic::AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                while flag.load(Acquire) == 0 {
                    assert!(count.fetch_add(1, Std::Relaxed) < 5, "gave up");
                }
            });
        });
    });
    assert_gave_up(&outcome);
}

#[test]
fn thread_locals_and_statics_of_fencepost_are_seen() {
    fencepost::thread_local! {
        static OWN: Cell<usize> = const { Cell::new(0) };
    }
    fencepost::lazy_static! {
        static ref COMMON: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    }
    assert_gave_up(&waits_with(|| {
        || {
            OWN.set(OWN.get() + 1);
            assert!(OWN.get() < 6, "gave up");
        }
    }));
    assert_gave_up(&waits_with(|| {
        || assert!(COMMON.fetch_add(1, Std::Relaxed) < 6, "gave up")
    }));
}

/// It comes back every four rounds, which is noticed after eight: one execution for each number of rounds.
#[test]
fn a_counter_that_comes_back_is_no_endless_count() {
    let outcome = waits_with(|| {
        let count = black_box(Box::new(Cell::new(0)));
        move || {
            count.set((count.get() + 1) % 4);
            assert!(count.get() != 4, "not ready");
        }
    });
    assert!(outcome.is_verified(), "{outcome}");
    assert_eq!(outcome.executions(), 8, "{outcome}");
}

/// What the closure of a thread has captured is part of its state.
#[test]
fn a_captured_counter_is_compared() {
    fn run<const N: usize>() -> Outcome {
        Checker::new().run(|| {
            let flag = AtomicUsize::new(0);
            let mut counts = [0; N];
            thread::scope(|scope| {
                scope.spawn(|| flag.store(1, Release));
                let flag = &flag;
                scope.spawn(move || {
                    while flag.load(Acquire) == 0 {
                        black_box(&mut counts)[N - 1] += 1;
                        assert!(counts[N - 1] < 2000, "gave up");
                    }
                });
            });
        })
    }
    for outcome in [run::<1>(), run::<40>(), run::<1000>()] {
        assert_gave_up(&outcome);
    }
}

/// What a wait on a condition variable depends on is seen too.
#[test]
fn a_condition_that_counts_on_the_heap_is_seen() {
    let outcome = Checker::new().continue_after_failure(true).run(|| {
        let (tries, condvar) = (Mutex::new(()), Condvar::new());
        let count = black_box(Box::new(Cell::new(0)));
        let wait = condvar.wait_while(tries.lock().unwrap(), |()| {
            count.set(count.get() + 1);
            count.get() < 4
        });
        drop(wait);
        assert!(count.get() < 4, "gave up");
    });
    assert!(outcome.to_string().contains("gave up"), "{outcome}");
    let outcome = Checker::new().continue_after_failure(true).run(|| {
        let count = black_box(Box::new(Cell::new(0)));
        loop {
            thread::park();
            count.set(count.get() + 1);
            assert!(count.get() < 4, "gave up");
        }
    });
    assert!(outcome.to_string().contains("gave up"), "{outcome}");
}

/// Each round leaves the heap as it was.
fn restoring_rounds() -> Vec<Box<dyn Fn() + Send + Sync>> {
    vec![
        Box::new(|| drop(black_box(Box::new(7)))),
        Box::new(|| drop(black_box(format!("{}", black_box(7))))),
        Box::new(|| {
            let mut all = Vec::new();
            all.extend(black_box(0..100));
            black_box(all);
        }),
        Box::new(|| {
            // Not in the order of a stack.
            let (a, b) = (black_box(Box::new(1)), black_box(Box::new(2)));
            drop(a);
            drop(b);
        }),
        Box::new(|| drop(black_box(vec![1_u8; 5000]))),
    ]
}

#[test]
fn rounds_that_free_what_they_allocate_are_waits() {
    for round in restoring_rounds() {
        let round: &'static _ = Box::leak(round);
        let outcome = waits_with(move || || round());
        assert!(outcome.is_verified(), "{outcome}");
        // The first rounds may find other blocks than the later ones.
        assert!(outcome.executions() <= 6, "{outcome}");
        let assumptions = outcome.details().assumptions();
        let is_about = |assumption: &Assumption| matches!(assumption, Assumption::NothingOutlivesExecutions(loops) if loops.len() == 1);
        assert!(assumptions.iter().any(is_about), "{assumptions:?}");
    }
}

/// Two threads wait for a third one, and two more do `work` in steps of their own. Whatever these do
/// to their memory, the others are found to wait as soon as without it.
fn with_work(work: fn(&mut Vec<u64>, u64)) -> Outcome {
    Checker::new().run(move || {
        let (flag, x, y) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        thread::scope(|scope| {
            for own in [&x, &y] {
                scope.spawn(move || {
                    let mut all = Vec::new();
                    for step in 0..3 {
                        work(&mut all, step);
                        own.store(1, Relaxed);
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    while flag.load(Acquire) == 0 {
                        drop(black_box(Box::new(7)));
                    }
                });
            }
            scope.spawn(|| flag.store(1, Release));
        });
    })
}

#[test]
fn others_may_change_their_memory_meanwhile() {
    let without = with_work(|_, _| ());
    let with = with_work(|all, step| {
        all.extend([step; 9]);
        black_box(Box::new(step));
    });
    assert!(without.is_verified() && with.is_verified(), "{with}");
    let counts = |outcome: &Outcome| (outcome.executions(), outcome.details().steps());
    assert_eq!(counts(&with), counts(&without));
}

/// Counts that several threads change, each up and down.
#[test]
fn counts_that_others_change_too_are_restored() {
    let run = |others_change: bool| {
        Checker::new().run(move || {
            let (flag, x) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let value = std::sync::Arc::new(7);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut all = Vec::new();
                    for _ in 0..3 {
                        if others_change {
                            all.push(value.clone());
                        }
                        x.store(1, Relaxed);
                    }
                });
                scope.spawn(|| {
                    while flag.load(Acquire) == 0 {
                        drop(black_box(value.clone()));
                    }
                });
                scope.spawn(|| flag.store(1, Release));
            });
        })
    };
    let (shared, alone) = (run(true), run(false));
    assert!(shared.is_verified(), "{shared}");
    assert_eq!(shared.executions(), alone.executions());
}

/// With store buffers, a variable on the heap is brought up to date by whoever reads it next.
#[test]
fn commits_are_no_changes() {
    fn meet(flags: &[AtomicUsize; 3]) {
        thread::scope(|scope| {
            for own in 0..2 {
                scope.spawn(move || {
                    flags[own].store(1, Relaxed);
                    flags[2].store(own + 1, Relaxed);
                    while flags[1 - own].load(Relaxed) + flags[2].load(Relaxed) < 2 {}
                });
            }
        });
    }
    let checker = Checker::new().store_buffers(true);
    let on_heap = checker.run(|| {
        let flags: Box<[AtomicUsize; 3]> = Box::default();
        meet(black_box(&*flags));
    });
    assert!(on_heap.is_verified(), "{on_heap}");
    // Not more than without the allocator, where it is 342 or less, as the program is optimised.
    assert!(on_heap.executions() <= 342, "{on_heap}");
}

/// More than is compared: the result says so, and what can be compared still is.
#[test]
fn large_blocks_are_not_compared() {
    let large = || vec![0_u8; 1 << 20];
    let outcome = waits_with(move || {
        let large = black_box(large());
        move || assert_eq!(black_box(large[7]), 0)
    });
    assert!(outcome.is_verified(), "{outcome}");
    let text = outcome.to_string();
    assert!(
        text.contains("not on blocks beyond the first 128 KiB"),
        "{text}"
    );
    assert_gave_up(&waits_with(move || {
        let (_large, count) = (black_box(large()), black_box(Box::new(Cell::new(0))));
        move || {
            count.set(count.get() + 1);
            assert!(count.get() < 6, "gave up");
        }
    }));
}

/// What outlives an execution is not compared: a loop that depends on it is found by what it does.
#[test]
fn statics_and_thread_locals_of_std_are_found_out() {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    thread_local! {
        static LOCAL: Cell<usize> = const { Cell::new(0) };
    }
    fn gives_up(counts: fn() -> usize, reset: fn()) -> Outcome {
        Checker::new().run(move || {
            reset();
            let (flag, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
            thread::scope(|scope| {
                scope.spawn(|| flag.store(1, Release));
                scope.spawn(|| {
                    while flag.load(Acquire) == 0 {
                        if counts() > 300 {
                            other.store(1, Relaxed);
                            break;
                        }
                    }
                });
            });
        })
    }
    let outcomes = [
        gives_up(
            || COUNT.fetch_add(1, Std::Relaxed),
            || COUNT.store(0, Std::Relaxed),
        ),
        gives_up(|| LOCAL.replace(LOCAL.get() + 1), || LOCAL.set(0)),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Outcome::Incomplete(_)), "{outcome}");
        let limits = outcome.details().limits();
        let is_named =
            |limit: &Limit| matches!(limit, Limit::UnseenMemory(loops) if loops.len() == 1);
        assert!(limits.iter().any(is_named), "{outcome}");
    }
}
