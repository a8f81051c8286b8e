//! Names for reports.

use fencepost_memory::{Address, LocationId, ThreadId};
use rustc_hash::FxHashMap;

use super::{
    BARRIER_OPENING, Creator, CreatorId, END_TOKEN, OPENING_OF, ObjectRecord, PARK_TOKEN, Registry,
    START_TOKEN, Tables, WAIT_TOKEN, WAITING_WRITERS, derive_name,
};
use crate::location::SourceLocation;

/// The names of the threads and objects that a check has seen so far.
///
/// The name of an object is the one that the program gave it (`named`), or else the one in the
/// source line that creates it, or else `AtomicBool@src/queue.rs:12`. If several objects have the
/// same name, the second is `flag#2`. Which of them is the second does not depend on the
/// interleaving.
#[derive(Clone, Debug)]
pub struct Names {
    objects: Vec<String>,
    given: Vec<Option<String>>,
    kinds: Vec<&'static str>,
    created_at: Vec<LocationId>,
    threads: Vec<String>,
    locations: Vec<SourceLocation>,
}

impl Names {
    /// Computes the names. `source_line` returns the text of a line (from 1) of a file, if it can.
    pub fn new(
        registry: &Registry,
        mut source_line: impl FnMut(&str, u32) -> Option<String>,
    ) -> Self {
        let tables = registry.tables().clone();
        let threads = thread_names(&tables);
        let objects = object_names(&tables, &threads, &mut source_line);
        Names {
            objects,
            threads,
            given: tables
                .objects
                .iter()
                .map(|object| object.name.clone())
                .collect(),
            kinds: tables.objects.iter().map(|object| object.kind).collect(),
            created_at: tables
                .objects
                .iter()
                .map(|object| object.location)
                .collect(),
            locations: tables.locations,
        }
    }

    /// The name of an object.
    pub fn object(&self, object: Address) -> &str {
        self.objects.get(object.index()).map_or("?", String::as_str)
    }

    /// The name that the program gave an object.
    pub fn given(&self, object: Address) -> Option<&str> {
        self.given.get(object.index())?.as_deref()
    }

    /// The type of an object, such as `AtomicBool`.
    pub fn kind(&self, object: Address) -> Option<&'static str> {
        self.kinds.get(object.index()).copied()
    }

    /// Where an object was created.
    pub fn created_at(&self, object: Address) -> Option<SourceLocation> {
        self.location(*self.created_at.get(object.index())?)
    }

    /// The name of a thread.
    pub fn thread(&self, thread: ThreadId) -> &str {
        self.threads.get(thread.index()).map_or("?", String::as_str)
    }

    /// The source location with this id.
    pub fn location(&self, location: LocationId) -> Option<SourceLocation> {
        self.locations.get(location.index()).copied()
    }

    /// How many objects have names.
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// How many threads have names.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }
}

/// The prefix of the name of an `Arc`'s counts: the name of the value follows.
const COUNT_OF: &str = "count of";

/// The prefix of the name of an object that belongs to another one, such as the counts of an `Arc`.
fn part_of(kind: &str) -> Option<&'static str> {
    match kind {
        "Arc" => Some(COUNT_OF),
        BARRIER_OPENING => Some(OPENING_OF),
        WAITING_WRITERS => Some(WAITING_WRITERS),
        _ => None,
    }
}

/// A line of a file of the package being checked: the compiler names files relative to the root of
/// their workspace, and tests run in the root of their package.
pub fn read_source_line(file: &str, line: u32) -> Option<String> {
    let index = (line as usize).checked_sub(1)?;
    let current = std::env::current_dir().ok()?;
    current.ancestors().find_map(|folder| {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        text.lines().nth(index).map(str::to_owned)
    })
}

fn thread_names(tables: &Tables) -> Vec<String> {
    let wanted: Vec<String> = tables
        .threads
        .iter()
        .enumerate()
        .map(|(index, thread)| match (&thread.name, index) {
            (Some(name), _) => name.clone(),
            (None, 0) => "main".to_owned(),
            (None, _) => format!("T{index}"),
        })
        .collect();
    let order = ordered(wanted.len(), |index| {
        path(tables, tables.threads[index].creator)
    });
    number_the_same(wanted, &order)
}

fn object_names(
    tables: &Tables,
    threads: &[String],
    source_line: &mut dyn FnMut(&str, u32) -> Option<String>,
) -> Vec<String> {
    let mut derived: FxHashMap<LocationId, Option<String>> = FxHashMap::default();
    let mut name = |object: &ObjectRecord| {
        if let Some(name) = &object.name {
            return name.clone();
        }
        if let (START_TOKEN | END_TOKEN | PARK_TOKEN | WAIT_TOKEN, Creator::Thread(thread)) =
            (object.kind, &tables.creators[object.creator.index()])
        {
            return format!("{} of {}", object.kind, threads[thread.index()]);
        }
        let location = tables.locations[object.location.index()];
        let guess = derived.entry(object.location).or_insert_with(|| {
            let line = source_line(location.file(), location.line())?;
            derive_name(&line, location.column())
        });
        match (guess, &tables.creators[object.creator.index()]) {
            (Some(name), _) => match part_of(object.kind) {
                Some(part) => format!("{part} {name}"),
                None => name.clone(),
            },
            (None, Creator::Static(name)) => (*name).to_owned(),
            (None, Creator::Thread(_)) => {
                format!("{}@{}:{}", object.kind, location.file(), location.line())
            }
        }
    };
    let wanted = tables.objects.iter().map(&mut name).collect::<Vec<_>>();
    let order = ordered(wanted.len(), |index| {
        let object = &tables.objects[index];
        let mut key = path(tables, object.creator);
        key.push((object.nth, object.location.index(), object.kind));
        key
    });
    let mut names = number_the_same(wanted, &order);
    for (index, object) in tables.objects.iter().enumerate() {
        if let Some(name) = reference_name(tables, threads, &names, object) {
            names[index] = name;
        }
    }
    names
}

