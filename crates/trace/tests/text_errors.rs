//! Every error in a text trace, with its exact message.

use crate::support;

use fencepost_trace::{Limits, ReadError};
use support::{message, read, read_with};

/// What is read, and the message.
type Case = (&'static str, &'static str);

/// Lines that name the format.
const HEADERS: &[Case] = &[
    (
        "fencepost-trace 2\n",
        "line 1, column 17: unknown version `2` of the text format, expected \
         `fencepost-trace 1`",
    ),
    (
        "fencepost-trace\n",
        "line 1, column 16: unknown version `` of the text format, expected \
         `fencepost-trace 1`",
    ),
    (
        "fencepost-trace 1 x\n",
        "line 1, column 19: unexpected `x`, expected the end of the line",
    ),
    (
        "T0 st x\nfencepost-trace 1\n",
        "line 2, column 1: `fencepost-trace` is not a thread, expected a thread number such \
         as `T0` or `4711`",
    ),
];

/// Thread numbers.
const THREADS: &[Case] = &[
    (
        "main ld x\n",
        "line 1, column 1: `main` is not a thread, expected a thread number such as `T0` or \
         `4711`",
    ),
    (
        "T-1 ld x\n",
        "line 1, column 1: `T-1` is not a thread, expected a thread number such as `T0` or \
         `4711`",
    ),
    (
        "T ld x\n",
        "line 1, column 1: `T` is not a thread, expected a thread number such as `T0` or \
         `4711`",
    ),
    (
        "\n# T9\nT1099511627776 ld x\n",
        "line 3, column 1: thread number 1099511627776 is too large, expected a number up to \
         4294967295",
    ),
    (
        "99999999999999999999999999 ld x\n",
        "line 1, column 1: thread number 99999999999999999999999999 is too large, expected a \
         number up to 4294967295",
    ),
];

/// Issue indices.
const ISSUE_INDICES: &[Case] = &[
    (
        "T0:x ld y\n",
        "line 1, column 4: `x` is not an issue index, expected a number from 1 after the \
         colon",
    ),
    (
        "T0: ld y\n",
        "line 1, column 4: `` is not an issue index, expected a number from 1 after the colon",
    ),
    (
        "T0:1 ld y\nT0:2 ld y\nT0:5 ld y\n",
        "line 3, column 4: issue index 5 out of order: thread T0 has had 2 events, expected 3",
    ),
    (
        "T7 ld y\nT7:1 ld y\n",
        "line 2, column 4: issue index 1 out of order: thread T7 has had 1 event, expected 2",
    ),
    (
        "T0:0 ld y\n",
        "line 1, column 4: issue index 0 out of order: thread T0 has had 0 events, expected 1",
    ),
    (
        "T0:99999999999999999999 ld y\n",
        "line 1, column 4: issue index 18446744073709551615 out of order: thread T0 has had \
         0 events, expected 1",
    ),
];

/// Operations, and whether an address follows them.
const OPERATIONS: &[Case] = &[
    (
        "T0  \n",
        "line 1, column 3: the line ends after the thread, expected one of ld, st, il, lld, \
         lst, fence, stbar",
    ),
    (
        "T0 # ld x\n",
        "line 1, column 3: the line ends after the thread, expected one of ld, st, il, lld, \
         lst, fence, stbar",
    ),
    (
        "T0 load x\n",
        "line 1, column 4: unknown operation `load`, expected one of ld, st, il, lld, lst, \
         fence, stbar",
    ),
    (
        "T0 st\n",
        "line 1, column 6: `st` has no address, expected an address such as `x` or `0x7ffe10`",
    ),
    (
        "T0 lst =5\n",
        "line 1, column 8: `lst` has no address, expected an address such as `x` or \
         `0x7ffe10`",
    ),
    (
        "T0 fence x\n",
        "line 1, column 10: `fence` takes no address and no value, but `x` follows, expected \
         `@LOCATION` or the end of the line",
    ),
    (
        "T0 stbar =1\n",
        "line 1, column 10: `stbar` takes no address and no value, but `=1` follows, expected \
         `@LOCATION` or the end of the line",
    ),
];

/// Addresses and source locations.
const NAMES: &[Case] = &[
    (
        "T0 ld a\0b\n",
        "line 1, column 8: not an address: the name contains U+0000, which is a control \
         character, expected up to 255 bytes without white space, control characters, `=` and `@`, not beginning with `#`",
    ),
    (
        "T0 ld x @\n",
        "line 1, column 10: not a source location: the name is empty, expected up to 1024 \
         bytes without white space or control characters after `@`",
    ),
    (
        "T0 st x=1\n",
        "line 1, column 8: not an address: the name contains `=`, expected up to 255 bytes \
         without white space, control characters, `=` and `@`, not beginning with `#`",
    ),
    (
        "T0 st x@a.c:3\n",
        "line 1, column 8: not an address: the name contains `@`, expected up to 255 bytes \
         without white space, control characters, `=` and `@`, not beginning with `#`",
    ),
];

