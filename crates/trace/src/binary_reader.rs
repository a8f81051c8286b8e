//! Reading binary traces, block by block.
//!
//! A block is checked as a whole before any of it is used, and is at most 1 MiB
//! long, so nothing in a file decides how much memory is taken.

use fencepost_diagnostics::quoted;
use fencepost_memory::{Access, Address, LocationId, ThreadId};

use crate::binary::{
    BINARY_MAGIC, BINARY_VERSION, BLOCK_HEADER_BYTES, MAX_PAYLOAD_BYTES, block, checksum,
    definition, event, operation_kind,
};
use crate::binary_error::BinaryError;
use crate::error::ReadError;
use crate::limits::{Limit, LimitReached, Position};
use crate::names::{NameError, Names};
use crate::source::Source;
use crate::values::{LastValues, ValueError};
use crate::varint::{self, VarintError};

/// Reads blocks and decodes them.
pub(crate) struct BinaryReader {
    /// The file offset of the next byte to read.
    offset: u64,
    /// The payload of the current events block, and how much of it is decoded.
    payload: Vec<u8>,
    decoded: usize,
    /// The file offset of the payload.
    payload_offset: u64,
    events: u64,
    finished: bool,
    values: LastValues,
}

impl BinaryReader {
    /// Checks the rest of the file header, of which `first` was already read.
    pub(crate) fn open(first: &[u8], source: &mut Source) -> Result<Self, ReadError> {
        let mut header = [0; BINARY_MAGIC.len() + 2];
        let first = &first[..first.len().min(header.len())];
        header[..first.len()].copy_from_slice(first);
        let count = first.len() + read_fully(source, &mut header[first.len()..])?;

        let magic = header[..count].iter().zip(&BINARY_MAGIC).enumerate();
        for (offset, (&found, &expected)) in magic {
            if found != expected {
                let offset = offset as u64;
                return Err(BinaryError::Magic {
                    offset,
                    found,
                    expected,
                }
                .into());
            }
        }
        if count < header.len() {
            return Err(truncated(count as u64, "a file header of 10 bytes"));
        }
        let found = u16::from_le_bytes([header[8], header[9]]);
        if found != BINARY_VERSION {
            let offset = BINARY_MAGIC.len() as u64;
            return Err(BinaryError::UnsupportedVersion { offset, found }.into());
        }
        Ok(BinaryReader {
            offset: header.len() as u64,
            payload: Vec::new(),
            decoded: 0,
            payload_offset: 0,
            events: 0,
            finished: false,
            values: LastValues::default(),
        })
    }

    /// Appends the next accesses to `batch`, at most `most`. `false` at the end of the trace.
    pub(crate) fn read(
        &mut self,
        source: &mut Source,
        names: &mut Names,
        batch: &mut Vec<Access>,
        most: usize,
    ) -> Result<bool, ReadError> {
        while self.decoded == self.payload.len() {
            if self.finished {
                return Ok(false);
            }
            self.read_block(source, names)?;
        }
        let mut flags = 0;
        let decoded = self.decode_events(names, batch, most, &mut flags);
        if flags & event::HAS_VALUE != 0 || self.values.any_known() {
            self.check_values(names, batch)?;
        }
        self.events += batch.len() as u64;
        decoded.map(|()| true)
    }

