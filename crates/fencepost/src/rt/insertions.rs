//! Fences that the program does not have, and stores that are taken as `SeqCst`: to see what they would change,
//! without building it again.

use fencepost_memory::{Access, Operation};
use rustc_hash::FxHashMap;

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

/// What is done where.
#[derive(Clone, Debug, Default)]
pub struct Insertions(FxHashMap<SourceLocation, Insertion>);

impl Insertions {
    /// Whether nothing is done anywhere.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does this too.
    pub fn insert(&mut self, location: SourceLocation, insertion: Insertion) {
        self.0.insert(location, insertion);
    }

    /// Tells of an access, and of what comes before it. What is inserted has no location.
    pub fn apply(
        &self,
        target: Target,
        mut access: Access,
        location: SourceLocation,
        tell: &mut impl FnMut(Access),
    ) {
        let thread = access.thread;
        let mut barrier = |operation| tell(Access::new(thread, operation));
        match self.0.get(&location) {
            Some(Insertion::StoreBarrier) => barrier(Operation::StoreBarrier),
            Some(Insertion::Fence) => barrier(Operation::Fence),
            Some(Insertion::SeqCstStore) => {
                if let Operation::Store(address) = access.operation {
                    if target == Target::Pso {
                        barrier(Operation::StoreBarrier);
                    }
                    access.operation = Operation::LockedStore(address);
                }
            }
            None => {}
        }
        tell(access);
    }
}

impl FromIterator<(SourceLocation, Insertion)> for Insertions {
    fn from_iter<I: IntoIterator<Item = (SourceLocation, Insertion)>>(all: I) -> Self {
        Insertions(all.into_iter().collect())
    }
}
