//! Loops that wait, and loops that only seem to: a loop is a wait if it comes back to the same state.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::Duration;

use fencepost::sync::atomic::{AtomicBool, AtomicUsize};
use fencepost::sync::{Arc, Condvar, Mutex, mpsc};
use fencepost::{Assumption, Checker, Outcome, Strategy, Target, hint, thread};
use fencepost_explore::{Settings, SpinRule};
use fencepost_runtime::{ComparedStates, Setup};

use crate::explorer::explore_with;

/// Spins `tries` times for the lock, then parks until it is released.
fn spins_then_parks(tries: usize, looks_again: bool) -> Outcome {
    Checker::new().run(move || {
        let held = Arc::new(AtomicBool::new(true));
        let waits = Arc::new(AtomicBool::new(false));
        let owner = thread::current();
        let releases = {
            let (held, waits) = (held.clone(), waits.clone());
            move || {
                held.store(false, SeqCst);
                if waits.swap(false, SeqCst) {
                    owner.unpark();
                }
            }
        };
        let releasing = thread::spawn(releases);
        let take = || held.compare_exchange(false, true, SeqCst, SeqCst).is_ok();
        let lock = || {
            for _ in 0..tries {
                if take() {
                    return;
                }
                hint::spin_loop();
            }
            loop {
                waits.store(true, SeqCst);
                if looks_again && take() {
                    return;
                }
                thread::park();
                if take() {
                    return;
                }
            }
        };
        lock();
        releasing.join().unwrap();
    })
}

#[test]
fn a_lost_wakeup_after_some_tries_is_found() {
    for tries in [3, 10, 100, 10_000] {
        let outcome = spins_then_parks(tries, false);
        assert!(
            outcome.to_string().contains("deadlock"),
            "{tries}: {outcome}"
        );
        let outcome = spins_then_parks(tries, true);
        assert!(outcome.is_verified(), "{tries}: {outcome}");
    }
}

/// A thread that counts to six.
struct Counted {
    value: Arc<AtomicUsize>,
    thread: thread::JoinHandle<()>,
}

impl Counted {
    fn begin() -> Self {
        let value = Arc::new(AtomicUsize::new(0));
        let counted = value.clone();
        let thread = thread::spawn(move || {
            for _ in 0..6 {
                counted.fetch_add(1, SeqCst);
            }
        });
        Counted { value, thread }
    }
}

#[test]
fn a_random_number_in_a_local_variable_is_state() {
    let outcome = Checker::new().run(|| {
        let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let sets = {
            let flags = flags.clone();
            thread::spawn(move || flags[1].store(true, SeqCst))
        };
        let (x, y) = (Counted::begin(), Counted::begin());
        let mut r = 12345_u32;
        loop {
            r = r.wrapping_mul(1_103_515_245).wrapping_add(12345);
            if flags[(r >> 16) as usize % 2].load(SeqCst) {
                break;
            }
            hint::spin_loop();
        }
        let seen = (x.value.load(SeqCst), y.value.load(SeqCst));
        assert!(seen != (3, 3));
        for thread in [sets, x.thread, y.thread] {
            thread.join().unwrap();
        }
    });
    let text = outcome.to_string();
    assert!(text.contains("(3, 3)"), "{text}");
    // The search has found it, and no sampled execution.
    assert!(!text.contains("they spin for up to"), "{text}");
}

