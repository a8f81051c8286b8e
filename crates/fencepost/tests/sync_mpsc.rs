//! Channels: order, blocking, disconnection, every error, classes, and the same outside.

use std::sync::Arc;
use std::time::Duration;

use crate::explorer::{Protected, assert_deadlock, assert_race, classes, in_threads, verified};
use crate::support::{Driver, Seen, all_fine, pso};
use fencepost::sync::atomic::{AtomicUsize, Ordering::*};
use fencepost::sync::mpsc::{
    RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError, channel, sync_channel,
};
use fencepost::thread;
use fencepost_runtime::Setup;

const SOON: Duration = Duration::from_millis(1);

#[test]
fn messages_arrive_in_the_order_of_their_senders() {
    let seen = Seen::new();
    let orders = seen.clone();
    classes(move || {
        let (sender, receiver) = channel();
        let other = sender.clone();
        thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        thread::spawn(move || other.send(3).unwrap());
        orders.add(receiver.iter().collect::<Vec<_>>());
    });
    assert_eq!(seen.sorted(), [[1, 2, 3], [1, 3, 2], [3, 1, 2]]);
}

/// The orders of the sends, times the ways in which receiving fits in between.
#[test]
fn orders_on_a_channel_are_its_classes() {
    let count = |senders: usize, bound: Option<usize>| {
        classes(move || {
            let (one, two, receiver) = match bound {
                None => {
                    let (sender, receiver) = channel();
                    (Some(sender), None, receiver)
                }
                Some(bound) => {
                    let (sender, receiver) = sync_channel(bound);
                    (None, Some(sender), receiver)
                }
            };
            thread::scope(|scope| {
                for number in 0..senders {
                    let (one, two) = (&one, &two);
                    scope.spawn(move || match (one, two) {
                        (Some(sender), _) => sender.send(number).unwrap(),
                        (_, Some(sender)) => sender.send(number).unwrap(),
                        _ => unreachable!(),
                    });
                }
                for _ in 0..senders {
                    receiver.recv().unwrap();
                }
            });
        })
    };
    assert_eq!(count(1, None), 1);
    assert_eq!(count(2, None), 2 * 2);
    assert_eq!(count(3, None), 5 * 6, "Catalan's number");
    assert_eq!(count(2, Some(1)), 2, "they take turns");
    assert_eq!(count(3, Some(1)), 6);
    assert_eq!(
        count(3, Some(2)),
        4 * 6,
        "not all three sends before the first receive"
    );
    assert_eq!(count(3, Some(3)), 5 * 6);
    assert_eq!(count(1, Some(0)), 2, "who comes first");
    // Received after all were sent.
    let received_last = classes(|| {
        let (sender, receiver) = channel();
        in_threads(3, |number| sender.send(number).unwrap());
        assert_eq!(receiver.try_iter().count(), 3);
    });
    assert_eq!(received_last, 6);
}

/// Drops commute with each other; who waits for the last does not care, who looks does.
#[test]
fn the_drops_of_senders_commute() {
    fn program(look: bool) -> impl Fn() + Send + Sync {
        move || {
            let (sender, receiver) = channel::<()>();
            let other = sender.clone();
            thread::spawn(move || drop(sender));
            thread::spawn(move || drop(other));
            if look {
                assert!(receiver.try_recv().is_err());
            } else {
                assert_eq!(receiver.recv(), Err(RecvError));
            }
        }
    }
    assert_eq!(classes(program(false)), 1);
    // Each before the look, after it, or after the receiver is gone.
    assert_eq!(classes(program(true)), 9);
}

#[test]
fn receiving_ends_when_the_last_sender_is_gone() {
    let seen = Seen::new();
    let results = seen.clone();
    classes(move || {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            sender.send(1).unwrap();
            drop(sender);
        });
        results.add(format!("{:?}", receiver.try_recv()));
        let left: Vec<i32> = receiver.into_iter().collect();
        assert!(left.len() <= 1);
    });
    assert_eq!(seen.sorted(), ["Err(Empty)", "Ok(1)"]);
    classes(|| {
        let (sender, receiver) = channel();
        sender.send(1).unwrap();
        drop(sender);
        assert_eq!(receiver.recv(), Ok(1), "what was sent is received first");
        assert_eq!(receiver.recv(), Err(RecvError));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        let timed = receiver.recv_timeout(SOON);
        assert_eq!(timed, Err(RecvTimeoutError::Disconnected));
    });
}

