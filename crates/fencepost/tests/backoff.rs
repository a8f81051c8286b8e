//! Loops that back off: with `Backoff`, with a declaration, and counted round by round.

use std::cell::Cell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use fencepost::hint::{Backoff, assume_waits};
use fencepost::sync::Arc;
use fencepost::sync::atomic::{AtomicBool, AtomicUsize};
use fencepost::{Assumption, Checker, Outcome, Target, hint, thread};

/// How the loops of a program wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiting {
    /// They only spin.
    Spins,
    /// With [`Backoff`].
    Backs,
    /// They count, and are declared to only wait.
    Declared,
    /// They count up to this limit.
    Counted(u32),
}

const ALL: [Waiting; 4] = [
    Waiting::Spins,
    Waiting::Backs,
    Waiting::Declared,
    Waiting::Counted(2),
];

/// Waits while a condition holds.
#[inline(always)]
fn wait_while(waiting: Waiting, condition: impl Fn() -> bool) {
    match waiting {
        Waiting::Spins => {
            while condition() {
                hint::spin_loop();
            }
        }
        Waiting::Backs => {
            let backoff = Backoff::new();
            while condition() {
                backoff.snooze();
            }
        }
        Waiting::Declared => {
            let step = Cell::new(0_u32);
            while condition() {
                for _ in 0..1 << step.get().min(6) {
                    std::hint::spin_loop();
                }
                step.set(step.get() + 1);
                assume_waits();
            }
        }
        Waiting::Counted(limit) => {
            let step = Cell::new(0);
            while condition() {
                step.set(limit.min(step.get() + 1));
                hint::spin_loop();
            }
        }
    }
}

/// How often each thread takes the lock, and what is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lock {
    Ticket,
    /// Its release skips a ticket, so that no thread gets the lock.
    TicketWithGap,
    Ttas,
    /// It is taken with a load and a store.
    TtasInTwoSteps,
    /// Two threads with flags, without fences.
    Flags,
}

#[derive(Default)]
struct Shared {
    words: [AtomicUsize; 2],
    is_inside: AtomicBool,
}

impl Shared {
    fn run(&self, lock: Lock, waiting: Waiting, thread: usize) {
        let [first, second] = &self.words;
        match lock {
            Lock::Ticket | Lock::TicketWithGap => {
                let ticket = first.fetch_add(1, Relaxed);
                wait_while(waiting, || second.load(Acquire) != ticket);
                self.enter();
                let step = 1 + usize::from(lock == Lock::TicketWithGap);
                second.store(ticket + step, Release);
            }
            Lock::Ttas => {
                let is_taken = || first.load(Relaxed) == 1 || first.swap(1, AcqRel) == 1;
                wait_while(waiting, is_taken);
                self.enter();
                first.store(0, Release);
            }
            Lock::TtasInTwoSteps => {
                wait_while(waiting, || first.load(Acquire) == 1);
                first.store(1, Release);
                self.enter();
                first.store(0, Release);
            }
            Lock::Flags => {
                let [own, other] = [&self.words[thread], &self.words[1 - thread]];
                own.store(1, Release);
                if other.load(Acquire) == 0 {
                    self.enter();
                }
                own.store(0, Release);
                wait_while(waiting, || other.load(Acquire) == 1);
            }
        }
    }

    fn enter(&self) {
        assert!(!self.is_inside.swap(true, Relaxed), "two are inside");
        self.is_inside.store(false, Relaxed);
    }
}

fn check(lock: Lock, waiting: Waiting, threads: usize, target: Target) -> Outcome {
    Checker::new().target(target).run(move || {
        let shared = Arc::new(Shared::default());
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let shared = shared.clone();
                thread::spawn(move || shared.run(lock, waiting, thread))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    })
}

fn verdict(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Verified(_) => "verified",
        Outcome::ProgramError(_) => "error",
        Outcome::NotStoreBufferSafe(_) => "not store-buffer safe",
        _ => "incomplete",
    }
}

