//! Compares random programs in one way, and counts how many really were.

use std::sync::Arc;

use crate::program::{Generator, Program, Programs};

/// What comparing a program in two ways has shown.
pub enum Compared {
    Agrees,
    Differs(String),
    /// There was nothing to compare, mostly because the program is too large.
    LeftOut,
}

impl Compared {
    pub fn new(agrees: bool, difference: impl FnOnce() -> String) -> Self {
        match agrees {
            true => Compared::Agrees,
            false => Compared::Differs(difference()),
        }
    }
}

/// How many programs were compared.
#[derive(Default)]
pub struct Tally {
    pub agree: u64,
    pub differ: u64,
    pub left_out: u64,
}

impl Tally {
    fn print(&self, name: &str) {
        let Tally {
            agree,
            differ,
            left_out,
        } = self;
        let programs = agree + differ + left_out;
        println!(
            "{name}: {programs} programs, {agree} agree, {differ} differ, {left_out} left out"
        );
    }
}

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Leaves out operations as long as there is a difference.
fn smallest(
    mut program: Arc<Program>,
    compare: &impl Fn(&Arc<Program>) -> Compared,
) -> (Arc<Program>, String) {
    let mut shown = String::new();
    'smaller: loop {
        for smaller in program.smaller().into_iter().map(Arc::new) {
            if let Compared::Differs(difference) = compare(&smaller) {
                (program, shown) = (smaller, difference);
                continue 'smaller;
            }
        }
        return (program, shown);
    }
}

/// Compares so many programs of a fixed seed in a way that must show differences.
pub fn compare_some(
    name: &str,
    kind: Programs,
    programs: u64,
    compare: impl Fn(&Arc<Program>) -> Compared,
) -> Tally {
    compare_all(name, kind, (SEED, programs), compare)
}

const SEED: u64 = 1;

/// Compares so many programs of a seed, prints those that differ, and counts.
fn compare_all(
    name: &str,
    kind: Programs,
    (seed, programs): (u64, u64),
    compare: impl Fn(&Arc<Program>) -> Compared,
) -> Tally {
    let mut generator = Generator::new(kind, seed);
    let mut tally = Tally::default();
    for number in 0..programs {
        if number > 0 && number % 1000 == 0 {
            tally.print(name);
        }
        let program = Arc::new(generator.program());
        match compare(&program) {
            Compared::Agrees => tally.agree += 1,
            Compared::LeftOut => tally.left_out += 1,
            Compared::Differs(difference) => {
                let (smallest, shown) = smallest(program.clone(), &compare);
                println!(
                    "{name}: program {number} of seed {seed}\n{difference}\n{program:?}\n\
                     smaller: {smallest:?}\n{shown}"
                );
                tally.differ += 1;
            }
        }
    }
    tally.print(name);
    tally
}

/// Compares so many programs, which must agree. Many must really be compared.
pub fn agree(
    name: &str,
    kind: Programs,
    programs: u64,
    compare: impl Fn(&Arc<Program>) -> Compared,
) {
    let programs = number_from("FENCEPOST_TEST_PROGRAMS", programs);
    let seed = number_from("FENCEPOST_TEST_SEED", SEED);
    let tally = compare_all(name, kind, (seed, programs), compare);
    assert_eq!(tally.differ, 0, "{name}");
    assert!(
        tally.agree * 3 >= programs,
        "{name}: {} programs were left out",
        tally.left_out
    );
}