#[test]
fn receiving_from_a_sender_that_stays_is_a_deadlock() {
    assert_deadlock(|| {
        let (_sender, receiver) = channel::<()>();
        let _ = receiver.recv();
    });
    assert_deadlock(|| {
        let (sender, receiver) = channel::<()>();
        let _kept = sender.clone();
        thread::spawn(move || drop(sender));
        assert_eq!(receiver.iter().count(), 0);
    });
    assert_deadlock(|| {
        let (sender, _receiver) = sync_channel(1);
        sender.send(1).unwrap();
        let _ = sender.send(2);
    });
    assert_deadlock(|| {
        let (sender, _receiver) = sync_channel(0);
        let _ = sender.send(1);
    });
}

#[test]
fn sending_to_nobody_gives_the_value_back() {
    all_fine(|| {
        let (sender, receiver) = channel();
        sender.send(1).unwrap();
        drop(receiver);
        assert_eq!(sender.send(2), Err(SendError(2)));
        for bound in [0, 1, 2] {
            let (sender, receiver) = sync_channel(bound);
            drop(receiver);
            assert_eq!(sender.send(3), Err(SendError(3)));
            let full = sender.try_send(4);
            assert_eq!(full, Err(TrySendError::Disconnected(4)));
        }
    });
}

#[test]
fn a_full_channel_says_so_or_waits() {
    let seen = Seen::new();
    let results = seen.clone();
    classes(move || {
        let (sender, receiver) = sync_channel(1);
        let results = results.clone();
        let thread = thread::spawn(move || {
            sender.try_send(1).unwrap();
            results.add(sender.try_send(2).is_ok());
            sender.send(3).unwrap();
        });
        let received: Vec<i32> = receiver.iter().collect();
        assert!(matches!(received[..], [1, 3] | [1, 2, 3]), "{received:?}");
        thread.join().unwrap();
    });
    assert_eq!(seen.sorted(), [false, true]);
    all_fine(|| {
        let (sender, receiver) = sync_channel(2);
        sender.send(1).unwrap();
        sender.try_send(2).unwrap();
        assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
        assert_eq!(receiver.try_recv(), Ok(1));
        sender.try_send(3).unwrap();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [2, 3]);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    });
}

/// Who waits to send goes on when the receiver goes away.
#[test]
fn blocked_senders_learn_that_the_receiver_is_gone() {
    for bound in [0, 1] {
        let seen = Seen::new();
        let results = seen.clone();
        classes(move || {
            let (sender, receiver) = sync_channel(bound);
            for _ in 0..bound {
                sender.send(0).unwrap();
            }
            let results = results.clone();
            thread::spawn(move || results.add(sender.send(7).map_err(|error| error.0)));
            receiver.try_recv().ok();
        });
        assert_eq!(seen.sorted(), [Ok(()), Err(7)]);
    }
}

#[test]
fn a_rendezvous_hands_over() {
    let seen = Seen::new();
    let orders = seen.clone();
    classes(move || {
        let (sender, receiver) = sync_channel(0);
        let sent = AtomicUsize::new(0);
        thread::scope(|scope| {
            for number in 0..2 {
                let (sender, sent) = (sender.clone(), &sent);
                scope.spawn(move || {
                    sender.send(number).unwrap();
                    sent.fetch_add(1, SeqCst);
                });
            }
            drop(sender);
            // Nobody's send returns before its value is received or about to be.
            assert_eq!(sent.load(SeqCst), 0);
            let first = receiver.recv().unwrap();
            assert!(sent.load(SeqCst) <= 1);
            let second = receiver.recv().unwrap();
            assert_eq!(receiver.recv(), Err(RecvError));
            orders.add((first, second));
        });
    });
    assert_eq!(seen.sorted(), [(0, 1), (1, 0)]);
}

#[test]
fn a_rendezvous_can_be_attempted_from_both_sides() {
    let seen = Seen::new();
    let results = seen.clone();
    classes(move || {
        let (sender, receiver) = sync_channel(0);
        let results = results.clone();
        let thread = thread::spawn(move || {
            results.add(match sender.try_send(1) {
                Ok(()) => "Ok(())",
                Err(TrySendError::Full(1)) => "Err(Full(1))",
                Err(_) => "another",
            });
        });
        let received = receiver.recv();
        thread.join().unwrap();
        assert!(matches!(received, Ok(1) | Err(RecvError)));
    });
    assert_eq!(seen.sorted(), ["Err(Full(1))", "Ok(())"]);
    let seen = Seen::new();
    let results = seen.clone();
    classes(move || {
        let (sender, receiver) = sync_channel(0);
        let thread = thread::spawn(move || sender.send(1));
        let received = receiver.try_recv();
        results.add(format!("try: {received:?}"));
        let received = receiver.recv_timeout(SOON);
        results.add(format!("timed: {received:?}"));
        drop(receiver);
        thread.join().unwrap().ok();
    });
    let expected = [
        "timed: Err(Disconnected)",
        "timed: Err(Timeout)",
        "timed: Ok(1)",
        "try: Err(Empty)",
        "try: Ok(1)",
    ];
    assert_eq!(seen.sorted(), expected);
}

