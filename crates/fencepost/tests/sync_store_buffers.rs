//! What is stored before a thread lets another go on is not left in its store buffer.
//!
//! In each program, one thread stores to relaxed atomics and then lets another read them, by one
//! of the library's means. On both machines that is safe, though with a relaxed flag it is not on PSO.

use std::sync::Arc as StdArc;

use crate::explorer::explore_with;
use crate::support::pso;
use fencepost::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use fencepost::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use fencepost::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, Weak};
use fencepost::{hint, thread};
use fencepost_explore::{Failure, MonitoredModel, Settings};
use fencepost_memory::LockedDrains;
use fencepost_runtime::Setup;

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
        (Setup::default(), MonitoredModel::Tso),
        (pso(), MonitoredModel::Pso(LockedDrains::OwnAddress)),
    ];
    machines.map(|(setup, monitored_model)| {
        let settings = Settings {
            monitored_model,
            continue_after_failure: true,
            ..Settings::default()
        };
        let report = explore_with(setup, &settings, program).report;
        assert!(report.is_complete(), "{:?}", report.limits);
        for found in &report.findings {
            assert!(
                matches!(found.failure, Failure::StoreBuffer(_)),
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

/// Locks, and a condition that comes about under one.
const LOCKS: [(&str, fn()); 3] = [
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
];

/// What threads pass once something has been done.
const GATES: [(&str, fn()); 3] = [
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
];

/// Ends of channels and references, used and dropped.
const HANDLES: [(&str, fn()); 4] = [
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

#[test]
fn everything_that_lets_others_go_on_drains() {
    for (name, program) in LOCKS.into_iter().chain(GATES).chain(HANDLES) {
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

/// What `std` finds not to be possible at a optimistic_load, by a plain load, waits for no store.
#[test]
fn attempts_that_fail_at_a_glance_drain_nothing() {
    fn store_buffering<T: Send + Sync + 'static>(thing: T, between: fn(&T)) {
        let shared = StdArc::new((flags(), thing));
        let threads = [0, 1].map(|me| {
            let shared = StdArc::clone(&shared);
            thread::spawn(move || {
                let (flags, thing) = &*shared;
                flags[me].store(1, Relaxed);
                between(thing);
                flags[1 - me].load(Relaxed);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    }
    /// A lock that is held while the threads run.
    fn held<L: Send + Sync + 'static>(lock: L, hold: fn(&L, &dyn Fn()), attempt: fn(&L)) {
        let lock = StdArc::new(lock);
        hold(&lock, &|| {
            let attempted = (StdArc::clone(&lock), attempt);
            store_buffering(attempted, |(lock, attempt)| attempt(lock));
        });
    }
    fn holds_write(lock: &RwLock<()>, run: &dyn Fn()) {
        let _guard = lock.write().unwrap();
        run();
    }
    fn holds_read(lock: &RwLock<()>, run: &dyn Fn()) {
        let _guard = lock.read().unwrap();
        run();
    }
    /// The sender of a channel whose receiver is gone.
    fn alone<S, R>((sender, receiver): (S, R)) -> S {
        drop(receiver);
        sender
    }
    fn holds_mutex(lock: &Mutex<()>, run: &dyn Fn()) {
        let _guard = lock.lock().unwrap();
        run();
    }
    let programs: [(&str, bool, fn()); 10] = [
        ("try_read", false, || {
            held(RwLock::new(()), holds_write, |lock| {
                assert!(lock.try_read().is_err())
            });
        }),
        ("try_write", false, || {
            held(RwLock::new(()), holds_read, |lock| {
                assert!(lock.try_write().is_err())
            });
        }),
        ("try_lock", true, || {
            held(Mutex::new(()), holds_mutex, |lock| {
                assert!(lock.try_lock().is_err())
            });
        }),
        ("try_read beside readers", true, || {
            store_buffering(RwLock::new(()), |lock| drop(lock.try_read()));
        }),
        ("try_write that may fail", false, || {
            store_buffering(RwLock::new(()), |lock| drop(lock.try_write()));
        }),
        ("send", false, || {
            store_buffering(alone(channel()), |sender| assert!(sender.send(()).is_err()));
        }),
        ("send to a bounded channel", false, || {
            store_buffering(alone(sync_channel(1)), |sender| {
                assert!(sender.send(()).is_err())
            });
        }),
        ("try_send", false, || {
            store_buffering(alone(sync_channel(1)), |sender| {
                assert!(sender.try_send(()).is_err());
            });
        }),
        ("send in a rendezvous", true, || {
            store_buffering(alone(sync_channel(0)), |sender| {
                assert!(sender.send(()).is_err())
            });
        }),
        ("try_send in a rendezvous", true, || {
            store_buffering(alone(sync_channel(0)), |sender| {
                assert!(sender.try_send(()).is_err());
            });
        }),
    ];
    for (name, drains, program) in programs {
        assert_eq!(violations(program)[0] == 0, drains, "{name}");
    }
}

/// A load that looks whether a lock can be taken may come before an earlier store, and see who held it then: the attempt
/// fails where, store after store, it could not. Without one who held it there is nothing to see.
#[test]
fn an_attempt_may_look_too_early() {
    fn program(is_written: bool) {
        let (flag, lock) = (
            StdArc::new(AtomicUsize::new(0)),
            StdArc::new(RwLock::new(())),
        );
        let (other_flag, other_lock) = (flag.clone(), lock.clone());
        let thread = thread::spawn(move || {
            other_flag.store(1, Relaxed);
            drop(other_lock.try_read());
        });
        match is_written {
            true => drop(lock.write().unwrap()),
            false => drop(lock.read().unwrap()),
        }
        flag.load(Relaxed);
        thread.join().unwrap();
    }
    assert!(violations(|| program(true))[0] > 0);
    assert_eq!(violations(|| program(false))[0], 0);
}

/// A thread stores and does something; main does something else, and loads.
fn store_before_attempt<T: Send + Sync + 'static>(
    thing: T,
    attempt: fn(&T),
    other: fn(&T, &dyn Fn()),
) {
    let shared = StdArc::new((AtomicUsize::new(0), thing));
    let thread = thread::spawn({
        let shared = StdArc::clone(&shared);
        move || {
            shared.0.store(1, Relaxed);
            attempt(&shared.1);
        }
    });
    other(&shared.1, &|| {
        shared.0.load(Relaxed);
    });
    thread.join().unwrap();
}

/// A load that looks too early does no harm where the operation then tries, waits for its stores, and looks again.
#[test]
fn looking_too_early_at_a_lock_does_no_harm_where_one_looks_again() {
    let harmless: [(&str, fn()); 3] = [
        ("who held it did so before the store was issued", || {
            let lock = RwLock::new(());
            drop(lock.write().unwrap());
            store_before_attempt(
                lock,
                |lock| drop(lock.try_read()),
                |lock, load| {
                    drop(lock.read().unwrap());
                    load();
                },
            );
        }),
        ("it fails, or comes before or after", || {
            store_before_attempt(
                RwLock::new(()),
                |lock| drop(lock.try_write()),
                |lock, load| {
                    let _guard = lock.write().unwrap();
                    load();
                },
            );
        }),
        ("readers hold it", || {
            store_before_attempt(
                RwLock::new(()),
                |lock| drop(lock.try_read()),
                |lock, load| {
                    drop(lock.read().unwrap());
                    load();
                },
            );
        }),
    ];
    for (name, program) in harmless {
        assert_eq!(violations(program)[0], 0, "{name}");
    }
}

/// A bounded channel whose receiver can be taken.
type Channel = (SyncSender<()>, std::sync::Mutex<Option<Receiver<()>>>);

fn bounded(capacity: usize) -> Channel {
    let (sender, receiver) = sync_channel(capacity);
    (sender, std::sync::Mutex::new(Some(receiver)))
}

fn hangs_up(channel: &Channel, load: &dyn Fn()) {
    let receiver = channel.1.lock().unwrap().take();
    drop(receiver);
    load();
}

/// So it is with channels.
#[test]
fn looking_too_early_at_a_channel_does_no_harm_where_one_looks_again() {
    let harmless: [(&str, fn()); 3] = [
        ("there is a place before the receiver is gone", || {
            let channel = bounded(1);
            channel.0.try_send(()).unwrap();
            store_before_attempt(
                channel,
                |channel| _ = channel.0.try_send(()),
                |channel, load| {
                    let receiver = channel.1.lock().unwrap().take();
                    let receiver = receiver.expect("nobody has taken it");
                    _ = receiver.try_recv();
                    load();
                    drop(receiver);
                },
            );
        }),
        ("a send", || {
            store_before_attempt(bounded(1), |channel| _ = channel.0.send(()), hangs_up);
        }),
        (
            "an attempt to send to a channel that was never full",
            || {
                store_before_attempt(bounded(2), |channel| _ = channel.0.try_send(()), hangs_up);
            },
        ),
    ];
    for (name, program) in harmless {
        assert_eq!(violations(program)[0], 0, "{name}");
    }
}

/// The channel may have been full, and the attempt then says so although nobody receives any more.
#[test]
fn an_attempt_may_look_too_early_at_a_full_channel() {
    let full = || {
        store_before_attempt(
            bounded(1),
            |channel| _ = channel.0.try_send(()),
            |channel, load| {
                channel.0.try_send(()).ok();
                hangs_up(channel, load);
            },
        );
    };
    assert!(violations(full)[0] > 0);
}

type Flags = StdArc<[AtomicUsize; 2]>;

fn flags() -> Flags {
    StdArc::new([AtomicUsize::new(0), AtomicUsize::new(0)])
}

/// One thread stores and then looks at a count; another changes the count and then loads. To look is
/// a load, and does not wait for the store; the change is a locked operation.
#[test]
fn looking_at_a_count_drains_nothing() {
    fn program<R: Send + 'static, L>(
        change: impl FnOnce(Arc<()>, Weak<()>) -> R + Send + 'static,
        look: impl FnOnce(&Arc<()>, &Weak<()>) -> L,
    ) {
        let flags = flags();
        let shared = Arc::new(());
        let weak = Arc::downgrade(&shared);
        let (other, other_weak, loaded) = (shared.clone(), weak.clone(), flags.clone());
        let thread = thread::spawn(move || {
            let kept = change(other, other_weak);
            loaded[0].load(Relaxed);
            kept
        });
        flags[0].store(1, Relaxed);
        look(&shared, &weak);
        drop(thread.join());
    }
    let unsafe_programs: [(&str, fn()); 6] = [
        ("drop, strong_count", || {
            program(
                |arc, weak| (drop(arc), weak).1,
                |arc, _| Arc::strong_count(arc),
            );
        }),
        ("clone, strong_count", || {
            program(
                |arc, weak| (arc.clone(), arc, weak),
                |_, weak| weak.strong_count(),
            );
        }),
        ("upgrade, strong_count", || {
            program(
                |arc, weak| (weak.upgrade(), arc, weak),
                |arc, _| Arc::strong_count(arc),
            );
        }),
        ("drop of a weak one, weak_count", || {
            program(
                |arc, weak| (drop(weak), arc).1,
                |arc, _| Arc::weak_count(arc),
            );
        }),
        ("downgrade, weak_count", || {
            program(
                |arc, weak| (Arc::downgrade(&arc), arc, weak),
                |_, weak| weak.weak_count(),
            );
        }),
        ("drop, weak_count of a weak one", || {
            program(|arc, weak| (drop(arc), weak).1, |_, weak| weak.weak_count());
        }),
    ];
    for (name, program) in unsafe_programs {
        let [on_x86, on_pso] = violations(program);
        assert!(on_x86 > 0 && on_pso > 0, "{name}: {on_x86} {on_pso}");
    }
    // They are two words, of which each is looked at for itself.
    let safe_programs: [(&str, fn()); 3] = [
        ("drop, weak_count", || {
            program(
                |arc, weak| (drop(arc), weak).1,
                |arc, _| Arc::weak_count(arc),
            );
        }),
        ("drop of a weak one, strong_count", || {
            program(
                |arc, weak| (drop(weak), arc).1,
                |arc, _| Arc::strong_count(arc),
            );
        }),
        ("downgrade, strong_count", || {
            program(
                |arc, weak| (Arc::downgrade(&arc), arc, weak),
                |arc, _| Arc::strong_count(arc),
            );
        }),
    ];
    for (name, program) in safe_programs {
        assert_eq!(violations(program), [0, 0], "{name}");
    }
}

/// As above, but what looks is a locked operation.
#[test]
fn comparing_a_count_drains_on_x86() {
    fn program<R>(look: impl FnOnce(Arc<u8>, Weak<u8>) -> R) {
        let flags = flags();
        let shared = Arc::new(1);
        let (other, loaded, weak) = (shared.clone(), flags.clone(), Arc::downgrade(&shared));
        let thread = thread::spawn(move || {
            drop(other);
            loaded[0].load(Relaxed);
        });
        flags[0].store(1, Relaxed);
        drop(look(shared, weak));
        thread.join().unwrap();
    }
    let programs: [(&str, fn()); 6] = [
        ("get_mut", || {
            program(|mut arc, weak| {
                drop(weak);
                Arc::get_mut(&mut arc).is_some()
            });
        }),
        ("make_mut", || {
            program(|mut arc, _| *Arc::make_mut(&mut arc) += 1)
        }),
        ("make_mut without weak ones", || {
            let flags = flags();
            let mut shared = Arc::new(1);
            let (other, loaded) = (shared.clone(), flags.clone());
            let thread = thread::spawn(move || {
                drop(other);
                loaded[0].load(Relaxed);
            });
            flags[0].store(1, Relaxed);
            *Arc::make_mut(&mut shared) += 1;
            thread.join().unwrap();
        }),
        ("try_unwrap", || {
            program(|arc, _| Arc::try_unwrap(arc).is_ok())
        }),
        ("into_inner", || {
            program(|arc, _| Arc::into_inner(arc).is_some())
        }),
        ("upgrade", || program(|arc, weak| (weak.upgrade(), arc))),
    ];
    for (name, program) in programs {
        assert_eq!(violations(program)[0], 0, "{name}");
    }
    let only_get_mut = || {
        let flags = flags();
        let mut shared = Arc::new(1);
        let (other, loaded) = (shared.clone(), flags.clone());
        let thread = thread::spawn(move || {
            drop(other);
            loaded[0].load(Relaxed);
        });
        flags[0].store(1, Relaxed);
        Arc::get_mut(&mut shared);
        thread.join().unwrap();
    };
    let [on_x86, on_pso] = violations(only_get_mut);
    assert_eq!(on_x86, 0);
    assert!(on_pso > 0, "it loads the count of references");
}

/// What is seen to have failed is ordered with what made it fail: one thread buffers a store, and
/// the others see, by way of a count, that it must be there.
#[test]
fn what_a_count_refuses_is_ordered() {
    fn buffers(flags: &Flags) -> thread::JoinHandle<usize> {
        let flags = flags.clone();
        thread::spawn(move || {
            flags[0].store(1, Relaxed);
            flags[1].load(Relaxed)
        })
    }
    // It comes before a drop.
    fn refused<R>(refuse: impl FnOnce(Arc<()>) -> R) {
        let flags = flags();
        let shared = Arc::new(());
        let (other, loaded) = (shared.clone(), flags.clone());
        let buffers = buffers(&flags);
        let thread = thread::spawn(move || {
            drop(other);
            loaded[0].load(Relaxed)
        });
        flags[1].store(1, SeqCst);
        drop(refuse(shared));
        buffers.join().unwrap();
        thread.join().unwrap();
    }
    let programs: [(&str, fn()); 7] = [
        ("upgrade after the drop", || {
            let flags = flags();
            let shared = Arc::new(());
            let (weak, stored) = (Arc::downgrade(&shared), flags.clone());
            let buffers = buffers(&flags);
            let thread = thread::spawn(move || {
                stored[1].store(1, SeqCst);
                drop(shared);
            });
            let _is_none = weak.upgrade().is_none();
            flags[0].load(Relaxed);
            buffers.join().unwrap();
            thread.join().unwrap();
        }),
        ("upgrade after try_unwrap", || {
            let flags = flags();
            let shared = Arc::new(());
            let (weak, stored) = (Arc::downgrade(&shared), flags.clone());
            let buffers = buffers(&flags);
            let thread = thread::spawn(move || {
                stored[1].store(1, SeqCst);
                drop(Arc::try_unwrap(shared));
            });
            let _is_none = weak.upgrade().is_none();
            flags[0].load(Relaxed);
            buffers.join().unwrap();
            thread.join().unwrap();
        }),
        ("try_unwrap", || {
            refused(|arc| std::mem::drop(Arc::try_unwrap(arc)))
        }),
        ("into_inner", || refused(Arc::into_inner)),
        ("get_mut", || {
            refused(|mut arc| (Arc::get_mut(&mut arc).is_some(), arc).1);
        }),
        ("make_mut", || {
            refused(|mut arc| {
                Arc::make_mut(&mut arc);
                arc
            });
        }),
        ("a thread that comes later", || {
            let flags = flags();
            let shared = Arc::new(());
            let (other, loaded) = (shared.clone(), flags.clone());
            let buffers = buffers(&flags);
            let thread = thread::spawn(move || {
                let grandchild = thread::spawn(move || {
                    drop(other);
                    loaded[0].load(Relaxed)
                });
                grandchild.join().unwrap();
            });
            flags[1].store(1, SeqCst);
            Arc::strong_count(&shared);
            buffers.join().unwrap();
            thread.join().unwrap();
        }),
    ];
    for (name, program) in programs {
        let [on_x86, on_pso] = violations(program);
        assert!(on_x86 > 0 && on_pso > 0, "{name}: {on_x86} {on_pso}");
    }
}
