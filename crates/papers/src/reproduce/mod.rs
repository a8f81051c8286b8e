//! Reproduces the papers' tables, and prints the papers' figures beside ours.
//!
//! Our programs and harnesses are not the papers', so the numbers differ. The verdicts must agree:
//! each reproduction returns a [`Comparison`] with the rows that do not.
//!
//! [`sober`] and [`bss`] check the programs of [`crate::programs`], [`x86_tso`] answers litmus
//! tests, [`tso_cc`] searches Murphi models. This module writes only to the streams that its caller
//! provides.

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

/// Progress and warnings of a reproduction.
pub trait Console {
    /// Names the measurement that starts now.
    fn announce(&self, measurement: &str);

    /// Reports a problem that does not change the results.
    fn warn(&self, message: &str);
}

/// Where a reproduction writes its rows.
pub struct Output<'a> {
    /// The stream for the rows.
    pub results: &'a mut dyn Write,
    /// Whether rows are JSON objects, one per line, instead of a table.
    pub is_json: bool,
    /// The sink for progress and warnings.
    pub console: &'a dyn Console,
}

impl Output<'_> {
    /// Writes a JSON row at once; rows of a table are written together, when the widths of the
    /// columns are known.
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

/// The rows of a reproduction that disagree with the paper, or with the known results of our
/// models.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Comparison {
    /// Rows with another result than expected.
    pub contradictions: Vec<String>,
    /// Rows that are inconclusive: a random sample may have missed a violation, or a search was
    /// incomplete.
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
    /// Our own programs, tests or models failed: a bug.
    #[error("error: {row}: {message}")]
    Internal {
        /// The row of the table.
        row: String,
        /// The message.
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
