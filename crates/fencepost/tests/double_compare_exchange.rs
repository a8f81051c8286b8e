//! A compare-exchange of two variables: one step, and what the monitor sees of it.

use crate::support::{Driver, pso};
use fencepost::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicUsize, double_compare_exchange, fence};
use fencepost::{Checker, Outcome, Target, thread};

#[test]
fn it_stores_both_or_none() {
    let program = || {
        let (a, b) = (AtomicUsize::new(1), AtomicUsize::new(2));
        for expected in [[1, 3], [3, 2], [2, 1]] {
            assert!(!double_compare_exchange([&a, &b], expected, [7, 8]));
        }
        assert!(double_compare_exchange([&a, &b], [1, 2], [7, 8]));
        assert!(double_compare_exchange([&b, &a], [8, 7], [9, 7]));
        assert_eq!([a.load(SeqCst), b.load(SeqCst)], [7, 9]);
    };
    program();
    assert!(Checker::new().run(program).is_verified());
}

#[test]
#[should_panic = "there is only one variable"]
fn it_needs_two_variables() {
    let a = AtomicUsize::new(0);
    double_compare_exchange([&a, &a], [0, 0], [1, 1]);
}

#[test]
fn the_monitor_sees_a_locked_operation_on_each() {
    let program = || {
        let (a, b) = (AtomicUsize::new(0), AtomicUsize::new(0));
        double_compare_exchange([&a, &b], [0, 0], [1, 1]);
        double_compare_exchange([&a, &b], [0, 1], [2, 2]);
        double_compare_exchange([&a, &b], [1, 0], [2, 2]);
    };
    for mut driver in [Driver::new(program), Driver::with(pso(), program)] {
        let run = driver.run_first();
        assert_eq!(run.mnemonics(0), ["il", "il", "lld", "lld", "lld"]);
        assert_eq!(run.steps.len(), 3);
    }
}

/// Two threads transfer in both directions, and nobody sees half of it.
#[test]
fn it_is_one_step() {
    let outcome = Checker::new().run(|| {
        let (a, b) = (AtomicUsize::new(1), AtomicUsize::new(1));
        thread::scope(|scope| {
            for to_b in [true, false] {
                let (a, b) = (&a, &b);
                scope.spawn(move || {
                    loop {
                        let before = [a.load(SeqCst), b.load(SeqCst)];
                        let after = match to_b {
                            true => [before[0] - 1, before[1] + 1],
                            false => [before[0] + 1, before[1] - 1],
                        };
                        if double_compare_exchange([a, b], before, after) {
                            return;
                        }
                    }
                });
            }
        });
        assert_eq!([a.load(SeqCst), b.load(SeqCst)], [1, 1]);
    });
    assert!(outcome.is_verified(), "{outcome}");
}

/// Outside of a check, on the machine's threads.
#[test]
fn it_is_atomic_for_others_like_it() {
    let (a, b) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut added = 0;
                while added < 1000 {
                    let value = a.load(Relaxed);
                    let is_added = double_compare_exchange([&a, &b], [value; 2], [value + 1; 2]);
                    added += usize::from(is_added);
                }
            });
        }
    });
    assert_eq!([a.into_inner(), b.into_inner()], [4000, 4000]);
}

/// What the check of a program with these two threads comes to, on both machines.
fn is_safe(
    one: impl Fn([&AtomicUsize; 3]) + Send + Sync + Copy + 'static,
    other: impl Fn([&AtomicUsize; 3]) + Send + Sync + Copy + 'static,
) -> [bool; 2] {
    [Target::X86, Target::Pso].map(|target| {
        let outcome = Checker::new().target(target).run(move || {
            let variables = ["a", "b", "c"].map(|name| AtomicUsize::new(0).named(name));
            let [a, b, c] = &variables;
            thread::scope(|scope| {
                scope.spawn(move || one([a, b, c]));
                scope.spawn(move || other([a, b, c]));
            });
        });
        assert!(
            !matches!(outcome, Outcome::ProgramError(_) | Outcome::Incomplete(_)),
            "{outcome}"
        );
        outcome.is_verified()
    })
}

#[test]
fn on_pso_it_drains_only_its_own_variables() {
    for is_fenced in [false, true] {
        let publish = move |[a, b, c]: [&AtomicUsize; 3]| {
            c.store(1, Relaxed);
            if is_fenced {
                fence(Release);
            }
            double_compare_exchange([a, b], [0, 0], [1, 1]);
        };
        for flag in [0, 1] {
            let look = move |variables: [&AtomicUsize; 3]| {
                variables[flag].load(Relaxed);
                variables[2].load(Relaxed);
            };
            assert_eq!(is_safe(publish, look), [true, is_fenced]);
        }
    }
}

/// What it reads of the first variable may come after a store to the second that is not in memory yet. The
/// other way round is the same on the machine, but is not seen.
#[test]
fn the_second_can_overtake_by_what_the_first_knows() {
    let store_then_add = |[a, b, _]: [&AtomicUsize; 3]| {
        b.store(1, Relaxed);
        a.fetch_add(1, Relaxed);
    };
    for expected in [[1, 1], [1, 5]] {
        let exchange = move |[a, b, _]: [&AtomicUsize; 3]| {
            double_compare_exchange([a, b], expected, [2, 2]);
        };
        let exchange_swapped = move |[a, b, _]: [&AtomicUsize; 3]| {
            double_compare_exchange([b, a], [1, expected[1]], [2, 2]);
        };
        assert_eq!(is_safe(store_then_add, exchange), [true, false]);
        assert_eq!(is_safe(store_then_add, exchange_swapped), [true, true]);
    }
}

#[test]
fn on_x86_it_drains_the_store_buffer() {
    for is_drained in [false, true] {
        let sides = [0, 1].map(|own: usize| {
            move |variables: [&AtomicUsize; 3]| {
                let spare = AtomicUsize::new(0);
                variables[own].store(1, Relaxed);
                if is_drained {
                    double_compare_exchange([variables[2], &spare], [9, 9], [1, 1]);
                }
                variables[1 - own].load(Relaxed);
            }
        });
        assert_eq!(is_safe(sides[0], sides[1]), [is_drained, false]);
    }
}
