//! Errors in a litmus file.

use fencepost_diagnostics::DescribeError;

use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::lexer::Span;

/// What is wrong with a file: at least one error.
pub type ParseError = fencepost_diagnostics::SourceErrors<ParseErrorKind>;

/// An error, with its place.
pub type SourceError = fencepost_diagnostics::SourceError<ParseErrorKind>;

/// An error while the source is at hand.
#[derive(Clone, Debug)]
pub(crate) struct SpannedError {
    pub span: Span,
    pub kind: Box<ParseErrorKind>,
}

impl SpannedError {
    /// With the line that it is in.
    pub fn with_source(self, source: &str) -> SourceError {
        let Span {
            position,
            start,
            end,
        } = self.span;
        SourceError::new(source, position, start, end, *self.kind)
    }
}

impl DescribeError for ParseErrorKind {
    fn expected(&self) -> String {
        ParseErrorKind::expected(self)
    }

    fn hint(&self) -> String {
        ParseErrorKind::hint(self)
    }

    fn is_limit(&self) -> bool {
        ParseErrorKind::is_limit(self)
    }
}