/// A receiver and a sender wait by parking, so they may take the token of their thread.
#[test]
fn waiting_may_take_the_token_of_the_thread() {
    assert_deadlock(|| {
        let (sender, receiver) = channel();
        let me = thread::current();
        thread::spawn(move || {
            me.unpark();
            sender.send(1).unwrap();
        });
        receiver.recv().unwrap();
        thread::park();
    });
    for bound in [0, 1] {
        assert_deadlock(move || {
            let (sender, receiver) = sync_channel(bound);
            let me = thread::current();
            thread::spawn(move || {
                me.unpark();
                while receiver.recv().is_ok() {}
            });
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            thread::park();
        });
        assert_deadlock(move || {
            let (sender, receiver) = sync_channel(bound);
            let me = thread::current();
            thread::spawn(move || {
                me.unpark();
                let _ = sender.send(1);
            });
            let _ = receiver.recv_timeout(SOON);
            thread::park();
        });
    }
}

/// Who does not wait leaves the token.
#[test]
fn what_does_not_wait_leaves_the_token() {
    let sent_before = verified(|| {
        let (sender, receiver) = channel();
        thread::current().unpark();
        sender.send(1).unwrap();
        receiver.recv().unwrap();
        drop(sender);
        receiver.recv().unwrap_err();
        thread::park();
    });
    assert_eq!(sent_before.restarts, 1);
    let with_room = verified(|| {
        let (sender, receiver) = sync_channel(1);
        thread::current().unpark();
        sender.send(1).unwrap();
        receiver.recv_timeout(SOON).unwrap();
        thread::park();
    });
    assert_eq!(with_room.restarts, 1);
    let disconnected = verified(|| {
        let (sender, receiver) = sync_channel::<u32>(0);
        thread::current().unpark();
        drop(sender);
        receiver.recv().unwrap_err();
        thread::park();
    });
    assert_eq!(disconnected.restarts, 0);
    let looked = verified(|| {
        let (sender, receiver) = channel();
        let me = thread::current();
        let thread = thread::spawn(move || {
            me.unpark();
            sender.send(1).unwrap();
        });
        let _ = receiver.try_recv();
        thread::park();
        thread.join().unwrap();
    });
    assert_eq!(looked.restarts, 0);
}

#[test]
fn a_time_out_is_possible_whenever_there_is_nothing() {
    let seen = Seen::new();
    let results = seen.clone();
    classes(move || {
        let (sender, receiver) = channel();
        thread::spawn(move || sender.send(1).ok());
        results.add(format!("{:?}", receiver.recv_timeout(SOON)));
    });
    assert_eq!(seen.sorted(), ["Err(Timeout)", "Ok(1)"]);
    // In a loop it waits.
    classes(|| {
        let (sender, receiver) = channel();
        let thread = thread::spawn(move || sender.send(1).unwrap());
        let value = loop {
            match receiver.recv_timeout(SOON) {
                Ok(value) => break value,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!(),
            }
        };
        assert_eq!(value, 1);
        thread.join().unwrap();
    });
}

