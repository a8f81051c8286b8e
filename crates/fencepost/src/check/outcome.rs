//! What a check comes to.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use fencepost_explore::Counterexample;
use fencepost_memory::Address;
use fencepost_monitor::ExplainError;
use fencepost_report::check::{self as report, CheckFinding, CheckSummary};
use rustc_hash::FxHashMap;

use super::fences::{FenceInference, NOT_KNOWN};
use super::problems::Translator;
use super::showing::{Showing, ShownFinding, ShownSummary};
use fencepost_runtime::ProgramError;

/// What a check came to.
///
/// `Display` shows the report.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// An execution of the program is wrong, store buffers or not: a failed assertion, a
    /// deadlock, a data race, a leak, …
    ProgramError(Details),
    /// The program has executions on the target that are not sequentially consistent.
    NotStoreBufferSafe(Details),
    /// No sequentially consistent execution is wrong, and every execution on the target is
    /// sequentially consistent: so no execution on the target is wrong.
    Verified(Details),
    /// Nothing wrong was found, but not all executions were run. The details say why.
    Incomplete(Details),
}

/// What was found, what was run, and how it is reported.
#[derive(Clone, Debug)]
pub struct Details {
    pub(super) findings: Vec<Finding>,
    pub(super) summary: CheckSummary,
    pub(super) faults: u64,
    pub(super) violations: u64,
    pub(super) distinct_violations: u64,
    pub(super) borderline: u64,
    pub(super) showing: Arc<Showing>,
    pub(super) shown: OnceLock<ShownSummary>,
    /// The fences that are missing, if they were asked for.
    pub(super) fences: Option<Box<FenceInference>>,
}

impl Details {
    fn shown(&self) -> &ShownSummary {
        self.shown.get_or_init(|| {
            let fences = self.fences.as_deref().map(FenceInference::object);
            self.showing.summary(&self.summary, fences)
        })
    }

    /// What the report ends with, if fences were asked for.
    fn fences_text(&self) -> Option<String> {
        match self.fences.as_deref()? {
            // What is wrong has been shown.
            FenceInference::Unknown(_) if self.faults > 0 => Some(format!("{NOT_KNOWN}\n")),
            fences => Some(fences.to_string()),
        }
    }
}

/// One finding: the first of its kind.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Among those that are shown, from 1.
    pub(super) number: usize,
    pub(super) found: Counterexample<ProgramError>,
    pub(super) consequence: Option<report::Consequence>,
    /// The values with which the objects of the execution were made.
    pub(super) first_values: FxHashMap<Address, u64>,
    pub(super) is_store_buffer: bool,
    pub(super) showing: Arc<Showing>,
    /// With its checked witness, once someone looks at it.
    pub(super) finding: OnceLock<CheckFinding>,
    pub(super) shown: OnceLock<ShownFinding>,
}

/// What comes of a store-buffer violation on the target. The report says it in full.
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

    /// What is wrong, in one line.
    pub fn headline(&self) -> &str {
        &self.shown().headline
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

    /// What comes of a store-buffer violation, if [`Checker::confirm`](crate::Checker::confirm) asked for it.
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

    /// Whether it is about store buffers, and not an error under sequential consistency too.
    pub fn is_store_buffer(&self) -> bool {
        self.is_store_buffer
    }
}

impl Outcome {
    /// What was found and what was run.
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

    /// The fences that make the program store-buffer safe, if it is not and they were
    /// [asked for](crate::Checker::infer_fences).
    pub fn inferred_fences(&self) -> Option<&FenceInference> {
        self.details().fences.as_deref()
    }

    /// Whether the program is correct on the target.
    pub fn is_verified(&self) -> bool {
        matches!(self, Outcome::Verified(_))
    }

    /// Whether something is wrong with the program.
    pub fn has_failed(&self) -> bool {
        matches!(
            self,
            Outcome::ProgramError(_) | Outcome::NotStoreBufferSafe(_)
        )
    }

    /// The executions that were run to an end, or to where something was found.
    pub fn executions(&self) -> u64 {
        self.details().summary.executions
    }

    /// The executions that were given up half-way, because what follows was known.
    pub fn abandoned(&self) -> u64 {
        self.details().summary.abandoned
    }

    /// The steps of all executions; where executions begin in the same way, that counts once.
    pub fn steps(&self) -> u64 {
        self.details().summary.steps
    }

    /// The findings, the first of each kind.
    pub fn findings(&self) -> &[Finding] {
        &self.details().findings
    }

    /// The executions that were wrong.
    pub fn errors(&self) -> u64 {
        self.details().faults
    }

    /// The store-buffer violations that were seen, in all executions.
    pub fn violations(&self) -> u64 {
        self.details().violations
    }

    /// The store-buffer violations that differ in their source locations.
    pub fn distinct_violations(&self) -> u64 {
        self.details().distinct_violations
    }

    /// The executions that showed a store-buffer violation.
    pub fn borderline_executions(&self) -> u64 {
        self.details().borderline
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

    /// Whether there is something to know that is no assumption: that the program has used nothing that is checked, for one.
    pub(super) fn has_notes(&self) -> bool {
        !self.details().summary.notes.is_empty()
    }

    /// Prints what was run and what that came to, of the check at this place.
    pub(super) fn print_summary(&self, location: &Location<'_>) {
        let (file, line) = (location.file(), location.line());
        let summary = &self.details().shown().text;
        // By the macro, so that tests catch it.
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

/// A witness that does not check is a bug of ours, and nothing that the tool says can be trusted.
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
