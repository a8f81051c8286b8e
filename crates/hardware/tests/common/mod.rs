//! Reading tests, running them, and what a model allows.
#![allow(dead_code, reason = "not everything is used where tests cannot be run")]

use std::collections::BTreeSet;
use std::time::Duration;

use fencepost_hardware::{Ending, NotHere, Processor, Record, Request};
use fencepost_litmus::answer::{Options, answer};
use fencepost_litmus::test::Test;
use fencepost_litmus::{Limits, machine, parse};
use fencepost_memory::MemoryModel;

/// Reads a test that is right.
pub fn read(source: &str) -> Test {
    let test = parse(source.as_bytes(), &Limits::default());
    test.unwrap_or_else(|error| panic!("{}", error.render("test")))
}

/// The processor; none where the counter cannot be used, as in some virtual machines.
pub fn processor() -> Option<Processor> {
    match Processor::detect() {
        Ok(processor) => Some(processor),
        Err(reason @ NotHere::Counter) => {
            eprintln!("skipped: {reason}");
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

/// Runs a test for some milliseconds.
pub fn run(processor: &Processor, test: &Test, milliseconds: u64) -> (Record, Ending) {
    let mut record = Record::default();
    let request = Request::new(Duration::from_millis(milliseconds));
    let ending = processor.run(test, &mut record, &request);
    let ending = ending.unwrap_or_else(|refusal| panic!("{}: {refusal}", test.name));
    (record, ending)
}

/// The final states that a model allows; all of them.
pub fn allowed(test: &Test, model: &MemoryModel) -> BTreeSet<Vec<u64>> {
    let options = Options {
        limits: machine::Limits::default(),
        cross_check: false,
    };
    let answer =
        answer(test, model, &options).unwrap_or_else(|error| panic!("{}: {error}", test.name));
    assert!(answer.cut().is_none(), "{} is not complete", test.name);
    answer
        .states
        .iter()
        .map(|state| state.contents.clone())
        .collect()
}

/// The states that were seen and that TSO does not allow.
pub fn forbidden(test: &Test, record: &Record) -> Vec<String> {
    let allowed = allowed(test, &MemoryModel::TSO);
    let seen = record
        .states
        .keys()
        .filter(|state| !allowed.contains(*state));
    seen.map(|state| test.format_state(state)).collect()
}
