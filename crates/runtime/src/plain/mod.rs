//! Data races on memory that is accessed by address, by the happens-before of C11.
//!
//! For programs whose compiler reports every access: the explorer does not see plain accesses, so
//! all that is to be checked is that happens-before orders those that conflict. [`races`] has the
//! clocks; here is what was accessed, to the byte.
//!
//! A front end collects what a thread accesses between two of its operations and hands it over
//! before the next one ([`Current::note_accesses`]), so that the clock of the thread is the one
//! that it had then. What a thread does while it is the only one happens before all that other
//! threads do, and is not recorded.
//!
//! Memory consists of pages, and a page of granules of eight bytes; `records` has the accesses to a
//! granule. An access to a whole page is recorded once, for all its granules; those that are
//! accessed alone afterwards begin with a copy of it. Nothing is cleared between executions:
//! what is of an earlier one is recognized by its number.
//!
//! [`races`]: super::races

mod records;

use std::fmt;

use fencepost_memory::ThreadId;
use rustc_hash::FxHashMap;

use self::records::{Record, Records};
use super::error::{MemoryRace, MemoryRaceAccess, ProgramError};
use super::execution::{Execution, Phase};
use super::location::OwnedLocation;
use super::operation::Current;
use super::step::Step;

/// The bytes of a granule.
const GRANULE: usize = 8;
/// The bytes of a page.
const PAGE: usize = 4096;
/// The granules of a page.
const GRANULES: usize = PAGE / GRANULE;
/// How many pages are found without a hash table.
const RECENT: usize = 64;
/// A number that no page has.
const NO_PAGE: usize = usize::MAX;
/// The most pages with granules: those of 128 MiB, whose records take 0.9 GiB.
const MOST_DIVIDED: usize = 1 << 15;
/// The most pages: those of 16 GiB.
const MOST_PAGES: usize = 1 << 22;

/// How memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum AccessKind {
    /// A read that is not atomic.
    Read,
    /// An atomic operation that reads.
    AtomicRead,
    /// An atomic operation that writes, and perhaps reads.
    AtomicWrite,
    /// A write that is not atomic.
    Write,
    /// Its allocation: as a write, except that what was before is forgotten.
    Allocation,
    /// The free of the block: as a write.
    Free,
}

/// An access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)] // Front ends write it in assembly.
pub struct MemoryAccess {
    /// The address of the first byte.
    pub address: usize,
    /// The place in the program, such as a program counter. Only the front end knows what it means.
    pub place: u64,
    /// How many bytes are accessed.
    pub size: u32,
    /// How they are accessed.
    pub kind: AccessKind,
}

/// An access that was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedAccess {
    /// The thread.
    pub thread: ThreadId,
    /// How it accessed the memory.
    pub kind: AccessKind,
    /// How many bytes it accessed.
    pub size: u32,
    /// The place in the program.
    pub place: u64,
}

/// Why accesses to memory end the execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryFinding {
    /// Two accesses conflict, and happens-before does not order them.
    Race {
        /// The first byte that both access.
        address: usize,
        /// The access that was performed first.
        first: RecordedAccess,
        /// The access at which the race was detected.
        second: RecordedAccess,
    },
    /// The program accesses more memory than can be checked.
    TooMuchMemory {
        /// The limit in bytes.
        limit: u64,
    },
}

impl MemoryFinding {
    /// The error, with the source locations of places and the name of the memory at an address, as
    /// far as they are known.
    pub fn into_error(
        self,
        locate: impl Fn(u64) -> Option<OwnedLocation>,
        name: impl FnOnce(usize) -> Option<String>,
    ) -> ProgramError {
        let (address, first, second) = match self {
            MemoryFinding::Race {
                address,
                first,
                second,
            } => (address, first, second),
            MemoryFinding::TooMuchMemory { .. } => {
                return ProgramError::Misuse {
                    message: self.to_string(),
                    location: None,
                };
            }
        };
        let access = |access: RecordedAccess| MemoryRaceAccess {
            thread: access.thread,
            kind: access.kind,
            size: access.size,
            location: locate(access.place),
        };
        ProgramError::MemoryRace(Box::new(MemoryRace {
            address,
            name: name(address),
            first: access(first),
            second: access(second),
        }))
    }
}

impl fmt::Display for MemoryFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryFinding::Race {
                address,
                first,
                second,
            } => write!(
                f,
                "data race at {address:#x}: {} {} it, {} {} it",
                first.thread,
                first.kind.verb(),
                second.thread,
                second.kind.verb()
            ),
            MemoryFinding::TooMuchMemory { limit } => write!(
                f,
                "the threads of the program access more than {} MiB, the most that can be checked for \
                 data races: check a smaller instance of the program",
                limit >> 20
            ),
        }
    }
}

impl AccessKind {
    /// What a thread does that accesses memory like this, without an object: `reads`.
    pub fn verb(self) -> &'static str {
        match self {
            AccessKind::Read => "reads",
            AccessKind::AtomicRead => "atomically reads",
            AccessKind::AtomicWrite => "atomically writes",
            AccessKind::Write => "writes",
            AccessKind::Allocation => "allocates",
            AccessKind::Free => "frees",
        }
    }
}

