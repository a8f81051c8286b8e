//! `fencepost example`: the papers' programs, one at a time.

use std::process::{Command, Output};

fn example(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.arg("example").args(arguments).env("NO_COLOR", "1");
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn without_a_name_it_lists_them() {
    let output = example(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).contains("idle-consumer"), "{output:?}");
    let output = example(&["--json"]);
    let lines = text(&output);
    let names = lines.lines().map(|line| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        object["name"].as_str().unwrap().to_owned()
    });
    assert_eq!(names.count(), 10);
}

#[test]
fn exit_codes_say_what_was_found() {
    let code = |arguments: &[&str]| example(arguments).status.code();
    assert_eq!(code(&["takequeue"]), Some(1));
    assert_eq!(code(&["takequeue", "--fixed"]), Some(0));
    assert_eq!(code(&["takequeue", "--fences"]), Some(1));
    assert_eq!(code(&["takequeue", "--store-buffers"]), Some(1));
    assert_eq!(code(&["takequeue", "--fixed", "--store-buffers"]), Some(0));
    assert_eq!(code(&["msn", "--max-executions", "5"]), Some(3));
    assert_eq!(code(&["msn", "--fences", "--confirm"]), Some(2));
    assert_eq!(code(&["no-such-program"]), Some(2));
    assert_eq!(code(&["--fixed"]), Some(2));
}

#[test]
fn what_comes_of_it_is_in_the_object_too() {
    let output = example(&["idle-consumer", "--confirm", "--json"]);
    let lines = text(&output);
    let first = lines.lines().next().unwrap();
    let finding: serde_json::Value = serde_json::from_str(first).unwrap();
    assert_eq!(finding["consequence"]["kind"], "harmful");
    assert_eq!(finding["consequence"]["finding"]["problem"], "deadlock");
}

#[test]
fn a_mistyped_variable_is_an_error_of_the_user() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command
        .args(["example", "dekker"])
        .env("FENCEPOST_TARGTE", "pso");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.contains("did you mean FENCEPOST_TARGET?"),
        "{complaint}"
    );
    assert!(!complaint.contains("panicked"), "{complaint}");
}
