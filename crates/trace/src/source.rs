//! Where the bytes of a trace come from: a file or a pipe, decompressed on the way.
//!
//! Compression is recognised by the first bytes, so it works on pipes and does not
//! depend on file names. Both decompressors work in a bounded window: a small file
//! that expands without end is a long trace, never a large allocation.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use thiserror::Error;

use crate::error::ReadError;
use crate::limits::{Limit, LimitReached, Limits, Position};

/// How the bytes of a trace file are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, with any number of members.
    Gzip,
    /// Zstandard, with any number of frames.
    Zstd,
}

/// Why compressed bytes could not be decompressed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum CompressionError {
    /// The file ends too early.
    #[error(
        "byte {offset}: the {format} data ends in the middle; expected more of it (was the file \
         cut short?)"
    )]
    Truncated {
        /// `gzip` or `zstd`.
        format: &'static str,
        /// How long the file is.
        offset: u64,
    },
    /// The bytes are not what the format prescribes, or a checksum does not match.
    #[error("the {format} data before byte {offset} is corrupt: {reason}")]
    Corrupt {
        /// `gzip` or `zstd`.
        format: &'static str,
        /// How far the file had been read.
        offset: u64,
        /// The error of the decompressor.
        reason: String,
    },
    /// A format that is recognised but not read.
    #[error(
        "byte 0: the file is compressed with {format}; expected a trace, or one compressed with \
         gzip or zstd"
    )]
    Unsupported {
        /// The format's name.
        format: &'static str,
    },
}

/// The decompressed bytes of a trace.
pub(crate) struct Source {
    stream: Stream,
    meter: Arc<Meter>,
    compression: Compression,
    /// Decompressed bytes delivered.
    delivered: u64,
}

type Input = BufReader<Metered>;

enum Stream {
    Plain(Input),
    Gzip(Box<MultiGzDecoder<Input>>),
    Zstd(Box<ZstdStream>),
}

/// The state of the raw input while a decompressor owns it.
#[derive(Default)]
struct Meter {
    consumed: AtomicU64,
    at_end: AtomicBool,
    /// A failure of the input itself, set aside so that it is not mistaken for
    /// corrupt data after a decompressor has wrapped it.
    failure: Mutex<Option<io::Error>>,
}

impl Meter {
    fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    fn take_failure(&self) -> Option<io::Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }
}

/// The raw input, with the bytes that were read to recognise the format put back.
struct Metered {
    put_back: io::Cursor<Vec<u8>>,
    input: Box<dyn Read + Send>,
    meter: Arc<Meter>,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let returned = self.put_back.read(buffer)?;
        if returned > 0 {
            return Ok(returned);
        }
        loop {
            match self.input.read(buffer) {
                Ok(count) => {
                    self.meter
                        .consumed
                        .fetch_add(count as u64, Ordering::Relaxed);
                    if count == 0 && !buffer.is_empty() {
                        self.meter.at_end.store(true, Ordering::Relaxed);
                    }
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let kind = error.kind();
                    let failure = &self.meter.failure;
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return Err(kind.into());
                }
            }
        }
    }
}

/// How many bytes tell the formats apart.
const SNIFFED_BYTES: usize = 6;

/// Larger than a pipe's buffer, to make few system calls.
const INPUT_BUFFER_BYTES: usize = 128 << 10;

impl Source {
    /// Recognises the compression of `input` by its first bytes.
    pub(crate) fn open(input: Box<dyn Read + Send>, limits: &Limits) -> Result<Self, ReadError> {
        let meter = Arc::new(Meter::default());
        let mut metered = Metered {
            put_back: io::Cursor::default(),
            input,
            meter: meter.clone(),
        };
        let mut first = Vec::new();
        let sniffed = (&mut metered)
            .take(SNIFFED_BYTES as u64)
            .read_to_end(&mut first);
        if let Err(error) = sniffed {
            return Err(ReadError::Io(meter.take_failure().unwrap_or(error)));
        }
        let compression = recognise(&first)?;
        metered.put_back = io::Cursor::new(first);
        let input = BufReader::with_capacity(INPUT_BUFFER_BYTES, metered);
        let stream = match compression {
            Compression::None => Stream::Plain(input),
            Compression::Gzip => Stream::Gzip(Box::new(MultiGzDecoder::new(input))),
            Compression::Zstd => Stream::Zstd(Box::new(ZstdStream::new(input, limits))),
        };
        Ok(Source {
            stream,
            meter,
            compression,
            delivered: 0,
        })
    }

