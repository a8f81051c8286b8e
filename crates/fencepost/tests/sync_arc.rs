//! `Arc` and `Weak`: counts, what is observed of them, leaks, destructors, and the same outside.

use std::any::Any;

use crate::explorer::{
    Protected, assert_panic, assert_race, classes, explore_with, in_threads, leak, verified,
};
use crate::support::{Driver, Seen, all_fine, pso};
use fencepost::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use fencepost::sync::{Arc, Mutex, Weak};
use fencepost::{hint, thread};
use fencepost_explore::{MonitoredModel, Settings};
use fencepost_runtime::{Restart, Setup};

#[test]
fn clones_and_drops_that_nobody_observes_have_one_class() {
    for threads in 1..=4 {
        let count = classes(move || {
            let shared = Arc::new(5);
            for _ in 0..threads {
                let shared = shared.clone();
                thread::spawn(move || {
                    let again = shared.clone();
                    assert_eq!(*again, 5);
                });
            }
        });
        assert_eq!(count, 1, "{threads} threads");
    }
}

/// Each of the drops comes before or after the look.
#[test]
fn a_count_that_is_observed_has_as_many_classes_as_it_tells() {
    for (threads, expected) in [(1, 2), (2, 4), (3, 8)] {
        let seen = Seen::new();
        let counts = seen.clone();
        let count = classes(move || {
            let shared = Arc::new(());
            for _ in 0..threads {
                let shared = shared.clone();
                thread::spawn(move || drop(shared));
            }
            counts.add(Arc::strong_count(&shared));
        });
        assert_eq!(count, expected, "{threads} threads");
        assert_eq!(seen.sorted(), (1..=threads + 1).collect::<Vec<_>>());
    }
}

#[test]
fn a_program_with_one_thread_has_no_steps() {
    let run = Driver::new(|| {
        let shared = Arc::new(1);
        drop(shared.clone());
        assert_eq!(Arc::strong_count(&shared), 1);
    })
    .run_first();
    assert_eq!(run.expect_fine().steps.len(), 0);
}

#[test]
fn what_is_never_dropped_is_a_leak() {
    let line = line!() + 2;
    let place = leak(|| {
        let shared = Arc::new(5);
        std::mem::forget(shared.clone());
    });
    assert_eq!(place.line, line);
    assert!(place.file.ends_with("sync_arc.rs"));
    // A cycle.
    struct Node(Mutex<Option<Arc<Node>>>);
    let place = leak(|| {
        let node = Arc::new(Node(Mutex::new(None)));
        *node.0.lock().unwrap() = Some(node.clone());
    });
    assert_eq!(place.line, line + 8);
    // A reference that a thread took and forgot, in some executions only.
    leak(|| {
        let shared = Arc::new(AtomicBool::new(false));
        let other = shared.clone();
        thread::spawn(move || {
            if other.load(Relaxed) {
                std::mem::forget(other);
            }
        });
        shared.store(true, Relaxed);
    });
    // Made before the check, and so not its business.
    let outside = Arc::new(1);
    classes(move || std::mem::forget(outside.clone()));
}

#[test]
fn what_lives_in_statics_and_threads_is_no_leak() {
    fencepost::lazy_static! {
        static ref SHARED: Arc<u32> = Arc::new(3);
    }
    fencepost::thread_local! {
        static LOCAL: Arc<u32> = Arc::new(4);
    }
    classes(|| {
        in_threads(2, |_| {
            let shared = SHARED.clone();
            LOCAL.with(|local| assert_eq!(*shared + **local, 7));
        });
    });
}

/// The flag says that the thread is done, but not that it has dropped its reference.
#[test]
fn unwrapping_too_early_is_found() {
    fn program(join: bool) -> impl Fn() + Send + Sync {
        move || {
            let shared = Arc::new(AtomicBool::new(false));
            let other = shared.clone();
            let thread = thread::spawn(move || {
                other.store(true, SeqCst);
                drop(other);
            });
            while !shared.load(SeqCst) {
                hint::spin_loop();
            }
            if join {
                thread.join().unwrap();
            }
            assert!(Arc::try_unwrap(shared).unwrap().into_inner());
        }
    }
    assert_panic(
        "called `Result::unwrap()` on an `Err` value",
        program(false),
    );
    classes(program(true));
}