#[test]
fn receiving_happens_after_sending_and_not_after_other_sends() {
    classes(|| {
        let cell = Arc::new(Protected::new());
        let (sender, receiver) = channel();
        let sent = cell.clone();
        thread::spawn(move || {
            sent.increment();
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        cell.increment();
    });
    // The end of a sender is ordered as well.
    classes(|| {
        let cell = Arc::new(Protected::new());
        let (sender, receiver) = channel::<()>();
        let dropped = cell.clone();
        thread::spawn(move || {
            dropped.increment();
            drop(sender);
        });
        assert!(receiver.recv().is_err());
        cell.increment();
    });
    assert_race(|| {
        let cell = Arc::new(Protected::new());
        let (sender, receiver) = channel();
        let (sent, other) = (cell.clone(), sender.clone());
        thread::spawn(move || sender.send(1).unwrap());
        thread::spawn(move || {
            sent.increment();
            other.send(2).unwrap();
        });
        if receiver.recv() == Ok(1) {
            cell.increment();
        }
    });
}

/// A channel is no semaphore: `std` does not promise that who finds a place knows what was done before the place
/// became free.
#[test]
fn the_places_of_a_bounded_channel_order_nothing() {
    fn program(bound: usize) -> impl Fn() + Send + Sync {
        move || {
            let (sender, receiver) = sync_channel(bound);
            let receiver = fencepost::sync::Mutex::new(receiver);
            let cell = Protected::new();
            in_threads(2, |_| {
                sender.send(()).unwrap();
                cell.increment();
                // Not while the other holds the receiver and increments.
                receiver.lock().unwrap().recv().unwrap();
            });
        }
    }
    assert_race(program(1));
    assert_race(program(2));
}

/// A send to a rendezvous channel returns after a receive has begun, whoever comes first. A channel with a buffer
/// does not order that.
#[test]
fn a_rendezvous_orders_what_the_receiver_did_before() {
    fn program(bound: usize, tries: bool) -> impl Fn() + Send + Sync {
        move || {
            let cell = Arc::new(Protected::new());
            let (sender, receiver) = sync_channel(bound);
            let received = cell.clone();
            thread::spawn(move || {
                received.increment();
                receiver.recv().unwrap();
            });
            match tries {
                true if sender.try_send(()).is_ok() => cell.increment(),
                true => sender.send(()).unwrap(),
                false => {
                    sender.send(()).unwrap();
                    cell.increment();
                }
            }
        }
    }
    verified(program(0, false));
    verified(program(0, true));
    assert_race(program(1, false));
    assert_race(program(1, true));
    // What the receiver does afterwards is not ordered.
    assert_race(|| {
        let cell = Arc::new(Protected::new());
        let (sender, receiver) = sync_channel(0);
        let received = cell.clone();
        thread::spawn(move || {
            receiver.recv().unwrap();
            received.increment();
        });
        sender.send(()).unwrap();
        cell.increment();
    });
}

#[test]
fn what_was_not_received_is_dropped_with_the_receiver() {
    struct Counted(Arc<std::sync::atomic::AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    all_fine(|| {
        let dropped = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let (sender, receiver) = channel();
        for _ in 0..3 {
            sender.send(Counted(dropped.clone())).unwrap();
        }
        drop(receiver.recv());
        assert_eq!(dropped.load(SeqCst), 1);
        drop(receiver);
        assert_eq!(dropped.load(SeqCst), 3);
        drop(sender.send(Counted(dropped.clone())));
        assert_eq!(dropped.load(SeqCst), 4);
    });
}

#[test]
fn the_monitor_sees_channels_drain() {
    let program = || {
        let (sender, receiver) = sync_channel(1);
        sender.send(1).unwrap();
        assert!(sender.try_send(2).is_err());
        assert_eq!(receiver.recv(), Ok(1));
        assert!(receiver.try_recv().is_err());
        drop(sender);
        drop(receiver);
    };
    let seen = |setup: Setup| {
        let run = Driver::with(setup, program).run_first();
        run.expect_fine().mnemonics(0).join(" ")
    };
    assert_eq!(seen(Setup::default()), "il lld il lld fence il");
    let on_pso = "fence il fence lld fence il fence lld fence fence il";
    assert_eq!(seen(pso()), on_pso);
}

#[test]
fn channels_outside_of_a_check_are_those_of_std() {
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let sender = sender.clone().named("unheard");
            scope.spawn(move || sender.send(number).unwrap());
        }
    });
    let mut received: Vec<i32> = receiver.try_iter().collect();
    received.sort_unstable();
    assert_eq!(received, [0, 1, 2, 3]);
    let timed = receiver.recv_timeout(SOON);
    assert_eq!(timed, Err(RecvTimeoutError::Timeout));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    drop(sender);
    assert_eq!(receiver.recv(), Err(RecvError));

    let (sender, receiver) = sync_channel(0);
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    let thread = std::thread::spawn(move || sender.send(2));
    assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [2]);
    assert_eq!(thread.join().unwrap(), Ok(()));
    let (sender, receiver) = sync_channel(1);
    assert_eq!(
        format!("{sender:?} {receiver:?}"),
        "SyncSender { .. } Receiver { .. }"
    );
    drop(receiver);
    assert_eq!(sender.send(3), Err(SendError(3)));
}
