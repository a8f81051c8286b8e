//! Programs that cannot be checked: nondeterministic ones, and those that use what belongs to a check outside of it.
#![allow(unsafe_code)] // To share what must not be shared.

use std::sync::atomic::AtomicUsize as RealAtomicUsize;

use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::{Relaxed, SeqCst};
use fencepost::sync::{Arc, Mutex};
use fencepost::{Checker, Outcome, thread};

use super::{assert_says, checks_still_work, error};

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

#[test]
fn a_check_inside_a_check_is_refused() {
    let outcome = Checker::new().run(|| fencepost::check(|| ()));
    assert_says(&outcome, "inside a check");
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