#[test]
fn two_pauses_are_no_loop() {
    fn pause() {
        thread::yield_now()
    }
    let program = |wrong: (usize, usize)| {
        let z = AtomicUsize::new(0);
        let (x, y) = (Counted::begin(), Counted::begin());
        z.load(SeqCst);
        pause();
        z.load(SeqCst);
        pause();
        let seen = (x.value.load(SeqCst), y.value.load(SeqCst));
        assert!(seen != wrong, "both at {}", seen.0);
        for thread in [x.thread, y.thread] {
            thread.join().unwrap();
        }
    };
    let assert_no_loop = |outcome: &Outcome| {
        let assumptions = outcome.details().assumptions();
        let is_of_loops = |one: &&Assumption| {
            matches!(
                one,
                Assumption::LoopsOnlyWait(..) | Assumption::DeclaredLoopsOnlyWait(_)
            )
        };
        assert_eq!(assumptions.iter().find(is_of_loops), None, "{outcome}");
        let text = outcome.to_string();
        assert!(!text.contains("only wait"), "{text}");
        assert!(!text.contains("same state"), "{text}");
    };
    for both in 0..=6 {
        let outcome = Checker::new().run(move || program((both, both)));
        let text = outcome.to_string();
        assert!(text.contains(&format!("both at {both}")), "{text}");
        assert_no_loop(&outcome);
    }
    let outcome = Checker::new().run(move || program((7, 7)));
    assert!(outcome.is_verified(), "{outcome}");
    assert_no_loop(&outcome);
}

#[test]
fn tries_that_end_are_no_livelock() {
    let outcome = Checker::new().run(|| {
        let x = AtomicUsize::new(0);
        for _ in 0..5000 {
            if x.load(SeqCst) == 1 {
                break;
            }
            hint::spin_loop();
        }
    });
    assert!(outcome.is_verified(), "{outcome}");
}

/// Waits by `waits` for what another thread does by `sets`.
fn waits_for<S: Send + Sync + 'static>(make: fn() -> S, sets: fn(&S), waits: fn(&S)) -> Outcome {
    Checker::new().run(move || {
        let shared = Arc::new(make());
        let other = {
            let shared = shared.clone();
            thread::spawn(move || sets(&shared))
        };
        waits(&shared);
        other.join().unwrap();
    })
}

fn flag() -> AtomicBool {
    AtomicBool::new(false)
}
fn set(flag: &AtomicBool) {
    flag.store(true, Release)
}

#[test]
fn loops_without_hints_are_waits() {
    let outcomes = [
        waits_for(flag, set, |flag| while !flag.load(Acquire) {}),
        waits_for(flag, set, |flag| {
            while flag.compare_exchange(true, false, SeqCst, SeqCst).is_err() {}
        }),
        waits_for(flag, set, |flag| {
            let mut rounds = 0;
            while !flag.load(Acquire) {
                rounds = 1 - rounds;
            }
            std::hint::black_box(rounds);
        }),
        waits_for(
            || AtomicBool::new(true),
            |lock| lock.store(false, Release),
            |lock| while lock.swap(true, SeqCst) {},
        ),
        waits_for(flag, set, |flag| {
            while !flag.load(Acquire) {
                std::hint::black_box(format!("{}", 7));
            }
        }),
    ];
    for outcome in outcomes {
        println!("{outcome}");
        assert!(outcome.is_verified(), "{outcome}");
    }
}

#[test]
fn a_compare_exchange_whose_expected_value_changes_is_no_wait() {
    // The expected value is in a register only.
    let outcome = waits_for(
        || AtomicUsize::new(10),
        |x| x.store(11, Release),
        |x| {
            let mut expected = 0;
            while x.compare_exchange(expected, 100, SeqCst, SeqCst).is_err() {
                expected += 1;
            }
            assert!(expected != 10, "expected ten");
        },
    );
    assert!(outcome.to_string().contains("expected ten"), "{outcome}");
}

/// Looks once whether something has been done, and pauses.
type WayToTry = fn(&Tried) -> bool;

/// The ways to try something that another thread has to do first. Each looks once, and then pauses for a while.
const WAYS_TO_TRY: [(&str, WayToTry); 8] = [
    ("spin", |tried| {
        hint::spin_loop();
        tried.flag.load(Acquire)
    }),
    ("sleep", |tried| {
        thread::sleep(A_WHILE);
        tried.flag.load(Acquire)
    }),
    ("yield_now", |tried| {
        thread::yield_now();
        tried.flag.load(Acquire)
    }),
    ("park_timeout", |tried| {
        thread::park_timeout(A_WHILE);
        tried.flag.load(Acquire)
    }),
    ("try_lock", |tried| {
        tried.lock.try_lock().is_ok_and(|is_set| *is_set)
    }),
    ("wait_timeout", |tried| {
        let guard = tried.lock.lock().unwrap();
        let waited = tried.condvar.wait_timeout(guard, A_WHILE);
        *waited.unwrap().0
    }),
    ("try_recv", |tried| tried.receiver.try_recv().is_ok()),
    ("recv_timeout", |tried| {
        tried.receiver.recv_timeout(A_WHILE).is_ok()
    }),
];