/// A granule of a page that is divided.
#[derive(Debug, Default)]
struct Granule {
    /// If this is not the generation of the page, the granule has the records of the whole page.
    generation: u64,
    records: Records,
}

#[derive(Debug, Default)]
struct Page {
    /// If this is not the present execution, there are no records.
    execution: u64,
    /// Changes when all granules get the records of the whole page.
    generation: u64,
    /// Whether granules may have records of their own.
    is_divided: bool,
    whole: Records,
    /// None until one is accessed alone.
    granules: Vec<Granule>,
}

impl Page {
    /// The granule, with its present records.
    #[inline]
    fn granule(&mut self, index: usize) -> &mut Granule {
        let granule = &mut self.granules[index];
        if granule.generation != self.generation {
            granule.generation = self.generation;
            granule.records.copy_from(&self.whole);
        }
        granule
    }

    /// Gives all granules the records of the whole page, which are to be set.
    fn unite(&mut self) {
        self.generation += 1;
        self.is_divided = false;
    }

    /// Adds an access to the whole page. Returns one with which it races, and the first byte.
    fn add_to_all(&mut self, new: &Record, now: &[u32]) -> Option<(Record, u32)> {
        if new.kind == AccessKind::Allocation {
            self.unite();
            self.whole.replace(*new);
            return None;
        }
        if !self.is_divided {
            return self.whole.add(new, now);
        }
        for index in 0..GRANULES {
            if let Some((earlier, byte)) = self.granule(index).records.add(new, now) {
                return Some((earlier, (index * GRANULE) as u32 + byte));
            }
        }
        // All other accesses happen before a plain write, which stands for them.
        if matches!(new.kind, AccessKind::Write | AccessKind::Free) {
            self.unite();
            self.whole.replace(*new);
        }
        None
    }
}

/// Who accesses memory, and when.
#[derive(Clone, Copy)]
struct Accessor<'a> {
    thread: ThreadId,
    /// The thread's own entry in its clock at the access.
    time: u32,
    /// Its clock.
    now: &'a [u32],
}

/// What the threads of an execution have accessed.
#[derive(Debug)]
pub(crate) struct PlainMemory {
    execution: u64,
    pages: Vec<Page>,
    /// How many pages have granules.
    divided: usize,
    /// By the number of the page.
    index: FxHashMap<usize, u32>,
    recent: [(usize, u32); RECENT],
}

impl Default for PlainMemory {
    fn default() -> Self {
        PlainMemory {
            execution: 0,
            pages: Vec::new(),
            divided: 0,
            index: FxHashMap::default(),
            recent: [(NO_PAGE, 0); RECENT],
        }
    }
}

impl PlainMemory {
    /// Forgets everything, for a new execution.
    pub(crate) fn reset(&mut self, execution: u64) {
        self.execution = execution;
        // If executions access different memory, some of it is not needed any more.
        if self.divided > MOST_DIVIDED / 2 || self.pages.len() > MOST_PAGES / 2 {
            *self = PlainMemory {
                execution,
                ..PlainMemory::default()
            };
        }
    }

    /// Records accesses of a thread with this clock.
    fn add(&mut self, accesses: &[MemoryAccess], by: Accessor<'_>) -> Result<(), MemoryFinding> {
        accesses
            .iter()
            .try_for_each(|access| self.add_one(access, by))
    }

    #[inline]
    fn add_one(&mut self, access: &MemoryAccess, by: Accessor<'_>) -> Result<(), MemoryFinding> {
        if access.size == 0 {
            return Ok(());
        }
        let offset = access.address % GRANULE;
        if offset + access.size as usize > GRANULE {
            return self.add_range(access, by);
        }
        let mask = ((1u16 << access.size) - 1) << offset;
        self.add_to_granule(access, access.address - offset, mask as u8, by)
    }

    /// Adds an access to more than one granule.
    fn add_range(&mut self, access: &MemoryAccess, by: Accessor<'_>) -> Result<(), MemoryFinding> {
        let end = access.address.saturating_add(access.size as usize);
        let mut at = access.address;
        while at < end {
            if at % PAGE == 0 && end - at >= PAGE {
                self.add_to_page(access, at, by)?;
                at = at.saturating_add(PAGE);
                continue;
            }
            let offset = at % GRANULE;
            let bytes = (GRANULE - offset).min(end - at);
            let mask = ((1u16 << bytes) - 1) << offset;
            self.add_to_granule(access, at - offset, mask as u8, by)?;
            at = at.saturating_add(bytes);
        }
        Ok(())
    }

    #[inline]
    fn add_to_granule(
        &mut self,
        access: &MemoryAccess,
        start: usize,
        mask: u8,
        by: Accessor<'_>,
    ) -> Result<(), MemoryFinding> {
        let page = self.page(start / PAGE)?;
        if !self.pages[page].is_divided {
            self.divide(page)?;
        }
        let page = &mut self.pages[page];
        let new = by.record(access, mask);
        let granule = page.granule(start % PAGE / GRANULE);
        match granule.records.add(&new, by.now) {
            None => Ok(()),
            Some((earlier, byte)) => Err(race(start + byte as usize, &earlier, &new)),
        }
    }

