//! Source locations, and access to source text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;

/// A source location.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourcePosition {
    /// The file, as the compiler names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, as the compiler counts: in columns on the screen, where a tab takes
    /// four and a wide character two. 0 if it is not known.
    pub column: u32,
}

impl SourcePosition {
    /// A source location.
    pub fn new(file: impl Into<String>, line: u32, column: u32) -> Self {
        SourcePosition {
            file: file.into(),
            line,
            column,
        }
    }
}

impl From<&Location<'_>> for SourcePosition {
    fn from(location: &Location<'_>) -> Self {
        SourcePosition::new(location.file(), location.line(), location.column())
    }
}

/// `src/queue.rs:31:9`, or `src/queue.rs:31` without a column.
impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            0 => Ok(()),
            column => write!(f, ":{column}"),
        }
    }
}

/// A provider of source text. This crate reads no files.
pub trait Sources {
    /// The text of a file, if there is any.
    fn text(&self, file: &str) -> Option<Cow<'_, str>>;
}

/// No source text: reports only name locations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoSources;

impl Sources for NoSources {
    fn text(&self, _file: &str) -> Option<Cow<'_, str>> {
        None
    }
}

/// Source text by file name.
impl Sources for BTreeMap<String, String> {
    fn text(&self, file: &str) -> Option<Cow<'_, str>> {
        self.get(file).map(|text| Cow::Borrowed(text.as_str()))
    }
}
