//! Any bytes, read as a trace: an error, or a trace that survives being written
//! and read again. Compressed and binary input is recognised too, so this target
//! also reaches the decompressors.
//!
//! ```text
//! cargo +nightly fuzz run text_reader fuzz/corpus/text_reader crates/trace/tests/corpus
//! ```

#![no_main]

use std::io::Cursor;

use fencepost_trace::{BinaryWriter, Limits, TextWriter, TraceReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        max_name_bytes: 16 << 20,
        max_window_bytes: 1 << 20,
    };
    let Ok(mut reader) = TraceReader::open_with(Cursor::new(bytes.to_vec()), &limits) else {
        return;
    };
    let accesses = match reader.read_to_end() {
        Ok(accesses) => accesses,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(!error.render("fuzz".as_ref()).is_empty());
            return;
        }
    };
    let names = reader.names();
    let mut writer = BinaryWriter::new(Vec::new());
    writer
        .write(names, &accesses)
        .expect("what was read can be written");
    let binary = writer.finish().expect("writing to memory");
    let mut again = TraceReader::open(Cursor::new(binary)).expect("a binary trace");
    assert_eq!(
        again.read_to_end().expect("what was written can be read"),
        accesses
    );

    let mut writer = TextWriter::new(Vec::new());
    writer
        .write(again.names(), &accesses)
        .expect("what was read can be written");
    let text = writer.finish().expect("writing to memory");
    let mut again = TraceReader::open(Cursor::new(text)).expect("a text trace");
    let count = again
        .read_to_end()
        .expect("what was written can be read")
        .len();
    assert_eq!(count, accesses.len());
});
