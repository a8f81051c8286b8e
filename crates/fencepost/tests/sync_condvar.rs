//! Condition variables: who is woken, lost and spurious wake-ups, time-outs, and loops that end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::explorer::{
    Protected, assert_deadlock, assert_panic, assert_race, classes, classes_with, explore_with,
    fault_with, in_threads, verified, without_spurious,
};
use crate::support::{Driver, Seen, pso};
use fencepost::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use fencepost::sync::{Condvar, Mutex};
use fencepost::thread;
use fencepost_explore::{Counterexample, Failure, Fault, MonitoredModel, Settings};
use fencepost_runtime::{ProgramError, Setup};

const SOON: Duration = Duration::from_millis(1);

/// A flag under a mutex, and the condition variable for it.
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    #[track_caller]
    fn new() -> Self {
        Gate {
            is_open: Mutex::new(false),
            opened: Condvar::new(),
        }
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let mut is_open = self.is_open.lock().unwrap();
        while !*is_open {
            is_open = self.opened.wait(is_open).unwrap();
        }
    }
}

fn one_passes_one_opens() {
    let gate = Gate::new();
    in_threads(2, |number| match number {
        0 => gate.pass(),
        _ => gate.open(),
    });
}

/// The gate is open before the other comes, or it waits. With spurious wake-ups: it also returns
/// before the gate is open, and waits again; or after that, but before it is notified.
#[test]
fn a_wait_in_a_loop_has_few_classes() {
    assert_eq!(classes_with(without_spurious(), one_passes_one_opens), 2);
    // It comes back to the same state after one to three rounds, depending on what the compiler leaves on the stack.
    let count = classes(one_passes_one_opens);
    assert!((4..=8).contains(&count), "{count}");
}

/// Nothing but the notification: it comes before the wait, which is then for ever, or after it
/// has begun. A spurious return does not depend on it.
#[test]
fn a_wait_without_a_loop_has_few_classes() {
    let program = || {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        in_threads(2, |number| match number {
            0 => drop(condvar.wait(mutex.lock().unwrap())),
            _ => condvar.notify_one(),
        });
    };
    let settings = Settings {
        monitored_model: MonitoredModel::None,
        continue_after_failure: true,
        ..Settings::default()
    };
    let report = explore_with(without_spurious(), &settings, program).report;
    assert_eq!((report.executions, report.faults), (2, 1));
    let report = explore_with(Setup::default(), &settings, program).report;
    assert_eq!((report.executions, report.faults), (3, 1));
    assert!(
        report.abandoned <= 1,
        "only what was run before it began again"
    );
}

#[test]
fn a_lost_wake_up_is_a_deadlock() {
    // The flag is not set under the mutex, so that the notification can come in between.
    fn program() {
        let gate = Gate::new();
        let is_open = AtomicBool::new(false);
        in_threads(2, |number| match number {
            0 => {
                let mut guard = gate.is_open.lock().unwrap();
                while !is_open.load(SeqCst) {
                    guard = gate.opened.wait(guard).unwrap();
                }
            }
            _ => {
                is_open.store(true, SeqCst);
                gate.opened.notify_one();
            }
        });
    }
    assert_deadlock(program);
    let fault = fault_with(without_spurious(), program);
    assert!(matches!(fault, Fault::Deadlock(_)), "{fault:?}");
}

#[test]
fn a_wait_that_is_not_in_a_loop_is_wrong() {
    fn program() {
        let gate = Gate::new();
        in_threads(2, |number| match number {
            0 => {
                let mut is_open = gate.is_open.lock().unwrap();
                if !*is_open {
                    is_open = gate.opened.wait(is_open).unwrap();
                }
                assert!(*is_open, "it is not open");
            }
            _ => gate.open(),
        });
    }
    assert_panic("it is not open", program);
    classes_with(without_spurious(), program);
}

