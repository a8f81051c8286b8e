//! A batch: many slots one after another, each with an instance of the test.
//!
//! Workers do these in step: prepare memory, run, count. Between two of them is a barrier, and the
//! last worker to come to it does what concerns all.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fencepost_litmus::code::Width;
use fencepost_litmus::test::Test;
use fencepost_memory::Random;

use super::arena::Arena;
use super::barrier::Barrier;
use super::child;
use super::counter::{read_counter, read_counter_in_order};
use super::shared::{self, Shared, Table};
use crate::addresses::AddressUse;
use crate::geometry::{Geometry, Layout, Source, context};
use crate::parameters::{Caching, FixedParameters, Parameters};
use crate::program::{MARK, Program};
use crate::record::Goal;

/// How long a worker spins at a barrier before it sleeps, in cycles.
const SPIN: u64 = 100_000;
/// How long after a barrier the first slot begins: if no worker slept, and if one did.
const LEAD: u64 = 1_500;
const LEAD_OF_SLEEPERS: u64 = 20_000;
/// How far the counters of two processors may be apart. With more, threads would seldom meet.
const MOST_APART: u64 = 1_000;
/// How often workers meet before a round until none slept.
const MOST_MEETINGS: usize = 4;

/// The most slots of a batch if threads wait for others that have no processor.
const MOST_SLOTS_OF_CROWDS: u64 = 4;

/// What all workers know of a run.
pub(super) struct Crew<'a> {
    pub test: &'a Test,
    pub program: &'a Program,
    pub shared: &'a Shared,
    pub arena: &'a Arena,
    pub code: *const u8,
    pub workers: usize,
    /// Whether there are more workers than processors.
    pub is_crowded: bool,
    pub goal: Goal,
    pub fixed: FixedParameters,
    pub time: Duration,
    pub started: Instant,
    pub batch: UnsafeCell<Batch>,
}

// SAFETY: `batch` is written by the last worker at a barrier only, and read between barriers. The
// code is not written any more.
unsafe impl Sync for Crew<'_> {}

/// The batch that is being run.
pub(super) struct Batch {
    pub parameters: Parameters,
    layout: usize,
    stride: u64,
    slots: u64,
    /// The threads of the test in the order in which workers take them.
    order: Vec<usize>,
    /// The counter at the begin of the batch, and at that of the round.
    began: u64,
    origin: u64,
    /// The counter when the workers last met before a round.
    met: u64,
    is_together: bool,
    is_over: bool,
    has_shared: bool,
    random: Random,
}

impl Batch {
    pub fn new(test: &Test, seed: u64) -> Self {
        Batch {
            parameters: Parameters::initial(),
            layout: 0,
            stride: 0,
            slots: 0,
            order: (0..test.threads.len()).collect(),
            began: 0,
            origin: 0,
            met: 0,
            is_together: false,
            is_over: false,
            has_shared: false,
            random: Random::new(seed),
        }
    }
}

/// What a worker has of its own. Nothing is allocated once it runs.
pub(super) struct Worker<'a> {
    crew: &'a Crew<'a>,
    number: usize,
    table: Table<'a>,
    random: Random,
    contents: Vec<u64>,
    /// By cell: if its first content is an address, its offset in a slot.
    pointers: Vec<Option<u64>>,
}

