//! The result of the reference search.

use crate::outcome::{Trace, Verdict};

/// The result of a search.
#[derive(Clone, Debug)]
pub struct ReferenceOutcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The states found, start states included.
    pub states: u64,
    /// The rules fired: enabled instances in all states.
    pub rules_fired: u64,
    /// The distance of the farthest state from the start states, in rules.
    pub depth: u64,
    /// The number of hits of each coverage point.
    pub hits: Vec<u64>,
    /// A shortest path to the error.
    pub trace: Option<Trace>,
}
