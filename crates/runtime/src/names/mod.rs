//! Deterministic ids, and names for reports.
//!
//! A thread or object gets the same id in every execution that reaches it the same way, and on
//! every worker: the id is derived from its *creator* (a thread or a static), the number of earlier
//! creations of that creator, and the source location. It never depends on the global order of
//! creation.
//!
//! [`Registry`] is the table of a check, shared by its workers. [`LocalNames`] caches it for a
//! worker, so that the lock is taken only for new entries. [`Names`] has the names for reports, and
//! [`derive_name`] guesses them from the source. `saved` serializes the registry, for a check that
//! is resumed in another process.

mod derive;
mod local;
mod saved;
mod shown;

pub use derive::derive_name;
pub use local::{LocalNames, SpawnedThread};
pub use saved::{RegistryError, SavedRegistry};
pub use shown::{Names, read_source_line};

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use fencepost_memory::{Address, LocationId, ThreadId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::buffers::ThreadIdSpace;
use super::insertions::Insertions;
use crate::location::{LocationRef, OwnedLocation, SourceLocation};

/// The id of a creator of threads and objects: a thread or a static.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CreatorId(u32);

impl CreatorId {
    /// The first thread.
    pub const MAIN: CreatorId = CreatorId(0);

    /// The id as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A creator of threads and objects.
#[derive(Clone, Debug)]
pub enum Creator {
    /// A thread.
    Thread(ThreadId),
    /// A static, by its name.
    Static(&'static str),
}

/// The objects that every thread has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tokens {
    /// Written when the thread is spawned, read when it starts. If destructors are late, it is set to
    /// [`RETURNED`] when the function of the thread has returned.
    pub start: Address,
    /// Written when the thread ends, read when it is joined.
    pub end: Address,
    /// Whether the thread's next park returns at once.
    pub park: Address,
    /// Whether the event that the thread waits for has happened: it was notified, or its message
    /// was taken.
    pub wait: Address,
}

/// The state of [`Tokens::start`] when the function of the thread has returned, if destructors are
/// late.
pub const RETURNED: u64 = 2;

/// The kind of [`Tokens::start`].
pub const START_TOKEN: &str = "start";
/// The kind of [`Tokens::end`].
pub const END_TOKEN: &str = "end";
/// The kind of [`Tokens::park`].
pub const PARK_TOKEN: &str = "park token";
/// The kind of [`Tokens::wait`].
pub const WAIT_TOKEN: &str = "wait token";

/// The kind of the object that counts the writers that wait for an `RwLock`.
pub const WAITING_WRITERS: &str = "writers that wait for";

/// The state of a reader-writer lock that is free.
pub const FREE: u64 = 0;
/// The state of a reader-writer lock that a writer holds. Otherwise it is the number of readers.
pub const WRITTEN: u64 = u64::MAX;
/// What the value of an event has besides the state if a reader releases the lock while other readers hold it. It lets
/// reports distinguish that from an acquisition. No such value is [`FREE`] or [`WRITTEN`], which is all that an
/// [`OptimisticLoad`](fencepost_explore::OptimisticLoad) tests.
pub const READER_LEFT: u64 = 1 << 63;

/// Whether an event of a reader-writer lock with this value releases the lock.
pub fn is_release(value: u64) -> bool {
    value == FREE || value != WRITTEN && value & READER_LEFT != 0
}

/// Whether a writer holds the reader-writer lock after an event with this value.
pub fn is_written(value: u64) -> bool {
    value == WRITTEN
}

/// The kind of the object of a barrier that says how often it has opened.
pub const BARRIER_OPENING: &str = "Barrier opening";
/// What precedes the barrier's name in that of its [`BARRIER_OPENING`].
pub const OPENING_OF: &str = "opening of";

/// The record of a thread.
#[derive(Clone, Debug)]
pub struct ThreadRecord {
    /// The creator that spawned it; none for the first thread.
    pub parent: Option<CreatorId>,
    /// How many threads its parent had spawned before.
    pub nth: u32,
    /// Where it was spawned.
    pub location: LocationId,
    /// The name that the program gave its builder.
    pub name: Option<String>,
    /// The thread as a creator.
    pub creator: CreatorId,
    /// Its objects.
    pub tokens: Tokens,
}

/// The record of an object.
#[derive(Clone, Debug)]
pub struct ObjectRecord {
    /// The creator of the object.
    pub creator: CreatorId,
    /// How many objects its creator had created before.
    pub nth: u32,
    /// Where it was created.
    pub location: LocationId,
    /// Its type.
    pub kind: &'static str,
    /// The name that the program gave it.
    pub name: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ObjectKey {
    creator: CreatorId,
    nth: u32,
    location: LocationId,
    kind: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ThreadKey {
    creator: CreatorId,
    nth: u32,
    location: LocationId,
}

/// How much of what a program has allocated is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum ComparedHeap {
    /// All of it.
    All,
    /// What has room in the heaps of [`Allocator`](super::Allocator).
    Part,
    /// Nothing, because that is not the global allocator.
    Nothing,
}

/// The ids of a check: its threads, objects and source locations.
#[derive(Debug)]
pub struct Registry {
    /// The source location of the check.
    check: LocationRef,
    tables: Mutex<Tables>,
    /// The number of `visible_drops`, to be read without the lock.
    visible_drop_count: AtomicUsize,
    /// The number of `unseen` places, to be read without the lock.
    unseen_count: AtomicUsize,
    /// The number of `endless` places, to be read without the lock.
    endless_count: AtomicUsize,
    /// The fences that are inserted into the program.
    insertions: Arc<Insertions>,
    /// The ids of threads and commits if stores are buffered, and whether an operation has waited
    /// for more stores than on the machine.
    buffering: Mutex<(Option<ThreadIdSpace>, bool)>,
    has_bounded_wait: AtomicBool,
    /// The bounds of the values that the program leaves open, if it does.
    pub(super) open_values: OnceLock<(i64, i64)>,
    compared_heap: AtomicU8,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) creators: Vec<Creator>,
    pub(crate) threads: Vec<ThreadRecord>,
    pub(crate) objects: Vec<ObjectRecord>,
    pub(crate) locations: Vec<SourceLocation>,
    thread_keys: FxHashMap<ThreadKey, ThreadId>,
    object_keys: FxHashMap<ObjectKey, Address>,
    location_keys: FxHashMap<SourceLocation, LocationId>,
    static_keys: FxHashMap<usize, CreatorId>,
    /// Statics of a resumed check that this process has not used yet.
    unused_statics: Vec<CreatorId>,
    waits: BTreeSet<LocationId>,
    declared_waits: BTreeSet<LocationId>,
    visible_drops: BTreeSet<LocationId>,
    /// The operations of loops that depend on memory that is not compared, and the first of each.
    unseen: BTreeSet<LocationId>,
    unseen_loops: BTreeSet<LocationId>,
    /// Operations of loops that go round without end, and those at which this was found out.
    endless: BTreeSet<LocationId>,
    endless_loops: BTreeSet<LocationId>,
    /// The initial values of the objects of the last execution, and those of the executions that
    /// are reported.
    first_values: FxHashMap<Address, u64>,
    kept_first_values: Vec<FxHashMap<Address, u64>>,
}

impl std::fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} of {:?}", self.kind, self.nth, self.creator)
    }
}