const A_WHILE: Duration = Duration::from_millis(1);

/// What another thread sets, notifies or sends once.
struct Tried {
    flag: Arc<AtomicBool>,
    lock: Arc<Mutex<bool>>,
    condvar: Arc<Condvar>,
    receiver: mpsc::Receiver<()>,
}

/// Tries so often, and then gives up.
fn tries(most: usize, succeeds: fn(&Tried) -> bool) -> Outcome {
    Checker::new().run(move || {
        let (sender, receiver) = mpsc::channel();
        let tried = Tried {
            flag: Arc::default(),
            lock: Arc::default(),
            condvar: Arc::default(),
            receiver,
        };
        let (flag, lock, condvar) = (
            tried.flag.clone(),
            tried.lock.clone(),
            tried.condvar.clone(),
        );
        let other = thread::spawn(move || {
            flag.store(true, Release);
            *lock.lock().unwrap() = true;
            condvar.notify_one();
            // The receiver may be gone.
            let _ = sender.send(());
        });
        let has_succeeded = (0..most).any(|_| succeeds(&tried));
        other.join().unwrap();
        assert!(has_succeeded, "gave up");
    })
}

#[test]
fn some_tries_and_then_a_wrong_path_are_found() {
    for (way, succeeds) in WAYS_TO_TRY {
        for most in 2..=4 {
            let outcome = tries(most, succeeds);
            let text = outcome.to_string();
            assert!(text.contains("gave up"), "{way}, {most}: {text}");
            // The search has found it, and no sampled execution.
            assert!(!text.contains("they spin for up to"), "{way}: {text}");
        }
    }
}

#[test]
fn a_condition_that_counts_does_not_only_wait() {
    let program = || {
        let (tries, condvar) = (Mutex::new(0), Condvar::new());
        let wait = condvar.wait_while(tries.lock().unwrap(), |tries| {
            *tries += 1;
            *tries < 4
        });
        assert!(*wait.unwrap() < 4, "four tries");
    };
    let outcome = Checker::new().continue_after_failure(true).run(program);
    let text = outcome.to_string();
    assert!(text.contains("four tries"), "{text}");
    assert!(text.contains("deadlock"), "nobody notifies: {text}");
}

#[test]
fn a_park_that_counts_does_not_only_wait() {
    let program = || {
        for tried in 0.. {
            thread::park();
            assert!(tried < 3, "four times");
        }
    };
    let outcome = Checker::new().continue_after_failure(true).run(program);
    assert!(outcome.to_string().contains("four times"), "{outcome}");
}

/// Mutable access that changes nothing is no change.
#[test]
fn a_consumer_that_waits_comes_back() {
    let outcome = Checker::new().run(|| {
        let queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
        let producer = {
            let queue = queue.clone();
            thread::spawn(move || {
                queue.0.lock().unwrap().push_back(7);
                queue.1.notify_one();
            })
        };
        let mut guard = queue.0.lock().unwrap();
        let value = loop {
            match guard.pop_front() {
                Some(value) => break value,
                None => guard = queue.1.wait(guard).unwrap(),
            }
        };
        assert_eq!(value, 7);
        drop(guard);
        producer.join().unwrap();
    });
    assert!(outcome.is_verified(), "{outcome}");
}

