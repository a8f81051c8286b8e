//! Spawning, joining, scopes, parking, thread-local storage and statics.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic as std_atomic;
use std::time::Duration;

use crate::explorer::{Protected, assert_deadlock, assert_race, verified};
use crate::support::{Driver, Seen, all_fine, all_fine_with, no_spurious};
use fencepost::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use fencepost::{Checker, Outcome, thread};
use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::{Random, ThreadId};
use fencepost_runtime::{Restart, Setup};

#[test]
fn threads_without_end_reach_the_step_limit() {
    for max_steps in [0, 1, 1000] {
        let outcome = Checker::new().max_steps(max_steps).run(|| {
            let mut threads = Vec::new();
            loop {
                threads.push(thread::spawn(|| {}));
            }
        });
        assert!(matches!(outcome, Outcome::ProgramError(_)), "{outcome}");
        let steps = match max_steps {
            1000 => "1,000 steps",
            1 => "1 step",
            _ => "0 steps",
        };
        let said = format!("error: an execution did not end within {steps}\n");
        let text = outcome.to_string();
        assert!(text.starts_with(&said), "{text}");
        assert!(text.contains("main's next operation"), "{text}");
        assert!(text.contains("tests/threads.rs"), "{text}");
        assert!(outcome.json().contains("\"problem\":\"step-limit\""));
    }
    // As many as are allowed are fine.
    let three = || (0..3).for_each(|_| thread::spawn(|| {}).join().unwrap());
    assert!(Checker::new().max_steps(3).run(three).is_verified());
    assert!(Checker::new().max_steps(2).run(three).has_failed());
}

#[test]
fn handles_can_be_moved_whatever_threads_return() {
    fn can_be_moved<T: Unpin>() {}
    can_be_moved::<std::thread::JoinHandle<std::marker::PhantomPinned>>();
    can_be_moved::<thread::JoinHandle<std::marker::PhantomPinned>>();
}

#[test]
fn threads_have_names_identities_and_results() {
    all_fine(|| {
        assert_eq!(thread::current().name(), Some("main"));
        let named = thread::Builder::new()
            .name("worker".to_owned())
            .stack_size(64 * 1024)
            .spawn(|| {
                (
                    thread::current().id(),
                    thread::current().name().map(str::to_owned),
                )
            })
            .unwrap();
        let id = named.thread().id();
        assert_ne!(id, thread::current().id());
        assert_eq!(named.thread().name(), Some("worker"));
        assert_eq!(named.join().unwrap(), (id, Some("worker".to_owned())));
        assert_eq!(thread::spawn(|| "result").join().unwrap(), "result");
        assert!(!thread::panicking());
        assert_eq!(thread::available_parallelism().unwrap().get(), 2);
    });
}

/// Counts how many there are.
struct Counted<T>(T, Arc<std_atomic::AtomicIsize>);

impl<T> Counted<T> {
    fn new(content: T, living: &Arc<std_atomic::AtomicIsize>) -> Self {
        living.fetch_add(1, Relaxed);
        Counted(content, Arc::clone(living))
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Relaxed);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(256))]
struct Aligned(u64);

#[test]
fn results_are_dropped_once_whoever_has_them_last() {
    let living = Arc::new(std_atomic::AtomicIsize::new(0));
    let counted = Arc::clone(&living);
    let runs = all_fine(move || {
        let step = Arc::new(AtomicUsize::new(0));
        let spawn = |number: u64| {
            let (step, counted) = (Arc::clone(&step), Arc::clone(&counted));
            thread::spawn(move || {
                step.fetch_add(1, Relaxed);
                Counted::new([number; 100], &counted)
            })
        };
        // Results that are too large for memory that is used again, or need another alignment.
        assert_eq!(spawn(7).join().unwrap().0, [7; 100]);
        let aligned = thread::spawn(|| Aligned(5));
        assert_eq!(aligned.join().unwrap(), Aligned(5));
        // Nobody waits for it: either of the two may be the last.
        let handle = spawn(8);
        step.load(Relaxed);
        drop(handle);
        // Small ones, many at a time.
        let small: Vec<_> = (0..3)
            .map(|number| {
                let counted = Arc::clone(&counted);
                thread::spawn(move || Counted::new(number, &counted))
            })
            .collect();
        for (number, handle) in small.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap().0, number);
        }
    });
    assert!(runs.len() > 1);
    assert_eq!(living.load(Relaxed), 0);
}

