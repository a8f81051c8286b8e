//! Data races on cells are found exactly: where happens-before does not order, and nowhere else.
#![allow(unsafe_code)] // Cells are shared without protection: that is what is tested.

use std::sync::Arc;

use crate::support::{Driver, all_fine, all_fine_with, first_error, no_spurious};
use fencepost::cell::UnsafeCell;
use fencepost::sync::atomic::{AtomicUsize, Ordering, Ordering::*, fence};
use fencepost::sync::mpsc::{TryRecvError, TrySendError, channel, sync_channel};
use fencepost::{sync, thread};
use fencepost_runtime::{ProgramError, Race, Setup};

/// A cell that is shared whatever happens.
struct Shared {
    data: UnsafeCell<u32>,
    flag: AtomicUsize,
    other: AtomicUsize,
}

// SAFETY: that is what is tested; threads of a check never run at the same time.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Shared {
            data: UnsafeCell::new(0),
            flag: AtomicUsize::new(0),
            other: AtomicUsize::new(0),
        })
    }

    #[track_caller]
    fn write(&self) {
        // SAFETY: threads of a check never run at the same time.
        self.data.with_mut(|pointer| unsafe { *pointer += 1 });
    }

    #[track_caller]
    fn read(&self) -> u32 {
        // SAFETY: threads of a check never run at the same time.
        self.data.with(|pointer| unsafe { *pointer })
    }
}

/// Runs two threads on shared data, in every order.
fn two(
    one: impl Fn(&Shared) + Send + Sync + 'static,
    two: impl Fn(&Shared) + Send + Sync + 'static,
) -> impl Fn() + Send + Sync + 'static {
    let (one, two) = (Arc::new(one), Arc::new(two));
    move || {
        let shared = Shared::new();
        let (first, second) = (shared.clone(), shared);
        let (one, two) = (one.clone(), two.clone());
        let first = thread::spawn(move || one(&first));
        let second = thread::spawn(move || two(&second));
        first.join().unwrap();
        second.join().unwrap();
    }
}

fn race(error: Option<ProgramError>) -> Box<Race> {
    match error {
        Some(ProgramError::Race(race)) => race,
        other => panic!("{other:?}"),
    }
}

fn message_passing(store: Ordering, load: Ordering) -> impl Fn() + Send + Sync + 'static {
    two(
        move |shared| {
            shared.write();
            shared.flag.store(1, store);
        },
        move |shared| {
            if shared.flag.load(load) == 1 {
                assert_eq!(shared.read(), 1);
            }
        },
    )
}

#[test]
fn release_and_acquire_order_and_nothing_less_does() {
    all_fine(message_passing(Release, Acquire));
    all_fine(message_passing(SeqCst, SeqCst));
    for (store, load) in [(Relaxed, Acquire), (Release, Relaxed), (Relaxed, Relaxed)] {
        race(first_error(message_passing(store, load)));
    }
}

#[test]
fn a_race_names_both_lines() {
    let (writer, reader) = (
        |shared: &Shared| shared.write(),
        |shared: &Shared| assert!(shared.read() < 2),
    );
    let read = line!() - 2;
    let error = first_error(two(writer, reader));
    let race = race(error);
    let mut lines = [
        (race.first.is_write, race.first.location.line),
        (race.second.is_write, race.second.location.line),
    ];
    lines.sort();
    assert_eq!(lines, [(false, read), (true, read - 1)]);
    assert_ne!(race.first.thread, race.second.thread);
    assert!(race.cell.file.ends_with("races.rs"));
    let message = ProgramError::Race(race).to_string();
    assert!(
        message.starts_with("data race on the cell created at"),
        "{message}"
    );
}

#[test]
fn two_writes_race_and_two_reads_do_not() {
    let found = race(first_error(two(
        |shared| shared.write(),
        |shared| shared.write(),
    )));
    assert!(found.first.is_write && found.second.is_write);
    all_fine(two(
        |shared| {
            shared.read();
        },
        |shared| {
            shared.read();
        },
    ));
}