impl std::fmt::Debug for ThreadKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "thread {} of {:?}", self.nth, self.creator)
    }
}

impl Registry {
    /// Creates the registry of a new check. It has the first thread, which starts at `check`.
    pub fn new(check: LocationRef) -> Self {
        let mut tables = Tables::default();
        let location = tables.location(check);
        tables.add_thread(None, 0, location);
        Registry {
            check,
            tables: Mutex::new(tables),
            visible_drop_count: AtomicUsize::new(0),
            unseen_count: AtomicUsize::new(0),
            endless_count: AtomicUsize::new(0),
            insertions: Arc::default(),
            buffering: Mutex::default(),
            has_bounded_wait: AtomicBool::new(false),
            open_values: OnceLock::new(),
            compared_heap: AtomicU8::new(ComparedHeap::All as u8),
        }
    }

    /// Records that a wait that does not come back to the same state was left out after
    /// [`MOST_RETURNS`](super::MOST_RETURNS) returns without a notification.
    pub fn note_bounded_wait(&self) {
        self.has_bounded_wait.store(true, Ordering::Relaxed);
    }

    /// Records that the program leaves a value open, and that only those from `low` to `high` are tried.
    pub fn note_open_value(&self, low: i64, high: i64) {
        let _ = self.open_values.set((low, high));
    }

