//! A sealed header value followed by 64-bit words in blocks, for what is too large to be one value.
//!
//! The envelope of [`seal`] comes first. Then, for each block, the number of its words (32 bits, at
//! most [`BLOCK_WORDS`]), a CRC-32 and the words; a block of no words ends the stream. Each
//! checksum covers the stream from its beginning, so blocks that were dropped, repeated or
//! reordered are noticed, too. A reader never holds more than the header or one block, and never
//! returns a word whose checksum it has not checked.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::envelope::{HEADER_BYTES, Kind, OpenError, le_u32, open, payload_length, seal};

const BLOCK_WORDS: usize = 8192;

/// The largest header. What is larger belongs into words.
const MAX_HEADER_BYTES: u64 = 64 << 20;

const WORD: usize = size_of::<u64>();

/// Why a stream cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The contents are wrong.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The contents could not be read.
    #[error(transparent)]
    Io(io::Error),
}

/// Writes a header value and words.
pub struct StreamWriter<'w> {
    to: &'w mut dyn Write,
    block: Vec<u8>,
    hasher: crc32fast::Hasher,
}

impl<'w> StreamWriter<'w> {
    /// Writes the header. It must be small: an error if its payload has more than 64 MiB.
    pub fn new<T: Serialize + ?Sized>(
        to: &'w mut dyn Write,
        kind: Kind,
        version: u32,
        header: &T,
    ) -> io::Result<Self> {
        let header = seal(kind, version, header);
        if (header.len() - HEADER_BYTES) as u64 > MAX_HEADER_BYTES {
            let message = "the header of the checkpoint is too large";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        to.write_all(&header)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&header);
        Ok(StreamWriter {
            to,
            block: Vec::with_capacity(BLOCK_WORDS * WORD),
            hasher,
        })
    }

    /// Appends words.
    pub fn write(&mut self, words: &[u64]) -> io::Result<()> {
        for word in words {
            if self.block.len() == BLOCK_WORDS * WORD {
                self.write_block()?;
            }
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }

    /// Writes what is left and the end of the stream, and flushes.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        self.write_block()?;
        self.to.flush()
    }

    fn write_block(&mut self) -> io::Result<()> {
        let count = (self.block.len() / WORD) as u32;
        self.hasher.update(&count.to_le_bytes());
        self.hasher.update(&self.block);
        let checksum = self.hasher.clone().finalize();
        self.to.write_all(&count.to_le_bytes())?;
        self.to.write_all(&checksum.to_le_bytes())?;
        self.to.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }
}

/// Reads what a [`StreamWriter`] wrote.
pub struct StreamReader<'r> {
    from: &'r mut dyn Read,
    block: Vec<u8>,
    /// The bytes of the block that have been returned.
    used: usize,
    has_ended: bool,
    has_failed: bool,
    hasher: crc32fast::Hasher,
}

impl<'r> StreamReader<'r> {
    /// Reads the header.
    pub fn new<T: DeserializeOwned>(
        from: &'r mut dyn Read,
        kind: Kind,
        version: u32,
    ) -> Result<(Self, T), StreamError> {
        let mut header = Vec::new();
        read_up_to(from, HEADER_BYTES as u64, &mut header)?;
        let length = payload_length(&header)?;
        if length > MAX_HEADER_BYTES {
            return Err(OpenError::HeaderTooLarge.into());
        }
        read_up_to(from, length, &mut header)?;
        let value = open(kind, version, &header)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&header);
        let reader = StreamReader {
            from,
            block: Vec::new(),
            used: 0,
            has_ended: false,
            has_failed: false,
            hasher,
        };
        Ok((reader, value))
    }

    /// Fills `words` with the next ones.
    pub fn read(&mut self, words: &mut [u64]) -> Result<(), StreamError> {
        for word in words {
            if self.used == self.block.len() {
                self.read_block()?;
            }
            let bytes = &self.block[self.used..self.used + WORD];
            *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            self.used += WORD;
        }
        Ok(())
    }

    /// The next word.
    pub fn read_one(&mut self) -> Result<u64, StreamError> {
        let mut word = [0];
        self.read(&mut word)?;
        Ok(word[0])
    }

    /// Checks that everything has been read, and that the input ends with the stream.
    pub fn finish(mut self) -> Result<(), StreamError> {
        if self.used < self.block.len() {
            return Err(OpenError::Malformed.into());
        }
        if !self.has_ended && self.next_block()? {
            return Err(OpenError::Malformed.into());
        }
        let mut rest = Vec::new();
        match read_up_to(self.from, 1, &mut rest)? {
            0 => Ok(()),
            _ => Err(OpenError::TrailingBytes.into()),
        }
    }

    fn read_block(&mut self) -> Result<(), StreamError> {
        // More words are expected than were written: the checksums match, the contents do not.
        match !self.has_ended && self.next_block()? {
            true => Ok(()),
            false => Err(OpenError::Malformed.into()),
        }
    }

    /// Whether there is another block. After an error, nothing more can be read.
    fn next_block(&mut self) -> Result<bool, StreamError> {
        self.block.clear();
        self.used = 0;
        if self.has_failed {
            return Err(OpenError::Damaged.into());
        }
        let result = self.checked_block();
        if result.is_err() {
            self.has_failed = true;
            // Its checksum is wrong, or was not checked.
            self.block.clear();
        }
        result
    }

    fn checked_block(&mut self) -> Result<bool, StreamError> {
        let mut header = Vec::with_capacity(8);
        if read_up_to(self.from, 8, &mut header)? < 8 {
            return Err(OpenError::Truncated.into());
        }
        let count = le_u32(&header) as usize;
        if count > BLOCK_WORDS {
            return Err(OpenError::Damaged.into());
        }
        if read_up_to(self.from, (count * WORD) as u64, &mut self.block)? < count * WORD {
            return Err(OpenError::Truncated.into());
        }
        self.hasher.update(&header[..4]);
        self.hasher.update(&self.block);
        if self.hasher.clone().finalize() != le_u32(&header[4..]) {
            return Err(OpenError::Damaged.into());
        }
        self.has_ended = count == 0;
        Ok(count > 0)
    }
}

/// Appends at most `length` bytes, fewer only at the end of the input. Memory grows with what is
/// there, not with `length`.
fn read_up_to(from: &mut dyn Read, length: u64, to: &mut Vec<u8>) -> Result<usize, StreamError> {
    from.take(length).read_to_end(to).map_err(StreamError::Io)
}
