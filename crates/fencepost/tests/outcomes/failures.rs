//! Errors of the program: failed assertions, races, leaks and stack overflows.
#![allow(unsafe_code)] // To share what must not be shared.

use fencepost::cell::UnsafeCell;
use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::{Relaxed, SeqCst};
use fencepost::sync::{Arc, Mutex};
use fencepost::{Checker, Outcome, thread};

use super::{assert_says, checks_still_work, error, two};

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
    assert!(text.contains("outcomes/failures.rs"), "{text}");
    assert!(text.contains("fencepost::replay("), "{text}");
    checks_still_work();
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
    // Sizes between these can overflow inside of the allocator, whose lock is then never released.
    let outcomes = [spawns_large::<1_000>(), spawns_large::<50_000>()];
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
