//! `fencepost run`.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use super::*;

/// A lab with a program `./program`.
fn lab(name: &str) -> Option<Lab> {
    let lab = Lab::new(name)?;
    lab.file("program.c", PROGRAM);
    lab.run(&["fencepost-cc", "program.c", "-o", "program"]);
    Some(lab)
}

fn run_with_end(lab: &Lab, end: &str, options: &[&str]) -> Output {
    let words = [&["fencepost", "run"], options, &["./program"]].concat();
    lab.command(&words)
        .env("FENCEPOST_TEST_END", end)
        .output()
        .unwrap()
}

#[test]
fn options_before_the_program_are_ours_and_others_its_own() {
    let Some(lab) = lab("run") else { return };
    let text = lab.run(&[
        "fencepost",
        "run",
        "--seed",
        "3",
        "program",
        "--seed",
        "4",
        "a b",
    ]);
    let arguments = [
        "argument=program",
        "argument=--seed",
        "argument=4",
        "argument=a b",
    ];
    assert_eq!(lines(&text, "argument="), arguments);
    assert_eq!(lines(&text, "FENCEPOST_SEED="), ["FENCEPOST_SEED=3"]);
    assert!(
        text.contains("fencepost run --seed 3 {replay} program --seed 4 'a b'\n"),
        "{text}"
    );
}

#[test]
fn the_exit_code_of_the_check_is_passed_on() {
    let Some(lab) = lab("run-exit") else { return };
    // 130 does not fit: a check that is interrupted ends with 3.
    for expected in [0, 1, 2, 3, 70] {
        let output = run_with_end(&lab, &format!("check {expected}"), &[]);
        assert_eq!(code(&output), expected);
        assert!(!stderr(&output).contains("error"), "{output:?}");
    }
    for end in ["check 5", "exit 0", "exit 1", "exit 3", "exit 255"] {
        let output = run_with_end(&lab, end, &[]);
        assert_eq!(code(&output), 70);
        let message = stderr(&output);
        assert!(
            message.contains("error: the check of ./program ended without a result, with exit"),
            "{message}"
        );
    }
}

#[test]
fn a_crash_is_no_result() {
    let Some(lab) = lab("run-crash") else { return };
    for (number, name) in [(11, "SIGSEGV"), (6, "SIGABRT"), (8, "SIGFPE")] {
        let output = run_with_end(&lab, &format!("signal {number}"), &[]);
        assert_eq!(code(&output), 70);
        let message = format!("error: the check of ./program was ended by {name} without a result");
        assert!(stderr(&output).contains(&message), "{output:?}");
    }
    let output = run_with_end(&lab, "signal 9", &["--json"]);
    assert_eq!(code(&output), 3);
    let last = stdout(&output).lines().last().unwrap();
    let object: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(object["exit_code"], 3);
    assert!(
        object["message"]
            .as_str()
            .unwrap()
            .contains("memory runs out"),
        "{last}"
    );
}

#[test]
fn an_interrupt_is_passed_on_once() {
    let Some(lab) = lab("run-interrupt") else {
        return;
    };
    let mut command = lab.command(&["fencepost", "run", "./program"]);
    command
        .env("FENCEPOST_TEST_END", "interrupt")
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "report=text\n");
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\ninterrupts=1\n"), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// Where the system allows it.
#[test]
fn addresses_are_the_same_every_time() {
    let Some(lab) = lab("run-addresses") else {
        return;
    };
    let first = lab.output(&["fencepost", "run", "./program"]);
    if stderr(&first).contains("note: addresses are randomised") {
        assert!(!stderr(&lab.output(&["fencepost", "run", "-q", "./program"])).contains("note"));
        return eprintln!("skipped: randomisation cannot be switched off here");
    }
    let stack = |output: &Output| lines(stdout(output), "stack=").concat();
    assert!(stack(&first).starts_with("stack=0x7ff"), "{first:?}");
    for _ in 0..3 {
        assert_eq!(
            stack(&lab.output(&["fencepost", "run", "./program"])),
            stack(&first)
        );
    }
}

#[test]
fn a_program_whose_runtime_is_gone_is_no_result() {
    let Some(lab) = lab("run-gone") else { return };
    std::fs::remove_file(lab.path("libfencepost_native.so")).unwrap();
    let output = lab.output(&["fencepost", "run", "./program"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("error: ./program did not start"),
        "{output:?}"
    );
}

#[test]
fn other_programs_are_refused() {
    let Some(lab) = lab("run-other") else { return };
    lab.run(&["gcc", "program.c", "-o", "plain"]);
    lab.run(&["gcc", "-static", "program.c", "-o", "static"]);
    lab.run(&["cp", "/usr/bin/env", "system"]);
    for name in ["plain", "static", "system"] {
        let output = lab.output(&["fencepost", "run", name]);
        assert_eq!(code(&output), 2);
        let message = format!(
            "error: {name} was not linked with Fencepost's runtime library\nhelp: build it anew"
        );
        assert!(stderr(&output).starts_with(&message), "{output:?}");
    }
    lab.file(
        "start.c",
        "void _start(void) { __asm__(\"mov $60, %eax; xor %edi, %edi; syscall\"); }",
    );
    lab.run(&["fencepost-cc", "-nostartfiles", "start.c", "-o", "start"]);
    let output = lab.output(&["fencepost", "run", "./start"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("`__libc_start_main`"),
        "{output:?}"
    );
}
