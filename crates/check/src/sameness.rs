//! When two failures are the same.
//!
//! [`Failure::is_same_as`] compares violations by their source locations and faults by equality. What is left to
//! decide is when two errors of the program are the same: messages may contain values that differ from execution to
//! execution, such as addresses.

use fencepost_explore::Failure;
use fencepost_runtime::ProgramError;

/// Whether two failures are of the same kind: for two executions with one schedule that is enough.
pub(super) fn is_same_kind(one: &Failure<ProgramError>, other: &Failure<ProgramError>) -> bool {
    one.is_same_as(other, is_same_error_kind)
}

/// Whether two failures of different executions are the same: of the same kind and, for panics, at the same place.
pub(super) fn is_same_failure(one: &Failure<ProgramError>, other: &Failure<ProgramError>) -> bool {
    one.is_same_as(other, |one, other| {
        is_same_error_kind(one, other) && panic_location(one) == panic_location(other)
    })
}

fn is_same_error_kind(one: &ProgramError, other: &ProgramError) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

fn panic_location(error: &ProgramError) -> Option<&fencepost_runtime::OwnedLocation> {
    match error {
        ProgramError::Panic { location, .. } => location.as_ref(),
        _ => None,
    }
}
