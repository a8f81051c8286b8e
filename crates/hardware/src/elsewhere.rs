//! Where tests cannot be run.

use fencepost_litmus::test::Test;

use crate::Request;
use crate::error::{NotHere, Refusal};
use crate::machine::Machine;
use crate::record::{Ending, Record};

/// A processor that tests can be run on. There is none here.
#[derive(Debug)]
pub enum Processor {}

impl Processor {
    /// Says that there is none.
    pub fn detect() -> Result<Self, NotHere> {
        Err(NotHere::Platform {
            system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
        })
    }

    /// The machine that it is in.
    pub fn machine(&self) -> &Machine {
        match *self {}
    }

    /// How many processors there are for the threads of a test.
    pub fn cores(&self) -> usize {
        match *self {}
    }

    /// Runs a test.
    pub fn run(&self, _: &Test, _: &mut Record, _: &Request<'_>) -> Result<Ending, Refusal> {
        match *self {}
    }
}
