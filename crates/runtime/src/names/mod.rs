//! Stable numbers, and names for people.
//!
//! A thread or an object is known by its *maker* (a thread or a static), by how many its maker
//! had made before it, and by the place where it was made. That does not depend on the
//! interleaving, so the number that it is given here means the same in every execution of a
//! check, and on every worker.
//!
//! [`Registry`] is the table of a check, shared by its workers. [`LocalNames`] is what a worker
//! remembers of it, so that the lock is taken only for what is new. [`Names`] are for
//! reports, and [`derive_name`] guesses them from the source. `saved` writes the registry down, for
//! a check that goes on in another process.

mod derive;
mod local;
mod saved;
mod shown;

pub use derive::derive_name;
pub use local::{LocalNames, MadeThread};
pub use saved::{RegistryError, SavedRegistry};
pub use shown::{Names, read_source_line};

use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fencepost_memory::{Address, LocationId, ThreadId};
use rustc_hash::FxHashMap;

use super::buffers::Stride;
use super::error::Place;
use super::insertions::Insertions;

/// Something that makes threads and objects: a thread or a static.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MakerId(u32);

impl MakerId {
    /// The first thread.
    pub const MAIN: MakerId = MakerId(0);

    /// The maker's number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a maker.
#[derive(Clone, Debug)]
pub enum Maker {
    /// A thread.
    Thread(ThreadId),
    /// A static, by its name.
    Static(&'static str),
}

/// The objects that every thread has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tokens {
    /// Written when it is spawned, read when it begins.
    pub start: Address,
    /// Written when it ends, read when it is joined.
    pub end: Address,
    /// Whether its next park returns at once.
    pub park: Address,
    /// Whether what it waits for has happened: it was notified, or its message was taken.
    pub wait: Address,
}

/// The kind of [`Tokens::start`].
pub const START_TOKEN: &str = "start";
/// The kind of [`Tokens::end`].
pub const END_TOKEN: &str = "end";
/// The kind of [`Tokens::park`].
pub const PARK_TOKEN: &str = "park token";
/// The kind of [`Tokens::wait`].
pub const WAIT_TOKEN: &str = "wait token";

/// What counts the writers that wait for an `RwLock`.
pub const WAITING_WRITERS: &str = "writers that wait for";

/// The kind of the object of a barrier that says how often it has opened.
pub const BARRIER_OPENING: &str = "Barrier opening";
/// What precedes the barrier's name in that of its [`BARRIER_OPENING`].
pub const OPENING_OF: &str = "opening of";

/// What is known of a thread.
#[derive(Clone, Debug)]
pub struct ThreadRecord {
    /// Who spawned it; nobody spawned the first.
    pub parent: Option<MakerId>,
    /// How many its maker had spawned before.
    pub nth: u32,
    /// Where it was spawned.
    pub location: LocationId,
    /// The name that its builder was given.
    pub name: Option<String>,
    /// It, as a maker.
    pub maker: MakerId,
    /// Its objects.
    pub tokens: Tokens,
}

/// What is known of an object.
#[derive(Clone, Debug)]
pub struct ObjectRecord {
    /// Who made it.
    pub maker: MakerId,
    /// How many its maker had made before.
    pub nth: u32,
    /// Where it was made.
    pub location: LocationId,
    /// Its type.
    pub kind: &'static str,
    /// The name that the user gave it.
    pub name: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ObjectKey {
    maker: MakerId,
    nth: u32,
    location: LocationId,
    kind: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ThreadKey {
    maker: MakerId,
    nth: u32,
    location: LocationId,
}

/// Where something is in the source: a [`Location`] without its memory address, since the compiler may
/// keep the same place twice, and another process has it elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SourceLocation {
    file: &'static str,
    line: u32,
    column: u32,
}

impl SourceLocation {
    /// The file, as the compiler was given it.
    pub fn file(self) -> &'static str {
        self.file
    }

    /// The line, from 1.
    pub fn line(self) -> u32 {
        self.line
    }

