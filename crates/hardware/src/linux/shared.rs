//! What the process of a test shares with the one that watches it: the control block, and for each
//! worker its counts of final states.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

use fencepost_litmus::code::Register;
use fencepost_litmus::test::{Observable, Quantifier, Test};

use super::barrier::Barrier;
use super::memory::Mapping;
use crate::geometry::MOST_SLOTS;
use crate::parameters::Tuner;
use crate::record::{Record, Seen};

/// How many different final states a worker counts, and how much memory for that all of them have.
const MOST_STATES: usize = 8192;
const MOST_BYTES: usize = 64 << 20;

/// More than a processor counts in weeks; the sum over all entries fits.
const MOST_COUNTED: u64 = 1 << 44;
/// How far the tallies can be behind the entries: a worker may end before it has added up a batch.
const MOST_BEHIND: u64 = 2 * MOST_SLOTS;

/// The words of a counted state before its contents: how often, when first in nanoseconds, whether
/// it is what the test asks for.
const COUNT: usize = 0;
const FIRST: usize = 1;
const WANTED: usize = 2;
const CONTENTS: usize = 3;

/// Bits of `WANTED`.
const IS_WANTED: u64 = 1;
const PASSES: u64 = 2;

/// The control block.
#[repr(C)]
pub(super) struct Control {
    pub barrier: Barrier,
    /// Batches so far.
    pub batches: AtomicU64,
    /// Set by the watcher.
    pub stop: AtomicU32,
    pub is_confined: AtomicU32,
    /// An index of [`FAILURES`] other than zero.
    pub failure: AtomicU32,
    pub fault_signal: AtomicI32,
    pub fault_has_address: AtomicU32,
    pub fault_address: AtomicU64,
    pub fault_at: AtomicU64,
    /// Nanoseconds that batches have run.
    pub nanoseconds: AtomicU64,
    /// Only the last thread at a barrier touches it, and the watcher when the process has ended.
    pub tuner: std::cell::UnsafeCell<Tuner>,
}

/// What a process could not do.
pub(super) const FAILURES: [&str; 4] = [
    "",
    "start its threads",
    "prepare for signals",
    "start its threads at the same time: the time-stamp counters of the processors differ",
];
pub(super) const THREADS: u32 = 1;
pub(super) const SIGNALS: u32 = 2;
pub(super) const COUNTERS: u32 = 3;

/// The counts of a worker, besides its states. Others read them while it writes.
#[repr(C, align(128))]
pub(super) struct Tally {
    pub executions: AtomicU64,
    pub skipped: AtomicU64,
    pub not_kept: AtomicU64,
    /// Those of the last batch: executions that were wanted, and how much rare ones count.
    pub wanted: AtomicU64,
    pub rarity: AtomicU64,
}

/// The shared memory of a run.
pub(super) struct Shared {
    mapping: Mapping,
    workers: usize,
    /// States that a worker can count: a power of two.
    states: usize,
    contents: usize,
    /// By observable, the bits that its content can have.
    masks: Vec<u64>,
    /// Where the stacks for signals are.
    stacks: usize,
}

const SIGNAL_STACK: usize = 64 << 10;

// SAFETY: what is shared is atomic, or owned by one worker, or used between barriers as each says.
unsafe impl Sync for Shared {}

impl Shared {
    pub fn new(test: &Test, workers: usize, tuner: Tuner) -> io::Result<Self> {
        let contents = test.observables().count();
        let entry = 8 * (CONTENTS + contents);
        let fitting = (MOST_BYTES / workers / entry).clamp(16, MOST_STATES);
        let states = 1 << fitting.ilog2();
        let tallies = size_of::<Control>().next_multiple_of(4096);
        let tables = tallies + workers * size_of::<Tally>();
        let stacks = (tables + workers * states * entry).next_multiple_of(4096);
        let mapping = Mapping::shared(stacks + workers * SIGNAL_STACK)?;
        let shared = Shared {
            mapping,
            workers,
            states,
            contents,
            masks: test.observables().map(|it| mask(it, test)).collect(),
            stacks,
        };
        // SAFETY: the mapping is new, so nobody else has the tuner.
        unsafe { *shared.control().tuner.get() = tuner };
        Ok(shared)
    }

    pub fn control(&self) -> &Control {
        // SAFETY: the mapping begins with a control block, for which zeros are right.
        unsafe { &*self.mapping.start().cast::<Control>() }
    }

