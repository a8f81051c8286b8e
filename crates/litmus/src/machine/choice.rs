//! Which steps of a state have to be tried.
//!
//! When every thread has come to rest, what can happen next is that a store reaches memory, or that
//! a locked instruction (or, under SC, a store) is performed. Steps on different cells commute,
//! so it is enough to try a *persistent set* of them: one such that nothing that can happen outside
//! of it, now or later, touches what it touches (Godefroid, LNCS 1032, section 4). All final states
//! are still reached, loops or not.
//!
//! A set is grown from one step until it is closed. Its members are the heads of buffers and the
//! threads themselves; a member that cannot act now brings in one that must act before it.

use crate::test::CellId;

use super::facts::CellSet;

/// The status of a thread at rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Front {
    /// It has ended.
    Ended,
    /// It is before a load of this cell, and lets another thread write the cell first.
    Waiting(CellId),
    /// It waits until its own buffer is empty.
    BlockedByAll,
    /// It waits until its own buffer lets a locked instruction on this cell pass.
    BlockedBy(CellId),
    /// It waits until there is room in its own buffer.
    BlockedByLength,
    /// It can write this cell, by a locked instruction or directly.
    Ready(CellId),
}

/// A thread at rest, as far as the choice is concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtRest {
    pub(super) front: Front,
    /// The cells that the thread itself may still read, without the load before which it waits.
    pub(super) reads: CellSet,
    /// The cells that the thread itself may still write.
    pub(super) writes: CellSet,
    /// The cells that its buffer will write.
    pub(super) buffered: CellSet,
}

/// A step that may be tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// A thread's own step.
    Front(usize),
    /// The store with this index in the thread's buffer reaches memory.
    Commit(usize, usize),
}

/// The questions of the choice about buffers.
pub(super) trait Buffers {
    /// A store that must reach memory before a store to this cell does, or a locked instruction on
    /// it can be performed: an index into the thread's buffer.
    fn first_towards(&self, thread: usize, cell: CellId) -> usize;

    /// The cell of a buffered store.
    fn cell(&self, thread: usize, index: usize) -> CellId;

    /// The stores that can reach memory now.
    fn ready(&self, thread: usize, into: &mut Vec<Choice>);
}

/// Finds persistent sets, keeping its memory from state to state.
#[derive(Default)]
pub(super) struct Chooser {
    enabled: Vec<Choice>,
    members: Vec<Choice>,
    best: Vec<Choice>,
}

impl Chooser {
    /// The steps to try, none if nothing can happen.
    pub(super) fn choose(&mut self, threads: &[AtRest], buffers: &impl Buffers) -> &[Choice] {
        self.best.clear();
        self.enabled.clear();
        for (thread, at_rest) in threads.iter().enumerate() {
            if let Front::Ready(_) = at_rest.front {
                self.enabled.push(Choice::Front(thread));
            }
            buffers.ready(thread, &mut self.enabled);
        }
        for seed in 0..self.enabled.len() {
            let seed = self.enabled[seed];
            if is_alone(seed, threads, buffers) {
                self.best.push(seed);
                return &self.best;
            }
        }
        for seed in 0..self.enabled.len() {
            let seed = self.enabled[seed];
            self.close(seed, threads, buffers);
            let can_act = |choice: &&Choice| match **choice {
                Choice::Front(thread) => matches!(threads[thread].front, Front::Ready(_)),
                Choice::Commit(..) => true,
            };
            let count = self.members.iter().filter(can_act).count();
            if self.best.is_empty() || count < self.best.len() {
                self.best.clear();
                self.best.extend(self.members.iter().filter(can_act));
            }
        }
        &self.best
    }

    fn close(&mut self, seed: Choice, threads: &[AtRest], buffers: &impl Buffers) {
        self.members.clear();
        self.members.push(seed);
        let mut next = 0;
        while next < self.members.len() {
            let member = self.members[next];
            next += 1;
            let members = &mut self.members;
            let mut add = |choice: Choice| {
                if !members.contains(&choice) {
                    members.push(choice);
                }
            };
            match member {
                Choice::Commit(thread, index) => {
                    let cell = buffers.cell(thread, index);
                    in_the_way(thread, cell, threads, buffers, &mut add);
                }
                Choice::Front(thread) => match threads[thread].front {
                    Front::Ready(cell) => in_the_way(thread, cell, threads, buffers, &mut add),
                    Front::Waiting(cell) => writers(thread, cell, threads, buffers, &mut add),
                    Front::BlockedByAll => add(Choice::Commit(thread, 0)),
                    Front::BlockedBy(cell) => {
                        add(Choice::Commit(thread, buffers.first_towards(thread, cell)));
                    }
                    // Any commit makes room, so all possible commits are needed.
                    Front::BlockedByLength => {
                        let mut ready = Vec::new();
                        buffers.ready(thread, &mut ready);
                        ready.into_iter().for_each(add);
                    }
                    Front::Ended => {}
                },
            }
        }
    }
}

/// Whether nothing outside touches what the step touches.
fn is_alone(choice: Choice, threads: &[AtRest], buffers: &impl Buffers) -> bool {
    let (thread, cell) = match choice {
        Choice::Commit(thread, index) => (thread, buffers.cell(thread, index)),
        Choice::Front(thread) => match threads[thread].front {
            Front::Ready(cell) => (thread, cell),
            _ => return false,
        },
    };
    let mut alone = true;
    in_the_way(thread, cell, threads, buffers, &mut |_| alone = false);
    alone
}

/// Adds what must be in a persistent set with a write to `cell`: the threads that write the cell,
/// and those that may read it before. A thread that waits before a load of the cell can do neither
/// until another thread writes the cell.
#[inline]
fn in_the_way(
    writer: usize,
    cell: CellId,
    threads: &[AtRest],
    buffers: &impl Buffers,
    add: &mut impl FnMut(Choice),
) {
    for (thread, other) in threads.iter().enumerate() {
        if thread == writer {
            continue;
        }
        if other.buffered.has(cell) {
            add(Choice::Commit(thread, buffers.first_towards(thread, cell)));
        }
        if other.front != Front::Waiting(cell) && other.reads.union(other.writes).has(cell) {
            add(Choice::Front(thread));
        }
    }
}

/// Adds what must act before a thread that waits before a load of `cell` can.
fn writers(
    reader: usize,
    cell: CellId,
    threads: &[AtRest],
    buffers: &impl Buffers,
    add: &mut impl FnMut(Choice),
) {
    for (thread, other) in threads.iter().enumerate() {
        if thread == reader {
            continue;
        }
        if other.buffered.has(cell) {
            add(Choice::Commit(thread, buffers.first_towards(thread, cell)));
        }
        if other.writes.has(cell) {
            add(Choice::Front(thread));
        }
    }
}
