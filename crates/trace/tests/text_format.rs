//! What the text format accepts.

use crate::support;

use support::{describe, read};

fn lines(text: &str) -> Vec<String> {
    let (names, accesses) = read(text.as_bytes()).unwrap();
    describe(&names, &accesses)
}

#[test]
fn every_form_of_a_line_is_read() {
    let text = "\u{feff}fencepost-trace 1  # the format\r\n\
                \r\n\
                # a comment\n\
                \t 7:1   st\tx  =0x10   @queue.c:17#not-a-comment # a comment\n\
                T7:2 ld x =16\r\n\
                T8 fence @a\n\
                8 stbar# # no comment begins inside a word, but this word is no operation\n";
    let error = read(text.as_bytes()).unwrap_err().to_string();
    assert!(
        error.starts_with("line 7, column 3: unknown operation `stbar#`"),
        "{error}"
    );

    let text = text.replace("stbar# #", "stbar #");
    assert_eq!(
        lines(&text),
        [
            "T7 st x =16 @queue.c:17#not-a-comment",
            "T7 ld x =16",
            "T8 fence @a",
            "T8 stbar",
        ]
    );
}

#[test]
fn an_empty_trace_has_no_events() {
    for text in ["", "\n", "#", "fencepost-trace 1", "\u{feff}", "  \r\n \t"] {
        assert_eq!(lines(text), [""; 0], "{text:?}");
    }
}

#[test]
fn the_last_line_needs_no_end() {
    assert_eq!(
        lines("0 il x\n1 lst y =18446744073709551615"),
        ["T0 il x", "T1 lst y =18446744073709551615"]
    );
}

#[test]
fn leading_zeros_and_the_letter_make_no_difference() {
    let (names, _) = read(b"007 ld x\nT7 ld x\n7 ld x\nT0007:4 ld x\n").unwrap();
    assert_eq!(names.thread_count(), 1);
}

#[test]
fn any_word_is_an_address() {
    assert_eq!(
        lines("0 ld 0x7ffe10\n0 ld T0\n0 ld ld\n0 ld x+1\n0 ld →ä\n0 ld -1 =2"),
        [
            "T0 ld 0x7ffe10",
            "T0 ld T0",
            "T0 ld ld",
            "T0 ld x+1",
            "T0 ld →ä",
            "T0 ld -1 =2"
        ]
    );
}

#[test]
fn a_pipe_that_delivers_byte_by_byte_makes_no_difference() {
    struct Trickle(&'static [u8]);
    impl std::io::Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let trickle = Trickle(b"T0 st x =1\nT1 ld x =1 @b.c:2\n");
    let mut reader = fencepost_trace::TraceReader::open(trickle).unwrap();
    let mut batch = Vec::new();
    let mut sizes = Vec::new();
    while reader.next_batch(&mut batch).unwrap() {
        sizes.push(batch.len());
    }
    assert_eq!(sizes, [1, 1], "an event is not held back until more arrive");
    assert_eq!(reader.bytes_consumed(), 29);
}