    pub fn tally(&self, worker: usize) -> &Tally {
        assert!(worker < self.workers);
        let tallies = size_of::<Control>().next_multiple_of(4096);
        // SAFETY: there is one for each worker behind the control block; zeros are right.
        unsafe {
            &*self
                .mapping
                .start()
                .add(tallies)
                .cast::<Tally>()
                .add(worker)
        }
    }

    /// The stack for signals of a worker, and its bytes.
    pub fn signal_stack(&self, worker: usize) -> (*mut u8, usize) {
        assert!(worker < self.workers);
        // SAFETY: there is one for each worker at the end of the mapping.
        let start = unsafe {
            self.mapping
                .start()
                .add(self.stacks + worker * SIGNAL_STACK)
        };
        (start, SIGNAL_STACK)
    }

    fn entry_words(&self) -> usize {
        CONTENTS + self.contents
    }

    /// A state of a worker: its words.
    fn entry(&self, worker: usize, number: usize) -> *mut u64 {
        debug_assert!(worker < self.workers && number < self.states);
        let tallies = size_of::<Control>().next_multiple_of(4096);
        let tables = tallies + self.workers * size_of::<Tally>();
        let words = (worker * self.states + number) * self.entry_words();
        // SAFETY: the tables of all workers follow the tallies.
        unsafe { self.mapping.start().add(tables).cast::<u64>().add(words) }
    }

    /// The table of a worker, for that worker.
    pub fn table(&self, worker: usize) -> Table<'_> {
        Table {
            shared: self,
            worker,
            kept: 0,
            total: 0,
        }
    }

    /// Adds everything to the record, and says whether that could be done. The process of the test
    /// must have ended, after less than this time. It has run any code, so what it leaves is not
    /// trusted: if it cannot be what the harness has written, nothing is added.
    pub fn collect(&self, record: &mut Record, longest: Duration) -> bool {
        // SAFETY: no process writes it any more, and any bytes are a value of it.
        let tuner = unsafe { *self.control().tuner.get() };
        if !tuner.is_sound() || !self.is_plausible(longest) {
            return false;
        }
        let before = record.time;
        for worker in 0..self.workers {
            let tally = self.tally(worker);
            record.executions += tally.executions.load(Ordering::Relaxed);
            record.skipped += tally.skipped.load(Ordering::Relaxed);
            record.not_kept += tally.not_kept.load(Ordering::Relaxed);
            for words in self.entries(worker) {
                if words[COUNT] == 0 || words[WANTED] & PASSES == 0 {
                    continue;
                }
                let first = before + Duration::from_nanos(words[FIRST]);
                let seen = record.states.entry(words[CONTENTS..].to_vec());
                let seen = seen.or_insert(Seen { count: 0, first });
                seen.count += words[COUNT];
                seen.first = seen.first.min(first);
            }
        }
        record.tuner = Some(tuner);
        record.time += Duration::from_nanos(self.control().nanoseconds.load(Ordering::Relaxed));
        record.is_confined &= self.control().is_confined.load(Ordering::Relaxed) == 1;
        true
    }

    /// The states of a worker, when no process writes them any more.
    fn entries(&self, worker: usize) -> impl Iterator<Item = &[u64]> {
        (0..self.states).map(move |number| self.words(worker, number))
    }

    fn words(&self, worker: usize, number: usize) -> &[u64] {
        let entry = self.entry(worker, number);
        // SAFETY: see the callers; the entry has so many words.
        unsafe { std::slice::from_raw_parts(entry, self.entry_words()) }
    }

    /// Whether everything is as the workers leave it.
    fn is_plausible(&self, longest: Duration) -> bool {
        let longest = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        self.control().nanoseconds.load(Ordering::Relaxed) <= longest
            && (0..self.workers).all(|worker| {
                let tally = self.tally(worker);
                let [executions, skipped, not_kept] =
                    [&tally.executions, &tally.skipped, &tally.not_kept]
                        .map(|count| count.load(Ordering::Relaxed));
                let is_few = |count: u64| count < MOST_COUNTED;
                if ![executions, skipped, not_kept].into_iter().all(is_few)
                    || !self.table_is_plausible(worker, longest)
                {
                    return false;
                }
                let counted: u64 = self.entries(worker).map(|words| words[COUNT]).sum();
                executions.abs_diff(counted + not_kept) <= MOST_BEHIND
            })
    }

    /// Whether each state is one that can be observed, and where it is searched.
    fn table_is_plausible(&self, worker: usize, longest: u64) -> bool {
        self.entries(worker).enumerate().all(|(number, words)| {
            let contents = &words[CONTENTS..];
            words[COUNT] == 0
                || words[COUNT] < MOST_COUNTED
                    && words[FIRST] <= longest
                    && words[WANTED] <= IS_WANTED | PASSES
                    && contents
                        .iter()
                        .zip(&self.masks)
                        .all(|(content, mask)| content & !mask == 0)
                    && self.place(worker, contents) == Some(number)
        })
    }

    /// Where a worker has counted a state.
    fn place(&self, worker: usize, contents: &[u64]) -> Option<usize> {
        let first = hash(contents) as usize;
        (0..self.states)
            .map(|step| first.wrapping_add(step) & (self.states - 1))
            .map(|number| (number, self.words(worker, number)))
            .take_while(|(_, words)| words[COUNT] != 0)
            .find(|(_, words)| words[CONTENTS..] == *contents)
            .map(|(number, _)| number)
    }
}