    /// The column, from 1.
    pub fn column(self) -> u32 {
        self.column
    }
}

impl From<&'static Location<'static>> for SourceLocation {
    fn from(location: &'static Location<'static>) -> Self {
        SourceLocation {
            file: location.file(),
            line: location.line(),
            column: location.column(),
        }
    }
}

impl From<SourceLocation> for Place {
    fn from(location: SourceLocation) -> Self {
        Place {
            file: location.file.to_owned(),
            line: location.line,
            column: location.column,
        }
    }
}

/// The numbers of a check.
#[derive(Debug)]
pub struct Registry {
    /// Where the check is.
    check: &'static Location<'static>,
    tables: Mutex<Tables>,
    /// How many locations of visible drops there are, to be asked without the lock.
    visible_drop_count: AtomicUsize,
    /// What the program is checked with that it does not have.
    insertions: Arc<Insertions>,
    /// How the commits of buffered stores are numbered, and whether an operation waited for more of them than
    /// on the machine.
    buffering: Mutex<(Option<Stride>, bool)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) makers: Vec<Maker>,
    pub(crate) threads: Vec<ThreadRecord>,
    pub(crate) objects: Vec<ObjectRecord>,
    pub(crate) locations: Vec<SourceLocation>,
    thread_keys: FxHashMap<ThreadKey, ThreadId>,
    object_keys: FxHashMap<ObjectKey, Address>,
    location_keys: FxHashMap<SourceLocation, LocationId>,
    static_keys: FxHashMap<usize, MakerId>,
    /// Statics from another process, which have not been used in this one yet.
    unused_statics: Vec<MakerId>,
    waits: BTreeSet<LocationId>,
    visible_drops: BTreeSet<LocationId>,
    /// With which values objects were made last, and those of the executions that are reported.
    first_values: FxHashMap<Address, u64>,
    kept_first_values: Vec<FxHashMap<Address, u64>>,
}

impl std::fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} of {:?}", self.kind, self.nth, self.maker)
    }
}

impl std::fmt::Debug for ThreadKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "thread {} of {:?}", self.nth, self.maker)
    }
}

impl Registry {
    /// The registry of a new check. It knows the first thread, which begins at `check`.
    pub fn new(check: &'static Location<'static>) -> Self {
        let mut tables = Tables::default();
        let location = tables.location(check);
        tables.add_thread(None, 0, location);
        Registry {
            check,
            tables: Mutex::new(tables),
            visible_drop_count: AtomicUsize::new(0),
            insertions: Arc::default(),
            buffering: Mutex::default(),
        }
    }

    /// Stores are buffered, and their commits are numbered so.
    pub(crate) fn set_stride(&self, stride: Stride) {
        self.buffering().0 = Some(stride);
    }

    /// How the commits of buffered stores are numbered, if stores are buffered.
    pub fn stride(&self) -> Option<Stride> {
        self.buffering().0
    }

    /// An operation waited for more stores than on the machine.
    pub fn note_drained_too_much(&self) {
        self.buffering().1 = true;
    }

    /// Whether an operation waited for more stores than on the machine, so that executions may be missing.
    pub fn has_drained_too_much(&self) -> bool {
        self.buffering().1
    }

    fn buffering(&self) -> MutexGuard<'_, (Option<Stride>, bool)> {
        self.buffering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, for a program that is checked with fences that it does not have.
    pub fn with_insertions(self, insertions: Arc<Insertions>) -> Self {
        Registry { insertions, ..self }
    }

    /// What the program is checked with that it does not have.
    pub fn insertions(&self) -> &Insertions {
        &self.insertions
    }

    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        // Nothing in this module panics halfway through a change.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the location is; nowhere if it is not of this check.
    pub fn location(&self, location: LocationId) -> SourceLocation {
        let tables = self.tables();
        let known = tables.locations.get(location.index()).copied();
        known.unwrap_or(SourceLocation {
            file: "?",
            line: 0,
            column: 0,
        })
    }

