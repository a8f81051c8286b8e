//! Loops that depend on memory other than their own stack: what is not compared is found out, and the result names the
//! loop.

use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::Ordering as Std;

use fencepost::hint::black_box;
use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use fencepost::{Checker, Limit, Outcome, Strategy, thread};

/// The line of the loop below.
const LOOP: u32 = 27;

/// A thread sets a flag. Another one waits for it, but after so many rounds, which it counts by what
/// `make` returns, it does something else.
fn gives_up<F: FnMut() -> usize>(
    rounds: usize,
    make: impl Fn() -> F + Clone + Send + Sync,
) -> impl Fn() + Clone + Send + Sync {
    move || {
        let (flag, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                let mut count = make();
                while flag.load(Acquire) == 0 {
                    if count() == rounds {
                        other.store(1, Relaxed);
                        break;
                    }
                }
            });
        });
    }
}

fn in_box() -> impl FnMut() -> usize {
    let count = black_box(Box::new(Cell::new(0)));
    move || {
        count.set(count.get() + 1);
        count.get()
    }
}

#[track_caller]
fn assert_unseen(outcome: &Outcome) {
    assert!(matches!(outcome, Outcome::Incomplete(_)), "{outcome}");
    let limits = outcome.details().limits();
    let loops = limits.iter().find_map(|limit| match limit {
        Limit::UnseenMemory(loops) => Some(loops),
        _ => None,
    });
    let loops = loops.unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(loops.len(), 1, "{outcome}");
    assert!(loops[0].file.ends_with("unseen_memory.rs"), "{outcome}");
    let text = outcome.to_string();
    let sentence = "memory that Fencepost does not see: the loop at";
    assert!(text.contains(sentence), "{text}");
}

#[test]
fn a_counter_in_a_box_is_found_out() {
    for rounds in [3, 100, 700] {
        let outcome = Checker::new().run(gives_up(rounds, in_box));
        assert_unseen(&outcome);
        let limits = outcome.details().limits();
        assert!(
            limits.iter().any(|limit| matches!(
                limit,
                Limit::UnseenMemory(loops) if loops[0].line == LOOP
            )),
            "{outcome}"
        );
        // Each number of rounds is another execution.
        assert!(outcome.executions() > rounds as u64, "{outcome}");
    }
}

#[test]
fn every_search_finds_it_out() {
    let checkers = [
        Checker::new().workers(3),
        Checker::new().store_buffers(true),
        Checker::new().preemption_bound(1),
        Checker::new().strategy(Strategy::Random).executions(100),
        Checker::new().strategy(Strategy::Pct).executions(100),
    ];
    for checker in checkers {
        let outcome = checker.run(gives_up(5, in_box));
        assert_unseen(&outcome);
    }
}

struct Shared(UnsafeCell<usize>);

// SAFETY: the threads of a check take turns on one OS thread, and only one test uses it.
#[allow(unsafe_code)]
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared(UnsafeCell::new(0));

#[allow(unsafe_code)]
fn count_in_static() -> usize {
    // SAFETY: as above.
    let count = unsafe { &mut *SHARED.0.get() };
    *count += 1;
    *count
}

#[test]
fn a_counter_in_a_static_is_found_out() {
    let outcome = Checker::new().run(gives_up(50, || {
        #[allow(unsafe_code)]
        // SAFETY: as above.
        unsafe {
            *SHARED.0.get() = 0;
        }
        count_in_static
    }));
    assert_unseen(&outcome);
}

#[test]
fn a_counter_in_a_thread_local_of_std_is_found_out() {
    std::thread_local! {
        static COUNT: Cell<usize> = const { Cell::new(0) };
    }
    let outcome = Checker::new().run(gives_up(50, || {
        COUNT.set(0);
        || {
            COUNT.set(COUNT.get() + 1);
            COUNT.get()
        }
    }));
    assert_unseen(&outcome);
}

