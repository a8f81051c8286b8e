//! Any bytes as the payloads of the blocks of a binary trace, with checksums that
//! fit, so that the fuzzer gets past them: an error, or a trace that survives
//! being written and read again.
//!
//! ```text
//! cargo +nightly fuzz run binary_reader
//! ```

#![no_main]

use std::io::Cursor;

use fencepost_trace::{BINARY_MAGIC, BINARY_VERSION, BinaryWriter, Limits, TraceReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        max_name_bytes: 16 << 20,
        ..Limits::default()
    };
    let file = Cursor::new(frame(bytes));
    let mut reader = TraceReader::open_with(file, &limits).expect("the header is right");
    let mut accesses = Vec::new();
    let mut batch = Vec::new();
    let result = loop {
        match reader.next_batch(&mut batch) {
            Ok(true) => accesses.extend_from_slice(&batch),
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    if let Err(error) = result {
        assert!(!error.render("fuzz".as_ref()).is_empty());
    }
    // All that was delivered is sound, whatever followed it.
    let mut writer = BinaryWriter::new(Vec::new());
    writer
        .write(reader.names(), &accesses)
        .expect("what was read can be written");
    let binary = writer.finish().expect("writing to memory");
    let mut again = TraceReader::open(Cursor::new(binary)).expect("a binary trace");
    assert_eq!(
        again.read_to_end().expect("what was written can be read"),
        accesses
    );
});

/// A file of blocks: each begins with a byte for its kind and one for its length.
fn frame(mut bytes: &[u8]) -> Vec<u8> {
    let mut file = BINARY_MAGIC.to_vec();
    file.extend(BINARY_VERSION.to_le_bytes());
    while let [kind, length, rest @ ..] = bytes {
        let (payload, rest) = rest.split_at((*length as usize).min(rest.len()));
        match kind {
            0..=3 => push_block(&mut file, *kind, payload),
            kind => push_block(&mut file, 1 + kind % 2, payload),
        }
        bytes = rest;
    }
    file
}

fn push_block(file: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    let mut checked = vec![kind];
    checked.extend((payload.len() as u32).to_le_bytes());
    file.extend(&checked);
    checked.extend(payload);
    file.extend(crc32fast::hash(&checked).to_le_bytes());
    file.extend(payload);
}
