//! The outcome of a check.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fencepost_explore::Counterexample;
use fencepost_memory::Address;
use fencepost_monitor::ExplainError;
use fencepost_report::check::{self as report, CheckFinding, Problem};
use rustc_hash::FxHashMap;

use super::details::Details;
use super::fences::FenceInference;
use super::problems::Translator;
use super::showing::{Showing, ShownFinding};
use fencepost_runtime::{LocationRef, ProgramError};

/// The outcome of a check.
///
/// `Display` prints the report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// An execution of the program fails, even without store buffers: a failed assertion, a
    /// deadlock, a data race, a leak, …
    ProgramError(Details),
    /// The program has executions on the target that are not sequentially consistent.
    NotStoreBufferSafe(Details),
    /// No sequentially consistent execution fails, and every execution on the target is
    /// sequentially consistent: so no execution on the target fails.
    Verified(Details),
    /// No failure was found, but some executions were not explored. The details say why.
    Incomplete(Details),
}

/// A distinct failure: its first occurrence.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its number among the distinct failures, from 1.
    pub(super) number: usize,
    pub(super) found: Counterexample<ProgramError>,
    pub(super) consequence: Option<report::Consequence>,
    /// The initial values of the objects of the execution.
    pub(super) first_values: FxHashMap<Address, u64>,
    pub(super) is_store_buffer: bool,
    pub(super) showing: Arc<Showing>,
    /// The explained finding, computed on demand.
    pub(super) finding: OnceLock<CheckFinding>,
    pub(super) shown: OnceLock<ShownFinding>,
}

/// The consequence of a store-buffer violation on the target. The report has the details.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Consequence {
    /// An execution on the target panics, deadlocks, or fails in another way.
    Failure,
    /// An execution fails, and the same failure happens without store buffers: fix that first.
    FailureUnderSc,
    /// No execution on the target fails, assuming that loops that wait only wait.
    Benign,
    /// None of the executions that were explored fails, but there are more.
    Inconclusive,
}

impl Finding {
    fn shown(&self) -> &ShownFinding {
        self.shown.get_or_init(|| {
            self.showing
                .finding(self.number, self.finding(), &self.first_values)
        })
    }

    fn finding(&self) -> &CheckFinding {
        self.finding.get_or_init(|| {
            let showing = &*self.showing;
            let finding = Translator { showing }.finding(&self.found);
            stop_if_unsound(&finding);
            CheckFinding {
                consequence: self.consequence.clone(),
                ..finding
            }
        })
    }

    /// The failure, in one line.
    pub fn headline(&self) -> &str {
        &self.shown().headline
    }

    /// Whether the program cannot be checked because of it: it does what Fencepost does not support, it is not deterministic, or
    /// the schedule to replay is not one of it.
    pub fn prevents_check(&self) -> bool {
        matches!(
            self.finding().problem,
            Problem::BadUse { .. }
                | Problem::NonDeterminism { .. }
                | Problem::InfeasibleSchedule { .. }
                | Problem::Unreproduced(_)
        )
    }

    /// The full report, with colours as ANSI escape codes.
    pub fn report(&self) -> &str {
        &self.shown().text
    }

    /// The same as a JSON object, in one line.
    pub fn json(&self) -> &str {
        &self.shown().json
    }

    /// The schedule of the execution that shows it, for [`replay`](crate::replay).
    pub fn schedule(&self) -> &str {
        &self.finding().schedule
    }

    /// The consequence of a store-buffer violation, if [`Checker::confirm`](crate::Checker::confirm) is on.
    pub fn consequence(&self) -> Option<Consequence> {
        self.consequence
            .as_ref()
            .map(|consequence| match consequence {
                report::Consequence::Failure {
                    also_under_sc: true,
                    ..
                } => Consequence::FailureUnderSc,
                report::Consequence::Failure { .. } => Consequence::Failure,
                report::Consequence::NoFailure {
                    unexplored: report::Unexplored::Nothing,
                    ..
                } => Consequence::Benign,
                report::Consequence::NoFailure { .. } => Consequence::Inconclusive,
            })
    }

    /// Whether this is a store-buffer violation, and not a failure under sequential consistency.
    pub fn is_store_buffer(&self) -> bool {
        self.is_store_buffer
    }
}

impl Outcome {
    /// The findings and the numbers.
    pub fn details(&self) -> &Details {
        match self {
            Outcome::ProgramError(details)
            | Outcome::NotStoreBufferSafe(details)
            | Outcome::Verified(details)
            | Outcome::Incomplete(details) => details,
        }
    }

