//! Ctrl-C stops a run with the findings so far.

use crate::support;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};

use support::{Scratch, code, spawn, stdout};

fn interrupt(child: &Child) {
    let kill = format!("kill -INT {}", child.id());
    let status = Command::new("sh").args(["-c", &kill]).status();
    assert!(status.expect("there is a shell").success());
}

/// Writes until the command has stopped reading.
fn feed(child: &mut Child, lines: &[u8]) {
    let mut stdin = child.stdin.take().expect("a pipe");
    while stdin.write_all(lines).is_ok() {}
}

#[test]
fn an_interrupted_monitor_says_what_it_has_seen() {
    for (trace, expected) in [
        ("T0 st x\n", 3),
        ("T0 st x\nT0 ld y\nT1 st y\nT1 ld x\n", 1),
    ] {
        let mut child = spawn(&["monitor", "-", "--json", "--max-findings", "0"]);
        let lines = trace.repeat(10_000);
        // So that the handler is there: events are read only after it was set.
        let stdin = child.stdin.as_mut().expect("a pipe");
        stdin.write_all(lines.as_bytes()).expect("it reads");
        interrupt(&child);
        feed(&mut child, lines.as_bytes());
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(code(&output), expected);
        let last = stdout(&output).lines().last().expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(last).expect("JSON");
        assert_eq!(summary["limit"], "interrupt");
        assert_eq!(summary["complete"], false);
        assert!(summary["events"].as_u64() > Some(0));
    }
}

#[test]
fn an_interrupted_conversion_leaves_nothing_behind() {
    let scratch = Scratch::new("interrupt");
    let target = scratch.path("out.fpt");
    let mut child = spawn(&["trace", "convert", "-", &target]);
    let lines = "T0 st x\n".repeat(10_000);
    let stdin = child.stdin.as_mut().expect("a pipe");
    stdin.write_all(lines.as_bytes()).expect("it reads");
    interrupt(&child);
    feed(&mut child, lines.as_bytes());
    assert_eq!(child.wait().expect("the command ends").code(), Some(130));
    assert!(!Path::new(&target).exists());
    assert!(!Path::new(&format!("{target}.partial")).exists());
}

#[test]
fn an_interrupted_search_says_what_it_has_covered() {
    let model = "var x: array [0..19] of 0..9;
startstate for i := 0 to 19 do x[i] := 0; end; end;
ruleset i: 0..19 do rule \"up\" x[i] := (x[i] + 1) % 10; end; end;";
    let mut child = spawn(&["protocol", "-", "--json"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(model.as_bytes()).expect("it reads");
    drop(stdin);
    // The handler is set before the model is read; the search runs until it is told to stop.
    std::thread::sleep(std::time::Duration::from_millis(500));
    interrupt(&child);
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(code(&output), 3);
    let last = stdout(&output).lines().last().expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(summary["limit"], "interrupt");
    assert_eq!(summary["complete"], false);
    assert!(summary["states"].as_u64() > Some(0));
}