    /// The bounds of the values that the program leaves open, if it does.
    pub fn open_values(&self) -> Option<(i64, i64)> {
        self.open_values.get().copied()
    }

    /// Whether such a wait was left out, so that executions are missing.
    pub fn has_bounded_wait(&self) -> bool {
        self.has_bounded_wait.load(Ordering::Relaxed)
    }

    /// Records that a thread was taken to be in the same state, and that so much of what the program
    /// has allocated was compared.
    pub fn note_compared_heap(&self, compared: ComparedHeap) {
        self.compared_heap
            .fetch_max(compared as u8, Ordering::Relaxed);
    }

    /// How much of what the program has allocated was compared whenever a thread was taken to be in the
    /// same state.
    pub fn compared_heap(&self) -> ComparedHeap {
        let compared = self.compared_heap.load(Ordering::Relaxed);
        let all = [ComparedHeap::All, ComparedHeap::Part];
        let mut all = all.into_iter();
        all.find(|known| *known as u8 == compared)
            .unwrap_or(ComparedHeap::Nothing)
    }

    /// Records that a loop whose first operation is here, and the others there, depends on memory that is
    /// not compared.
    ///
    /// It takes effect in later executions: after
    /// [`Restart::UnseenMemory`](super::Restart::UnseenMemory) a check starts over with this
    /// registry.
    pub fn note_unseen_memory(&self, first: LocationId, others: &[LocationId]) {
        let mut tables = self.tables();
        tables.unseen_loops.insert(first);
        tables.unseen.insert(first);
        tables.unseen.extend(others);
        self.unseen_count
            .store(tables.unseen.len(), Ordering::Release);
    }

    /// Records that an operation here is part of such a loop. The program may not have reached it yet.
    pub fn note_unseen_memory_at(&self, owned: &OwnedLocation) {
        let location = self.location_of(owned);
        let mut tables = self.tables();
        tables.unseen.insert(location);
        self.unseen_count
            .store(tables.unseen.len(), Ordering::Release);
    }

    /// Records the same loops, those that depend on memory that is not compared and those that go
    /// round without end, in the registry of another check of the same program.
    pub fn copy_loops(&self, other: &Registry) {
        type Places = fn(&mut Tables) -> &mut BTreeSet<LocationId>;
        let all: [Places; 4] = [
            |tables| &mut tables.unseen,
            |tables| &mut tables.unseen_loops,
            |tables| &mut tables.endless,
            |tables| &mut tables.endless_loops,
        ];
        for of in all {
            let places: Vec<SourceLocation> = {
                let mut tables = self.tables();
                let ids: Vec<_> = of(&mut tables).iter().copied().collect();
                ids.iter().map(|id| tables.locations[id.index()]).collect()
            };
            let mut tables = other.tables();
            for place in places {
                let place = tables.source_location(place);
                of(&mut tables).insert(place);
            }
        }
        let tables = other.tables();
        let counts = [
            (&other.unseen_count, tables.unseen.len()),
            (&other.endless_count, tables.endless.len()),
        ];
        for (count, known) in counts {
            count.store(known, Ordering::Release);
        }
    }

    /// The operations of loops that depend on memory that is not compared.
    pub fn unseen_memory(&self) -> Vec<LocationId> {
        self.tables().unseen.iter().copied().collect()
    }

    /// The first operation of each of these loops.
    pub fn loops_on_unseen_memory(&self) -> Vec<LocationId> {
        self.tables().unseen_loops.iter().copied().collect()
    }

    /// Records that the loop around an operation here goes round again and again, although it changes
    /// nothing and does not come back to the same state.
    ///
    /// It takes effect in later executions: after
    /// [`Restart::EndlessLoop`](super::Restart::EndlessLoop) a check starts over with this registry.
    pub fn note_endless_loop(&self, location: LocationId) {
        let mut tables = self.tables();
        tables.endless_loops.insert(location);
        tables.endless.insert(location);
        self.endless_count
            .store(tables.endless.len(), Ordering::Release);
    }