    /// A loop that waits on a condition variable here was taken to do nothing else.
    pub fn note_wait(&self, location: LocationId) {
        self.tables().waits.insert(location);
    }

    /// Where loops that wait on a condition variable were taken to do nothing else.
    pub fn waits(&self) -> Vec<LocationId> {
        self.tables().waits.iter().copied().collect()
    }

    /// The last reference to an `Arc` that was made here ran a destructor that other threads can
    /// notice, so that the order in which references are dropped matters. Whether that is news.
    ///
    /// The news is good only for executions that begin after it: a check that goes on with
    /// [`Restart::OrderedDrops`](super::Restart::OrderedDrops) begins again
    /// with this registry.
    pub fn note_visible_drop(&self, location: LocationId) -> bool {
        let mut tables = self.tables();
        let is_new = tables.visible_drops.insert(location);
        let count = tables.visible_drops.len();
        self.visible_drop_count.store(count, Ordering::Release);
        is_new
    }

    /// Where the `Arc`s were made whose references are dropped in an order that matters.
    pub fn visible_drops(&self) -> Vec<LocationId> {
        self.tables().visible_drops.iter().copied().collect()
    }

    /// An object is made with this value.
    pub(crate) fn note_first_value(&self, object: Address, value: u64) {
        self.tables().first_values.insert(object, value);
    }

    /// The values that were noted since the last time are those of the next finding.
    pub fn keep_first_values(&self) {
        let mut tables = self.tables();
        let values = std::mem::take(&mut tables.first_values);
        tables.kept_first_values.push(values);
    }

    /// Keeps the values of these findings only, and they are the only findings then.
    pub fn keep_first_values_of(&self, findings: &[bool]) {
        let mut kept = findings.iter();
        let values = &mut self.tables().kept_first_values;
        values.retain(|_| kept.next().is_none_or(|is_kept| *is_kept));
    }

    /// With which values the objects of a finding were made, where that is known.
    pub fn first_values(&self, finding: usize) -> FxHashMap<Address, u64> {
        let kept = self.tables().kept_first_values.get(finding).cloned();
        kept.unwrap_or_default()
    }

    /// How many threads the program has spawned so far, in all executions; the first one counts.
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
    fn location(&mut self, location: &'static Location<'static>) -> LocationId {
        let location = SourceLocation::from(location);
        *self.location_keys.entry(location).or_insert_with(|| {
            self.locations.push(location);
            LocationId::from_index(self.locations.len() as u32 - 1)
        })
    }

    fn add_object(&mut self, key: ObjectKey) -> Address {
        let address = Address(self.objects.len() as u32);
        self.objects.push(ObjectRecord {
            maker: key.maker,
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

    fn add_thread(&mut self, parent: Option<MakerId>, nth: u32, location: LocationId) -> ThreadId {
        let thread = ThreadId(self.threads.len() as u32);
        let maker = MakerId(self.makers.len() as u32);
        self.makers.push(Maker::Thread(thread));
        let mut token = |kind| {
            self.add_object(ObjectKey {
                maker,
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
            maker,
            tokens,
        });
        thread
    }

    fn thread(&mut self, key: ThreadKey) -> ThreadId {
        if let Some(&thread) = self.thread_keys.get(&key) {
            return thread;
        }
        let thread = self.add_thread(Some(key.maker), key.nth, key.location);
        self.thread_keys.insert(key, thread);
        thread
    }

    fn static_maker(&mut self, identity: usize, name: &'static str) -> MakerId {
        let (makers, unused) = (&mut self.makers, &mut self.unused_statics);
        *self.static_keys.entry(identity).or_insert_with(|| {
            // Statics of one name could be mixed up here. Then the program does something else than
            // it did, which is noticed.
            let is_it = |maker: &MakerId| {
                matches!(makers[maker.index()], Maker::Static(known) if known == name)
            };
            if let Some(place) = unused.iter().position(is_it) {
                return unused.remove(place);
            }
            makers.push(Maker::Static(name));
            MakerId(makers.len() as u32 - 1)
        })
    }
}