#[test]
fn threads_of_many_sizes_use_stacks_again() {
    all_fine(|| {
        for size in [16, 64, 16, 128, 64] {
            let thread = thread::Builder::new().stack_size(size * 1024);
            let sum = thread.spawn(move || {
                // Something that is on the stack.
                let numbers: [usize; 512] = std::array::from_fn(|index| index * size);
                std::hint::black_box(numbers).iter().sum::<usize>()
            });
            assert_eq!(sum.unwrap().join().unwrap(), 512 * 511 / 2 * size);
        }
        // More than keep their stacks.
        for number in 0..40 {
            assert_eq!(thread::spawn(move || number).join().unwrap(), number);
        }
    });
}

#[test]
fn scopes_join_what_nobody_joined() {
    let runs = all_fine(|| {
        let counter = AtomicUsize::new(0);
        let mut local = [1, 2];
        let (one, two) = local.split_at_mut(1);
        let result = thread::scope(|scope| {
            let handle = scope.spawn(|| {
                one[0] += 10;
                counter.fetch_add(1, Relaxed);
                5
            });
            scope.spawn(|| {
                two[0] += 20;
                scope.spawn(|| counter.fetch_add(1, Relaxed));
            });
            handle.join().unwrap()
        });
        assert_eq!(result, 5);
        assert_eq!(local, [11, 22]);
        assert_eq!(counter.load(Relaxed), 2);
    });
    for run in &runs {
        let joins: Vec<_> = run
            .steps
            .iter()
            .filter_map(|step| match step.intent {
                Intent::Join(thread) => Some(thread),
                _ => None,
            })
            .collect();
        assert_eq!(joins, [ThreadId(1), ThreadId(2), ThreadId(3)]);
    }
}

/// What a thread of a scope borrows is there until the thread is torn down, even if the closure of the scope
/// catches the panic that ended the execution.
#[test]
fn a_scope_that_catches_a_panic_waits_for_its_threads() {
    struct Torn<'a> {
        is_alive: &'a std_atomic::AtomicBool,
        seen: &'static std_atomic::AtomicU32,
    }
    impl Drop for Torn<'_> {
        fn drop(&mut self) {
            let alive = self.is_alive.load(std_atomic::Ordering::Relaxed);
            self.seen
                .store(1 + u32::from(alive), std_atomic::Ordering::Relaxed);
        }
    }
    static SEEN: std_atomic::AtomicU32 = std_atomic::AtomicU32::new(0);
    let outcome = Checker::new().workers(1).run(|| {
        let is_alive = std_atomic::AtomicBool::new(true);
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _torn = Torn {
                    is_alive: &is_alive,
                    seen: &SEEN,
                };
                while !flag.load(Acquire) {
                    thread::yield_now();
                }
            });
            flag.load(Relaxed);
            let caught = std::panic::catch_unwind(|| panic!("caught"));
            assert!(caught.is_err());
        });
        is_alive.store(false, std_atomic::Ordering::Relaxed);
    });
    assert!(outcome.has_failed(), "{outcome}");
    assert_eq!(SEEN.load(std_atomic::Ordering::Relaxed), 2);
}

#[test]
fn a_parked_thread_waits_for_its_token() {
    let runs = all_fine_with(no_spurious(), || {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = flag.clone();
        let waiter = thread::spawn(move || {
            thread::park();
            assert!(seen.load(Relaxed));
        });
        flag.store(true, Relaxed);
        waiter.thread().unpark();
        waiter.join().unwrap();
    });
    for run in &runs {
        let park = run.steps.iter().find(|step| step.thread == ThreadId(1));
        let Intent::Access { effect, awaits, .. } = park.unwrap().intent else {
            panic!("{park:?}");
        };
        assert_eq!(effect, Effect::Write);
        assert_eq!(awaits, Some(Condition::Equals(1)));
    }

    // A token is one, however often it is given; the second park waits for ever.
    let runs = Driver::with(no_spurious(), || {
        let me = thread::current();
        me.unpark();
        me.unpark();
        thread::park();
        thread::park();
    })
    .run_all();
    assert!(
        runs.iter()
            .all(|run| run.is_deadlock && run.steps.len() == 3)
    );
}

