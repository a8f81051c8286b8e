//! The report of a search of a Murphi model.
//!
//! [`SearchedModel`] is the input. Read in this order: `values` (values as text), `changes` (what a
//! step changed), `instances` (rules with their parameters), `steps` (the counterexample),
//! `verdict` (the failed property in the source), `vacuity` and `coverage` (vacuity and hit
//! counts), `summary` (the numbers). [`chart`] draws the counterexample as a sequence chart. JSON
//! is in [`json::protocol`](crate::json::protocol).

pub mod changes;
pub mod chart;
mod coverage;
mod instances;
mod steps;
mod summary;
mod vacuity;
pub(crate) mod values;
mod verdict;

use fencepost_protocol::Model;
use fencepost_protocol::outcome::Verdict;
use fencepost_protocol::search::SearchOutcome;

pub use coverage::{coverage, point_name};
pub use instances::{Parameter, rule_parameters, startstate_parameters};
pub use steps::trace;
pub use summary::{bytes, summary};
pub use vacuity::{VacuousPoint, vacuity_text, vacuous_points};
pub use verdict::{Failed, failed, headline, verdict};

/// A model and the result of its search.
#[derive(Clone, Copy, Debug)]
pub struct SearchedModel<'a> {
    /// The model.
    pub model: &'a Model,
    /// The result of the search.
    pub report: &'a SearchOutcome,
    /// The name of the file.
    pub file: &'a str,
    /// The time of the search.
    pub seconds: f64,
    /// The command that reproduces the result.
    pub replay: &'a str,
    /// Why the last checkpoint could not be written, if so.
    pub checkpoint_error: Option<&'a str>,
}

impl SearchedModel<'_> {
    /// Whether all states were explored.
    pub fn is_complete(&self) -> bool {
        matches!(
            self.report.verdict,
            Verdict::NoError | Verdict::CoverMissed(_)
        )
    }
}

/// The report as text: verdict, counterexample, vacuity and numbers. Without the counterexample, if
/// it is written elsewhere.
pub fn report(checked: &SearchedModel<'_>, with_trace: bool, width: usize) -> String {
    let mut text = verdict(checked, width);
    if let (Some(way), true) = (&checked.report.trace, with_trace) {
        text.push('\n');
        text += &trace(checked.model, way, width);
    }
    let vacuity = vacuity_text(checked, width);
    if !vacuity.is_empty() {
        text += &format!("\n{vacuity}");
    }
    text.push('\n');
    text += &summary(checked);
    if checked.report.trace.is_some() {
        text += &format!("\nto reproduce:\n  {}\n", checked.replay);
    }
    text
}