/// A loop that does not come back to the same state, and does not end, leaves the check incomplete.
#[test]
fn a_wait_in_ever_other_states_is_bounded() {
    let outcome = Checker::new().run(|| {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let opener = {
            let gate = gate.clone();
            thread::spawn(move || {
                *gate.0.lock().unwrap() = true;
                gate.1.notify_one();
            })
        };
        let mut is_open = gate.0.lock().unwrap();
        let mut rounds = 0_u64;
        while !*is_open {
            rounds += 1;
            is_open = gate.1.wait(is_open).unwrap();
        }
        std::hint::black_box(rounds);
        drop(is_open);
        opener.join().unwrap();
    });
    assert!(matches!(outcome, Outcome::Incomplete(_)), "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("up to 7 times in a row"), "{text}");
}

/// Runs two threads on shared variables, for a target.
fn two_threads<const N: usize>(
    target: Target,
    first: fn(&[AtomicUsize; N]),
    second: fn(&[AtomicUsize; N]),
) -> Outcome {
    Checker::new().target(target).run(move || {
        let shared = [(); N].map(|()| AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| first(&shared));
            scope.spawn(|| second(&shared));
        });
    })
}

const TARGETS: [Target; 2] = [Target::X86, Target::Pso];

#[test]
fn a_rendezvous_is_store_buffer_safe() {
    fn meets<const I: usize>(flags: &[AtomicUsize; 2]) {
        flags[I].store(1, Release);
        while flags[1 - I].load(Acquire) == 0 {
            hint::spin_loop();
        }
    }
    fn meets_without_hint<const I: usize>(flags: &[AtomicUsize; 2]) {
        flags[I].store(1, Release);
        while flags[1 - I].load(Acquire) == 0 {}
    }
    for target in TARGETS {
        let outcome = two_threads(target, meets::<0>, meets::<1>);
        assert!(outcome.is_verified(), "{outcome}");
        let text = outcome.to_string();
        assert!(text.contains("comes back to the same state"), "{text}");
        let outcome = two_threads(target, meets_without_hint::<0>, meets_without_hint::<1>);
        assert!(outcome.is_verified(), "{outcome}");
    }
}

/// A stale read that ends the wait, or that does something else in a round, counts.
#[test]
fn stale_reads_that_do_more_than_wait_are_found() {
    fn enters<const I: usize>(flags: &[AtomicUsize; 2]) {
        flags[I].store(1, Release);
        while flags[1 - I].load(Acquire) == 1 {
            flags[I].store(0, Release);
            flags[I].store(1, Release);
        }
    }
    fn counts<const I: usize>(flags: &[AtomicUsize; 2]) {
        flags[I].store(1, Release);
        let mut rounds = 0;
        while flags[1 - I].load(Acquire) == 0 {
            rounds += 1;
            if rounds > 2 {
                break;
            }
        }
    }
    /// The stale read is in the middle of a round that reads on.
    fn looks_twice<const I: usize>(flags: &[AtomicUsize; 2]) {
        flags[I].store(1, Release);
        loop {
            let first = flags[1 - I].load(Acquire);
            let second = flags[1 - I].load(Acquire);
            if second == 1 {
                assert!(first < 2);
                break;
            }
        }
    }
    for target in TARGETS {
        for outcome in [
            two_threads(target, enters::<0>, enters::<1>),
            two_threads(target, counts::<0>, counts::<1>),
            two_threads(target, looks_twice::<0>, looks_twice::<1>),
        ] {
            assert!(
                outcome.to_string().contains("not store-buffer safe"),
                "{outcome}"
            );
        }
    }
}

/// Of two stale values, the older one leads elsewhere.
#[test]
fn an_older_stale_value_is_found() {
    fn writes(shared: &[AtomicUsize; 3]) {
        shared[0].store(1, Relaxed);
        shared[0].store(2, Relaxed);
        shared[0].store(3, Relaxed);
        shared[1].swap(1, SeqCst);
        shared[2].load(Relaxed);
    }
    fn waits(shared: &[AtomicUsize; 3]) {
        shared[2].store(1, Relaxed);
        loop {
            match shared[0].load(Relaxed) {
                2 => {}
                3 => break,
                _ => return,
            }
        }
    }
    fn only_waits(shared: &[AtomicUsize; 3]) {
        shared[2].store(1, Relaxed);
        while shared[0].load(Relaxed) != 3 {}
    }
    let outcome = two_threads(Target::X86, writes, waits);
    let text = outcome.to_string();
    assert!(text.contains("not store-buffer safe"), "{text}");
    let outcome = two_threads(Target::X86, writes, only_waits);
    assert!(outcome.is_verified(), "{outcome}");
}