/// The scope waits by parking, so it may take the token that its thread was given.
#[test]
fn the_end_of_a_scope_may_take_the_token() {
    assert_deadlock(|| {
        let me = thread::current();
        thread::scope(|scope| {
            scope.spawn(|| me.unpark());
        });
        thread::park();
    });
    // It does not have to.
    let seen = Seen::new();
    let states = seen.clone();
    let outcome = Checker::new()
        .spurious_wakeups(false)
        .continue_after_failure(true);
    let outcome = outcome.run(move || {
        let me = thread::current();
        me.unpark();
        thread::scope(|scope| {
            scope.spawn(|| {});
        });
        thread::park();
        states.add("returned");
    });
    assert!(outcome.has_failed(), "{outcome}");
    assert_eq!(seen.sorted(), ["returned"]);
}

/// In `std` a thread of a scope runs as long as its handle exists.
#[test]
fn a_scope_with_a_leaked_handle_does_not_end() {
    let outcome = Checker::new().run(|| {
        thread::scope(|scope| std::mem::forget(scope.spawn(|| ())));
    });
    let text = outcome.to_string();
    assert!(text.starts_with("error: deadlock"), "{text}");
    assert!(text.contains("the handle was leaked"), "{text}");
    verified(|| {
        thread::scope(|scope| {
            let inner = scope.spawn(|| 1);
            scope.spawn(move || inner.is_finished());
        });
    });
}

/// A scope whose threads were joined does not park, nor does a join.
#[test]
fn a_scope_that_does_not_wait_leaves_the_token() {
    let explored = verified(|| {
        let me = thread::current();
        thread::scope(|scope| scope.spawn(|| me.unpark()).join().unwrap());
        thread::park();
        let me = thread::current();
        thread::spawn(move || me.unpark()).join().unwrap();
        thread::park();
    });
    assert_eq!(explored.restarts, 0);
    // A park before the end is not concerned, and nor is another thread.
    let explored = verified(|| {
        let me = thread::current();
        thread::scope(|scope| {
            let parked = scope.spawn(thread::park);
            scope.spawn(|| me.unpark());
            parked.thread().unpark();
            thread::park();
        });
    });
    assert_eq!(explored.restarts, 0);
}

#[test]
fn a_park_with_a_timeout_may_return_before_and_after() {
    let seen = Seen::new();
    let outcomes = seen.clone();
    all_fine(move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let outcomes = outcomes.clone();
        let waiter = thread::spawn(move || {
            thread::park_timeout(Duration::from_secs(1000));
            outcomes.add(other.load(Relaxed));
        });
        flag.store(true, Relaxed);
        waiter.thread().unpark();
        thread::sleep(Duration::from_secs(1000));
    });
    assert_eq!(seen.sorted(), [false, true]);
}

/// The answer can be "no" although the thread has done its last operation.
#[test]
fn is_finished_sees_threads_between_their_last_operation_and_their_end() {
    let program = |seen: Seen<(bool, bool)>| {
        move || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let thread = thread::spawn(move || other.store(true, Relaxed));
            let stored = flag.load(Relaxed);
            seen.add((stored, thread.is_finished()));
        }
    };
    let seen = Seen::new();
    let runs = Driver::new(program(seen.clone())).run_all();
    assert_eq!(runs.last().unwrap().restart, Some(Restart::VisibleEnds));
    let setup = Setup {
        are_ends_visible: true,
        ..Setup::default()
    };
    let seen = Seen::new();
    for run in Driver::with(setup, program(seen.clone())).run_all() {
        run.expect_fine();
    }
    assert_eq!(
        seen.sorted(),
        [(false, false), (false, true), (true, false), (true, true)]
    );
}

struct Noisy(Arc<std_atomic::AtomicUsize>);

impl Drop for Noisy {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

fencepost::thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(1) };
    static NOISE: RefCell<Vec<Noisy>> = RefCell::new(Vec::new());
}

