//! Mistakes in binary traces: what, at which byte, and what was expected.

use thiserror::Error;

use crate::binary::{BINARY_VERSION, MAX_PAYLOAD_BYTES};
use crate::names::NameProblem;

/// An error in a binary trace. Offsets are bytes of the decompressed file, from 0.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum BinaryError {
    /// The first byte is that of a binary trace, but the next seven are not.
    #[error(
        "byte {offset}: found 0x{found:02x} in the magic bytes, expected 0x{expected:02x} \
         (89 46 50 54 0d 0a 1a 0a)"
    )]
    Magic {
        /// Where.
        offset: u64,
        /// The byte.
        found: u8,
        /// The expected bytes.
        expected: u8,
    },
    /// A version that we do not know.
    #[error(
        "byte {offset}: unknown version {found} of the binary format, expected {BINARY_VERSION}"
    )]
    UnsupportedVersion {
        /// Where.
        offset: u64,
        /// The version.
        found: u16,
    },
    /// The file ends too early.
    #[error("byte {offset}: the trace ends here, expected {expected}")]
    Truncated {
        /// How long the file is.
        offset: u64,
        /// The missing part.
        expected: &'static str,
    },
    /// A kind of block that we do not know.
    #[error("byte {offset}: unknown block kind {found}, expected 1 (names), 2 (events) or 3 (end)")]
    UnknownBlock {
        /// Where the block begins.
        offset: u64,
        /// The kind.
        found: u8,
    },
    /// A block longer than [`MAX_PAYLOAD_BYTES`].
    #[error("byte {offset}: block of {found} bytes, expected at most {MAX_PAYLOAD_BYTES}")]
    BlockTooLong {
        /// Where the length stands.
        offset: u64,
        /// The length.
        found: u32,
    },
    /// A block that was changed after it was written.
    #[error(
        "byte {offset}: block with checksum 0x{found:08x}, expected 0x{expected:08x} for its \
         contents"
    )]
    Checksum {
        /// Where the block begins.
        offset: u64,
        /// The checksum in the file.
        found: u32,
        /// The checksum of the block.
        expected: u32,
    },
    /// A definition that we do not know.
    #[error("byte {offset}: unknown definition {found} in a names block, expected 1 to 5")]
    UnknownDefinition {
        /// Where.
        offset: u64,
        /// Its tag.
        found: u8,
    },
    /// A code for no operation.
    #[error("byte {offset}: unknown operation code {found}, expected 0 to 6")]
    UnknownOperation {
        /// Where the event begins.
        offset: u64,
        /// The code.
        found: u8,
    },
    /// Bits that have no meaning yet are set.
    #[error("byte {offset}: event byte 0x{found:02x}, expected its three highest bits to be 0")]
    ReservedBits {
        /// Where the event begins.
        offset: u64,
        /// The byte.
        found: u8,
    },
    /// A fence or barrier with a value.
    #[error("byte {offset}: an event without address has a value, expected none")]
    ValueWithoutAddress {
        /// Where the event begins.
        offset: u64,
    },
    /// A block ends in the middle of something.
    #[error("byte {offset}: the block ends here, expected {expected}")]
    BlockEnds {
        /// Where the block ends.
        offset: u64,
        /// The missing part.
        expected: &'static str,
    },
    /// A number that could be written with fewer bytes.
    #[error("byte {offset}: overlong number, expected the shortest LEB128 encoding")]
    OverlongNumber {
        /// Where the number begins.
        offset: u64,
    },
    /// A number beyond its width.
    #[error("byte {offset}: number too large, expected at most {bits} bits")]
    NumberTooLarge {
        /// Where the number begins.
        offset: u64,
        /// How wide it may be.
        bits: u32,
    },
    /// The index of something that was not defined before.
    #[error(
        "byte {offset}: {what} {found} is not defined, expected an index below {defined} \
         (definitions come first)"
    )]
    Undefined {
        /// Where the index stands.
        offset: u64,
        /// `thread`, `address` or `location`.
        what: &'static str,
        /// The index.
        found: u64,
        /// How many are defined.
        defined: u32,
    },
    /// A name that is not UTF-8.
    #[error("byte {offset}: byte 0x{byte:02x} in a name is not UTF-8, expected UTF-8")]
    NameNotUtf8 {
        /// Where the byte is.
        offset: u64,
        /// The byte.
        byte: u8,
    },
    /// A string that cannot be a name.
    #[error("byte {offset}: not the name of {what}: {problem}")]
    BadName {
        /// Where the name begins.
        offset: u64,
        /// `an address` or `a location`.
        what: &'static str,
        /// Why.
        problem: NameProblem,
    },
    /// Two threads, addresses or locations of one name.
    #[error("byte {offset}: {what} `{name}` is defined a second time, expected each name once")]
    DefinedTwice {
        /// Where the definition begins.
        offset: u64,
        /// `thread`, `address` or `location`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The end block is not of the right length.
    #[error("byte {offset}: end block of {found} bytes, expected 8")]
    EndLength {
        /// Where the block begins.
        offset: u64,
        /// The length.
        found: u32,
    },
    /// The number of events in the end block is not the number of events.
    #[error("byte {offset}: the end block tells {found} events, expected {counted} as were read")]
    WrongTotal {
        /// Where the number stands.
        offset: u64,
        /// The number.
        found: u64,
        /// How many events there were.
        counted: u64,
    },
    /// Something follows the end block.
    #[error("byte {offset}: more bytes after the end block, expected the end of the file")]
    TrailingBytes {
        /// Where they begin.
        offset: u64,
    },
    /// A load does not read the last value of its address.
    #[error(
        "not a sequentially consistent interleaving: event {event} reads {read} from `{address}`, \
         expected {held} as event {known_at} {}",
        if *known_by_write { "wrote" } else { "read" }
    )]
    ReadsOtherValue {
        /// The number of the load among the events, from 1.
        event: u64,
        /// The name of the address.
        address: String,
        /// The value that the load read.
        read: u64,
        /// The value of the address.
        held: u64,
        /// The event that has this value, from 1.
        known_at: u64,
        /// Whether that is a write; otherwise it is an earlier load.
        known_by_write: bool,
    },
}