#[test]
fn exactly_one_gets_the_value() {
    let seen = Seen::new();
    let winners = seen.clone();
    let count = classes(move || {
        let shared = Arc::new(7);
        let other = shared.clone();
        let thread = thread::spawn(move || Arc::into_inner(other));
        let mine = Arc::into_inner(shared);
        let other = thread.join().unwrap();
        assert_eq!(mine.or(other), Some(7));
        assert!(mine.is_none() || other.is_none());
        winners.add(mine.is_some());
    });
    assert_eq!(count, 2);
    assert_eq!(seen.sorted(), [false, true]);
    // Both may fail to unwrap it: then it is dropped.
    let seen = Seen::new();
    let results = seen.clone();
    classes(move || {
        let shared = Arc::new(7);
        let other = shared.clone();
        let thread = thread::spawn(move || Arc::try_unwrap(other).is_ok());
        let mine = Arc::try_unwrap(shared).is_ok();
        results.add((mine, thread.join().unwrap()));
    });
    assert_eq!(
        seen.sorted(),
        [(false, false), (false, true), (true, false)]
    );
}

#[test]
fn weak_references_see_the_end() {
    let seen = Seen::new();
    let results = seen.clone();
    let count = classes(move || {
        let shared = Arc::new(7);
        let weak = Arc::downgrade(&shared);
        let thread = thread::spawn(move || weak.upgrade().map(|value| *value));
        drop(shared);
        results.add(thread.join().unwrap());
    });
    assert_eq!(seen.sorted(), [None, Some(7)]);
    // The upgrade before or after the drop; and if before, the two drops commute.
    assert_eq!(count, 2);
    all_fine(|| {
        let shared = Arc::new(7);
        let weak = Arc::downgrade(&shared);
        let other = weak.clone();
        assert_eq!((Arc::weak_count(&shared), weak.weak_count()), (2, 2));
        assert_eq!(weak.strong_count(), 1);
        assert!(weak.ptr_eq(&other));
        drop(other);
        let strong = weak.upgrade().unwrap();
        assert!(Arc::ptr_eq(&strong, &shared));
        assert_eq!(
            (Arc::strong_count(&shared), Arc::weak_count(&shared)),
            (2, 1)
        );
        drop((shared, strong));
        assert!(weak.upgrade().is_none());
        assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
        assert!(Weak::<u8>::new().upgrade().is_none());
        assert_eq!(format!("{:?}", Weak::<u8>::default()), "(Weak)");
    });
}

#[test]
fn mutable_access_is_for_who_is_alone() {
    let seen = Seen::new();
    let results = seen.clone();
    classes(move || {
        let cell = Protected::new();
        let mut shared = Arc::new(cell);
        let other = shared.clone();
        thread::spawn(move || other.increment());
        let is_alone = Arc::get_mut(&mut shared).is_some();
        if is_alone {
            // What the other did before it dropped its reference is ordered.
            shared.increment();
        }
        results.add(is_alone);
    });
    assert_eq!(seen.sorted(), [false, true]);
    assert_race(|| {
        let mut shared = Arc::new(Protected::new());
        let other = shared.clone();
        thread::spawn(move || other.increment());
        if Arc::get_mut(&mut shared).is_none() {
            shared.increment();
        }
    });
    // A count alone orders nothing, as it is relaxed.
    assert_race(|| {
        let shared = Arc::new(Protected::new());
        let other = shared.clone();
        thread::spawn(move || other.increment());
        if Arc::strong_count(&shared) == 1 {
            shared.increment();
        }
    });
}

#[test]
fn what_is_written_to_is_copied_if_it_is_shared() {
    all_fine(|| {
        let mut one = Arc::new(1);
        *Arc::make_mut(&mut one) += 1;
        let mut two = one.clone();
        *Arc::make_mut(&mut two) += 1;
        assert_eq!((*one, *two), (2, 3));
        assert_eq!(Arc::strong_count(&one), 1);
        // Weak references are left behind.
        let weak = Arc::downgrade(&one);
        assert!(Arc::get_mut(&mut one).is_none());
        *Arc::make_mut(&mut one) += 1;
        assert!(weak.upgrade().is_none());
        assert_eq!((*one, Arc::weak_count(&one)), (3, 0));
        assert_eq!(Arc::unwrap_or_clone(one.clone()), 3);
        assert_eq!(Arc::unwrap_or_clone(one), 3);
    });
    classes(|| {
        let mut shared = Arc::new(1);
        let mut other = shared.clone();
        let thread = thread::spawn(move || {
            *Arc::make_mut(&mut other) += 1;
            *other
        });
        *Arc::make_mut(&mut shared) += 10;
        assert_eq!((*shared, thread.join().unwrap()), (11, 2));
    });
}

