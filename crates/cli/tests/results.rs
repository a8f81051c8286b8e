//! Results of the command: JSON, formats, standard input, `--output`.

use crate::support;

use serde_json::Value;
use support::{Scratch, code, root, run, run_with_input, stderr, stdout};

/// The objects that `--json` printed.
fn objects(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("one JSON object per line");
    text.lines().map(parse).collect()
}

#[test]
fn the_last_line_of_json_is_the_summary() {
    let output = run(&["monitor", "traces/store-buffering.trace", "--json"]);
    assert_eq!(code(&output), 1);
    let objects = objects(stdout(&output));
    let summary = objects.last().expect("a summary");
    assert_eq!(summary["schema"], "fencepost-monitor/1");
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["model"], "tso");
    assert_eq!(summary["monitor"], "relaxed-order");
    assert_eq!(summary["events"], 4);
    assert_eq!(summary["violations"], 1);
    assert_eq!(summary["distinct"], 1);
    assert_eq!(summary["violation_found"], true);
    assert_eq!(summary["complete"], true);

    assert_eq!(objects.len(), 2);
    let violation = &objects[0];
    assert_eq!(violation["type"], "violation");
    assert_eq!(violation["pending"]["location"], "dekker.c:4");
    assert_eq!(violation["last"]["location"], "dekker.c:9");
    assert_eq!(violation["event"]["location"], "dekker.c:10");
    assert_eq!(violation["witness"]["checked"], true);
}

#[test]
fn the_summary_says_what_stopped_it() {
    let arguments = ["monitor", "traces/n6.trace", "--json", "--max-events", "2"];
    let output = run(&arguments);
    assert_eq!(code(&output), 3);
    let objects = objects(stdout(&output));
    let summary = objects.last().expect("a summary");
    assert_eq!(summary["events"], 2);
    assert_eq!(summary["complete"], false);
    assert_eq!(summary["violation_found"], false);
    assert!(
        summary["stopped_by"]
            .as_str()
            .unwrap()
            .contains("--max-events")
    );
}

/// The steps of a witness are those of a store-buffer machine: what is committed was buffered,
/// and the pending write is committed after the overtaking event is done.
#[test]
fn a_witness_in_json_is_a_run() {
    for model in ["tso", "pso"] {
        let output = run(&["monitor", "traces/n6.trace", "--json", "--model", model]);
        let objects = objects(stdout(&output));
        let violation = &objects[0];
        let steps = violation["witness"]["steps"].as_array().unwrap();
        let place = |event: &Value, action: &str| {
            steps
                .iter()
                .position(|step| step["position"] == event["position"] && step["action"] == action)
        };
        let pending = place(&violation["pending"], "commit").expect("it commits");
        let overtaking = place(&violation["event"], "commit").expect("a store commits");
        assert!(overtaking < pending);
        for step in steps.iter().filter(|step| step["action"] == "commit") {
            assert!(place(step, "buffer") < place(step, "commit"));
        }
    }
}

#[test]
fn every_format_and_compression_gives_the_same_answer() {
    let scratch = Scratch::new("formats");
    let text = scratch.path("run.trace");
    let generate = |output: &str| {
        let options = "trace generate --events 5000 --addresses 16 --seed 3 --output";
        let mut arguments: Vec<_> = options.split(' ').collect();
        arguments.push(output);
        assert_eq!(code(&run(&arguments)), 0);
    };
    generate(&text);
    for model in ["tso", "pso"] {
        let monitor = |file: &str| {
            let output = run(&["monitor", file, "--model", model]);
            assert_eq!(code(&output), 1, "{}", stderr(&output));
            // The file's name is part of the text.
            stdout(&output).replace(file, "FILE")
        };
        let expected = monitor(&text);
        assert!(expected.contains("5,000 events, 4 threads, 16 addresses"));
        for name in [
            "a.fpt",
            "a.trace.gz",
            "a.trace.zst",
            "a.fpt.gz",
            "a.fpt.zst",
        ] {
            let converted = scratch.path(name);
            let convert = run(&["trace", "convert", &text, &converted]);
            assert_eq!(code(&convert), 0, "{}", stderr(&convert));
            assert_eq!(monitor(&converted), expected, "{name}");
            // From standard input nothing but the name differs.
            let bytes = std::fs::read(&converted).expect("the trace");
            let piped = run_with_input(&["monitor", "-", "--json", "--model", model], &bytes);
            let from_file = run(&["monitor", &text, "--json", "--model", model]);
            let from_file = stdout(&from_file).replace(&text, "-");
            assert_eq!(stdout(&piped), from_file, "{name}");
            // Back to text: the same bytes.
            let back = run(&["trace", "convert", &converted, "-"]);
            assert_eq!(back.stdout, std::fs::read(&text).expect("the trace"));
        }
    }
}