    /// Records that the loop around an operation here is left after some rounds, as in the check of
    /// a schedule. The program may not have reached it yet.
    pub fn note_endless_loop_at(&self, owned: &OwnedLocation) {
        let location = self.location_of(owned);
        let mut tables = self.tables();
        tables.endless.insert(location);
        self.endless_count
            .store(tables.endless.len(), Ordering::Release);
    }

    /// Operations of the loops that go round without end.
    pub fn endless_operations(&self) -> Vec<LocationId> {
        self.tables().endless.iter().copied().collect()
    }

    /// Where it was found out that a loop goes round without end.
    pub fn endless_loops(&self) -> Vec<LocationId> {
        self.tables().endless_loops.iter().copied().collect()
    }

    pub(crate) fn endless_count(&self) -> usize {
        self.endless_count.load(Ordering::Acquire)
    }

    pub(crate) fn unseen_count(&self) -> usize {
        self.unseen_count.load(Ordering::Acquire)
    }

    /// Sets the ids of threads and commits, for store buffers.
    pub(crate) fn set_thread_id_space(&self, ids: ThreadIdSpace) {
        self.buffering().0 = Some(ids);
    }

    /// The ids of threads and commits, if stores are buffered.
    pub fn thread_id_space(&self) -> Option<ThreadIdSpace> {
        self.buffering().0
    }

    /// Records that an operation waited for more stores than on the machine.
    pub fn note_excess_drain(&self) {
        self.buffering().1 = true;
    }

    /// Whether an operation waited for more stores than on the machine, so that executions may be
    /// missing.
    pub fn has_excess_drain(&self) -> bool {
        self.buffering().1
    }

    fn buffering(&self) -> MutexGuard<'_, (Option<ThreadIdSpace>, bool)> {
        self.buffering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The same registry, for a program with inserted fences.
    pub fn with_insertions(self, insertions: Arc<Insertions>) -> Self {
        Registry { insertions, ..self }
    }

    /// The fences that are inserted into the program.
    pub fn insertions(&self) -> &Insertions {
        &self.insertions
    }

    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        // Nothing in this module panics halfway through a change.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The source location with this id; `?:0:0` if it does not belong to this check.
    pub fn location(&self, location: LocationId) -> SourceLocation {
        let tables = self.tables();
        let known = tables.locations.get(location.index()).copied();
        known.unwrap_or(SourceLocation {
            file: "?",
            line: 0,
            column: 0,
        })
    }

    /// Records that a loop that waits on a condition variable here was assumed to only wait.
    pub fn note_wait(&self, location: LocationId) {
        self.tables().waits.insert(location);
    }

    /// Records that a loop is declared to only wait.
    pub fn note_declared_wait(&self, location: LocationId) {
        self.tables().declared_waits.insert(location);
    }

    /// The declarations of loops that only wait.
    pub fn declared_waits(&self) -> Vec<LocationId> {
        self.tables().declared_waits.iter().copied().collect()
    }

    /// Where loops that wait on a condition variable were assumed to only wait.
    pub fn waits(&self) -> Vec<LocationId> {
        self.tables().waits.iter().copied().collect()
    }

    /// Records that other threads can observe the drop of the last reference to an `Arc` that was
    /// created here, so that the order of the drops matters. Returns whether that is new.
    ///
    /// It takes effect in later executions: after
    /// [`Restart::OrderedDrops`](super::Restart::OrderedDrops) a check starts over with this
    /// registry.
    pub fn note_visible_drop(&self, location: LocationId) -> bool {
        let mut tables = self.tables();
        let is_new = tables.visible_drops.insert(location);
        let count = tables.visible_drops.len();
        self.visible_drop_count.store(count, Ordering::Release);
        is_new
    }

    /// As [`note_visible_drop`](Self::note_visible_drop), for a location that the program may not have reached yet.
    pub fn note_visible_drop_at(&self, owned: &OwnedLocation) {
        let location = self.location_of(owned);
        self.note_visible_drop(location);
    }

    /// The id of a location that the program may not have reached yet.
    fn location_of(&self, owned: &OwnedLocation) -> LocationId {
        let location = SourceLocation {
            // A replayed schedule names few locations, once.
            file: String::leak(owned.file.clone()),
            line: owned.line,
            column: owned.column,
        };
        self.tables().source_location(location)
    }

