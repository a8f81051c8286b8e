//! [`concurrent-queue`](https://docs.rs/concurrent-queue) 2.5.0: queues for many threads, with room for one value
//! (`single`), for several (`bounded`, after Vyukov) or for any number (`unbounded`, in blocks).

use concurrent_queue::ConcurrentQueue;
use fencepost::sync::Arc;
use fencepost::{Checker, Outcome, Target, thread};

fn queues() -> [fn() -> ConcurrentQueue<u32>; 3] {
    [
        || ConcurrentQueue::bounded(1),
        || ConcurrentQueue::bounded(2),
        ConcurrentQueue::unbounded,
    ]
}

/// One thread pushes a value and two pop: one of them gets it, or it is still in the queue.
fn one_value(new: fn() -> ConcurrentQueue<u32>) {
    let queue = Arc::new(new());
    let takers = [0, 1].map(|_| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.pop().ok())
    });
    queue.push(7).unwrap();
    let taken = takers.map(|taker| taker.join().unwrap());
    let left = queue.pop().ok();
    let values: Vec<u32> = taken.into_iter().chain([left]).flatten().collect();
    assert_eq!(values, [7]);
}

/// Values are popped in the order in which they were pushed.
fn in_order(new: fn() -> ConcurrentQueue<u32>) {
    let queue = Arc::new(new());
    let other = Arc::clone(&queue);
    let thread = thread::spawn(move || {
        let mut pushed = Vec::new();
        for value in 1..=2 {
            if other.push(value).is_ok() {
                pushed.push(value);
            }
        }
        pushed
    });
    let mut popped: Vec<u32> = queue.pop().into_iter().collect();
    let pushed = thread.join().unwrap();
    popped.extend(queue.try_iter());
    assert_eq!(popped, pushed);
}

fn check_all(program: fn(fn() -> ConcurrentQueue<u32>)) {
    for target in [Target::X86, Target::Pso] {
        for new in queues() {
            Checker::new().target(target).check(move || program(new));
        }
    }
}

#[test]
fn a_value_comes_out_once() {
    check_all(one_value);
}

#[test]
fn values_come_out_in_order() {
    check_all(in_order);
}

/// The checks above cover the interesting cases: a value is popped early, late, and not at all.
#[test]
fn everything_happens() {
    for new in queues() {
        for expected in [Some(7), None] {
            let outcome = Checker::new().run(move || {
                let queue = Arc::new(new());
                let other = Arc::clone(&queue);
                let thread = thread::spawn(move || other.pop().ok());
                queue.push(7).unwrap();
                assert_ne!(thread.join().unwrap(), expected);
            });
            assert!(matches!(outcome, Outcome::ProgramError(_)), "{outcome}");
        }
    }
}
