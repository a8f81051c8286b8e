//! The SOBER monitor as printed: Fig. 2 with the vector clock of Fig. 3 (MSR-TR-2008-12).
//!
//! It is kept for comparison. What it misses: its model of TSO (Def. 3) keeps the conflict
//! edge from another processor's write into a load that forwarded from its own store
//! buffer, which real TSO does not, so violations of the shape of litmus test `n6` are not
//! seen. It judges loads only. It keeps every write of the interleaving, and its clock
//! takes O(N²) per store and N² numbers per address.
//!
//! The paper has no fences and no locked operations that only read or only write. A fence
//! is read as an interlocked operation on an address of its own (its footnote 1), `lld` as
//! a fence and a load, `lst` as a store and a fence; `stbar` is nothing under TSO.

use fencepost_memory::{Address, MemoryModel, Operation};

use crate::clocks::{Clocks, DenseClocks, Row, ThreadClocks};
use crate::happens_before::HappensBefore;
use crate::monitor::Monitor;
use crate::violation::PlacedEvent;

#[derive(Clone, Debug)]
struct Write {
    placed: PlacedEvent,
    /// Its number in the group of its processor's writes.
    store_count: u64,
}

#[derive(Clone, Debug)]
struct Processor {
    /// `lc[p]`, followed by `sc[p]`.
    row: Row,
    load_count: u64,
    store_count: u64,
}

impl Processor {
    fn lc(&self) -> Row {
        self.row
    }

    fn sc(&self) -> Row {
        self.row.offset(1)
    }
}

#[derive(Clone, Debug, Default)]
struct Location {
    /// `mc2[a]`, followed by a row of all writes, which is what `mc1[p][a]` starts with for
    /// a processor that appears later.
    mc2: Option<Row>,
    /// `mc1[p][a]` by processor.
    mc1: Vec<Row>,
    /// `write(E, a, c)` for c from 1.
    writes: Vec<Write>,
}

/// SOBER as printed. See the module documentation for what it misses.
#[derive(Clone, Debug, Default)]
pub struct Sober {
    clocks: DenseClocks,
    processors: Vec<Processor>,
    locations: Vec<Location>,
    outputs: Vec<Row>,
    writes_held: usize,
}

fn all_writes(mc2: Row) -> Row {
    mc2.offset(1)
}

/// The groups `r_p` and `w_p`.
fn groups_of(p: usize) -> (usize, usize) {
    (2 * p, 2 * p + 1)
}

impl Sober {
    fn admit<C: ThreadClocks>(&mut self, before: &HappensBefore<C>) {
        while self.processors.len() < before.thread_count() {
            self.clocks.reserve_groups(2 * (self.processors.len() + 1));
            self.processors.push(Processor {
                row: self.clocks.add_rows(2),
                load_count: 0,
                store_count: 0,
            });
        }
        while self.locations.len() < before.address_count() {
            let mc2 = Some(self.clocks.add_rows(2));
            self.locations.push(Location {
                mc2,
                ..Location::default()
            });
        }
    }

    /// `mc2[a]`, and `mc1[p][a]` by processor, to be put back.
    fn rows_of(&mut self, address: Address) -> (Row, Vec<Row>) {
        let location = &mut self.locations[address.index()];
        let mc2 = location.mc2.expect("made in admit");
        while location.mc1.len() < self.processors.len() {
            let row = self.clocks.add_rows(1);
            self.clocks.step([all_writes(mc2)], [], [row]);
            location.mc1.push(row);
        }
        (mc2, std::mem::take(&mut location.mc1))
    }

    /// Fig. 2, lines 6 to 17.
    fn judge<C: ThreadClocks>(
        &self,
        next: &PlacedEvent,
        a: Address,
        before: &HappensBefore<C>,
    ) -> Option<PlacedEvent> {
        let p = next.thread();
        let last_read = self.processors[p.index()].lc();
        for write in self.locations[a.index()].writes.iter().rev() {
            let writer = write.placed.thread();
            if writer == p {
                return None;
            }
            let (_, group) = groups_of(writer.index());
            if self.clocks.get(last_read, group) >= write.store_count {
                return None;
            }
            // As a failed compare-exchange that reads another value may succeed and write, it
            // cannot be put before a read-modify-write.
            let reads_too =
                next.event.operation().is_locked() && write.placed.event.operation().reads();
            if before.precedes_last_of(&write.placed, p) && !reads_too {
                return Some(write.placed);
            }
        }
        None
    }

