//! Random small programs over the types of the library, checked in several ways that must agree:
//!
//! - one worker and two: the same executions, failures, results and verdict;
//! - a check that is stopped at random points and resumed from its checkpoint: the same;
//! - a preemption bound that cuts nothing: the same results and verdict.
//!
//! The programs are those of the comparison with `std` (`../conformance`). `FENCEPOST_TEST_SEED` and
//! `FENCEPOST_TEST_PROGRAMS` choose other and more of them:
//!
//! ```sh
//! FENCEPOST_TEST_SEED=7 FENCEPOST_TEST_PROGRAMS=20000 cargo test -p fencepost --test fuzzer -- --nocapture
//! ```

mod checked;
mod journal;
#[path = "../conformance/program.rs"]
mod program;

#[path = "../conformance"]
mod over_fencepost {
    use fencepost as library;

    #[path = "interpreter.rs"]
    mod interpreter;

    pub use interpreter::run;
}

use std::path::PathBuf;
use std::sync::Arc;

use checked::{Summary, checker, run, run_in_pieces};
use fencepost_memory::Random;
use program::{Generator, Program};

/// Larger than the number of steps of any of the programs.
const LARGE_BOUND: u32 = 10_000;

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

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

/// How two checks of a program differ. None if they agree, or if the program is too large.
type Comparison = dyn Fn(&Arc<Program>, &Summary) -> Option<String>;

fn difference(one: &Summary, other: &Summary, are_equal: bool) -> Option<String> {
    (!are_equal).then(|| format!("{one:?}\nagainst {other:?}"))
}

/// Leaves out operations as long as the checks differ.
fn smallest(mut program: Arc<Program>, compare: &Comparison) -> Arc<Program> {
    let is_wrong = |program: &Arc<Program>| {
        let whole = run(program, &checker());
        whole.is_some_and(|whole| compare(program, &whole).is_some())
    };
    while let Some(smaller) = (program.smaller().into_iter().map(Arc::new)).find(is_wrong) {
        program = smaller;
    }
    program
}

/// Compares programs, and returns the numbers of those that differ.
fn mismatches(name: &str, programs: u64, compare: &Comparison) -> Vec<u64> {
    let seed = number_from("FENCEPOST_TEST_SEED", 1);
    let mut generator = Generator::new(seed);
    let (mut wrong, mut left_out, mut executions) = (Vec::new(), 0, 0);
    for number in 0..programs {
        let program = Arc::new(generator.program());
        let Some(whole) = run(&program, &checker()) else {
            left_out += 1;
            continue;
        };
        executions += whole.executions;
        if let Some(difference) = compare(&program, &whole) {
            let smallest = smallest(program.clone(), compare);
            println!(
                "{name}: program {number} of seed {seed}\n{difference}\n{program:?}\nsmaller: {smallest:?}"
            );
            wrong.push(number);
        }
    }
    println!(
        "{name}: {programs} programs, {left_out} left out, {executions} executions, {} differ",
        wrong.len()
    );
    assert!(
        left_out * 2 <= programs,
        "{left_out} programs were left out"
    );
    wrong
}

fn agree(name: &str, programs: u64, compare: &Comparison) {
    let programs = number_from("FENCEPOST_TEST_PROGRAMS", programs);
    assert_eq!(mismatches(name, programs, compare), [0; 0], "{name}");
}

#[test]
fn two_workers_find_what_one_finds() {
    agree("workers", 150, &|program, one| {
        let two = run(program, &checker().workers(2))?;
        difference(one, &two, *one == two)
    });
}

#[test]
fn resumed_checks_find_what_uninterrupted_ones_find() {
    agree("checkpoints", 100, &|program, whole| {
        let file = CheckpointFile::new("resumed");
        let mut random = Random::new(whole.executions);
        let most = whole.executions / 4 + 2;
        let (pieces, _) = run_in_pieces(program, &file.0, || 1 + random.below(most));
        difference(whole, &pieces, *whole == pieces)
    });
}

#[test]
fn a_bound_that_cuts_nothing_changes_nothing() {
    agree("bound", 100, &|program, exhaustive| {
        let bounded = run(program, &checker().preemption_bound(LARGE_BOUND))?;
        let are_equal = exhaustive.without_counts() == bounded.without_counts();
        difference(exhaustive, &bounded, are_equal)
    });
}

/// The comparisons notice a search that cuts something, one that loses an execution, and one that stops early.
#[test]
fn differences_are_noticed() {
    let bounded = mismatches("no preemptions", 40, &|program, exhaustive| {
        let bounded = run(program, &checker().preemption_bound(0))?;
        let are_equal = exhaustive.without_counts() == bounded.without_counts();
        difference(exhaustive, &bounded, are_equal)
    });
    assert!(!bounded.is_empty(), "a bound of 0 cuts something");
    let uncounted = mismatches("lost execution", 5, &|program, one| {
        let mut two = run(program, &checker().workers(2))?;
        two.executions -= 1;
        difference(one, &two, *one == two)
    });
    assert!(!uncounted.is_empty(), "a lost execution is noticed");
    let stopped = mismatches("not resumed", 20, &|program, whole| {
        let file = CheckpointFile::new("stopped");
        let mut is_first = true;
        let (pieces, resumed) =
            run_in_pieces(program, &file.0, || match std::mem::take(&mut is_first) {
                true => 1,
                false => u64::MAX,
            });
        let mut forgotten = pieces.clone();
        forgotten.executions -= resumed;
        difference(whole, &forgotten, *whole == forgotten)
    });
    assert!(
        !stopped.is_empty(),
        "an execution that a checkpoint forgets is noticed"
    );
}
