//! Errors with their positions, and how they are rendered.

use std::fmt;

use crate::excerpt::Excerpt;
use crate::position::Position;
use crate::snippet::{Severity, render_excerpt};

/// The texts of a kind of error. Its `Display` is the message: what was found.
pub trait DescribeError: fmt::Display {
    /// What was expected instead.
    fn expected(&self) -> String;

    /// The text beside the caret.
    fn label(&self) -> String {
        format!("expected {}", self.expected())
    }

    /// How to fix it.
    fn hint(&self) -> String;

    /// Whether a limit was reached, so that the file may be correct.
    fn is_limit(&self) -> bool;
}

/// A message about a line of a file.
pub struct Diagnostic<'a> {
    /// The severity.
    pub severity: Severity,
    /// The message.
    pub message: &'a dyn fmt::Display,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The line itself, shortened around the column if it is long.
    pub excerpt: &'a Excerpt,
    /// The text beside the caret.
    pub label: &'a str,
    /// What to do.
    pub help: &'a str,
}

impl Diagnostic<'_> {
    /// The message with the line and a caret below it.
    pub fn render(&self, path: &str) -> String {
        let title = self.message.to_string();
        let place = (path, self.line, self.column);
        render_excerpt(
            (self.severity, &title),
            place,
            self.excerpt,
            self.label,
            self.help,
        )
    }
}

/// An error with its position and source line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceError<P> {
    /// The position in the file.
    pub position: Position,
    /// The line itself, shortened around the column if it is long.
    pub excerpt: Excerpt,
    /// The kind of error.
    pub kind: P,
}

impl<P: DescribeError> SourceError<P> {
    /// An error in the bytes from `start` to `end` of `source`, at `position`.
    pub fn new(source: &str, position: Position, start: usize, end: usize, kind: P) -> Self {
        let start = start.min(source.len());
        SourceError {
            position,
            excerpt: Excerpt::around(source, start, end.clamp(start, source.len())),
            kind,
        }
    }

    /// The error with the offending line and a caret below it.
    pub fn render(&self, path: &str) -> String {
        self.render_as(Severity::Error, path)
    }

    /// As [`SourceError::render`], as a warning.
    pub fn render_warning(&self, path: &str) -> String {
        self.render_as(Severity::Warning, path)
    }

    fn render_as(&self, severity: Severity, path: &str) -> String {
        let diagnostic = Diagnostic {
            severity,
            message: &self.kind,
            line: self.position.line.into(),
            column: self.position.column.into(),
            excerpt: &self.excerpt,
            label: &self.kind.label(),
            help: &self.kind.hint(),
        };
        diagnostic.render(path)
    }
}

impl<P: DescribeError> fmt::Display for SourceError<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        let (kind, label) = (&self.kind, self.kind.label());
        write!(f, "line {line}, column {column}: {kind}, {label}")
    }
}

/// The errors in a file: at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceErrors<P> {
    /// The errors, in the order of the file. About [`SourceErrors::MAX`] are collected at most.
    pub errors: Vec<SourceError<P>>,
}

impl<P> SourceErrors<P> {
    /// A parser need not collect more errors than this.
    pub const MAX: usize = 20;
}

impl<P: DescribeError> SourceErrors<P> {
    /// Whether a limit was reached, so that the file may be correct.
    pub fn is_limit(&self) -> bool {
        let mut kinds = self.errors.iter().map(|error| &error.kind);
        kinds.any(DescribeError::is_limit)
    }

    /// All errors with their lines.
    pub fn render(&self, path: &str) -> String {
        let rendered: Vec<String> = self.errors.iter().map(|m| m.render(path)).collect();
        rendered.join("\n\n")
    }
}

impl<P: DescribeError> fmt::Display for SourceErrors<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl<P: DescribeError + fmt::Debug> std::error::Error for SourceErrors<P> {}
