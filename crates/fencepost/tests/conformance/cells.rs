//! Cells whose accesses may race. A check has one thread of the operating system, so they do no harm.

use crate::explorer::Protected;

/// The names of the cells in reports.
pub const NAMES: [&str; 2] = ["first cell", "second cell"];

pub struct Cells([Protected; 2]);

impl Cells {
    pub fn new() -> Self {
        Cells(NAMES.map(|name| Protected::new().named(name)))
    }

    pub fn read(&self, cell: usize) {
        self.0[cell].get();
    }

    pub fn write(&self, cell: usize) {
        self.0[cell].increment();
    }
}
