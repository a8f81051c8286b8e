//! Fences that the program does not have, and stores that are made `SeqCst`: the check inserts them
//! at run time, to see what they change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fencepost_memory::{Access, Operation};
use rustc_hash::FxHashMap;

use super::location::{OwnedLocation, SourceLocation};
use super::mapping::Target;

/// A change of the operations at a source location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insertion {
    /// A store barrier before them.
    StoreBarrier,
    /// A full fence before them.
    Fence,
    /// Stores are `SeqCst`.
    SeqCstStore,
}

/// All changes of the operations at a source location.
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

    /// The barrier or fence before the operations.
    pub(crate) fn barrier(self) -> Option<Operation> {
        match (self.fence, self.store_barrier) {
            (true, _) => Some(Operation::Fence),
            (false, true) => Some(Operation::StoreBarrier),
            (false, false) => None,
        }
    }
}

/// A change that the user requested.
#[derive(Clone, Debug)]
struct Requested {
    location: OwnedLocation,
    insertion: Insertion,
    is_matched: Arc<AtomicBool>,
}

impl Requested {
    /// Whether it applies at a location. The end of a path is enough, and column 0 stands for the
    /// whole line.
    fn is_at(&self, location: SourceLocation) -> bool {
        let OwnedLocation { file, line, column } = &self.location;
        let folder = location.file().strip_suffix(file.as_str());
        let is_file = folder.is_some_and(|f| f.is_empty() || f.ends_with(['/', '\\']));
        is_file && *line == location.line() && (*column == 0 || *column == location.column())
    }
}

/// The changes of a program, by source location.
#[derive(Clone, Debug, Default)]
pub struct Insertions {
    at: FxHashMap<SourceLocation, Inserted>,
    requested: Vec<Requested>,
}

impl Insertions {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty() && self.requested.is_empty()
    }

    /// Adds a change.
    pub fn insert(&mut self, location: SourceLocation, insertion: Insertion) {
        self.at.entry(location).or_default().add(insertion);
    }

    /// Adds the changes that the user requested. Column 0 stands for the whole line.
    pub fn with_requested(mut self, requested: &[(OwnedLocation, Insertion)]) -> Self {
        let requested = requested.iter().map(|(location, insertion)| Requested {
            location: location.clone(),
            insertion: *insertion,
            is_matched: Arc::default(),
        });
        self.requested = requested.collect();
        self
    }

    /// The requested locations at which the program has performed no operation.
    pub fn unmatched(&self) -> impl Iterator<Item = &OwnedLocation> {
        let unmatched = |requested: &&Requested| !requested.is_matched.load(Ordering::Relaxed);
        self.requested
            .iter()
            .filter(unmatched)
            .map(|requested| &requested.location)
    }

    /// The changes at a location.
    pub(crate) fn inserted(&self, location: SourceLocation) -> Inserted {
        let mut inserted = self.at.get(&location).copied().unwrap_or_default();
        for requested in self.requested.iter().filter(|it| it.is_at(location)) {
            requested.is_matched.store(true, Ordering::Relaxed);
            inserted.add(requested.insertion);
        }
        inserted
    }

    /// Passes an access to `emit`, after what is inserted before it. Inserted accesses have no
    /// location.
    pub fn apply(
        &self,
        target: Target,
        mut access: Access,
        location: SourceLocation,
        emit: &mut impl FnMut(Access),
    ) {
        let inserted = self.inserted(location);
        let thread = access.thread;
        let mut emit_barrier = |operation| emit(Access::new(thread, operation));
        if let Some(barrier) = inserted.barrier() {
            emit_barrier(barrier);
        }
        if inserted.seq_cst_store {
            if let Operation::Store(address) = access.operation {
                if target == Target::Pso {
                    emit_barrier(Operation::StoreBarrier);
                }
                access.operation = Operation::LockedStore(address);
            }
        }
        emit(access);
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
