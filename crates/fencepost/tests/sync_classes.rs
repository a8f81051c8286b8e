//! The explorer runs one execution of every class of programs with locks, condition variables,
//! channels and counts; the classes are counted by brute force. Where what an operation touches depends on
//! the state, it may run several of a class, but always one.
//!
//! Two executions are in one class if they have the same steps, with the same outcomes, and order
//! those that touch one object alike, unless both only read it or both only update it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc as StdArc, Mutex as StdMutex};

use crate::explorer::{explore_with, in_threads, without_spurious};
use crate::support::{Driver, Run, Taken, as_it_is, passed_on_to_runtime};
use fencepost::sync::atomic::{AtomicUsize, Ordering::*, double_compare_exchange};
use fencepost::sync::mpsc::{channel, sync_channel};
use fencepost::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock};
use fencepost::thread;
use fencepost_explore::{
    Intent, MonitoredModel, Performed, Program, Settings, Strategy, ThreadStatus, TouchKind,
    explore,
};
use fencepost_memory::ThreadId;
use fencepost_runtime::{Registry, Restart, Runtime, Setup, Stop};

/// A step: the thread, and which of its steps it is.
type StepName = (u32, usize);

/// What tells a class from others: the steps with their outcomes, and the dependent pairs of them.
type ClassKey = (BTreeSet<(StepName, u32)>, BTreeSet<(StepName, StepName)>);

fn class_of(run: &Run, outcomes: &[u32]) -> ClassKey {
    let mut counts = vec![0; 64];
    let names: Vec<StepName> = (run.steps.iter())
        .map(|step| {
            counts[step.thread.index()] += 1;
            (step.thread.0, counts[step.thread.index()])
        })
        .collect();
    let is_dependent = |one: usize, other: usize| {
        run.steps[one].touches.iter().any(|a| {
            run.steps[other]
                .touches
                .iter()
                .any(|b| a.object == b.object && (a.kind == TouchKind::Write || a.kind != b.kind))
        })
    };
    let mut pairs = BTreeSet::new();
    for later in 0..names.len() {
        for earlier in 0..later {
            if is_dependent(earlier, later) {
                pairs.insert((names[earlier], names[later]));
            }
        }
    }
    let steps = names.into_iter().zip(outcomes.iter().copied()).collect();
    (steps, pairs)
}

/// The classes of all executions, and how many of them are deadlocks.
fn brute_force(setup: Setup, program: impl Fn() + Send + Sync + 'static) -> (u64, u64) {
    let mut driver = Driver::with(setup, program);
    let (mut classes, mut deadlocks) = (BTreeSet::new(), BTreeSet::new());
    let mut path: Vec<(usize, usize)> = Vec::new();
    loop {
        let mut outcomes = Vec::new();
        let run = driver.run(|choices| {
            let depth = outcomes.len();
            if depth == path.len() {
                path.push((0, choices.len()));
            }
            let taken = path[depth].0;
            outcomes.push(choices[taken].1);
            Some(taken)
        });
        assert_eq!(run.error, None);
        if let Some(restart) = run.restart {
            assert_eq!(restart, Restart::OrderedDrops);
            // From now on drops are writes.
            classes.clear();
            deadlocks.clear();
            path.clear();
            continue;
        }
        let class = class_of(&run, &outcomes);
        if run.is_deadlock {
            deadlocks.insert(class.clone());
        }
        classes.insert(class);
        while path
            .last()
            .is_some_and(|(taken, count)| taken + 1 == *count)
        {
            path.pop();
        }
        match path.last_mut() {
            Some((taken, _)) => *taken += 1,
            None => return (classes.len() as u64, deadlocks.len() as u64),
        }
    }
}

#[track_caller]
fn assert_classes(name: &str, setup: Setup, program: fn()) {
    let expected = brute_force(setup, program);
    let settings = Settings {
        monitored_model: MonitoredModel::None,
        continue_after_failure: true,
        ..Settings::default()
    };
    for workers in [1, 2] {
        let settings = Settings {
            workers,
            ..settings.clone()
        };
        let report = explore_with(setup, &settings, program).report;
        assert!(report.is_complete(), "{name}: {:?}", report.limits);
        assert_eq!((report.executions, report.faults), expected, "{name}");
    }
}

/// A runtime whose executions are noted.
struct Noted {
    runtime: Runtime,
    run: Run,
    outcomes: Vec<u32>,
    all: StdArc<StdMutex<Classes>>,
}

/// Those that were run, and those of them that are deadlocks.
#[derive(Default)]
struct Classes {
    all: BTreeSet<ClassKey>,
    deadlocks: BTreeSet<ClassKey>,
}

impl Noted {
    fn is_resumable(&self, thread: ThreadId) -> bool {
        let ThreadStatus::Pending { intent, .. } = self.runtime.status(thread) else {
            return false;
        };
        match intent {
            Intent::Local | Intent::SpinHint => true,
            Intent::Stopped => false,
            Intent::Join(other) => self.runtime.status(other) == ThreadStatus::Finished,
            Intent::Access { object, awaits, .. } => {
                awaits.is_none_or(|condition| condition.holds(self.runtime.state(object)))
            }
        }
    }
}