/// The place of the loop is in the result, since the result rests on it.
#[test]
fn loops_that_only_wait_are_named() {
    let line = line!() + 7;
    let explored = verified(|| {
        let gate = Gate::new();
        in_threads(2, |number| match number {
            0 => {
                let mut guard = gate.is_open.lock().unwrap();
                while !*guard {
                    guard = gate.opened.wait(guard).unwrap();
                }
            }
            _ => gate.open(),
        });
    });
    let waits: Vec<_> = (explored.registry.waits().into_iter())
        .map(|location| explored.registry.location(location).line())
        .collect();
    assert_eq!(waits, [line]);
    // Nothing is assumed of who waits once.
    let explored = verified(|| {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let _guard = condvar.wait_timeout(mutex.lock().unwrap(), SOON);
    });
    assert_eq!(explored.registry.waits(), []);
}

/// `pop_front` has mutable access even if it does not pop.
#[test]
fn loops_that_could_change_something_end_too() {
    for consumers in [1, 2] {
        classes(move || {
            let queue = Mutex::new(VecDeque::new());
            let filled = Condvar::new();
            in_threads(consumers + 1, |number| {
                if number == 0 {
                    for value in 0..consumers {
                        queue.lock().unwrap().push_back(value);
                        filled.notify_one();
                    }
                    return;
                }
                let mut guard = queue.lock().unwrap();
                let value = loop {
                    match guard.pop_front() {
                        Some(value) => break value,
                        None => guard = filled.wait(guard).unwrap(),
                    }
                };
                assert!(value < consumers);
            });
        });
    }
}

/// A thread that has changed something after a spurious wake-up can have another one.
#[test]
fn a_spurious_wake_up_repeats_after_a_change() {
    let seen = Seen::new();
    let returns = seen.clone();
    classes(move || {
        let gate = Gate::new();
        let count = AtomicUsize::new(0);
        in_threads(2, |number| match number {
            0 => {
                let mut is_open = gate.is_open.lock().unwrap();
                while !*is_open {
                    is_open = gate.opened.wait(is_open).unwrap();
                    count.fetch_add(1, Relaxed);
                }
                returns.add(count.load(Relaxed));
            }
            _ => gate.open(),
        });
    });
    // Seven times spuriously, then notified.
    assert_eq!(seen.sorted(), (0..=8).collect::<Vec<_>>());
}

#[test]
fn either_waiter_can_be_notified() {
    let seen = Seen::new();
    let winners = seen.clone();
    classes_with(without_spurious(), move || {
        let state = Mutex::new((0, None));
        let (come, go) = (Condvar::new(), Condvar::new());
        in_threads(3, |number| {
            let mut guard = state.lock().unwrap();
            if number < 2 {
                guard.0 += 1;
                come.notify_one();
                guard = go.wait(guard).unwrap();
                let first = *guard.1.get_or_insert(number);
                winners.add(first);
                // The other one follows.
                go.notify_one();
            } else {
                guard = come.wait_while(guard, |state| state.0 < 2).unwrap();
                drop(guard);
                go.notify_one();
            }
        });
    });
    assert_eq!(seen.sorted(), [0, 1]);
}

#[test]
fn notify_one_wakes_one_and_notify_all_wakes_all() {
    fn program(notify: fn(&Condvar)) -> impl Fn() + Send + Sync {
        move || {
            let waiting = Mutex::new(0);
            let (come, go) = (Condvar::new(), Condvar::new());
            in_threads(4, |number| {
                let mut guard = waiting.lock().unwrap();
                if number < 3 {
                    *guard += 1;
                    come.notify_one();
                    drop(go.wait(guard).unwrap());
                } else {
                    guard = come.wait_while(guard, |waiting| *waiting < 3).unwrap();
                    drop(guard);
                    notify(&go);
                }
            });
        }
    }
    classes_with(without_spurious(), program(Condvar::notify_all));
    let fault = fault_with(without_spurious(), program(Condvar::notify_one));
    let Fault::Deadlock(waiting) = fault else {
        panic!("{fault:?}");
    };
    // Two of the three, and who joins them.
    assert_eq!(waiting.len(), 3);
}