impl<'a> Worker<'a> {
    pub fn new(crew: &'a Crew<'a>, number: usize, seed: u64) -> Self {
        Worker {
            crew,
            number,
            table: crew.shared.table(number),
            random: Random::new(seed ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9)),
            contents: vec![0; crew.program.geometry.sources.len()],
            pointers: vec![None; crew.test.cells.len()],
        }
    }

    fn geometry(&self) -> &'a Geometry {
        &self.crew.program.geometry
    }

    fn batch(&self) -> &'a Batch {
        // SAFETY: the last worker at a barrier has written it, and the next one who writes it does
        // so when this worker is at the next barrier, with no reference left.
        unsafe { &*self.crew.batch.get() }
    }

    /// Meets the others; the last one to come does `last`.
    fn meet(&self, last: impl FnOnce(&mut Batch, bool)) {
        let barrier: &Barrier = &self.crew.shared.control().barrier;
        let spin = if self.crew.is_crowded { 0 } else { SPIN };
        barrier.wait(self.crew.workers as u32, spin, |has_sleepers| {
            // SAFETY: all other workers are in the barrier, without a reference.
            last(unsafe { &mut *self.crew.batch.get() }, has_sleepers);
        });
    }

    /// Runs batches until the time is over.
    pub fn run(&mut self) {
        loop {
            self.meet(|batch, _| self.crew.begin(batch));
            if self.batch().is_over {
                return;
            }
            self.prepare();
            if self.batch().has_shared {
                self.meet(|_, _| ());
                self.touch();
            }
            let rounds = self.crew.test.threads.len().div_ceil(self.crew.workers);
            for round in 0..rounds {
                self.start_together();
                self.perform(round);
            }
            self.meet(|_, _| ());
            self.count();
        }
    }

    /// Chooses when the first slot begins. A worker that slept at the barrier may not have its
    /// processor back yet: then all meet again, until none slept.
    fn start_together(&self) {
        for _ in 0..MOST_MEETINGS {
            self.meet(|batch, has_sleepers| {
                let lead = if has_sleepers { LEAD_OF_SLEEPERS } else { LEAD };
                let now = read_counter();
                batch.met = now;
                batch.origin = now.wrapping_add(lead);
                batch.is_together = !has_sleepers;
            });
            self.compare_counters();
            if self.batch().is_together {
                return;
            }
        }
    }

    /// Ends the process if the last worker at the barrier has read a counter that is ahead of this
    /// one's, although it did so before. Each worker is the last one now and then.
    fn compare_counters(&self) {
        let behind = self.batch().met.wrapping_sub(read_counter_in_order());
        if (MOST_APART..u64::MAX / 2).contains(&behind) {
            child::fail(self.crew.shared.control(), shared::COUNTERS);
        }
    }

    /// The threads of the test that this worker runs.
    fn threads(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.batch()
            .order
            .iter()
            .copied()
            .skip(self.number)
            .step_by(self.crew.workers)
    }

    /// Whether this worker runs the thread that owns a location.
    fn owns(&self, group: usize) -> bool {
        let batch = self.batch();
        let owner = batch.parameters.owner(group, batch.order.len());
        let place = batch.order.iter().position(|thread| *thread == owner);
        place.unwrap_or(0) % self.crew.workers == self.number
    }

    fn layout(&self) -> &'a Layout {
        &self.geometry().layouts[self.batch().layout]
    }

    /// Where a slot begins.
    fn slot(&self, number: u64) -> u64 {
        match self.geometry().is_fixed {
            true => 0,
            false => self.geometry().cells + number * self.batch().stride,
        }
    }

    /// Writes first contents, clears results, and chooses start times.
    fn prepare(&mut self) {
        self.find_pointers();
        for group in 0..self.geometry().groups.len() {
            if self.owns(group) {
                self.fill(group);
            }
        }
        let (batch, geometry, arena) = (self.batch(), self.geometry(), self.crew.arena);
        let Parameters {
            period, skew, late, ..
        } = batch.parameters;
        for thread in self.threads() {
            let (results, starts) = (geometry.results[thread], geometry.starts[thread]);
            let result_bytes = geometry.result_bytes(thread);
            let mut start = 0;
            for slot in 0..batch.slots {
                let skew = match skew {
                    0 => 0,
                    skew => self.random.next_u64() % (u64::from(skew) + 1),
                };
                arena.write(Width::Quad, results + slot * result_bytes, 0);
                arena.write(Width::Quad, starts + slot * 8, start + skew);
                start += u64::from(period);
            }
            let context = geometry.context(thread);
            arena.write(Width::Quad, context + context::CELLS, geometry.cells);
            arena.write(Width::Quad, context + context::STRIDE, batch.stride);
            arena.write(Width::Quad, context + context::RESULT, results);
            arena.write(
                Width::Quad,
                context + context::RESULT_END,
                results + batch.slots * result_bytes,
            );
            arena.write(Width::Quad, context + context::STARTS, starts);
            // A thread that others may wait for must not skip a slot, and one alone need not.
            let is_needed =
                self.crew.program.has_loops || geometry.is_fixed || self.crew.workers == 1;
            let late = if is_needed { u64::MAX } else { u64::from(late) };
            arena.write(Width::Quad, context + context::LATE, late);
        }
    }

    /// Writes the first contents of a location in all slots.
    fn fill(&self, number: usize) {
        let group = &self.geometry().groups[number];
        let offset = self.layout().offsets[number];
        let is_flushed = self.batch().parameters.caching(number) == Caching::FLUSHED;
        for slot in 0..self.batch().slots {
            let base = self.slot(slot);
            let mut at = base + offset;
            for number in group.cells.clone() {
                let cell = &self.crew.test.cells[number];
                let initial = match self.pointers[number] {
                    Some(offset) => base + offset,
                    None => cell.initial,
                };
                self.crew.arena.write(cell.width, at, initial);
                at += cell.width.bytes();
            }
            if is_flushed {
                self.crew.arena.flush(base + offset);
            }
        }
    }

    /// Finds out which first contents are addresses, and where those are in this layout.
    fn find_pointers(&mut self) {
        use crate::instruction::OffsetOf as _;
        let geometry = self.geometry();
        if geometry.address_use != AddressUse::Moved || geometry.is_fixed {
            return;
        }
        let layout = self.layout();
        for (offset, cell) in self.pointers.iter_mut().zip(&self.crew.test.cells) {
            *offset = layout.offset_of(cell.initial).map(|offset| offset as u64);
        }
    }

    /// Reads the locations that all threads shall have in their caches.
    fn touch(&self) {
        for group in 0..self.geometry().groups.len() {
            if self.batch().parameters.caching(group) != Caching::SHARED || self.owns(group) {
                continue;
            }
            let offset = self.layout().offsets[group];
            for slot in 0..self.batch().slots {
                self.crew.arena.read(Width::Byte, self.slot(slot) + offset);
            }
        }
    }

    /// Runs the thread of this round, if there is one.
    fn perform(&self, round: usize) {
        let batch = self.batch();
        let place = round * self.crew.workers + self.number;
        let Some(&thread) = batch.order.get(place) else {
            return;
        };
        let origin = self.geometry().context(thread) + context::ORIGIN;
        self.crew.arena.write(Width::Quad, origin, batch.origin);
        let entry = self.crew.program.entries[batch.layout][thread];
        // SAFETY: the code was encoded for this mapping. It follows the calling convention: it puts
        // back the registers that are the caller's, and writes only results, its state and cells,
        // unless the test itself goes elsewhere; then the process of the test ends.
        unsafe {
            let code: extern "sysv64" fn() =
                std::mem::transmute(self.crew.code.add(entry as usize));
            code();
        }
    }

    /// Counts the final states of a part of the slots.
    fn count(&mut self) {
        let (batch, workers) = (self.batch(), self.crew.workers as u64);
        let share = |worker: u64| batch.slots * worker / workers;
        let number = self.number as u64;
        let (mut wanted, mut rarity) = (0, 0.0);
        let (mut executions, mut skipped, mut not_kept) = (0, 0, 0);
        for slot in share(number)..share(number + 1) {
            if !self.read(slot) {
                skipped += 1;
                continue;
            }
            executions += 1;
            let crew = self.crew;
            let now = || crew.started.elapsed().as_nanos() as u64;
            let worth = self.table.count(&self.contents, crew.test, now);
            wanted += u64::from(worth.is_wanted);
            rarity += worth.rarity;
            not_kept += u64::from(!worth.is_kept);
        }
        let tally = self.crew.shared.tally(self.number);
        tally.executions.fetch_add(executions, Ordering::Relaxed);
        tally.skipped.fetch_add(skipped, Ordering::Relaxed);
        tally.not_kept.fetch_add(not_kept, Ordering::Relaxed);
        tally.wanted.store(wanted, Ordering::Relaxed);
        tally.rarity.store(f64::to_bits(rarity), Ordering::Relaxed);
    }

    /// Reads the contents of a slot. Returns whether all threads have run it.
    fn read(&mut self, slot: u64) -> bool {
        let geometry = self.geometry();
        let arena = self.crew.arena;
        let word = |thread: usize, word: usize| {
            let result = geometry.results[thread] + slot * geometry.result_bytes(thread);
            arena.read(Width::Quad, result + 8 * word as u64)
        };
        let is_whole = (0..geometry.results.len()).all(|thread| word(thread, 0) == u64::from(MARK));
        if !is_whole {
            return false;
        }
        let (base, layout) = (self.slot(slot), self.layout());
        for (content, source) in self.contents.iter_mut().zip(&geometry.sources) {
            let (value, width) = match *source {
                Source::Result {
                    thread,
                    word: number,
                    width,
                } => (word(thread, number), width),
                Source::Flags {
                    thread,
                    word: number,
                } => {
                    *content = flags(word(thread, number));
                    continue;
                }
                Source::Cell {
                    group,
                    offset,
                    width,
                } => {
                    let at = base + layout.offsets[group] + offset;
                    (arena.read(width, at), width)
                }
            };
            let value = value & width.mask();
            *content = match geometry.address_use {
                AddressUse::Moved
                    if !geometry.is_fixed && value.wrapping_sub(base) < layout.bytes =>
                {
                    layout.address_at(value - base).unwrap_or(value)
                }
                _ => value,
            };
        }
        true
    }
}

