//! `Once`, `OnceLock`, `LazyLock` and `Barrier`.

use std::sync::Arc;

use crate::explorer::{Protected, assert_deadlock, assert_panic, assert_race, classes, in_threads};
use crate::support::{Driver, Seen, all_fine, pso};
use fencepost::sync::atomic::{AtomicUsize, Ordering::*};
use fencepost::sync::{Barrier, LazyLock, Mutex, Once, OnceLock};
use fencepost::thread;
use fencepost_runtime::Setup;

#[test]
fn a_function_is_run_once_and_the_others_wait() {
    let count = classes(|| {
        let (once, cell) = (Once::new(), Protected::new());
        let runs = AtomicUsize::new(0);
        in_threads(3, |_| {
            once.call_once(|| {
                runs.fetch_add(1, Relaxed);
                cell.increment();
            });
            assert_eq!(cell.get(), 1);
        });
        assert_eq!(runs.load(Relaxed), 1);
    });
    // Who is first; the others only read.
    assert_eq!(count, 3);
    let count = classes(|| {
        let once = Once::new();
        in_threads(2, |number| match number {
            0 => once.call_once_force(|state| assert!(!state.is_poisoned())),
            _ => _ = once.is_completed(),
        });
    });
    assert_eq!(count, 3, "asked before, while and after it runs");
}

#[test]
fn waiting_for_what_nobody_does_is_a_deadlock() {
    assert_deadlock(|| Once::new().wait());
    assert_deadlock(|| _ = OnceLock::<u32>::new().wait());
    assert_deadlock(|| {
        let once = Once::new();
        once.call_once(|| once.call_once(|| ()));
    });
    let count = classes(|| {
        let (once, cell) = (Once::new(), OnceLock::new());
        in_threads(2, |number| match number {
            0 => {
                once.call_once(|| ());
                cell.set(7).unwrap();
            }
            _ => {
                once.wait();
                once.wait_force();
                assert_eq!(*cell.wait(), 7);
            }
        });
    });
    assert_eq!(count, 1);
}

#[test]
fn a_panic_in_what_is_run_once_is_the_end() {
    assert_panic("first", || {
        let once = Once::new();
        in_threads(2, |_| once.call_once(|| panic!("first")));
    });
}

#[test]
fn a_cell_is_written_once() {
    let seen = Seen::new();
    let winners = seen.clone();
    let count = classes(move || {
        let cell = OnceLock::new();
        in_threads(3, |number| {
            let result = cell.set(number);
            assert_eq!(result.is_ok(), *cell.get().unwrap() == number);
            if let Err(value) = result {
                assert_eq!(value, number);
            }
        });
        winners.add(*cell.get().unwrap());
    });
    assert_eq!(count, 3);
    assert_eq!(seen.sorted(), [0, 1, 2]);
    let count = classes(|| {
        let cell = OnceLock::new();
        in_threads(2, |number| match number {
            0 => cell.set(1).unwrap(),
            _ => assert!(matches!(cell.get(), None | Some(1))),
        });
    });
    assert_eq!(count, 2);
}

#[test]
fn one_thread_initialises_and_the_others_wait() {
    let count = classes(|| {
        let cell = OnceLock::new();
        let made = AtomicUsize::new(0);
        in_threads(2, |number| {
            let value = cell.get_or_init(|| {
                made.fetch_add(1, Relaxed);
                number
            });
            assert!(*value < 2);
        });
        assert_eq!(made.load(Relaxed), 1);
    });
    assert_eq!(count, 2);
    let count = classes(|| {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = made.clone();
        let lazy = LazyLock::new(move || counted.fetch_add(1, Relaxed) + 5);
        in_threads(2, |_| assert_eq!(*lazy, 5));
        assert_eq!(made.load(Relaxed), 1);
    });
    assert_eq!(count, 2);
}

#[test]
fn what_is_done_once_happens_before_who_sees_it_done() {
    classes(|| {
        let (cell, data) = (OnceLock::new(), Protected::new());
        in_threads(2, |number| match number {
            0 => {
                data.increment();
                cell.set(()).unwrap();
            }
            _ => {
                if cell.get().is_some() {
                    assert_eq!(data.get(), 1);
                }
            }
        });
    });
    assert_race(|| {
        let (cell, data) = (OnceLock::new(), Protected::new());
        in_threads(2, |number| match number {
            0 => {
                cell.set(()).unwrap();
                data.increment();
            }
            _ => {
                cell.get();
                data.get();
            }
        });
    });
}

