//! What a search says, while it runs and at its end.

use std::time::Duration;

use super::checkpoint::Saved;
use super::options::Symmetry;
use crate::reference::Verdict;
use crate::reference::trace::Trace;
use crate::source::Span;

/// Whoever waits for a search.
pub trait Watch: Sync {
    /// Called some times a second.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }

    /// Whether the search should end now.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Called as often as [`Options::saved_every`](super::Options::saved_every) says, and when a
    /// search that could go on ends early. The search waits meanwhile.
    fn save(&self, saved: &Saved<'_>) {
        let _ = saved;
    }
}

/// Nobody waits.
impl Watch for () {}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// How many states were found.
    pub states: u64,
    /// How many of them are new: a search that goes on had some before.
    pub new: u64,
    /// How often a rule was fired.
    pub rules_fired: u64,
    /// How many states are still to be looked at.
    pub queue: u64,
    /// How many rules away from the start states they are.
    pub depth: u64,
    /// How many bytes states take, with what finds them.
    pub memory: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// How long it will take from now on. Nobody knows how many states a model has; so this is
    /// said only of random walks, and of a breadth-first search that finds fewer states at each
    /// distance for some time. It is an estimate then: what comes may be more again.
    pub remaining: Option<Duration>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// What is known.
    pub verdict: Verdict,
    /// How many states were found, start states included.
    pub states: u64,
    /// How many of them were there when the search went on.
    pub states_before: u64,
    /// How often an enabled rule was fired.
    pub rules_fired: u64,
    /// How many rules the farthest state is away from a start state.
    pub depth: u64,
    /// If states were looked at nearest first: everything that is wrong with states that so many
    /// rules lead to, or with the last of these rules, was found. Deadlocks among the farthest of
    /// them may be missing.
    pub covered: Option<u64>,
    /// Whether states that are permutations of each other were one; nothing if the model has no scalarset. That it
    /// treats their values alike is tested in some states, and not proved.
    pub symmetry: Option<Symmetry>,
    /// How many threads searched.
    pub workers: usize,
    /// How many bytes states took at most, with what finds them.
    pub memory: u64,
    /// An upper bound for the probability that states were missed, if only fingerprints were kept.
    pub omission: Option<f64>,
    /// How often each point of the model was reached. See
    /// [`Options::coverage`](super::Options::coverage).
    pub hits: Vec<u64>,
    /// How the error is reached, made anew by the reference interpreter.
    pub trace: Option<Trace>,
}

/// Why a model, or a search that was saved, cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What is wrong, and perhaps what to do.
    pub message: String,
    /// What to do, if it has a place in the model.
    pub help: Option<&'static str>,
    /// Where, if it is in the model.
    pub span: Option<Span>,
    /// What it is about.
    pub about: About,
}

/// What a refusal is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// The model.
    Model,
    /// A search that was saved, and cannot be gone on with.
    Saved,
    /// A search that was saved, and cannot be gone on with now: there is too little memory, or it cannot be read.
    Room,
    /// A contradiction within Fencepost.
    Ourselves,
}