impl Crew<'_> {
    /// Begins a batch, or ends the run. The last worker at the barrier does this.
    fn begin(&self, batch: &mut Batch) {
        let control = self.shared.control();
        // SAFETY: all other workers are in the barrier.
        let tuner = unsafe { &mut *control.tuner.get() };
        let now = read_counter();
        if batch.slots > 0 {
            let tallies = || (0..self.workers).map(|worker| self.shared.tally(worker));
            let wanted: u64 = tallies()
                .map(|tally| tally.wanted.load(Ordering::Relaxed))
                .sum();
            let rarity = |bits| f64::from_bits(bits);
            let rare: f64 = tallies()
                .map(|tally| rarity(tally.rarity.load(Ordering::Relaxed)))
                .sum();
            let reward = match self.goal {
                // Without any, variety decides, with little weight.
                Goal::Condition => wanted as f64 + rare / 1e6,
                Goal::Variety => rare,
            };
            tuner.reward(reward / now.wrapping_sub(batch.began).max(1) as f64);
            control.batches.fetch_add(1, Ordering::Relaxed);
        }
        let elapsed = self.started.elapsed();
        control
            .nanoseconds
            .store(elapsed.as_nanos() as u64, Ordering::Relaxed);
        // However little time there is, one batch is run.
        let is_late = batch.slots > 0 && elapsed >= self.time;
        if is_late || control.stop.load(Ordering::Relaxed) != 0 {
            batch.is_over = true;
            return;
        }
        let geometry = &self.program.geometry;
        let threads = batch.order.len();
        let parameters = tuner.choose(&mut batch.random, geometry, threads, &self.fixed);
        batch.parameters = parameters;
        batch.layout = parameters.layout(geometry);
        batch.stride =
            geometry.layouts[batch.layout].bytes * u64::from(parameters.stride.clamp(1, 2));
        batch.slots = match self.is_crowded {
            // Each slot takes turns of all threads.
            true => MOST_SLOTS_OF_CROWDS.min(u64::from(parameters.slots)),
            false => u64::from(parameters.slots),
        };
        let groups = 0..geometry.groups.len();
        batch.has_shared = groups
            .clone()
            .any(|group| parameters.caching(group) == Caching::SHARED);
        for place in (1..threads).rev() {
            let other = batch.random.below(place as u64 + 1) as usize;
            batch.order.swap(place, other);
        }
        batch.began = now;
    }
}

/// The flags of the model, of what `LAHF` and `SETO` leave in `AX`.
fn flags(ax: u64) -> u64 {
    use fencepost_litmus::arithmetic::Flags;
    let bits = [
        (8, Flags::CARRY),
        (10, Flags::PARITY),
        (14, Flags::ZERO),
        (15, Flags::SIGN),
        (0, Flags::OVERFLOW),
    ];
    let set = bits.iter().filter(|(bit, _)| ax >> bit & 1 == 1);
    set.fold(0, |all, (_, flag)| all | flag)
}
