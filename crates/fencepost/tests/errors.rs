//! What goes wrong is reported, and the next execution works.

use std::sync::{Arc, Mutex};

use crate::support::{Driver, Seen, all_fine, first_error};
use fencepost::cell::UnsafeCell;
use fencepost::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use fencepost::thread;
use fencepost_memory::{Random, ThreadId};
use fencepost_runtime::{Current, OwnedLocation, ProgramError};

fn message(error: Option<ProgramError>) -> (String, Option<OwnedLocation>) {
    match error {
        Some(ProgramError::Misuse { message, location }) => (message, location),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_is_an_error_with_its_message_and_place() {
    let line = line!() + 4;
    let mut driver = Driver::new(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let other = value.clone();
        thread::spawn(move || assert_eq!(other.load(Relaxed), 0, "it was changed"));
        value.store(1, Relaxed);
        value.store(0, Relaxed);
    });
    let runs = driver.run_all();
    let Some(ProgramError::Panic {
        thread,
        message,
        location,
    }) = runs.last().unwrap().error.clone()
    else {
        panic!("{runs:?}");
    };
    assert_eq!(thread, ThreadId(1));
    assert!(message.contains("it was changed"), "{message}");
    let location = location.unwrap();
    assert!(location.file.ends_with("errors.rs"));
    assert_eq!(location.line, line);
    // The driver goes on as if nothing had happened.
    driver.run_first().expect_fine();
}

#[test]
fn a_panic_in_the_first_thread_before_its_first_step_is_an_error() {
    let mut driver = Driver::new(|| panic!("at once"));
    for _ in 0..3 {
        let error = driver.run_first().error;
        assert!(
            matches!(&error, Some(ProgramError::Panic { message, .. }) if message == "at once"),
            "{error:?}"
        );
    }
    let error = first_error(|| std::panic::resume_unwind(Box::new("resumed")));
    assert!(matches!(
        error,
        Some(ProgramError::Panic { location: None, .. })
    ));
}

/// Has operations in its destructor. A thread may be given up in the middle of that.
struct Guard {
    value: Arc<AtomicUsize>,
    _alive: Alive,
}

/// Counts how many are alive.
struct Alive(Arc<std::sync::atomic::AtomicUsize>);

impl Guard {
    fn new(alive: &Arc<std::sync::atomic::AtomicUsize>, value: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Relaxed);
        Guard {
            value: value.clone(),
            _alive: Alive(alive.clone()),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.value.fetch_add(1, SeqCst);
        self.value.load(SeqCst);
        thread::yield_now();
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[test]
fn executions_that_are_given_up_are_unwound() {
    let alive = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = alive.clone();
    let mut driver = Driver::new(move || {
        let value = Arc::new(AtomicUsize::new(0));
        let _outer = Guard::new(&counted, &value);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let _moved = Guard::new(&counted, &value);
                let (counted, value) = (counted.clone(), value.clone());
                thread::spawn(move || {
                    let _inner = Guard::new(&counted, &value);
                    value.fetch_add(1, Relaxed);
                    thread::park();
                })
            })
            .collect();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _scoped = Guard::new(&counted, &value);
                thread::park();
            });
            value.load(Relaxed);
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let mut random = Random::new(2);
    for given_up_after in 0..30 {
        let mut steps = 0;
        let run = driver.run(|choices| {
            steps += 1;
            (steps <= given_up_after).then(|| random.below(choices.len() as u64) as usize)
        });
        assert_eq!(run.error, None);
        assert_eq!(alive.load(Relaxed), 0, "after {given_up_after} steps");
    }
    let run = driver.run_in_turns();
    assert!(run.is_deadlock);
    assert_eq!(alive.load(Relaxed), 0);
}

/// The thread that panics has lent its stack to others, which use it while they are unwound.
#[test]
fn scoped_threads_are_unwound_before_what_they_borrow() {
    struct Borrower<'a>(&'a Mutex<Vec<&'static str>>, &'a AtomicUsize);
    impl Drop for Borrower<'_> {
        fn drop(&mut self) {
            self.1.fetch_add(1, Relaxed);
            self.0.lock().unwrap().push("borrower");
        }
    }
    struct Owner(Mutex<Vec<&'static str>>, Seen<Vec<&'static str>>);
    impl Drop for Owner {
        fn drop(&mut self) {
            let mut log = std::mem::take(self.0.get_mut().unwrap());
            log.push("owner");
            self.1.add(log);
        }
    }
    let seen = Seen::new();
    let logs = seen.clone();
    let mut driver = Driver::new(move || {
        let owner = Owner(Mutex::new(Vec::new()), logs.clone());
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _borrower = Borrower(&owner.0, &count);
                    thread::park();
                });
            }
            count.load(Relaxed);
            panic!("the owner goes first");
        });
    });
    let run = driver.run_first();
    assert!(matches!(run.error, Some(ProgramError::Panic { .. })));
    assert_eq!(seen.sorted(), [vec!["borrower", "borrower", "owner"]]);
    driver.run_first();
}

