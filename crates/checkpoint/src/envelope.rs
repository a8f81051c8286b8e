//! A serde value with a header that says what it is, and a checksum.
//!
//! All numbers are little-endian:
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 8 | magic number `FENCPOST` |
//! | 8 | 4 | kind |
//! | 12 | 4 | format version of that kind |
//! | 16 | 8 | length of the payload |
//! | 24 | 4 | CRC-32 of the bytes before and after this field |
//! | 28 | | payload: the value in postcard format |

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

pub(crate) const MAGIC: [u8; 8] = *b"FENCPOST";

/// The bytes that the checksum covers before its own place.
const SUMMED: usize = 24;

/// The bytes before the payload.
pub(crate) const HEADER_BYTES: usize = SUMMED + 4;

/// What a checkpoint is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A check of a program: its exploration, settings and names.
    Check,
    /// An exploration by itself, as the explorer saves it.
    Exploration,
    /// A search through the states of a Murphi model.
    ProtocolSearch,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Check, Kind::Exploration, Kind::ProtocolSearch];

    /// Tags are never reused.
    fn tag(self) -> [u8; 4] {
        match self {
            Kind::Check => *b"CHCK",
            Kind::Exploration => *b"EXPL",
            Kind::ProtocolSearch => *b"MURP",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Check => "a check",
            Kind::Exploration => "an exploration",
            Kind::ProtocolSearch => "a protocol search",
        })
    }
}

/// Why bytes are not the checkpoint that was expected. Messages complete "cannot resume: …".
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The magic number is missing.
    #[error("not a Fencepost checkpoint")]
    NotACheckpoint,
    /// A checkpoint of something else.
    #[error("expected a checkpoint of {expected}, found one of {}", kind_text(.found))]
    OtherKind {
        /// What the caller can resume.
        expected: Kind,
        /// What the checkpoint is of; `None` for a kind that this version does not know.
        found: Option<Kind>,
    },
    /// The format of this kind of checkpoint has changed since.
    #[error(
        "written by another version of Fencepost (format {found}; this version reads format {expected})"
    )]
    OtherVersion {
        /// The format version that the caller reads.
        expected: u32,
        /// The format version in the checkpoint.
        found: u32,
    },
    /// The header of a stream is announced to be larger than any that is written.
    #[error("the checkpoint is damaged or of another kind (its header is too large)")]
    HeaderTooLarge,
    /// The bytes end before the checkpoint does.
    #[error("the checkpoint is truncated")]
    Truncated,
    /// The checksum differs.
    #[error("the checkpoint is damaged (checksum mismatch)")]
    Damaged,
    /// The checksum matches, but the payload is not a value of the expected type.
    #[error("the checkpoint is damaged (malformed contents)")]
    Malformed,
    /// There are bytes after the end of the checkpoint.
    #[error("the checkpoint is damaged (unexpected bytes after its end)")]
    TrailingBytes,
}

fn kind_text(kind: &Option<Kind>) -> String {
    match kind {
        Some(kind) => kind.to_string(),
        None => "an unknown kind".to_owned(),
    }
}

/// Puts a value into an envelope.
///
/// # Panics
///
/// If the value cannot be serialized, which is a bug in its `Serialize` implementation: postcard
/// refuses only sequences of unknown length and errors that the implementation itself returns.
pub fn seal<T: Serialize + ?Sized>(kind: Kind, version: u32, value: &T) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&kind.tag());
    bytes[12..16].copy_from_slice(&version.to_le_bytes());
    let mut bytes = match postcard::to_extend(value, bytes) {
        Ok(bytes) => bytes,
        Err(error) => panic!("the checkpoint of {kind} cannot be serialized: {error}"),
    };
    let length = (bytes.len() - HEADER_BYTES) as u64;
    bytes[16..SUMMED].copy_from_slice(&length.to_le_bytes());
    let checksum = checksum(&bytes);
    bytes[SUMMED..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Returns the value that [`seal`] put into these bytes.
pub fn open<T: DeserializeOwned>(kind: Kind, version: u32, bytes: &[u8]) -> Result<T, OpenError> {
    let payload_length = payload_length(bytes)?;
    let found = (bytes.len() - HEADER_BYTES) as u64;
    if found < payload_length {
        return Err(OpenError::Truncated);
    }
    if found > payload_length {
        return Err(OpenError::TrailingBytes);
    }
    if checksum(bytes) != le_u32(&bytes[SUMMED..]) {
        return Err(OpenError::Damaged);
    }
    // From here on the header can be believed.
    if bytes[8..12] != kind.tag() {
        let known = |kind: &Kind| bytes[8..12] == kind.tag();
        return Err(OpenError::OtherKind {
            expected: kind,
            found: Kind::ALL.into_iter().find(known),
        });
    }
    let found = le_u32(&bytes[12..]);
    if found != version {
        return Err(OpenError::OtherVersion {
            expected: version,
            found,
        });
    }
    match postcard::take_from_bytes(&bytes[HEADER_BYTES..]) {
        Ok((value, [])) => Ok(value),
        Ok(_) | Err(_) => Err(OpenError::Malformed),
    }
}

/// The length of the payload that a header announces. It may be wrong; the checksum is not checked
/// yet.
pub(crate) fn payload_length(bytes: &[u8]) -> Result<u64, OpenError> {
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC.starts_with(magic) || bytes.is_empty() {
        return Err(OpenError::NotACheckpoint);
    }
    match bytes.get(16..HEADER_BYTES) {
        Some(field) => Ok(u64::from_le_bytes(
            field[..8].try_into().unwrap_or_default(),
        )),
        None => Err(OpenError::Truncated),
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..SUMMED]);
    hasher.update(&bytes[HEADER_BYTES..]);
    hasher.finalize()
}

pub(crate) fn le_u32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
