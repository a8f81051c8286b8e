//! The final state of a test: the registers of its threads and the content of memory.

use crate::test::{Observable, Test};

/// The final state of an execution, whole; what a test observes of it is a part.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FinalState {
    /// For each thread its register file.
    pub registers: Vec<Vec<u64>>,
    /// The content of each cell.
    pub cells: Vec<u64>,
}

impl FinalState {
    /// The contents of [`Test::observables`], each cut to its width.
    pub fn observed(&self, test: &Test) -> Vec<u64> {
        test.observables()
            .map(|observable| match observable {
                Observable::Register {
                    thread,
                    register,
                    width,
                    ..
                } => self.registers[*thread][register.index()] & width.mask(),
                Observable::Cell { cell, .. } => {
                    self.cells[cell.index()] & test.cells[cell.index()].width.mask()
                }
            })
            .collect()
    }
}