    /// Where the `Arc`s were created for which the order of drops matters.
    pub fn visible_drops(&self) -> Vec<LocationId> {
        self.tables().visible_drops.iter().copied().collect()
    }

    /// Records the initial value of an object.
    pub(crate) fn note_first_value(&self, object: Address, value: u64) {
        self.tables().first_values.insert(object, value);
    }

    /// Keeps the initial values that were recorded since the last call for the next finding.
    pub fn keep_first_values(&self) {
        let mut tables = self.tables();
        let values = std::mem::take(&mut tables.first_values);
        tables.kept_first_values.push(values);
    }

    /// Drops the initial values of the findings that are not kept.
    pub fn keep_first_values_of(&self, findings: &[bool]) {
        let mut kept = findings.iter();
        let values = &mut self.tables().kept_first_values;
        values.retain(|_| kept.next().is_none_or(|is_kept| *is_kept));
    }

    /// The known initial values of the objects of a finding.
    pub fn first_values(&self, finding: usize) -> FxHashMap<Address, u64> {
        let kept = self.tables().kept_first_values.get(finding).cloned();
        kept.unwrap_or_default()
    }

    /// How many threads the program has had so far, in all executions, including the first one.
    pub fn thread_count(&self) -> usize {
        self.tables().threads.len()
    }

    /// Whether the program has created objects, besides those that belong to threads.
    pub fn has_objects(&self) -> bool {
        !self.tables().object_keys.is_empty()
    }

    pub(crate) fn visible_drop_count(&self) -> usize {
        self.visible_drop_count.load(Ordering::Acquire)
    }
}

impl Tables {
    fn location(&mut self, location: LocationRef) -> LocationId {
        self.source_location(SourceLocation::from(location))
    }

    fn source_location(&mut self, location: SourceLocation) -> LocationId {
        *self.location_keys.entry(location).or_insert_with(|| {
            self.locations.push(location);
            LocationId::from_index(self.locations.len() as u32 - 1)
        })
    }

    fn add_object(&mut self, key: ObjectKey) -> Address {
        let address = Address(self.objects.len() as u32);
        self.objects.push(ObjectRecord {
            creator: key.creator,
            nth: key.nth,
            location: key.location,
            kind: key.kind,
            name: None,
        });
        address
    }

    fn object(&mut self, key: ObjectKey) -> Address {
        if let Some(&address) = self.object_keys.get(&key) {
            return address;
        }
        let address = self.add_object(key);
        self.object_keys.insert(key, address);
        address
    }

    fn add_thread(
        &mut self,
        parent: Option<CreatorId>,
        nth: u32,
        location: LocationId,
    ) -> ThreadId {
        let thread = ThreadId(self.threads.len() as u32);
        let creator = CreatorId(self.creators.len() as u32);
        self.creators.push(Creator::Thread(thread));
        let mut token = |kind| {
            self.add_object(ObjectKey {
                creator,
                nth: 0,
                location,
                kind,
            })
        };
        let tokens = Tokens {
            start: token(START_TOKEN),
            end: token(END_TOKEN),
            park: token(PARK_TOKEN),
            wait: token(WAIT_TOKEN),
        };
        self.threads.push(ThreadRecord {
            parent,
            nth,
            location,
            name: None,
            creator,
            tokens,
        });
        thread
    }

    fn thread(&mut self, key: ThreadKey) -> ThreadId {
        if let Some(&thread) = self.thread_keys.get(&key) {
            return thread;
        }
        let thread = self.add_thread(Some(key.creator), key.nth, key.location);
        self.thread_keys.insert(key, thread);
        thread
    }

    fn static_creator(&mut self, identity: usize, name: &'static str) -> CreatorId {
        let (creators, unused) = (&mut self.creators, &mut self.unused_statics);
        *self.static_keys.entry(identity).or_insert_with(|| {
            // Statics with the same name could be confused here. Then the program behaves
            // differently than before the checkpoint, which is detected.
            let is_it = |creator: &CreatorId| {
                matches!(creators[creator.index()], Creator::Static(known) if known == name)
            };
            if let Some(index) = unused.iter().position(is_it) {
                return unused.remove(index);
            }
            creators.push(Creator::Static(name));
            CreatorId(creators.len() as u32 - 1)
        })
    }
}
