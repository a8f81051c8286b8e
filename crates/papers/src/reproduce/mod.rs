//! Measures the papers' tables again, and prints the papers' figures beside them.
//!
//! Our programs and harnesses are not the papers', so the numbers differ. What must agree is where something is found and
//! where nothing is: each reproduction returns a [`Comparison`] that says where it does not.
//!
//! [`sober`] and [`bss`] check the programs of [`crate::programs`], [`x86_tso`] answers litmus tests, [`tso_cc`] searches
//! Murphi models. This module writes to the streams that its caller provides, and to no others.

pub mod bss;
pub mod sober;
pub mod tso_cc;
pub mod x86_tso;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use fencepost::{Checker, Outcome};
use fencepost_report::columns::aligned;
use fencepost_report::style::{DIM, HEADING, Styled};
use thiserror::Error;

use crate::programs::{Example, Version};

/// What a reproduction tells its user besides the results.
pub trait Console {
    /// Names the measurement that starts now.
    fn announce(&self, measurement: &str);

    /// Reports a problem that does not change the results.
    fn warn(&self, message: &str);
}

/// Where a reproduction writes its rows.
pub struct Output<'a> {
    /// For the rows.
    pub results: &'a mut dyn Write,
    /// Whether rows are JSON objects, one per line, instead of a table.
    pub is_json: bool,
    /// For everything else.
    pub console: &'a dyn Console,
}

impl Output<'_> {
    /// Writes a JSON row at once; rows of a table are written together, when the widths of the columns are known.
    fn row(&mut self, object: impl FnOnce() -> serde_json::Value) -> io::Result<()> {
        match self.is_json {
            true => writeln!(self.results, "{}", object()),
            false => Ok(()),
        }
    }

    /// Writes the table. The header stands out most where there is no title.
    fn table(&mut self, table: &Table) -> io::Result<()> {
        let header = match table.has_title {
            true => DIM,
            false => HEADING,
        };
        for (number, line) in aligned(&table.rows, "").iter().enumerate() {
            match number {
                0 => writeln!(self.results, "{}", Styled(header, line))?,
                _ => writeln!(self.results, "{line}")?,
            }
        }
        Ok(())
    }
}

struct Table {
    has_title: bool,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(has_title: bool, header: &[&str]) -> Self {
        let header = header.iter().map(|&cell| cell.to_owned()).collect();
        Table {
            has_title,
            rows: vec![header],
        }
    }
}

/// Where a reproduction disagrees with what the papers report, or with what is known of our models.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Comparison {
    /// Rows with another result than expected.
    pub contradictions: Vec<String>,
    /// Rows that are inconclusive: a sample did not show what it may still contain, or a search was cut short.
    pub inconclusive: Vec<String>,
}

/// Why a reproduction ended without a result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// The results could not be written.
    #[error("cannot write the result: {0}")]
    Write(#[from] io::Error),
    /// An option or a file of the user cannot be used; the message is complete.
    #[error("{0}")]
    BadInput(String),
    /// Our own programs, tests or models do not work as they should.
    #[error("error: {row}: {message}")]
    Internal {
        /// Which row of the table.
        row: String,
        /// What went wrong.
        message: String,
    },
}

impl ReproduceError {
    fn internal(row: &str, message: impl ToString) -> Self {
        ReproduceError::Internal {
            row: row.to_owned(),
            message: message.to_string(),
        }
    }
}

fn checker(example: &Example) -> Checker {
    Checker::new()
        .without_environment()
        .source(example.source_file, example.source_text)
        .progress(false)
        .continue_after_failure(true)
}

fn timed_check(checker: &Checker, example: &Example, version: Version) -> (Outcome, Duration) {
    let program = example.program;
    let started = Instant::now();
    let outcome = checker.run(move || program(version));
    (outcome, started.elapsed())
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}
