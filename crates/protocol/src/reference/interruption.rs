//! Reasons for an evaluation to stop without a value.

use crate::outcome::{Fault, FaultKind};
use crate::source::Span;

/// Why an evaluation stopped without a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Interruption {
    Fault(Fault),
    /// `assume` was false.
    Assumption,
    /// There is no time left.
    Exhausted,
}

pub(super) type EvalResult<T> = Result<T, Interruption>;

impl FaultKind {
    pub(super) fn at(self, span: Span) -> Interruption {
        Interruption::Fault(Fault { kind: self, span })
    }
}
