//! Happens-before clocks, and data races on cells, by the happens-before of C11.
//!
//! Neither the explorer nor the monitor sees accesses to cells: if happens-before orders them,
//! their interleavings do not differ, and if not, that is the error. So one interleaving is enough
//! to find a race that its happens-before shows.
//!
//! Every thread has a clock of what happens before its next operation, one of what it would
//! acquire by a fence (from relaxed loads), and one of what its last release fence covers. Every
//! atomic has the clock that an acquire load of its present value synchronizes with: that of the
//! release store which heads the release sequence, joined with those of the read-modify-writes that
//! continue it. A relaxed store begins a new one, with what the last release fence covers.
//! (C++20: a later store of the same thread does not continue a sequence.)
//!
//! Nothing that happened before the creation of the first cell can order accesses to cells, so the
//! clocks do not advance until then. For accesses to plain memory (`plain`) they advance from the
//! first spawn on, which everything before it happens before.

use std::sync::atomic::Ordering;

use fencepost_memory::{Address, ThreadId};

use super::drops::FinalDrop;
use super::error::{Race, RaceAccess};
use super::location::LocationRef;

/// A vector clock.
#[derive(Clone, Debug, Default)]
struct Clock(Vec<u32>);

impl Clock {
    #[inline]
    fn at(&self, thread: ThreadId) -> u32 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    fn advance(&mut self, thread: ThreadId) {
        if self.0.len() <= thread.index() {
            self.0.resize(thread.index() + 1, 0);
        }
        self.0[thread.index()] += 1;
    }

    fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    fn copy_from(&mut self, other: &Clock) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// The clocks of a thread.
#[derive(Debug, Default)]
struct ThreadClocks {
    execution: u64,
    now: Clock,
    /// From relaxed loads: an acquire fence joins it into `now`.
    acquirable: Clock,
    /// `now` at the last release fence.
    fenced: Clock,
}

/// The clock that an acquire load of an object's present value synchronizes with.
#[derive(Debug, Default)]
struct ObjectClock {
    execution: u64,
    released: Clock,
}

/// An access, with its thread's own entry at that time.
#[derive(Clone, Copy, Debug)]
struct CellAccess {
    thread: ThreadId,
    time: u32,
    location: LocationRef,
}

/// The accesses to a cell that could still race: its last write, and each thread's last read since.
#[derive(Debug)]
struct CellHistory {
    created_at: LocationRef,
    name: Option<Box<str>>,
    write: CellAccess,
    reads: Vec<CellAccess>,
    /// The drop of a last reference, which another thread could have done, that has accessed the
    /// cell; and whether it wrote.
    in_drop: Option<(FinalDrop, bool)>,
}

/// The happens-before clocks of an execution.
#[derive(Debug, Default)]
pub struct Races {
    execution: u64,
    are_tracked: bool,
    threads: Vec<ThreadClocks>,
    objects: Vec<ObjectClock>,
    /// Histories beyond `cell_count` are of earlier executions, and kept for their memory.
    cells: Vec<CellHistory>,
    cell_count: usize,
}

fn acquires(ordering: Ordering) -> bool {
    matches!(
        ordering,
        Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
    )
}

fn releases(ordering: Ordering) -> bool {
    matches!(
        ordering,
        Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
    )
}

impl Races {
    /// Forgets everything, for a new execution.
    pub(crate) fn reset(&mut self, execution: u64) {
        self.execution = execution;
        self.are_tracked = false;
        self.cell_count = 0;
    }

    /// Lets the clocks advance.
    pub(crate) fn track(&mut self) {
        self.are_tracked = true;
    }

    /// The thread's clock, by thread. It has an entry of its own.
    #[inline]
    pub(crate) fn clock(&mut self, thread: ThreadId) -> &[u32] {
        &self.clocks(thread).now.0
    }

    /// Whether the clocks advance: there are cells, or there is memory to be checked and another
    /// thread.
    #[inline]
    pub fn are_tracked(&self) -> bool {
        self.are_tracked
    }

    fn clocks(&mut self, thread: ThreadId) -> &mut ThreadClocks {
        if self.threads.len() <= thread.index() {
            self.threads
                .resize_with(thread.index() + 1, ThreadClocks::default);
        }
        let clocks = &mut self.threads[thread.index()];
        if clocks.execution != self.execution {
            clocks.execution = self.execution;
            clocks.now.clear();
            clocks.now.advance(thread);
            clocks.acquirable.clear();
            clocks.fenced.clear();
        }
        clocks
    }

