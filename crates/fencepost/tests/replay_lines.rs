//! Every kind of `replay:` line that a report prints compiles, and replays the failure.
//!
//! The lines are printed by checks in this process, and compiled in a user's crate that has the same program.

#[path = "support/replayed.rs"]
mod replayed;
#[path = "support/scratch.rs"]
mod scratch;

use std::fmt::Write;

use fencepost::{Checker, FenceStrength, Target};
use scratch::{cargo, folder, make, read, repository, write};

/// A place of the program, as the user would write it.
const LOAD: &str = "replayed.rs:11";

/// A check that fails.
struct Case {
    name: &'static str,
    checker: Checker,
    /// A function of `replayed`, and its name.
    program: (fn(), &'static str),
    /// The beginning of the schedule.
    header: &'static str,
}

fn cases() -> Vec<Case> {
    let settings = settings().into_iter().map(|(name, checker)| Case {
        name,
        checker,
        program: (replayed::program, "program"),
        header: "",
    });
    settings.chain(headers()).collect()
}

/// Schedules without a header, with all settings that are part of a replay line.
fn settings() -> Vec<(&'static str, Checker)> {
    let new = Checker::new;
    let all = new()
        .target(Target::Pso)
        .spin_bound(3)
        .max_steps(500)
        .spurious_wakeups(false)
        .leak_check(false)
        .stack_size(64 << 10)
        .insert_fence(LOAD, FenceStrength::Release);
    vec![
        ("usual", new()),
        ("target", new().target(Target::Pso)),
        ("store_buffers", new().store_buffers(true)),
        (
            "store_buffers_of_pso",
            new().target(Target::Pso).store_buffers(true),
        ),
        ("spin_bound", new().spin_bound(3)),
        ("max_steps", new().max_steps(500)),
        ("spurious_wakeups", new().spurious_wakeups(false)),
        ("leak_check", new().leak_check(false)),
        ("stack_size", new().stack_size(64 << 10)),
        (
            "full_fence",
            new().insert_fence(LOAD, FenceStrength::SeqCst),
        ),
        (
            "release_fence",
            new().insert_fence(LOAD, FenceStrength::Release),
        ),
        ("all", all),
    ]
}

/// Schedules with a header.
fn headers() -> [Case; 3] {
    let case = |name, checker, program, header| Case {
        name,
        checker,
        program: (program, name),
        header,
    };
    let buffered = Checker::new().store_buffers(true);
    [
        case("ends", Checker::new(), replayed::ends, "ends/"),
        case("drops", Checker::new(), replayed::drops, "drops="),
        case("wide", buffered, replayed::wide, "wide32/"),
    ]
}

#[test]
fn printed_replay_lines_compile_and_replay() {
    let mut tests = "mod replayed;\n".to_owned();
    let mut names = Vec::new();
    for case in cases() {
        let name = case.name;
        let (program, function) = case.program;
        let outcome = case.checker.run(program);
        assert!(outcome.has_failed(), "{name}: {outcome}");
        let text = outcome.to_string();
        let line = text.lines().find_map(|line| line.strip_prefix("replay: "));
        let line = line.unwrap_or_else(|| panic!("{name}: no replay line in\n{text}"));
        let header = format!("replay(\"{}", case.header);
        assert!(line.contains(&header), "{name}: {line}");
        // The place of an `Arc` is in the file of the user's crate.
        let line = &line.replace(replayed::FILE, "tests/replayed.rs");
        let headline = outcome.findings()[0].headline().to_owned();
        // `fencepost::replay` panics with the report, `Checker::replay` returns the outcome.
        let _ = match line.strip_prefix("fencepost::replay(") {
            Some(_) => write!(
                tests,
                "\n#[test]\nfn {name}_replays() {{\n    use replayed::{function} as program;\n    let panic = std::panic::catch_unwind(|| {line}).unwrap_err();\n    \
                 let report = panic.downcast::<String>().unwrap();\n    \
                 assert!(report.contains({headline:?}), \"{{report}}\");\n}}\n"
            ),
            None => write!(
                tests,
                "\n#[test]\nfn {name}_replays() {{\n    use replayed::{function} as program;\n    let outcome = {line};\n    \
                 let findings = outcome.findings();\n    \
                 assert!(!findings.is_empty(), \"{{outcome}}\");\n    \
                 assert_eq!(findings[0].headline(), {headline:?});\n}}\n"
            ),
        };
        names.push(name);
    }
    make();
    let program = repository().join("crates/fencepost/tests/support/replayed.rs");
    let main = folder().join("tests/replay_lines.rs");
    let module = folder().join("tests/replayed.rs");
    write(&module, &read(&program));
    write(&main, &tests);
    let ran = cargo(&["test", "--test", "replay_lines"], true);
    for file in [main, module] {
        std::fs::remove_file(file).expect("the file was just written");
    }
    let output = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{tests}\n{output}\n{errors}");
    for name in names {
        let passed = format!("test {name}_replays ... ok");
        assert!(output.contains(&passed), "{name}: {output}");
    }
}
