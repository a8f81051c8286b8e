//! Translates the errors of programs in C and C++ into the input of the report.

use fencepost_report::SourcePosition;
use fencepost_report::check::{
    AccessKind, BadMemory, BadMemoryKind, BlockPosition, FailureKind, LeakedBlocks, LockMisuse,
    Problem, RaceAccess, RacedCell, Signal, ThreadPlace,
};
use fencepost_runtime::{OwnedLocation, plain};

use super::problems::position;

fn known(place: &Option<OwnedLocation>) -> Option<SourcePosition> {
    place.as_ref().map(position)
}

fn thread_place(place: &fencepost_runtime::ThreadPlace) -> ThreadPlace {
    ThreadPlace {
        thread: place.thread,
        location: known(&place.location),
    }
}

pub(super) fn race(race: &fencepost_runtime::MemoryRace) -> Problem {
    let access = |access: &fencepost_runtime::MemoryRaceAccess| RaceAccess {
        thread: access.thread,
        kind: match access.kind {
            plain::AccessKind::Read => AccessKind::Read,
            plain::AccessKind::AtomicRead => AccessKind::AtomicRead,
            plain::AccessKind::AtomicWrite => AccessKind::AtomicWrite,
            plain::AccessKind::Write => AccessKind::Write,
            plain::AccessKind::Allocation => AccessKind::Allocation,
            plain::AccessKind::Free => AccessKind::Free,
        },
        size: Some(access.size),
        location: known(&access.location),
    };
    Problem::Race {
        cell: match &race.name {
            Some(name) => RacedCell::Named(name.clone()),
            None => RacedCell::At(race.address as u64),
        },
        first: access(&race.first),
        second: access(&race.second),
    }
}

pub(super) fn failed(failure: &fencepost_runtime::ProgramFailure) -> Problem {
    use fencepost_runtime::FailureKind as Found;
    Problem::Failed {
        thread: failure.thread,
        kind: match failure.kind {
            Found::Assertion => FailureKind::Assertion,
            Found::Abort => FailureKind::Abort,
            Found::UncaughtException => FailureKind::UncaughtException,
            Found::ExitStatus(status) => FailureKind::ExitStatus(status),
            Found::VerifierError => FailureKind::VerifierError,
            Found::Signal(found) => signal(found).map_or(FailureKind::Other, FailureKind::Signal),
            _ => FailureKind::Other,
        },
        message: failure.message.clone(),
        location: known(&failure.location),
    }
}

fn signal(signal: fencepost_runtime::Signal) -> Option<Signal> {
    use fencepost_runtime::Signal as Found;
    match signal {
        Found::Segv { address } => Some(Signal::Segv(address)),
        Found::Bus { address } => Some(Signal::Bus(address)),
        Found::Fpe => Some(Signal::Fpe),
        Found::Ill => Some(Signal::Ill),
        _ => None,
    }
}

pub(super) fn bad_memory(misuse: &fencepost_runtime::BadMemory) -> Problem {
    use fencepost_runtime::BadMemoryKind as Found;
    let kind = match misuse.kind {
        Found::UseAfterFree => BadMemoryKind::UseAfterFree,
        Found::OutOfBounds => BadMemoryKind::OutOfBounds,
        Found::DoubleFree => BadMemoryKind::DoubleFree,
        Found::InvalidFree => BadMemoryKind::InvalidFree,
        _ => {
            return Problem::BadUse {
                message: misuse.to_string(),
                location: known(&misuse.location),
            };
        }
    };
    Problem::BadMemory(BadMemory {
        kind,
        by: ThreadPlace {
            thread: misuse.thread,
            location: known(&misuse.location),
        },
        size: misuse.size,
        writes: misuse.is_write,
        block: misuse.block.map(|block| BlockPosition {
            size: block.size,
            offset: block.offset,
        }),
        allocated: known(&misuse.allocated),
        freed: misuse.freed.as_ref().map(thread_place),
        name: misuse.name.clone(),
    })
}

pub(super) fn leaked_blocks(leaks: &[fencepost_runtime::LeakedBlocks]) -> Problem {
    let leak = |leak: &fencepost_runtime::LeakedBlocks| LeakedBlocks {
        location: known(&leak.location),
        count: leak.count,
        bytes: leak.bytes,
    };
    Problem::LeakedBlocks(leaks.iter().map(leak).collect())
}

pub(super) fn lock_misuse(found: &fencepost_runtime::LockMisuse) -> Problem {
    use fencepost_runtime::LockMisuseKind as Found;
    let misuse = match &found.kind {
        Found::NotHeld { holder } => LockMisuse::NotHeld(holder.as_ref().map(thread_place)),
        Found::DestroyedWhileHeld { holder } => {
            LockMisuse::DestroyedWhileHeld(thread_place(holder))
        }
        Found::Destroyed { destroyed } => LockMisuse::Destroyed(thread_place(destroyed)),
        Found::Uninitialized => LockMisuse::Uninitialized,
        _ => {
            return Problem::BadUse {
                message: found.to_string(),
                location: known(&found.location),
            };
        }
    };
    Problem::LockMisuse {
        misuse,
        lock: found.lock.clone(),
        by: ThreadPlace {
            thread: found.thread,
            location: known(&found.location),
        },
    }
}