    /// Reads a block up to its end; an events block is left in `payload`.
    fn read_block(&mut self, source: &mut Source, names: &mut Names) -> Result<(), ReadError> {
        let start = self.offset;
        let mut header = [0; BLOCK_HEADER_BYTES];
        let count = read_fully(source, &mut header)?;
        self.offset += count as u64;
        match count {
            0 => return Err(truncated(start, "an end block")),
            BLOCK_HEADER_BYTES => {}
            _ => return Err(truncated(self.offset, "a block header of 9 bytes")),
        }
        let [kind, l0, l1, l2, l3, c0, c1, c2, c3] = header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        if !matches!(kind, block::NAMES | block::EVENTS | block::END) {
            return Err(BinaryError::UnknownBlock {
                offset: start,
                found: kind,
            }
            .into());
        }
        if length as usize > MAX_PAYLOAD_BYTES {
            return Err(BinaryError::BlockTooLong {
                offset: start + 1,
                found: length,
            }
            .into());
        }

        self.payload_offset = self.offset;
        self.payload.resize(length as usize, 0);
        self.decoded = self.payload.len();
        let count = read_fully(source, &mut self.payload)?;
        self.offset += count as u64;
        if count < self.payload.len() {
            return Err(truncated(self.offset, "the rest of a block"));
        }
        let (found, expected) = (
            u32::from_le_bytes([c0, c1, c2, c3]),
            checksum(kind, &self.payload),
        );
        if found != expected {
            return Err(BinaryError::Checksum {
                offset: start,
                found,
                expected,
            }
            .into());
        }
        match kind {
            block::NAMES => self.read_names(names),
            block::EVENTS => {
                self.decoded = 0;
                Ok(())
            }
            _ => self.read_end(source, start),
        }
    }

    fn read_end(&mut self, source: &mut Source, start: u64) -> Result<(), ReadError> {
        let Ok(total) = <[u8; 8]>::try_from(self.payload.as_slice()) else {
            return Err(BinaryError::EndLength {
                offset: start,
                found: self.payload.len() as u32,
            }
            .into());
        };
        let found = u64::from_le_bytes(total);
        if found != self.events {
            return Err(BinaryError::WrongTotal {
                offset: self.payload_offset,
                found,
                counted: self.events,
            }
            .into());
        }
        if read_fully(source, &mut [0])? > 0 {
            let offset = self.offset;
            return Err(BinaryError::TrailingBytes { offset }.into());
        }
        self.finished = true;
        Ok(())
    }

    /// Takes the definitions of a names block into `names`.
    fn read_names(&mut self, names: &mut Names) -> Result<(), ReadError> {
        let payload = std::mem::take(&mut self.payload);
        let mut fields = Fields {
            payload: &payload,
            at: 0,
            offset: self.payload_offset,
        };
        while fields.at < payload.len() {
            fields.read_definition(names)?;
        }
        self.payload = payload;
        self.decoded = self.payload.len();
        Ok(())
    }

    fn decode_events(
        &mut self,
        names: &Names,
        batch: &mut Vec<Access>,
        most: usize,
        flags: &mut u8,
    ) -> Result<(), ReadError> {
        let defined = Defined {
            threads: names.thread_count(),
            addresses: names.address_count(),
            locations: names.location_count(),
        };
        let payload = self.payload.as_slice();
        batch.reserve(most);
        while batch.len() < most && self.decoded < payload.len() {
            self.decoded += decode_plain_events(&payload[self.decoded..], &defined, batch, most);
            if batch.len() == most || self.decoded == payload.len() {
                break;
            }
            let mut fields = Fields {
                payload,
                at: self.decoded,
                offset: self.payload_offset,
            };
            *flags |= payload[self.decoded];
            batch.push(fields.read_event(&defined)?);
            self.decoded = fields.at;
        }
        Ok(())
    }

    fn check_values(&mut self, names: &Names, batch: &mut Vec<Access>) -> Result<(), ReadError> {
        let allowed = names.limits().max_name_bytes.saturating_sub(names.memory());
        for index in 0..batch.len() {
            let event = self.events + index as u64 + 1;
            let Err(error) = self.values.check(&batch[index], event, allowed) else {
                continue;
            };
            batch.truncate(index);
            return Err(match error {
                ValueError::Limit(limit) => at_byte(limit, self.payload_offset),
                ValueError::Mismatch(mismatch) => BinaryError::ReadsOtherValue {
                    event,
                    address: quoted(&names.address_name(mismatch.address)),
                    read: mismatch.read,
                    held: mismatch.held,
                    known_at: mismatch.known_at,
                    known_by_write: mismatch.known_by_write,
                }
                .into(),
            });
        }
        Ok(())
    }

    pub(crate) fn memory(&self) -> u64 {
        self.values.memory()
    }
}

/// How many of each have been defined.
struct Defined {
    threads: u32,
    addresses: u32,
    locations: u32,
}

