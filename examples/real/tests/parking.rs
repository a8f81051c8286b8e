//! [`parking`](https://docs.rs/parking) 2.2.1: a token for a thread that waits. A mutex and a condition
//! variable, behind an atomic state, so that a thread that was unparked before it parks needs no lock.

use fencepost::sync::Arc;
use fencepost::sync::atomic::{AtomicU32, Ordering::Relaxed};
use fencepost::{Checker, Target, thread};

/// A store before `unpark` is visible after `park`, and no `unpark` is lost.
fn told_once() {
    let (parker, unparker) = parking::pair();
    let value = Arc::new(AtomicU32::new(0));
    let stored = Arc::clone(&value);
    let thread = thread::spawn(move || {
        stored.store(1, Relaxed);
        unparker.unpark();
    });
    parker.park();
    assert_eq!(value.load(Relaxed), 1);
    thread.join().unwrap();
}

/// Two threads unpark; the thread that parks is woken at least once.
fn told_by_two() {
    let (parker, unparker) = parking::pair();
    let other = unparker.clone();
    let one = thread::spawn(move || unparker.unpark());
    let two = thread::spawn(move || other.unpark());
    parker.park();
    one.join().unwrap();
    two.join().unwrap();
    // The token is there once more, or not.
    parker.unparker().unpark();
    parker.park();
}

#[test]
fn no_token_is_lost() {
    for target in [Target::X86, Target::Pso] {
        for program in [told_once, told_by_two] {
            Checker::new().target(target).check(program);
        }
    }
}
