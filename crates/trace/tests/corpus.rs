//! Every file of the corpus, valid or nasty, with the outcome that is expected.
//!
//! `corpus/expected.txt` has a line for each file: `FILE ok EVENTS CHECKSUM` or
//! `FILE error MESSAGE` or `FILE limit MESSAGE`. The corpus also seeds the fuzz targets.

use crate::support;

use std::collections::BTreeMap;
use std::path::Path;

use fencepost_trace::{Limits, TraceReader};
use support::describe;

fn outcome(path: &Path) -> String {
    let read = || {
        let mut reader = TraceReader::open_path(path, &Limits::default())?;
        let accesses = reader.read_to_end()?;
        Ok((reader.into_names(), accesses))
    };
    match read() {
        Ok((names, accesses)) => {
            let lines = describe(&names, &accesses).join("\n");
            let checksum = crc32fast::hash(lines.as_bytes());
            format!("ok {} {checksum:08x}", accesses.len())
        }
        Err(error) => {
            let error: fencepost_trace::ReadError = error;
            let kind = if error.is_limit() { "limit" } else { "error" };
            format!("{kind} {error}")
        }
    }
}

#[test]
fn every_file_has_its_outcome() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name != "expected.txt" && !name.starts_with('.') {
            found.insert(name, outcome(&path));
        }
    }
    let expected = std::fs::read_to_string(folder.join("expected.txt")).unwrap();
    let expected: BTreeMap<String, String> = expected
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, outcome)| (name.to_string(), outcome.to_string()))
        .collect();
    assert!(found.len() > 40, "the corpus is there");
    for (name, outcome) in &found {
        assert_eq!(Some(outcome), expected.get(name), "outcome of {name}");
    }
    assert_eq!(
        found.len(),
        expected.len(),
        "every expectation has its file"
    );
}

/// The same trace in every format and compression is the same trace.
#[test]
fn message_passing_is_the_same_in_every_format() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let plain = outcome(&folder.join("message_passing.trace"));
    assert!(plain.starts_with("ok 6 "), "{plain}");
    for name in [
        "message_passing_crlf.trace",
        "message_passing.trace.gz",
        "message_passing.trace.zst",
        "message_passing.fpt",
        "message_passing.fpt.gz",
        "message_passing.fpt.zst",
        "members.trace.gz",
        "frames.trace.zst",
    ] {
        assert_eq!(outcome(&folder.join(name)), plain, "{name}");
    }
}