#[test]
fn names_values_and_locations_survive_the_binary_format() {
    let scratch = Scratch::new("round-trip");
    let binary = scratch.path("n6.fpt");
    assert_eq!(
        code(&run(&["trace", "convert", "traces/n6.trace", &binary])),
        0
    );
    let from_text = run(&["monitor", "traces/n6.trace"]);
    let from_binary = run(&["monitor", &binary]);
    let from_binary = stdout(&from_binary).replace(&binary, "traces/n6.trace");
    assert_eq!(from_binary, stdout(&from_text));
}

#[test]
fn generating_is_repeatable_in_every_format() {
    let scratch = Scratch::new("generate");
    let (one, two) = (scratch.path("one.fpt"), scratch.path("two.fpt"));
    for file in [&one, &two] {
        let arguments = ["trace", "generate", "--seed", "5", "--output", file];
        assert_eq!(code(&run(&arguments)), 0);
    }
    let read = |file| std::fs::read(file).expect("the trace");
    assert_eq!(read(&one), read(&two));
    let text = run(&["trace", "generate", "--seed", "5"]);
    let converted = run(&["trace", "convert", &one, "-"]);
    assert_eq!(text.stdout, converted.stdout);
}

#[test]
fn colour_is_shown_if_asked_for() {
    let file = "traces/n6.trace";
    let plain = run(&["monitor", file, "--color", "never"]);
    let colourful = run(&["monitor", file, "--color", "always"]);
    assert!(!stdout(&plain).contains('\u{1b}'));
    assert!(stdout(&colourful).contains('\u{1b}'));
}

#[test]
fn completions_and_the_manual_page_are_printed() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        assert_eq!(code(&output), 0);
        assert!(stdout(&output).contains("max-findings"), "{shell}");
        for old in ["memory-limit", "jobs", "timeout"] {
            assert!(!stdout(&output).contains(old), "{shell}: {old}");
        }
    }
    let manual = run(&["man"]);
    assert_eq!(code(&manual), 0);
    assert!(stdout(&manual).starts_with(".ie") || stdout(&manual).starts_with(".TH"));
    assert!(stdout(&manual).contains("Exit codes"));
}

/// A violation that spans more than the witness window has a witness if the trace is a file,
/// and says that it has none if it is a pipe.
#[test]
fn a_long_violation_is_looked_up_in_the_file_again() {
    let arguments = [
        "monitor",
        "traces/n6.trace",
        "--witness-window",
        "4",
        "--json",
    ];
    let from_file = run(&arguments);
    assert_eq!(code(&from_file), 1);
    assert_eq!(objects(stdout(&from_file))[0]["witness"]["checked"], true);

    let trace = std::fs::read(root().join("traces/n6.trace")).unwrap();
    let from_pipe = run_with_input(&["monitor", "-", "--witness-window", "4", "--json"], &trace);
    assert_eq!(code(&from_pipe), 1);
    let violation = &objects(stdout(&from_pipe))[0];
    assert!(violation["witness"].is_null());
    assert_eq!(
        violation["witness_missing"],
        "the violation spans 5 events, but only the last 4 are kept"
    );
}

/// The last line of a failed run is an error.
#[test]
fn bad_input_ends_with_an_error_in_json() {
    let violation = "T0 st x\nT0 ld y\nT1 st y\nT1 ld x\noops\n";
    let output = run_with_input(&["monitor", "-", "--json"], violation.as_bytes());
    assert_eq!(code(&output), 2);
    let objects = objects(stdout(&output));
    assert_eq!(objects[0]["type"], "violation");
    let error = objects.last().unwrap();
    assert_eq!(error["type"], "error");
    assert_eq!(error["exit_code"], 2);
    assert_eq!(error["schema"], "fencepost-monitor/1");
    assert!(error["message"].as_str().unwrap().contains("<stdin>:5:1"));
}

#[test]
fn output_files_have_what_standard_output_has() {
    let scratch = Scratch::new("output");
    for arguments in [
        "monitor traces/n6.trace",
        "monitor traces/n6.trace --json",
        "trace stat traces/n6.trace --json",
        "trace generate --events 20",
        "example",
        "example dekker --workers 1 --max-time 60s",
        "litmus --json --robust --workers 1 litmus/basic",
        "reproduce x86-tso",
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let printed = run(&arguments);
        let file = scratch.path("result");
        let written = run(&[&arguments[..], &["--output", &file]].concat());
        assert_eq!(code(&printed), code(&written), "{arguments:?}");
        assert_eq!(stdout(&written), "", "{arguments:?}");
        let text = std::fs::read_to_string(&file).expect("the result");
        assert_eq!(text, stdout(&printed), "{arguments:?}");
    }
}
