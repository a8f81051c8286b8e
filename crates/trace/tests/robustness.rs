//! Damaged and hostile traces: an error or a trace, never a panic, never without end.

use crate::support;

use std::io::Read;

use fencepost_memory::Random;
use fencepost_trace::{ReadError, TraceReader};
use support::{describe, message, random_trace, read, to_binary, to_text};

#[test]
fn a_binary_trace_cut_anywhere_is_refused() {
    let (names, accesses) = random_trace(&mut Random::new(1), 40);
    let bytes = to_binary(&names, &accesses);
    assert!(read(&bytes).is_ok());
    for length in 1..bytes.len() {
        let expected = format!("byte {length}: the trace ends here, expected ");
        assert!(
            message(&bytes[..length]).starts_with(&expected),
            "at {length}"
        );
    }
}

#[test]
fn a_binary_trace_with_any_bit_changed_is_refused() {
    let (names, accesses) = random_trace(&mut Random::new(2), 40);
    let bytes = to_binary(&names, &accesses);
    for index in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[index] ^= 1 << bit;
            assert!(read(&changed).is_err(), "bit {bit} of byte {index}");
        }
    }
}

/// How many changed traces are made of each random one, which takes longer to make than to read.
const CHANGES: usize = 5;

/// With the checksum fixed, what is inside has to be checked too: whatever is
/// accepted must survive being written and read again.
#[test]
fn a_binary_trace_changed_under_its_checksum_is_refused_or_sound() {
    let (mut refused, mut accepted) = (0, 0);
    let mut random = Random::new(3);
    for _ in 0..30_000 / CHANGES {
        let events = random.below(20) as usize;
        let (names, accesses) = random_trace(&mut random, events);
        let original = to_binary(&names, &accesses);
        for _ in 0..CHANGES {
            let mut bytes = original.clone();
            for _ in 0..1 + random.below(3) {
                let index = 10 + random.below(bytes.len() as u64 - 10) as usize;
                bytes[index] = match random.below(3) {
                    0 => random.next_u64() as u8,
                    1 => bytes[index] ^ 1 << random.below(8),
                    _ => bytes[index].wrapping_add(1),
                };
            }
            fix_checksums(&mut bytes);
            match read(&bytes) {
                Err(_) => refused += 1,
                Ok((names, accesses)) => {
                    accepted += 1;
                    let (names_again, accesses_again) = read(&to_text(&names, &accesses)).unwrap();
                    assert_eq!(
                        describe(&names_again, &accesses_again),
                        describe(&names, &accesses)
                    );
                }
            }
        }
    }
    assert!(
        refused > 1000 && accepted > 1000,
        "{refused} refused, {accepted} accepted"
    );
}

/// Gives each block the checksum of its contents, as far as blocks can be told.
fn fix_checksums(bytes: &mut [u8]) {
    let mut at = 10;
    while let Some(header) = bytes.get(at..at + 9) {
        let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let Some(payload) = bytes.get(at + 9..at + 9 + length) else {
            return;
        };
        let mut checked = bytes[at..at + 5].to_vec();
        checked.extend(payload);
        let checksum = crc32fast::hash(&checked).to_le_bytes();
        bytes[at + 5..at + 9].copy_from_slice(&checksum);
        at += 9 + length;
    }
}

#[test]
fn changed_text_is_refused_or_sound() {
    let (mut refused, mut accepted) = (0, 0);
    let mut random = Random::new(4);
    let fragments: [&[u8]; 24] = [
        b"T",
        b":",
        b"=",
        b"@",
        b"#",
        b" ",
        b"\t",
        b"\r",
        b"\n",
        b"\0",
        b"\xff",
        b"\xc3",
        b"0x",
        b"-1",
        b"T0",
        b"ld",
        b"st",
        b"fence",
        b"4294967296",
        b"18446744073709551616",
        b"\xef\xbb\xbf",
        b"fencepost-trace 1\n",
        b"\x1f\x8b",
        b"T0:1 lst x =0 @y\n",
    ];
    for _ in 0..50_000 / CHANGES {
        let events = random.below(8) as usize;
        let (names, accesses) = random_trace(&mut random, events);
        let original = to_text(&names, &accesses);
        for _ in 0..CHANGES {
            let mut bytes = original.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len() as u64 + 1) as usize;
                let end = (at + random.below(6) as usize).min(bytes.len());
                match random.below(4) {
                    0 => drop(bytes.drain(at..end)),
                    1 => {
                        let copied = bytes[at..end].to_vec();
                        bytes.splice(at..at, copied);
                    }
                    2 => {
                        let fragment = fragments[random.below(24) as usize];
                        bytes.splice(at..end, fragment.iter().copied());
                    }
                    _ => {
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte = random.next_u64() as u8;
                        }
                    }
                }
            }
            match read(&bytes) {
                Err(error) => {
                    refused += 1;
                    check_error(&error, &bytes);
                }
                Ok((names, accesses)) => {
                    accepted += 1;
                    let (names_again, accesses_again) =
                        read(&to_binary(&names, &accesses)).unwrap();
                    assert_eq!(
                        describe(&names_again, &accesses_again),
                        describe(&names, &accesses)
                    );
                }
            }
        }
    }
    assert!(
        refused > 2000 && accepted > 2000,
        "{refused} refused, {accepted} accepted"
    );
}

/// The line and the column of an error exist, and what is shown of the line is in it.
fn check_error(error: &ReadError, bytes: &[u8]) {
    let ReadError::Text(error) = error else {
        return;
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let line = bytes
        .split(|&byte| byte == b'\n')
        .nth(error.line as usize - 1);
    let line = String::from_utf8_lossy(line.expect("the line exists"));
    assert!(error.column <= line.chars().count() + 1, "{error}");
    let shown = error.excerpt.text.trim_matches('…');
    let as_shown: String = line
        .chars()
        .map(|c| match c {
            '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect();
    assert!(as_shown.contains(shown), "{shown:?} is not in {line:?}");
    let rendered = error.render("x");
    assert_eq!(rendered.lines().count(), 7, "{rendered}");
}

#[test]
fn an_endless_line_is_given_up() {
    struct Endless(u64);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += buffer.len() as u64;
            assert!(self.0 < 1 << 20, "still reading after a megabyte");
            buffer.fill(b'a');
            Ok(buffer.len())
        }
    }
    let mut reader = TraceReader::open(Endless(0)).unwrap();
    let error = reader.next_batch(&mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, column 65537: the line is longer than 65536 bytes, expected one event per line"
    );
}

#[test]
fn noise_is_refused() {
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let length = 1 + random.below(200);
        let mut noise: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        let magic: &[u8] = match random.below(5) {
            0 => b"\x89FPT\r\n\x1a\n\x01\x00",
            1 => b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00",
            2 => b"\x28\xb5\x2f\xfd",
            3 => b"T0 st ",
            _ => b"",
        };
        noise.splice(0..0, magic.iter().copied());
        if let Ok((_, accesses)) = read(&noise) {
            assert!(accesses.len() < 3, "noise has {} events", accesses.len());
        }
    }
}
