//! Random small programs over the types of the library, checked in several ways that must agree:
//!
//! - one worker and two: the same executions, failures, results and verdict;
//! - a check that is stopped at random points and resumed from its checkpoint: the same;
//! - a preemption bound that cuts nothing: the same results and verdict;
//!
//! and against an interpreter that visits all states and shares no code with the library (`machine`):
//!
//! - a check has exactly the outcomes of all interleavings;
//! - with store buffers, it has exactly those of all interleavings with commits of stores;
//! - it reports a data race or a panic exactly if some interleaving has one, and only such ones.
//!
//! The programs are those of the comparison with `std` (`../conformance`), and for the last two also of atomics with all
//! orderings, fences and cells. `FENCEPOST_TEST_SEED` and `FENCEPOST_TEST_PROGRAMS` choose other and more of them:
//!
//! ```sh
//! FENCEPOST_TEST_SEED=7 FENCEPOST_TEST_PROGRAMS=20000 cargo test -p fencepost --test fuzzer -- --nocapture
//! ```

mod checked;
mod comparing;
#[path = "../support/explorer.rs"]
mod explorer;
#[path = "../conformance/checked.rs"]
mod exploring;
#[path = "../conformance/journal.rs"]
mod journal;
mod machine;
#[path = "../conformance/program.rs"]
mod program;
#[path = "../support/mod.rs"]
mod support;

#[path = "../conformance"]
mod over_fencepost {
    use fencepost as library;

    #[path = "cells.rs"]
    pub mod cells;
    #[path = "interpreter.rs"]
    mod interpreter;

    use cells::Cells;
    pub use interpreter::run;
}

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use checked::{Summary, checker, run, run_in_pieces};
use comparing::{Compared, agree, compare_some};
use explorer::without_spurious;
use fencepost::Target;
use fencepost_memory::Random;
use fencepost_runtime::{Race as FoundRace, RaceAccess, Setup};
use journal::End;
use machine::{Access, Buffers, Failure, Race, behaviour};
use program::{Program, Programs};

/// Larger than the number of steps of any of the programs.
const LARGE_BOUND: u32 = 10_000;

/// A file for the checkpoints of one comparison, removed at the end.
struct CheckpointFile(PathBuf);

