//! Every error in a binary trace, with its exact message.
//!
//! The files are put together by hand, following `docs/trace-format.md` and
//! sharing nothing with the writer.

use crate::support;

use fencepost_trace::{Limits, ReadError, TraceReader};
use support::{describe, message, read, read_with};

const MAGIC: [u8; 8] = [0x89, 0x46, 0x50, 0x54, 0x0d, 0x0a, 0x1a, 0x0a];

fn block(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut checked = vec![kind];
    checked.extend((payload.len() as u32).to_le_bytes());
    let mut bytes = checked.clone();
    checked.extend(payload);
    bytes.extend(crc32fast::hash(&checked).to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn file(blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(blocks.concat());
    bytes
}

fn names(payload: &[u8]) -> Vec<u8> {
    block(1, payload)
}

fn events(payload: &[u8]) -> Vec<u8> {
    block(2, payload)
}

fn end(total: u64) -> Vec<u8> {
    block(3, &total.to_le_bytes())
}

/// Two threads and three addresses without names, and a location.
fn few_names() -> Vec<u8> {
    names(b"\x04\x02\x05\x03\x03\x05a.c:1")
}

#[test]
fn the_documented_file_is_read() {
    let bytes = file(&[
        names(b"\x01\xe7\x24\x04\x01\x02\x01x\x05\x01\x03\x05a.c:1"),
        events(b"\x19\x00\x00\x80\x01\x00\x08\x01\x00\x80\x01"),
        events(b""),
        names(b"\x02\x04flag"),
        events(b"\x05\x01\x16\x00\x00\x02\x01\x02"),
        end(5),
    ]);
    let (names, accesses) = read(&bytes).unwrap();
    assert_eq!(
        describe(&names, &accesses),
        [
            "T4711 st x =128 @a.c:1",
            "T1 ld x =128",
            "T1 fence",
            "T4711 stbar @a.c:1",
            "T1 il flag",
        ]
    );
    assert_eq!(names.address_name(fencepost_memory::Address(1)), "a1");
}

#[test]
fn every_mistake_in_the_frame_has_its_message() {
    let mut wrong_magic = file(&[end(0)]);
    wrong_magic[4] = b'\n';
    let mut wrong_version = file(&[end(0)]);
    wrong_version[8] = 2;
    let mut wrong_checksum = file(&[end(0)]);
    wrong_checksum[15] ^= 1;
    let mut too_long = file(&[]);
    too_long.extend([2, 1, 0, 16, 0, 0, 0, 0, 0]);
    let cases: &[(&[u8], &str)] = &[
        (
            &wrong_magic,
            "byte 4: found 0x0a in the magic bytes, expected 0x0d (89 46 50 54 0d 0a 1a 0a)",
        ),
        (
            b"\x89PNG\r\n\x1a\n",
            "byte 1: found 0x50 in the magic bytes, expected 0x46 (89 46 50 54 0d 0a 1a 0a)",
        ),
        (
            b"\x89FP",
            "byte 3: the trace ends here, expected a file header of 10 bytes",
        ),
        (
            &file(&[])[..9],
            "byte 9: the trace ends here, expected a file header of 10 bytes",
        ),
        (
            &wrong_version,
            "byte 8: unknown version 2 of the binary format, expected 1",
        ),
        (
            &file(&[]),
            "byte 10: the trace ends here, expected an end block",
        ),
        (
            &file(&[few_names(), events(b"")]),
            "byte 39: the trace ends here, expected an end block",
        ),
        (
            &file(&[end(0)])[..18],
            "byte 18: the trace ends here, expected a block header of 9 bytes",
        ),
        (
            &file(&[end(0)])[..20],
            "byte 20: the trace ends here, expected the rest of a block",
        ),
        (
            &file(&[block(0, b"")]),
            "byte 10: unknown block kind 0, expected 1 (names), 2 (events) or 3 (end)",
        ),
        (
            &file(&[few_names(), block(4, b"")]),
            "byte 30: unknown block kind 4, expected 1 (names), 2 (events) or 3 (end)",
        ),
        (
            &too_long,
            "byte 11: block of 1048577 bytes, expected at most 1048576",
        ),
        (
            &wrong_checksum,
            "byte 10: block with checksum 0xb4b25cb3, expected 0xb4b25cb2 for its contents",
        ),
        (
            &file(&[block(3, b"\0")]),
            "byte 10: end block of 1 bytes, expected 8",
        ),
        (
            &file(&[few_names(), events(b"\x05\x01"), end(2)]),
            "byte 50: the end block tells 2 events, expected 1 as were read",
        ),
        (
            &file(&[end(0), end(0)]),
            "byte 27: more bytes after the end block, expected the end of the file",
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(&message(bytes), expected);
    }
}

#[test]
fn every_mistake_in_an_event_has_its_message() {
    let cases: &[(&[u8], &str)] = &[
        (
            b"\x07\x00",
            "byte 39: unknown operation code 7, expected 0 to 6",
        ),
        (
            b"\x05\x00\x45\x00",
            "byte 41: event byte 0x45, expected its three highest bits to be 0",
        ),
        (
            b"\x0d\x00\x01",
            "byte 39: an event without address has a value, expected none",
        ),
        (
            b"\x00",
            "byte 40: the block ends here, expected the rest of a number",
        ),
        (
            b"\x00\x00",
            "byte 41: the block ends here, expected the rest of a number",
        ),
        (
            b"\x08\x00\x00\x80",
            "byte 43: the block ends here, expected the rest of a number",
        ),
        (
            b"\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00",
            "byte 40: overlong number, expected the shortest LEB128 encoding",
        ),
        (
            b"\x00\x00\x80\x80\x00\x00\x00\x00\x00\x00",
            "byte 41: overlong number, expected the shortest LEB128 encoding",
        ),
        (
            b"\x08\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
            "byte 42: number too large, expected at most 64 bits",
        ),
        (
            b"\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00",
            "byte 40: thread 2 is not defined, expected an index below 2 (definitions come first)",
        ),
        (
            b"\x00\x80\x80\x80\x80\x80\x20\x00",
            "byte 40: thread 1099511627776 is not defined, expected an index below 2 (definitions \
             come first)",
        ),
        (
            b"\x00\x00\x00\x00\x01\x03\x00\x00\x00\x00\x00\x00\x00\x00",
            "byte 44: address 3 is not defined, expected an index below 3 (definitions come first)",
        ),
        (
            b"\x00\x00\x83\x01",
            "byte 41: address 131 is not defined, expected an index below 3 (definitions come \
             first)",
        ),
        (
            b"\x15\x00\x01",
            "byte 41: location 1 is not defined, expected an index below 1 (definitions come \
             first)",
        ),
        (
            b"\x09\x00\x01\x05\x00\x01\x01\x08\x01\x01\x06",
            "not a sequentially consistent interleaving: event 3 reads 6 from `a1`, expected 5 as \
             event 1 wrote",
        ),
        (
            b"\x0b\x00\x01\x05\x08\x01\x01\x06",
            "not a sequentially consistent interleaving: event 2 reads 6 from `a1`, expected 5 as \
             event 1 read",
        ),
    ];
    for (payload, expected) in cases {
        let bytes = file(&[few_names(), events(payload), end(0)]);
        assert_eq!(&message(&bytes), expected, "for {payload:02x?}");
    }
}

#[test]
fn every_mistake_in_a_definition_has_its_message() {
    let cases: &[(&[u8], &str)] = &[
        (
            b"\x06",
            "byte 19: unknown definition 6 in a names block, expected 1 to 5",
        ),
        (
            b"\x01\x80\x80\x80\x80\x10",
            "byte 20: number too large, expected at most 32 bits",
        ),
        (
            b"\x02\x05ab",
            "byte 23: the block ends here, expected the rest of a name",
        ),
        (
            b"\x02",
            "byte 20: the block ends here, expected the rest of a number",
        ),
        (
            b"\x02\x02a\xff",
            "byte 22: byte 0xff in a name is not UTF-8, expected UTF-8",
        ),
        (
            b"\x02\x02=a",
            "byte 21: not the name of an address: the name begins with `=`",
        ),
        (
            b"\x02\x00",
            "byte 21: not the name of an address: the name is empty",
        ),
        (
            b"\x03\x03a b",
            "byte 21: not the name of a location: the name contains U+0020, which is white space",
        ),
        (
            b"\x01\x07\x01\x07",
            "byte 21: thread `T7` is defined a second time, expected each name once",
        ),
        (
            b"\x01\x01\x04\x01",
            "byte 21: thread `T1` is defined a second time, expected each name once",
        ),
        (
            b"\x02\x01x\x02\x01x",
            "byte 22: address `x` is defined a second time, expected each name once",
        ),
        (
            b"\x02\x02a1\x05\x01",
            "byte 23: address `a1` is defined a second time, expected each name once",
        ),
        (
            b"\x05\x02\x02\x02a1",
            "byte 21: address `a1` is defined a second time, expected each name once",
        ),
        (
            b"\x03\x01x\x03\x01x",
            "byte 22: location `x` is defined a second time, expected each name once",
        ),
    ];
    for (payload, expected) in cases {
        let bytes = file(&[names(payload), end(0)]);
        assert_eq!(&message(&bytes), expected, "for {payload:02x?}");
    }
}

#[test]
fn limits_are_errors_of_their_own() {
    let cases: &[(&[u8], &str)] = &[
        (
            b"\x04\x81\x08",
            "byte 19: the trace has more than 1024 threads, the most that are supported",
        ),
        (
            b"\x04\xff\xff\xff\xff\x0f",
            "byte 19: the trace has more than 1024 threads, the most that are supported",
        ),
        (
            b"\x05\xff\xff\xff\xff\x0f",
            "byte 19: the trace has more than 16777216 addresses, the most that are supported",
        ),
        (
            b"\x05\x80\x80\x80\x04",
            "byte 19: the names in the trace take more than the 1000000 bytes allowed for them",
        ),
    ];
    let limits = Limits {
        max_name_bytes: 1_000_000,
        ..Limits::default()
    };
    for (payload, expected) in cases {
        let bytes = file(&[names(payload), end(0)]);
        let error = read_with(&bytes, &limits).unwrap_err();
        assert!(error.is_limit());
        assert_eq!(&error.to_string(), expected);
    }
    // The values of the addresses count too: 16 bytes for each, up to the highest.
    let far = [
        names(b"\x04\x01\x05\xc0\x84\x3d"),
        events(b"\x09\x00\xbf\x84\x3d\x00"),
        end(1),
    ];
    assert!(read_with(&file(&far), &Limits::default()).is_ok());
    let limits = Limits {
        max_name_bytes: 10_000_000,
        ..Limits::default()
    };
    assert!(read_with(&file(&far), &limits).unwrap_err().is_limit());
}

#[test]
fn what_precedes_a_mistake_is_delivered_first() {
    let events = events(b"\x05\x00\x05\x01\x07\x00\x05\x00");
    let bytes = file(&[few_names(), events, end(4)]);
    let mut reader = TraceReader::open(std::io::Cursor::new(bytes)).unwrap();
    let mut batch = Vec::new();
    assert!(reader.next_batch(&mut batch).unwrap());
    assert_eq!(batch.len(), 2);
    assert!(reader.next_batch(&mut batch).is_err());
}

#[test]
fn an_error_is_shown_with_its_offset_and_a_hint() {
    let render = |bytes: &[u8]| {
        let error: ReadError = read(bytes).unwrap_err();
        error.render("run.fpt".as_ref())
    };
    assert_eq!(
        render(&file(&[])),
        "\
error: byte 10: the trace ends here, expected an end block
 --> run.fpt: byte 10 (0xa)
  = help: the program that wrote the trace may have been stopped before it finished"
    );
    let values = file(&[
        few_names(),
        events(b"\x09\x00\x01\x05\x08\x01\x01\x06"),
        end(2),
    ]);
    assert_eq!(
        render(&values),
        "\
error: not a sequentially consistent interleaving: event 2 reads 6 from `a1`, expected 5 as event \
         1 wrote
 --> run.fpt
  = help: record the events in the order in which they reached memory, or leave the values out"
    );
}
