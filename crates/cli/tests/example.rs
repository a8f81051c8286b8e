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
    assert_eq!(code(&["takequeue", "--infer-fences"]), Some(1));
    assert_eq!(code(&["takequeue", "--store-buffers"]), Some(1));
    assert_eq!(code(&["takequeue", "--fixed", "--store-buffers"]), Some(0));
    assert_eq!(code(&["msn", "--max-executions", "5"]), Some(3));
    assert_eq!(code(&["msn", "--infer-fences", "--confirm"]), Some(2));
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

/// The variables are for tests. Here the options decide, and nothing is a panic.
#[test]
fn variables_change_nothing() {
    let variables = [
        ("TARGET", "pso"),
        ("MONITOR", "off"),
        ("TARGTE", "x"),
        ("SEED", "x"),
    ];
    for (variable, value) in variables {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        command
            .args(["example", "takequeue", "--confirm"])
            .env("NO_COLOR", "1");
        let output = command
            .env(format!("FENCEPOST_{variable}"), value)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output).contains("failed for x86-TSO"), "{output:?}");
        assert_eq!(text(&output), text(&example(&["takequeue", "--confirm"])));
    }
}