impl CheckpointFile {
    fn new(comparison: &str) -> Self {
        let name = format!("fencepost-fuzzer-{}-{comparison}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        CheckpointFile(path)
    }
}

impl Drop for CheckpointFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Compares a check of a program with another one. A program with one execution has nothing to compare.
fn against(program: &Arc<Program>, other: impl FnOnce(&Summary) -> Compared) -> Compared {
    match run(program, &checker()) {
        Some(whole) if whole.executions > 1 => other(&whole),
        _ => Compared::LeftOut,
    }
}

/// What a second check was run with, against the first one.
fn with_two_workers(one: &Summary, two: Option<Summary>) -> Compared {
    match two {
        Some(two) => Compared::new(*one == two, || format!("{one:?}\nagainst {two:?}")),
        None => Compared::LeftOut,
    }
}

fn with_bound(exhaustive: &Summary, bounded: Option<Summary>) -> Compared {
    match bounded {
        Some(bounded) => Compared::new(
            exhaustive.without_counts() == bounded.without_counts(),
            || format!("{exhaustive:?}\nagainst {bounded:?}"),
        ),
        None => Compared::LeftOut,
    }
}

fn in_pieces(whole: &Summary, pieces: &Summary, resumed: u64) -> Compared {
    match resumed {
        0 => Compared::LeftOut,
        _ => Compared::new(whole == pieces, || format!("{whole:?}\nagainst {pieces:?}")),
    }
}

#[test]
fn two_workers_find_what_one_finds() {
    agree("workers", Programs::OfAllTypes, 150, |program| {
        against(program, |one| {
            with_two_workers(one, run(program, &checker().workers(2)))
        })
    });
}

#[test]
fn resumed_checks_find_what_uninterrupted_ones_find() {
    agree("checkpoints", Programs::OfAllTypes, 100, |program| {
        against(program, |whole| {
            let file = CheckpointFile::new("resumed");
            let mut random = Random::new(whole.executions);
            let most = whole.executions / 4 + 2;
            let piece = || 1 + random.below(most);
            let (pieces, resumed) = run_in_pieces(program, &file.0, piece);
            in_pieces(whole, &pieces, resumed)
        })
    });
}

#[test]
fn a_bound_that_cuts_nothing_changes_nothing() {
    agree("bound", Programs::OfAllTypes, 100, |program| {
        against(program, |exhaustive| {
            let checker = checker().preemption_bound(LARGE_BOUND);
            with_bound(exhaustive, run(program, &checker))
        })
    });
}

/// The comparisons notice a search that cuts something, one that loses an execution, and one that stops early.
#[test]
fn differences_are_noticed() {
    let of_all_types = Programs::OfAllTypes;
    let bounded = compare_some("no preemptions", of_all_types, 40, |program| {
        against(program, |exhaustive| {
            let checker = checker().preemption_bound(0);
            with_bound(exhaustive, run(program, &checker))
        })
    });
    assert!(bounded.differ > 0, "a bound of 0 cuts something");
    let uncounted = compare_some("lost execution", of_all_types, 10, |program| {
        against(program, |one| {
            let mut two = run(program, &checker().workers(2));
            two.iter_mut().for_each(|two| two.executions -= 1);
            with_two_workers(one, two)
        })
    });
    assert!(uncounted.differ > 0, "a lost execution is noticed");
    let stopped = compare_some("not resumed", of_all_types, 20, |program| {
        against(program, |whole| {
            let file = CheckpointFile::new("stopped");
            let mut is_first = true;
            let piece = || match std::mem::take(&mut is_first) {
                true => 1,
                false => u64::MAX,
            };
            let (mut pieces, resumed) = run_in_pieces(program, &file.0, piece);
            pieces.executions -= resumed;
            in_pieces(whole, &pieces, resumed)
        })
    });
    assert!(
        stopped.differ > 0,
        "an execution that a checkpoint forgets is noticed"
    );
}

// Against the interpreter.

/// Elements of one set only, of each of two.
fn only_in<T: Ord + std::fmt::Debug>(found: &BTreeSet<T>, expected: &BTreeSet<T>) -> String {
    let missed: Vec<_> = expected.difference(found).take(3).collect();
    let invented: Vec<_> = found.difference(expected).take(3).collect();
    format!("missed: {missed:?}\ninvented: {invented:?}")
}

fn compare_outcomes(program: &Arc<Program>, setup: Setup) -> Compared {
    let Some(expected) = behaviour(program, Buffers::None) else {
        return Compared::LeftOut;
    };
    let Some(found) = exploring::found(program, setup) else {
        return Compared::LeftOut;
    };
    let is_equal = found.outcomes == expected.outcomes && found.others.is_empty();
    Compared::new(is_equal, || {
        let others = &found.others;
        format!("{}{others:?}", only_in(&found.outcomes, &expected.outcomes))
    })
}

#[test]
fn checks_have_the_outcomes_of_all_interleavings() {
    agree("interleavings", Programs::OfAllTypes, 100, |program| {
        compare_outcomes(program, Setup::default())
    });
}

fn compare_with_buffers(program: &Arc<Program>, target: Target, buffers: Buffers) -> Compared {
    let Some(expected) = behaviour(program, buffers) else {
        return Compared::LeftOut;
    };
    let results = expected.outcomes.into_iter().map(|(end, results)| {
        assert_eq!(end, End::Done, "nothing waits for ever: {program:?}");
        results
    });
    let results = results.collect();
    let checker = checker().store_buffers(true).target(target);
    let Some(found) = run(program, &checker) else {
        return Compared::LeftOut;
    };
    match found.verdict {
        // An operation waited for stores that may stay in the buffer: there are fewer results.
        "incomplete" if found.results.is_subset(&results) => Compared::LeftOut,
        _ => Compared::new(found.results == results, || {
            format!("{target:?}: {}", only_in(&found.results, &results))
        }),
    }
}

#[test]
fn checks_with_store_buffers_have_the_outcomes_of_the_machine() {
    for (name, target, buffers) in [
        ("TSO", Target::X86, Buffers::Tso),
        ("PSO", Target::Pso, Buffers::Pso),
    ] {
        agree(name, Programs::OfOrderings, 30, |program| {
            compare_with_buffers(program, target, buffers)
        });
    }
}

fn race(found: &FoundRace) -> Failure {
    let names = over_fencepost::cells::NAMES;
    let access = |access: &RaceAccess| Access {
        thread: access.thread.index(),
        is_write: access.is_write,
    };
    let cell = names
        .iter()
        .position(|name| found.name.as_deref() == Some(*name));
    Failure::Race(Race {
        cell: cell.expect("a cell"),
        first: access(&found.first),
        second: access(&found.second),
    })
}

/// A program with an execution that fails need not be explored further than to one of them.
fn compare_failures(program: &Arc<Program>, checked: &Arc<Program>) -> Compared {
    let Some(expected) = behaviour(program, Buffers::None) else {
        return Compared::LeftOut;
    };
    let Some(found) = exploring::found(checked, Setup::default()) else {
        return Compared::LeftOut;
    };
    let panics = found.panics.iter().cloned().map(Failure::Panic);
    let failures: BTreeSet<Failure> = found.races.iter().map(race).chain(panics).collect();
    let is_equal = match expected.failures.is_empty() {
        true => failures.is_empty() && found.outcomes == expected.outcomes,
        false => !failures.is_empty() && failures.is_subset(&expected.failures),
    };
    Compared::new(is_equal && found.others.is_empty(), || {
        let outcomes = only_in(&found.outcomes, &expected.outcomes);
        let failures = only_in(&failures, &expected.failures);
        format!("failures: {failures}\n{outcomes}\n{:?}", found.others)
    })
}

#[test]
fn checks_report_the_failures_of_all_interleavings() {
    agree("failures", Programs::WithFailures, 200, |program| {
        compare_failures(program, program)
    });
}

/// The comparisons with the interpreter notice a check without spurious wakeups, one of a machine with other store
/// buffers, and one in which release operations are relaxed.
#[test]
fn differences_from_the_interpreter_are_noticed() {
    let spurious = compare_some("not spurious", Programs::OfAllTypes, 40, |program| {
        compare_outcomes(program, without_spurious())
    });
    assert!(spurious.differ > 0, "no wait returns spuriously");
    let buffers = compare_some("other buffers", Programs::OfOrderings, 40, |program| {
        compare_with_buffers(program, Target::X86, Buffers::Pso)
    });
    assert!(buffers.differ > 0, "stores are in order on x86");
    let relaxed = compare_some("relaxed", Programs::WithFailures, 100, |program| {
        compare_failures(program, &Arc::new(program.with_relaxed_stores()))
    });
    assert!(relaxed.differ > 0, "relaxed stores release nothing");
}