#[test]
fn every_thread_has_its_own_storage_and_drops_it() {
    let drops = Arc::new(std_atomic::AtomicUsize::new(0));
    let dropped = drops.clone();
    let runs = all_fine(move || {
        assert_eq!(COUNT.get(), 1);
        COUNT.set(5);
        let shared = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let (shared, dropped) = (shared.clone(), dropped.clone());
                thread::spawn(move || {
                    assert_eq!(COUNT.replace(number), 1);
                    shared.fetch_add(1, Relaxed);
                    NOISE.with_borrow_mut(|noise| noise.push(Noisy(dropped)));
                    assert_eq!(COUNT.take(), number);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(COUNT.get(), 5);
    });
    assert_eq!(drops.load(Relaxed), 2 * runs.len());
    assert_eq!(COUNT.get(), 1);
}

/// What a thread-local value does when it is dropped.
struct AtEnd(Box<dyn Fn()>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        (self.0)();
    }
}

fencepost::thread_local! {
    static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
}

fn at_end(action: impl Fn() + 'static) {
    AT_END.set(Some(AtEnd(Box::new(action))));
}

/// A scope waits for the functions of its threads. Their thread-local values are dropped later.
#[test]
fn destructors_may_run_after_the_end_of_a_scope() {
    let seen = Seen::new();
    let values = seen.clone();
    let explored = verified(move || {
        let value = Arc::new(AtomicUsize::new(0));
        let dropped = value.clone();
        thread::scope(|scope| {
            scope.spawn(|| at_end(move || dropped.store(1, SeqCst)));
        });
        values.add(value.load(SeqCst));
    });
    assert_eq!(explored.restarts, 1);
    assert_eq!(seen.sorted(), [0, 1]);
    // They wait for what comes after the scope.
    verified(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let dropped = value.clone();
        thread::scope(|scope| {
            scope.spawn(|| {
                at_end(move || {
                    while dropped.load(SeqCst) == 0 {
                        thread::yield_now();
                    }
                });
            });
        });
        value.store(1, SeqCst);
    });
    // So the scope orders nothing that they do, and a join does.
    let shared = |joins: bool| {
        move || {
            let shared = Arc::new(Protected::new());
            let dropped = shared.clone();
            thread::scope(|scope| {
                let handle = scope.spawn(|| at_end(move || dropped.increment()));
                if joins {
                    handle.join().unwrap();
                }
            });
            shared.increment();
        }
    };
    assert_race(shared(false));
    verified(shared(true));
}

#[test]
fn a_scope_that_waits_for_a_thread_says_so_whether_or_not_destructors_are_late() {
    for is_late in [false, true] {
        let outcome = Checker::new().run(move || {
            let value = Arc::new(AtomicUsize::new(0));
            thread::scope(|scope| {
                let dropped = value.clone();
                // What is dropped early lets the check restart.
                scope.spawn(move || at_end(move || _ = is_late.then(|| dropped.load(SeqCst))));
            });
            let (_sender, receiver) = fencepost::sync::mpsc::channel::<()>();
            thread::scope(|scope| {
                scope.spawn(move || receiver.recv());
            });
        });
        let text = outcome.to_string();
        assert!(text.contains("main waits for the end of T2"), "{text}");
        assert_eq!(text.contains("replay(\"returns/"), is_late, "{text}");
    }
}

/// A thread is finished when its function has returned. A join waits for the destructors, too.
#[test]
fn destructors_may_run_after_a_thread_is_finished() {
    let seen = Seen::new();
    let values = seen.clone();
    verified(move || {
        let value = Arc::new(AtomicUsize::new(0));
        let dropped = value.clone();
        let thread = thread::spawn(|| at_end(move || dropped.store(1, SeqCst)));
        let is_finished = thread.is_finished();
        let early = value.load(SeqCst);
        thread.join().unwrap();
        values.add((is_finished, early, value.load(SeqCst)));
    });
    assert_eq!(
        seen.sorted(),
        [(false, 0, 1), (false, 1, 1), (true, 0, 1), (true, 1, 1)]
    );
}