/// It is on the stack of the thread, in a frame further up.
#[test]
fn a_cell_behind_a_reference_to_another_frame_is_compared() {
    let outcome = Checker::new().run(|| {
        let flag = AtomicUsize::new(0);
        #[inline(never)]
        fn wait(flag: &AtomicUsize, count: &Cell<usize>) {
            while flag.load(Acquire) == 0 {
                count.set(count.get() + 1);
                assert!(count.get() < 2000, "gave up");
            }
        }
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                let count = black_box(Cell::new(0));
                wait(&flag, &count);
            });
        });
    });
    let text = outcome.to_string();
    assert!(text.contains("gave up"), "{text}");
    assert!(!text.contains("they spin for up to"), "{text}");
}

/// A counter on the stack of the main thread: an atomic variable of `std`, as Fencepost does not see it, or one
/// that a closure captures by reference. The sampled executions with up to 1,000 rounds do not find it.
#[test]
fn a_counter_on_another_stack_is_compared() {
    let outcome = Checker::new().run(|| {
        let flag = AtomicUsize::new(0);
        let count = black_box(std::sync::atomic::AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                while flag.load(Acquire) == 0 {
                    assert!(count.fetch_add(1, Std::Relaxed) < 2000, "gave up");
                }
            });
        });
    });
    assert!(outcome.to_string().contains("gave up"), "{outcome}");
    let outcome = Checker::new().run(|| {
        let flag = AtomicUsize::new(0);
        let mut tries = 0;
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                while flag.load(Acquire) == 0 {
                    *black_box(&mut tries) += 1;
                    assert!(tries < 2000, "gave up");
                }
            });
        });
    });
    assert!(outcome.to_string().contains("gave up"), "{outcome}");
}

/// What a round writes into a checked cell is a change, wherever the cell is.
#[test]
fn a_counter_in_a_checked_cell_is_a_change() {
    #[allow(unsafe_code)]
    fn counted(cell: &fencepost::cell::UnsafeCell<usize>) -> usize {
        // SAFETY: only one thread uses it.
        cell.with_mut(|count| unsafe {
            *count += 1;
            *count
        })
    }
    struct OwnedByOne(Box<fencepost::cell::UnsafeCell<usize>>);
    #[allow(unsafe_code)]
    // SAFETY: only one thread uses it.
    unsafe impl Sync for OwnedByOne {}
    let outcome = Checker::new().run(|| {
        let flag = AtomicUsize::new(0);
        let count = OwnedByOne(Box::default());
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                let count = &count;
                while flag.load(Acquire) == 0 {
                    assert!(counted(&count.0) < 2000, "gave up");
                }
            });
        });
    });
    assert!(outcome.to_string().contains("gave up"), "{outcome}");
}

/// What comes after the loop is searched: only there is a failure.
#[test]
fn a_failure_behind_such_a_loop_is_found_and_replayed() {
    let program = || {
        let (flag, x) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                x.store(1, Relaxed);
                x.store(2, Relaxed);
                flag.store(1, Release);
            });
            scope.spawn(|| {
                let mut count = in_box();
                while flag.load(Acquire) == 0 {
                    if count() == 200 {
                        assert!(x.load(Relaxed) != 1, "in between");
                        break;
                    }
                }
            });
        });
    };
    let outcome = Checker::new().run(program);
    let text = outcome.to_string();
    assert!(text.contains("in between"), "{text}");
    let schedule = outcome.findings()[0].schedule();
    let again = Checker::new().replay(schedule, program);
    assert!(again.to_string().contains("in between"), "{again}");
}

/// Reading the same values in another order, or twice, is not doing something else.
#[test]
fn loops_that_only_wait_are_not_found_out() {
    let outcome = Checker::new().run(|| {
        let flags = [0, 0, 0].map(AtomicUsize::new);
        thread::scope(|scope| {
            for own in 0..2 {
                let flags = &flags;
                scope.spawn(move || flags[own].store(1, Release));
            }
            scope.spawn(|| {
                let mut at = 0;
                while flags[0].load(Acquire) + flags[1].load(Acquire) < 2 {
                    flags[at].load(Relaxed);
                    at = (at + 1) % 3;
                    drop(black_box(Box::new(7)));
                }
            });
        });
    });
    assert!(outcome.is_verified(), "{outcome}");
}
