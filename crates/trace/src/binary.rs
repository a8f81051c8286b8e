//! The bytes of the binary format, as `docs/trace-format.md` describes them.
//!
//! A file is the magic, the version, and blocks. Each block has a header of nine
//! bytes (kind, length and checksum) and a payload. Names come before their use,
//! and an end block with the number of events shows that nothing is missing.

use fencepost_memory::OperationKind;

/// The first bytes of a binary trace. As in PNG, they show at once when a file
/// was mistaken for text: a byte above 127, both line ends, and a control-Z.
pub const BINARY_MAGIC: [u8; 8] = *b"\x89FPT\r\n\x1a\n";

/// The version of the binary format.
pub const BINARY_VERSION: u16 = 1;

/// The largest payload of a block.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// Kind, payload length and checksum.
pub(crate) const BLOCK_HEADER_BYTES: usize = 9;

/// The kinds of blocks.
pub(crate) mod block {
    pub(crate) const NAMES: u8 = 1;
    pub(crate) const EVENTS: u8 = 2;
    pub(crate) const END: u8 = 3;
}

/// The definitions in a names block.
pub(crate) mod definition {
    /// The number of a thread.
    pub(crate) const THREAD: u8 = 1;
    /// The length and the bytes of an address's name.
    pub(crate) const ADDRESS: u8 = 2;
    /// The length and the bytes of a location's name.
    pub(crate) const LOCATION: u8 = 3;
    /// How many threads to define that are called by their index.
    pub(crate) const NAMELESS_THREADS: u8 = 4;
    /// How many addresses to define that are called by their index.
    pub(crate) const NAMELESS_ADDRESSES: u8 = 5;
}

/// The bits of the first byte of an event.
pub(crate) mod event {
    pub(crate) const KIND: u8 = 0b0000_0111;
    pub(crate) const HAS_VALUE: u8 = 0b0000_1000;
    pub(crate) const HAS_LOCATION: u8 = 0b0001_0000;
    pub(crate) const RESERVED: u8 = 0b1110_0000;
}

/// The kind of operation with this code.
#[inline]
pub(crate) fn operation_kind(code: u8) -> Option<OperationKind> {
    OperationKind::ALL.get(usize::from(code)).copied()
}

/// The checksum of a block: CRC-32 (as in gzip) of its kind, length and payload.
pub(crate) fn checksum(kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    let length = payload.len() as u32;
    hasher.update(&[kind]);
    hasher.update(&length.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// Appends a block.
pub(crate) fn push_block(output: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    debug_assert!(payload.len() <= MAX_PAYLOAD_BYTES);
    output.push(kind);
    output.extend((payload.len() as u32).to_le_bytes());
    output.extend(checksum(kind, payload).to_le_bytes());
    output.extend(payload);
}
