//! Everything that can go wrong while reading or writing a trace.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::binary_error::BinaryError;
use crate::limits::LimitReached;
use crate::source::CompressionError;
use crate::text_error::TextError;

/// Why a trace could not be read (further).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The input itself failed.
    #[error("cannot read the trace: {0}")]
    Io(#[source] io::Error),
    /// A text trace has an error.
    #[error(transparent)]
    Text(#[from] Box<TextError>),
    /// A binary trace has an error.
    #[error(transparent)]
    Binary(#[from] Box<BinaryError>),
    /// A compressed trace could not be decompressed.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// The trace is too large, which does not mean that it is wrong.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// Reading went on after an error, which would skip part of the trace.
    #[error("the trace was read on after an error")]
    AfterError,
}

impl From<BinaryError> for ReadError {
    fn from(error: BinaryError) -> Self {
        ReadError::Binary(Box::new(error))
    }
}

impl ReadError {
    /// Whether a limit was reached, in contrast to the input being wrong.
    pub fn is_limit(&self) -> bool {
        matches!(self, ReadError::Limit(_))
    }

    /// The error as several lines for a terminal, with the file's name and, for a
    /// text trace, the line itself. No newline at the end.
    pub fn render(&self, path: &Path) -> String {
        let path = match path.as_os_str() == "-" {
            true => "<stdin>".into(),
            false => path.display().to_string(),
        };
        match self {
            ReadError::Text(error) => error.render(&path),
            ReadError::Binary(error) => match error.offset() {
                Some(offset) => {
                    let hint = error.hint();
                    format!(
                        "error: {error}\n --> {path}: byte {offset} (0x{offset:x})\n  = help: {hint}"
                    )
                }
                None => format!("error: {error}\n --> {path}\n  = help: {}", error.hint()),
            },
            ReadError::Open { .. } => format!("error: {self}"),
            _ => format!("error: {self}\n --> {path}"),
        }
    }
}

/// Why a trace could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file could not be created.
    #[error("cannot create {}: {source}", path.display())]
    Create {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The output itself failed.
    #[error("cannot write the trace: {0}")]
    Io(#[from] io::Error),
    /// The file's name asks for a compression that we cannot do.
    #[error(
        "cannot write {}: `.{extension}` files are not supported; use `.gz`, `.zst` or no \
         compression", path.display()
    )]
    UnsupportedCompression {
        /// Which file.
        path: PathBuf,
        /// Its last extension.
        extension: String,
    },
    /// An access names a thread, address or location that the names do not have.
    #[error("event {event} uses {what} number {number}, but there are only {known}")]
    UnknownName {
        /// The number of the event, from 1.
        event: u64,
        /// `thread`, `address` or `location`.
        what: &'static str,
        /// The number used.
        number: u32,
        /// How many there are.
        known: u32,
    },
    /// A fence or barrier carries a value.
    #[error("event {event} has a value but no address")]
    ValueWithoutAddress {
        /// The number of the event, from 1.
        event: u64,
    },
}

impl WriteError {
    /// Whether the reader of our output went away, which is no error for a command in a pipe.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, WriteError::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
