//! When two failures are the same.
//!
//! [`Failure::is_same_as`] compares violations by their source locations and faults by equality. What is left to
//! decide is when two errors of the program are the same: messages may contain values that differ from execution to
//! execution, such as addresses.

use fencepost_explore::Failure;
use fencepost_runtime::{OwnedLocation, ProgramError};

/// Whether two failures are of the same kind: for two executions with one schedule that is enough.
pub(super) fn is_same_kind(one: &Failure<ProgramError>, other: &Failure<ProgramError>) -> bool {
    one.is_same_as(other, is_same_error_kind)
}

/// Whether two failures of different executions are the same: of the same kind and, where one location causes them,
/// at the same place.
pub(super) fn is_same_failure(one: &Failure<ProgramError>, other: &Failure<ProgramError>) -> bool {
    one.is_same_as(other, is_same_error)
}

fn is_same_error(one: &ProgramError, other: &ProgramError) -> bool {
    is_same_error_kind(one, other) && location(one) == location(other)
}

fn is_same_error_kind(one: &ProgramError, other: &ProgramError) -> bool {
    match (one, other) {
        (ProgramError::Failed(one), ProgramError::Failed(other)) => {
            one.kind.without_address() == other.kind.without_address()
        }
        (ProgramError::BadMemory(one), ProgramError::BadMemory(other)) => one.kind == other.kind,
        (ProgramError::LockMisuse(one), ProgramError::LockMisuse(other)) => {
            std::mem::discriminant(&one.kind) == std::mem::discriminant(&other.kind)
        }
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// The place that distinguishes errors of one kind.
fn location(error: &ProgramError) -> Option<&OwnedLocation> {
    match error {
        ProgramError::Panic { location, .. } => location.as_ref(),
        ProgramError::Failed(failure) => failure.location.as_ref(),
        ProgramError::BadMemory(misuse) => misuse.location.as_ref(),
        ProgramError::LockMisuse(misuse) => misuse.location.as_ref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use fencepost_memory::ThreadId;
    use fencepost_runtime::{
        BadMemory, BadMemoryKind, FailureKind, LeakedBlocks, LockMisuse, LockMisuseKind,
        ProgramFailure, Signal, ThreadPlace,
    };

    use super::*;

    fn location(line: u32) -> Option<OwnedLocation> {
        Some(OwnedLocation {
            file: "queue.c".to_owned(),
            line,
            column: 0,
        })
    }

    fn failed(kind: FailureKind, message: &str, line: u32) -> ProgramError {
        ProgramError::Failed(Box::new(ProgramFailure {
            kind,
            thread: ThreadId(line),
            message: message.to_owned(),
            location: location(line),
        }))
    }

    fn bad_memory(kind: BadMemoryKind, name: &str, line: u32) -> ProgramError {
        ProgramError::BadMemory(Box::new(BadMemory {
            kind,
            thread: ThreadId(1),
            location: location(line),
            size: 8,
            is_write: false,
            block: None,
            allocated: None,
            freed: None,
            name: Some(name.to_owned()),
        }))
    }

    fn misused(kind: LockMisuseKind, line: u32) -> ProgramError {
        ProgramError::LockMisuse(Box::new(LockMisuse {
            kind,
            lock: "mutex `m`".to_owned(),
            thread: ThreadId(1),
            location: location(line),
        }))
    }

    fn leaked(count: u64) -> ProgramError {
        ProgramError::LeakedBlocks(vec![LeakedBlocks {
            location: location(1),
            count,
            bytes: 8,
        }])
    }

    #[test]
    fn what_differs_from_execution_to_execution_does_not_count() {
        let segv = |address| FailureKind::Signal(Signal::Segv { address });
        let held = |thread| LockMisuseKind::NotHeld {
            holder: Some(ThreadPlace {
                thread: ThreadId(thread),
                location: None,
            }),
        };
        let (free, bounds) = (BadMemoryKind::UseAfterFree, BadMemoryKind::OutOfBounds);
        let abort = FailureKind::Abort;
        for (one, other, is_same_kind, is_same) in [
            (failed(abort, "1", 1), failed(abort, "2", 1), true, true),
            (failed(abort, "", 1), failed(abort, "", 2), true, false),
            (
                failed(segv(Some(1)), "", 1),
                failed(segv(Some(2)), "", 1),
                true,
                true,
            ),
            (
                failed(segv(None), "", 1),
                failed(abort, "", 1),
                false,
                false,
            ),
            (
                failed(FailureKind::ExitStatus(1), "", 1),
                failed(FailureKind::ExitStatus(2), "", 1),
                false,
                false,
            ),
            (
                bad_memory(free, "a", 1),
                bad_memory(free, "b", 1),
                true,
                true,
            ),
            (
                bad_memory(free, "a", 1),
                bad_memory(free, "a", 2),
                true,
                false,
            ),
            (
                bad_memory(free, "a", 1),
                bad_memory(bounds, "a", 1),
                false,
                false,
            ),
            (misused(held(1), 1), misused(held(2), 1), true, true),
            (misused(held(1), 1), misused(held(1), 2), true, false),
            (
                misused(held(1), 1),
                misused(LockMisuseKind::Uninitialized, 1),
                false,
                false,
            ),
            (leaked(1), leaked(2), true, true),
            (leaked(1), failed(abort, "", 1), false, false),
        ] {
            assert_eq!(
                is_same_error_kind(&one, &other),
                is_same_kind,
                "{one}; {other}"
            );
            assert_eq!(is_same_error(&one, &other), is_same, "{one}; {other}");
        }
    }
}
