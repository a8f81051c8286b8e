//! The failures of a checked program as JSON, by kind.

use fencepost_memory::ThreadId;
use fencepost_monitor::{ExplainError, Finding, Repair, StrongerOrdering, Violation};
use serde::Serialize;

use super::native::{BadMemoryObject, FailedObject, LeakedBlocksObject, LockMisuseObject};
use super::{AccessObject, PlaceObject};
use crate::check::{
    Holder, Problem, RaceAccess, RacedCell, Wait, awaited, leaked, mismatch_sentence, planned,
    raced_cell,
};
use crate::json::{CycleObject, WitnessObject};
use crate::names::Naming;

/// A place where a full fence is missing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FenceGapObject {
    /// The fence comes after this access,
    pub after: AccessObject,
    /// and before this one of the same thread.
    pub before: AccessObject,
}

/// A fix that rules out the cycle of a violation. There may be other cycles.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RepairObject {
    /// Full fences in all of these places.
    pub fences: Vec<FenceGapObject>,
    /// An equivalent ordering: `seq-cst` for the store before each place, or `release` for the
    /// write after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternative: Option<&'static str>,
}

impl RepairObject {
    fn new(repair: &Repair, names: &dyn Naming) -> Self {
        let fences = repair.gaps.iter().map(|gap| FenceGapObject {
            after: AccessObject::new(&gap.after, names),
            before: AccessObject::new(&gap.before, names),
        });
        RepairObject {
            fences: fences.collect(),
            alternative: repair.stronger_ordering.map(|ordering| match ordering {
                StrongerOrdering::SeqCstStores => "seq-cst",
                StrongerOrdering::ReleaseWrites => "release",
            }),
        }
    }
}

/// A thread that waits or spins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WaitObject {
    /// The thread's name.
    pub thread: String,
    /// What the thread waits for.
    pub what: String,
    /// Whether the thread spins.
    pub spins: bool,
    /// The location, or null.
    pub source: Option<PlaceObject>,
    /// The threads that hold the lock that the thread waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<HolderObject>,
}

/// A thread that holds a lock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HolderObject {
    /// The thread's name.
    pub thread: String,
    /// Where it has taken the lock, or null.
    pub source: Option<PlaceObject>,
}

/// One side of a data race.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RaceObject {
    /// The thread's name.
    pub thread: String,
    /// Whether the access writes.
    pub writes: bool,
    /// How it accesses memory: `read`, `atomic-write`, `free`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<&'static str>,
    /// How many bytes it accesses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// The location, or null.
    pub source: Option<PlaceObject>,
}

/// A failure, by its kind. Locations are null if they are unknown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "problem", rename_all = "kebab-case")]
#[allow(missing_docs)] // As in `Problem`.
#[allow(clippy::large_enum_variant)] // There are few of them.
#[non_exhaustive]
pub enum ProblemObject {
    StoreBuffer {
        pending: AccessObject,
        last: AccessObject,
        event: AccessObject,
        cycle: Vec<CycleObject>,
        witness: Option<WitnessObject>,
        #[serde(skip_serializing_if = "Option::is_none")]
        witness_missing: Option<String>,
        repair: Option<RepairObject>,
    },
    Panic {
        thread: String,
        message: String,
        source: Option<PlaceObject>,
    },
    Deadlock {
        waits: Vec<WaitObject>,
    },
    Livelock {
        waits: Vec<WaitObject>,
    },
    Race {
        cell: String,
        first: RaceObject,
        second: RaceObject,
    },
    Failed(FailedObject),
    BadMemory(BadMemoryObject),
    LeakedBlocks {
        blocks: Vec<LeakedBlocksObject>,
    },
    LockMisuse(LockMisuseObject),
    Leak {
        what: String,
        source: Option<PlaceObject>,
    },
    StackOverflow {
        thread: String,
        source: Option<PlaceObject>,
    },
    StepLimit {
        steps: u64,
        thread: String,
        source: Option<PlaceObject>,
    },
    NonDeterminism {
        step: usize,
        expected: String,
        found: String,
        thread: String,
        source: Option<PlaceObject>,
    },
    BadUse {
        message: String,
        source: Option<PlaceObject>,
    },
}