/// The violation is in a round that fails, and the rounds that end the loop never read `b`.
#[test]
fn a_stale_read_in_a_failed_round_is_found() {
    fn writes(shared: &[AtomicUsize; 2]) {
        let [a, b] = shared;
        b.store(1, Relaxed);
        a.store(1, Relaxed);
        a.store(2, Relaxed);
    }
    fn waits(shared: &[AtomicUsize; 2]) {
        let [a, b] = shared;
        loop {
            let r = a.load(Relaxed);
            if r == 1 && b.load(Relaxed) == 0 {
                panic!("stale");
            }
            if r == 2 {
                break;
            }
        }
    }
    let outcome = two_threads(Target::Pso, writes, waits);
    assert!(
        outcome.to_string().contains("not store-buffer safe"),
        "{outcome}"
    );
    let outcome = two_threads(Target::X86, writes, waits);
    assert!(outcome.is_verified(), "{outcome}");
}

/// The first thread waits for the second one, unless the limit is 0. Returns what both have seen.
fn meets(flags: &[AtomicUsize; 2], limit: impl FnOnce() -> usize) -> usize {
    let limit = limit();
    flags[0].store(1, Relaxed);
    loop {
        let seen = flags[1].load(Relaxed);
        if seen >= limit {
            return seen;
        }
    }
}

/// Whether the second thread is seen to have come first.
fn looks(flags: &[AtomicUsize; 2]) -> usize {
    flags[1].store(1, Relaxed);
    flags[0].load(Relaxed)
}

/// What a stale value leads to depends on all that the thread knows: what it has read itself, what a
/// lock protects, what a joined thread has returned, and what the thread captures.
#[test]
fn a_stale_value_is_tried_with_all_that_the_thread_knows() {
    let reads = || {
        let limit = Arc::new(AtomicUsize::new(1));
        let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let waits = {
            let (limit, flags) = (limit.clone(), flags.clone());
            thread::spawn(move || meets(&flags, || limit.load(Relaxed)))
        };
        let looks = thread::spawn(move || looks(&flags));
        limit.store(0, Relaxed);
        let seen = (waits.join().unwrap(), looks.join().unwrap());
        assert!(seen != (0, 0));
    };
    let locks = || {
        let limit = Arc::new(Mutex::new(1));
        let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let waits = {
            let (limit, flags) = (limit.clone(), flags.clone());
            thread::spawn(move || meets(&flags, || *limit.lock().unwrap()))
        };
        let looks = thread::spawn(move || looks(&flags));
        *limit.lock().unwrap() = 0;
        let seen = (waits.join().unwrap(), looks.join().unwrap());
        assert!(seen != (0, 0));
    };
    let captures = || {
        let limit = Arc::new(AtomicUsize::new(1));
        let (reads, lowers) = (limit.clone(), limit);
        let reads = thread::spawn(move || reads.load(Relaxed));
        let lowers = thread::spawn(move || lowers.store(0, Relaxed));
        let limit = reads.join().unwrap();
        let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let waits = {
            let flags = flags.clone();
            thread::spawn(move || meets(&flags, || limit))
        };
        let looks = thread::spawn(move || looks(&flags));
        let seen = (waits.join().unwrap(), looks.join().unwrap());
        assert!(seen != (0, 0));
        lowers.join().unwrap();
    };
    let programs: [fn(); 3] = [reads, locks, captures];
    for (number, program) in programs.into_iter().enumerate() {
        let outcome = Checker::new().run(program);
        let text = outcome.to_string();
        assert!(text.contains("not store-buffer safe"), "{number}: {text}");
    }
}

