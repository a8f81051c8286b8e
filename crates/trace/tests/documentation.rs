//! The examples in `docs/trace-format.md` are what they say they are.

use crate::support;

use support::{describe, read};

const PAGE: &str = include_str!("../../../docs/trace-format.md");

/// The fenced block of the page that begins with `start`.
fn example(start: &str) -> &'static str {
    let blocks = PAGE.split("```text\n").skip(1);
    let mut blocks = blocks.filter_map(|block| block.split("```").next());
    let found = blocks.find(|block| block.starts_with(start));
    found.unwrap_or_else(|| panic!("no example begins with {start:?}"))
}

#[test]
fn the_text_example_is_a_trace() {
    let (_, accesses) = read(example("fencepost-trace 1\n").as_bytes()).unwrap();
    assert_eq!(accesses.len(), 5);
}

#[test]
fn the_binary_example_is_a_trace() {
    let is_byte = |word: &&str| word.len() == 2 && u8::from_str_radix(word, 16).is_ok();
    let bytes: Vec<u8> = example("89 46 50 54")
        .lines()
        .flat_map(|line| line.split_whitespace().take_while(is_byte))
        .map(|word| u8::from_str_radix(word, 16).unwrap())
        .collect();
    let (names, accesses) = read(&bytes).unwrap();
    assert_eq!(describe(&names, &accesses), ["T0 st a0 =5", "T1 ld a0 =5"]);
}

#[test]
fn the_message_is_the_one_shown() {
    let error = read(b"T0:1 st x\nT0:2 st y\nT0:5 ld y\n").unwrap_err();
    assert_eq!(
        error.render("run.trace".as_ref()),
        example("error: issue index").trim_end()
    );
}

#[test]
fn the_limits_are_the_ones_told() {
    for limit in [
        u64::from(fencepost_trace::MAX_THREADS),
        u64::from(fencepost_trace::MAX_ADDRESSES),
        fencepost_trace::MAX_ADDRESS_BYTES as u64,
        fencepost_trace::MAX_LOCATION_BYTES as u64,
        fencepost_trace::MAX_LINE_BYTES as u64,
        fencepost_trace::MAX_PAYLOAD_BYTES as u64,
    ] {
        assert!(PAGE.contains(&format!(" {limit} ")), "{limit}");
    }
}
