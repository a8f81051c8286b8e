//! Every error and what is said about it: `messages.txt` has files and, below each, the exact message.
//!
//! With `FENCEPOST_BLESS=1` the messages are written anew, to be looked at before they are committed.

use std::collections::BTreeSet;

use fencepost_litmus::{Limits, parse};

const CASE: &str = "=== ";
const MESSAGE: &str = "--- message";

/// Limits that small files reach.
fn limits() -> Limits {
    Limits {
        bytes: 2000,
        threads: 3,
        instructions: 4,
        cells: 6,
        name_bytes: 40,
        nesting: 4,
    }
}

/// The variants of `ParseErrorKind`. The byte that is not UTF-8 is in `hostile.rs`, since it cannot be in a
/// text file, and so is the test that leaves no addresses.
const PROBLEMS: &[&str] = &[
    "AmbiguousRegister",
    "ArrayAlone",
    "BadCharacter",
    "BadNumber",
    "BareName",
    "ByteMoveIf",
    "ConstantDestination",
    "DoesNotFit",
    "DuplicateLabel",
    "DuplicateThread",
    "ElementInitialized",
    "FaultClaim",
    "HighByteObserved",
    "InitializedTwice",
    "Limit",
    "LockNotAllowed",
    "MissingInitialState",
    "MissingName",
    "MixedSize",
    "NarrowAddress",
    "NoSuchCell",
    "NoSuchElement",
    "NoSuchThread",
    "NotAnArray",
    "NotModelled",
    "NumberTooLarge",
    "NumericAddress",
    "OperandCount",
    "OperandKind",
    "RowLength",
    "TwoMemoryOperands",
    "Unexpected",
    "UnexpectedEnd",
    "UnknownArchitecture",
    "UnknownInstruction",
    "UnknownLabel",
    "UnknownLocation",
    "UnknownRegister",
    "UnknownType",
    "Unterminated",
    "UnusedRegister",
    "WideRegister",
    "WidthMismatch",
    "WrongCount",
];

#[test]
fn messages() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages.txt");
    let table = std::fs::read_to_string(path).expect("the table is there");
    let mut written = String::new();
    let mut seen = BTreeSet::new();
    for case in table.split(CASE).skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name, then the file");
        let (source, _) = rest.split_once(MESSAGE).unwrap_or((rest, ""));
        let source = source.strip_suffix('\n').unwrap_or(source);
        let error = match parse(source.as_bytes(), &limits()) {
            Ok(test) => panic!("{name} has no error: {test:#?}"),
            Err(error) => error,
        };
        assert_eq!(error.is_limit(), name.starts_with("limit"), "{name}");
        for error in &error.errors {
            let kind = format!("{:?}", error.kind);
            let end = kind.find(|c: char| !c.is_alphanumeric());
            seen.insert(kind[..end.unwrap_or(kind.len())].to_owned());
        }
        let message = error.render("test.litmus");
        written += &format!("{CASE}{name}\n{source}\n{MESSAGE}\n{message}\n\n");
    }
    let missing: Vec<_> = PROBLEMS
        .iter()
        .filter(|name| !seen.contains(**name))
        .collect();
    if std::env::var_os("FENCEPOST_BLESS").is_some() {
        std::fs::write(path, &written).expect("the table can be written");
    } else {
        for (found, expected) in written.split(CASE).zip(table.split(CASE)) {
            assert_eq!(found.trim_end(), expected.trim_end());
        }
    }
    assert!(missing.is_empty(), "no test has {missing:?}");
}
