//! The papers' verdicts, and that the fixed versions are safe.

use fencepost::{Checker, Outcome, Strategy, Target};
use fencepost_papers::programs::snark;
use fencepost_papers::{EXAMPLES, Example, Verdict, Version};

const TARGETS: [Target; 2] = [Target::X86, Target::Pso];

fn example(name: &str) -> &'static Example {
    let found = EXAMPLES.iter().find(|example| example.name == name);
    found.expect("there is such an example")
}

fn verdict(example: &Example, target: Target) -> Verdict {
    match target {
        Target::X86 => example.tso,
        Target::Pso => example.pso,
        other => panic!("no expectation for {other:?}"),
    }
}

fn check(checker: Checker, example: &Example, version: Version) -> Outcome {
    let program = example.program;
    checker.run(move || program(version))
}

/// Whether the original version is safe on a machine, and in a way that a reader can follow.
#[test]
fn the_original_versions_are_as_the_papers_say() {
    for example in &EXAMPLES {
        for target in TARGETS {
            let checker = Checker::new().target(target);
            let outcome = check(checker, example, Version::Original);
            match verdict(example, target) {
                Verdict::Safe => assert!(outcome.is_verified(), "{}: {outcome}", example.name),
                Verdict::Unsafe => {
                    let is_unsafe = matches!(outcome, Outcome::NotStoreBufferSafe(_));
                    assert!(is_unsafe, "{}: {outcome}", example.name);
                    let report = outcome.to_string();
                    assert!(report.contains(example.source_file), "{report}");
                }
            }
        }
    }
}

#[test]
fn the_fixed_versions_are_safe() {
    for example in &EXAMPLES {
        for target in TARGETS {
            let checker = Checker::new().target(target);
            let outcome = check(checker, example, Version::Fixed);
            assert!(outcome.is_verified(), "{}: {outcome}", example.name);
        }
    }
}

#[test]
fn the_original_versions_are_right_under_sequential_consistency() {
    for example in &EXAMPLES {
        let checker = Checker::new().monitor(false);
        let outcome = check(checker, example, Version::Original);
        assert!(outcome.is_verified(), "{}: {outcome}", example.name);
    }
}

/// The zeros of BSS's Table 1, with our programs: 1,000 random executions each.
#[test]
fn random_executions_show_what_those_of_bss_show() {
    for example in &EXAMPLES {
        let Some(line) = example.bss else { continue };
        for (target, found) in [(Target::X86, line.tso), (Target::Pso, line.pso)] {
            let checker = Checker::new().target(target).continue_after_failure(true);
            let checker = checker.strategy(Strategy::Random).executions(1000);
            let outcome = check(checker, example, Version::Original);
            let is_shown = outcome.borderline_executions() > 0;
            assert_eq!(is_shown, found.executions > 0, "{}", example.name);
            let is_unsafe = verdict(example, target) == Verdict::Unsafe;
            assert_eq!(is_shown, is_unsafe, "{}", example.name);
        }
    }
}

#[test]
fn the_bakery_needs_no_preemption() {
    for target in TARGETS {
        let checker = Checker::new().target(target).preemption_bound(0);
        let outcome = check(checker, example("bakery"), Version::Original);
        assert!(matches!(outcome, Outcome::NotStoreBufferSafe(_)));
        assert_eq!(outcome.executions(), 1);
    }
}

#[test]
fn the_take_queue_needs_a_preemption() {
    for target in TARGETS {
        let bounded = |preemptions| {
            let checker = Checker::new().target(target).preemption_bound(preemptions);
            check(checker, example("takequeue"), Version::Original)
        };
        let without = bounded(0);
        assert!(matches!(without, Outcome::Incomplete(_)), "{without}");
        // If none was given up, none beyond the bound was run.
        assert_eq!(without.abandoned(), 0);
        let with_one = bounded(1);
        assert!(matches!(with_one, Outcome::NotStoreBufferSafe(_)));
    }
}

#[test]
fn snark_may_find_nothing_where_something_is() {
    for version in [Version::Original, Version::Fixed] {
        let outcome = Checker::new().run(move || snark::is_never_empty(version));
        assert!(matches!(outcome, Outcome::ProgramError(_)), "{outcome}");
        let headline = outcome.findings()[0].headline();
        assert!(headline.contains("the deque is never empty"), "{headline}");
    }
}

/// What the papers have counted is what they say.
#[test]
fn the_figures_agree_with_the_verdicts() {
    let unless = |is_safe| {
        if is_safe {
            Verdict::Safe
        } else {
            Verdict::Unsafe
        }
    };
    for example in &EXAMPLES {
        if let Some(line) = example.bss {
            assert_eq!(example.tso, unless(line.tso.executions == 0));
            assert_eq!(example.pso, unless(line.pso.executions == 0));
        }
        if let Some(last) = example.sober.last() {
            assert_eq!(example.tso, unless(last.borderline == 0));
        }
        assert!(example.source_text.contains("pub fn program("));
    }
}