impl Program for Noted {
    passed_on_to_runtime!();

    fn start(&mut self, performed: &mut Performed) -> Result<(), Stop> {
        self.run = Run::default();
        self.outcomes.clear();
        self.runtime.start(performed)
    }

    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop> {
        let status = self.runtime.status(thread);
        let before = performed.touches.len();
        let result = self.runtime.step(thread, outcome, performed);
        if let ThreadStatus::Pending { intent, .. } = status {
            if !matches!(intent, Intent::Join(_)) {
                self.run.steps.push(Taken {
                    thread,
                    intent,
                    touches: performed.touches[before..].to_vec(),
                    spawned: Vec::new(),
                    accesses: Vec::new(),
                });
                self.outcomes.push(outcome);
            }
        }
        result
    }

    fn finish(&mut self, is_complete: bool) -> Result<(), Stop> {
        let threads = || (0..self.thread_bound() as u32).map(ThreadId);
        let waits = |thread| matches!(self.status(thread), ThreadStatus::Pending { .. });
        // Else it was given up.
        if !threads().any(|thread| self.is_resumable(thread)) {
            let class = class_of(&self.run, &self.outcomes);
            let mut all = self.all.lock().unwrap();
            if threads().any(waits) {
                all.deadlocks.insert(class.clone());
            }
            all.all.insert(class);
        }
        self.runtime.finish(is_complete)
    }
}

/// For programs with operations whose objects depend on the state: each class is run, some more than once.
/// Within a bound each is run once.
#[track_caller]
fn assert_all_classes(name: &str, setup: Setup, program: fn()) {
    let expected = brute_force(setup, program);
    let run = |strategy| {
        let all = StdArc::<StdMutex<Classes>>::default();
        let registry = StdArc::new(Registry::new(fencepost_runtime::LocationRef::caller()));
        let noted = || Noted {
            runtime: Runtime::new(StdArc::new(program), as_it_is(setup), registry.clone()),
            run: Run::default(),
            outcomes: Vec::new(),
            all: all.clone(),
        };
        let settings = Settings {
            strategy,
            monitored_model: MonitoredModel::None,
            continue_after_failure: true,
            ..Settings::default()
        };
        let report = explore(noted, &settings, &mut |_| ControlFlow::Continue(()));
        assert!(report.is_complete(), "{name}: {:?}", report.limits);
        let all = all.lock().unwrap();
        let run = (all.all.len() as u64, all.deadlocks.len() as u64);
        assert_eq!(run, expected, "{name}");
        (report.executions, report.faults)
    };
    let (executions, deadlocks) = run(Strategy::Exhaustive);
    let is_enough = executions >= expected.0 && deadlocks >= expected.1;
    assert!(is_enough, "{name}: {executions}, {deadlocks}");
    let within = run(Strategy::Bounded { preemptions: 1000 });
    assert_eq!(within, expected, "{name}");
}

#[test]
fn locks() {
    assert_classes("lock and attempts", Setup::default(), || {
        let mutex = Mutex::new(());
        in_threads(3, |number| match number {
            0 => drop(mutex.lock()),
            _ => drop(mutex.try_lock()),
        });
    });
    assert_classes("two mutexes", Setup::default(), || {
        let mutexes = [Mutex::new(()), Mutex::new(())];
        in_threads(2, |number| {
            let _one = mutexes[number].lock();
            let _other = mutexes[1 - number].lock();
        });
    });
    assert_classes("readers and a writer", Setup::default(), || {
        let lock = RwLock::new(());
        in_threads(3, |number| match number {
            0 => drop(lock.write()),
            _ => drop(lock.read()),
        });
    });
    assert_classes("attempts to read and write", Setup::default(), || {
        let lock = RwLock::new(());
        in_threads(3, |number| match number {
            0 => drop(lock.try_write()),
            1 => drop(lock.read()),
            _ => drop(lock.try_read()),
        });
    });
}

#[test]
fn condition_variables() {
    fn notified_while_two_wait() {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        in_threads(3, |number| match number {
            0 => condvar.notify_one(),
            _ => drop(condvar.wait(mutex.lock().unwrap())),
        });
    }
    fn all_notified_while_two_wait() {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        in_threads(3, |number| match number {
            0 => condvar.notify_all(),
            _ => drop(condvar.wait(mutex.lock().unwrap())),
        });
    }
    fn notified_twice() {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        in_threads(3, |number| match number {
            0 => drop(condvar.wait(mutex.lock().unwrap())),
            _ => condvar.notify_one(),
        });
    }
    fn a_loop() {
        let (mutex, condvar) = (Mutex::new(false), Condvar::new());
        in_threads(2, |number| match number {
            0 => {
                let guard = mutex.lock().unwrap();
                drop(condvar.wait_while(guard, |ready| !*ready));
            }
            _ => {
                *mutex.lock().unwrap() = true;
                condvar.notify_one();
            }
        });
    }
    fn a_time_out() {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        in_threads(2, |number| match number {
            0 => {
                let soon = std::time::Duration::ZERO;
                drop(condvar.wait_timeout(mutex.lock().unwrap(), soon));
            }
            _ => condvar.notify_one(),
        });
    }
    for setup in [Setup::default(), without_spurious()] {
        assert_all_classes("one of two", setup, notified_while_two_wait);
        assert_all_classes("all of two", setup, all_notified_while_two_wait);
        assert_all_classes("twice", setup, notified_twice);
        assert_all_classes("a loop", setup, a_loop);
        assert_all_classes("a time-out", setup, a_time_out);
    }
}