/// The name of the part of an `Arc` that belongs to a thread.
fn reference_name(
    tables: &Tables,
    threads: &[String],
    names: &[String],
    object: &ObjectRecord,
) -> Option<String> {
    let reference = object.kind.strip_suffix(" to an Arc")?;
    // See `LocalNames::part`.
    let whole = names.get(object.nth as usize)?;
    let value = whole
        .strip_prefix(COUNT_OF)
        .map_or(&**whole, str::trim_start);
    match &tables.creators[object.creator.index()] {
        // Those of all threads that come later.
        _ if reference.starts_with("later") => Some(format!("{reference}s to {value}")),
        Creator::Thread(thread) => Some(format!(
            "{}'s {reference} to {value}",
            threads[thread.index()]
        )),
        Creator::Static(_) => None,
    }
}

/// A sort key of a creator that does not depend on the order of ids, except for statics and for
/// objects that are created at several locations in turn.
fn path(tables: &Tables, creator: CreatorId) -> Vec<(u32, usize, &'static str)> {
    match &tables.creators[creator.index()] {
        Creator::Static(name) => vec![(u32::MAX, 0, name)],
        Creator::Thread(thread) => {
            let record = &tables.threads[thread.index()];
            let mut key = record
                .parent
                .map_or_else(Vec::new, |parent| path(tables, parent));
            key.push((record.nth, record.location.index(), ""));
            key
        }
    }
}

fn ordered<K: Ord>(count: usize, key: impl Fn(usize) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_cached_key(|&index| key(index));
    order
}

/// `flag`, `flag#2`, `flag#3`.
fn number_the_same(mut names: Vec<String>, order: &[usize]) -> Vec<String> {
    let mut seen: FxHashMap<String, u32> = FxHashMap::default();
    for &index in order {
        let count = seen.entry(names[index].clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            names[index] = format!("{}#{count}", names[index]);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::LocalNames;
    use super::*;
    use crate::location::LocationRef;

    #[test]
    fn names_are_given_derived_or_placed() {
        let here = LocationRef::caller();
        let registry = Arc::new(Registry::new(here));
        let mut local = LocalNames::new(registry.clone());
        let given = local.object(CreatorId::MAIN, 0, "AtomicBool", here);
        local.name_object(given, "flag");
        let next = LocationRef::caller();
        let derived = local.object(CreatorId::MAIN, 1, "AtomicU8", next);
        let again = local.object(CreatorId::MAIN, 2, "AtomicU8", next);
        let counts = local.object(CreatorId::MAIN, 4, "Arc", next);
        let reference = local.part(CreatorId::MAIN, counts, "reference to an Arc", next);
        let later = local.part(CreatorId::MAIN, counts, "later reference to an Arc", next);
        let child = local.thread(CreatorId::MAIN, 0, here);
        local.name_thread(child.thread, "worker");
        let counter = local.static_creator(1, "COUNTER");
        let of_static = local.object(counter, 0, "AtomicU8", here);

        // What `next` points at, if the line were the one below.
        let column = next.column() as usize;
        let text = format!("{:>width$}AtomicU8::new(0)", "turn: ", width = column - 1);
        let names = Names::new(&registry, |_, line| {
            (line == next.line()).then(|| text.clone())
        });
        assert_eq!(names.object(derived), "turn");
        assert_eq!(names.object(again), "turn#2");
        assert_eq!(names.object(counts), "count of turn");
        assert_eq!(names.object(reference), "main's reference to turn");
        assert_eq!(names.object(later), "later references to turn");
        assert_eq!(names.object(given), "flag");
        assert_eq!(names.kind(given), Some("AtomicBool"));
        assert_eq!(
            names.created_at(derived).map(SourceLocation::line),
            Some(next.line())
        );
        assert_eq!(names.object(of_static), "COUNTER");
        assert_eq!(names.thread(ThreadId(0)), "main");
        assert_eq!(names.thread(child.thread), "worker");
        assert_eq!(names.object(child.tokens.end), "end of worker");
        let placed = local.object(CreatorId::MAIN, 3, "AtomicI8", here);
        let names = Names::new(&registry, |_, _| None);
        assert_eq!(
            names.object(placed),
            format!("AtomicI8@{}:{}", here.file(), here.line())
        );
        assert_eq!(
            names.object(again),
            format!("AtomicU8@{}:{}#2", next.file(), next.line())
        );
    }

    #[test]
    fn source_lines_are_found_from_the_package_or_the_workspace() {
        let line = line!();
        let text = read_source_line(file!(), line).expect("this file");
        assert_eq!(text.trim(), "let line = line!();");
        assert_eq!(read_source_line("no/such/file.rs", 1), None);
        assert_eq!(read_source_line(file!(), 0), None);
    }
}