/// Values.
const VALUES: &[Case] = &[
    (
        "T0 ld x =y\n",
        "line 1, column 10: `y` is not a value, expected a number such as `=17` or `=0x11` \
         after the address",
    ),
    (
        "T0 ld x =0x\n",
        "line 1, column 10: `0x` is not a value, expected a number such as `=17` or `=0x11` \
         after the address",
    ),
    (
        "T0 ld x = 5\n",
        "line 1, column 10: `` is not a value, expected a number such as `=17` or `=0x11` \
         after the address",
    ),
    (
        "T0 ld x =18446744073709551616\n",
        "line 1, column 10: value 18446744073709551616 is too large, expected a number up to \
         18446744073709551615",
    ),
    (
        "T0 ld x =0x10000000000000000\n",
        "line 1, column 10: value 0x10000000000000000 is too large, expected a number up to \
         18446744073709551615",
    ),
];

/// What follows the address.
const ENDS: &[Case] = &[
    (
        "T0 ld x y\n",
        "line 1, column 9: unexpected `y`, expected `=VALUE`, `@LOCATION` or the end of the \
         line",
    ),
    (
        "T0 ld x =1 =2\n",
        "line 1, column 12: unexpected `=2`, expected `@LOCATION` or the end of the line",
    ),
    (
        "T0 ld x @a.c:1 =1\n",
        "line 1, column 16: unexpected `=1`, expected the end of the line",
    ),
];

/// Values that are not those that were written or read before.
const READS: &[Case] = &[
    (
        "T0 st x =1\nT1 ld x =2\n",
        "line 2, column 9: not a sequentially consistent interleaving: `ld x` reads 2, but \
         line 1 wrote 1, expected `=1`",
    ),
    (
        "T0 ld x =1\n\nT1 lld x =2\n",
        "line 3, column 10: not a sequentially consistent interleaving: `lld x` reads 2, but \
         line 1 read 1, expected `=1`",
    ),
];

#[test]
fn every_problem_has_its_message() {
    let kinds = [
        HEADERS,
        THREADS,
        ISSUE_INDICES,
        OPERATIONS,
        NAMES,
        VALUES,
        ENDS,
        READS,
    ];
    for (input, expected) in kinds.concat() {
        assert_eq!(message(input.as_bytes()), expected, "for {input:?}");
    }
}

#[test]
fn long_names_have_their_messages() {
    let address = format!("T0 ld {}", "x".repeat(256));
    assert_eq!(
        message(address.as_bytes()),
        "line 1, column 7: not an address: the name has 256 bytes, but at most 255 are \
         allowed, expected up to 255 bytes without white space, control characters, `=` and `@`, not beginning with `#`"
    );
    let location = format!("T0 ld x @{}", "y".repeat(1025));
    assert_eq!(
        message(location.as_bytes()),
        "line 1, column 10: not a source location: the name has 1025 bytes, but at most 1024 \
         are allowed, expected up to 1024 bytes without white space or control characters \
         after `@`"
    );
}

#[test]
fn bytes_that_are_not_text_have_their_messages() {
    assert_eq!(
        message(b"T0 ld x\nT0 ld \xc3\xa4\xff\n"),
        "line 2, column 8: byte 0xff is not UTF-8, expected UTF-8 text"
    );
    assert_eq!(
        message(&[b'a'; 70_000]),
        "line 1, column 65537: the line is longer than 65536 bytes, expected one event per line"
    );
    let mut comment = b"T0 ld x\n#".to_vec();
    comment.extend([b'-'; 65_535]);
    assert_eq!(
        read(&comment).unwrap().1.len(),
        1,
        "exactly the longest line"
    );
    comment.push(b'-');
    comment.extend(b"\nT0 ld x\n");
    assert_eq!(
        message(&comment),
        "line 2, column 65537: the line is longer than 65536 bytes, expected one event per line"
    );
}

#[test]
fn limits_are_errors_of_their_own() {
    let threads: String = (0..1025).map(|number| format!("{number} ld x\n")).collect();
    let error = read(threads.as_bytes()).unwrap_err();
    assert!(error.is_limit());
    assert_eq!(
        error.to_string(),
        "line 1025: the trace has more than 1024 threads, the most that are supported"
    );

    let limits = Limits {
        max_name_bytes: 50_000,
        ..Limits::default()
    };
    let addresses: String = (0..10_000)
        .map(|number| format!("0 ld x{number}\n"))
        .collect();
    let error = read_with(addresses.as_bytes(), &limits).unwrap_err();
    assert!(error.is_limit());
    assert!(
        error
            .to_string()
            .ends_with(": the names in the trace take more than the 50000 bytes allowed for them"),
        "{error}"
    );
    let values: String = (0..1_500)
        .map(|number| format!("0 st x{number} =1\n"))
        .collect();
    assert!(
        read_with(values.as_bytes(), &limits)
            .unwrap_err()
            .is_limit()
    );
    let without: String = (0..1_500)
        .map(|number| format!("0 st x{number}\n"))
        .collect();
    assert_eq!(
        read_with(without.as_bytes(), &limits).unwrap().1.len(),
        1_500
    );
}