    /// Fig. 3, `ld`.
    fn load(&mut self, next: &PlacedEvent, a: Address) {
        let p = next.thread().index();
        let (mc2, mc1) = self.rows_of(a);
        let processor = &mut self.processors[p];
        processor.load_count += 1;
        let mark = [(groups_of(p).0, processor.load_count)];
        let lc = processor.lc();
        self.clocks.step([lc, mc1[p]], mark, [lc, mc2]);
        self.locations[a.index()].mc1 = mc1;
    }

    /// Fig. 3, `st`.
    fn store(&mut self, next: &PlacedEvent, a: Address) {
        let p = next.thread().index();
        let (mc2, mc1) = self.rows_of(a);
        let processor = &mut self.processors[p];
        processor.store_count += 1;
        let count = processor.store_count;
        let (lc, sc) = (processor.lc(), processor.sc());
        self.outputs.clear();
        self.outputs.extend([mc2, all_writes(mc2), sc]);
        let others = mc1.iter().enumerate().filter(|&(q, _)| q != p);
        self.outputs.extend(others.map(|(_, &row)| row));
        let mark = [(groups_of(p).1, count)];
        self.clocks
            .step_slices(&[sc, lc, mc2], &mark, &self.outputs);
        self.remember(next, a, mc1, count);
    }

    /// Fig. 3, `il`.
    fn interlocked(&mut self, next: &PlacedEvent, a: Address) {
        let p = next.thread().index();
        let (mc2, mc1) = self.rows_of(a);
        let (inputs, mark) = self.advance_both(p);
        let (lc, sc) = (self.processors[p].lc(), self.processors[p].sc());
        self.outputs.clear();
        self.outputs.extend([mc2, all_writes(mc2), lc, sc]);
        self.outputs.extend(&mc1);
        let inputs = [inputs[0], inputs[1], mc2];
        self.clocks.step_slices(&inputs, &mark, &self.outputs);
        let count = self.processors[p].store_count;
        self.remember(next, a, mc1, count);
    }

    /// An `il` on an address that nobody else accesses.
    fn fence(&mut self, next: &PlacedEvent) {
        let p = next.thread().index();
        let (inputs, mark) = self.advance_both(p);
        self.clocks.step(inputs, mark, inputs);
    }

    fn advance_both(&mut self, p: usize) -> ([Row; 2], [(usize, u64); 2]) {
        let processor = &mut self.processors[p];
        processor.load_count += 1;
        processor.store_count += 1;
        let (r, w) = groups_of(p);
        (
            [processor.lc(), processor.sc()],
            [(r, processor.load_count), (w, processor.store_count)],
        )
    }

    fn remember(&mut self, next: &PlacedEvent, a: Address, mc1: Vec<Row>, store_count: u64) {
        let location = &mut self.locations[a.index()];
        location.mc1 = mc1;
        location.writes.push(Write {
            placed: *next,
            store_count,
        });
        self.writes_held += 1;
    }
}

impl Monitor for Sober {
    fn name(&self) -> &'static str {
        "sober"
    }

    fn model(&self) -> MemoryModel {
        MemoryModel::TSO
    }

    fn observe<C: ThreadClocks>(
        &mut self,
        next: &PlacedEvent,
        before: &HappensBefore<C>,
    ) -> Option<PlacedEvent> {
        self.admit(before);
        match next.event.operation() {
            Operation::Load(a) => {
                let overtaken = self.judge(next, a, before);
                self.load(next, a);
                overtaken
            }
            Operation::LockedLoad(a) => {
                self.fence(next);
                let overtaken = self.judge(next, a, before);
                self.load(next, a);
                overtaken
            }
            Operation::Store(a) => {
                self.store(next, a);
                None
            }
            Operation::LockedStore(a) => {
                self.store(next, a);
                self.fence(next);
                None
            }
            Operation::Interlocked(a) => {
                self.interlocked(next, a);
                None
            }
            Operation::Fence => {
                self.fence(next);
                None
            }
            Operation::StoreBarrier => None,
        }
    }

    fn reset(&mut self) {
        self.clocks.reset();
        for processor in &mut self.processors {
            processor.load_count = 0;
            processor.store_count = 0;
        }
        for location in &mut self.locations {
            location.writes.clear();
        }
        self.writes_held = 0;
    }

    fn memory(&self) -> usize {
        self.clocks.memory() + 2 * self.writes_held * size_of::<Write>()
    }

    fn projected_memory(&self, threads: usize, addresses: usize) -> usize {
        let rows = addresses.saturating_mul(threads + 2) + 2 * threads;
        self.clocks
            .memory_with(rows, 2 * threads)
            .saturating_add(2 * self.writes_held * size_of::<Write>())
    }
}