    #[cold]
    fn divide(&mut self, page: usize) -> Result<(), MemoryFinding> {
        let page = &mut self.pages[page];
        if page.granules.is_empty() {
            if self.divided >= MOST_DIVIDED {
                return Err(too_much(MOST_DIVIDED));
            }
            self.divided += 1;
            page.granules.resize_with(GRANULES, Granule::default);
            // No granule has this generation.
            page.generation += 1;
        }
        page.is_divided = true;
        Ok(())
    }

    fn add_to_page(
        &mut self,
        access: &MemoryAccess,
        start: usize,
        by: Accessor<'_>,
    ) -> Result<(), MemoryFinding> {
        let page = self.page(start / PAGE)?;
        let new = by.record(access, u8::MAX);
        match self.pages[page].add_to_all(&new, by.now) {
            None => Ok(()),
            Some((earlier, byte)) => Err(race(start + byte as usize, &earlier, &new)),
        }
    }

    /// The index of the page with this number, which has records of this execution only.
    #[inline]
    fn page(&mut self, number: usize) -> Result<usize, MemoryFinding> {
        let (recent, index) = self.recent[number % RECENT];
        let index = match recent == number {
            true => index,
            false => self.find_page(number)?,
        };
        let page = &mut self.pages[index as usize];
        if page.execution != self.execution {
            page.execution = self.execution;
            page.unite();
            page.whole.clear();
        }
        Ok(index as usize)
    }

    #[cold]
    fn find_page(&mut self, number: usize) -> Result<u32, MemoryFinding> {
        let index = match self.index.get(&number) {
            Some(&index) => index,
            None => {
                if self.pages.len() >= MOST_PAGES {
                    return Err(too_much(MOST_PAGES));
                }
                self.pages.push(Page::default());
                let index = self.pages.len() as u32 - 1;
                self.index.insert(number, index);
                index
            }
        };
        self.recent[number % RECENT] = (number, index);
        Ok(index)
    }
}

impl Accessor<'_> {
    #[inline]
    fn record(&self, access: &MemoryAccess, mask: u8) -> Record {
        Record {
            place: access.place,
            time: self.time,
            thread: self.thread,
            size: access.size,
            mask,
            kind: access.kind,
        }
    }
}

fn too_much(pages: usize) -> MemoryFinding {
    MemoryFinding::TooMuchMemory {
        limit: pages as u64 * PAGE as u64,
    }
}

#[cold]
fn race(address: usize, first: &Record, second: &Record) -> MemoryFinding {
    MemoryFinding::Race {
        address,
        first: first.recorded(),
        second: second.recorded(),
    }
}

impl Execution {
    /// Whether accesses to memory are recorded now.
    #[inline]
    fn records_accesses(&self) -> bool {
        self.phase == Phase::Running && self.setup.tracks_memory && !self.threads.is_alone()
    }
}

impl Current {
    /// Records what the calling thread has accessed, in this order, since its last operation or
    /// spawn. To be called before the next operation or spawn, and before the thread ends.
    ///
    /// # Errors
    /// If an access races with an earlier one. The caller ends the execution with
    /// [`MemoryFinding::into_error`].
    ///
    /// # Panics
    /// If the execution is over.
    pub fn note_accesses(self, accesses: &[MemoryAccess]) -> Result<(), MemoryFinding> {
        self.with(|execution| {
            if !execution.records_accesses() {
                return Ok(());
            }
            let thread = execution.running.thread;
            let now = execution.races.clock(thread);
            let time = now.get(thread.index()).copied().unwrap_or(0);
            execution
                .plain
                .add(accesses, Accessor { thread, time, now })
        })
    }
}

impl Step<'_> {
    /// The time of an atomic access to memory, for [`note_atomic_access`](Self::note_atomic_access):
    /// to be asked before [`races`](Self::races) are told of the operation.
    pub fn access_time(&mut self) -> u32 {
        let (execution, thread) = self.parts();
        match execution.records_accesses() {
            true => {
                let now = execution.races.clock(thread);
                now.get(thread.index()).copied().unwrap_or(0)
            }
            false => 0,
        }
    }

    /// Records an atomic access to memory: to be called after [`races`](Self::races) were told of
    /// the operation. What it acquires happens before it, but it happens before what it releases
    /// to, so it is performed at an earlier time of its own thread.
    ///
    /// # Errors
    /// As [`Current::note_accesses`].
    pub fn note_atomic_access(
        &mut self,
        access: MemoryAccess,
        time: u32,
    ) -> Result<(), MemoryFinding> {
        let (execution, thread) = self.parts();
        if !execution.records_accesses() {
            return Ok(());
        }
        let now = execution.races.clock(thread);
        execution
            .plain
            .add_one(&access, Accessor { thread, time, now })
    }
}

#[cfg(test)]
mod tests;
