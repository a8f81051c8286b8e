//! Errors in a model: what, where, what was expected, and how to mend it.

use fencepost_diagnostics::{DescribeError, Position};

use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;

/// What is wrong with a model: at least one error, in the order of the file.
pub type ModelError = fencepost_diagnostics::SourceErrors<ModelErrorKind>;

/// An error, with its place.
pub type SourceError = fencepost_diagnostics::SourceError<ModelErrorKind>;

/// An error while the source is at hand.
#[derive(Clone, Debug)]
pub(crate) struct SpannedError {
    pub span: Span,
    pub problem: Box<ModelErrorKind>,
}

impl SpannedError {
    /// With the line that it is in.
    pub fn with_source(self, source: &str) -> SourceError {
        let (start, end) = (self.span.start as usize, self.span.end as usize);
        let position = Position::of(source, start);
        SourceError::new(source, position, start, end, *self.problem)
    }
}

impl ModelErrorKind {
    pub(crate) fn at(self, span: Span) -> SpannedError {
        SpannedError {
            span,
            problem: Box::new(self),
        }
    }
}

impl DescribeError for ModelErrorKind {
    fn expected(&self) -> String {
        ModelErrorKind::expected(self)
    }

    fn hint(&self) -> String {
        ModelErrorKind::hint(self)
    }

    fn is_limit(&self) -> bool {
        ModelErrorKind::is_limit(self)
    }
}

/// The errors in the order of the file, each once.
pub(crate) fn collect(mut errors: Vec<SpannedError>, source: &str) -> ModelError {
    errors.sort_by_key(|error| error.span);
    let is_end = |m: &SpannedError| matches!(*m.problem, ModelErrorKind::UnexpectedEnd { .. });
    // What is missing at the end of the file is missing once for each block that is open.
    errors.dedup_by(|later, earlier| {
        let same = later.problem == earlier.problem || is_end(later) && is_end(earlier);
        later.span == earlier.span && same
    });
    errors.truncate(ModelError::MAX);
    let errors = errors.into_iter();
    ModelError {
        errors: errors.map(|error| error.with_source(source)).collect(),
    }
}
