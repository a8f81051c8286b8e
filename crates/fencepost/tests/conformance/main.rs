//! The look-alikes against `std`: random small programs over all types are run on real threads, many times and with
//! random delays, and every outcome has to be among those that a check explores. An outcome is what the operations
//! return, and whether the program ends or is blocked.
//!
//! `FENCEPOST_TEST_SEED`, `FENCEPOST_TEST_PROGRAMS` and `FENCEPOST_TEST_RUNS` choose other and more programs, and how
//! often each is run:
//!
//! ```sh
//! FENCEPOST_TEST_SEED=7 FENCEPOST_TEST_PROGRAMS=20000 FENCEPOST_TEST_RUNS=300 \
//!     cargo test -p fencepost --test conformance -- --nocapture
//! ```
//!
//! It is a binary of its own because blocked threads stay until the process ends.

mod checked;
#[path = "../support/explorer.rs"]
mod explorer;
mod journal;
mod program;
mod real;
#[path = "../support/mod.rs"]
mod support;

#[allow(clippy::duplicate_mod)] // The same text, over two libraries.
#[path = "."]
mod over_std {
    use std as library;

    #[path = "interpreter.rs"]
    mod interpreter;

    pub use interpreter::run;

    /// On real threads there are no cells: a data race is undefined behaviour.
    struct Cells;

    impl Cells {
        fn new() -> Self {
            Cells
        }

        fn read(&self, _: usize) {
            unreachable!("no program has cells");
        }

        fn write(&self, _: usize) {
            unreachable!("no program has cells");
        }
    }
}

#[allow(clippy::duplicate_mod)]
#[path = "."]
mod over_fencepost {
    use fencepost as library;

    #[path = "cells.rs"]
    mod cells;
    #[path = "interpreter.rs"]
    mod interpreter;

    use cells::Cells;
    pub use interpreter::run;
}

use std::sync::Arc;

use program::{Generator, Program, Programs};

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Leaves out operations as long as there is an unexplored outcome.
fn smallest(mut program: Arc<Program>, seed: u64) -> Arc<Program> {
    let is_wrong = |program: &Arc<Program>| {
        let explored = checked::outcomes(program);
        explored.is_some_and(|it| real::unexpected_outcome(program, 2000, seed, &it).is_some())
    };
    while let Some(smaller) = (program.smaller().into_iter().map(Arc::new)).find(is_wrong) {
        program = smaller;
    }
    program
}

#[test]
fn outcomes_on_real_threads_are_explored() {
    let seed = number_from("FENCEPOST_TEST_SEED", 1);
    let programs = number_from("FENCEPOST_TEST_PROGRAMS", 150);
    let runs = number_from("FENCEPOST_TEST_RUNS", 20);
    let mut generator = Generator::new(Programs::OfAllTypes, seed);
    let (mut wrong, mut too_large, mut outcomes) = (Vec::new(), 0, 0);
    for number in 0..programs {
        let program = Arc::new(generator.program());
        let Some(explored) = checked::outcomes(&program) else {
            too_large += 1;
            continue;
        };
        outcomes += explored.len();
        if let Some(outcome) = real::unexpected_outcome(&program, runs, number, &explored) {
            let explored = explored.len();
            let smallest = smallest(program.clone(), number);
            println!(
                "program {number} of seed {seed}: {outcome:?} is not among {explored} outcomes\n\
                 {program:?}\nsmaller: {smallest:?}"
            );
            wrong.push(number);
        }
    }
    println!(
        "{programs} programs, {too_large} of them too large; the others have {outcomes} outcomes"
    );
    assert!(
        too_large * 10 <= programs,
        "{too_large} programs were left out"
    );
    assert!(wrong.is_empty(), "seed {seed}: programs {wrong:?}");
}