#[test]
fn a_notification_does_not_last() {
    assert_deadlock(|| {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        condvar.notify_one();
        condvar.notify_all();
        drop(condvar.wait(mutex.lock().unwrap()));
    });
}

#[test]
fn wait_while_waits_while() {
    let count = classes(|| {
        let gate = Gate::new();
        in_threads(2, |number| match number {
            0 => {
                let guard = gate.is_open.lock().unwrap();
                let guard = gate.opened.wait_while(guard, |is_open| !*is_open).unwrap();
                assert!(*guard);
            }
            _ => gate.open(),
        });
    });
    assert!((4..=8).contains(&count), "as the loop that it is: {count}");
}

#[test]
fn a_wait_with_a_time_out_returns_in_every_way() {
    fn run(setup: Setup) -> Vec<(bool, bool)> {
        let seen = Seen::new();
        let returns = seen.clone();
        classes_with(setup, move || {
            let gate = Gate::new();
            in_threads(2, |number| match number {
                0 => {
                    let guard = gate.is_open.lock().unwrap();
                    let (guard, result) = gate.opened.wait_timeout(guard, SOON).unwrap();
                    returns.add((*guard, result.timed_out()));
                }
                _ => gate.open(),
            });
        });
        seen.sorted()
    }
    let all = [(false, false), (false, true), (true, false), (true, true)];
    assert_eq!(run(Setup::default()), all);
    // Without spurious wake-ups, who returns before the gate is open has timed out.
    assert_eq!(run(without_spurious()), &all[1..]);
}

#[test]
fn a_wait_with_a_time_out_is_never_a_deadlock() {
    let count = classes(|| {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let guard = mutex.lock().unwrap();
        let (_guard, _) = condvar.wait_timeout(guard, SOON).unwrap();
    });
    assert_eq!(count, 2, "a time-out, or a spurious return");
    let seen = Seen::new();
    let results = seen.clone();
    classes(move || {
        let gate = Gate::new();
        in_threads(2, |number| match number {
            0 => {
                let guard = gate.is_open.lock().unwrap();
                let wait = gate
                    .opened
                    .wait_timeout_while(guard, SOON, |is_open| !*is_open);
                let (guard, result) = wait.unwrap();
                assert_eq!(result.timed_out(), !*guard);
                results.add(result.timed_out());
            }
            _ => gate.open(),
        });
    });
    assert_eq!(seen.sorted(), [false, true]);
}

#[test]
fn loops_around_time_outs_end() {
    // The flag is under the mutex, and somebody notifies.
    classes(|| {
        let gate = Gate::new();
        in_threads(2, |number| match number {
            0 => {
                let mut guard = gate.is_open.lock().unwrap();
                while !*guard {
                    guard = gate.opened.wait_timeout(guard, SOON).unwrap().0;
                }
            }
            _ => gate.open(),
        });
    });
    // Nobody notifies, and the flag is not even under the mutex.
    classes(|| {
        let gate = Gate::new();
        let is_open = AtomicBool::new(false);
        in_threads(2, |number| match number {
            0 => {
                let mut guard = gate.is_open.lock().unwrap();
                while !is_open.load(Relaxed) {
                    guard = gate.opened.wait_timeout(guard, SOON).unwrap().0;
                }
            }
            _ => is_open.store(true, Relaxed),
        });
    });
    // A loop that counts goes on though nothing changes.
    classes(|| {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        for _ in 0..5 {
            drop(condvar.wait_timeout(mutex.lock().unwrap(), SOON));
        }
    });
}