/// The bits that the content of an observable can have.
fn mask(observable: &Observable, test: &Test) -> u64 {
    match observable {
        // The flags of the model are bits of their own.
        Observable::Register {
            register: Register::FLAGS,
            ..
        } => u64::MAX,
        Observable::Register { width, .. } => width.mask(),
        Observable::Cell { cell, .. } => test.cells[cell.index()].width.mask(),
    }
}

/// The states that a worker has counted.
pub(super) struct Table<'s> {
    shared: &'s Shared,
    worker: usize,
    kept: usize,
    total: u64,
}

/// What an execution is worth to the search for parameters.
#[derive(Clone, Copy, Default)]
pub(super) struct Worth {
    pub is_wanted: bool,
    pub rarity: f64,
    pub is_kept: bool,
}

impl Table<'_> {
    /// Counts a final state.
    pub fn count(&mut self, contents: &[u64], test: &Test, now: impl FnOnce() -> u64) -> Worth {
        self.total += 1;
        let mask = self.shared.states - 1;
        let mut number = hash(contents) as usize & mask;
        loop {
            let entry = self.shared.entry(self.worker, number);
            // SAFETY: the entry is this worker's own, and has so many words. The watcher reads it
            // when the process has ended.
            let words = unsafe { std::slice::from_raw_parts_mut(entry, self.shared.entry_words()) };
            if words[COUNT] == 0 {
                if self.kept >= self.shared.states * 3 / 4 {
                    return Worth::default();
                }
                self.kept += 1;
                words[CONTENTS..].copy_from_slice(contents);
                words[FIRST] = now();
                words[WANTED] = wanted(contents, test);
                // If the process ends here, the state is not there, rather than a wrong one.
                fence(Ordering::Release);
                words[COUNT] = 1;
                return self.worth(words);
            }
            if words[CONTENTS..] == *contents {
                words[COUNT] += 1;
                return self.worth(words);
            }
            number = (number + 1) & mask;
        }
    }

    fn worth(&self, words: &[u64]) -> Worth {
        let share = words[COUNT] as f64 / self.total as f64;
        Worth {
            is_wanted: words[WANTED] & (IS_WANTED | PASSES) == IS_WANTED | PASSES,
            rarity: share.sqrt().recip(),
            is_kept: true,
        }
    }
}

fn wanted(contents: &[u64], test: &Test) -> u64 {
    let holds = test.condition.holds(contents);
    let is_wanted = match test.quantifier {
        Quantifier::ForAll => !holds,
        Quantifier::Exists | Quantifier::NotExists | Quantifier::Observed => holds,
    };
    let passes = test.passes_filter(contents);
    u64::from(is_wanted) * IS_WANTED + u64::from(passes) * PASSES
}

