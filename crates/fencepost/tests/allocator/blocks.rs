//! Blocks are valid whatever is done with them, and wherever.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Mutex;

use fencepost::sync::atomic::AtomicUsize;
use fencepost::sync::atomic::Ordering::{Acquire, Release};
use fencepost::{Checker, thread};

use super::loops::{assert_gave_up, gives_up_in_box};

/// Waits, so that states are compared and the execution allocates from our allocator.
fn wait_for_another_thread() {
    let flag = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| flag.store(1, Release));
        scope.spawn(|| while flag.load(Acquire) == 0 {});
    });
}

/// Blocks of many layouts are allocated, resized and freed: none overlaps another.
fn stress(seed: u64, turns: u32) {
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
        for turn in 0..turns {
            let fill = turn as u8;
            if next(2) == 0 || blocks.is_empty() {
                let size = 1 + match next(20) {
                    0 => next(200_000),
                    1..=4 => next(3000),
                    _ => next(100),
                } as usize;
                let align = match next(4) {
                    0 => 1 << next(14),
                    _ => 1 << next(4),
                };
                let layout = Layout::from_size_align(size, align).unwrap();
                let is_zeroed = next(2) == 0;
                let block = match is_zeroed {
                    true => alloc_zeroed(layout),
                    false => alloc(layout),
                };
                assert!(!block.is_null());
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
    stress(1, 2000);
    let outcome = Checker::new().run(|| {
        wait_for_another_thread();
        stress(2, 200);
        drop(black_box(vec![1_u8; 40 << 20]));
    });
    assert!(outcome.is_verified(), "{outcome}");
}

/// Threads of a program free what others have allocated, in all orders.
#[test]
fn threads_free_the_blocks_of_others() {
    let outcome = Checker::new().run(|| {
        wait_for_another_thread();
        let mine: Vec<Box<usize>> = (0..20).map(Box::new).collect();
        let (other, third) = thread::scope(|scope| {
            let other = scope.spawn(|| (0..20).map(|n| Box::new(n + 100)).collect::<Vec<_>>());
            let third = scope.spawn(move || {
                let kept: Vec<Box<usize>> = mine.into_iter().filter(|n| **n % 2 == 0).collect();
                let more: Vec<Box<usize>> = (0..20).map(|n| Box::new(n + 200)).collect();
                (kept, more)
            });
            (other.join().unwrap(), third.join().unwrap())
        });
        drop(third.1);
        let last: Vec<Box<usize>> = (0..40).map(|n| Box::new(n + 300)).collect();
        assert!(other.iter().enumerate().all(|(at, n)| **n == at + 100));
        assert!(third.0.iter().enumerate().all(|(at, n)| **n == at * 2));
        assert!(last.iter().enumerate().all(|(at, n)| **n == at + 300));
    });
    assert!(outcome.is_verified(), "{outcome}");
}

#[test]
fn blocks_outlive_executions_and_are_freed_elsewhere() {
    static KEPT: Mutex<Vec<Vec<u32>>> = Mutex::new(Vec::new());
    for check in 0..5_u32 {
        let before = vec![check; 100];
        let outcome = Checker::new().run(move || {
            wait_for_another_thread();
            let made = thread::spawn(move || vec![check; 50]);
            let mut made = made.join().unwrap();
            made.extend(before.clone());
            KEPT.lock().unwrap().push(made);
        });
        assert!(outcome.is_verified(), "{outcome}");
    }
    let kept = std::mem::take(&mut *KEPT.lock().unwrap());
    assert!(kept.len() >= 10, "{}", kept.len());
    for all in &kept {
        assert!(all.len() == 150 && all.iter().all(|&check| check == all[0]));
    }
    std::thread::spawn(move || drop(kept)).join().unwrap();
    assert_gave_up(&gives_up_in_box(Checker::new(), 3));
}

/// What the program leaves in the storage of the OS thread is dropped when that thread ends.
#[test]
fn blocks_are_freed_at_the_end_of_an_os_thread() {
    thread_local! {
        static KEPT: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }
    let outcome = Checker::new().run(|| {
        wait_for_another_thread();
        KEPT.with_borrow_mut(|kept| {
            assert!(kept.iter().all(|text| text == "what an execution leaves"));
            kept.push("what an execution leaves".to_owned());
        });
    });
    assert!(outcome.is_verified(), "{outcome}");
}

/// A program that leaks in each execution: what it has leaked stays, and its heap is still compared.
#[test]
fn leaks_do_not_end_the_comparison() {
    static LEAKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let outcome = Checker::new().run(|| {
        let flag = AtomicUsize::new(0);
        let steps = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    steps.fetch_add(1, Acquire);
                    steps.fetch_add(1, Acquire);
                });
            }
            scope.spawn(|| flag.store(1, Release));
            scope.spawn(|| {
                let leaked = Box::leak(Box::new([7_u64; 100]));
                LEAKED.lock().unwrap().push((&raw mut *leaked).addr());
                while flag.load(Acquire) == 0 {
                    leaked[0] = 1;
                    leaked[0] = 7;
                }
            });
        });
    });
    assert!(outcome.is_verified(), "{outcome}");
    let text = outcome.to_string();
    assert!(text.contains("outlives an execution"), "{text}");
    let leaked = LEAKED.lock().unwrap();
    assert!(leaked.len() > 200, "{}", leaked.len());
    for &address in &*leaked {
        let block = std::ptr::with_exposed_provenance::<[u64; 100]>(address);
        // SAFETY: it was leaked.
        assert_eq!(unsafe { *block }, [7; 100]);
    }
}
