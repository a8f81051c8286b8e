//! The fences that are inferred for the original versions, next to those of the fixed ones.

use std::time::Instant;

use fencepost::{Checker, FenceInference, FenceSet, FenceStrength, InferredFence, Outcome, Target};
use fencepost_papers::{EXAMPLES, Example, Fix, Verdict, Version};

fn checker(target: Target) -> Checker {
    Checker::new().target(target).progress(false)
}

/// With these fences, and no others, inserted.
fn check_with<'a>(
    example: &Example,
    target: Target,
    fences: impl IntoIterator<Item = (&'a InferredFence, FenceStrength)>,
) -> Outcome {
    let inserted = fences
        .into_iter()
        .fold(checker(target), |checker, (place, strength)| {
            checker.insert_fence(place.position(), strength)
        });
    let program = example.program;
    inserted.run(move || program(Version::Original))
}

fn infer(example: &Example, target: Target) -> FenceSet {
    let program = example.program;
    let fences = checker(target).run_fence_inference(move || program(Version::Original));
    match fences {
        FenceInference::Needed(set) => set,
        other => panic!("{} for {target:?}: {other}", example.name),
    }
}

/// Fences, and how many of them are full ones. Fewer of the former count first.
type Cost = (usize, usize);

/// What a set costs.
fn cost(set: &FenceSet) -> Cost {
    let strengths = set.fences().iter().map(InferredFence::strength);
    let full = strengths.filter(|strength| *strength == FenceStrength::SeqCst);
    (set.fences().len(), full.count())
}

/// What the fixed version costs. On x86 what keeps stores in order is nothing.
fn cost_by_hand(fix: Fix, target: Target) -> Cost {
    match target {
        Target::X86 => (fix.full, fix.full),
        Target::Pso => (fix.full + fix.stores, fix.full),
        other => panic!("no expectation for {other:?}"),
    }
}

/// The page with the table.
const GUIDE: &str = include_str!("../../../docs/papers.md");

/// A row of the table, without the time.
fn row(example: &Example, target: Target, proposed: Cost, by_hand: Cost) -> String {
    let model = match target {
        Target::X86 => "TSO",
        Target::Pso => "PSO",
        other => panic!("no expectation for {other:?}"),
    };
    let shown = |(all, full): Cost| {
        let counts = [(full, "`SeqCst`"), (all - full, "`Release`")];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(n, what)| format!("{n} {what}")).collect();
        counts.join(", ")
    };
    format!(
        "| `{}` | {model} | {} | {} |",
        example.name,
        shown(proposed),
        shown(by_hand)
    )
}

/// With the set the program is verified, and without any one of its fences it is not safe. Nor is
/// it if one is weaker.
fn assert_that_each_is_needed(example: &Example, target: Target, set: &FenceSet) {
    let all = || set.fences().iter().map(|place| (place, place.strength()));
    let outcome = check_with(example, target, all());
    assert!(outcome.is_verified(), "{}: {set}\n{outcome}", example.name);
    let is_unsafe = |outcome: &Outcome| matches!(outcome, Outcome::NotStoreBufferSafe(_));
    for (without, (_, strength)) in all().enumerate() {
        let others = all().enumerate().filter(|(index, _)| *index != without);
        let outcome = check_with(example, target, others.map(|(_, fence)| fence));
        assert!(is_unsafe(&outcome), "{}: {set}\n{outcome}", example.name);
        if target == Target::Pso && strength == FenceStrength::SeqCst {
            let weakened = all().enumerate().map(|(index, (place, strength))| {
                let is_it = index == without;
                (
                    place,
                    if is_it {
                        FenceStrength::Release
                    } else {
                        strength
                    },
                )
            });
            let outcome = check_with(example, target, weakened);
            assert!(is_unsafe(&outcome), "{}: {set}\n{outcome}", example.name);
        }
    }
}

/// On all unsafe examples. All of their executions are run: none needs a preemption bound.
#[test]
fn no_more_fences_are_proposed_than_were_put_in_by_hand() {
    for example in &EXAMPLES {
        for (target, verdict) in [(Target::X86, example.tso), (Target::Pso, example.pso)] {
            if verdict == Verdict::Safe {
                continue;
            }
            let started = Instant::now();
            let set = infer(example, target);
            let seconds = started.elapsed().as_secs_f64();
            let (proposed, by_hand) = (cost(&set), cost_by_hand(example.fix, target));
            let row = row(example, target, proposed, by_hand);
            println!("{row} {seconds:.3} | {} checks", set.checks());
            assert!(GUIDE.contains(&row), "docs/papers.md has no {row}");
            assert!(proposed <= by_hand, "{}: {set}", example.name);
            assert!(set.outcome().is_verified(), "{}: {set}", example.name);
            assert_that_each_is_needed(example, target, &set);
        }
    }
}

/// What the table says of the fixed versions is in their source.
#[test]
fn fixes_are_counted_right() {
    for example in &EXAMPLES {
        let count = |text: &str| example.source_text.matches(text).count();
        let fix = Fix {
            full: count("version.fence(SeqCst)"),
            stores: count("version.fence(Release)") + count("version.release()"),
        };
        assert_eq!(example.fix, fix, "{}", example.name);
        // There is nothing else by which the versions differ.
        assert_eq!(count("version."), fix.full + fix.stores, "{}", example.name);
    }
}