fn hash(contents: &[u64]) -> u64 {
    let fold = |hash: u64, word: &u64| {
        (hash ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    };
    let hash = contents.iter().fold(0, fold);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::FixedParameters;
    use fencepost_litmus::{Limits, parse};
    use fencepost_memory::Random;

    const LONGEST: Duration = Duration::from_secs(2);

    fn store() -> Test {
        let source = b"X86 T\n{ }\n P0 ;\n MOV [x],$1 ;\nexists (x=1)";
        parse(source, &Limits::default()).expect("a test")
    }

    /// What two workers leave that have counted some states.
    fn counted(test: &Test) -> Shared {
        let shared = Shared::new(test, 2, Tuner::default()).expect("memory");
        let mut table = shared.table(1);
        for value in (0..300).chain(100..200) {
            table.count(&[value], test, || 5);
        }
        shared.tally(1).executions.store(400, Ordering::Relaxed);
        shared
    }

    #[test]
    fn what_a_test_has_written_over_is_not_added() {
        let test = store();
        let mut record = Record::default();
        assert!(counted(&test).collect(&mut record, LONGEST));
        assert_eq!((record.executions, record.observations()), (400, 400));
        assert_eq!(record.states.len(), 300);
        // A worker that was killed has counted more than it has added up.
        let shared = counted(&test);
        shared.tally(1).executions.store(0, Ordering::Relaxed);
        assert!(shared.collect(&mut Record::default(), LONGEST));
        // SAFETY: nobody else has the memory, and every number is a value of it.
        let write = |shared: &Shared, value, word, number| unsafe {
            let place = shared.place(1, &[value]).expect("a state");
            *shared.entry(1, place).add(word) = number;
        };
        let damages: [&dyn Fn(&Shared); 11] = [
            &|shared| {
                let executions = &shared.tally(0).executions;
                executions.store(u64::MAX, Ordering::Relaxed);
            },
            &|shared| shared.tally(1).executions.store(1 << 20, Ordering::Relaxed),
            &|shared| shared.tally(1).not_kept.store(1 << 60, Ordering::Relaxed),
            &|shared| {
                let nanoseconds = &shared.control().nanoseconds;
                nanoseconds.store(2_000_000_001, Ordering::Relaxed);
            },
            // SAFETY: as above.
            &|shared| unsafe { *shared.entry(1, 0).add(COUNT) = u64::MAX },
            &|shared| write(shared, 7, COUNT, 1 << 30),
            &|shared| write(shared, 7, FIRST, u64::MAX),
            &|shared| write(shared, 7, WANTED, 4),
            // A state that cannot be, and one that is elsewhere if it was counted.
            &|shared| write(shared, 7, CONTENTS, 1 << 32),
            &|shared| write(shared, 7, CONTENTS, 8),
            // SAFETY: as above.
            &|shared| unsafe {
                let tuner = shared.control().tuner.get();
                tuner.cast::<u8>().write_bytes(0xff, 8);
            },
        ];
        for (number, damage) in damages.into_iter().enumerate() {
            let shared = counted(&test);
            damage(&shared);
            let mut record = Record::default();
            assert!(!shared.collect(&mut record, LONGEST), "{number}");
            assert_eq!((record.executions, record.observations()), (0, 0));
        }
    }

    #[test]
    fn any_bytes_can_be_collected() {
        let test = store();
        let mut random = Random::new(11);
        let (mut kept, mut refused) = (0, 0);
        for round in 0..600 {
            let shared = counted(&test);
            let words = shared.mapping.len() / 8;
            // A part of the control block, of the tables, or of everything.
            let (from, to) = match round % 3 {
                0 => (0, size_of::<Control>() / 8),
                1 => (512, 512 + (size_of::<Tally>() * 2) / 8 + 4 * shared.states),
                _ => (0, words),
            };
            for _ in 0..=random.below(4) {
                let from = from + random.below((to - from) as u64) as usize;
                let many = (1 + random.below(64) as usize).min(words - from);
                for word in from..from + many {
                    let value = match random.below(5) {
                        0 => 0,
                        1 => u64::MAX,
                        2 => 1 << random.below(64),
                        3 => random.below(5000),
                        _ => random.next_u64(),
                    };
                    // SAFETY: nobody else has the memory; every number is a value of it.
                    unsafe { *shared.mapping.start().cast::<u64>().add(word) = value };
                }
            }
            let mut record = Record::default();
            if !shared.collect(&mut record, LONGEST) {
                refused += 1;
                assert!(record.states.is_empty() && record.tuner.is_none());
                continue;
            }
            kept += 1;
            assert!(record.time <= LONGEST && record.states.len() <= 300);
            assert!(record.states.values().all(|seen| seen.first <= LONGEST));
            let counted = record.observations() + record.not_kept;
            assert!(counted.abs_diff(record.executions) <= 2 * MOST_BEHIND);
            // The next run continues with it.
            let mut tuner = record.tuner.expect("a search");
            let geometry = crate::geometry::tests::store_buffering();
            for _ in 0..20 {
                let fixed = FixedParameters::default();
                let chosen = tuner.choose(&mut random, &geometry, 2, &fixed);
                assert!(chosen.slots > 0 && chosen.layout(&geometry) < geometry.layouts.len());
                tuner.reward(1.0);
            }
        }
        assert!(kept > 20 && refused > 20, "{kept} {refused}");
    }
}