    /// The clocks of a thread and of an object.
    fn pair(&mut self, thread: ThreadId, object: Address) -> (&mut ThreadClocks, &mut ObjectClock) {
        self.clocks(thread);
        if self.objects.len() <= object.index() {
            self.objects
                .resize_with(object.index() + 1, ObjectClock::default);
        }
        let clock = &mut self.objects[object.index()];
        if clock.execution != self.execution {
            clock.execution = self.execution;
            clock.released.clear();
        }
        (&mut self.threads[thread.index()], clock)
    }

    /// Joins the object's clock into the thread's.
    pub fn acquire(&mut self, thread: ThreadId, object: Address) {
        let (clocks, object) = self.pair(thread, object);
        clocks.now.join(&object.released);
    }

    /// Joins the thread's clock into the object's.
    pub fn release(&mut self, thread: ThreadId, object: Address) {
        let (clocks, object) = self.pair(thread, object);
        object.released.join(&clocks.now);
        clocks.now.advance(thread);
    }

    /// An atomic load.
    pub fn load(&mut self, thread: ThreadId, object: Address, ordering: Ordering) {
        let (clocks, object) = self.pair(thread, object);
        if acquires(ordering) {
            clocks.now.join(&object.released);
        } else {
            clocks.acquirable.join(&object.released);
        }
    }

    /// An atomic store.
    pub fn store(&mut self, thread: ThreadId, object: Address, ordering: Ordering) {
        let (clocks, object) = self.pair(thread, object);
        if releases(ordering) {
            object.released.copy_from(&clocks.now);
            clocks.now.advance(thread);
        } else {
            object.released.copy_from(&clocks.fenced);
        }
    }

    /// The clock that loads of a buffered store will synchronize with.
    pub fn released_by_store(&mut self, thread: ThreadId, is_releasing: bool) -> Vec<u32> {
        let clocks = self.clocks(thread);
        if !is_releasing {
            return clocks.fenced.0.clone();
        }
        let released = clocks.now.0.clone();
        clocks.now.advance(thread);
        released
    }

    /// Commits a buffered store.
    pub(crate) fn commit(&mut self, thread: ThreadId, object: Address, released: &[u32]) {
        let (_, object) = self.pair(thread, object);
        object.released.clear();
        object.released.0.extend_from_slice(released);
    }

    /// An atomic read-modify-write that writes.
    pub fn read_modify_write(&mut self, thread: ThreadId, object: Address, ordering: Ordering) {
        self.load(thread, object, ordering);
        let (clocks, object) = self.pair(thread, object);
        if releases(ordering) {
            object.released.join(&clocks.now);
            clocks.now.advance(thread);
        } else {
            object.released.join(&clocks.fenced);
        }
    }

    /// A fence.
    pub fn fence(&mut self, thread: ThreadId, ordering: Ordering) {
        let clocks = self.clocks(thread);
        if acquires(ordering) {
            clocks.now.join(&clocks.acquirable);
        }
        if releases(ordering) {
            clocks.fenced.copy_from(&clocks.now);
            clocks.now.advance(thread);
        }
    }

    /// What the child does happens after what its parent has done.
    pub fn spawn(&mut self, parent: ThreadId, child: ThreadId) {
        self.join(child, parent);
        self.clocks(parent).now.advance(parent);
    }

    /// What the thread does next happens after everything that the other thread has done.
    pub(crate) fn join(&mut self, thread: ThreadId, other: ThreadId) {
        self.clocks(other);
        let known = std::mem::take(&mut self.clocks(thread).now);
        let mut joined = known;
        joined.join(&self.threads[other.index()].now);
        self.threads[thread.index()].now = joined;
    }

    /// Copies the thread's clock to one that the caller keeps, such as that of a static.
    pub fn publish(&mut self, thread: ThreadId, clock: &mut Vec<u32>) {
        let clocks = self.clocks(thread);
        clock.clear();
        clock.extend_from_slice(&clocks.now.0);
        clocks.now.advance(thread);
    }

    /// Joins the thread's clock into one that the caller keeps, such as that of the readers of a
    /// lock.
    pub fn publish_more(&mut self, thread: ThreadId, clock: &mut Vec<u32>) {
        let clocks = self.clocks(thread);
        let mut joined = Clock(std::mem::take(clock));
        joined.join(&clocks.now);
        *clock = joined.0;
        clocks.now.advance(thread);
    }

    /// Joins a clock of [`publish`](Self::publish) into the thread's.
    pub fn learn(&mut self, thread: ThreadId, clock: &[u32]) {
        let now = &mut self.clocks(thread).now;
        for (index, &time) in clock.iter().enumerate() {
            if now.0.len() <= index {
                now.0.resize(index + 1, 0);
            }
            now.0[index] = now.0[index].max(time);
        }
    }

    /// The thread's clock, to be restored.
    pub fn known_by(&mut self, thread: ThreadId) -> Vec<u32> {
        self.clocks(thread).now.0.clone()
    }

