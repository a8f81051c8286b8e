//! What a search returns.

use super::options::Symmetry;
use crate::outcome::{Trace, Verdict};
use crate::source::Span;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// What the search concludes about the model.
    pub verdict: Verdict,
    /// The states found, start states included.
    pub states: u64,
    /// Those of them that came from the checkpoint.
    pub resumed_states: u64,
    /// How often an enabled rule was fired.
    pub rules_fired: u64,
    /// The distance of the farthest state from the start states, in rules.
    pub depth: u64,
    /// For a breadth-first search: the depth up to which the search is complete. Every error in a
    /// state that this many rules reach, or in the last of these rules, was found. Deadlocks among
    /// the farthest of these states may be missing.
    pub covered: Option<u64>,
    /// The symmetry reduction that was used; `None` if the model has no scalarset. Whether the
    /// model treats the values of a scalarset alike is tested in some states, not proved.
    pub symmetry: Option<Symmetry>,
    /// The number of worker threads.
    pub workers: usize,
    /// The most bytes that states and hash table took.
    pub memory: u64,
    /// With hash compaction: an upper bound on the probability that states were omitted.
    pub omission: Option<f64>,
    /// How often each coverage point of the model was reached. See
    /// [`Options::coverage`](super::Options::coverage).
    pub hits: Vec<u64>,
    /// How the error is reached, as replayed by the reference interpreter.
    pub trace: Option<Trace>,
}

/// Why a search cannot start or resume.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SearchError {
    /// The message.
    pub message: String,
    /// What to do about it.
    pub help: Option<&'static str>,
    /// The part of the model that caused it, if there is one.
    pub span: Option<Span>,
    /// The cause.
    pub kind: SearchErrorKind,
}

/// The cause of a [`SearchError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchErrorKind {
    /// The model cannot be searched.
    Model,
    /// The checkpoint cannot be resumed, now or later.
    Checkpoint,
    /// The checkpoint cannot be resumed now: it needs more memory than is allowed, or cannot be
    /// read.
    Resources,
    /// Two parts of Fencepost contradict each other.
    Internal,
}
