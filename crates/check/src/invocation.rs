//! How the test that runs a check can be run again, to replay a finding without changing it.

use std::path::Path;

use super::checker::Checker;
use super::variables::PREFIX;

/// The variables without which a schedule may mean another execution, besides `REPLAY`.
const NEEDED: [&str; 9] = [
    "TARGET",
    "STORE_BUFFERS",
    "SPIN_BOUND",
    "MAX_STEPS",
    "SPURIOUS_WAKEUPS",
    "LEAK_CHECK",
    "INSERT_FENCE",
    "STACK_SIZE",
    "MONITOR",
];

/// The test that runs a check, and what its environment changes.
#[derive(Clone, Debug)]
pub(super) struct Invocation {
    /// The name of the test.
    test: String,
    /// Its package, if `cargo` has to be told.
    package: Option<String>,
    /// The needed variables that are set, and their values.
    variables: Vec<(String, String)>,
    /// Whether the check runs the program with store buffers.
    has_store_buffers: bool,
    /// Settings of the code that a replay with store buffers has to override.
    overridden: Vec<(String, String)>,
}

impl Invocation {
    /// The running test, with the checker of its code, and the one to which the environment was
    /// applied, which has variables only if `is_any_set`. None outside of tests.
    pub(super) fn of(checker: &Checker, applied: &Checker, is_any_set: bool) -> Option<Self> {
        let executable = std::env::current_exe().ok()?;
        // Only tests are built there.
        let is_test = executable.parent()?.file_name()? == "deps";
        if !is_test {
            return None;
        }
        let test = test_name(
            std::thread::current().name(),
            std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()),
        )?;
        let set = |name: &str| {
            let name = format!("{PREFIX}{name}");
            let value = std::env::var(&name).ok()?;
            Some((name, value))
        };
        let off = |name: &str| (format!("{PREFIX}{name}"), "off".to_owned());
        let overridden = [
            (checker.confirm, "CONFIRM"),
            (checker.infer_fences, "INFER_FENCES"),
        ];
        let overridden = overridden.into_iter().filter(|(is_on, _)| *is_on);
        Some(Invocation {
            test,
            package: package(&executable),
            variables: match is_any_set {
                true => NEEDED.into_iter().filter_map(set).collect(),
                false => Vec::new(),
            },
            has_store_buffers: applied.setup.store_buffers.is_some(),
            overridden: overridden.map(|(_, name)| off(name)).collect(),
        })
    }

    /// The command that replays a schedule, perhaps of an execution with store buffers.
    pub(super) fn command(&self, schedule: &str, needs_store_buffers: bool) -> String {
        let store_buffers = (format!("{PREFIX}STORE_BUFFERS"), "on".to_owned());
        let added = match needs_store_buffers && !self.has_store_buffers {
            true => [&[store_buffers], self.overridden.as_slice()].concat(),
            false => Vec::new(),
        };
        let replayed = (format!("{PREFIX}REPLAY"), schedule.to_owned());
        let mut command = String::new();
        for (name, value) in self.variables.iter().chain(&added).chain([&replayed]) {
            command.push_str(&format!("{name}={} ", shell_word(value)));
        }
        command.push_str("cargo test ");
        if let Some(package) = &self.package {
            command.push_str(&format!("-p {} ", shell_word(package)));
        }
        command.push_str(&format!("{} -- --exact", shell_word(&self.test)));
        command
    }
}

/// The name of the running test: that of its thread. With one thread for all tests, it is the one
/// that was asked for.
fn test_name(thread: Option<&str>, arguments: impl Iterator<Item = String>) -> Option<String> {
    let name = match thread? {
        "main" => {
            let arguments: Vec<String> = arguments.skip(1).collect();
            let mut names = arguments.iter().filter(|word| !word.starts_with('-'));
            let name = names.next().filter(|_| names.next().is_none())?;
            let is_exact = arguments.iter().any(|word| word == "--exact");
            is_exact.then(|| name.clone())?
        }
        name => name.to_owned(),
    };
    // Documentation tests have sentences for names.
    let is_name = |name: &String| !name.is_empty() && !name.contains(char::is_whitespace);
    Some(name).filter(is_name)
}

/// The package of the test, unless its folder has the executable in it: then `cargo` finds it there.
fn package(executable: &Path) -> Option<String> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let package = std::env::var("CARGO_PKG_NAME").ok()?;
    (!executable.starts_with(&folder)).then_some(package)
}

/// A word as a POSIX shell reads it.
pub(super) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:,=%+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::VARIABLES;

    #[test]
    fn needed_variables_exist() {
        for name in NEEDED.into_iter().chain(["CONFIRM", "INFER_FENCES"]) {
            let mut suffixes = VARIABLES.iter().map(|variable| variable.suffix());
            assert!(suffixes.any(|suffix| suffix == name), "{name}");
        }
    }

    #[test]
    fn a_test_has_the_name_of_its_thread_or_the_one_that_was_asked_for() {
        let name = |thread, arguments: &[&str]| {
            let arguments = ["all"].iter().chain(arguments);
            test_name(thread, arguments.map(|argument| (*argument).to_owned()))
        };
        assert_eq!(name(Some("locks::two"), &[]).as_deref(), Some("locks::two"));
        assert_eq!(name(None, &["--exact", "two"]), None);
        assert_eq!(name(Some("main"), &["two"]), None);
        assert_eq!(name(Some("main"), &["two", "three", "--exact"]), None);
        let asked = name(Some("main"), &["locks::two", "--nocapture", "--exact"]);
        assert_eq!(asked.as_deref(), Some("locks::two"));
        assert_eq!(name(Some("src/lib.rs - (line 3)"), &[]), None);
    }

    #[test]
    fn the_command_sets_what_the_schedule_needs() {
        let invocation = Invocation {
            test: "queue::two".to_owned(),
            package: Some("my-queue".to_owned()),
            variables: vec![("FENCEPOST_TARGET".to_owned(), "pso".to_owned())],
            has_store_buffers: false,
            overridden: vec![("FENCEPOST_CONFIRM".to_owned(), "off".to_owned())],
        };
        assert_eq!(
            invocation.command("ends/[1x2.2]x3", false),
            "FENCEPOST_TARGET=pso FENCEPOST_REPLAY='ends/[1x2.2]x3' cargo test -p my-queue queue::two -- --exact"
        );
        assert_eq!(
            invocation.command("1.2", true),
            "FENCEPOST_TARGET=pso FENCEPOST_STORE_BUFFERS=on FENCEPOST_CONFIRM=off FENCEPOST_REPLAY=1.2 \
             cargo test -p my-queue queue::two -- --exact"
        );
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
