//! Errors in a litmus file.

use fencepost_diagnostics::DescribeError;

use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::lexer::Span;

/// The errors of a file: at least one.
pub type ParseError = fencepost_diagnostics::SourceErrors<ParseErrorKind>;

/// An error with its position.
pub type SourceError = fencepost_diagnostics::SourceError<ParseErrorKind>;

/// An error with its span.
#[derive(Clone, Debug)]
pub(crate) struct SpannedError {
    pub span: Span,
    pub kind: Box<ParseErrorKind>,
}

impl SpannedError {
    /// The error with its source line.
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
