//! Interleavings happen, values are right, and names are stable.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{Driver, Seen, all_fine};
use fencepost::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::*, fence};
use fencepost::thread;
use fencepost_explore::{Condition, Effect, Intent, TouchKind};
use fencepost_memory::{Address, Random, ThreadId};
use fencepost_runtime::Names;

#[test]
fn store_buffering_shows_three_outcomes_under_sequential_consistency() {
    let seen = Seen::new();
    let outcomes = seen.clone();
    let runs = all_fine(move || {
        let x = Arc::new(AtomicU32::new(0));
        let y = Arc::new(AtomicU32::new(0));
        let (x1, y1) = (x.clone(), y.clone());
        let one = thread::spawn(move || {
            x1.store(1, Relaxed);
            y1.load(Relaxed)
        });
        let two = thread::spawn(move || {
            y.store(1, Relaxed);
            x.load(Relaxed)
        });
        outcomes.add((one.join().unwrap(), two.join().unwrap()));
    });
    assert_eq!(seen.sorted(), [(0, 1), (1, 0), (1, 1)]);
    // The six interleavings of two threads with two steps each, with the two joins in between.
    assert!(runs.len() >= 6, "{}", runs.len());
}

/// (NK)!/(K!)^N interleavings of N threads with K steps each: main joins in a fixed place.
#[test]
fn threads_interleave_in_every_way() {
    let runs = all_fine(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let counter = counter.clone();
            thread::spawn(move || {
                counter.fetch_add(1, Relaxed);
                counter.fetch_add(1, Relaxed);
            });
        }
    });
    assert_eq!(runs.len(), 90);
}