impl ProblemObject {
    pub(super) fn new(problem: &Problem, repair: &Option<Repair>, names: &dyn Naming) -> Self {
        let name = |thread: &ThreadId| names.thread(*thread);
        match problem {
            Problem::StoreBuffer {
                violation,
                explained,
            } => Self::store_buffer(violation, explained, repair, names),
            Problem::Panic {
                thread,
                message,
                location,
            } => ProblemObject::Panic {
                thread: name(thread),
                message: message.clone(),
                source: PlaceObject::of(location),
            },
            Problem::Deadlock { waits } => ProblemObject::Deadlock {
                waits: wait_objects(waits, names),
            },
            Problem::Livelock { waits } => ProblemObject::Livelock {
                waits: wait_objects(waits, names),
            },
            Problem::Race {
                cell,
                first,
                second,
            } => ProblemObject::Race {
                cell: match cell {
                    RacedCell::Named(name) => name.clone(),
                    RacedCell::CreatedAt(_) | RacedCell::At(_) => raced_cell(cell),
                },
                first: race_object(first, names),
                second: race_object(second, names),
            },
            Problem::Failed {
                thread,
                kind,
                message,
                location,
            } => ProblemObject::Failed(FailedObject::new(*thread, *kind, message, location, names)),
            Problem::BadMemory(misuse) => {
                ProblemObject::BadMemory(BadMemoryObject::new(misuse, names))
            }
            Problem::LeakedBlocks(leaks) => ProblemObject::LeakedBlocks {
                blocks: leaks.iter().map(LeakedBlocksObject::new).collect(),
            },
            Problem::LockMisuse { misuse, lock, by } => {
                ProblemObject::LockMisuse(LockMisuseObject::new(misuse, lock, by, names))
            }
            Problem::Leak {
                kind,
                name,
                location,
            } => ProblemObject::Leak {
                what: leaked(kind, name.as_deref()),
                source: PlaceObject::of(location),
            },
            Problem::StackOverflow { thread, location } => ProblemObject::StackOverflow {
                thread: name(thread),
                source: PlaceObject::of(location),
            },
            Problem::StepLimit {
                steps,
                thread,
                location,
            } => ProblemObject::StepLimit {
                steps: *steps,
                thread: name(thread),
                source: PlaceObject::of(location),
            },
            Problem::NonDeterminism {
                step,
                expected,
                found,
                thread,
                location,
            } => ProblemObject::NonDeterminism {
                step: *step,
                expected: planned(expected, names),
                found: planned(found, names),
                thread: name(thread),
                source: PlaceObject::of(location),
            },
            Problem::InfeasibleSchedule { step, mismatch } => ProblemObject::BadUse {
                message: mismatch_sentence(*step, mismatch, names),
                source: None,
            },
            Problem::BadUse { message, location } => ProblemObject::BadUse {
                message: message.clone(),
                source: PlaceObject::of(location),
            },
            Problem::Unreproduced(failure) => ProblemObject::BadUse {
                message: failure.to_string(),
                source: None,
            },
        }
    }

    fn store_buffer(
        violation: &Violation,
        explained: &Result<Finding, ExplainError>,
        repair: &Option<Repair>,
        names: &dyn Naming,
    ) -> Self {
        let finding = explained.as_ref().ok();
        ProblemObject::StoreBuffer {
            pending: AccessObject::new(&violation.pending, names),
            last: AccessObject::new(&violation.last, names),
            event: AccessObject::new(&violation.event, names),
            cycle: finding.map_or_else(Vec::new, |f| CycleObject::all(f, names)),
            witness: finding.map(|f| WitnessObject::new(&f.witness, names)),
            witness_missing: explained.as_ref().err().map(ToString::to_string),
            repair: repair
                .as_ref()
                .map(|repair| RepairObject::new(repair, names)),
        }
    }
}

fn wait_objects(waits: &[Wait], names: &dyn Naming) -> Vec<WaitObject> {
    let objects = waits.iter().map(|wait| WaitObject {
        thread: names.thread(wait.thread),
        what: awaited(&wait.awaited, names),
        spins: wait.spins,
        source: PlaceObject::of(&wait.location),
        holders: holder_objects(&wait.holders, names),
    });
    objects.collect()
}

fn holder_objects(holders: &[Holder], names: &dyn Naming) -> Vec<HolderObject> {
    let objects = holders.iter().map(|holder| HolderObject {
        thread: names.thread(holder.thread),
        source: PlaceObject::of(&holder.location),
    });
    objects.collect()
}

fn race_object(access: &RaceAccess, names: &dyn Naming) -> RaceObject {
    RaceObject {
        thread: names.thread(access.thread),
        writes: access.kind.writes(),
        access: access.size.map(|_| access.kind.name()),
        size: access.size,
        source: PlaceObject::of(&access.location),
    }
}