#[test]
fn fences_order_what_relaxed_accesses_carry() {
    let fenced = |release, acquire| {
        two(
            move |shared: &Shared| {
                shared.write();
                fence(release);
                shared.flag.store(1, Relaxed);
            },
            move |shared: &Shared| {
                if shared.flag.load(Relaxed) == 1 {
                    fence(acquire);
                    shared.read();
                }
            },
        )
    };
    all_fine(fenced(Release, Acquire));
    all_fine(fenced(AcqRel, AcqRel));
    all_fine(fenced(SeqCst, SeqCst));
    race(first_error(fenced(Acquire, Acquire)));
    race(first_error(fenced(Release, Release)));

    // A fence covers only what came before it.
    race(first_error(two(
        |shared| {
            fence(Release);
            shared.write();
            shared.flag.store(1, Relaxed);
        },
        |shared| {
            if shared.flag.load(Acquire) == 1 {
                shared.read();
            }
        },
    )));
    // And one before the load acquires nothing.
    race(first_error(two(
        |shared| {
            shared.write();
            shared.flag.store(1, Release);
        },
        |shared| {
            fence(Acquire);
            if shared.flag.load(Relaxed) == 1 {
                shared.read();
            }
        },
    )));
}

#[test]
fn read_modify_writes_continue_a_release_sequence_and_stores_do_not() {
    let sequence = |middle: fn(&Shared)| {
        move || {
            let shared = Shared::new();
            let (one, two, three) = (shared.clone(), shared.clone(), shared);
            thread::spawn(move || {
                one.write();
                one.flag.store(1, Release);
            });
            thread::spawn(move || middle(&two));
            thread::spawn(move || {
                if three.flag.load(Acquire) == 2 {
                    three.read();
                }
            });
        }
    };
    // A relaxed increment of 1 makes 2 and continues the sequence; from 0 it makes 1.
    all_fine(sequence(|shared| {
        let _ = shared.flag.compare_exchange(1, 2, Relaxed, Relaxed);
    }));
    all_fine(sequence(|shared| {
        if shared.flag.load(Relaxed) == 1 {
            shared.flag.fetch_add(1, Relaxed);
        }
    }));
    race(first_error(sequence(|shared| {
        if shared.flag.load(Relaxed) == 1 {
            shared.flag.store(2, Relaxed);
        }
    })));
    // A release store begins another sequence, which knows of the write only by acquiring it.
    race(first_error(sequence(|shared| {
        if shared.flag.load(Relaxed) == 1 {
            shared.flag.store(2, Release);
        }
    })));
    all_fine(sequence(|shared| {
        if shared.flag.load(Acquire) == 1 {
            shared.flag.store(2, Release);
        }
    }));
}

/// C++20: a relaxed store of the releasing thread itself ends the sequence.
#[test]
fn a_later_store_of_the_same_thread_ends_the_sequence() {
    race(first_error(two(
        |shared| {
            shared.write();
            shared.flag.store(1, Release);
            shared.flag.store(2, Relaxed);
        },
        |shared| {
            if shared.flag.load(Acquire) == 2 {
                shared.read();
            }
        },
    )));
}

#[test]
fn a_failed_exchange_acquires_by_its_failure_ordering() {
    let exchange = |failure| {
        two(
            |shared: &Shared| {
                shared.write();
                shared.flag.store(1, Release);
            },
            move |shared: &Shared| {
                if shared.flag.compare_exchange(7, 8, AcqRel, failure) == Err(1) {
                    shared.read();
                }
            },
        )
    };
    all_fine(exchange(Acquire));
    race(first_error(exchange(Relaxed)));
}

