//! Damaged inputs, made from good ones.

use crate::support;

use std::io::{Read, Write};
use std::process::Stdio;

use support::{Scratch, code, fencepost, run, run_with_input, spawn, stderr, stdout};

/// A binary trace of a few blocks.
fn binary_trace(scratch: &Scratch) -> Vec<u8> {
    let file = scratch.path("good.fpt");
    let generate = ["trace", "generate", "--events", "50000", "--output", &file];
    assert_eq!(code(&run(&generate)), 0);
    std::fs::read(file).expect("the trace")
}

/// `fencepost monitor` of these bytes: the exit code must be 2. Returns the message.
fn rejected(scratch: &Scratch, bytes: &[u8]) -> String {
    let file = scratch.path("bad");
    std::fs::write(&file, bytes).expect("a file");
    let output = run(&["monitor", &file, "--max-findings", "0"]);
    let message = stderr(&output);
    assert_eq!(code(&output), 2, "{message}");
    assert!(message.starts_with("error: "), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    message.to_string()
}

#[test]
fn a_line_that_is_not_utf_8() {
    let scratch = Scratch::new("not-utf-8");
    let message = rejected(&scratch, b"T0 st x\nT0 st \xff\n");
    assert!(message.contains("byte 0xff is not UTF-8"), "{message}");
    assert!(message.contains(":2:7"), "{message}");
    assert!(message.contains("expected UTF-8 text"), "{message}");
}

#[test]
fn a_binary_trace_cut_short_anywhere() {
    let scratch = Scratch::new("truncated");
    let trace = binary_trace(&scratch);
    for length in [1, 4, 7, 9, 12, 20, 500, trace.len() / 2, trace.len() - 1] {
        rejected(&scratch, &trace[..length]);
    }
    let message = rejected(&scratch, &trace[..500]);
    assert!(message.contains("byte 500"), "{message}");
    assert!(
        message.contains("expected the rest of a block"),
        "{message}"
    );
}

#[test]
fn a_binary_trace_with_one_bit_flipped_anywhere() {
    let scratch = Scratch::new("corrupted");
    let trace = binary_trace(&scratch);
    let step = trace.len() / 40;
    for at in (0..trace.len()).step_by(step) {
        let mut broken = trace.clone();
        broken[at] ^= 0x10;
        rejected(&scratch, &broken);
    }
    let mut broken = trace.clone();
    broken[trace.len() / 2] ^= 1;
    let message = rejected(&scratch, &broken);
    assert!(message.contains("checksum"), "{message}");
    assert!(message.contains("byte "), "{message}");
}

#[test]
fn compressed_traces_cut_short_or_damaged() {
    let scratch = Scratch::new("compressed");
    for name in ["trace.fpt.gz", "trace.fpt.zst"] {
        let file = scratch.path(name);
        let generate = ["trace", "generate", "--events", "50000", "--output", &file];
        assert_eq!(code(&run(&generate)), 0);
        let bytes = std::fs::read(&file).expect("the trace");
        rejected(&scratch, &bytes[..bytes.len() / 2]);
        let mut broken = bytes.clone();
        broken[bytes.len() / 2] ^= 0x55;
        rejected(&scratch, &broken);
    }
}

/// A line without an end is given up after 64 KiB, however much of it there is: the command
/// ends while there is still more to read, and it never held more than a little.
#[test]
fn a_line_without_end() {
    let mut child = fencepost()
        .args(["monitor", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let chunk = [b'a'; 1 << 16];
    let mut written: u64 = 0;
    let limit = 10_u64 << 30;
    while written < limit && stdin.write_all(&chunk).is_ok() {
        written += chunk.len() as u64;
    }
    assert!(written < 1 << 24, "{written} bytes of one line were read");
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(code(&output), 2);
    let message = stderr(&output);
    assert!(message.contains("longer than 65536 bytes"), "{message}");
    assert!(message.contains("<stdin>:1:"), "{message}");
}

/// Reading a long trace of many names under a small limit ends with exit code 3.
#[test]
fn names_are_bounded() {
    let mut trace = Vec::new();
    for number in 0..100_000 {
        writeln!(trace, "T0 st variable-with-a-long-name-{number}").expect("memory");
    }
    let output = run_with_input(&["monitor", "-", "--max-memory", "1M"], &trace);
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stdout(&output).contains("stopped by a limit"));
}

#[test]
fn closing_the_output_early_is_no_error() {
    let arguments: [&[&str]; 3] = [
        &["trace", "generate", "--events", "1000000"],
        &["demo"],
        &["monitor", "-", "--max-findings", "1000000"],
    ];
    for arguments in arguments {
        let mut child = spawn(arguments);
        let mut stdout = child.stdout.take().expect("a pipe");
        let mut stdin = child.stdin.take().expect("a pipe");
        if arguments[0] == "monitor" {
            drop(stdout);
            // Reported at the last line, when the reader is gone.
            let _ = stdin.write_all(b"T0 st x\nT0 ld y\nT1 st y\nT1 ld x\n");
        } else {
            let mut first = [0; 16];
            stdout.read_exact(&mut first).expect("some output");
            drop(stdout);
        }
        drop(stdin);
        let output = child.wait_with_output().expect("the command ends");
        // What was found counts, whether or not somebody reads it.
        let expected = i32::from(arguments[0] == "monitor");
        assert_eq!(code(&output), expected, "{arguments:?}");
        assert_eq!(stderr(&output), "", "{arguments:?}");
    }
}
