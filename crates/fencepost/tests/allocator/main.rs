//! Programs whose heap comes from Fencepost's allocator.
#![allow(unsafe_code)] // Blocks of all layouts are allocated by hand.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::Ordering as Std;
use std::sync::{Mutex, RwLock};

use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::{Acquire, Release};
use fencepost::{Checker, Outcome, thread};
use fencepost_runtime::IGNORE_CHANGES;

#[global_allocator]
static ALLOCATOR: fencepost::alloc::Allocator = fencepost::alloc::Allocator;

/// Held for writing by the test that turns the comparison off.
static COMPARES: RwLock<()> = RwLock::new(());

/// A thread sets a flag, for which another one waits. In each round the latter calls what `make`
/// has returned.
fn waits_with<F: FnMut()>(make: impl Fn() -> F + Send + Sync + 'static) -> Outcome {
    Checker::new().run(move || {
        let flag = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                let mut round = make();
                while flag.load(Acquire) == 0 {
                    round();
                }
            });
        });
    })
}

fn gives_up_in_box(rounds: usize) -> Outcome {
    waits_with(move || {
        let count = black_box(Box::new(Cell::new(0)));
        move || {
            count.set(count.get() + 1);
            assert!(count.get() < rounds, "gave up");
        }
    })
}

#[track_caller]
fn assert_gave_up(outcome: &Outcome) {
    let text = outcome.to_string();
    assert!(text.contains("gave up"), "{text}");
    // The search itself has found it, not the sampled executions with long rounds.
    assert!(!text.contains("they spin for up to"), "{text}");
}

#[test]
fn a_counter_on_the_heap_is_seen() {
    let _compares = COMPARES.read().unwrap();
    for rounds in [2, 3, 10] {
        assert_gave_up(&gives_up_in_box(rounds));
    }
}

#[test]
fn a_vector_that_grows_is_seen() {
    let _compares = COMPARES.read().unwrap();
    assert_gave_up(&waits_with(|| {
        let mut all = Box::new(Vec::new());
        move || {
            all.push(1_u8);
            assert!(all.len() < 20, "gave up");
        }
    }));
}

#[test]
fn a_counter_on_another_stack_is_seen() {
    let _compares = COMPARES.read().unwrap();
    let outcome = Checker::new().run(|| {
        let flag = AtomicUsize::new(0);
        let count = black_box(std::sync::atomic::AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                while flag.load(Acquire) == 0 {
                    assert!(count.fetch_add(1, Std::Relaxed) < 5, "gave up");
                }
            });
        });
    });
    assert_gave_up(&outcome);
}

#[test]
fn rounds_that_free_what_they_allocate_are_waits() {
    let _compares = COMPARES.read().unwrap();
    let outcomes = [
        waits_with(|| || ()),
        waits_with(|| || drop(black_box(Box::new(7)))),
        waits_with(|| || drop(black_box(format!("{}", black_box(7))))),
        waits_with(|| {
            || {
                let mut all = Vec::new();
                all.extend(black_box(0..100));
                black_box(all);
            }
        }),
    ];
    for outcome in outcomes {
        assert!(outcome.is_verified(), "{outcome}");
    }
}

/// Without the comparison the tests above would fail.
#[test]
fn the_comparison_is_needed() {
    let _alone = COMPARES.write().unwrap();
    IGNORE_CHANGES.store(true, Std::Relaxed);
    let outcome = gives_up_in_box(10);
    IGNORE_CHANGES.store(false, Std::Relaxed);
    let text = outcome.to_string();
    assert!(text.contains("they spin for up to"), "{text}");
}

/// Blocks of many layouts are allocated, resized and freed: none overlaps another.
fn stress(seed: u64) {
    let mut random = seed;
    let mut next = move |below: u64| {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    let mut blocks: Vec<(*mut u8, Layout, u8)> = Vec::new();
    // SAFETY: each block is valid for its layout until it is freed, once.
    unsafe {
        for turn in 0..2000_u32 {
            let fill = turn as u8;
            if next(2) == 0 || blocks.is_empty() {
                let size = 1 + match next(20) {
                    0 => next(100_000),
                    _ => next(3000),
                } as usize;
                let layout = Layout::from_size_align(size, 1 << next(13)).unwrap();
                let is_zeroed = next(2) == 0;
                let block = match is_zeroed {
                    true => alloc_zeroed(layout),
                    false => alloc(layout),
                };
                assert_eq!(block.addr() % layout.align(), 0);
                assert!(!is_zeroed || (0..size).all(|at| block.add(at).read() == 0));
                block.write_bytes(fill, size);
                blocks.push((block, layout, fill));
                continue;
            }
            let (block, layout, fill) = blocks.swap_remove(next(blocks.len() as u64) as usize);
            assert!((0..layout.size()).all(|at| block.add(at).read() == fill));
            if next(3) == 0 {
                let size = 1 + next(4000) as usize;
                let block = realloc(block, layout, size);
                assert!((0..size.min(layout.size())).all(|at| block.add(at).read() == fill));
                block.write_bytes(fill, size);
                let layout = Layout::from_size_align(size, layout.align()).unwrap();
                assert_eq!(block.addr() % layout.align(), 0);
                blocks.push((block, layout, fill));
            } else {
                dealloc(block, layout);
            }
        }
        for (block, layout, fill) in blocks {
            assert!((0..layout.size()).all(|at| block.add(at).read() == fill));
            dealloc(block, layout);
        }
    }
}

#[test]
fn blocks_do_not_overlap() {
    let _compares = COMPARES.read().unwrap();
    stress(1);
    let outcome = Checker::new().run(|| {
        stress(2);
        drop(black_box(vec![1_u8; 40 << 20]));
    });
    assert!(outcome.is_verified(), "{outcome}");
}

#[test]
fn blocks_outlive_executions_and_are_freed_elsewhere() {
    let _compares = COMPARES.read().unwrap();
    static KEPT: Mutex<Vec<Vec<u32>>> = Mutex::new(Vec::new());
    for check in 0..5_u32 {
        let before = vec![check; 100];
        let outcome = Checker::new().run(move || {
            let flag = AtomicUsize::new(0);
            thread::scope(|scope| {
                let made = scope.spawn(|| {
                    flag.store(1, Release);
                    vec![check; 50]
                });
                scope.spawn(|| flag.load(Acquire));
                let mut made = made.join().unwrap();
                made.extend(before.clone());
                KEPT.lock().unwrap().push(made);
            });
        });
        assert!(outcome.is_verified(), "{outcome}");
    }
    let kept = std::mem::take(&mut *KEPT.lock().unwrap());
    assert!(kept.len() >= 5);
    for all in &kept {
        assert!(all.len() == 150 && all.iter().all(|&check| check == all[0]));
    }
    std::thread::spawn(move || drop(kept)).join().unwrap();
    assert_gave_up(&gives_up_in_box(3));
}