impl BinaryError {
    /// The offset of the error in bytes; none for events with wrong values, which have a number instead.
    pub fn offset(&self) -> Option<u64> {
        match *self {
            BinaryError::Magic { offset, .. }
            | BinaryError::UnsupportedVersion { offset, .. }
            | BinaryError::Truncated { offset, .. }
            | BinaryError::UnknownBlock { offset, .. }
            | BinaryError::BlockTooLong { offset, .. }
            | BinaryError::Checksum { offset, .. }
            | BinaryError::UnknownDefinition { offset, .. }
            | BinaryError::UnknownOperation { offset, .. }
            | BinaryError::ReservedBits { offset, .. }
            | BinaryError::ValueWithoutAddress { offset }
            | BinaryError::BlockEnds { offset, .. }
            | BinaryError::OverlongNumber { offset }
            | BinaryError::NumberTooLarge { offset, .. }
            | BinaryError::Undefined { offset, .. }
            | BinaryError::NameNotUtf8 { offset, .. }
            | BinaryError::BadName { offset, .. }
            | BinaryError::DefinedTwice { offset, .. }
            | BinaryError::EndLength { offset, .. }
            | BinaryError::WrongTotal { offset, .. }
            | BinaryError::TrailingBytes { offset } => Some(offset),
            BinaryError::ReadsOtherValue { .. } => None,
        }
    }

    /// How to fix it.
    pub fn hint(&self) -> &'static str {
        match self {
            BinaryError::Magic { .. } => {
                "the file may have been transferred as text, which changes line ends"
            }
            BinaryError::UnsupportedVersion { .. } => {
                "this build reads version 1 of the binary format; convert the trace with the \
                 build that wrote it"
            }
            BinaryError::Truncated { .. } => {
                "the program that wrote the trace may have been stopped before it finished"
            }
            BinaryError::Checksum { .. } => "the file was damaged, or its writer is wrong",
            BinaryError::ReadsOtherValue { .. } => {
                "record the events in the order in which they reached memory, or leave the values \
                 out"
            }
            _ => "docs/trace-format.md describes the binary format",
        }
    }
}
