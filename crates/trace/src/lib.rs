//! Trace files: one sequentially consistent interleaving of memory accesses.
//!
//! Read in this order: [`TraceReader`] and [`TraceWriter`] are the entry points;
//! [`Names`] maps the dense ids of an access to the names in the file.
//! Below them are the two formats, each with a reader, a writer and an enum of
//! its errors: text (`text_reader`, `text_writer`, [`TextError`]) and binary
//! (`binary`, `binary_reader`, `binary_writer`, [`BinaryError`]). `source`
//! decompresses, `values` checks that values fit one interleaving, [`generate`]
//! generates traces from a seed, and [`stat`] counts their events.
//! `docs/trace-format.md` describes the formats for users.
//!
//! This crate does not depend on monitors and memory models. It streams: except for the
//! names, its memory does not grow with the trace.

mod binary;
mod binary_error;
mod binary_reader;
mod binary_writer;
mod error;
pub mod generate;
mod limits;
mod mix;
mod names;
mod reader;
mod source;
pub mod stat;
mod string_table;
mod text_error;
mod text_reader;
mod text_writer;
mod values;
mod varint;
mod writer;

pub use binary::{BINARY_MAGIC, BINARY_VERSION, MAX_PAYLOAD_BYTES};
pub use binary_error::BinaryError;
pub use binary_writer::BinaryWriter;
pub use error::{ReadError, WriteError};
pub use fencepost_diagnostics::Excerpt;
pub use generate::{GenerateError, GenerateOptions, Generator, Shape};
pub use limits::{
    Limit, LimitReached, Limits, MAX_ADDRESS_BYTES, MAX_ADDRESSES, MAX_LOCATION_BYTES,
    MAX_LOCATIONS, MAX_THREADS, Position,
};
pub use mix::{Mix, MixError};
pub use names::{NameError, NameProblem, Names};
pub use reader::{BATCH_LENGTH, Format, TraceReader};
pub use source::{Compression, CompressionError};
pub use stat::TraceStatistics;
pub use text_error::{TextError, TextProblem};
pub use text_reader::{MAX_LINE_BYTES, TEXT_VERSION};
pub use text_writer::TextWriter;
pub use writer::{OutputFormat, TraceWriter};
