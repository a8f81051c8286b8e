//! Writing a trace of any format, as the name of the file asks for.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use fencepost_memory::Access;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::binary_writer::BinaryWriter;
use crate::error::WriteError;
use crate::names::Names;
use crate::reader::Format;
use crate::source::Compression;
use crate::text_writer::TextWriter;

/// Format and compression of a trace to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputFormat {
    /// How the events are written down.
    pub format: Format,
    /// How the bytes are compressed.
    pub compression: Compression,
}

impl OutputFormat {
    /// The format for a file name: `.fpt` is binary and anything else text;
    /// a further `.gz` or `.zst` compresses. `-` is plain text.
    ///
    /// ```
    /// use fencepost_trace::{Compression, Format, OutputFormat};
    ///
    /// let asked = OutputFormat::of_path("run.fpt.gz".as_ref())?;
    /// assert_eq!((asked.format, asked.compression), (Format::Binary, Compression::Gzip));
    /// # Ok::<(), fencepost_trace::WriteError>(())
    /// ```
    pub fn of_path(path: &Path) -> Result<Self, WriteError> {
        let last = extension(path);
        let (compression, stem) = match last.as_str() {
            "gz" => (Compression::Gzip, path.file_stem()),
            "zst" => (Compression::Zstd, path.file_stem()),
            "bz2" | "lz4" | "xz" | "zip" | "br" | "z" => {
                return Err(WriteError::UnsupportedCompression {
                    path: path.to_path_buf(),
                    extension: last,
                });
            }
            _ => (Compression::None, path.file_name()),
        };
        let format = match extension(stem.unwrap_or_default().as_ref()) == "fpt" {
            true => Format::Binary,
            false => Format::Text,
        };
        Ok(OutputFormat {
            format,
            compression,
        })
    }
}

fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_ascii_lowercase()
}

/// Writes a trace in the format chosen at run time.
pub struct TraceWriter {
    encoder: Encoder,
}

enum Encoder {
    Text(TextWriter<Output>),
    Binary(BinaryWriter<Output>),
}

impl TraceWriter {
    /// Creates the file `path` in the format that its name asks for; `-` is standard output.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let format = OutputFormat::of_path(path)?;
        if path.as_os_str() == "-" {
            return Ok(Self::new(io::stdout(), format));
        }
        let file = File::create(path).map_err(|source| WriteError::Create {
            path: path.to_path_buf(),
            source,
        })?;
        Ok(Self::new(file, format))
    }

    /// A writer to `output`, which need not be buffered.
    pub fn new(output: impl Write + Send + 'static, format: OutputFormat) -> Self {
        let output: Box<dyn Write + Send> = Box::new(output);
        let output = match format.compression {
            Compression::None => Output::Plain(output),
            Compression::Gzip => {
                let level = flate2::Compression::fast();
                Output::Gzip(GzEncoder::new(output, level))
            }
            Compression::Zstd => Output::Zstd(ZstdFrames::new(output)),
        };
        let encoder = match format.format {
            Format::Text => Encoder::Text(TextWriter::new(output)),
            Format::Binary => Encoder::Binary(BinaryWriter::new(output)),
        };
        TraceWriter { encoder }
    }

    /// Writes some accesses, whose numbers are those of `names`. From call to call
    /// `names` may grow, but must otherwise stay the same.
    pub fn write(&mut self, names: &Names, accesses: &[Access]) -> Result<(), WriteError> {
        match &mut self.encoder {
            Encoder::Text(writer) => writer.write(names, accesses),
            Encoder::Binary(writer) => writer.write(names, accesses),
        }
    }

    /// Completes the trace.
    pub fn finish(self) -> Result<(), WriteError> {
        let output = match self.encoder {
            Encoder::Text(writer) => writer.finish()?,
            Encoder::Binary(writer) => writer.finish()?,
        };
        output.finish()
    }
}

/// The output, compressed on the way.
enum Output {
    Plain(Box<dyn Write + Send>),
    Gzip(GzEncoder<Box<dyn Write + Send>>),
    Zstd(ZstdFrames),
}

impl Output {
    fn finish(self) -> Result<(), WriteError> {
        let mut output = match self {
            Output::Plain(output) => output,
            Output::Gzip(encoder) => encoder.finish()?,
            Output::Zstd(frames) => frames.finish()?,
        };
        output.flush()?;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(output) => output.write(bytes),
            Output::Gzip(encoder) => encoder.write(bytes),
            Output::Zstd(frames) => frames.write(bytes),
        }
    }

    /// Compressed output is only flushed by finishing it: a flush in between would
    /// cost compression and gain nothing.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(output) => output.flush(),
            Output::Gzip(_) | Output::Zstd(_) => Ok(()),
        }
    }
}

/// Writes a Zstandard frame per megabyte. The encoder wants to pull all of its
/// input and panics when its output fails, so it only ever sees memory.
struct ZstdFrames {
    output: Box<dyn Write + Send>,
    pending: Vec<u8>,
}

const FRAME_BYTES: usize = 1 << 20;

impl ZstdFrames {
    fn new(output: Box<dyn Write + Send>) -> Self {
        ZstdFrames {
            output,
            pending: Vec::with_capacity(FRAME_BYTES),
        }
    }

    fn end_frame(&mut self) -> io::Result<()> {
        let frame = compress_to_vec(self.pending.as_slice(), CompressionLevel::Fastest);
        self.pending.clear();
        self.output.write_all(&frame)
    }

    fn finish(mut self) -> io::Result<Box<dyn Write + Send>> {
        if !self.pending.is_empty() {
            self.end_frame()?;
        }
        Ok(self.output)
    }
}

impl Write for ZstdFrames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(FRAME_BYTES - self.pending.len());
        self.pending.extend_from_slice(&bytes[..taken]);
        if self.pending.len() == FRAME_BYTES {
            self.end_frame()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Refuses what no reader would accept.
#[inline]
pub(crate) fn check_access(names: &Names, access: &Access, event: u64) -> Result<(), WriteError> {
    let unknown = |what, number, known| {
        Err(WriteError::UnknownName {
            event,
            what,
            number,
            known,
        })
    };
    if access.thread.0 >= names.thread_count() {
        return unknown("thread", access.thread.0, names.thread_count());
    }
    match access.operation.address() {
        Some(address) if address.0 >= names.address_count() => {
            return unknown("address", address.0, names.address_count());
        }
        None if access.value.is_some() => return Err(WriteError::ValueWithoutAddress { event }),
        _ => {}
    }
    match access.location {
        Some(location) if location.index() >= names.location_count() as usize => {
            unknown("location", location.index() as u32, names.location_count())
        }
        _ => Ok(()),
    }
}
