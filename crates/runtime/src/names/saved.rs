//! The registry in a checkpoint, so that another process can resume a check with the same ids.
//!
//! [`SavedRegistry`] has the tables of a [`Registry`] in the order of their ids, without what can
//! be derived. It is read from a file that may be damaged or written by anyone:
//! [`Registry::restore`] checks everything that the registry relies on.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock};

use fencepost_memory::{Address, LocationId, ThreadId};
use serde::{Deserialize, Serialize};

use super::{
    ComparedHeap, Creator, CreatorId, END_TOKEN, ObjectKey, ObjectRecord, PARK_TOKEN, Registry,
    START_TOKEN, Tables, ThreadKey, ThreadRecord, Tokens, WAIT_TOKEN,
};
use crate::location::{LocationRef, SourceLocation};

/// Why a registry cannot be restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegistryError {
    /// The registry is that of another check.
    OtherCheck {
        /// The source location of that check.
        made: String,
        /// The source location of this check.
        own: String,
    },
    /// The tables contradict each other.
    Damaged {
        /// Which table is wrong.
        table: &'static str,
    },
}

/// In the order of the fields of [`Tokens`].
const TOKENS: [&str; 4] = [START_TOKEN, END_TOKEN, PARK_TOKEN, WAIT_TOKEN];

/// The depth limit of the tree of spawned threads: names of threads are found by walking up to the
/// root.
const MAX_DEPTH: u32 = 4096;