#[test]
fn once_and_barriers() {
    assert_classes("once", Setup::default(), || {
        let once = Once::new();
        in_threads(3, |number| match number {
            0 => _ = once.is_completed(),
            _ => once.call_once(|| ()),
        });
    });
    assert_all_classes("a barrier, twice", Setup::default(), || {
        let barrier = Barrier::new(2);
        in_threads(2, |_| {
            barrier.wait();
            barrier.wait();
        });
    });
    assert_all_classes("a barrier that is left out", Setup::default(), || {
        let barrier = Barrier::new(2);
        in_threads(3, |_| _ = barrier.wait());
    });
}

#[test]
fn double_compare_exchanges() {
    fn zeros<const N: usize>() -> [AtomicUsize; N] {
        std::array::from_fn(|_| AtomicUsize::new(0))
    }
    assert_classes("one by three", Setup::default(), || {
        let [a, b] = zeros();
        in_threads(3, |number| {
            let before = [0, number % 2];
            double_compare_exchange([&a, &b], before, before.map(|value| value + 1));
        });
    });
    assert_classes("with each other's parts", Setup::default(), || {
        let [a, b, c] = zeros();
        in_threads(4, |number| match number {
            0 => _ = double_compare_exchange([&a, &b], [0, 0], [1, 1]),
            1 => b.store(1, SeqCst),
            2 => a.store(1, SeqCst),
            _ => _ = double_compare_exchange([&a, &c], [0, 0], [1, 1]),
        });
    });
    assert_classes("several by one", Setup::default(), || {
        let [a, b, c] = zeros();
        in_threads(3, |number| match number {
            0 => a.store(1, SeqCst),
            1 => _ = c.load(SeqCst),
            _ => {
                double_compare_exchange([&b, &a], [0, 0], [1, 1]);
                double_compare_exchange([&c, &a], [0, 0], [1, 1]);
                double_compare_exchange([&b, &c], [0, 0], [1, 1]);
            }
        });
    });
}

#[test]
fn channels() {
    assert_classes("two senders", Setup::default(), || {
        let (sender, receiver) = channel();
        for number in 0..2 {
            let sender = sender.clone();
            thread::spawn(move || sender.send(number).unwrap());
        }
        drop(sender);
        assert_eq!(receiver.iter().count(), 2);
    });
    assert_classes("a receiver that looks", Setup::default(), || {
        let (sender, receiver) = channel();
        let other = sender.clone();
        thread::spawn(move || drop(sender));
        thread::spawn(move || _ = other.send(1));
        let _ = receiver.try_recv();
    });
    assert_classes("a full channel", Setup::default(), || {
        let (sender, receiver) = sync_channel(1);
        let other = sender.clone();
        thread::spawn(move || _ = sender.send(1));
        thread::spawn(move || _ = other.try_send(2));
        let _ = receiver.recv();
    });
    assert_all_classes("a rendezvous", Setup::default(), || {
        let (sender, receiver) = sync_channel(0);
        let other = sender.clone();
        thread::spawn(move || _ = sender.send(1));
        thread::spawn(move || _ = other.send(2));
        let _ = receiver.recv();
    });
    assert_all_classes("attempts at a rendezvous", Setup::default(), || {
        let (sender, receiver) = sync_channel(0);
        thread::spawn(move || _ = sender.try_send(1));
        let _ = receiver.recv();
    });
}

#[test]
fn counts() {
    assert_classes("a count", Setup::default(), || {
        let shared = Arc::new(());
        for _ in 0..3 {
            let shared = shared.clone();
            thread::spawn(move || drop(shared));
        }
        Arc::strong_count(&shared);
    });
    assert_classes("attempts to unwrap", Setup::default(), || {
        let shared = Arc::new(());
        for _ in 0..2 {
            let shared = shared.clone();
            thread::spawn(move || _ = Arc::try_unwrap(shared));
        }
        let _ = Arc::try_unwrap(shared);
    });
    assert_classes("upgrades", Setup::default(), || {
        let shared = Arc::new(());
        let weak = Arc::downgrade(&shared);
        let other = weak.clone();
        thread::spawn(move || _ = weak.upgrade());
        thread::spawn(move || _ = other.upgrade());
        drop(shared);
    });
    assert_classes("a destructor that is noticed", Setup::default(), || {
        struct Announces(Arc<AtomicUsize>);
        impl Drop for Announces {
            fn drop(&mut self) {
                self.0.store(1, SeqCst);
            }
        }
        let dropped = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Announces(dropped.clone()));
        let other = shared.clone();
        thread::spawn(move || drop(other));
        thread::spawn(move || drop(shared));
        dropped.load(SeqCst);
    });
}
