//! The one format of Fencepost's checkpoint files.
//!
//! A checkpoint is a serde value in an envelope: [`seal`] encodes it, [`open`] checks the bytes and
//! returns the value. A search with gigabytes of states follows the envelope with a stream of
//! 64-bit words ([`StreamWriter`], [`StreamReader`]). [`write_atomically`] replaces a file so that
//! a crash leaves the old one or the new one, never a part. [`read`] and [`open_file`] refuse pipes,
//! devices and directories.
//!
//! # Hostile input
//!
//! A file may be damaged, or written by anyone. Nothing in it decides how much memory is taken:
//! lengths are compared with the input before anything is allocated, and serde's collections
//! reserve at most 1 MiB ahead of what they have read. Two things are up to the caller, because the
//! format cannot see them:
//!
//! - The type must not be recursive, since decoding recurses with the type.
//! - The type must not hold sequences of zero-sized elements (`Vec<()>`), since those take no
//!   input.
//!
//! A checksum notices accidents, not intent: callers validate what the values mean.
//!
//! Read in this order: `envelope`, `stream`, `file`. This crate does no I/O except in `file`, which
//! reads and writes one file, and in `stream` through the reader or writer that it is given.

#![forbid(unsafe_code)]

mod envelope;
mod file;
mod stream;

pub use envelope::{Kind, OpenError, open, seal};
pub use file::{FileError, open_file, prepare, read, write_atomically};
pub use stream::{StreamError, StreamReader, StreamWriter};
