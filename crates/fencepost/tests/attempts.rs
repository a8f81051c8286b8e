//! Attempts on an `RwLock` are what they are in `std`: random programs with the library's lock are compared with the same
//! programs whose lock is written out, as `std` has it on Linux, in atomics of the library.
//!
//! The written-out lock is run with store buffers, and tells what the programs can see; the monitor has no part in that.
//! `FENCEPOST_TEST_SEED` and `FENCEPOST_TEST_PROGRAMS` choose other and more programs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicU64, fence};
use fencepost::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use fencepost::{Checker, Outcome, Target, thread};
use fencepost_memory::Random;

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Store(usize),
    Load(usize),
    Fence,
    TryRead,
    TryWrite,
    /// Releases what was taken last.
    Release,
}

const VARIABLES: usize = 2;

type Program = Vec<Vec<Act>>;

fn random_act(random: &mut Random) -> Act {
    let variable = |random: &mut Random| random.below(VARIABLES as u64) as usize;
    match random.below(16) {
        0..4 => Act::Store(variable(random)),
        4..7 => Act::Load(variable(random)),
        7 => Act::Fence,
        8..10 => Act::TryRead,
        10..13 => Act::TryWrite,
        _ => Act::Release,
    }
}

fn random_program(random: &mut Random) -> Program {
    if random.below(2) == 0 {
        return random_around_an_attempt(random);
    }
    // Mostly two threads: three have very many executions.
    let threads = if random.below(8) > 0 { 2 } else { 3 };
    let most = if threads == 2 { 5 } else { 3 };
    let thread = |random: &mut Random| {
        let length = 2 + random.below(most - 1);
        (0..length).map(|_| random_act(random)).collect()
    };
    (0..threads).map(|_| thread(random)).collect()
}

/// One thread stores and attempts what another one holds for a while; and what chance adds.
fn random_around_an_attempt(random: &mut Random) -> Program {
    let attempt = |random: &mut Random| match random.below(2) {
        0 => Act::TryRead,
        _ => Act::TryWrite,
    };
    let (mut first, second) = match random.below(2) {
        // The attempt may look too early.
        0 => (
            vec![Act::Store(0)],
            vec![attempt(random), Act::Release, Act::Load(0)],
        ),
        // It may fail, and then it waits for nothing.
        _ => (
            vec![Act::Store(0), Act::Load(1)],
            vec![Act::TryWrite, Act::Store(1), Act::Fence, Act::Load(0)],
        ),
    };
    first.insert(1, attempt(random));
    let mut program = vec![first, second];
    for thread in &mut program {
        for _ in 0..random.below(3) {
            let at = random.below(thread.len() as u64 + 1) as usize;
            thread.insert(at, random_act(random));
        }
    }
    program
}

/// A lock, by what its attempts return.
trait Lock: Send + Sync + 'static {
    type Guard<'a>;
    fn new() -> Self;
    fn try_read(&self) -> Option<Self::Guard<'_>>;
    fn try_write(&self) -> Option<Self::Guard<'_>>;
}

enum Guard<'a> {
    Read(#[expect(dead_code, reason = "it is dropped")] RwLockReadGuard<'a, ()>),
    Write(#[expect(dead_code, reason = "it is dropped")] RwLockWriteGuard<'a, ()>),
}

impl Lock for RwLock<()> {
    type Guard<'a> = Guard<'a>;

    fn new() -> Self {
        RwLock::new(())
    }

    fn try_read(&self) -> Option<Guard<'_>> {
        self.try_read().ok().map(Guard::Read)
    }

    fn try_write(&self) -> Option<Guard<'_>> {
        self.try_write().ok().map(Guard::Write)
    }
}

/// What `std` does, without those who wait.
struct WrittenOut(AtomicU64);

const WRITTEN: u64 = 1000;

struct Held<'a>(&'a AtomicU64, u64);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Release);
    }
}

impl Lock for WrittenOut {
    type Guard<'a> = Held<'a>;

    fn new() -> Self {
        WrittenOut(AtomicU64::new(0))
    }

    fn try_read(&self) -> Option<Held<'_>> {
        let lockable = |state| (state < WRITTEN).then_some(state + 1);
        let taken = self.0.fetch_update(Acquire, Relaxed, lockable);
        taken.ok().map(|_| Held(&self.0, 1))
    }

    fn try_write(&self) -> Option<Held<'_>> {
        let lockable = |state| (state == 0).then_some(WRITTEN);
        let taken = self.0.fetch_update(Acquire, Relaxed, lockable);
        taken.ok().map(|_| Held(&self.0, WRITTEN))
    }
}