    /// The next bytes, at most `buffer.len()`; 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let result = match &mut self.stream {
            Stream::Plain(input) => input.read(buffer).map_err(StreamError::Io),
            Stream::Gzip(decoder) => decoder.read(buffer).map_err(StreamError::Io),
            Stream::Zstd(stream) => stream.read(buffer),
        };
        match result {
            Ok(count) => {
                self.delivered += count as u64;
                Ok(count)
            }
            Err(error) => Err(self.explain(error)),
        }
    }

    /// Tells a failing input, a truncated one and a corrupt one apart.
    fn explain(&self, error: StreamError) -> ReadError {
        if let Some(failure) = self.meter.take_failure() {
            return ReadError::Io(failure);
        }
        let format = match self.compression {
            Compression::None => match error {
                StreamError::Io(error) => return ReadError::Io(error),
                _ => "uncompressed",
            },
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        };
        let offset = self.meter.consumed();
        let reason = match error {
            StreamError::Window { wanted, allowed } => {
                return ReadError::Limit(LimitReached {
                    limit: Limit::Window { wanted, allowed },
                    position: Position::Byte(self.delivered),
                });
            }
            _ if self.meter.at_end.load(Ordering::Relaxed) => {
                return CompressionError::Truncated { format, offset }.into();
            }
            StreamError::Io(error) => error.to_string(),
            StreamError::Zstd(reason) => reason,
        };
        CompressionError::Corrupt {
            format,
            offset,
            reason,
        }
        .into()
    }

    /// How the input is compressed.
    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// How many bytes of the input itself have been read, for showing progress.
    pub(crate) fn consumed(&self) -> u64 {
        self.meter.consumed()
    }
}

fn recognise(first: &[u8]) -> Result<Compression, CompressionError> {
    let unsupported = |format| Err(CompressionError::Unsupported { format });
    match first {
        [0x1f, 0x8b, ..] => Ok(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Ok(Compression::Zstd),
        // A skippable frame, which may come first.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Ok(Compression::Zstd),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => unsupported("xz"),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, ..] => unsupported("bzip2"),
        [b'P', b'K', 3, 4, ..] => unsupported("zip"),
        [0x04, 0x22, 0x4d, 0x18, ..] => unsupported("lz4"),
        _ => Ok(Compression::None),
    }
}

enum StreamError {
    Io(io::Error),
    Window { wanted: u64, allowed: u64 },
    Zstd(String),
}

/// Any number of Zstandard frames, one after the other.
struct ZstdStream {
    input: Input,
    decoder: FrameDecoder,
    within_frame: bool,
}

impl ZstdStream {
    fn new(input: Input, limits: &Limits) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(limits.max_window_bytes);
        ZstdStream {
            input,
            decoder,
            within_frame: false,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        loop {
            if !self.within_frame {
                if self.input.fill_buf().map_err(StreamError::Io)?.is_empty() {
                    return Ok(0);
                }
                self.begin_frame()?;
            } else if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer).map_err(StreamError::Io);
            } else if self.decoder.is_finished() {
                self.end_frame()?;
            } else {
                // One block at a time: at most 128 KiB beyond the window are held.
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.input, one);
                decoded.map_err(|error| StreamError::Zstd(error.to_string()))?;
            }
        }
    }

    fn begin_frame(&mut self) -> Result<(), StreamError> {
        use FrameDecoderError as Frame;
        match self.decoder.reset(&mut self.input) {
            Ok(()) => {
                self.within_frame = true;
                Ok(())
            }
            Err(Frame::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let mut skipped = (&mut self.input).take(u64::from(length));
                let count = io::copy(&mut skipped, &mut io::sink()).map_err(StreamError::Io)?;
                match count == u64::from(length) {
                    true => Ok(()),
                    false => Err(StreamError::Zstd("a skippable frame is cut off".into())),
                }
            }
            Err(Frame::WindowSizeTooBig { requested, max }) => Err(StreamError::Window {
                wanted: requested,
                allowed: max,
            }),
            Err(error) => Err(StreamError::Zstd(error.to_string())),
        }
    }

    /// The decoder computes the checksum but leaves comparing it to us.
    fn end_frame(&mut self) -> Result<(), StreamError> {
        self.within_frame = false;
        match self.decoder.get_checksum_from_data() {
            Some(stored) if self.decoder.get_calculated_checksum() != Some(stored) => {
                Err(StreamError::Zstd("the checksum does not match".into()))
            }
            _ => Ok(()),
        }
    }
}