#[test]
fn destructors_that_wait_for_ever_do_not_hang_the_check() {
    struct Waits(Arc<AtomicBool>);
    impl Drop for Waits {
        fn drop(&mut self) {
            while !self.0.load(Relaxed) {
                thread::yield_now();
            }
        }
    }
    struct Joins(Option<thread::JoinHandle<()>>);
    impl Drop for Joins {
        fn drop(&mut self) {
            self.0.take().unwrap().join().unwrap();
        }
    }
    let mut driver = Driver::new(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let _waits = Waits(flag.clone());
        let other = flag.clone();
        let _joins = Joins(Some(thread::spawn(move || {
            thread::park();
            other.store(true, Relaxed);
        })));
        flag.load(Relaxed);
        thread::park();
    });
    for _ in 0..3 {
        assert!(driver.run_first().is_deadlock);
    }
    all_fine(|| ());
}

#[test]
fn an_execution_whose_thread_catches_its_panic_is_over_too() {
    let mut driver = Driver::new(|| {
        let value = AtomicUsize::new(0);
        for _ in 0..3 {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                value.fetch_add(1, Relaxed);
                panic!("caught");
            }));
        }
        value.load(Relaxed);
    });
    for _ in 0..2 {
        let error = driver.run_first().error;
        assert!(matches!(&error, Some(ProgramError::Panic { message, .. }) if message == "caught"));
    }
}

#[inline(never)]
fn recurse(depth: u64, value: &AtomicUsize) -> u64 {
    let array = std::hint::black_box([depth; 32]);
    if depth == 0 {
        value.load(Relaxed);
        return 0;
    }
    recurse(depth - 1, value) + std::hint::black_box(array)[3]
}

#[test]
fn a_stack_overflow_is_an_error_and_not_the_end() {
    for _ in 0..3 {
        let mut driver = Driver::new(|| {
            let value = AtomicUsize::new(0);
            recurse(10, &value);
            let thread = thread::Builder::new().stack_size(64 * 1024);
            let thread = thread.spawn(|| recurse(u64::MAX, &AtomicUsize::new(0)));
            thread.unwrap().join().unwrap();
        });
        for _ in 0..2 {
            assert_eq!(
                driver.run_first().error,
                Some(ProgramError::StackOverflow {
                    thread: ThreadId(1),
                    size: 64 * 1024
                })
            );
        }
    }
    // A thread with a larger stack gets further.
    all_fine(|| {
        let thread = thread::Builder::new().stack_size(32 << 20);
        let thread = thread.spawn(|| recurse(5_000, &AtomicUsize::new(0)));
        thread.unwrap().join().unwrap();
    });
}

#[test]
fn objects_from_outside_are_bad_use() {
    let made = line!() + 1;
    let outside = Arc::new(AtomicUsize::new(0));
    let other = outside.clone();
    let used = line!() + 1;
    let error = first_error(move || assert_eq!(other.load(Relaxed), 0));
    let (message, location) = message(error);
    assert!(message.contains(&format!("errors.rs:{made}:")), "{message}");
    assert!(message.contains("outside of the check"), "{message}");
    assert_eq!(location.unwrap().line, used);
    outside.store(1, Relaxed);

    let cell = Arc::new(Mutex::new(UnsafeCell::new(0)));
    let error = first_error(move || cell.lock().unwrap().with(|_| ()));
    let (message, _) = self::message(error);
    assert!(message.contains("outside of this execution"), "{message}");
}