/// What each thread has seen, in order, and what the variables hold in the end.
type Seen = (Vec<Vec<u64>>, Vec<u64>);

/// What one thread does and sees.
fn perform<L: Lock>(thread: usize, acts: &[Act], lock: &L, memory: &[AtomicU64]) -> Vec<u64> {
    let mut held = Vec::new();
    let mut seen = Vec::new();
    for (index, act) in acts.iter().enumerate() {
        let attempt = match *act {
            Act::Store(variable) => {
                memory[variable].store((thread * 10 + index + 1) as u64, Relaxed);
                continue;
            }
            Act::Load(variable) => {
                seen.push(memory[variable].load(Relaxed));
                continue;
            }
            Act::Fence => {
                fence(SeqCst);
                continue;
            }
            Act::Release => {
                drop(held.pop());
                continue;
            }
            Act::TryRead => lock.try_read(),
            Act::TryWrite => lock.try_write(),
        };
        seen.push(u64::from(attempt.is_some()));
        held.extend(attempt);
    }
    seen
}

/// Runs the program with one of the locks, and collects what it sees.
fn run<L: Lock>(program: &Program, checker: &Checker) -> (BTreeSet<Seen>, Outcome) {
    let all = Arc::new(Mutex::new(BTreeSet::new()));
    let (kept, program) = (Arc::clone(&all), program.clone());
    let outcome = checker.run(move || {
        let shared = Arc::new((L::new(), [0; VARIABLES].map(AtomicU64::new)));
        let threads: Vec<_> = (program.iter().cloned().enumerate())
            .map(|(thread, acts)| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || perform(thread, &acts, &shared.0, &shared.1))
            })
            .collect();
        let seen = threads.into_iter().map(|t| t.join().unwrap()).collect();
        let last = shared.1.iter().map(|variable| variable.load(Relaxed));
        let all_seen = (seen, last.collect());
        kept.lock().unwrap().insert(all_seen);
    });
    let all = std::mem::take(&mut *all.lock().unwrap());
    (all, outcome)
}

fn is_safe(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Verified(_) => true,
        Outcome::NotStoreBufferSafe(_) => false,
        other => panic!("{other}"),
    }
}

#[test]
fn attempts_are_those_of_std() {
    let seed = number_from("FENCEPOST_TEST_SEED", 1);
    let programs = number_from("FENCEPOST_TEST_PROGRAMS", 400);
    let mut random = Random::new(seed);
    let (mut unsafe_ones, mut visible) = (0, 0);
    for number in 0..programs {
        let program = random_program(&mut random);
        let context = || format!("seed {seed}, program {number}: {program:?}");
        for target in [Target::X86, Target::Pso] {
            let checker = Checker::new().target(target);
            let (_, ours) = run::<RwLock<()>>(&program, &checker);
            let (_, written_out) = run::<WrittenOut>(&program, &checker);
            // What comes too early and is looked at again is reported of the written-out one too.
            let (ours, written_out) = (is_safe(&ours), is_safe(&written_out));
            assert!(ours || !written_out, "a false alarm: {}", context());

            let in_order = checker.clone().monitor(false);
            let (in_order_ours, _) = run::<RwLock<()>>(&program, &in_order);
            let (in_order, _) = run::<WrittenOut>(&program, &in_order);
            assert_eq!(in_order_ours, in_order, "{}", context());

            let buffers = checker.store_buffers(true);
            let (buffered_ours, outcome) = run::<RwLock<()>>(&program, &buffers);
            let (buffered, complete) = run::<WrittenOut>(&program, &buffers);
            assert!(complete.is_verified(), "{complete}\n{}", context());
            assert!(buffered_ours.is_subset(&buffered), "{}", context());
            if outcome.is_verified() {
                assert_eq!(buffered_ours, buffered, "{}", context());
            }
            let can_be_seen = buffered != in_order;
            assert!(!ours || !can_be_seen, "missed: {}", context());
            unsafe_ones += u32::from(!ours);
            visible += u32::from(can_be_seen);
        }
    }
    println!("{programs} programs: {unsafe_ones} unsafe, of which it can be seen in {visible}");
    assert!(visible > programs as u32 / 20, "too few are unsafe");
}
