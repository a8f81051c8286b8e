//! The result of the reference search.

use crate::outcome::{Trace, Verdict};

/// The result of a search.
#[derive(Clone, Debug)]
pub struct ReferenceOutcome {
    /// What is known.
    pub verdict: Verdict,
    /// How many states were found, start states included.
    pub states: u64,
    /// How often an enabled rule was fired.
    pub rules_fired: u64,
    /// How many rules the farthest state is away from a start state.
    pub depth: u64,
    /// How often each point of the model was reached.
    pub hits: Vec<u64>,
    /// A shortest way to what is wrong.
    pub trace: Option<Trace>,
}