#[test]
fn increments_are_lost_only_if_they_are_not_atomic() {
    let seen = Seen::new();
    let totals = seen.clone();
    all_fine(move || {
        let counter = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || {
                    let value = counter.load(Relaxed);
                    counter.store(value + 1, Relaxed);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        totals.add(counter.load(Relaxed));
    });
    assert_eq!(seen.sorted(), [1, 2]);

    let seen = Seen::new();
    let totals = seen.clone();
    all_fine(move || {
        let counter = Arc::new(AtomicUsize::new(0));
        let other = counter.clone();
        let thread = thread::spawn(move || other.fetch_add(1, Relaxed));
        counter.fetch_add(1, Relaxed);
        thread.join().unwrap();
        totals.add(counter.load(Relaxed));
    });
    assert_eq!(seen.sorted(), [2]);
}

#[test]
fn every_operation_has_the_value_of_std() {
    all_fine(|| {
        let a = AtomicU32::new(5);
        assert_eq!(a.swap(6, AcqRel), 5);
        assert_eq!(a.fetch_add(u32::MAX, Relaxed), 6);
        assert_eq!(a.fetch_sub(1, Relaxed), 5);
        assert_eq!(a.fetch_or(0b1001, Relaxed), 4);
        assert_eq!(a.fetch_and(0b0111, Relaxed), 0b1101);
        assert_eq!(a.fetch_xor(0b0001, Relaxed), 0b0101);
        assert_eq!(a.fetch_nand(0b0110, Relaxed), 0b0100);
        assert_eq!(a.fetch_max(7, Relaxed), !0b0100);
        assert_eq!(a.fetch_min(7, Relaxed), !0b0100);
        assert_eq!(a.compare_exchange(8, 9, SeqCst, SeqCst), Err(7));
        assert_eq!(a.compare_exchange_weak(7, 9, SeqCst, Relaxed), Ok(7));
        assert_eq!(a.fetch_update(SeqCst, SeqCst, |x| Some(x + 1)), Ok(9));
        assert_eq!(a.try_update(SeqCst, SeqCst, |_| None), Err(10));
        assert_eq!(a.update(SeqCst, SeqCst, |x| x * 2), 10);
        assert_eq!(a.load(Acquire), 20);
        assert_eq!(format!("{a:?}"), "20");
        assert_eq!(a.into_inner(), 20);

        let b = AtomicBool::default();
        assert!(!b.fetch_not(Relaxed));
        assert!(b.fetch_nand(true, Relaxed));
        assert!(!b.fetch_or(true, Relaxed));
        assert!(b.fetch_xor(true, Relaxed));
        assert!(!b.fetch_and(true, Relaxed));

        let i = fencepost::sync::atomic::AtomicI8::from(-128);
        assert_eq!(i.fetch_sub(1, Relaxed), -128);
        assert_eq!(i.fetch_min(-3, Relaxed), 127);
        assert_eq!(i.load(Relaxed), -3);

        let mut cells = [1_u16, 2, 3];
        let first = cells.as_mut_ptr();
        let mut p = AtomicPtr::new(first);
        assert_eq!(p.fetch_ptr_add(2, Relaxed), first);
        assert_eq!(p.fetch_byte_sub(2, Relaxed), first.wrapping_add(2));
        assert_eq!(p.fetch_ptr_sub(1, Relaxed), first.wrapping_add(1));
        assert_eq!(p.fetch_or(1, Relaxed), first);
        assert_eq!(p.fetch_and(!1, Relaxed).addr(), first.addr() | 1);
        assert_eq!(p.fetch_xor(0, Relaxed), first);
        *p.get_mut() = first.wrapping_add(1);
        assert_eq!(p.load(Relaxed), first.wrapping_add(1));
        fence(Acquire);
    });
}

#[test]
fn steps_say_what_they_do() {
    let mut driver = Driver::new(|| {
        let mut a = AtomicU32::new(5).named("a");
        *a.get_mut() = 6;
        a.load(Relaxed);
        a.store(7, Relaxed);
        let _ = a.compare_exchange(8, 9, Relaxed, Relaxed);
        let _ = a.compare_exchange(7, 9, Relaxed, Relaxed);
        a.swap(9, Relaxed);
        thread::yield_now();
    });
    let run = driver.run_first();
    run.expect_fine();
    let names = Names::new(&driver.registry, |_, _| None);
    let steps: Vec<_> = run
        .steps
        .iter()
        .map(|step| {
            let touch = step.touches.first().map(|touch| {
                assert_eq!(names.object(touch.object), "a");
                (touch.kind, touch.before, touch.after)
            });
            assert!(step.touches.len() <= 1);
            match step.intent {
                Intent::Access { effect, awaits, .. } => {
                    assert_eq!(awaits, None);
                    (Some(effect), touch)
                }
                _ => (None, touch),
            }
        })
        .collect();
    let equals = |number| Some(Effect::WriteIf(Condition::Equals(number)));
    assert_eq!(
        steps,
        [
            (Some(Effect::Read), Some((TouchKind::Read, 6, 6))),
            (Some(Effect::Write), Some((TouchKind::Write, 6, 7))),
            (equals(8), Some((TouchKind::Read, 7, 7))),
            (equals(7), Some((TouchKind::Write, 7, 9))),
            (Some(Effect::Write), Some((TouchKind::Write, 9, 9))),
            (None, None),
        ]
    );
    assert_eq!(run.steps[5].intent, Intent::SpinHint);
}

/// The same program in many random orders: whatever made an object, and where, decides its number.
#[test]
fn names_do_not_depend_on_the_interleaving() {
    let mut driver = Driver::new(|| {
        let shared = Arc::new(AtomicUsize::new(0).named("shared"));
        let threads: Vec<_> = (0..3)
            .map(|number| {
                let shared = shared.clone();
                let name = format!("parent{number}");
                let builder = thread::Builder::new().name(name);
                let body = move || {
                    let name = format!("own{number}");
                    shared.fetch_add(1, Relaxed);
                    let own = Arc::new(AtomicUsize::new(0).named(&name));
                    let child = own.clone();
                    let child = thread::spawn(move || {
                        let inner = AtomicUsize::new(number);
                        child.fetch_add(inner.load(Relaxed), Relaxed);
                    });
                    child.join().unwrap();
                    assert_eq!(own.load(Relaxed), number);
                };
                builder.spawn(body).unwrap()
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let mut random = Random::new(1);
    let mut intents: BTreeMap<ThreadId, Vec<Intent>> = BTreeMap::new();
    let mut orders = std::collections::HashSet::new();
    for round in 0..200 {
        let run = driver.run_random(&mut random);
        run.expect_fine();
        orders.insert(run.steps.iter().map(|step| step.thread).collect::<Vec<_>>());
        let mut now: BTreeMap<ThreadId, Vec<Intent>> = BTreeMap::new();
        for step in &run.steps {
            now.entry(step.thread).or_default().push(step.intent);
        }
        if round == 0 {
            intents = now;
        } else {
            assert_eq!(now, intents, "round {round}");
        }
    }
    assert!(orders.len() > 100);
    let names = Names::new(&driver.registry, |_, _| None);
    let threads: Vec<&str> = (0..7).map(|t| names.thread(ThreadId(t))).collect();
    for name in ["main", "parent0", "parent1", "parent2"] {
        assert!(threads.contains(&name), "{threads:?}");
    }
    let objects: Vec<&str> = (0..names.object_count() as u32)
        .map(|object| names.object(Address(object)))
        .collect();
    for name in ["shared", "own0", "own1", "own2"] {
        assert!(objects.contains(&name), "{objects:?}");
    }
}

#[test]
fn outside_of_a_check_all_is_as_in_std() {
    let flag = Arc::new(AtomicBool::new(false).named("flag"));
    let other = flag.clone();
    let waiter = thread::spawn(move || {
        while !other.load(Acquire) {
            fencepost::hint::spin_loop();
        }
        thread::park();
        thread::current().name().map(str::to_owned)
    });
    assert!(!waiter.is_finished());
    flag.store(true, Release);
    waiter.thread().unpark();
    assert_eq!(waiter.join().unwrap(), None);

    let mut total = 0;
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        let handle = scope.spawn(|| {
            scope.spawn(|| sum.fetch_add(1, Relaxed));
            2
        });
        total += handle.join().unwrap();
    });
    assert_eq!((total, sum.load(Relaxed)), (2, 1));
    thread::yield_now();
    thread::park_timeout(std::time::Duration::ZERO);
    assert!(thread::available_parallelism().is_ok());
}