#[test]
fn structures_may_refer_to_themselves() {
    struct Node {
        me: Weak<Node>,
        value: u32,
    }
    let program = || {
        let node = Arc::new_cyclic(|me| {
            assert!(me.upgrade().is_none());
            Node {
                me: me.clone(),
                value: 3,
            }
        });
        assert_eq!((Arc::strong_count(&node), Arc::weak_count(&node)), (1, 1));
        let again = node.me.upgrade().unwrap();
        assert_eq!(again.value, 3);
    };
    all_fine(program);
    program();
}

#[test]
fn pointers_are_references_in_disguise() {
    #[allow(unsafe_code)] // It is what the test is about.
    let program = || {
        let shared = Arc::new(5);
        let weak = Arc::downgrade(&shared);
        let pointer = Arc::into_raw(shared.clone());
        assert_eq!(pointer, Arc::as_ptr(&shared));
        // SAFETY: the pointer stands for one reference, then two, then one, then none.
        unsafe {
            Arc::increment_strong_count(pointer);
            assert_eq!(Arc::strong_count(&shared), 3);
            Arc::decrement_strong_count(pointer);
            assert_eq!(*Arc::from_raw(pointer), 5);
        }
        assert_eq!(Arc::strong_count(&shared), 1);
        let pointer = weak.into_raw();
        assert_eq!(Arc::weak_count(&shared), 1);
        // SAFETY: the pointer stands for one weak reference.
        let weak = unsafe { Weak::from_raw(pointer) };
        assert_eq!(weak.as_ptr(), Arc::as_ptr(&shared));
        assert!(weak.upgrade().is_some());
        drop(weak);
        assert_eq!(Arc::weak_count(&shared), 0);
    };
    all_fine(program);
    program();
    leak(|| _ = Arc::into_raw(Arc::new(1)));
}

#[test]
fn types_without_a_size_are_made_from_others() {
    let program = || {
        let text: Arc<str> = Arc::from("text");
        let numbers: Arc<[u8]> = [1, 2].into_iter().collect();
        let shown: Arc<dyn std::fmt::Display> = Arc::from_std(std::sync::Arc::new(3));
        let boxed: Arc<dyn Fn(u8) -> u8> =
            Arc::from(Box::new(|x: u8| x + 1_u8) as Box<dyn Fn(u8) -> u8>);
        assert_eq!(format!("{text} {numbers:?} {shown}"), "text [1, 2] 3");
        assert_eq!(boxed.clone()(1), 2);
        let any: Arc<dyn Any + Send + Sync> = Arc::from_std(std::sync::Arc::new(5_u8));
        let any = any.downcast::<u16>().unwrap_err();
        assert_eq!(*any.downcast::<u8>().unwrap(), 5);
        assert_eq!(
            Arc::<str>::default().len() + Arc::<[u8]>::default().len(),
            0
        );
        let same: Arc<[u8]> = Arc::from([1_u8, 2]);
        assert_eq!(same, numbers);
        assert!(Arc::new(1) < Arc::new(2) && *Arc::pin(1) == 1);
    };
    all_fine(program);
    program();
}

/// Stores in the destructor, which others can notice.
struct Announces(Arc<AtomicUsize>);

impl Drop for Announces {
    fn drop(&mut self) {
        self.0.store(1, SeqCst);
    }
}

fn explored(program: impl Fn() + Send + Sync + 'static) -> crate::explorer::Explored {
    let settings = Settings {
        monitored_model: MonitoredModel::None,
        ..Settings::default()
    };
    explore_with(Setup::default(), &settings, program)
}

#[test]
fn destructors_that_others_notice_order_the_drops() {
    let seen = Seen::new();
    let results = seen.clone();
    let made = line!() + 4;
    let explored = explored(move || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let flag = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Announces(dropped.clone()));
        let (one, two, set) = (shared.clone(), shared, flag.clone());
        thread::spawn(move || {
            drop(one);
            set.store(1, SeqCst);
        });
        thread::spawn(move || drop(two));
        // If the first thread is the last to drop, the flag comes after the destructor; if
        // not, it can come before.
        let first = flag.load(SeqCst);
        results.add((first, dropped.load(SeqCst)));
    });
    assert_eq!(explored.restarts, 1);
    let lines: Vec<_> = (explored.registry.visible_drops().into_iter())
        .map(|location| explored.registry.location(location).line())
        .collect();
    assert_eq!(lines, [made]);
    assert!(explored.report.findings.is_empty() && explored.report.is_complete());
    assert_eq!(seen.sorted(), [(0, 0), (0, 1), (1, 0), (1, 1)]);
}

