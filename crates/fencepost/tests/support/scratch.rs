//! A user's crate, in a folder of the tests: it depends on `fencepost` by path, and is built and tested
//! by `cargo` as a user would. The example `examples/shim` is copied beside it, so that both share
//! what they depend on.

#![allow(dead_code, reason = "each test uses what it needs")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The repository's root.
pub fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository's root")
}

/// The crate's folder.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("my-crate")
}

/// Makes the crate.
pub fn make() {
    let library = repository().join("crates/fencepost");
    let library = library.to_str().expect("a path in UTF-8");
    let manifest = format!(
        "[package]\nname = \"my-crate\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dev-dependencies]\nfencepost = {{ path = {library:?} }}\n\n\
         [workspace]\nmembers = [\"shim\"]\n"
    );
    write(&folder().join("Cargo.toml"), &manifest);
    write(&folder().join("src/lib.rs"), "");
    // The versions that are there offline.
    let locked = repository().join("Cargo.lock");
    write(&folder().join("Cargo.lock"), &read(&locked));

    let shim = repository().join("examples/shim");
    for file in [
        "Cargo.toml",
        "src/lib.rs",
        "src/sync.rs",
        "tests/check.rs",
        "tests/threads.rs",
    ] {
        let text = read(&shim.join(file)).replace("../../crates/fencepost", library);
        write(&folder().join("shim").join(file), &text);
    }
}

/// Writes a file, unless that is what it holds: `cargo` builds anew what was written.
pub fn write(path: &Path, text: &str) {
    if std::fs::read_to_string(path).is_ok_and(|held| held == text) {
        return;
    }
    let parent = path.parent().expect("a file in a folder");
    std::fs::create_dir_all(parent).expect("a folder");
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The text of a file.
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs `cargo` in the crate's folder, with `--cfg fencepost` or without.
pub fn cargo(arguments: &[&str], is_checking: bool) -> Output {
    let mut command = cargo_in(&folder(), &folder().join("target"));
    command.arg("--offline").args(arguments);
    if is_checking {
        command.env("RUSTFLAGS", "--cfg fencepost");
    }
    command.output().expect("cargo runs")
}

/// `cargo`, to be run in a folder and to build into another.
pub fn cargo_in(folder: &Path, target: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    // What this test was built and run with is not what the crate is.
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        // Which toolchain there is, and whether one may be installed, is the user's business.
        let is_of_toolchain = name == "CARGO_HOME" || name.starts_with("RUSTUP_");
        let is_ours = ["CARGO_", "RUST", "FENCEPOST_"]
            .iter()
            .any(|start| name.starts_with(start));
        if is_ours && !is_of_toolchain {
            command.env_remove(&variable);
        }
    }
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("NO_COLOR", "1");
    command
}

/// What tests print, by their names, of the output of `cargo test -- --show-output`. A report is what a test
/// panics with.
pub fn printed(output: &Output) -> BTreeMap<String, String> {
    let text = std::str::from_utf8(&output.stdout).expect("UTF-8");
    let mut sections = BTreeMap::new();
    let mut current: Option<(String, Vec<&str>)> = None;
    for line in text.lines() {
        let heading = line
            .strip_prefix("---- ")
            .and_then(|line| line.strip_suffix(" stdout ----"));
        let is_end = heading.is_some() || ["failures:", "successes:"].contains(&line);
        if is_end {
            if let Some((name, lines)) = current.take() {
                sections.insert(name, report(&lines));
            }
        }
        match (heading, &mut current) {
            (Some(name), _) => current = Some((name.to_owned(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            _ => {}
        }
    }
    sections
}

/// The lines without what the panic hook of `std` adds.
fn report(lines: &[&str]) -> String {
    let is_hook = |line: &&&str| {
        line.starts_with("thread '") && line.contains(" panicked at ")
            || line.starts_with("note: run with `RUST_BACKTRACE=1`")
    };
    let lines: Vec<&str> = lines
        .iter()
        .filter(|line| !is_hook(line))
        .copied()
        .collect();
    lines.join("\n").trim().to_owned()
}
