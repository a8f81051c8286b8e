//! What a search of a Murphi model came to, for people.
//!
//! [`Checked`] is what there is to say. Read in this order: `values` (values as text), `changes` (what a
//! step changed), `instances` (rules with their parameters), `steps` (the way to an error), `verdict`
//! (what failed, in the source), `never_seen` and `coverage` (what a search did not show, and how often the rest
//! happened), `summary` (the numbers). [`chart`] draws the way to an error. JSON is in
//! [`json::protocol`](crate::json::protocol).

pub mod changes;
pub mod chart;
mod coverage;
mod instances;
mod never_seen;
mod steps;
mod summary;
pub(crate) mod values;
mod verdict;

use fencepost_protocol::Model;
use fencepost_protocol::outcome::Verdict;
use fencepost_protocol::search::SearchOutcome;

pub use coverage::{coverage, point_name};
pub use instances::{Parameter, rule_parameters, startstate_parameters};
pub use never_seen::{NeverSeen, never_seen, never_seen_text};
pub use steps::trace;
pub use summary::{bytes, summary};
pub use verdict::{Failed, failed, headline, verdict};

/// A model that was searched, and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a> {
    /// The model.
    pub model: &'a Model,
    /// What the search says.
    pub report: &'a SearchOutcome,
    /// What the file is called.
    pub file: &'a str,
    /// How long it took.
    pub seconds: f64,
    /// The command that does it again.
    pub replay: &'a str,
}

impl Checked<'_> {
    /// Whether all states were looked at.
    pub fn is_complete(&self) -> bool {
        matches!(
            self.report.verdict,
            Verdict::NoError | Verdict::CoverMissed(_)
        )
    }
}

/// The report as a person reads it: what is wrong and how it comes about, what was never seen, and the numbers.
/// Without the trace, if that is shown elsewhere.
pub fn report(checked: &Checked<'_>, with_trace: bool, width: usize) -> String {
    let mut text = verdict(checked, width);
    if let (Some(way), true) = (&checked.report.trace, with_trace) {
        text.push('\n');
        text += &trace(checked.model, way, width);
    }
    text.push('\n');
    text += &never_seen_text(checked, width);
    text.push('\n');
    text += &summary(checked);
    if checked.report.trace.is_some() {
        text += &format!("\nTo see it again:\n  {}\n", checked.replay);
    }
    text
}