#[test]
fn the_runtime_says_when_drops_have_to_be_ordered() {
    let mut driver = Driver::new(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Announces(dropped.clone()));
        thread::spawn(move || drop(shared));
        dropped.load(SeqCst);
    });
    let run = driver.run_first();
    assert_eq!(run.restart, Some(Restart::OrderedDrops));
    // From now on it is known.
    driver.run_first().expect_fine();
    for run in driver.run_all() {
        run.expect_fine();
    }
    // An `Arc` in an `Arc`: the inner drop is something that others can notice.
    let explored = explored(|| {
        let inner = Arc::new(1);
        let outer = Arc::new(inner.clone());
        let other = outer.clone();
        thread::spawn(move || drop(other));
        drop(outer);
        assert!(Arc::strong_count(&inner) <= 2);
    });
    assert_eq!(explored.restarts, 1);
    // One thread alone cannot be noticed.
    let explored = verified(|| {
        let shared = Arc::new(Announces(Arc::new(AtomicUsize::new(0))));
        drop(shared);
    });
    assert_eq!(explored.restarts, 0);
}

/// What the owners did is over when the destructor runs.
#[test]
fn destructors_happen_after_all_owners() {
    struct Owned(Protected);
    impl Drop for Owned {
        fn drop(&mut self) {
            self.0.increment();
        }
    }
    let count = classes(|| {
        let shared = Arc::new((Owned(Protected::new()), Mutex::new(())));
        for _ in 0..2 {
            let shared = shared.clone();
            thread::spawn(move || {
                let _guard = shared.1.lock();
                shared.0.0.increment();
            });
        }
    });
    assert_eq!(count, 2, "the orders of the critical sections");
}

/// Whoever is the last does not know it, and what it does after that is not ordered.
#[test]
fn dropping_the_last_reference_orders_nothing_but_the_destructor() {
    for first in 0..2 {
        assert_race(move || {
            let cell = std::sync::Arc::new(Protected::new());
            let mut shared = Some(Arc::new(()));
            for number in 0..2 {
                let reference = match number {
                    0 => shared.clone(),
                    _ => shared.take(),
                };
                let cell = cell.clone();
                thread::spawn(move || {
                    if number == first {
                        cell.increment();
                        drop(reference);
                    } else {
                        drop(reference);
                        cell.increment();
                    }
                });
            }
        });
    }
}

#[test]
fn the_monitor_sees_counts_as_documented() {
    let program = || {
        let shared = Arc::new(1);
        let mut other = shared.clone();
        assert!(Arc::get_mut(&mut other).is_none());
        drop(Arc::downgrade(&other));
        drop(other);
        assert_eq!(Arc::strong_count(&shared), 1);
    };
    let seen = |setup: Setup| {
        let run = Driver::with(setup, program).run_first();
        run.expect_fine().mnemonics(0).join(" ")
    };
    assert_eq!(seen(Setup::default()), ["fence"; 6].join(" "));
    assert_eq!(seen(pso()), "stbar stbar stbar", "of the three drops");
    // With others, who changes a count says so, and who learns something of it looks, also for
    // threads that come later.
    let program = || {
        let shared = Arc::new(1);
        let other = shared.clone();
        let thread = thread::spawn(move || drop(other));
        thread.join().unwrap();
        assert!(Arc::try_unwrap(shared).is_ok());
    };
    let seen = |setup: Setup| {
        let run = Driver::with(setup, program).run_first();
        run.expect_fine();
        let of = |thread| run.mnemonics(thread).join(" ");
        (of(0), of(1))
    };
    let (main, other) = seen(Setup::default());
    assert_eq!(
        main, "fence lst lld fence lld lld il",
        "clone, spawn, join, unwrap"
    );
    assert_eq!(other, "lld il lst", "begin, drop, end");
    let (main, other) = seen(pso());
    assert_eq!(main, "fence lst fence lld lld lld il");
    assert_eq!(other, "lld stbar il fence lst");
}

