//! Callbacks of a running search.

use std::time::Duration;

use super::checkpoint::SearchCheckpoint;

/// The caller of a search: sees its progress, can stop it, and stores its checkpoints.
pub trait SearchCallbacks: Sync {
    /// Called several times a second.
    fn progress(&self, progress: &SearchProgress) {
        let _ = progress;
    }

    /// Whether the search should stop now.
    fn should_stop(&self) -> bool {
        false
    }

    /// Called every [`Options::checkpoint_interval`](super::Options::checkpoint_interval), and when
    /// a search that can be resumed stops early. The search waits until this returns.
    fn checkpoint(&self, checkpoint: &SearchCheckpoint<'_>) {
        let _ = checkpoint;
    }
}

/// No callbacks.
impl SearchCallbacks for () {}

/// The progress of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchProgress {
    /// The states found so far.
    pub states: u64,
    /// Those of them that this run has found: a resumed search starts with states.
    pub new_states: u64,
    /// The rules fired so far.
    pub rules_fired: u64,
    /// The states in the queue.
    pub queue: u64,
    /// Their distance from the start states, in rules.
    pub depth: u64,
    /// The bytes that states and hash table take.
    pub memory: u64,
    /// The time since the search began.
    pub elapsed: Duration,
    /// The estimated time to the end. The number of states of a model is not known in advance, so
    /// there is an estimate only for random walks, and for a breadth-first search whose last levels
    /// have become smaller and smaller. Later levels may be larger again.
    pub remaining: Option<Duration>,
}