#[test]
fn cells_have_the_rest_of_their_methods_in_a_check() {
    all_fine(|| {
        let mut cell = OnceLock::from(1).named("cell");
        assert_eq!(cell.get(), Some(&1));
        assert_eq!(cell.set(2), Err(2));
        *cell.get_mut().unwrap() = 3;
        assert_eq!(cell.clone(), cell);
        assert_eq!(format!("{cell:?}"), "OnceLock(3)");
        assert_eq!(cell.take(), Some(3));
        assert_eq!(cell.get(), None);
        assert_eq!(*cell.get_or_init(|| 4), 4);
        assert_eq!(cell.into_inner(), Some(4));
        assert_eq!(OnceLock::<u8>::default().into_inner(), None);

        let mut lazy = LazyLock::new(|| 1).named("lazy");
        assert_eq!(LazyLock::get(&lazy), None);
        assert_eq!(LazyLock::get_mut(&mut lazy), None);
        *LazyLock::force_mut(&mut lazy) += 1;
        *lazy += 1;
        assert_eq!(LazyLock::force(&lazy), &3);
        assert_eq!(LazyLock::get(&lazy), Some(&3));
        assert_eq!(*LazyLock::<u8>::default(), 0);
    });
}

#[test]
fn a_barrier_waits_for_all_and_has_one_leader() {
    for (threads, orders) in [(1, 1), (2, 2), (3, 6)] {
        let count = classes(move || {
            let barrier = Barrier::new(threads).named("barrier");
            let (before, leaders) = (AtomicUsize::new(0), Protected::new());
            in_threads(threads, |_| {
                before.fetch_add(1, Relaxed);
                let result = barrier.wait();
                assert_eq!(before.load(Relaxed), threads);
                if result.is_leader() {
                    leaders.increment();
                }
            });
            assert_eq!(leaders.get(), 1);
        });
        // The counter is in an order of its own, but the loads of it are after the barrier.
        assert_eq!(count, orders * orders, "{threads} threads");
    }
    let count = classes(|| {
        let barrier = Barrier::new(3);
        in_threads(3, |_| _ = barrier.wait());
    });
    assert_eq!(count, 6);
}

#[test]
fn a_barrier_can_be_used_again() {
    let count = classes(|| {
        let barrier = Barrier::new(2);
        in_threads(2, |_| {
            barrier.wait();
            barrier.wait();
        });
    });
    // There are 4, which `sync_classes` counts. What a wait touches depends on the state, so some are run twice.
    assert!((4..=6).contains(&count), "{count}");
    // It waits for as many threads, not for the same.
    assert_deadlock(|| {
        let barrier = Barrier::new(2);
        in_threads(3, |_| _ = barrier.wait());
    });
    all_fine(|| assert!(Barrier::new(0).wait().is_leader()));
}

#[test]
fn a_barrier_orders_what_is_before_it() {
    classes(|| {
        let barrier = Barrier::new(2);
        let cells = [Protected::new(), Protected::new()];
        in_threads(2, |number| {
            cells[number].increment();
            barrier.wait();
            cells[1 - number].increment();
        });
    });
    assert_race(|| {
        let (barrier, cell) = (Barrier::new(2), Protected::new());
        in_threads(2, |_| {
            barrier.wait();
            cell.increment();
        });
    });
}

#[test]
fn the_monitor_sees_what_is_done_once_as_documented() {
    let program = || {
        let once = Once::new();
        once.is_completed();
        once.call_once(|| ());
        once.call_once(|| ());
        let cell = OnceLock::new();
        cell.set(1).unwrap();
        cell.get();
        Barrier::new(1).wait();
    };
    let seen = |setup: Setup| {
        let run = Driver::with(setup, program).run_first();
        run.expect_fine().mnemonics(0).join(" ")
    };
    assert_eq!(seen(Setup::default()), "ld il il ld il ld il il");
    assert_eq!(seen(pso()), "ld il stbar il ld stbar il ld fence il il");
}

#[test]
fn all_of_them_outside_of_a_check_are_those_of_std() {
    let (once, cell, barrier) = (Once::new(), OnceLock::new(), Barrier::new(3));
    let lazy = LazyLock::new(|| 6 * 7);
    let counts = [const { std::sync::atomic::AtomicUsize::new(0) }; 2];
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (once, cell, barrier, lazy, counts) = (&once, &cell, &barrier, &lazy, &counts);
            scope.spawn(move || {
                once.call_once(|| _ = counts[0].fetch_add(1, SeqCst));
                once.wait();
                assert!(once.is_completed());
                let value: &i32 = cell.get_or_init(|| number);
                assert_eq!(cell.set(9), Err(9));
                assert_eq!((cell.wait(), **lazy), (value, 42));
                if barrier.wait().is_leader() {
                    counts[1].fetch_add(1, SeqCst);
                }
            });
        }
    });
    assert_eq!(counts.map(|count| count.into_inner()), [1, 1]);

    let poisoned = Once::new();
    let run = || poisoned.call_once(|| std::panic::resume_unwind(Box::new(())));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    poisoned.call_once_force(|state| assert!(state.is_poisoned()));
    assert!(poisoned.is_completed());
    let fails = LazyLock::new(|| -> u8 { std::panic::resume_unwind(Box::new(())) });
    for _ in 0..2 {
        let force = || *LazyLock::force(&fails);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(force)).is_err());
    }
    assert_eq!(
        format!("{once:?} {barrier:?}"),
        "Once { .. } Barrier { .. }"
    );
}