#[test]
fn an_arc_outside_of_a_check_is_that_of_std() {
    let mut shared = Arc::new(std::sync::Mutex::new(0)).named("unheard");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || *shared.lock().unwrap() += 1)
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(
        (Arc::strong_count(&shared), Arc::weak_count(&shared)),
        (1, 0)
    );
    assert_eq!(*Arc::get_mut(&mut shared).unwrap().get_mut().unwrap(), 4);
    let weak = Arc::downgrade(&shared);
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 1));
    let other = shared.clone();
    assert!(Arc::try_unwrap(shared).is_err());
    assert!(weak.upgrade().is_some());
    assert_eq!(Arc::into_inner(other).unwrap().into_inner().unwrap(), 4);
    assert!(weak.upgrade().is_none());
    let mut one = Arc::new(1);
    let two = one.clone();
    *Arc::make_mut(&mut one) = 3;
    assert_eq!((Arc::unwrap_or_clone(one), *two), (3, 1));
}

/// Calls a function when it is dropped.
struct Calls<F: Fn()>(F);

impl<F: Fn()> Drop for Calls<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Two threads drop a reference each; then they do something else.
fn both_drop<R: Send + 'static>(
    destructor: impl Fn() + Send + Sync + 'static,
    and_then: impl Fn() -> R + Send + Sync + 'static,
) -> [R; 2] {
    let shared = Arc::new(Calls(destructor));
    let and_then = std::sync::Arc::new(and_then);
    let (other, then) = (shared.clone(), and_then.clone());
    let thread = thread::Builder::new().name("other".to_owned());
    let thread = thread.spawn(move || {
        drop(other);
        then()
    });
    drop(shared);
    let mine = and_then();
    [mine, thread.unwrap().join().unwrap()]
}

#[test]
fn cells_that_a_destructor_shares_with_others_order_the_drops() {
    // Each of the threads in turn is the one that goes on to read what the destructor has written.
    for is_other in [false, true] {
        assert_race(move || {
            let cell = std::sync::Arc::new(Protected::new());
            let written = cell.clone();
            both_drop(
                move || written.increment(),
                move || {
                    if (thread::current().name() == Some("other")) == is_other {
                        cell.get();
                    }
                },
            );
        });
        // Or writes what it has read.
        assert_race(move || {
            let cell = std::sync::Arc::new(Protected::new());
            let read = cell.clone();
            both_drop(
                move || _ = read.get(),
                move || {
                    if (thread::current().name() == Some("other")) == is_other {
                        cell.increment();
                    }
                },
            );
        });
    }
    // Two that read do not.
    let explored = verified(|| {
        let cell = std::sync::Arc::new(Protected::new());
        let read = cell.clone();
        both_drop(move || _ = read.get(), move || cell.get());
    });
    assert_eq!((explored.restarts, explored.report.executions), (0, 1));
    // What is read when both have ended is no race in any order.
    let explored = verified(|| {
        let cell = std::sync::Arc::new(Protected::new());
        let written = cell.clone();
        both_drop(move || written.increment(), || ());
        assert_eq!(cell.get(), 1);
    });
    assert_eq!((explored.restarts, explored.report.executions), (1, 2));
}

#[test]
fn destructors_that_depend_on_their_thread_order_the_drops() {
    for is_other in [false, true] {
        assert_panic("left == right", move || {
            let destructor =
                move || assert_eq!(thread::current().name() == Some("other"), is_other);
            both_drop(destructor, || ());
        });
    }
    fencepost::thread_local! {
        static DROPPED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
    let seen = Seen::new();
    let results = seen.clone();
    let count = classes(move || {
        results.add(both_drop(|| DROPPED.set(true), || DROPPED.get()));
    });
    assert_eq!(count, 2);
    assert_eq!(seen.sorted(), [[false, true], [true, false]]);
    // Whose child a thread is.
    let explored = verified(|| {
        both_drop(|| drop(thread::spawn(|| ())), || ());
    });
    assert_eq!(explored.restarts, 1);
    // Fences.
    let explored = verified(|| {
        both_drop(|| fencepost::sync::atomic::fence(SeqCst), || ());
    });
    assert_eq!(explored.restarts, 1);
    // It makes no difference which of them panics.
    assert_panic("always", || {
        both_drop(|| panic!("always"), || ());
    });
}
