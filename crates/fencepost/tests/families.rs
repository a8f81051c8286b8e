//! Programs whose numbers of executions are known, written as a user would.

use std::sync::Arc;

use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use fencepost::{Checker, Outcome, thread};

/// Runs to the end and counts.
fn checked(program: impl Fn() + Send + Sync + 'static) -> Outcome {
    Checker::new().continue_after_failure(true).run(program)
}

fn store_buffering(threads: usize) -> impl Fn() + Send + Sync {
    move || {
        let flags: Arc<Vec<AtomicUsize>> =
            Arc::new((0..threads).map(|_| AtomicUsize::new(0)).collect());
        let handles: Vec<_> = (0..threads)
            .map(|own| {
                let flags = Arc::clone(&flags);
                thread::spawn(move || {
                    flags[own].store(1, Release);
                    flags[(own + 1) % threads].load(Acquire)
                })
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
    }
}

fn counter(threads: usize, additions: usize) -> impl Fn() + Send + Sync {
    move || {
        let count = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                let count = Arc::clone(&count);
                thread::spawn(move || {
                    for _ in 0..additions {
                        count.fetch_add(1, Relaxed);
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
        assert_eq!(count.load(Relaxed), threads * additions);
    }
}

fn readers(readers: usize) -> impl Fn() + Send + Sync {
    move || {
        let value = Arc::new(AtomicUsize::new(0));
        let writer = {
            let value = Arc::clone(&value);
            thread::spawn(move || value.store(1, Release))
        };
        let handles: Vec<_> = (0..readers)
            .map(|_| {
                let value = Arc::clone(&value);
                thread::spawn(move || value.load(Acquire))
            })
            .collect();
        writer.join().unwrap();
        for handle in handles {
            handle.join().unwrap();
        }
    }
}

fn last_zero(elements: usize) -> impl Fn() + Send + Sync {
    move || {
        let array: Arc<Vec<AtomicUsize>> =
            Arc::new((0..=elements).map(|_| AtomicUsize::new(0)).collect());
        let mut handles = Vec::new();
        {
            let array = Arc::clone(&array);
            handles.push(thread::spawn(move || {
                let mut at = elements;
                while array[at].load(Acquire) != 0 {
                    at -= 1;
                }
            }));
        }
        for element in 1..=elements {
            let array = Arc::clone(&array);
            handles.push(thread::spawn(move || {
                let before = array[element - 1].load(Acquire);
                array[element].store(before + 1, Release);
            }));
        }
        for handle in handles {
            handle.join().unwrap();
        }
    }
}

#[test]
fn store_buffering_has_one_execution_less_than_all_outcomes() {
    for (threads, executions) in [(2, 3), (3, 7), (4, 15), (6, 63)] {
        let outcome = checked(store_buffering(threads));
        assert_eq!(outcome.executions(), executions);
        assert_eq!(outcome.abandoned(), 0);
        assert!(matches!(outcome, Outcome::NotStoreBufferSafe(_)));
    }
}

#[test]
fn counters_have_an_execution_for_each_order() {
    for (threads, additions, executions) in [(3, 2, 90), (4, 2, 2520), (5, 2, 113_400)] {
        let outcome = checked(counter(threads, additions));
        assert_eq!(outcome.executions(), executions);
        assert_eq!(outcome.abandoned(), 0);
        assert!(outcome.is_verified());
    }
}

#[test]
fn readers_read_before_or_after() {
    for (count, executions) in [(3, 8), (8, 256), (13, 8192)] {
        let outcome = checked(readers(count));
        assert_eq!(outcome.executions(), executions);
        assert_eq!(outcome.abandoned(), 0);
    }
}

#[test]
fn last_zero_has_its_known_executions() {
    for (elements, executions) in [(5, 64), (10, 3328), (15, 147_456)] {
        let outcome = checked(last_zero(elements));
        assert_eq!(outcome.executions(), executions);
        assert_eq!(outcome.abandoned(), 0);
    }
}

#[test]
fn two_workers_find_the_same() {
    type Make = fn() -> Box<dyn Fn() + Send + Sync>;
    let programs: [Make; 3] = [
        || Box::new(store_buffering(4)),
        || Box::new(counter(4, 2)),
        || Box::new(last_zero(9)),
    ];
    for program in programs {
        let one = Checker::new().continue_after_failure(true).run(program());
        let two = Checker::new()
            .continue_after_failure(true)
            .workers(2)
            .run(program());
        assert_eq!(one.executions(), two.executions());
        assert_eq!(one.violations(), two.violations());
        assert_eq!(one.distinct_violations(), two.distinct_violations());
        assert_eq!(one.borderline_executions(), two.borderline_executions());
        let headlines = |outcome: &Outcome| {
            let findings = outcome.findings().iter();
            let mut lines: Vec<_> = findings.map(|f| f.headline().to_owned()).collect();
            lines.sort();
            lines
        };
        assert_eq!(headlines(&one).len(), headlines(&two).len());
    }
}

#[test]
fn sequentially_consistent_accesses_are_store_buffer_safe() {
    let outcome = checked(|| {
        let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let other = Arc::clone(&flags);
        let thread = thread::spawn(move || {
            other[0].store(1, SeqCst);
            other[1].load(SeqCst)
        });
        flags[1].store(1, SeqCst);
        let first = flags[0].load(SeqCst);
        let second = thread.join().unwrap();
        assert!(first + second > 0);
    });
    assert!(outcome.is_verified(), "{outcome}");
    assert_eq!(outcome.executions(), 3);
}

/// A thread that joins those that have ended does so without a stop. What it makes after that knows what they have
/// done; what it has made before does not.
#[test]
fn only_what_is_made_after_a_join_knows_of_it() {
    let executions = |joins_first: bool| {
        let outcome = checked(move || {
            let data = Arc::new([0; 3].map(AtomicUsize::new));
            let writers = [0, 1].map(|own| {
                let data = Arc::clone(&data);
                thread::spawn(move || data[own].store(1, SeqCst))
            });
            // A step of this thread, before which the writers may have ended or not.
            data[2].load(SeqCst);
            let read = {
                let data = Arc::clone(&data);
                move || data[0].load(SeqCst) + data[1].load(SeqCst)
            };
            let join = || {
                writers
                    .into_iter()
                    .for_each(|writer| writer.join().unwrap())
            };
            let reader = if joins_first {
                join();
                assert_eq!(read(), 2);
                thread::spawn(read)
            } else {
                let reader = thread::spawn(read);
                join();
                reader
            };
            let seen = reader.join().unwrap();
            assert!(seen == 2 || !joins_first);
        });
        assert!(matches!(outcome, Outcome::Verified(_)), "{outcome}");
        outcome.executions()
    };
    assert_eq!(executions(true), 1);
    assert_eq!(executions(false), 4);
}
