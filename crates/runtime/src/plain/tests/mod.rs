//! Single cases. `random` has random traces.

mod executions;
mod random;

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use fencepost_memory::Address;

use super::super::races::Races;
use super::AccessKind::{Allocation, AtomicRead, AtomicWrite, Free, Read, Write};
use super::*;

const BASE: usize = 10 * PAGE;

fn access(kind: AccessKind, address: usize, size: u32, place: u64) -> MemoryAccess {
    MemoryAccess {
        address,
        place,
        size,
        kind,
    }
}

/// The checker, with the clocks that belong to it.
#[derive(Default)]
struct Checker {
    races: Races,
    memory: PlainMemory,
}

impl Checker {
    fn begin(&mut self, execution: u64) {
        self.races.reset(execution);
        self.races.track();
        self.memory.reset(execution);
    }

    fn time(&mut self, thread: u32) -> u32 {
        self.races.clock(ThreadId(thread))[thread as usize]
    }

    fn access_at(
        &mut self,
        thread: u32,
        time: u32,
        access: MemoryAccess,
    ) -> Result<(), MemoryFinding> {
        let thread = ThreadId(thread);
        let now = self.races.clock(thread);
        self.memory.add(&[access], Accessor { thread, time, now })
    }

    fn access(&mut self, thread: u32, access: MemoryAccess) -> Result<(), MemoryFinding> {
        let time = self.time(thread);
        self.access_at(thread, time, access)
    }

    fn with_threads(count: u32) -> Self {
        let mut checker = Checker::default();
        checker.begin(1);
        for child in 1..count {
            checker.races.spawn(ThreadId(0), ThreadId(child));
        }
        checker
    }
}

/// The kinds of the two accesses of the race.
fn kinds(found: Result<(), MemoryFinding>) -> Option<(AccessKind, AccessKind)> {
    match found {
        Ok(()) => None,
        Err(MemoryFinding::Race { first, second, .. }) => Some((first.kind, second.kind)),
        Err(other) => panic!("{other}"),
    }
}

const FLAG: Address = Address(0);

/// T1 writes the flag plainly, then stores to it with release.
fn initialized_by_t1() -> Checker {
    let mut checker = Checker::with_threads(3);
    assert_eq!(checker.access(1, access(Write, BASE, 4, 1)), Ok(()));
    let time = checker.time(1);
    checker.races.store(ThreadId(1), FLAG, Release);
    let store = access(AtomicWrite, BASE, 4, 2);
    assert_eq!(checker.access_at(1, time, store), Ok(()));
    checker
}

#[test]
fn an_acquire_happens_after_what_the_store_that_it_reads_happens_after() {
    for (ordering, raced) in [(Acquire, None), (Relaxed, Some((Write, AtomicRead)))] {
        let mut checker = initialized_by_t1();
        let time = checker.time(2);
        checker.races.load(ThreadId(2), FLAG, ordering);
        let load = access(AtomicRead, BASE, 4, 3);
        assert_eq!(kinds(checker.access_at(2, time, load)), raced);
        // The store itself happens before what follows the acquire.
        if ordering == Acquire {
            assert_eq!(checker.access(2, access(Write, BASE, 4, 4)), Ok(()));
        }
    }
}

#[test]
fn what_follows_a_release_is_not_released() {
    let mut checker = initialized_by_t1();
    assert_eq!(checker.access(1, access(Read, BASE + 8, 4, 3)), Ok(()));
    checker.races.load(ThreadId(2), FLAG, Acquire);
    let found = checker.access(2, access(Write, BASE + 8, 4, 4));
    assert_eq!(kinds(found), Some((Read, Write)));
}

#[test]
fn atomic_accesses_race_with_plain_ones_only() {
    let outcomes = [
        (AtomicWrite, AtomicWrite, false),
        (AtomicRead, AtomicWrite, false),
        (AtomicRead, Read, false),
        (Read, Read, false),
        (AtomicRead, Write, true),
        (AtomicWrite, Read, true),
        (Read, Free, true),
        (Allocation, AtomicRead, true),
        (Free, AtomicWrite, true),
        (Write, Allocation, false),
        (Free, Allocation, false),
    ];
    for (first, second, is_race) in outcomes {
        let mut checker = Checker::with_threads(3);
        assert_eq!(checker.access(1, access(first, BASE, 8, 1)), Ok(()));
        let found = checker.access(2, access(second, BASE + 4, 2, 2));
        assert_eq!(
            kinds(found),
            is_race.then_some((first, second)),
            "{first:?} {second:?}"
        );
    }
}

