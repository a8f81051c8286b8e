//! What reports call threads, objects and operations.
#![allow(unsafe_code)] // To share what must not be shared.

use fencepost::cell::UnsafeCell;
use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use fencepost::sync::{Arc, Mutex, RwLock};
use fencepost::{Checker, Outcome, Target, thread};

use super::{error, two};

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
