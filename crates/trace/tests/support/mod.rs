//! What several tests need: reading bytes as a trace, and bytes as a trace has them.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use fencepost_memory::{Access, Address, LocationId, Operation, OperationKind, Random, ThreadId};
use fencepost_trace::{
    BinaryWriter, Compression, Format, Limits, Names, OutputFormat, ReadError, TextWriter,
    TraceReader, TraceWriter,
};

/// All accesses and names of a trace.
pub fn read(bytes: &[u8]) -> Result<(Names, Vec<Access>), ReadError> {
    read_with(bytes, &Limits::default())
}

/// The same within limits.
pub fn read_with(bytes: &[u8], limits: &Limits) -> Result<(Names, Vec<Access>), ReadError> {
    let mut reader = TraceReader::open_with(Cursor::new(bytes.to_vec()), limits)?;
    let accesses = reader.read_to_end()?;
    assert_eq!(reader.events(), accesses.len() as u64);
    Ok((reader.into_names(), accesses))
}

/// The message for a trace that must be refused.
pub fn message(bytes: &[u8]) -> String {
    match read(bytes) {
        Ok((_, accesses)) => panic!("accepted with {} events", accesses.len()),
        Err(error) => error.to_string(),
    }
}

/// A trace as people would read it, independent of how names are numbered.
pub fn describe(names: &Names, accesses: &[Access]) -> Vec<String> {
    let line = |access: &Access| {
        let mut line = names.thread_name(access.thread);
        line += &format!(" {}", access.operation.kind());
        if let Some(address) = access.operation.address() {
            line += &format!(" {}", names.address_name(address));
        }
        if let Some(value) = access.value {
            line += &format!(" ={value}");
        }
        if let Some(location) = access.location {
            line += &format!(
                " @{}",
                names.location_name(location).expect("a known location")
            );
        }
        line
    };
    accesses.iter().map(line).collect()
}

pub fn to_text(names: &Names, accesses: &[Access]) -> Vec<u8> {
    let mut writer = TextWriter::new(Vec::new());
    writer.write(names, accesses).expect("a valid trace");
    writer.finish().expect("writing to memory")
}

pub fn to_binary(names: &Names, accesses: &[Access]) -> Vec<u8> {
    let mut writer = BinaryWriter::new(Vec::new());
    writer.write(names, accesses).expect("a valid trace");
    writer.finish().expect("writing to memory")
}

/// Written in several calls, in any format.
pub fn to_bytes(
    names: &Names,
    accesses: &[Access],
    format: Format,
    compression: Compression,
) -> Vec<u8> {
    let output = SharedOutput::default();
    let mut writer = TraceWriter::new(
        output.clone(),
        OutputFormat {
            format,
            compression,
        },
    );
    for part in accesses.chunks(100) {
        writer.write(names, part).expect("a valid trace");
    }
    writer.finish().expect("writing to memory");
    output.0.lock().expect("not poisoned").clone()
}

#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A random trace with everything in it: names, values that fit, locations.
pub fn random_trace(random: &mut Random, events: usize) -> (Names, Vec<Access>) {
    let mut names = Names::new();
    for _ in 0..1 + random.below(6) {
        let bits = random.below(33);
        let number = random.below(1 << bits) as u32;
        names.thread(number).expect("few threads");
    }
    if random.below(2) == 0 {
        let collision = names.add_nameless_addresses(1 + random.below(200) as u32);
        assert_eq!(collision, Ok(None));
    }
    for _ in 0..1 + random.below(300) {
        let name = random_name(random, 255).replace(['=', '@'], ":");
        names.address(&name).expect("a name");
    }
    for _ in 0..random.below(20) {
        names.location(&random_name(random, 1024)).expect("a name");
    }

    let mut held = vec![None; names.address_count() as usize];
    let mut accesses = Vec::new();
    for _ in 0..events {
        let kind = OperationKind::ALL[random.below(7) as usize];
        let address = Address(random.below(u64::from(names.address_count())) as u32);
        let thread = ThreadId(random.below(u64::from(names.thread_count())) as u32);
        let mut access = Access::new(thread, kind.at(address));
        if kind.has_address() && random.below(3) == 0 {
            let bits = random.below(65);
            let fresh = if bits == 0 {
                0
            } else {
                random.next_u64() >> (64 - bits)
            };
            let held = &mut held[address.index()];
            access.value = match access.operation.writes() {
                true => Some(fresh),
                false => Some(held.unwrap_or(fresh)),
            };
            *held = access.value;
        } else if access.operation.writes() {
            held[address.index()] = None;
        }
        if names.location_count() > 0 && random.below(3) == 0 {
            let index = random.below(u64::from(names.location_count()));
            access.location = Some(LocationId::from_index(index as u32));
        }
        accesses.push(access);
    }
    (names, accesses)
}

/// A name of letters that need one to four bytes, and of signs that mean something elsewhere.
fn random_name(random: &mut Random, longest: u64) -> String {
    let characters = ['a', 'T', '0', '9', ':', '.', '=', '@', '#', 'ä', '→', '𝛼'];
    let length = match random.below(10) {
        0 => longest,
        _ => 1 + random.below(12),
    };
    let mut name = String::from("v");
    loop {
        let next = characters[random.below(12) as usize];
        if (name.len() + next.len_utf8()) as u64 > length {
            return name;
        }
        name.push(next);
    }
}

/// An access by numbers.
pub fn access(thread: u32, operation: Operation) -> Access {
    Access::new(ThreadId(thread), operation)
}