#[test]
fn spawn_join_and_park_order() {
    all_fine(|| {
        let shared = Shared::new();
        shared.write();
        let child = shared.clone();
        let thread = thread::spawn(move || child.write());
        thread.join().unwrap();
        shared.write();
        thread::scope(|scope| {
            scope.spawn(|| shared.write());
        });
        assert_eq!(shared.read(), 4);
    });
    // What the parent does after the spawn is concurrent with the child.
    race(first_error(|| {
        let shared = Shared::new();
        let child = shared.clone();
        thread::spawn(move || child.read());
        shared.write();
    }));
    let parked = || {
        let shared = Shared::new();
        let child = shared.clone();
        let thread = thread::spawn(move || {
            thread::park();
            child.read()
        });
        shared.write();
        thread.thread().unpark();
    };
    all_fine_with(no_spurious(), parked);
    // A park that returns for no reason orders nothing.
    race(first_error(parked));
}

#[test]
fn publishing_a_cell_without_release_races_with_its_making() {
    let publish = |store| {
        move || {
            let slot = Arc::new(fencepost::sync::atomic::AtomicPtr::<Shared>::default());
            let other = slot.clone();
            let reader = thread::spawn(move || {
                let shared = other.load(Acquire);
                if !shared.is_null() {
                    // SAFETY: it is leaked until the joins below.
                    unsafe { &*shared }.read();
                }
            });
            let shared = Box::into_raw(Box::new(Arc::into_inner(Shared::new()).unwrap()));
            slot.store(shared, store);
            reader.join().unwrap();
            // SAFETY: it came from a box, and nobody else has it any more.
            drop(unsafe { Box::from_raw(shared) });
        }
    };
    all_fine(publish(Release));
    race(first_error(publish(Relaxed)));
}

/// An access lasts until its closure returns, and others may come in between.
#[test]
fn an_access_races_until_its_end() {
    let lasting = |is_late: bool| {
        two(
            move |shared: &Shared| {
                let access = shared.data.get_mut();
                // SAFETY: threads of a check never run at the same time.
                unsafe { *access.deref() += 1 };
                if is_late {
                    shared.flag.store(1, Release);
                    drop(access);
                } else {
                    drop(access);
                    shared.flag.store(1, Release);
                }
            },
            |shared: &Shared| {
                if shared.flag.load(Acquire) == 1 {
                    shared.read();
                    shared.other.store(1, Release);
                }
            },
        )
    };
    all_fine(lasting(false));
    race(first_error(lasting(true)));
}

#[test]
fn statics_happen_after_their_initialisation() {
    struct Global(UnsafeCell<u32>);
    // SAFETY: threads of a check never run at the same time.
    unsafe impl Sync for Global {}
    fencepost::lazy_static! {
        static ref GLOBAL: Global = Global(UnsafeCell::new(1));
    }
    all_fine(|| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                thread::spawn(|| {
                    thread::yield_now();
                    // SAFETY: threads of a check never run at the same time.
                    GLOBAL.0.with(|pointer| unsafe { *pointer })
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 1);
        }
    });
    race(first_error(|| {
        thread::spawn(|| {
            thread::yield_now();
            GLOBAL.0.with_mut(|_| ());
        });
        thread::yield_now();
        GLOBAL.0.with(|_| ());
    }));
}

/// An attempt to send that says whether nobody receives any more, and the receiver.
type Sending = (Box<dyn Fn() -> bool + Send>, Box<dyn Send>);

/// Who learns from a channel with places that nobody receives any more has synchronised with nobody.
#[test]
fn a_send_to_nobody_orders_only_where_std_says_so() {
    fn program(channel: fn() -> Sending) -> impl Fn() + Send + Sync {
        move || {
            let shared = Shared::new();
            let (send, receiver) = channel();
            let thread = thread::spawn({
                let shared = shared.clone();
                move || {
                    if send() {
                        shared.read();
                    }
                }
            });
            shared.write();
            drop(receiver);
            thread.join().unwrap();
        }
    }
    fn bounded(capacity: usize) -> Sending {
        let (sender, receiver) = sync_channel(capacity);
        (
            Box::new(move || {
                sender
                    .try_send(())
                    .is_err_and(|e| e == TrySendError::Disconnected(()))
            }),
            Box::new(receiver),
        )
    }
    all_fine(program(|| {
        let (sender, receiver) = channel();
        (
            Box::new(move || sender.send(()).is_err()),
            Box::new(receiver),
        )
    }));
    all_fine(program(|| bounded(0)));
    race(first_error(program(|| bounded(1))));
    race(first_error(program(|| {
        let (sender, receiver) = sync_channel(1);
        (
            Box::new(move || sender.send(()).is_err()),
            Box::new(receiver),
        )
    })));
}