    /// Restores the thread's clock, except for its own entry.
    pub fn restore(&mut self, thread: ThreadId, known: Vec<u32>) {
        let own = self.clocks(thread).now.at(thread);
        let now = &mut self.clocks(thread).now;
        now.0 = known;
        now.0[thread.index()] = own;
    }

    /// Creates a cell, which is a write to it. Returns its index.
    pub(crate) fn create_cell(&mut self, thread: ThreadId, location: LocationRef) -> u32 {
        self.are_tracked = true;
        let write = self.cell_access(thread, location);
        match self.cells.get_mut(self.cell_count) {
            Some(history) => {
                history.created_at = location;
                history.name = None;
                history.write = write;
                history.reads.clear();
                history.in_drop = None;
            }
            None => self.cells.push(CellHistory {
                created_at: location,
                name: None,
                write,
                reads: Vec::new(),
                in_drop: None,
            }),
        }
        self.cell_count += 1;
        self.cell_count as u32 - 1
    }

    /// Gives a cell a name for reports.
    pub(crate) fn name_cell(&mut self, cell: u32, name: &str) {
        self.cells[cell as usize].name = Some(name.into());
    }

    /// The thread reads a cell. Returns the race with an earlier write, if there is one.
    pub(crate) fn read_cell(
        &mut self,
        thread: ThreadId,
        cell: u32,
        location: LocationRef,
    ) -> Option<Box<Race>> {
        let access = match self.access_after_write(thread, cell, false, location) {
            Ok(access) => access,
            Err(race) => return Some(race),
        };
        let reads = &mut self.cells[cell as usize].reads;
        match reads.iter_mut().find(|read| read.thread == thread) {
            Some(read) => *read = access,
            None => reads.push(access),
        }
        None
    }

    /// The thread writes a cell. Returns the race with an earlier access, if there is one.
    pub(crate) fn write_cell(
        &mut self,
        thread: ThreadId,
        cell: u32,
        location: LocationRef,
    ) -> Option<Box<Race>> {
        let access = match self.access_after_write(thread, cell, true, location) {
            Ok(access) => access,
            Err(race) => return Some(race),
        };
        let history = &self.cells[cell as usize];
        let unordered = |read: &&CellAccess| !self.is_ordered(**read, access);
        if let Some(&read) = history.reads.iter().find(unordered) {
            return Some(race(history, (read, false), (access, true)));
        }
        let history = &mut self.cells[cell as usize];
        history.write = access;
        history.reads.clear();
        None
    }

    /// Records whether a cell is accessed in the drop of a last reference, which another thread
    /// could have done. Returns such a drop that has accessed the cell before, if the two accesses
    /// could race had another thread done it.
    #[inline]
    pub(crate) fn access_in_drop(
        &mut self,
        cell: u32,
        is_write: bool,
        drop: Option<FinalDrop>,
    ) -> Option<FinalDrop> {
        let in_drop = &mut self.cells[cell as usize].in_drop;
        match (in_drop, drop) {
            (None, None) => None,
            (Some((before, wrote)), Some(drop)) if before.counts == drop.counts => {
                *wrote |= is_write;
                None
            }
            (Some((before, wrote)), _) => (*wrote || is_write).then_some(*before),
            (in_drop, Some(drop)) => {
                *in_drop = Some((drop, is_write));
                None
            }
        }
    }

    /// The access of a thread to a cell, or its race with the latest write.
    #[inline]
    fn access_after_write(
        &mut self,
        thread: ThreadId,
        cell: u32,
        is_write: bool,
        location: LocationRef,
    ) -> Result<CellAccess, Box<Race>> {
        let access = self.cell_access(thread, location);
        let history = &self.cells[cell as usize];
        match self.is_ordered(history.write, access) {
            true => Ok(access),
            false => Err(race(history, (history.write, true), (access, is_write))),
        }
    }

    fn cell_access(&mut self, thread: ThreadId, location: LocationRef) -> CellAccess {
        CellAccess {
            thread,
            time: self.clocks(thread).now.at(thread),
            location,
        }
    }

    fn is_ordered(&self, earlier: CellAccess, later: CellAccess) -> bool {
        self.threads[later.thread.index()].now.at(earlier.thread) >= earlier.time
    }
}

fn race(history: &CellHistory, first: (CellAccess, bool), second: (CellAccess, bool)) -> Box<Race> {
    let access = |(access, is_write): (CellAccess, bool)| RaceAccess {
        thread: access.thread,
        is_write,
        location: access.location.into(),
    };
    Box::new(Race {
        cell: history.created_at.into(),
        name: history.name.as_deref().map(str::to_owned),
        first: access(first),
        second: access(second),
    })
}
