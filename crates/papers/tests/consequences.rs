//! Consequences of the violations: with store buffers, the original versions fail and the fixed
//! ones do not.

use fencepost::{Checker, Consequence, Outcome, Target};
use fencepost_papers::{EXAMPLES, Example, Verdict, Version};

const TARGETS: [Target; 2] = [Target::X86, Target::Pso];

fn check(checker: Checker, example: &Example, version: Version) -> Outcome {
    let program = example.program;
    checker.run(move || program(version))
}

fn is_unsafe(example: &Example, target: Target) -> bool {
    let verdict = match target {
        Target::X86 => example.tso,
        Target::Pso => example.pso,
        other => panic!("no expectation for {other:?}"),
    };
    verdict == Verdict::Unsafe
}

/// The message with which the test of a program fails.
fn complaint(example: &Example) -> &'static str {
    match example.name {
        "store-buffering" => "neither thread has seen the other",
        "dekker" | "bakery" => "both were inside",
        "takequeue" => "each item is taken once",
        "idle-consumer" => "deadlock: main and T1 wait forever",
        _ => "panicked",
    }
}

#[test]
fn every_violation_of_an_original_version_is_harmful() {
    for example in &EXAMPLES {
        for target in TARGETS
            .into_iter()
            .filter(|&target| is_unsafe(example, target))
        {
            let checker = Checker::new().target(target).confirm(true);
            let outcome = check(checker, example, Version::Original);
            let consequence = outcome.findings()[0].consequence();
            assert_eq!(consequence, Some(Consequence::Failure), "{outcome}");
            let report = outcome.to_string();
            assert!(report.contains("note: harmful: "), "{report}");
            assert!(report.contains(complaint(example)), "{report}");
        }
    }
}

/// What is found has nothing to do with the harness: without the store buffers nothing is wrong,
/// and with the fixes nothing is wrong in spite of them. The larger programs are run up to a
/// budget.
#[test]
fn the_fixed_versions_are_right_with_store_buffers() {
    for example in &EXAMPLES {
        for target in TARGETS {
            let checker = Checker::new().target(target).store_buffers(true);
            let outcome = check(checker.max_executions(20_000), example, Version::Fixed);
            let is_large = example.name == "dekker";
            assert!(
                outcome.is_verified() || is_large,
                "{}: {outcome}",
                example.name
            );
            assert!(!outcome.has_failed(), "{}: {outcome}", example.name);
        }
    }
}
