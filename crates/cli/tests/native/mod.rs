//! `fencepost cc`, `fencepost run` and the compiler wrappers, with a runtime library that only prints what it was started with.

mod accesses;
mod bad_input;
mod cc;
mod crashes;
mod projects;
mod reports;
mod run;
mod wrappers;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{Scratch, code, root, stderr, stdout};

/// A folder with the runtime library for tests, in which commands run.
struct Lab(Scratch);

/// Says that a test is skipped if there is no such command.
fn is_there(command: &str) -> bool {
    let is_there = Command::new(command).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: there is no {command}");
    }
    is_there
}

/// The compilers of this machine, with their names for C++.
fn compilers() -> Vec<(&'static str, &'static str)> {
    let all = [("gcc", "g++"), ("clang", "clang++")];
    all.into_iter()
        .filter(|(c, cxx)| is_there(c) && is_there(cxx))
        .collect()
}

impl Lab {
    /// None where there is no gcc.
    fn new(name: &str) -> Option<Lab> {
        if !is_there("gcc") {
            return None;
        }
        let lab = Lab(Scratch::new(&format!("native-{name}")));
        let status = Command::new("gcc")
            .args(["-shared", "-fPIC", "-O1", "-w", "-o"])
            .arg(lab.path("libfencepost_native.so"))
            .arg(root().join("crates/cli/tests/inputs/native/runtime.c"))
            .status();
        assert!(status.expect("gcc runs").success());
        Some(lab)
    }

    fn path(&self, file: &str) -> String {
        self.0.path(file)
    }

    fn file(&self, name: &str, text: &str) {
        self.0.file(name, text);
    }

    /// A command in the folder; the first word is `fencepost` or one of the wrappers, or any other program.
    fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let program = words[0].as_ref();
        let own = match program.to_str() {
            Some("fencepost") => OsStr::new(env!("CARGO_BIN_EXE_fencepost")),
            Some("fencepost-cc") => OsStr::new(env!("CARGO_BIN_EXE_fencepost-cc")),
            Some("fencepost-cxx") => OsStr::new(env!("CARGO_BIN_EXE_fencepost-cxx")),
            _ => program,
        };
        let mut command = Command::new(own);
        command.args(&words[1..]).current_dir(self.0.directory());
        command.env("FENCEPOST_RUNTIME", self.path("libfencepost_native.so"));
        for variable in ["CC", "CXX", "FENCEPOST_COMPILER", "FENCEPOST_COMPILER_CXX"] {
            command.env_remove(variable);
        }
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    fn output<S: AsRef<OsStr>>(&self, words: &[S]) -> Output {
        self.command(words).output().expect("the command starts")
    }

    /// Runs a command that must succeed and say nothing on standard error. Returns its standard output.
    fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> String {
        succeeded(&self.output(words))
    }

    /// Whether a file has this text in it.
    fn has(&self, file: &str, text: &str) -> bool {
        let bytes = std::fs::read(self.path(file)).expect(file);
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    }

    fn exists(&self, file: &str) -> bool {
        Path::new(&self.path(file)).exists()
    }
}

/// The standard output of a command that succeeded and said nothing else, except where addresses are randomised.
fn succeeded(output: &Output) -> String {
    let said = stderr(output)
        .lines()
        .filter(|line| !line.starts_with("note: addresses are randomised"));
    assert_eq!(said.collect::<Vec<_>>(), [""; 0], "{output:?}");
    assert_eq!(code(output), 0, "{output:?}");
    stdout(output).to_owned()
}

/// The lines of the runtime library for tests that start with this.
fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines()
        .filter(|line| line.starts_with(start))
        .collect()
}

/// Two accesses that only a good compiler call tells apart.
const PROGRAM: &str = "\
#include <stdio.h>
int plain;
volatile int visible;
int main(int count, char **words) {
    plain = count;
    visible++;
    printf(\"ran with %d: %s\\n\", plain, words[0]);
    return 7;
}
";

/// Needs its library.
const PROGRAM_CXX: &str = "\
#include <iostream>
#include <string>
int main() {
    std::string text = \"ran\";
    std::cout << text + \" C++\" << std::endl;
}
";