#[test]
fn the_mutex_orders_and_the_notification_alone_does_not() {
    classes(|| {
        let (gate, cell) = (Gate::new(), Protected::new());
        in_threads(2, |number| match number {
            0 => {
                gate.pass();
                cell.increment();
            }
            _ => {
                cell.increment();
                gate.open();
            }
        });
    });
    let settings = Settings {
        monitored_model: MonitoredModel::None,
        continue_after_failure: true,
        ..Settings::default()
    };
    let explored = explore_with(without_spurious(), &settings, || {
        let (mutex, condvar, cell) = (Mutex::new(()), Condvar::new(), Protected::new());
        in_threads(2, |number| match number {
            0 => {
                let _guard = condvar.wait(mutex.lock().unwrap());
                cell.increment();
            }
            _ => {
                cell.increment();
                condvar.notify_one();
            }
        });
    });
    let is_race = |found: &Counterexample<ProgramError>| {
        matches!(
            &found.failure,
            Failure::Fault(Fault::Program(ProgramError::Race(_)))
        )
    };
    assert!(explored.report.findings.iter().any(is_race));
    assert_race(|| {
        let (mutex, condvar, cell) = (Mutex::new(()), Condvar::new(), Protected::new());
        in_threads(2, |number| match number {
            0 => {
                let _guard = condvar.wait_timeout(mutex.lock().unwrap(), SOON);
                cell.increment();
            }
            _ => {
                cell.increment();
                condvar.notify_one();
            }
        });
    });
}

#[test]
fn the_monitor_sees_waits_and_notifications_drain() {
    let program = || {
        let gate = Arc::new(Gate::new());
        let other = gate.clone();
        thread::spawn(move || {
            other.opened.notify_one();
            other.opened.notify_all();
        });
        drop(gate.opened.wait(gate.is_open.lock().unwrap()));
    };
    let seen = |spurious_wakeups, setup| {
        let setup = Setup {
            spurious_wakeups,
            ..setup
        };
        let run = Driver::with(setup, program).run_first();
        run.expect_fine();
        let of = |thread| run.mnemonics(thread).join(" ");
        (of(0), of(1))
    };
    // Lock, enqueue, unlock, wake, lock, unlock; after the event of the spawn.
    let (main, other) = seen(false, Setup::default());
    assert_eq!(main, "lst il il il il il il");
    assert_eq!(other, "lld il il lld", "one is woken, then nobody waits");
    let (main, other) = seen(false, pso());
    assert_eq!(main, "fence lst il fence il stbar il fence il il stbar il");
    assert_eq!(other, "lld fence il il fence lld");
    let (main, _) = seen(true, Setup::default());
    assert_eq!(
        main, "lst il il il il il il",
        "the choice to wait is no event"
    );
}

/// A time-out that is put off comes when nobody else can go on, or earlier if something has changed meanwhile, even if
/// it was changed back. The search within a bound plans nothing, so it is the measure.
#[test]
fn a_lock_beside_waits_with_time_outs_is_seen_in_every_order() {
    let program = || {
        let gate = fencepost::sync::Arc::new(Gate::new());
        let other = gate.clone();
        let waiting = thread::spawn(move || {
            let mut guard = other.is_open.lock().unwrap();
            for _ in 0..3 {
                (guard, _) = other.opened.wait_timeout(guard, SOON).unwrap();
            }
        });
        drop(gate.is_open.lock().unwrap());
        waiting.join().unwrap();
        drop(gate.is_open.lock().unwrap());
    };
    let checker = fencepost::Checker::new().spurious_wakeups(false);
    let bounded = checker.clone().preemption_bound(100).strict_bound(true);
    let within = bounded.run(program).executions();
    assert_eq!(checker.run(program).executions(), within);
}

#[test]
fn a_condvar_outside_of_a_check_is_that_of_std() {
    let gate = Gate::new();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| gate.pass());
        }
        std::thread::sleep(SOON);
        gate.open();
    });
    let guard = gate.is_open.lock().unwrap();
    let (guard, result) = gate.opened.wait_timeout(guard, SOON).unwrap();
    assert!(*guard && result.timed_out());
    let waited = gate
        .opened
        .wait_timeout_while(guard, SOON, |is_open| *is_open);
    let (guard, result) = waited.unwrap();
    assert!(result.timed_out());
    let guard = gate.opened.wait_while(guard, |is_open| !*is_open).unwrap();
    assert!(*guard);
    gate.opened.notify_one();
    let unused = Condvar::default().named("unused");
    assert_eq!(format!("{unused:?}"), "Condvar { .. }");
}