#[test]
fn all_ways_to_wait_have_the_same_verdict() {
    let expected = [
        (Lock::Ticket, "verified"),
        (Lock::TicketWithGap, "error"),
        (Lock::Ttas, "verified"),
        (Lock::TtasInTwoSteps, "fails"),
        (Lock::Flags, "not store-buffer safe"),
    ];
    for (lock, expected) in expected {
        for target in [Target::X86, Target::Pso] {
            for waiting in ALL {
                let outcome = check(lock, waiting, 2, target);
                // Two threads get in, and the stores can be late too.
                let found = match expected {
                    "fails" if outcome.has_failed() => "fails",
                    _ => verdict(&outcome),
                };
                assert_eq!(
                    found, expected,
                    "{lock:?} {waiting:?} {target:?}: {outcome}"
                );
            }
        }
    }
}

/// A stale value that only repeats the wait is harmless, unless the wait is only declared.
#[test]
fn stale_values_are_judged_in_loops_that_come_back() {
    fn run(waits: fn(&AtomicUsize)) -> Outcome {
        Checker::new().run(move || {
            let flags = [AtomicUsize::new(0), AtomicUsize::new(0)];
            thread::scope(|scope| {
                scope.spawn(|| {
                    flags[0].store(1, Release);
                    waits(&flags[1]);
                });
                scope.spawn(|| {
                    flags[1].store(1, Release);
                    waits(&flags[0]);
                });
            });
        })
    }
    let outcome = run(|other| {
        let backoff = Backoff::new();
        while other.load(Acquire) == 0 {
            backoff.snooze();
        }
    });
    assert!(outcome.is_verified(), "{outcome}");
    let outcome = run(|other| {
        while other.load(Acquire) == 0 {
            assume_waits();
        }
    });
    assert_eq!(verdict(&outcome), "not store-buffer safe", "{outcome}");
}

/// The numbers of executions do not depend on how long the loops pause.
#[test]
fn backing_off_costs_few_executions() {
    for (lock, threads) in [(Lock::Ticket, 3), (Lock::Ttas, 3)] {
        let executions = |waiting| {
            let outcome = check(lock, waiting, threads, Target::X86);
            assert!(outcome.is_verified(), "{outcome}");
            outcome.details().executions()
        };
        let [spins, backs, declared] =
            [Waiting::Spins, Waiting::Backs, Waiting::Declared].map(executions);
        println!("{lock:?}, {threads} threads: {spins} {backs} {declared}");
        assert_eq!(backs, spins, "{lock:?}");
        assert!(declared <= 10 * spins, "{lock:?}: {declared} {spins}");
    }
}

#[test]
fn a_report_names_each_declaration_that_was_used() {
    let outcome = check(Lock::Ticket, Waiting::Declared, 2, Target::X86);
    let text = outcome.to_string();
    let assumed = "assumes:  the loop around `assume_waits` at crates/fencepost/tests/backoff.rs:";
    let lines = text.lines().filter(|line| line.contains(assumed));
    assert_eq!(lines.count(), 1, "{text}");
    assert!(
        text.contains(" only waits (tried for 1,000 rounds)"),
        "{text}"
    );
    let assumptions = outcome.details().assumptions();
    let is_declared = |one: &&Assumption| matches!(one, Assumption::DeclaredLoopsOnlyWait(_));
    assert_eq!(assumptions.iter().filter(is_declared).count(), 1);
    let outcome = check(Lock::Ticket, Waiting::Backs, 2, Target::X86);
    assert!(!outcome.to_string().contains("assume_waits"), "{outcome}");
}

/// Waits for a flag that is never set, or is set late, by `waits`.
fn waits_for_flag(is_set: bool, waits: fn(&AtomicBool)) -> Outcome {
    Checker::new().run(move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = {
            let flag = flag.clone();
            thread::spawn(move || flag.store(is_set, Release))
        };
        waits(&flag);
        other.join().unwrap();
    })
}