/// `std` promises no order for a thread that is seen to have finished. Only a join has one.
#[test]
fn is_finished_orders_nothing() {
    let ends_are_visible = Setup {
        are_ends_visible: true,
        ..Setup::default()
    };
    let program = |joins: bool| {
        move || {
            let shared = Shared::new();
            let other = shared.clone();
            let thread = thread::spawn(move || other.write());
            if joins {
                thread.join().unwrap();
                shared.read();
            } else if thread.is_finished() {
                shared.read();
            }
        }
    };
    all_fine_with(ends_are_visible, program(true));
    let runs = Driver::with(ends_are_visible, program(false)).run_all();
    race(runs.last().unwrap().error.clone());
}

/// What a thread does last.
type Drops = Box<dyn FnOnce() + Send>;

/// A message-passing program with a relaxed flag: `drops` comes before it is set, `looks` after it is seen. Whether
/// they synchronize decides whether the accesses race.
fn with_relaxed_flag<T: Send + 'static>(
    make: fn() -> (Drops, T),
    looks: fn(T),
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Shared::new();
        let (drops, kept) = make();
        let writer = shared.clone();
        let thread = thread::spawn(move || {
            writer.write();
            drops();
            writer.flag.store(1, Relaxed);
        });
        if shared.flag.load(Relaxed) == 1 {
            looks(kept);
            shared.read();
        }
        thread.join().unwrap();
    }
}

/// A dropped sender is learnt of from a channel that is disconnected, not from one that is empty or full.
#[test]
fn an_empty_or_full_channel_orders_nothing() {
    race(first_error(with_relaxed_flag(
        || {
            let (sender, receiver) = channel::<u32>();
            let dropped = sender.clone();
            (Box::new(move || drop(dropped)), (sender, receiver))
        },
        |(_sender, receiver)| assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty)),
    )));
    race(first_error(with_relaxed_flag(
        || {
            let (sender, receiver) = sync_channel::<u32>(0);
            let dropped = sender.clone();
            (Box::new(move || drop(dropped)), (sender, receiver))
        },
        |(sender, _receiver)| assert_eq!(sender.try_send(1), Err(TrySendError::Full(1))),
    )));
    all_fine(with_relaxed_flag(
        || {
            let (sender, receiver) = channel::<u32>();
            (Box::new(move || drop(sender)), receiver)
        },
        |receiver| assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected)),
    ));
}

/// A dropped reference is learnt of from the count that it changes: strong and weak references have one each.
#[test]
fn the_drop_of_a_weak_reference_orders_no_upgrade() {
    fn weak_and_strong() -> (sync::Weak<()>, sync::Arc<()>) {
        let arc = sync::Arc::new(());
        (sync::Arc::downgrade(&arc), arc)
    }
    race(first_error(with_relaxed_flag(
        || {
            let (weak, arc) = weak_and_strong();
            let dropped = weak.clone();
            (Box::new(move || drop(dropped)), (weak, arc))
        },
        |(weak, _arc)| assert!(weak.upgrade().is_some()),
    )));
    all_fine(with_relaxed_flag(
        || {
            let (weak, arc) = weak_and_strong();
            let dropped = arc.clone();
            (Box::new(move || drop(dropped)), (weak, arc))
        },
        |(weak, _arc)| assert!(weak.upgrade().is_some()),
    ));
    all_fine(with_relaxed_flag(
        || {
            let (weak, arc) = weak_and_strong();
            (Box::new(move || drop(weak)), arc)
        },
        |mut arc| assert!(sync::Arc::get_mut(&mut arc).is_some()),
    ));
}