fn rendered(input: &[u8]) -> String {
    let error: ReadError = read(input).unwrap_err();
    error.render("run.trace".as_ref())
}

#[test]
fn an_error_shows_the_line_with_a_caret() {
    assert_eq!(
        rendered(b"T0 st x =1 @mp.c:3\nT1\tLD x =1\n"),
        "\
error: unknown operation `LD`
 --> run.trace:2:4
  |
2 | T1 LD x =1
  |    ^^ expected one of ld, st, il, lld, lst, fence, stbar
  |
  = help: operations are written in lower case: `ld`"
    );
    assert_eq!(
        rendered(b"T0 st x =-1\n"),
        "\
error: `-1` is not a value
 --> run.trace:1:10
  |
1 | T0 st x =-1
  |          ^^ expected a number such as `=17` or `=0x11` after the address
  |
  = help: values are unsigned 64-bit numbers; write -1 as 0xffffffffffffffff"
    );
}

#[test]
fn a_long_line_is_shortened_around_the_mistake() {
    let line = format!("T0 ld {} @{} ?", "a".repeat(200), "b".repeat(300));
    let text = rendered(line.as_bytes());
    let excerpt = format!(
        "1 | …{} ?\n  |  {}^ expected",
        "b".repeat(39),
        " ".repeat(40)
    );
    assert!(text.contains(&excerpt), "{text}");

    let line = format!("T0 ? {}", "a".repeat(200));
    let text = rendered(line.as_bytes());
    let excerpt = format!("1 | T0 ? {}…\n  |    ^ expected", "a".repeat(95));
    assert!(text.contains(&excerpt), "{text}");
}

#[test]
fn an_error_is_fit_for_a_terminal() {
    let text = rendered(b"T0 \x1b[31mred\x07 x\n");
    assert!(
        text.contains("unknown operation `\u{fffd}[31mred\u{fffd}`"),
        "{text}"
    );
    let unprintable = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(unprintable), "{text:?}");
}

#[test]
fn every_problem_has_a_hint() {
    let inputs: &[&[u8]] = &[
        b"fencepost-trace 9\n",
        b"x ld y\n",
        b"4294967296 ld y\n",
        b"T0:x ld y\n",
        b"T0:2 ld y\n",
        b"T0\n",
        b"T0 load y\n",
        b"T0 ld\n",
        b"T0 fence y\n",
        b"T0 ld y\x01\n",
        b"T0 ld y @\n",
        b"T0 ld y =z\n",
        b"T0 ld y =99999999999999999999\n",
        b"T0 ld y z\n",
        &[b'y'; 70_000],
        b"\xff\n",
        b"T0 st y =1\nT0 ld y =0\n",
    ];
    let mut hints = std::collections::BTreeSet::new();
    for input in inputs {
        let ReadError::Text(error) = read(input).unwrap_err() else {
            panic!("not a mistake in the text");
        };
        hints.insert(error.problem.hint());
    }
    let shared = 1; // a missing operation and a missing address have the same hint
    assert_eq!(hints.len(), inputs.len() - shared, "{hints:#?}");
}

#[test]
fn what_precedes_a_mistake_is_delivered_first() {
    let text: &[u8] = b"T0 st x\nT0 st y\nT0 oops\nT0 st z\n";
    let mut reader = fencepost_trace::TraceReader::open(text).unwrap();
    let mut batch = Vec::new();
    while reader.events() < 2 {
        assert!(reader.next_batch(&mut batch).unwrap());
    }
    assert!(reader.next_batch(&mut batch).is_err());
    assert!(batch.is_empty());
    let after = reader.next_batch(&mut batch).unwrap_err();
    assert_eq!(after.to_string(), "the trace was read on after an error");
}

#[test]
fn a_file_that_does_not_open_is_named() {
    let path = "/no/such/file.trace".as_ref();
    let Err(error) = fencepost_trace::TraceReader::open_path(path, &Limits::default()) else {
        panic!("there is such a file");
    };
    let expected = "cannot open /no/such/file.trace: No such file or directory (os error 2)";
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.render(path), format!("error: {expected}"));
    assert!(fencepost_trace::TraceReader::open_path("/".as_ref(), &Limits::default()).is_err());
}
