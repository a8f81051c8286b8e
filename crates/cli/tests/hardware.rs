//! `fencepost litmus --run`: logs, JSON, comparisons, tests that misbehave. Nothing waits for a state
//! that is only allowed.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::support;

use std::process::Output;

use fencepost_litmus::log::parse_log;
use serde_json::Value;
use support::{Scratch, code};

fn run(arguments: &[&str]) -> Output {
    let output = support::fencepost()
        .args(["litmus", "--run"])
        .args(arguments)
        .output();
    output.expect("the command")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Whether tests can be run here: in some virtual machines the counter cannot be used.
fn is_here() -> bool {
    match fencepost_hardware::Processor::detect() {
        Ok(_) => true,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            false
        }
    }
}

/// One thread, so there is one final state, and it is always seen.
const ALONE: &str = "X86 ALONE\n{ }\n P0 ;\n MOV [x],$1 ;\n LOCK INC [x] ;\nexists ([x]=2)\n";
const ENDLESS: &str = "X86 ENDLESS\n{ }\n P0 ;\n L: MOV EAX,[x] ;\n JMP L ;\nexists ([x]=1)\n";
const WILD: &str = "X86_64 WILD\n{ 0:rax=16 }\n P0 ;\n movl (%rax),%ebx ;\nexists (0:rbx=1)\n";
const DIVIDES: &str = "X86 DIVIDES\n{ }\n P0 ;\n DIV EAX ;\nexists (x=1)\n";
const NO_SUCH: &str = "X86_64 NOSUCH\n{ }\n P0 ;\n movb %ah,%r8b ;\nexists (0:rax=1)\n";

