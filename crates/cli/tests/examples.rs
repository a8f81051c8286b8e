//! The programs in `docs/examples` are built and run as the guide says, and their traces
//! monitored.

use crate::support;

use std::process::Command;

use support::{Scratch, code, root, run_with_input, stderr};

/// Most runs of the example do the first thread's accesses before the second's, which shows
/// the violation; the few that do not are why one interleaving proves nothing.
const MOST_RUNS: usize = 100;

fn shows_a_violation(program: &str) {
    for _ in 0..MOST_RUNS {
        let output = Command::new(program).output().expect("the example runs");
        assert!(output.status.success());
        let monitored = run_with_input(&["monitor", "-"], &output.stdout);
        match code(&monitored) {
            0 => {}
            1 => return,
            other => panic!("exit code {other}: {}", stderr(&monitored)),
        }
    }
    panic!("no violation in {MOST_RUNS} runs of {program}");
}

/// Builds an example with the words of `command` and the output's path.
fn build(command: &[&str], program: &str) {
    let status = Command::new(command[0])
        .args(&command[1..])
        .args(["-o", program])
        .current_dir(root())
        .status()
        .unwrap_or_else(|error| panic!("{}: {error}", command[0]));
    assert!(status.success(), "{command:?}");
}

#[test]
fn the_example_in_rust() {
    let scratch = Scratch::new("example-rust");
    let program = scratch.path("dekker");
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let command = [&compiler, "--edition", "2024", "docs/examples/dekker.rs"];
    build(&command, &program);
    shows_a_violation(&program);
}

/// Only where there is a C compiler.
#[test]
#[cfg(unix)]
fn the_example_in_c() {
    if Command::new("cc").arg("--version").output().is_err() {
        return;
    }
    let scratch = Scratch::new("example-c");
    let program = scratch.path("dekker");
    let command = [
        "cc",
        "-pthread",
        "-Werror",
        "-Wall",
        "docs/examples/dekker.c",
    ];
    build(&command, &program);
    shows_a_violation(&program);
}

/// What the guide prints is what is compiled here.
#[test]
fn the_guide_shows_the_examples() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
    let guide = read("docs/getting-started.md");
    for example in ["dekker.rs", "dekker.c"] {
        let code = read(&format!("docs/examples/{example}"));
        assert!(guide.contains(&code), "{example} differs from the guide");
    }
    let page = read("docs/c/programs.md");
    assert!(
        page.contains(&read("docs/c/dekker.c")),
        "dekker.c differs from the page"
    );
}