/// Decodes events up to the first that is not plain. Returns how many bytes they take.
///
/// A function of its own, so that all it needs stays in registers.
#[inline(never)]
fn decode_plain_events(
    bytes: &[u8],
    defined: &Defined,
    batch: &mut Vec<Access>,
    most: usize,
) -> usize {
    let (threads, addresses) = (defined.threads, defined.addresses);
    let mut at = 0;
    for _ in batch.len()..most {
        match decode_plain(&bytes[at..], threads, addresses) {
            Some((access, length)) => {
                batch.push(access);
                at += length;
            }
            None => break,
        }
    }
    at
}

/// The fast path: an access without value or location, with a thread below 128,
/// at least eight bytes before the end of the block. `None` is not yet an error.
#[inline(always)]
fn decode_plain(bytes: &[u8], threads: u32, addresses: u32) -> Option<(Access, usize)> {
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    let kind = operation_kind(word as u8)?;
    // A longer varint has its top bit set, which is no thread below 128 either.
    let thread = word >> 8 & 0xff;
    if thread >= u64::from(threads.min(0x80)) {
        return None;
    }
    let thread = ThreadId(thread as u32);
    // A predicted branch lets the processor start on the next event before this
    // one is decoded; beyond one byte, lengths are too mixed to predict.
    let (address, length) = match (word >> 16) as u8 {
        _ if !kind.has_address() => (0, 0),
        address @ 0..0x80 => (u32::from(address), 1),
        _ => varint::decode_short((word >> 16) as u32)?,
    };
    if address >= addresses {
        return None;
    }
    // The only code that constructs an operation from a kind: with one for each branch,
    // the compiler jumps by kind, which no processor predicts.
    let access = Access::new(thread, kind.at(Address(address)));
    Some((access, 2 + length))
}

/// The error is boxed, so that a good number comes back in registers.
type Decoded<T> = Result<T, Box<BinaryError>>;

/// A cursor in the payload of a block, which reads one field after the other.
struct Fields<'block> {
    payload: &'block [u8],
    at: usize,
    /// The file offset of the payload.
    offset: u64,
}

impl<'block> Fields<'block> {
    /// The file offset of the next field.
    fn here(&self) -> u64 {
        self.offset + self.at as u64
    }

    #[inline]
    fn number(&mut self) -> Decoded<u64> {
        let (value, length) =
            varint::decode(&self.payload[self.at..]).map_err(|error| self.bad_number(error))?;
        self.at += length;
        Ok(value)
    }

    #[cold]
    fn bad_number(&self, error: VarintError) -> Box<BinaryError> {
        let offset = self.here();
        Box::new(match error {
            VarintError::CutOff => BinaryError::BlockEnds {
                offset: self.offset + self.payload.len() as u64,
                expected: "the rest of a number",
            },
            VarintError::Overlong => BinaryError::OverlongNumber { offset },
            VarintError::TooLarge => BinaryError::NumberTooLarge { offset, bits: 64 },
        })
    }

    fn number_32(&mut self) -> Decoded<u32> {
        let offset = self.here();
        let value = self.number()?;
        u32::try_from(value).map_err(|_| BinaryError::NumberTooLarge { offset, bits: 32 }.into())
    }

    /// The index of something of which `defined` are defined.
    fn index(&mut self, what: &'static str, defined: u32) -> Decoded<u32> {
        let offset = self.here();
        let found = self.number()?;
        match found < u64::from(defined) {
            true => Ok(found as u32),
            false => Err(Box::new(BinaryError::Undefined {
                offset,
                what,
                found,
                defined,
            })),
        }
    }