/// Two threads take a lock that spins without hints, and count under it.
fn locks_by_spinning() {
    let (held, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let add = || {
        while held.swap(true, Acquire) {
            while held.load(Relaxed) {}
        }
        let before = count.load(Relaxed);
        count.store(before + 1, Relaxed);
        held.store(false, Release);
    };
    thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
    });
    assert_eq!(count.load(Relaxed), 2);
}

/// The same, but the second one that fails to take it three times does without.
fn locks_unless_it_takes_long() {
    let (held, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let add = || {
        let mut tries = 0;
        while held.swap(true, Acquire) && tries < 3 {
            tries += 1;
        }
        let before = count.load(Relaxed);
        count.store(before + 1, Relaxed);
        held.store(false, Release);
    };
    thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
    });
    assert_eq!(count.load(Relaxed), 2, "lost");
}

/// Waits are no errors, and loops that give up are, in whatever way executions are searched.
#[test]
fn every_search_tells_waits_from_loops_that_give_up() {
    let new = Checker::new;
    let pct = new().strategy(Strategy::Pct);
    let searches = [
        ("exhaustive", new(), true),
        ("three workers", new().workers(3), true),
        ("bounded", new().preemption_bound(2), true),
        (
            "strictly bounded",
            new().preemption_bound(2).strict_bound(true),
            false,
        ),
        ("PSO", new().target(Target::Pso), true),
        ("buffers", new().store_buffers(true), true),
        (
            "buffers of PSO",
            new().target(Target::Pso).store_buffers(true),
            true,
        ),
        (
            "random",
            new().strategy(Strategy::Random).executions(3000),
            false,
        ),
        ("PCT", pct.executions(3000), false),
    ];
    for (name, checker, is_whole) in searches {
        let outcome = checker.run(locks_by_spinning);
        let text = outcome.to_string();
        assert!(!outcome.has_failed(), "{name}: {text}");
        assert_eq!(outcome.is_verified(), is_whole, "{name}: {text}");
        assert!(text.contains("back to the same state"), "{name}: {text}");
        let outcome = checker.run(locks_unless_it_takes_long);
        let text = outcome.to_string();
        assert!(text.contains("lost"), "{name}: {text}");
        // The search has found it, and no sampled execution.
        assert!(!text.contains("they spin for up to"), "{name}: {text}");
        let schedule = outcome.findings()[0].schedule();
        let again = checker.replay(schedule, locks_unless_it_takes_long);
        assert!(again.to_string().contains("lost"), "{name}: {again}");
    }
}

/// Where states cannot be compared, a loop with a hint is assumed to wait, and named. Whoever does not want that bounds its
/// rounds.
#[test]
fn without_comparison_a_loop_with_a_hint_is_assumed_to_wait() {
    fn gives_up_after_three_rounds() {
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| flag.store(true, Release));
            scope.spawn(|| {
                for _ in 0..3 {
                    if flag.load(Acquire) {
                        return;
                    }
                    hint::spin_loop();
                }
                panic!("gave up");
            });
        });
    }
    let explored = |compared_states, spin| {
        let setup = Setup {
            compared_states,
            ..Setup::default()
        };
        let settings = Settings {
            spin,
            ..Settings::default()
        };
        let explored = explore_with(setup, &settings, gives_up_after_three_rounds);
        let has_failed = !explored.report.findings.is_empty();
        (has_failed, explored.report.waits.len())
    };
    let until_change = SpinRule::UntilChange;
    let (has_failed, waits) = explored(ComparedStates::Never, until_change);
    assert_eq!((has_failed, waits), (false, 1));
    let (has_failed, waits) = explored(ComparedStates::Never, SpinRule::Bound(3));
    assert_eq!((has_failed, waits), (true, 0));
    let (has_failed, waits) = explored(ComparedStates::OnDemand, until_change);
    assert_eq!((has_failed, waits), (true, 0));
}
