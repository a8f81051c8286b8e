//! Store-buffer violations, and the fences that reports suggest.

use std::sync::atomic::AtomicUsize as RealAtomicUsize;

use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicBool, AtomicUsize, fence};
use fencepost::sync::{Arc, Mutex};
use fencepost::{Checker, Outcome, Target, thread};

use super::{store_buffering, two};

/// What comes after a violation has not been run when the search ends there, nor is it when that is run again.
#[test]
fn nothing_is_run_after_a_violation_that_ends_the_search() {
    let after = std::sync::Arc::new(RealAtomicUsize::new(0));
    let count = std::sync::Arc::clone(&after);
    let program = move || {
        let both = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let threads = [0, 1].map(|one| {
            let (both, count) = (Arc::clone(&both), std::sync::Arc::clone(&count));
            thread::spawn(move || {
                both[one].store(1, Release);
                both[1 - one].load(Acquire);
                both[one].load(Acquire);
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    };
    let outcome = Checker::new().run(program.clone());
    assert!(matches!(outcome, Outcome::NotStoreBufferSafe(_)));
    // The other thread may have ended before: in the search and in the replay, and each time when the stale value was
    // tried.
    let ended = after.swap(0, std::sync::atomic::Ordering::Relaxed);
    assert!(ended <= 4, "{ended}");
    let outcome = Checker::new().continue_after_failure(true).run(program);
    assert!(matches!(outcome, Outcome::NotStoreBufferSafe(_)));
    let ended = after.load(std::sync::atomic::Ordering::Relaxed) as u64;
    assert!(ended > 2 * outcome.executions(), "{ended}");
}

#[test]
fn store_buffering_is_not_safe_and_fences_make_it_so() {
    let outcome = Checker::new().run(store_buffering());
    assert!(
        matches!(outcome, Outcome::NotStoreBufferSafe(_)),
        "{outcome}"
    );
    let text = outcome.to_string();
    for part in [
        "not store-buffer safe",
        "`x`",
        "`y`",
        "fence(Ordering::SeqCst)",
        "replay",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let fenced = Checker::new().run(two(
        || (AtomicUsize::new(0), AtomicUsize::new(0)),
        |(x, y)| {
            x.store(1, Relaxed);
            fence(SeqCst);
            y.load(Relaxed);
        },
        |(x, y)| {
            y.store(1, Relaxed);
            fence(SeqCst);
            x.load(Relaxed);
        },
    ));
    assert!(fenced.is_verified(), "{fenced}");
}

#[test]
fn message_passing_needs_release_under_pso_only() {
    let program = |order| {
        two(
            || (AtomicUsize::new(0), AtomicBool::new(false)),
            move |(data, ready)| {
                data.store(1, Relaxed);
                ready.store(true, order);
            },
            |(data, ready)| {
                if ready.load(Acquire) {
                    assert_eq!(data.load(Relaxed), 1);
                }
            },
        )
    };
    let pso = Checker::new().target(Target::Pso);
    assert!(Checker::new().run(program(Relaxed)).is_verified());
    assert!(matches!(
        pso.run(program(Relaxed)),
        Outcome::NotStoreBufferSafe(_)
    ));
    assert!(pso.run(program(Release)).is_verified());
}

/// Whoever takes a lock has no ordering to change.
#[test]
fn a_hint_gives_no_ordering_to_a_lock() {
    let text = |outcome: &Outcome| {
        assert!(
            matches!(outcome, Outcome::NotStoreBufferSafe(_)),
            "{outcome}"
        );
        outcome.to_string()
    };
    let checker = Checker::new().target(Target::Pso);
    let state = || (AtomicUsize::new(0), Mutex::new(()), AtomicBool::new(false));
    let locked = two(
        state,
        |(data, lock, _)| {
            data.store(1, Relaxed);
            std::mem::forget(lock.try_lock());
        },
        |(data, lock, _)| {
            if lock.try_lock().is_err() {
                data.load(Relaxed);
            }
        },
    );
    let locked = text(&checker.run(locked));
    assert!(!locked.contains("so does"), "{locked}");
    let stored = two(
        state,
        |(data, _, is_ready)| {
            data.store(1, Relaxed);
            is_ready.store(true, Relaxed);
        },
        |(data, _, is_ready)| {
            if is_ready.load(Relaxed) {
                data.load(Relaxed);
            }
        },
    );
    let stored = text(&checker.run(stored));
    assert!(stored.contains("or use `Ordering::Release`"), "{stored}");
}

/// The line of the hint, if there is one: `fence … after a:1 and before a:2`.
fn hint(outcome: &Outcome) -> String {
    let text = outcome.to_string();
    let help = text.lines().find(|line| line.starts_with("help:"));
    help.unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_hint_names_only_the_side_without_a_fence() {
    for target in [Target::X86, Target::Pso] {
        let one_fence = two(
            || [AtomicBool::new(false), AtomicBool::new(false)],
            |wants| {
                wants[0].store(true, Relaxed);
                fence(SeqCst);
                wants[1].load(Relaxed);
            },
            |wants| {
                wants[1].store(true, Relaxed);
                wants[0].load(Relaxed);
            },
        );
        let outcome = Checker::new().target(target).run(one_fence);
        let help = hint(&outcome);
        assert!(help.ends_with("(main) to rule out this cycle"), "{outcome}");
        let cycle = outcome.to_string();
        assert_eq!(cycle.matches("not kept by").count(), 1, "{cycle}");

        // An update of another variable is a fence on x86, and none under PSO.
        let one_update = two(
            || {
                (
                    [AtomicBool::new(false), AtomicBool::new(false)],
                    AtomicUsize::new(0),
                )
            },
            |(wants, turn)| {
                wants[0].store(true, Relaxed);
                turn.fetch_add(1, Relaxed);
                wants[1].load(Relaxed);
            },
            |(wants, _)| {
                wants[1].store(true, Relaxed);
                wants[0].load(Relaxed);
            },
        );
        let outcome = Checker::new().target(target).run(one_update);
        let places = outcome.to_string().matches("not kept by").count();
        let expected = if target == Target::X86 { 1 } else { 2 };
        assert_eq!(places, expected, "{outcome}");
    }
}