#[test]
fn neighbouring_bytes_are_apart() {
    let mut checker = Checker::with_threads(3);
    for byte in 0..32 {
        let thread = 1 + byte as u32 % 2;
        let write = access(Write, BASE - 16 + byte, 1, byte as u64);
        assert_eq!(checker.access(thread, write), Ok(()));
    }
    let found = checker.access(1, access(Read, BASE - 15, 1, 99));
    assert!(matches!(
        found,
        Err(MemoryFinding::Race { address, first, .. }) if address == BASE - 15 && first.place == 1
    ));
}

#[test]
fn a_range_is_one_access() {
    let mut checker = Checker::with_threads(3);
    let size = 64 << 20;
    assert_eq!(checker.access(1, access(Allocation, BASE, size, 1)), Ok(()));
    assert_eq!(
        checker.access(1, access(Write, BASE + 3, size - 3, 2)),
        Ok(())
    );
    // Only the pages at its ends are divided.
    assert_eq!(checker.memory.divided, 1);
    let last = BASE + size as usize - 1;
    let found = checker.access(2, access(Read, last, 4, 3));
    assert!(matches!(
        found,
        Err(MemoryFinding::Race { address, first, .. }) if address == last && first.place == 2
    ));
}

#[test]
fn the_end_of_the_address_space_is_no_trap() {
    let mut checker = Checker::with_threads(3);
    let end = access(Write, usize::MAX - 4, u32::MAX, 1);
    assert_eq!(checker.access(1, end), Ok(()));
    assert_eq!(checker.access(1, access(Read, 0, 0, 2)), Ok(()));
}

#[test]
fn too_much_memory_is_refused() {
    let mut checker = Checker::with_threads(2);
    checker.memory.divided = MOST_DIVIDED;
    let found = checker.access(1, access(Write, BASE, 1, 1));
    let limit = 128 << 20;
    assert_eq!(found, Err(MemoryFinding::TooMuchMemory { limit }));
    checker.begin(2);
    assert_eq!(checker.memory.divided, 0);
    assert_eq!(checker.access(1, access(Write, BASE, 1, 1)), Ok(()));
}

#[test]
fn the_next_execution_knows_nothing_and_reuses_the_memory() {
    let mut checker = Checker::with_threads(3);
    assert_eq!(checker.access(1, access(Write, BASE, 8000, 1)), Ok(()));
    let pages = checker.memory.pages.len();
    checker.begin(2);
    assert_eq!(checker.access(2, access(Write, BASE, 8000, 2)), Ok(()));
    assert_eq!(checker.memory.pages.len(), pages);
}

/// Prints how fast accesses to a small working set are recorded:
/// `cargo test -p fencepost-runtime --release rate -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn rate() {
    let mut checker = Checker::with_threads(3);
    for (what, kinds) in [("reads and writes", [Read, Write]), ("reads", [Read, Read])] {
        let accesses: Vec<MemoryAccess> = (0..1024)
            .map(|index| access(kinds[index % 2], BASE + index / 2 * 8, 8, index as u64))
            .collect();
        let start = std::time::Instant::now();
        let rounds = 20_000;
        for round in 0..rounds {
            let id = ThreadId(round / 100 % 2 + 1);
            // The threads take turns with a lock, so the clocks change.
            if round % 100 == 0 {
                checker.races.acquire(id, FLAG);
            }
            let now = checker.races.clock(id);
            let by = Accessor {
                thread: id,
                time: now[id.index()],
                now,
            };
            assert_eq!(checker.memory.add(&accesses, by), Ok(()));
            if round % 100 == 99 {
                checker.races.release(id, FLAG);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let rate = f64::from(rounds) * accesses.len() as f64 / seconds / 1e6;
        println!("{what}: {rate:.0} million accesses per second");
    }
}