    fn read_event(&mut self, defined: &Defined) -> Decoded<Access> {
        let offset = self.here();
        let found = self.payload[self.at];
        self.at += 1;
        if found & event::RESERVED != 0 {
            return Err(BinaryError::ReservedBits { offset, found }.into());
        }
        let code = found & event::KIND;
        let Some(kind) = operation_kind(code) else {
            let found = code;
            return Err(BinaryError::UnknownOperation { offset, found }.into());
        };
        let thread = ThreadId(self.index("thread", defined.threads)?);
        let mut address = Address(0);
        if kind.has_address() {
            address = Address(self.index("address", defined.addresses)?);
        } else if found & event::HAS_VALUE != 0 {
            return Err(BinaryError::ValueWithoutAddress { offset }.into());
        }
        let mut access = Access::new(thread, kind.at(address));
        if found & event::HAS_VALUE != 0 {
            access.value = Some(self.number()?);
        }
        if found & event::HAS_LOCATION != 0 {
            let index = self.index("location", defined.locations)?;
            access.location = Some(LocationId::from_index(index));
        }
        Ok(access)
    }

    fn read_definition(&mut self, names: &mut Names) -> Result<(), ReadError> {
        let offset = self.here();
        let tag = self.payload[self.at];
        self.at += 1;
        match tag {
            definition::THREAD => {
                let number = self.number_32()?;
                define_thread(names, number, offset)
            }
            definition::NAMELESS_THREADS => {
                for _ in 0..self.number_32()? {
                    let index = names.thread_count();
                    define_thread(names, index, offset)?;
                }
                Ok(())
            }
            definition::ADDRESS => {
                let (name_offset, name) = self.name()?;
                if names.find_address(name).is_some() {
                    return Err(defined_twice(offset, "address", quoted(name)));
                }
                let added = names.address(name).map(drop);
                added.map_err(|error| bad_name(name_offset, "an address", error))
            }
            definition::LOCATION => {
                let (name_offset, name) = self.name()?;
                if names.find_location(name).is_some() {
                    return Err(defined_twice(offset, "location", quoted(name)));
                }
                let added = names.location(name).map(drop);
                added.map_err(|error| bad_name(name_offset, "a location", error))
            }
            definition::NAMELESS_ADDRESSES => {
                let count = self.number_32()?;
                match names.add_nameless_addresses(count) {
                    Ok(None) => Ok(()),
                    Ok(Some(name)) => Err(defined_twice(offset, "address", name)),
                    Err(limit) => Err(at_byte(limit, offset)),
                }
            }
            found => Err(BinaryError::UnknownDefinition { offset, found }.into()),
        }
    }

    /// A name, and its file offset.
    fn name(&mut self) -> Decoded<(u64, &'block str)> {
        let length = self.number()?;
        let offset = self.here();
        let rest = &self.payload[self.at..];
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some(bytes) = rest.get(..length) else {
            return Err(Box::new(BinaryError::BlockEnds {
                offset: self.offset + self.payload.len() as u64,
                expected: "the rest of a name",
            }));
        };
        let name = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            BinaryError::NameNotUtf8 {
                offset: offset + at as u64,
                byte: bytes[at],
            }
        })?;
        self.at += length;
        Ok((offset, name))
    }
}

fn define_thread(names: &mut Names, number: u32, offset: u64) -> Result<(), ReadError> {
    if names.find_thread(number).is_some() {
        return Err(defined_twice(offset, "thread", format!("T{number}")));
    }
    let added = names.thread(number).map(drop);
    added.map_err(|limit| at_byte(limit, offset))
}

fn defined_twice(offset: u64, what: &'static str, name: String) -> ReadError {
    BinaryError::DefinedTwice { offset, what, name }.into()
}

fn bad_name(offset: u64, what: &'static str, error: NameError) -> ReadError {
    match error {
        NameError::Limit(limit) => at_byte(limit, offset),
        NameError::Problem(problem) => BinaryError::BadName {
            offset,
            what,
            problem,
        }
        .into(),
    }
}

fn at_byte(limit: Limit, offset: u64) -> ReadError {
    let position = Position::Byte(offset);
    LimitReached { limit, position }.into()
}

fn truncated(offset: u64, expected: &'static str) -> ReadError {
    BinaryError::Truncated { offset, expected }.into()
}

/// Fills `buffer` as far as the input reaches. Returns how far.
pub(crate) fn read_fully(source: &mut Source, buffer: &mut [u8]) -> Result<usize, ReadError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}