#[test]
fn objects_of_earlier_executions_are_bad_use() {
    let kept: Arc<Mutex<Option<Arc<AtomicUsize>>>> = Arc::default();
    let keep = kept.clone();
    let mut driver = Driver::new(move || {
        let mut kept = keep.lock().unwrap_or_else(|e| e.into_inner());
        let object = kept
            .get_or_insert_with(|| Arc::new(AtomicUsize::new(0)))
            .clone();
        drop(kept);
        object.load(Relaxed);
    });
    driver.run_first().expect_fine();
    let (text, location) = message(driver.run_first().error);
    assert!(text.contains("in an earlier execution"), "{text}");
    assert!(location.unwrap().file.ends_with("errors.rs"));

    // After the check, its objects are of no use to anybody.
    let object = kept.lock().unwrap().take().unwrap();
    let used = std::panic::catch_unwind(|| object.load(Relaxed));
    let said = *used.unwrap_err().downcast::<String>().unwrap();
    assert!(said.contains("fencepost::thread"), "{said}");
}

#[test]
fn threads_that_the_check_does_not_know_are_bad_use() {
    let error = first_error(|| {
        let object = Arc::new(AtomicUsize::new(0));
        let other = object.clone();
        let stranger = std::thread::spawn(move || other.load(Relaxed));
        assert!(stranger.join().is_err());
        object.load(Relaxed);
    });
    let (message, _) = message(error);
    assert!(
        message.contains("spawn threads with fencepost::thread"),
        "{message}"
    );
}

#[test]
fn a_check_inside_a_check_is_bad_use() {
    let seen = Seen::new();
    let inner = seen.clone();
    all_fine(move || {
        let (message, _) = message(Driver::new(|| ()).run_first().error);
        inner.add(message);
    });
    assert_eq!(seen.sorted(), ["cannot run a check inside a check"]);
}

#[test]
fn what_is_watched_has_to_be_dropped() {
    let line = line!() + 3;
    let error = first_error(|| {
        let current = Current::get().unwrap();
        let watch = current.track_drop("Arc", fencepost_runtime::LocationRef::caller());
        let dropped = current.track_drop("Arc", fencepost_runtime::LocationRef::caller());
        dropped.end();
        let _ = watch;
    });
    let Some(ProgramError::Leak { what, location }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((what, location.line), ("Arc", line));
}

#[test]
fn orderings_that_do_not_exist_panic_as_in_std() {
    type Use = fn(&AtomicUsize);
    let uses: [(Use, &str); 6] = [
        (
            |a| _ = a.load(Release),
            "there is no such thing as a release load",
        ),
        (
            |a| _ = a.load(AcqRel),
            "there is no such thing as an acquire-release load",
        ),
        (
            |a| a.store(0, Acquire),
            "there is no such thing as an acquire store",
        ),
        (
            |a| a.store(0, AcqRel),
            "there is no such thing as an acquire-release store",
        ),
        (
            |a| _ = a.compare_exchange(0, 0, SeqCst, Release),
            "there is no such thing as a release failure ordering",
        ),
        (
            |_| fencepost::sync::atomic::fence(Relaxed),
            "there is no such thing as a relaxed fence",
        ),
    ];
    for (wrong, expected) in uses {
        let error = first_error(move || wrong(&AtomicUsize::new(0)));
        let Some(ProgramError::Panic { message, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(message, expected);
        let outside = std::panic::catch_unwind(|| wrong(&AtomicUsize::new(0)));
        let payload = outside.unwrap_err();
        let said = payload
            .downcast_ref::<&str>()
            .map(|said| (*said).to_owned());
        let said = said.or_else(|| payload.downcast_ref::<String>().cloned());
        assert_eq!(said.as_deref(), Some(expected), "std agrees");
    }
}