/// A declared loop that does more than wait is an error, though no assertion fails.
#[test]
fn a_wrong_declaration_is_an_error() {
    let gives_up: fn(&AtomicBool) = |flag| {
        for _ in 0..20 {
            if flag.load(Acquire) {
                return;
            }
            assume_waits();
        }
    };
    let looks_elsewhere: fn(&AtomicBool) = |flag| {
        let other = AtomicBool::new(false);
        let mut rounds = 0;
        while !flag.load(Acquire) {
            rounds += 1;
            if rounds == 7 {
                other.load(Relaxed);
            }
            assume_waits();
        }
    };
    // The declaration comes before the decision.
    let decides_later: fn(&AtomicBool) = |flag| {
        let mut is_set = flag.load(Acquire);
        while !is_set {
            is_set = flag.load(Acquire);
            assume_waits();
        }
    };
    for (waits, never_set) in [
        (gives_up, true),
        (looks_elsewhere, true),
        (decides_later, false),
    ] {
        for is_set in [true, !never_set] {
            let outcome = waits_for_flag(is_set, waits);
            assert_eq!(verdict(&outcome), "error", "{outcome}");
            let text = outcome.to_string();
            assert!(text.contains("is declared to only wait"), "{text}");
        }
    }
    // It ends without another operation.
    let outcome = Checker::new().run(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = {
            let flag = flag.clone();
            thread::spawn(move || {
                for _ in 0..5 {
                    if flag.load(Acquire) {
                        return;
                    }
                    assume_waits();
                }
            })
        };
        flag.store(true, Release);
        other.join().unwrap();
    });
    let text = outcome.to_string();
    assert!(text.contains("is declared to only wait"), "{text}");
}

/// A loop that changes something is no wait, whatever is declared.
#[test]
fn a_declared_loop_that_changes_something_is_explored() {
    let outcome = Checker::new().run(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let other = {
            let count = count.clone();
            thread::spawn(move || count.load(Relaxed))
        };
        for _ in 0..3 {
            count.fetch_add(1, Relaxed);
            assume_waits();
        }
        assert!(other.join().unwrap() != 2, "two");
    });
    assert!(outcome.to_string().contains("two"), "{outcome}");
}

#[test]
fn a_wait_for_what_never_happens_is_a_livelock() {
    let outcome = waits_for_flag(false, |flag| {
        while !flag.load(Acquire) {
            assume_waits();
        }
    });
    assert!(outcome.to_string().contains("livelock"), "{outcome}");
}

/// Both answers of `is_completed` are explored, in any round.
#[test]
fn a_completed_back_off_parks() {
    let parks = |looks_again: bool| {
        Checker::new().run(move || {
            let flag = Arc::new(AtomicBool::new(false));
            let sleeps = Arc::new(AtomicBool::new(false));
            let waiter = thread::current();
            let other = {
                let (flag, sleeps) = (flag.clone(), sleeps.clone());
                thread::spawn(move || {
                    flag.store(true, SeqCst);
                    if sleeps.swap(false, SeqCst) {
                        waiter.unpark();
                    }
                })
            };
            let backoff = Backoff::new();
            while !flag.load(SeqCst) {
                if !backoff.is_completed() {
                    backoff.snooze();
                    continue;
                }
                sleeps.store(true, SeqCst);
                if looks_again && flag.load(SeqCst) {
                    break;
                }
                thread::park();
            }
            other.join().unwrap();
        })
    };
    let outcome = parks(false);
    assert!(outcome.to_string().contains("deadlock"), "{outcome}");
    let outcome = parks(true);
    assert!(outcome.is_verified(), "{outcome}");
    println!("{outcome}");
    // A loop that only counts its rounds ends, and one that never asks does not.
    let outcome = Checker::new().run(|| {
        let backoff = Backoff::new();
        while !backoff.is_completed() {
            backoff.snooze();
        }
    });
    assert!(outcome.is_verified(), "{outcome}");
    assert!(outcome.details().executions() <= 2, "{outcome}");
}

/// Outside of a check it counts as crossbeam's does.
#[test]
fn outside_of_a_check_a_back_off_counts() {
    let backoff = Backoff::new();
    for _ in 0..20 {
        backoff.spin();
        assert!(!backoff.is_completed(), "spinning alone completes nothing");
    }
    for step in 7..=10 {
        assert!(!backoff.is_completed(), "{step}");
        backoff.snooze();
    }
    assert!(backoff.is_completed());
    assert_eq!(
        format!("{backoff:?}"),
        "Backoff { step: Cell { value: 11 }, is_completed: true, .. }"
    );
    backoff.reset();
    assert!(!backoff.is_completed());
    assume_waits();
}
