//! The process of a test may be killed by anyone.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::Command;
use std::time::Duration;

use fencepost_hardware::{Ending, NotHere, Processor, Record, Request};
use fencepost_litmus::{Limits, parse};

/// The child processes of this one.
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name in parentheses may have anything in it; then the state and the parent.
        let parent = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(1));
        if parent == Some(&own) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_killed_process_is_named_and_the_next_one_runs() {
    let processor = match Processor::detect() {
        Ok(processor) => processor,
        Err(reason @ NotHere::Counter) => return eprintln!("skipped: {reason}"),
        Err(reason) => panic!("{reason}"),
    };
    let test = parse(b"X86 T\n{ }\n P0 ;\n MOV [x],$1 ;\n", &Limits::default()).expect("a test");
    let mut record = Record::default();
    let kill = || {
        for child in children() {
            let _ = Command::new("kill").args(["-9", &child]).status();
        }
        false
    };
    let request = Request {
        stop: &kill,
        ..Request::new(Duration::from_secs(600))
    };
    let ending = processor.run(&test, &mut record, &request);
    assert_eq!(ending, Ok(Ending::Killed { signal: 9 }));
    let ending = processor.run(&test, &mut record, &Request::new(Duration::from_millis(1)));
    assert_eq!(ending, Ok(Ending::Completed));
    assert!(record.executions > 0);
}
