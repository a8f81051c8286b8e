//! Writing binary traces.

use std::io::Write;

use fencepost_memory::{Access, Address, LocationId, ThreadId};

use crate::binary::{BINARY_MAGIC, BINARY_VERSION, block, definition, event, push_block};
use crate::error::WriteError;
use crate::names::Names;
use crate::varint;
use crate::writer::check_access;

/// A block is passed on when it has at least this many bytes. Large enough for
/// the checksum and the header to cost nothing, small enough to stay in the cache.
const BLOCK_BYTES: usize = 64 << 10;

/// Writes a binary trace. Without [`BinaryWriter::finish`] the trace is incomplete,
/// and readers will say so.
pub struct BinaryWriter<W: Write> {
    output: W,
    /// The payload of the events block being filled.
    payload: Vec<u8>,
    /// Whole blocks on their way out.
    blocks: Vec<u8>,
    defined_threads: u32,
    defined_addresses: u32,
    defined_locations: u32,
    events: u64,
}

impl<W: Write> BinaryWriter<W> {
    /// A writer to `output`, which need not be buffered.
    pub fn new(output: W) -> Self {
        let mut blocks = BINARY_MAGIC.to_vec();
        blocks.extend(BINARY_VERSION.to_le_bytes());
        BinaryWriter {
            output,
            payload: Vec::new(),
            blocks,
            defined_threads: 0,
            defined_addresses: 0,
            defined_locations: 0,
            events: 0,
        }
    }

    /// Writes some accesses, whose numbers are those of `names`. From call to call
    /// `names` may grow, but must otherwise stay the same.
    pub fn write(&mut self, names: &Names, accesses: &[Access]) -> Result<(), WriteError> {
        self.define_new_names(names)?;
        for access in accesses {
            self.events += 1;
            check_access(names, access, self.events)?;
            push_event(&mut self.payload, access);
            if self.payload.len() >= BLOCK_BYTES {
                self.end_events_block()?;
            }
        }
        Ok(())
    }

    /// Writes the names that are new since the last call. Their block precedes the
    /// events block being filled, so every name is defined before its use.
    fn define_new_names(&mut self, names: &Names) -> Result<(), WriteError> {
        let mut payload = Vec::new();
        while self.defined_threads < names.thread_count() {
            self.define_thread(names, &mut payload);
            self.end_full_names_block(&mut payload)?;
        }
        while self.defined_addresses < names.address_count() {
            self.define_address(names, &mut payload);
            self.end_full_names_block(&mut payload)?;
        }
        while self.defined_locations < names.location_count() {
            let location = LocationId::from_index(self.defined_locations);
            let name = names.location_name(location).unwrap_or_default();
            push_name(&mut payload, definition::LOCATION, name);
            self.defined_locations += 1;
            self.end_full_names_block(&mut payload)?;
        }
        if !payload.is_empty() {
            push_block(&mut self.blocks, block::NAMES, &payload);
            self.pass_on()?;
        }
        Ok(())
    }

    fn end_full_names_block(&mut self, payload: &mut Vec<u8>) -> Result<(), WriteError> {
        if payload.len() >= BLOCK_BYTES {
            push_block(&mut self.blocks, block::NAMES, payload);
            payload.clear();
            self.pass_on()?;
        }
        Ok(())
    }

    /// Defines the next thread, or as many as have their index for a number.
    fn define_thread(&mut self, names: &Names, payload: &mut Vec<u8>) {
        let first = self.defined_threads;
        let by_index = (first..names.thread_count())
            .take_while(|&id| names.thread_number(ThreadId(id)) == id)
            .count() as u32;
        if by_index > 0 {
            payload.push(definition::NAMELESS_THREADS);
            varint::push(payload, u64::from(by_index));
        } else {
            payload.push(definition::THREAD);
            let number = names.thread_number(ThreadId(first));
            varint::push(payload, u64::from(number));
        }
        self.defined_threads += by_index.max(1);
    }

    /// Defines the next address, or as many as have no name.
    fn define_address(&mut self, names: &Names, payload: &mut Vec<u8>) {
        let first = self.defined_addresses;
        if let Some(name) = names.given_address_name(Address(first)) {
            push_name(payload, definition::ADDRESS, name);
            self.defined_addresses += 1;
            return;
        }
        let nameless = (first..names.address_count())
            .take_while(|&id| names.given_address_name(Address(id)).is_none())
            .count() as u32;
        payload.push(definition::NAMELESS_ADDRESSES);
        varint::push(payload, u64::from(nameless));
        self.defined_addresses += nameless;
    }

    fn end_events_block(&mut self) -> Result<(), WriteError> {
        push_block(&mut self.blocks, block::EVENTS, &self.payload);
        self.payload.clear();
        self.pass_on()
    }

    fn pass_on(&mut self) -> Result<(), WriteError> {
        self.output.write_all(&self.blocks)?;
        self.blocks.clear();
        Ok(())
    }

    /// Writes the end of the trace and gives the output back.
    pub fn finish(mut self) -> Result<W, WriteError> {
        if !self.payload.is_empty() {
            self.end_events_block()?;
        }
        push_block(&mut self.blocks, block::END, &self.events.to_le_bytes());
        self.pass_on()?;
        self.output.flush()?;
        Ok(self.output)
    }
}

#[inline]
fn push_event(payload: &mut Vec<u8>, access: &Access) {
    let mut first = access.operation.kind() as u8;
    if access.value.is_some() {
        first |= event::HAS_VALUE;
    }
    if access.location.is_some() {
        first |= event::HAS_LOCATION;
    }
    payload.push(first);
    varint::push(payload, u64::from(access.thread.0));
    if let Some(address) = access.operation.address() {
        varint::push(payload, u64::from(address.0));
    }
    if let Some(value) = access.value {
        varint::push(payload, value);
    }
    if let Some(location) = access.location {
        varint::push(payload, location.index() as u64);
    }
}

fn push_name(payload: &mut Vec<u8>, tag: u8, name: &str) {
    payload.push(tag);
    varint::push(payload, name.len() as u64);
    payload.extend(name.as_bytes());
}