/// Values whose destructors nobody notices cost nothing.
#[test]
fn destructors_that_nobody_notices_are_not_late() {
    let explored = verified(|| {
        thread::scope(|scope| {
            scope.spawn(|| at_end(|| ()));
            scope.spawn(|| COUNT.set(1));
        });
    });
    assert_eq!(explored.restarts, 0);
    assert_eq!(explored.report.executions, 1);
}

/// With stores that wait in buffers, those of a destructor are committed before the join.
#[test]
fn a_join_waits_for_the_stores_of_destructors() {
    let program = || {
        let value = Arc::new(AtomicUsize::new(0));
        let dropped = value.clone();
        let thread = thread::spawn(|| at_end(move || dropped.store(1, Relaxed)));
        thread.join().unwrap();
        assert_eq!(value.load(Relaxed), 1);
    };
    for checker in [Checker::new(), Checker::new().store_buffers(true)] {
        let outcome = checker.run(program);
        assert!(outcome.is_verified(), "{outcome}");
    }
}

static STATIC_DROPS: std_atomic::AtomicUsize = std_atomic::AtomicUsize::new(0);

struct Global {
    count: AtomicUsize,
}

impl Drop for Global {
    fn drop(&mut self) {
        STATIC_DROPS.fetch_add(self.count.load(Relaxed), Relaxed);
    }
}

fencepost::lazy_static! {
    static ref GLOBAL: Global = Global { count: AtomicUsize::new(*INITIAL).named("count") };
    static ref INITIAL: usize = 40;
}

#[test]
fn statics_begin_anew_in_every_execution() {
    let mut driver = Driver::new(|| {
        let thread = thread::spawn(|| GLOBAL.count.fetch_add(1, Relaxed));
        GLOBAL.count.fetch_add(1, Relaxed);
        thread.join().unwrap();
        assert_eq!(GLOBAL.count.load(Relaxed), 42);
    });
    let mut random = Random::new(5);
    let mut objects = std::collections::HashSet::new();
    for _ in 0..20 {
        let run = driver.run_random(&mut random);
        run.expect_fine();
        for step in run.steps {
            if let Intent::Access { object, .. } = step.intent {
                objects.insert(object);
            }
        }
    }
    assert_eq!(
        objects.len(),
        1,
        "whoever initialises it, it has one number"
    );
    assert_eq!(STATIC_DROPS.load(Relaxed), 20 * 42);
    assert_eq!(GLOBAL.count.load(Relaxed), 40, "and outside of a check too");
}

#[test]
fn a_hundred_threads_can_be_run() {
    let mut driver = Driver::new(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..100)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || counter.fetch_add(1, Relaxed))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(counter.load(Relaxed), 100);
    });
    let mut random = Random::new(3);
    for _ in 0..5 {
        driver.run_random(&mut random).expect_fine();
        driver.run_in_turns().expect_fine();
    }
}

#[test]
fn workers_of_a_check_agree_on_names() {
    use fencepost_runtime::{Checked, Registry, Runtime};
    let program: Checked = Arc::new(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let shared = shared.clone();
            thread::spawn(move || {
                let own = AtomicUsize::new(0);
                own.store(shared.fetch_add(1, Relaxed), Relaxed);
            });
        }
    });
    let registry = Arc::new(Registry::new(fencepost_runtime::LocationRef::caller()));
    let workers: Vec<_> = (0..4)
        .map(|seed| {
            let (program, registry) = (program.clone(), registry.clone());
            std::thread::spawn(move || {
                let mut driver = Driver {
                    runtime: Runtime::new(program, Setup::default(), registry.clone()),
                    registry,
                    performed: fencepost_explore::Performed::default(),
                    max_steps: 100,
                };
                let mut random = Random::new(seed);
                let mut intents = Vec::new();
                for _ in 0..50 {
                    let mut run = driver.run_random(&mut random);
                    run.expect_fine();
                    run.steps.sort_by_key(|step| step.thread);
                    intents = run.steps.iter().map(|s| (s.thread, s.intent)).collect();
                }
                // The numbers are those of who came first; the shape is the same for all.
                intents
            })
        })
        .collect();
    let results: Vec<Vec<_>> = workers.into_iter().map(|w| w.join().unwrap()).collect();
    assert!(results.iter().all(|intents| *intents == results[0]));
}