#[test]
fn the_log_is_litmus7s_and_is_read_again() {
    if !is_here() {
        return;
    }
    let scratch = Scratch::new("hardware-log");
    let alone = scratch.file("alone.litmus", ALONE);
    let output = run(&["--run-time", "10ms", "--parameters=slots=10", &alone]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let log = text(&output.stdout);
    for line in [
        "Test ALONE Allowed",
        "Histogram (1 states)",
        "Ok",
        "Condition exists ([x]=2) is validated",
        "Allowed by tso: 1 state, all seen",
        "Seed: 1",
    ] {
        assert!(log.lines().any(|found| found == line), "{line}: {log}");
    }
    for begin in [
        "Observation ALONE Always ",
        "Time ALONE ",
        "Parameters ALONE period=",
        "Machine: ",
    ] {
        assert!(
            log.lines().any(|found| found.starts_with(begin)),
            "{begin}: {log}"
        );
    }
    let entries = parse_log(&log);
    assert_eq!(
        (entries.len(), entries[0].is_sample, entries[0].states.len()),
        (1, true, 1)
    );
    // What the model says beside it.
    let log = scratch.file("run.log", &log);
    let model = support::fencepost()
        .args(["litmus", "--compare", &log, &alone])
        .output()
        .expect("the command");
    assert_eq!(code(&model), 0, "{}", text(&model.stdout));
    assert!(text(&model.stdout).contains("1 compared with"));
}

#[test]
fn only_one_direction_of_a_comparison_is_a_contradiction() {
    if !is_here() {
        return;
    }
    let scratch = Scratch::new("hardware-compare");
    let alone = scratch.file("alone.litmus", ALONE);
    let compare = |log: &str, options: &[&str]| {
        let log = scratch.file("edited.log", log);
        let output = support::fencepost()
            .args(["litmus", "--compare", &log, &alone])
            .args(options)
            .output();
        let output = output.expect("the command");
        (code(&output), text(&output.stdout))
    };
    let run = ["--run", "--run-time", "5ms"];
    let model_has =
        |states: &str, count: usize| format!("Test ALONE Allowed\nStates {count}\n{states}Ok\n");
    let seen = |states: &str, count: usize| {
        format!("Test ALONE Allowed\nHistogram ({count} states)\n{states}Ok\n")
    };
    // The model of the log allows more than was seen: nothing is wrong. If it allows less, something is.
    let (exit, output) = compare(&model_has("[x]=2;\n[x]=3;\n", 2), &run);
    assert_eq!(exit, 0, "{output}");
    assert!(
        output.contains("not all was seen") && output.contains("only in the log: x=3;"),
        "{output}"
    );
    let (exit, output) = compare(&model_has("[x]=3;\n", 1), &run);
    assert_eq!(exit, 1, "{output}");
    assert!(output.contains("only here:       x=2;"), "{output}");
    // JSON, and logs of more than one model, say which model it was.
    let model = |options: &[&str]| {
        let output = support::fencepost()
            .args(["litmus", &alone])
            .args(options)
            .output();
        text(&output.expect("the command").stdout)
    };
    for options in [
        &["--json"][..],
        &["--model", "sc,tso"],
        &["--model", "sc,tso", "--json"],
    ] {
        let log = model(options);
        let (exit, output) = compare(&log, &run);
        assert_eq!(exit, 0, "{output}");
        assert!(output.starts_with("1 compared with"), "{output}");
        let (exit, output) = compare(&log.replace("[x]=2", "[x]=3"), &run);
        assert_eq!(exit, 1, "{output}");
        assert!(output.contains("edited.log under tso"), "{output}");
    }
    let both = model(&["--model", "sc,tso"]);
    let (exit, output) = compare(&both, &["--run", "--run-time", "5ms", "--model", "sc,tso"]);
    assert_eq!(exit, 0, "{output}");
    assert!(output.starts_with("2 compared with"), "{output}");
    let (exit, output) = compare(&both, &["--run", "--run-time", "5ms", "--model", "pso"]);
    assert_eq!(exit, 1, "nothing was compared: {output}");
    // A log of a processor, beside the model.
    let (exit, output) = compare(&seen("5     *>[x]=2;\n", 1), &[]);
    assert_eq!(exit, 0, "{output}");
    let (exit, output) = compare(&seen("5     :>[x]=3;\n", 1), &[]);
    assert_eq!(exit, 1, "{output}");
    // litmus7 writes the test before its results, and its own settings after them.
    let whole = format!(
        "%%%%\n% Results for alone.litmus %\n%%%%\n{ALONE}Generated assembler\n#START _litmus_P0\n\tmovl $1,(%rdi)\n\n{}\n\
         Witnesses\nPositive: 5, Negative: 0\nCondition exists ([x]=2) is validated\nObservation ALONE Always 5 0\nTime ALONE 0.01\n\n\
         Revision 0, version 7\nParameters\n#define SIZE_OF_TEST 5\n",
        seen("5     *>[x]=2;\n", 1)
    );
    for whole in [
        whole.clone(),
        whole.replace("{ }", "{\n}"),
        whole.replace("{ }", "{}"),
    ] {
        let (exit, output) = compare(&whole, &[]);
        assert_eq!(exit, 0, "{output}");
        assert!(output.starts_with("1 compared with"), "{output}");
    }
    // Two processors.
    let (exit, output) = compare(&seen("5     :>[x]=3;\n", 1), &run);
    assert_eq!(exit, 0, "{output}");
    assert!(
        output.contains("1 differ only in what was not seen"),
        "{output}"
    );
}

#[test]
fn tests_that_misbehave_are_named_and_the_others_go_on() {
    if !is_here() {
        return;
    }
    let scratch = Scratch::new("hardware-hostile");
    for (name, source) in [
        ("a.litmus", ENDLESS),
        ("b.litmus", WILD),
        ("c.litmus", DIVIDES),
        ("d.litmus", NO_SUCH),
        ("e.litmus", ALONE),
    ] {
        scratch.file(name, source);
    }
    let output = run(&["--json", "--run-time", "10ms", &scratch.path("")]);
    assert_eq!(code(&output), 2);
    let lines = text(&output.stdout);
    let objects: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    assert_eq!(objects.len(), 5, "{lines}");
    let field = |index: usize, name: &str| objects[index][name].clone();
    assert_eq!(
        (field(0, "test"), field(0, "ending")),
        ("ENDLESS".into(), "no-end".into())
    );
    assert!(
        (1..4).all(|index| field(index, "type") == "error"),
        "{lines}"
    );
    assert_eq!(
        (field(4, "test"), field(4, "ending")),
        ("ALONE".into(), "completed".into())
    );
    assert_eq!(field(4, "states"), serde_json::json!(["[x]=2;"]));
    assert_eq!(field(4, "counts")[0], field(4, "executions"));
    assert_eq!(field(4, "models")[0]["contradicted"], false);
    let errors = text(&output.stderr);
    for what in [
        "it did not end",
        "there is no location at address",
        "DIV",
        "the processor has no instruction `movb %ah,%r8b` (P0, line 4)",
    ] {
        assert!(errors.contains(what), "{what}: {errors}");
    }
}

/// Nobody writes to it, so who opens it waits for ever.
#[test]
fn a_pipe_in_a_directory_is_named_and_not_read() {
    let scratch = Scratch::new("hardware-pipe");
    scratch.file("alone.litmus", ALONE);
    let pipe = scratch.path("pipe.litmus");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    let output = support::fencepost()
        .args(["litmus", &scratch.path("")])
        .output()
        .expect("the command");
    assert_eq!(code(&output), 2);
    assert!(text(&output.stdout).contains("Test ALONE"));
    let errors = text(&output.stderr);
    assert!(
        errors.contains("pipe.litmus: neither a file nor a directory"),
        "{errors}"
    );
}

#[test]
fn options_are_for_runs_only() {
    let wrong = |arguments: &[&str], what: &str| {
        let output = support::fencepost()
            .arg("litmus")
            .args(arguments)
            .output()
            .expect("the command");
        assert_eq!(code(&output), 2, "{arguments:?}");
        let errors = text(&output.stderr);
        assert!(errors.contains(what), "{arguments:?}: {errors}");
    };
    wrong(&["--run-time", "1s", "litmus/basic/SB.litmus"], "--run");
    wrong(
        &["--run", "--witness", "litmus/basic/SB.litmus"],
        "cannot be used with",
    );
    wrong(
        &["--run", "--parameters=period=0", "litmus/basic/SB.litmus"],
        "expected 1 to 1000000 cycles for `period`",
    );
}
