//! What is stored before a thread lets another go on is not left in its store buffer.
//!
//! In each program, one thread stores to relaxed atomics and then lets another read them, by one
//! of the library's means. On both machines that is safe, though with a relaxed flag it is not on PSO.

#[path = "support/explorer.rs"]
mod explorer;
mod support;

use std::sync::Arc as StdArc;

use explorer::explore_with;
use fencepost::rt::Setup;
use fencepost::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use fencepost::sync::mpsc::{channel, sync_channel};
use fencepost::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use fencepost::{hint, thread};
use fencepost_explore::{Problem, Settings, Watched};
use fencepost_memory::LockedDrains;
use support::pso;

/// Two variables that are stored to together.
#[derive(Clone)]
struct Data(StdArc<[AtomicUsize; 2]>);

impl Data {
    #[track_caller]
    fn new() -> Self {
        Data(StdArc::new([AtomicUsize::new(0), AtomicUsize::new(0)]))
    }

    fn store(&self) {
        self.0[0].store(1, Relaxed);
        self.0[1].store(1, Relaxed);
    }

    fn check(&self) {
        assert_eq!(self.0[1].load(Relaxed), 1);
        assert_eq!(self.0[0].load(Relaxed), 1);
    }
}

/// The number of violations on x86 and on PSO.
#[track_caller]
fn violations(program: fn()) -> [u64; 2] {
    let machines = [
        (Setup::default(), Watched::Tso),
        (pso(), Watched::Pso(LockedDrains::OwnAddress)),
    ];
    machines.map(|(setup, watched)| {
        let settings = Settings {
            watched,
            goes_on: true,
            ..Settings::default()
        };
        let report = explore_with(setup, &settings, program).report;
        assert!(report.is_complete(), "{:?}", report.limits);
        for found in &report.findings {
            assert!(
                matches!(found.problem, Problem::StoreBuffer(_)),
                "{found:?}"
            );
        }
        report.violations
    })
}

#[test]
fn a_relaxed_flag_is_not_enough_on_pso() {
    let [on_x86, on_pso] = violations(|| {
        let (data, flag) = (Data::new(), StdArc::new(AtomicBool::new(false)));
        let (stored, set) = (data.clone(), flag.clone());
        thread::spawn(move || {
            stored.store();
            set.store(true, Relaxed);
        });
        while !flag.load(Acquire) {
            hint::spin_loop();
        }
        data.check();
    });
    assert_eq!(on_x86, 0);
    assert!(on_pso > 0);
}

#[test]
fn everything_that_lets_others_go_on_drains() {
    let programs: [(&str, fn()); 10] = [
        ("mutex", || {
            let (data, done) = (Data::new(), StdArc::new(Mutex::new(false)));
            let (stored, set) = (data.clone(), done.clone());
            thread::spawn(move || {
                stored.store();
                *set.lock().unwrap() = true;
            });
            if *done.lock().unwrap() {
                data.check();
            }
        }),
        ("reader-writer lock", || {
            let (data, done) = (Data::new(), StdArc::new(RwLock::new(false)));
            let (stored, set) = (data.clone(), done.clone());
            thread::spawn(move || {
                stored.store();
                *set.write().unwrap() = true;
            });
            if *done.read().unwrap() {
                data.check();
            }
        }),
        ("condition variable", || {
            let gate = StdArc::new((Mutex::new(false), Condvar::new()));
            let (data, other) = (Data::new(), gate.clone());
            let stored = data.clone();
            thread::spawn(move || {
                stored.store();
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let guard = gate.0.lock().unwrap();
            let _guard = gate.1.wait_while(guard, |done| !*done).unwrap();
            data.check();
        }),
        ("once", || {
            let (data, once) = (Data::new(), StdArc::new(Once::new()));
            let (stored, other) = (data.clone(), once.clone());
            thread::spawn(move || other.call_once(|| stored.store()));
            once.call_once(|| data.store());
            data.check();
        }),
        ("once lock", || {
            let (data, cell) = (Data::new(), StdArc::new(OnceLock::new()));
            let (stored, other) = (data.clone(), cell.clone());
            thread::spawn(move || {
                stored.store();
                other.set(()).unwrap();
            });
            if cell.get().is_some() {
                data.check();
            }
        }),
        ("barrier", || {
            let (data, barrier) = (Data::new(), StdArc::new(Barrier::new(2)));
            let (stored, other) = (data.clone(), barrier.clone());
            thread::spawn(move || {
                stored.store();
                other.wait();
            });
            barrier.wait();
            data.check();
        }),
        ("channel", || {
            let (sender, receiver) = channel();
            let data = Data::new();
            let stored = data.clone();
            thread::spawn(move || {
                stored.store();
                sender.send(()).unwrap();
            });
            receiver.recv().unwrap();
            data.check();
        }),
        ("rendezvous", || {
            let (sender, receiver) = sync_channel(0);
            let data = Data::new();
            let stored = data.clone();
            thread::spawn(move || {
                sender.send(()).unwrap();
                stored.check();
            });
            data.store();
            receiver.recv().unwrap();
        }),
        ("the last sender", || {
            let (sender, receiver) = channel::<()>();
            let data = Data::new();
            let stored = data.clone();
            thread::spawn(move || {
                stored.store();
                drop(sender);
            });
            assert!(receiver.recv().is_err());
            data.check();
        }),
        ("the last reference", || {
            let data = Data::new();
            let shared = Arc::new(());
            let (stored, other) = (data.clone(), shared.clone());
            thread::spawn(move || {
                stored.store();
                drop(other);
            });
            if Arc::try_unwrap(shared).is_ok() {
                data.check();
            }
        }),
    ];
    for (name, program) in programs {
        assert_eq!(violations(program), [0, 0], "{name}");
    }
}

/// On x86 each of these is a locked operation; the loads after it are not before the store.
#[test]
fn locked_operations_rule_out_store_buffering_on_x86() {
    fn store_buffering(between: impl Fn() + Send + Sync + Copy + 'static) {
        let flags = StdArc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        for me in 0..2 {
            let flags = flags.clone();
            thread::spawn(move || {
                flags[me].store(1, Relaxed);
                between();
                flags[1 - me].load(Relaxed);
            });
        }
    }
    let programs: [(&str, fn()); 4] = [
        ("a mutex", || {
            store_buffering(|| drop(Mutex::new(()).lock()));
        }),
        ("a notification", || {
            store_buffering(|| Condvar::new().notify_one());
        }),
        ("an Arc", || store_buffering(|| drop(Arc::new(())))),
        ("a channel", || {
            store_buffering(|| channel().0.send(()).unwrap());
        }),
    ];
    for (name, program) in programs {
        assert_eq!(violations(program)[0], 0, "{name}");
    }
    assert!(violations(|| store_buffering(|| ()))[0] > 0);
    // The fast path of what was done before drains nothing.
    let [on_x86, _] = violations(|| {
        let cell = StdArc::new(OnceLock::from(()));
        let flags = StdArc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        for me in 0..2 {
            let (cell, flags) = (cell.clone(), flags.clone());
            thread::spawn(move || {
                flags[me].store(1, Relaxed);
                cell.get_or_init(|| ());
                flags[1 - me].load(Relaxed);
            });
        }
    });
    assert!(on_x86 > 0);
}
