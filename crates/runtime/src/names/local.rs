//! A worker's cache of the registry: the common path is an index lookup.

use std::sync::Arc;

use fencepost_memory::{Address, LocationId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{CreatorId, ObjectKey, Registry, ThreadKey, Tokens};
use crate::location::LocationRef;

/// The `n`-th object of a creator, in the last execution.
#[derive(Clone, Copy)]
struct CreatedObject {
    location: LocationRef,
    kind: &'static str,
    address: Address,
}

/// The id and the objects of a spawned thread.
#[derive(Clone, Copy, Debug)]
pub struct SpawnedThread {
    /// Its id.
    pub thread: ThreadId,
    /// The thread as a creator.
    pub creator: CreatorId,
    /// Its objects.
    pub tokens: Tokens,
    location: LocationRef,
}

/// The objects and threads of one creator.
#[derive(Default)]
struct Created {
    objects: Vec<CreatedObject>,
    threads: Vec<SpawnedThread>,
}

/// A power of two: direct-mapped by the address of the `Location`.
const RECENT_LOCATIONS: usize = 128;

/// A worker's view of the [`Registry`].
pub struct LocalNames {
    registry: Arc<Registry>,
    created: Vec<Created>,
    /// Beyond `created`: objects of creators whose n-th object differs between executions.
    objects: FxHashMap<ObjectKey, Address>,
    threads: FxHashMap<ThreadKey, SpawnedThread>,
    statics: FxHashMap<usize, CreatorId>,
    recent_locations: [Option<(LocationRef, LocationId)>; RECENT_LOCATIONS],
    locations: FxHashMap<usize, LocationId>,
    object_names: Vec<Option<Box<str>>>,
    thread_names: Vec<Option<Box<str>>>,
    visible_drops: FxHashSet<LocationId>,
    unseen: FxHashSet<LocationId>,
    endless: FxHashSet<LocationId>,
}

impl LocalNames {
    /// Creates an empty cache.
    pub fn new(registry: Arc<Registry>) -> Self {
        LocalNames {
            registry,
            created: Vec::new(),
            objects: FxHashMap::default(),
            threads: FxHashMap::default(),
            statics: FxHashMap::default(),
            recent_locations: [None; RECENT_LOCATIONS],
            locations: FxHashMap::default(),
            object_names: Vec::new(),
            thread_names: Vec::new(),
            visible_drops: FxHashSet::default(),
            unseen: FxHashSet::default(),
            endless: FxHashSet::default(),
        }
    }

    /// The registry that the workers of the check share.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The id of a source location.
    #[inline]
    pub fn location(&mut self, location: LocationRef) -> LocationId {
        let address = location.addr();
        // `Location`s are some 24 bytes apart: mix the low bits a little.
        let slot = (address >> 3 ^ address >> 10) & (RECENT_LOCATIONS - 1);
        match self.recent_locations[slot] {
            Some((known, id)) if known == location => id,
            _ => self.location_slowly(slot, location),
        }
    }

    #[cold]
    fn location_slowly(&mut self, slot: usize, location: LocationRef) -> LocationId {
        let address = location.addr();
        let registry = &self.registry;
        let id = *self
            .locations
            .entry(address)
            .or_insert_with(|| registry.tables().location(location));
        self.recent_locations[slot] = Some((location, id));
        id
    }

    /// The address of the `nth` object of `creator`, which it creates at `location`.
    #[inline]
    pub fn object(
        &mut self,
        creator: CreatorId,
        nth: u32,
        kind: &'static str,
        location: LocationRef,
    ) -> Address {
        let created = self.created.get(creator.index());
        match created.and_then(|created| created.objects.get(nth as usize)) {
            // If there are several copies of the same text, the slow path finds it.
            Some(last) if last.location == location && std::ptr::eq(last.kind, kind) => {
                last.address
            }
            _ => self.object_slowly(creator, nth, kind, location),
        }
    }

    #[cold]
    fn object_slowly(
        &mut self,
        creator: CreatorId,
        nth: u32,
        kind: &'static str,
        location: LocationRef,
    ) -> Address {
        let key = ObjectKey {
            creator,
            nth,
            location: self.location(location),
            kind,
        };
        let registry = &self.registry;
        let address = *self
            .objects
            .entry(key)
            .or_insert_with(|| registry.tables().object(key));
        let created = CreatedObject {
            location,
            kind,
            address,
        };
        put(&mut self.created_by(creator).objects, nth, created);
        address
    }

    /// The address of the part of an object that belongs to a creator. It does not count as an
    /// object that the creator has created. Only parts may have this `kind`.
    pub fn part(
        &mut self,
        creator: CreatorId,
        whole: Address,
        kind: &'static str,
        location: LocationRef,
    ) -> Address {
        let key = ObjectKey {
            creator,
            nth: whole.0,
            location: self.location(location),
            kind,
        };
        let registry = &self.registry;
        *self
            .objects
            .entry(key)
            .or_insert_with(|| registry.tables().object(key))
    }

    /// The `nth` thread of `creator`, which it spawns at `location`.
    #[inline]
    pub fn thread(&mut self, creator: CreatorId, nth: u32, location: LocationRef) -> SpawnedThread {
        let created = self.created.get(creator.index());
        match created.and_then(|created| created.threads.get(nth as usize)) {
            Some(last) if last.location == location => *last,
            _ => self.thread_slowly(creator, nth, location),
        }
    }

    #[cold]
    fn thread_slowly(
        &mut self,
        creator: CreatorId,
        nth: u32,
        location: LocationRef,
    ) -> SpawnedThread {
        let key = ThreadKey {
            creator,
            nth,
            location: self.location(location),
        };
        let registry = &self.registry;
        let thread = *self.threads.entry(key).or_insert_with(|| {
            let mut tables = registry.tables();
            let thread = tables.thread(key);
            let record = &tables.threads[thread.index()];
            SpawnedThread {
                thread,
                creator: record.creator,
                tokens: record.tokens,
                location,
            }
        });
        put(&mut self.created_by(creator).threads, nth, thread);
        thread
    }

    /// The first thread.
    pub fn main_thread(&self) -> SpawnedThread {
        let tables = self.registry.tables();
        let record = &tables.threads[0];
        SpawnedThread {
            thread: ThreadId(0),
            creator: record.creator,
            tokens: record.tokens,
            location: self.registry.check,
        }
    }

    /// A static as a creator, by the address of its key.
    pub fn static_creator(&mut self, identity: usize, name: &'static str) -> CreatorId {
        let registry = &self.registry;
        *self
            .statics
            .entry(identity)
            .or_insert_with(|| registry.tables().static_creator(identity, name))
    }

    /// The static as a creator, if this worker has used it before.
    pub fn known_static(&self, identity: usize) -> Option<CreatorId> {
        self.statics.get(&identity).copied()
    }

    /// Learns which drops matter to other threads, which loops depend on memory that is not
    /// compared, and which go round without end.
    #[inline]
    pub fn learn(&mut self) {
        if self.registry.visible_drop_count() != self.visible_drops.len() {
            self.visible_drops.extend(self.registry.visible_drops());
        }
        if self.registry.unseen_count() != self.unseen.len() {
            self.unseen.extend(self.registry.unseen_memory());
        }
        if self.registry.endless_count() != self.endless.len() {
            self.endless.extend(self.registry.endless_operations());
        }
    }

    /// Whether a location is in a set. Mostly the set is empty, and the location need not be looked up.
    #[inline]
    fn is_in(&mut self, set: fn(&Self) -> &FxHashSet<LocationId>, location: LocationRef) -> bool {
        if set(self).is_empty() {
            return false;
        }
        let location = self.location(location);
        set(self).contains(&location)
    }

    /// Whether an operation here is part of a loop that depends on memory that is not compared.
    #[inline]
    pub fn is_unseen(&mut self, location: LocationRef) -> bool {
        self.is_in(|names| &names.unseen, location)
    }

    /// Whether the loop around an operation here goes round without end.
    #[inline]
    pub fn is_endless(&mut self, location: LocationRef) -> bool {
        self.is_in(|names| &names.endless, location)
    }

    /// Whether other threads can observe the drops of an `Arc` that is created here.
    #[inline]
    pub fn is_drop_visible(&mut self, location: LocationRef) -> bool {
        self.is_in(|names| &names.visible_drops, location)
    }

    /// Remembers the name that the user gave to an object.
    pub fn name_object(&mut self, object: Address, name: &str) {
        if learn(&mut self.object_names, object.index(), name) {
            self.registry.tables().objects[object.index()].name = Some(name.to_owned());
        }
    }

    /// Remembers the name that the user gave to a thread.
    pub fn name_thread(&mut self, thread: ThreadId, name: &str) {
        if learn(&mut self.thread_names, thread.index(), name) {
            self.registry.tables().threads[thread.index()].name = Some(name.to_owned());
        }
    }

    fn created_by(&mut self, creator: CreatorId) -> &mut Created {
        if self.created.len() <= creator.index() {
            self.created
                .resize_with(creator.index() + 1, Created::default);
        }
        &mut self.created[creator.index()]
    }
}

impl SpawnedThread {
    /// Where it was spawned.
    pub fn location(&self) -> LocationRef {
        self.location
    }
}

/// Creators create in order, so the new one replaces an old one or is right after them.
fn put<T>(list: &mut Vec<T>, nth: u32, item: T) {
    match list.get_mut(nth as usize) {
        Some(place) => *place = item,
        None => list.push(item),
    }
}

/// Whether the name is another than the one known.
fn learn(names: &mut Vec<Option<Box<str>>>, index: usize, name: &str) -> bool {
    if names.len() <= index {
        names.resize(index + 1, None);
    }
    let is_new = names[index].as_deref() != Some(name);
    if is_new {
        names[index] = Some(name.into());
    }
    is_new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> LocationRef {
        LocationRef::caller()
    }

    #[test]
    fn the_same_thing_has_the_same_number_on_every_worker() {
        let registry = Arc::new(Registry::new(here()));
        let mut one = LocalNames::new(registry.clone());
        let mut other = LocalNames::new(registry);
        let (place, elsewhere) = (here(), LocationRef::caller());

        let first = one.object(CreatorId::MAIN, 0, "AtomicBool", place);
        let second = one.object(CreatorId::MAIN, 1, "AtomicBool", place);
        assert_ne!(first, second);
        assert_eq!(other.object(CreatorId::MAIN, 0, "AtomicBool", place), first);
        assert_eq!(
            other.object(CreatorId::MAIN, 1, "AtomicBool", place),
            second
        );

        let child = other.thread(CreatorId::MAIN, 0, elsewhere);
        assert_eq!(
            one.thread(CreatorId::MAIN, 0, elsewhere).thread,
            child.thread
        );
        let of_child = one.object(child.creator, 0, "AtomicBool", place);
        assert_ne!(of_child, first);
        assert_eq!(
            other.object(child.creator, 0, "AtomicBool", place),
            of_child
        );
    }

    #[test]
    fn what_is_made_elsewhere_instead_has_another_number() {
        let mut names = LocalNames::new(Arc::new(Registry::new(here())));
        let (place, elsewhere) = (here(), LocationRef::caller());
        let first = names.object(CreatorId::MAIN, 0, "AtomicBool", place);
        let instead = names.object(CreatorId::MAIN, 0, "AtomicBool", elsewhere);
        let another_kind = names.object(CreatorId::MAIN, 0, "AtomicU8", place);
        assert!(first != instead && instead != another_kind && first != another_kind);
        assert_eq!(names.object(CreatorId::MAIN, 0, "AtomicBool", place), first);
    }
}
