//! Fences that the program does not have, and stores that are taken as `SeqCst`: to see what they would change,
//! without building it again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fencepost_memory::{Access, Operation};
use rustc_hash::FxHashMap;

use super::error::OwnedLocation;
use super::mapping::Target;
use super::names::SourceLocation;

/// What is done to the operations at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insertion {
    /// A barrier between stores comes before them.
    StoreBarrier,
    /// A full fence comes before them.
    Fence,
    /// Stores are `SeqCst`.
    SeqCstStore,
}

/// All that is done to the operations at a place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inserted {
    store_barrier: bool,
    fence: bool,
    /// Whether stores are `SeqCst`.
    pub seq_cst_store: bool,
}

impl Inserted {
    fn add(&mut self, insertion: Insertion) {
        match insertion {
            Insertion::StoreBarrier => self.store_barrier = true,
            Insertion::Fence => self.fence = true,
            Insertion::SeqCstStore => self.seq_cst_store = true,
        }
    }

    /// What comes before them.
    pub(crate) fn barrier(self) -> Option<Operation> {
        match (self.fence, self.store_barrier) {
            (true, _) => Some(Operation::Fence),
            (false, true) => Some(Operation::StoreBarrier),
            (false, false) => None,
        }
    }
}

/// What the user wants to be done at a place.
#[derive(Clone, Debug)]
struct Chosen {
    place: OwnedLocation,
    insertion: Insertion,
    is_met: Arc<AtomicBool>,
}

impl Chosen {
    /// The end of a path is enough, and without a column it is the whole line.
    fn is_at(&self, location: SourceLocation) -> bool {
        let OwnedLocation { file, line, column } = &self.place;
        let folder = location.file().strip_suffix(file.as_str());
        let is_file = folder.is_some_and(|f| f.is_empty() || f.ends_with(['/', '\\']));
        is_file && *line == location.line() && (*column == 0 || *column == location.column())
    }
}

/// What is done where.
#[derive(Clone, Debug, Default)]
pub struct Insertions {
    at: FxHashMap<SourceLocation, Inserted>,
    chosen: Vec<Chosen>,
}

impl Insertions {
    /// Whether nothing is done anywhere.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty() && self.chosen.is_empty()
    }

    /// Does this too.
    pub fn insert(&mut self, location: SourceLocation, insertion: Insertion) {
        self.at.entry(location).or_default().add(insertion);
    }

    /// The same, with what the user wants to be done. A place without a column is a whole line.
    pub fn with_requested(mut self, chosen: &[(OwnedLocation, Insertion)]) -> Self {
        let chosen = chosen.iter().map(|(place, insertion)| Chosen {
            place: place.clone(),
            insertion: *insertion,
            is_met: Arc::default(),
        });
        self.chosen = chosen.collect();
        self
    }

    /// Where the user wants something to be done, and no operation was.
    pub fn unmatched(&self) -> impl Iterator<Item = &OwnedLocation> {
        let unmatched = |chosen: &&Chosen| !chosen.is_met.load(Ordering::Relaxed);
        self.chosen
            .iter()
            .filter(unmatched)
            .map(|chosen| &chosen.place)
    }

    /// All that is done there.
    pub(crate) fn inserted(&self, location: SourceLocation) -> Inserted {
        let mut inserted = self.at.get(&location).copied().unwrap_or_default();
        for chosen in self.chosen.iter().filter(|chosen| chosen.is_at(location)) {
            chosen.is_met.store(true, Ordering::Relaxed);
            inserted.add(chosen.insertion);
        }
        inserted
    }

    /// Tells of an access, and of what comes before it. What is inserted has no location.
    pub fn apply(
        &self,
        target: Target,
        mut access: Access,
        location: SourceLocation,
        tell: &mut impl FnMut(Access),
    ) {
        let inserted = self.inserted(location);
        let thread = access.thread;
        let mut tell_barrier = |operation| tell(Access::new(thread, operation));
        if let Some(barrier) = inserted.barrier() {
            tell_barrier(barrier);
        }
        if inserted.seq_cst_store {
            if let Operation::Store(address) = access.operation {
                if target == Target::Pso {
                    tell_barrier(Operation::StoreBarrier);
                }
                access.operation = Operation::LockedStore(address);
            }
        }
        tell(access);
    }
}

impl FromIterator<(SourceLocation, Insertion)> for Insertions {
    fn from_iter<I: IntoIterator<Item = (SourceLocation, Insertion)>>(all: I) -> Self {
        let mut insertions = Insertions::default();
        for (location, insertion) in all {
            insertions.insert(location, insertion);
        }
        insertions
    }
}
