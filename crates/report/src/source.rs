//! Source locations, and access to source text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;

/// A source location.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourcePosition {
    /// The file, as the compiler names it. If it is not known, a name for the place, such as a function.
    pub file: String,
    /// The line, from 1. 0 if it is not known.
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

    /// The position without its column.
    pub fn file_and_line(&self) -> String {
        SourcePosition::new(self.file.as_str(), self.line, 0).to_string()
    }
}

impl From<&Location<'_>> for SourcePosition {
    fn from(location: &Location<'_>) -> Self {
        SourcePosition::new(location.file(), location.line(), location.column())
    }
}

/// `src/queue.rs:31:9`, or `src/queue.rs:31` without a column. Without a line, the name that stands for the place: `main`.
impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => write!(f, "{}", self.file),
            (line, 0) => write!(f, "{}:{line}", self.file),
            (line, column) => write!(f, "{}:{line}:{column}", self.file),
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