/// The tables of a registry, as they are saved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SavedRegistry {
    locations: Vec<SavedLocation>,
    /// The types of objects.
    kinds: Vec<String>,
    creators: Vec<SavedCreator>,
    threads: Vec<SavedThread>,
    objects: Vec<SavedObject>,
    repeated_waits: Vec<u32>,
    declared_waits: Vec<u32>,
    visible_drops: Vec<u32>,
    unseen: Vec<u32>,
    unseen_loops: Vec<u32>,
    endless: Vec<u32>,
    endless_loops: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct SavedLocation {
    file: String,
    line: u32,
    column: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum SavedCreator {
    /// The next thread: creators and threads are in the same order.
    Thread,
    Static(String),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct SavedThread {
    parent: Option<u32>,
    nth: u32,
    location: u32,
    name: Option<String>,
    /// In the order of the fields of [`Tokens`].
    tokens: [u32; 4],
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct SavedObject {
    creator: u32,
    nth: u32,
    location: u32,
    /// An index in `kinds`.
    kind: u32,
    name: Option<String>,
}

impl Registry {
    /// Returns the tables for a checkpoint.
    pub fn save(&self) -> SavedRegistry {
        let tables = self.tables();
        let location = |location: &SourceLocation| SavedLocation {
            file: location.file.to_owned(),
            line: location.line,
            column: location.column,
        };
        let creator = |creator: &Creator| match creator {
            Creator::Thread(_) => SavedCreator::Thread,
            Creator::Static(name) => SavedCreator::Static((*name).to_owned()),
        };
        let thread = |thread: &ThreadRecord| {
            let Tokens {
                start,
                end,
                park,
                wait,
            } = thread.tokens;
            SavedThread {
                parent: thread.parent.map(|parent| parent.0),
                nth: thread.nth,
                location: thread.location.index() as u32,
                name: thread.name.clone(),
                tokens: [start, end, park, wait].map(|token| token.0),
            }
        };
        let mut kinds: Vec<&str> = Vec::new();
        let object = |object: &ObjectRecord| {
            let known = kinds.iter().position(|kind| *kind == object.kind);
            let kind = known.unwrap_or_else(|| {
                kinds.push(object.kind);
                kinds.len() - 1
            });
            SavedObject {
                creator: object.creator.0,
                nth: object.nth,
                location: object.location.index() as u32,
                kind: kind as u32,
                name: object.name.clone(),
            }
        };
        let indices = |locations: &std::collections::BTreeSet<LocationId>| {
            let indices = locations.iter().map(|location| location.index() as u32);
            indices.collect()
        };
        let objects = tables.objects.iter().map(object).collect();
        SavedRegistry {
            locations: tables.locations.iter().map(location).collect(),
            kinds: kinds.into_iter().map(str::to_owned).collect(),
            creators: tables.creators.iter().map(creator).collect(),
            threads: tables.threads.iter().map(thread).collect(),
            objects,
            repeated_waits: indices(&tables.waits),
            declared_waits: indices(&tables.declared_waits),
            visible_drops: indices(&tables.visible_drops),
            unseen: indices(&tables.unseen),
            unseen_loops: indices(&tables.unseen_loops),
            endless: indices(&tables.endless),
            endless_loops: indices(&tables.endless_loops),
        }
    }

    /// Restores the registry of a check at the same source location.
    pub fn restore(check: LocationRef, saved: SavedRegistry) -> Result<Self, RegistryError> {
        let tables = saved.into_tables(check)?;
        Ok(Registry {
            insertions: Arc::default(),
            buffering: Mutex::default(),
            has_bounded_wait: AtomicBool::new(false),
            open_values: OnceLock::new(),
            compared_heap: AtomicU8::new(ComparedHeap::All as u8),
            check,
            visible_drop_count: AtomicUsize::new(tables.visible_drops.len()),
            unseen_count: AtomicUsize::new(tables.unseen.len()),
            endless_count: AtomicUsize::new(tables.endless.len()),
            tables: Mutex::new(tables),
        })
    }
}

/// Names in the registry live as long as the process, as those from the program itself do. Each
/// check that is resumed leaks one set of them.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The location with this index, if it is in the table.
fn location_id(index: u32, tables: &Tables) -> Option<LocationId> {
    let is_known = (index as usize) < tables.locations.len();
    is_known.then(|| LocationId::from_index(index))
}

impl SavedRegistry {
    fn into_tables(self, check: LocationRef) -> Result<Tables, RegistryError> {
        let own = SourceLocation::from(check);
        if let Some(SavedLocation { file, line, column }) = self.locations.first() {
            if (file.as_str(), *line, *column) != (own.file, own.line, own.column) {
                return Err(RegistryError::OtherCheck {
                    made: format!("{file}:{line}:{column}"),
                    own: format!("{}:{}:{}", own.file, own.line, own.column),
                });
            }
        }
        let damaged = |table| move || RegistryError::Damaged { table };
        let mut tables = Tables::default();
        restore_locations(&mut tables, self.locations).ok_or_else(damaged("locations"))?;
        let kinds: Vec<&'static str> = self.kinds.into_iter().map(leaked).collect();
        let creators = restore_creators(&mut tables, self.creators);
        restore_threads(&mut tables, self.threads, &creators).ok_or_else(damaged("threads"))?;
        restore_objects(&mut tables, self.objects, &kinds).ok_or_else(damaged("objects"))?;
        let known = |indices: Vec<u32>, table| {
            let locations = indices.into_iter().map(|index| location_id(index, &tables));
            locations.collect::<Option<_>>().ok_or_else(damaged(table))
        };
        let waits = known(self.repeated_waits, "waits")?;
        let declared_waits = known(self.declared_waits, "declared waits")?;
        let visible_drops = known(self.visible_drops, "drops")?;
        let unseen = known(self.unseen, "unseen")?;
        let unseen_loops = known(self.unseen_loops, "unseen")?;
        let endless = known(self.endless, "endless")?;
        let endless_loops = known(self.endless_loops, "endless")?;
        Ok(Tables {
            waits,
            declared_waits,
            visible_drops,
            unseen,
            unseen_loops,
            endless,
            endless_loops,
            ..tables
        })
    }
}

/// Locations are distinct, and the first is that of the check.
fn restore_locations(tables: &mut Tables, locations: Vec<SavedLocation>) -> Option<()> {
    for SavedLocation { file, line, column } in locations {
        let location = SourceLocation {
            file: leaked(file),
            line,
            column,
        };
        let id = LocationId::from_index(tables.locations.len() as u32);
        if tables.location_keys.insert(location, id).is_some() {
            return None;
        }
        tables.locations.push(location);
    }
    (!tables.locations.is_empty()).then_some(())
}

/// Returns the creators that are threads.
fn restore_creators(tables: &mut Tables, creators: Vec<SavedCreator>) -> Vec<CreatorId> {
    let mut threads = Vec::new();
    for saved in creators {
        let creator = CreatorId(tables.creators.len() as u32);
        tables.creators.push(match saved {
            SavedCreator::Thread => {
                threads.push(creator);
                Creator::Thread(ThreadId(threads.len() as u32 - 1))
            }
            SavedCreator::Static(name) => {
                tables.unused_statics.push(creator);
                Creator::Static(leaked(name))
            }
        });
    }
    threads
}

/// Each thread has a creator and a distinct key, and comes after its parent. Only the first has no
/// parent.
fn restore_threads(
    tables: &mut Tables,
    threads: Vec<SavedThread>,
    creators: &[CreatorId],
) -> Option<()> {
    if threads.is_empty() || threads.len() != creators.len() {
        return None;
    }
    let mut depths = vec![0; tables.creators.len()];
    for (number, (saved, &creator)) in threads.into_iter().zip(creators).enumerate() {
        let location = location_id(saved.location, tables)?;
        let parent = saved.parent.map(CreatorId);
        let is_in_order = parent.is_none_or(|parent| parent < creator);
        if !is_in_order || parent.is_none() != (number == 0) {
            return None;
        }
        if let Some(parent) = parent {
            depths[creator.index()] = depths[parent.index()] + 1;
            let key = ThreadKey {
                creator: parent,
                nth: saved.nth,
                location,
            };
            let thread = ThreadId(number as u32);
            let is_new = tables.thread_keys.insert(key, thread).is_none();
            if !is_new || depths[creator.index()] > MAX_DEPTH {
                return None;
            }
        }
        let [start, end, park, wait] = saved.tokens.map(Address);
        tables.threads.push(ThreadRecord {
            parent,
            nth: saved.nth,
            location,
            name: saved.name,
            creator,
            tokens: Tokens {
                start,
                end,
                park,
                wait,
            },
        });
    }
    Some(())
}

/// Each object has a known creator and kind and a distinct key; the tokens of threads are of their
/// kinds and creators, and there are no other tokens.
fn restore_objects(
    tables: &mut Tables,
    objects: Vec<SavedObject>,
    kinds: &[&'static str],
) -> Option<()> {
    for saved in objects {
        let creator = CreatorId(saved.creator);
        tables.creators.get(creator.index())?;
        tables.objects.push(ObjectRecord {
            creator,
            nth: saved.nth,
            location: location_id(saved.location, tables)?,
            kind: kinds.get(saved.kind as usize)?,
            name: saved.name,
        });
    }
    let mut is_token = vec![false; tables.objects.len()];
    for thread in &tables.threads {
        let Tokens {
            start,
            end,
            park,
            wait,
        } = thread.tokens;
        let tokens = [start, end, park, wait].into_iter();
        for (token, kind) in tokens.zip(TOKENS) {
            let object = tables.objects.get(token.index())?;
            if object.kind != kind || object.creator != thread.creator {
                return None;
            }
            is_token[token.index()] = true;
        }
    }
    for (number, object) in tables.objects.iter().enumerate() {
        if is_token[number] {
            continue;
        }
        let key = ObjectKey {
            creator: object.creator,
            nth: object.nth,
            location: object.location,
            kind: object.kind,
        };
        let address = Address(number as u32);
        let is_known = tables.object_keys.insert(key, address).is_some();
        if is_known || TOKENS.contains(&object.kind) {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{LocalNames, Names};
    use super::*;

    fn check() -> LocationRef {
        LocationRef::caller()
    }

    /// Creates threads and objects in one of two orders. Returns their ids, always in the same
    /// order.
    fn make(registry: &Arc<Registry>, is_reversed: bool) -> Vec<u32> {
        let mut local = LocalNames::new(Arc::clone(registry));
        let (here, there) = (LocationRef::caller(), LocationRef::caller());
        let child = local.thread(CreatorId::MAIN, 0, here);
        let grandchild = local.thread(child.creator, 0, there);
        let mut made = vec![
            child.thread.0,
            grandchild.thread.0,
            grandchild.tokens.park.0,
        ];
        let identity = usize::from(is_reversed) + 77;
        let counter = local.static_creator(identity, "COUNTER");
        let creators = [CreatorId::MAIN, child.creator, grandchild.creator, counter];
        let mut objects = vec![0; creators.len() * 2];
        let mut order: Vec<usize> = (0..creators.len()).collect();
        if is_reversed {
            order.reverse();
        }
        for number in order {
            for nth in 0..2 {
                let object = local.object(creators[number], nth, "AtomicBool", here);
                objects[number * 2 + nth as usize] = object.0;
            }
        }
        made.extend(objects);
        local.name_object(Address(made[4]), "a =\\ \n name");
        local.name_thread(grandchild.thread, "");
        made
    }

    #[test]
    fn ids_are_the_same_in_another_process() {
        let registry = Arc::new(Registry::new(check()));
        let made = make(&registry, false);
        registry.note_wait(LocationId::from_index(1));
        registry.note_visible_drop(LocationId::from_index(2));
        let places = [1, 2].map(LocationId::from_index);
        registry.note_unseen_memory(places[0], &places[1..]);
        let saved = registry.save();
        let again = Arc::new(Registry::restore(registry.check, saved.clone()).unwrap());
        assert_eq!(again.save(), saved);
        assert_eq!(make(&again, true), made);
        assert_eq!(again.save(), saved, "nothing was new");
        assert_eq!(again.visible_drop_count(), 1);
        assert_eq!(again.unseen_count(), 2);
        let names = |registry: &Registry| {
            let names = Names::new(registry, |_, _| None);
            let objects = 0..names.object_count() as u32;
            let objects = objects.map(|object| names.object(Address(object)).to_owned());
            objects.collect::<Vec<_>>()
        };
        assert_eq!(names(&again), names(&registry));
        let new = LocalNames::new(Arc::clone(&again)).object(
            CreatorId::MAIN,
            9,
            "AtomicU8",
            LocationRef::caller(),
        );
        assert!(!made[3..].contains(&new.0));
    }

    /// Each entry of each table twice or not at all, and each field with a wrong number.
    #[test]
    fn contradictory_tables_are_refused() {
        let registry = Arc::new(Registry::new(check()));
        make(&registry, false);
        let saved = registry.save();
        let elsewhere = Registry::restore(LocationRef::caller(), saved.clone());
        assert!(matches!(elsewhere, Err(RegistryError::OtherCheck { .. })));
        let refuses = |change: &dyn Fn(&mut SavedRegistry)| {
            let mut saved = saved.clone();
            change(&mut saved);
            Registry::restore(registry.check, saved).is_err()
        };
        for at in 0..saved.locations.len() {
            assert!(refuses(&|s| s
                .locations
                .insert(at, s.locations[at].clone())));
        }
        for at in 0..saved.threads.len() {
            assert!(refuses(&|s| s.threads.insert(at, s.threads[at].clone())));
            assert!(refuses(&|s| drop(s.threads.remove(at))));
            assert!(refuses(&|s| s.threads[at].location = u32::MAX));
            assert!(refuses(&|s| s.threads[at].parent = Some(u32::MAX)));
            assert!(refuses(&|s| s.threads[at].tokens[2] = u32::MAX));
            assert!(refuses(&|s| s.threads[at].tokens.swap(0, 1)));
        }
        for at in 0..saved.objects.len() {
            assert!(refuses(&|s| s.objects.insert(at, s.objects[at].clone())));
            assert!(refuses(&|s| s.objects[at].creator = u32::MAX));
            assert!(refuses(&|s| s.objects[at].location = u32::MAX));
            assert!(refuses(&|s| s.objects[at].kind = u32::MAX));
        }
        let threads = saved.creators.iter().enumerate();
        for (at, _) in threads.filter(|(_, creator)| **creator == SavedCreator::Thread) {
            assert!(refuses(&|s| s.creators.insert(at, SavedCreator::Thread)));
            assert!(refuses(&|s| drop(s.creators.remove(at))));
        }
        assert!(refuses(&|s| s.locations.clear()));
        assert!(refuses(&|s| s.threads.clear()));
        assert!(refuses(&|s| s.kinds.clear()));
        assert!(refuses(&|s| s.repeated_waits.push(u32::MAX)));
        assert!(refuses(&|s| s.declared_waits.push(u32::MAX)));
        assert!(refuses(&|s| s.visible_drops.push(u32::MAX)));
        assert!(refuses(&|s| s.unseen.push(u32::MAX)));
        assert!(refuses(&|s| s.unseen_loops.push(u32::MAX)));
    }
}