/// An initializer that only makes new things is no step, whoever runs it.
#[test]
fn a_static_of_new_things_has_no_steps() {
    fencepost::lazy_static! {
        static ref COUNT: AtomicUsize = AtomicUsize::new(0);
        static ref LISTED: Mutex<Vec<usize>> = {
            let list = Mutex::new(Vec::new());
            list.lock().unwrap().push(1);
            list
        };
        static ref BOTH: Vec<&'static AtomicUsize> = vec![&COUNT, &COUNT];
    }
    assert_eq!(classes(|| in_threads(3, |_| assert_eq!(BOTH.len(), 2))), 1);
    let count = classes(|| {
        in_threads(2, |number| match number {
            0 => _ = BOTH[0].load(Relaxed),
            _ => LISTED.lock().unwrap().push(2),
        });
    });
    assert_eq!(count, 1);
}

/// An initializer that reads what others change comes before or after them.
#[test]
fn a_static_that_reads_another_is_initialised_in_steps() {
    fencepost::lazy_static! {
        static ref SOURCE: AtomicUsize = AtomicUsize::new(0);
        static ref COPY: usize = SOURCE.load(SeqCst);
        static ref LOCKED: Mutex<usize> = Mutex::new(0);
        static ref LOCKED_COPY: usize = *LOCKED.lock().unwrap();
    }
    let (seen, locked) = (Seen::new(), Seen::new());
    let (copies, locked_copies) = (seen.clone(), locked.clone());
    classes(move || {
        in_threads(2, |number| match number {
            0 => SOURCE.store(1, SeqCst),
            _ => copies.add(*COPY),
        });
    });
    classes(move || {
        in_threads(2, |number| match number {
            0 => *LOCKED.lock().unwrap() = 1,
            _ => locked_copies.add(*LOCKED_COPY),
        });
    });
    assert_eq!(seen.sorted(), [0, 1]);
    assert_eq!(locked.sorted(), [0, 1]);
}

#[test]
fn statics_that_change_another_are_initialised_in_every_order() {
    fencepost::lazy_static! {
        static ref NEXT: AtomicUsize = AtomicUsize::new(0);
        static ref FIRST: usize = NEXT.fetch_add(1, SeqCst);
        static ref SECOND: usize = NEXT.fetch_add(1, SeqCst);
    }
    let seen = Seen::new();
    let numbers = seen.clone();
    classes(move || {
        in_threads(2, |number| match number {
            0 => _ = *FIRST,
            _ => _ = *SECOND,
        });
        numbers.add((*FIRST, *SECOND));
    });
    assert_eq!(seen.sorted(), [(0, 1), (1, 0)]);
    // Whoever uses it, it is initialized once.
    let count = classes(|| {
        in_threads(3, |_| assert_eq!(*FIRST, 0));
        assert_eq!(NEXT.load(SeqCst), 1);
    });
    assert!(count >= 3, "{count}");
}

#[test]
fn a_static_knows_who_initialises_it() {
    fencepost::lazy_static! {
        static ref OWNER: thread::ThreadId = thread::current().id();
    }
    let seen = Seen::new();
    let answers = seen.clone();
    classes(move || {
        let answers = answers.clone();
        in_threads(2, move |_| answers.add(*OWNER == thread::current().id()));
    });
    assert_eq!(seen.sorted(), [false, true]);
    assert_panic("left != right", || {
        let first = thread::Builder::new().name("first".to_owned());
        let first = first.spawn(|| _ = *OWNER).unwrap();
        let second = thread::spawn(|| assert_ne!(*OWNER, thread::current().id()));
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// One thread waits in the initializer for the lock, and the other with the lock for the
/// initializer.
#[test]
fn an_initialiser_waits_like_any_code() {
    fencepost::lazy_static! {
        static ref LOCK: Mutex<usize> = Mutex::new(7);
        static ref VALUE: usize = *LOCK.lock().unwrap();
    }
    assert_deadlock(|| {
        in_threads(2, |number| match number {
            0 => assert_eq!(*VALUE, 7),
            _ => {
                let _guard = LOCK.lock().unwrap();
                let _ = *VALUE;
            }
        });
    });
    let count = classes(|| {
        in_threads(2, |number| match number {
            0 => assert_eq!(*VALUE, 7),
            _ => drop(LOCK.lock().unwrap()),
        });
    });
    assert!(count >= 2, "{count}");
    assert_deadlock(|| {
        let _guard = LOCK.lock().unwrap();
        let _ = *VALUE;
    });
}

/// Who came first orders what it did before with what the others do after; and might not have come first.
#[test]
fn a_static_orders_only_those_who_come_after() {
    fencepost::lazy_static! {
        static ref EMPTY: usize = 1;
    }
    assert_race(|| {
        let cell = Protected::new();
        in_threads(2, |number| {
            if number == 0 {
                cell.increment();
            }
            let _ = *EMPTY;
            if number == 1 {
                cell.get();
            }
        });
    });
}
