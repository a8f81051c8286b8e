//! Errors in a model: kind, position, what was expected, and how to fix it.

use fencepost_diagnostics::{DescribeError, Position, nearest};

use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;

/// The errors in a model: at least one, in the order of the file.
pub type ModelError = fencepost_diagnostics::SourceErrors<ModelErrorKind>;

/// An error with its position and source line.
pub type SourceError = fencepost_diagnostics::SourceError<ModelErrorKind>;

/// An error before it has its source line.
#[derive(Clone, Debug)]
pub(crate) struct SpannedError {
    pub span: Span,
    pub kind: Box<ModelErrorKind>,
}

impl SpannedError {
    /// Adds the position and the source line.
    pub fn with_source(self, source: &str) -> SourceError {
        let (start, end) = (self.span.start as usize, self.span.end as usize);
        let position = Position::of(source, start);
        SourceError::new(source, position, start, end, *self.kind)
    }
}

impl ModelErrorKind {
    pub(crate) fn at(self, span: Span) -> SpannedError {
        SpannedError {
            span,
            kind: Box::new(self),
        }
    }
}

impl DescribeError for ModelErrorKind {
    fn expected(&self) -> String {
        ModelErrorKind::expected(self)
    }

    fn label(&self) -> String {
        match (self, self.suggestion()) {
            (_, Some(name)) => format!("did you mean `{name}`?"),
            (ModelErrorKind::TypeMismatch { found, wanted }, None) => {
                format!("expected {wanted}, found {found}")
            }
            (ModelErrorKind::Unexpected { found, wanted }, None) => {
                match misspelled_keyword(found, wanted) {
                    Some(keyword) => format!("did you mean `{keyword}`?"),
                    None => format!("expected {wanted}"),
                }
            }
            (_, None) => format!("expected {}", self.expected()),
        }
    }

    fn hint(&self) -> String {
        ModelErrorKind::hint(self)
    }

    fn is_limit(&self) -> bool {
        ModelErrorKind::is_limit(self)
    }
}

/// The keyword that was probably meant where a rule or declaration begins.
fn misspelled_keyword(found: &str, wanted: &str) -> Option<String> {
    const BEGINNINGS: [&str; 12] = [
        "alias",
        "assume",
        "const",
        "cover",
        "function",
        "invariant",
        "procedure",
        "rule",
        "ruleset",
        "startstate",
        "type",
        "var",
    ];
    match wanted.contains("rule") {
        true => nearest(found, BEGINNINGS),
        false => None,
    }
}

/// The errors in the order of the file, each once.
pub(crate) fn collect(mut errors: Vec<SpannedError>, source: &str) -> ModelError {
    errors.sort_by_key(|error| error.span);
    let is_end = |m: &SpannedError| matches!(*m.kind, ModelErrorKind::UnexpectedEnd { .. });
    // The end of the file is an error once for each open block.
    errors.dedup_by(|later, earlier| {
        let same = later.kind == earlier.kind || is_end(later) && is_end(earlier);
        later.span == earlier.span && same
    });
    errors.truncate(ModelError::MAX);
    let errors = errors.into_iter();
    ModelError {
        errors: errors.map(|error| error.with_source(source)).collect(),
    }
}
