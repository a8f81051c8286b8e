//! The programs in C, beside those in Rust.

use std::process::Command;

use fencepost::{Checker, Outcome, Target};
use fencepost_driver::{Compiler, find_runtime};
use fencepost_papers::programs::c::{Compilation, Compiled};
use fencepost_papers::{EXAMPLES, Verdict, Version};

/// The compilers of this machine; none, with a message, if C programs cannot be checked.
fn compilers() -> Vec<Compiler> {
    if let Err(error) = find_runtime() {
        eprintln!("skipped: {error}");
        return Vec::new();
    }
    let found = ["gcc", "clang"].map(|name| Compiler::named(name.as_ref()));
    let is_there = |compiler: &Compiler| {
        let is_there = Command::new(compiler.name())
            .arg("--version")
            .output()
            .is_ok();
        if !is_there {
            eprintln!("skipped: there is no {}", compiler.name());
        }
        is_there
    };
    found.into_iter().filter(is_there).collect()
}

/// What the check of the program in Rust finds: its verdict, the number of executions, and whether it has loops that wait.
fn in_rust(program: fn(Version), version: Version, target: Target) -> (&'static str, u64, bool) {
    let outcome = Checker::new().target(target).run(move || program(version));
    let verdict = match outcome {
        Outcome::Verified(_) => "verified",
        Outcome::NotStoreBufferSafe(_) => "found",
        _ => panic!("{outcome}"),
    };
    let waits = !outcome.json().contains("\"waiting_loops\":[]");
    (verdict, outcome.executions(), waits)
}

#[test]
fn programs_in_c_have_the_verdicts_and_the_executions_of_those_in_rust() {
    let compilers = compilers();
    for example in &EXAMPLES {
        for version in [Version::Original, Version::Fixed] {
            let compiled: Vec<_> = compilers
                .iter()
                .flat_map(|compiler| ["-O0", "-O2"].map(|level| (compiler, level)))
                // A check of it is sometimes called not deterministic: see docs/c/programs.md.
                .filter(|(compiler, level)| {
                    (example.name, compiler.name().as_str(), *level) != ("harris", "clang", "-O2")
                })
                .map(|(compiler, level)| {
                    let how = Compilation {
                        compiler: Some(compiler),
                        options: &[level],
                    };
                    let title = format!("{} with {} {level}", example.name, compiler.name());
                    (
                        title,
                        Compiled::new(example, version, how).expect("it is compiled"),
                    )
                })
                .collect();
            for target in [Target::X86, Target::Pso] {
                let expected = in_rust(example.program, version, target);
                for (title, program) in &compiled {
                    let found = program.check(target, &[]).expect("it is checked");
                    let title = format!("{title}, {version:?}, {target:?}");
                    assert_eq!(found.outcome, expected.0, "{title}");
                    // In a loop that waits, the executions depend on what the compiler leaves on the stack: two rounds
                    // that differ in a dead variable only are two states.
                    let waits = expected.2 || found.has_waiting_loops;
                    if found.outcome == "verified" && !waits {
                        assert_eq!(found.executions, expected.1, "{title}");
                    }
                }
            }
        }
    }
}

/// What is unsafe is seen in some of 5,000 executions, and nothing in the others: the zeros of BSS's Table 1, with the programs in C.
#[test]
fn random_executions_of_programs_in_c_show_what_those_of_bss_show() {
    let Some(compiler) = compilers().into_iter().next() else {
        return;
    };
    for example in EXAMPLES.iter().filter(|example| example.bss.is_some()) {
        let how = Compilation {
            compiler: Some(&compiler),
            options: &["-O1"],
        };
        let program = Compiled::new(example, Version::Original, how).expect("it is compiled");
        for (target, verdict) in [(Target::X86, example.tso), (Target::Pso, example.pso)] {
            let settings = [
                ("STRATEGY", "random"),
                ("EXECUTIONS", "5000"),
                ("CONTINUE_AFTER_FAILURE", "on"),
            ];
            let found = program.check(target, &settings).expect("it is checked");
            assert_eq!(found.executions, 5000, "{}", example.name);
            let is_unsafe = verdict == Verdict::Unsafe;
            assert_eq!(found.borderline > 0, is_unsafe, "{}", example.name);
        }
    }
}
