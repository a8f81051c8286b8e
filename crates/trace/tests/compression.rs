//! Compressed traces: read transparently, refused with a reason.

use crate::support;

use std::io::{Read, Write};

use fencepost_trace::{Compression, Format, Limits, ReadError, TraceReader};
use support::{describe, message, random_trace, read, read_with, to_bytes};

const TRACE: &[u8] = b"T0 st x =1\nT1 ld x =1\nT1 fence\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compression_is_recognised_by_the_first_bytes() {
    for (bytes, compression) in [
        (TRACE.to_vec(), Compression::None),
        (gzip(TRACE), Compression::Gzip),
        (zstd(TRACE), Compression::Zstd),
    ] {
        let mut reader = TraceReader::open(std::io::Cursor::new(bytes)).unwrap();
        assert_eq!(reader.compression(), compression);
        assert_eq!(reader.format(), Format::Text);
        assert_eq!(reader.read_to_end().unwrap().len(), 3);
    }
}

#[test]
fn members_and_frames_may_follow_each_other() {
    let (first, second) = TRACE.split_at(15);
    let skippable = b"\x53\x2a\x4d\x18\x05\x00\x00\x00hello".to_vec();
    for bytes in [
        [gzip(first), gzip(b""), gzip(second)].concat(),
        [zstd(first), zstd(b""), zstd(second)].concat(),
        [skippable.clone(), zstd(first), skippable, zstd(second)].concat(),
    ] {
        assert_eq!(read(&bytes).unwrap().1.len(), 3);
    }
}

#[test]
fn every_truncation_is_noticed() {
    for (bytes, format) in [(gzip(TRACE), "gzip"), (zstd(TRACE), "zstd")] {
        for length in 4..bytes.len() {
            let expected = format!(
                "byte {length}: the {format} data ends in the middle; expected more of it (was \
                 the file cut short?)"
            );
            assert_eq!(message(&bytes[..length]), expected);
        }
    }
}

#[test]
fn every_changed_byte_is_noticed_or_harmless() {
    for compress in [gzip as fn(&[u8]) -> Vec<u8>, zstd] {
        let (names, accesses) = random_trace(&mut fencepost_memory::Random::new(3), 60);
        let trace = to_bytes(&names, &accesses, Format::Binary, Compression::None);
        let expected = describe(&names, &accesses);
        let bytes = compress(&trace);
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << bit;
                // Some bits mean nothing, such as the time in a gzip header.
                if let Ok((names, accesses)) = read(&changed) {
                    assert_eq!(
                        describe(&names, &accesses),
                        expected,
                        "bit {bit} of {index}"
                    );
                }
            }
        }
    }
}

#[test]
fn corrupt_data_has_its_message() {
    let mut bytes = gzip(TRACE);
    let crc = bytes.len() - 8;
    bytes[crc] ^= 1;
    assert_eq!(
        message(&bytes),
        format!(
            "the gzip data before byte {} is corrupt: corrupt gzip stream does not have a \
             matching checksum",
            bytes.len()
        )
    );
    let mut bytes = zstd(TRACE);
    *bytes.last_mut().unwrap() ^= 1;
    assert_eq!(
        message(&bytes),
        format!(
            "the zstd data before byte {} is corrupt: the checksum does not match",
            bytes.len()
        )
    );
    let garbage = [gzip(TRACE), b"garbage at the end".to_vec()].concat();
    let error = read(&garbage).unwrap_err();
    assert!(matches!(error, ReadError::Compression(_)), "{error}");
}

#[test]
fn other_formats_are_named() {
    let cases: [(&[u8], &str); 4] = [
        (b"\xfd7zXZ\x00\x00", "xz"),
        (b"BZh91AY&SY", "bzip2"),
        (b"PK\x03\x04\x14\x00", "zip"),
        (b"\x04\x22\x4d\x18\x64\x40", "lz4"),
    ];
    for (bytes, format) in cases {
        assert_eq!(
            message(bytes),
            format!(
                "byte 0: the file is compressed with {format}; expected a trace, or one \
                 compressed with gzip or zstd"
            )
        );
    }
}

#[test]
fn a_large_window_is_a_limit() {
    // A frame that asks for 1 GiB, and one that claims 2^40 bytes in one segment.
    let window = b"\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00";
    let segment = b"\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00";
    let wanted: [u64; 2] = [1 << 30, 1 << 40];
    for (bytes, wanted) in [&window[..], &segment[..]].into_iter().zip(wanted) {
        let error = read(bytes).unwrap_err();
        assert!(error.is_limit());
        assert_eq!(
            error.to_string(),
            format!(
                "byte 0: a zstd frame asks for a window of {wanted} bytes, more than the \
                 134217728 allowed"
            )
        );
    }
    let limits = Limits {
        max_window_bytes: 1000,
        ..Limits::default()
    };
    assert!(read_with(&zstd(TRACE), &limits).unwrap_err().is_limit());
}

/// A gigabyte of blanks in about a megabyte, as one line.
#[test]
fn a_bomb_of_one_line_stops_early() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..64 {
        encoder.write_all(&blanks).unwrap();
    }
    let one = encoder.finish().unwrap();
    let mut reader = TraceReader::open(std::io::Cursor::new(one.repeat(16))).unwrap();
    let error = reader.next_batch(&mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, column 65537: the line is longer than 65536 bytes, expected one event per line"
    );
    assert!(
        reader.bytes_consumed() <= 256 << 10,
        "{}",
        reader.bytes_consumed()
    );
}

/// Many short lines are a long trace, not a large one.
#[test]
fn a_bomb_of_many_lines_is_read_in_constant_memory() {
    let lines = b"T0 st x\nT1 ld x\n".repeat(1 << 16);
    for bytes in [gzip(&lines).repeat(8), zstd(&lines).repeat(8)] {
        let mut reader = TraceReader::open(std::io::Cursor::new(bytes)).unwrap();
        let mut batch = Vec::new();
        let mut events = 0;
        while reader.next_batch(&mut batch).unwrap() {
            events += batch.len();
            assert!(batch.capacity() <= 2 * fencepost_trace::BATCH_LENGTH);
        }
        assert_eq!(events, 8 << 17);
        assert!(reader.memory() < 10_000);
    }
}

#[test]
fn a_failing_input_is_not_called_corrupt() {
    struct Failing(std::io::Cursor<Vec<u8>>);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(std::io::Error::other("the disk is on fire")),
                count => Ok(count),
            }
        }
    }
    for mut bytes in [TRACE.to_vec(), gzip(TRACE), zstd(TRACE)] {
        bytes.truncate(bytes.len() - 3);
        let opened = TraceReader::open(Failing(std::io::Cursor::new(bytes)));
        let error = opened
            .and_then(|mut reader| reader.read_to_end())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read the trace: the disk is on fire"
        );
    }
}