    pub(super) fn details_mut(&mut self) -> &mut Details {
        match self {
            Outcome::ProgramError(details)
            | Outcome::NotStoreBufferSafe(details)
            | Outcome::Verified(details)
            | Outcome::Incomplete(details) => details,
        }
    }

    /// The fences that make the program store-buffer safe, if it is not and
    /// [fence inference](crate::Checker::infer_fences) is on.
    pub fn inferred_fences(&self) -> Option<&FenceInference> {
        self.details().inferred_fences()
    }

    /// Whether the program is correct on the target.
    pub fn is_verified(&self) -> bool {
        matches!(self, Outcome::Verified(_))
    }

    /// Whether a failure was found.
    pub fn has_failed(&self) -> bool {
        matches!(
            self,
            Outcome::ProgramError(_) | Outcome::NotStoreBufferSafe(_)
        )
    }

    /// The number of executions that ran to their end, or to a failure.
    pub fn executions(&self) -> u64 {
        self.details().executions()
    }

    /// The number of executions that were abandoned, because other executions cover them.
    pub fn abandoned(&self) -> u64 {
        self.details().abandoned()
    }

    /// The steps of all executions; a common prefix counts once.
    pub fn steps(&self) -> u64 {
        self.details().steps()
    }

    /// The distinct failures, each with its first occurrence.
    pub fn findings(&self) -> &[Finding] {
        self.details().findings()
    }

    /// The number of executions that failed under sequential consistency.
    pub fn errors(&self) -> u64 {
        self.details().errors()
    }

    /// The number of store-buffer violations in all executions.
    pub fn violations(&self) -> u64 {
        self.details().violations()
    }

    /// The number of store-buffer violations with different source locations.
    pub fn distinct_violations(&self) -> u64 {
        self.details().distinct_violations()
    }

    /// The number of executions with a store-buffer violation.
    pub fn borderline_executions(&self) -> u64 {
        self.details().borderline_executions()
    }

    /// The report as text, with colours as ANSI escape codes.
    pub fn report(&self) -> String {
        let details = self.details();
        let mut text = String::new();
        for finding in &details.findings {
            text.push_str(finding.report());
            text.push('\n');
        }
        text.push_str(&details.shown().text);
        if let Some(fences) = details.fences_text() {
            text.push('\n');
            text.push_str(&fences);
        }
        text
    }

    /// The report as JSON: an object per line, the findings and then the summary.
    pub fn json(&self) -> String {
        let details = self.details();
        let findings = details.findings.iter().map(Finding::json);
        let lines: Vec<&str> = findings
            .chain([details.shown().json.as_str()])
            .map(|line| line.trim_end())
            .collect();
        lines.join("\n")
    }

    /// Whether the summary has notes: that the program used no checked type, for example.
    pub(super) fn has_notes(&self) -> bool {
        !self.details().summary.notes.is_empty()
    }

    /// Prints the summary of the check at this location.
    pub(super) fn print_summary(&self, location: LocationRef) {
        let (file, line) = (location.file(), location.line());
        let summary = &self.details().shown().text;
        // With the macro, so that the test harness captures it.
        match anstream::AutoStream::choice(&std::io::stderr()) {
            anstream::ColorChoice::Never => {
                eprint!("{file}:{line}: {}", anstream::adapter::strip_str(summary));
            }
            _ => eprint!("{file}:{line}: {summary}"),
        }
    }

    /// Panics with the report, as plain text unless standard error is a terminal.
    #[track_caller]
    pub(super) fn panic_with_report(&self) -> ! {
        let report = self.report();
        let stream = std::io::stderr();
        match anstream::AutoStream::choice(&stream) {
            anstream::ColorChoice::Never => panic!("{}", anstream::adapter::strip_str(&report)),
            _ => panic!("{report}"),
        }
    }
}

/// Panics if the witness of a finding is wrong: that is a bug in Fencepost, and its results cannot be trusted.
fn stop_if_unsound(finding: &CheckFinding) {
    if let report::Problem::StoreBuffer {
        explained: Err(error @ ExplainError::Unsound { .. }),
        ..
    } = &finding.problem
    {
        panic!("{error} (schedule: {})", finding.schedule);
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&anstream::adapter::strip_str(&self.report()), f)
    }
}
