//! Opening and reading a trace of any format.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use fencepost_memory::Access;

use crate::binary::BINARY_MAGIC;
use crate::binary_reader::{BinaryReader, read_fully};
use crate::error::ReadError;
use crate::limits::Limits;
use crate::names::Names;
use crate::source::{Compression, Source};
use crate::text_reader::TextReader;

/// How the events of a trace are written down.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// One event per line.
    Text,
    /// Blocks of bytes with checksums.
    Binary,
}

/// Reads a trace: text or binary, compressed or not, as its first bytes tell.
///
/// ```
/// use fencepost_trace::TraceReader;
///
/// let text: &[u8] = b"T0 st x =1 @mp.c:3\nT1 ld x =1\n";
/// let mut reader = TraceReader::open(text)?;
/// let mut batch = Vec::new();
/// let mut events = 0;
/// while reader.next_batch(&mut batch)? {
///     events += batch.len();
/// }
/// assert_eq!(events, 2);
/// assert_eq!(reader.names().address_count(), 1);
/// # Ok::<(), fencepost_trace::ReadError>(())
/// ```
pub struct TraceReader {
    source: Source,
    decoder: Decoder,
    names: Names,
    events: u64,
    state: State,
}

/// The format is dispatched once per batch, not once per event.
enum Decoder {
    Text(TextReader),
    Binary(Box<BinaryReader>),
}

enum State {
    Reading,
    /// An error that comes after the accesses of the last batch.
    Failing(ReadError),
    Failed,
}

/// The most accesses in a batch: 64 KiB, which fit the second-level cache.
pub const BATCH_LENGTH: usize = 2048;

impl TraceReader {
    /// Opens a trace with the default limits.
    pub fn open(input: impl Read + Send + 'static) -> Result<Self, ReadError> {
        Self::open_with(input, &Limits::default())
    }

    /// Opens a trace.
    pub fn open_with(
        input: impl Read + Send + 'static,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        let mut source = Source::open(Box::new(input), limits)?;
        let mut first = [0; BINARY_MAGIC.len()];
        let count = read_fully(&mut source, &mut first)?;
        let first = &first[..count];
        // The first magic byte never begins UTF-8 text.
        let decoder = match first.first() == Some(&BINARY_MAGIC[0]) {
            true => Decoder::Binary(Box::new(BinaryReader::open(first, &mut source)?)),
            false => Decoder::Text(TextReader::new(first)),
        };
        Ok(TraceReader {
            source,
            decoder,
            names: Names::with_limits(*limits),
            events: 0,
            state: State::Reading,
        })
    }

    /// Opens the trace in a file, or on standard input if `path` is `-`.
    pub fn open_path(path: &Path, limits: &Limits) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            return Self::open_with(io::stdin(), limits);
        }
        let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => Ok(file),
        });
        let file = opened.map_err(|source| ReadError::Open {
            path: path.to_path_buf(),
            source,
        })?;
        Self::open_with(file, limits)
    }

    /// Replaces the contents of `batch` by the next accesses: at least one and at
    /// most [`BATCH_LENGTH`]. At the end of the trace, `false` and none.
    ///
    /// All accesses before an error are delivered before it.
    pub fn next_batch(&mut self, batch: &mut Vec<Access>) -> Result<bool, ReadError> {
        batch.clear();
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Reading => {}
            State::Failing(error) => return Err(error),
            State::Failed => return Err(ReadError::AfterError),
        }
        let (source, names) = (&mut self.source, &mut self.names);
        let result = match &mut self.decoder {
            Decoder::Text(reader) => reader.read(source, names, batch, BATCH_LENGTH),
            Decoder::Binary(reader) => reader.read(source, names, batch, BATCH_LENGTH),
        };
        self.events += batch.len() as u64;
        let more = match result {
            Ok(more) => more,
            Err(error) if batch.is_empty() => return Err(error),
            Err(error) => {
                self.state = State::Failing(error);
                return Ok(true);
            }
        };
        self.state = State::Reading;
        Ok(more)
    }

    /// Reads the rest of the trace into memory, for short traces.
    pub fn read_to_end(&mut self) -> Result<Vec<Access>, ReadError> {
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while self.next_batch(&mut batch)? {
            all.extend_from_slice(&batch);
        }
        Ok(all)
    }

    /// The names met so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The names, when the trace has been read.
    pub fn into_names(self) -> Names {
        self.names
    }

    /// How many accesses have been delivered.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The format of the trace.
    pub fn format(&self) -> Format {
        match self.decoder {
            Decoder::Text(_) => Format::Text,
            Decoder::Binary(_) => Format::Binary,
        }
    }

    /// How the trace is compressed.
    pub fn compression(&self) -> Compression {
        self.source.compression()
    }

    /// Whether the input, decompressed, has had nothing in it so far: no line and no block.
    pub fn is_blank(&self) -> bool {
        match &self.decoder {
            Decoder::Text(reader) => reader.lines() == 0,
            Decoder::Binary(_) => false,
        }
    }

    /// How many bytes of the file itself have been read, to show progress by.
    pub fn bytes_consumed(&self) -> u64 {
        self.source.consumed()
    }

    /// The bytes taken by what is remembered of the trace: names and last values.
    pub fn memory(&self) -> u64 {
        let values = match &self.decoder {
            Decoder::Text(reader) => reader.memory(),
            Decoder::Binary(reader) => reader.memory(),
        };
        self.names.memory() + values
    }
}
