//! Small programs in C and C++, checked in all interleavings. The first line of each says what is to be found: `verified`, with the
//! number of executions where it is known; `race`; `deadlock`, `finding` or `refused`, with a part of the message.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod look_alikes;
mod support;

use support::{Compiler, Expected, Program, programs};

/// Checks all programs of a language.
fn check_all(compiler: Compiler) {
    let mut wrong = Vec::new();
    for source in programs(compiler) {
        let Some(program) = Program::compile(&source, compiler) else {
            return;
        };
        let checked = program.check(&[]);
        if let Err(complaint) = program.expected().compare(&checked) {
            wrong.push(format!("{}: {complaint}\n{checked}", source.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn programs_in_c_are_checked() {
    check_all(Compiler::C);
}

#[test]
fn programs_in_cpp_are_checked() {
    check_all(Compiler::Cpp);
}

#[test]
fn programs_that_are_right_run_without_a_check_too() {
    for compiler in [Compiler::C, Compiler::Cpp] {
        for source in programs(compiler) {
            let Some(program) = Program::compile(&source, compiler) else {
                return;
            };
            // What a clock shows is not what it shows in a check.
            let is_timed = source.file_name().is_some_and(|name| name == "time.c");
            if matches!(program.expected(), Expected::Verified(_)) && !is_timed {
                let status = program.run();
                assert!(status.success(), "{}: {status}", source.display());
            }
        }
    }
}

/// The outcome of these is their exit status. Every one that is seen in a run on real threads is among those that a check finds.
#[test]
fn outcomes_of_real_threads_are_explored() {
    const RUNS: usize = 200;
    for source in support::outcome_programs() {
        let Some(program) = Program::compile(&source, Compiler::C) else {
            return;
        };
        let explored: Vec<i32> = (0..8).filter(|outcome| program.reaches(*outcome)).collect();
        assert!(!explored.is_empty(), "{}", source.display());
        for run in 0..RUNS {
            let outcome = program.outcome(run);
            assert!(
                explored.contains(&outcome),
                "{}: outcome {outcome} is not among {explored:?}",
                source.display()
            );
        }
    }
}

/// The same programs with the look-alikes of Rust's standard library. Without spurious wakeups: whether a thread has come back to
/// the same state when it waits again depends on what the compiler keeps where.
#[test]
fn rust_has_as_many_executions() {
    for (name, body) in look_alikes::PROGRAMS {
        let source = support::program(name);
        let Some(program) = Program::compile(&source, Compiler::C) else {
            return;
        };
        let in_c = program.check_without_spurious_wakeups().executions();
        let checker = fencepost_check::Checker::new();
        let outcome = checker.spurious_wakeups(false).run(body);
        let in_rust = support::Checked(outcome.json().to_owned()).executions();
        assert!(in_c.is_some(), "{name}");
        assert_eq!(in_c, in_rust, "{name}");
    }
}
