//! Helpers of the tests of the command.

pub mod console;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command, to be run in the repository's root.
pub fn fencepost() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.current_dir(root()).env("NO_COLOR", "1");
    command
}

/// Runs the command to its end.
pub fn run(arguments: &[&str]) -> Output {
    let output = fencepost().args(arguments).output();
    output.expect("the command starts")
}

/// Starts the command with pipes to and from it.
pub fn spawn(arguments: &[&str]) -> Child {
    fencepost()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// Runs the command to its end with this standard input.
pub fn run_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = spawn(arguments);
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        // The command may stop reading early.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().expect("the command ends")
    })
}

/// The exit code.
pub fn code(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}

/// Standard output as text.
pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("UTF-8")
}

/// Standard error as text.
pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("UTF-8")
}

/// A directory of this test's own, removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new one; `name` is the test's.
    pub fn new(name: &str) -> Self {
        let id = std::process::id();
        let path = std::env::temp_dir().join(format!("fencepost-{name}-{id}"));
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Scratch(path)
    }

    /// The path of a file in it, as an argument.
    pub fn path(&self, file: &str) -> String {
        let path = self.0.join(file);
        path.to_str().expect("a path in UTF-8").to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
