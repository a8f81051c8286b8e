//! Steps allocate nothing, and executions leave nothing behind.
#![allow(unsafe_code)] // An allocator, and a cell that is shared.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize as Count, Ordering::Relaxed};

use fencepost::cell::UnsafeCell;
use fencepost::sync::atomic::{AtomicUsize, Ordering, fence};
use fencepost::thread;
use fencepost_explore::{Performed, Program};
use fencepost_memory::Random;
use fencepost_runtime::{Registry, Runtime, Setup};

struct Counting;

static ALLOCATIONS: Count = Count::new(0);
static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    /// Whether the thread is the one of the test: those of the test harness allocate when they like.
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

fn is_counted() -> bool {
    IS_COUNTED.try_with(Cell::get).unwrap_or(false)
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_counted() {
            ALLOCATIONS.fetch_add(1, Relaxed);
            LIVE_BYTES.fetch_add(layout.size() as isize, Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if is_counted() {
            LIVE_BYTES.fetch_sub(layout.size() as isize, Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Shared {
    counter: AtomicUsize,
    cell: UnsafeCell<usize>,
}

// SAFETY: threads of a check never run at the same time.
unsafe impl Sync for Shared {}

fn program() {
    let shared = Arc::new(Shared {
        counter: AtomicUsize::new(0),
        cell: UnsafeCell::new(0),
    });
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                for _ in 0..5 {
                    shared.counter.fetch_add(1, Ordering::SeqCst);
                    let value = shared.counter.load(Ordering::Relaxed);
                    shared.cell.with(|_| ());
                    fence(Ordering::SeqCst);
                    let _ = shared.counter.compare_exchange(
                        value,
                        value + 1,
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    );
                    thread::yield_now();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn execute(
    runtime: &mut Runtime,
    performed: &mut Performed,
    random: &mut Random,
    is_cut: bool,
) -> usize {
    performed.clear();
    runtime.start(performed).unwrap();
    let before = ALLOCATIONS.load(Relaxed);
    let mut steps = 0;
    while let Some(thread) = support::pick(runtime, random) {
        if is_cut && steps == 10 {
            break;
        }
        performed.clear();
        runtime.step(thread, 0, performed).unwrap();
        steps += 1;
    }
    let allocated = ALLOCATIONS.load(Relaxed) - before;
    runtime.finish(!is_cut).unwrap();
    allocated
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn steps_allocate_nothing_and_executions_leak_nothing() {
    IS_COUNTED.set(true);
    let registry = Arc::new(Registry::new(fencepost_runtime::LocationRef::caller()));
    let mut runtime = Runtime::new(Arc::new(program), Setup::default(), registry);
    let mut performed = Performed::default();
    let mut random = Random::new(9);
    assert!(ALLOCATIONS.load(Relaxed) > 0, "nothing is counted");
    // Tables grow to what the program needs.
    for round in 0..200 {
        execute(&mut runtime, &mut performed, &mut random, round % 2 == 0);
    }
    let live = LIVE_BYTES.load(Relaxed);
    for round in 0..10_000 {
        let is_cut = round % 10 == 0;
        let allocated = execute(&mut runtime, &mut performed, &mut random, is_cut);
        assert_eq!(allocated, 0, "round {round}");
    }
    assert_eq!(LIVE_BYTES.load(Relaxed), live);
    drop(runtime);
    assert!(LIVE_BYTES.load(Relaxed) < live);
}
