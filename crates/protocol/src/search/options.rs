//! The options of a search.

use std::time::Duration;

use crate::outcome::DeadlockRule;

/// The options of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The order in which states are explored.
    pub order: SearchOrder,
    /// The states that count as deadlocks.
    pub deadlock: DeadlockRule,
    /// The symmetry reduction.
    pub symmetry: Symmetry,
    /// The number of worker threads. Only breadth-first search and random walks use more than one.
    pub workers: usize,
    /// The most states.
    pub max_states: u64,
    /// The most rules on a path from a start state.
    pub max_depth: u64,
    /// The most time.
    pub max_time: Option<Duration>,
    /// The most bytes for states and hash table.
    pub max_memory: Option<u64>,
    /// The most iterations of a `while` loop; CMurphi allows 1000.
    pub max_loop_iterations: u64,
    /// Whether only fingerprints of states are stored. Then states may be omitted, with a
    /// probability of at most [`SearchOutcome::omission`](super::SearchOutcome::omission).
    pub hash_compaction: bool,
    /// The time between two checkpoints of a breadth-first search: see
    /// [`SearchCallbacks::checkpoint`](super::SearchCallbacks::checkpoint).
    pub checkpoint_interval: Option<Duration>,
    /// Whether all coverage points are counted. Otherwise
    /// [`SearchOutcome::hits`](super::SearchOutcome::hits) is 0 for branches and arms, exact for
    /// rules, and zero or not for all others.
    pub coverage: bool,
    /// Identifies the build of the searching program. A checkpoint of another build is not resumed:
    /// its states may be affected by a bug that has been fixed since.
    pub build_id: u64,
}

/// The order in which states are explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchOrder {
    /// Breadth-first: counterexamples are shortest.
    BreadthFirst,
    /// Depth-first.
    DepthFirst,
    /// Random walks from the start states, which store no states. Never complete.
    Random {
        /// The seed of the random choices.
        seed: u64,
        /// The number of walks.
        walks: u64,
        /// The most rules that a walk fires.
        steps: u64,
    },
}

/// The reduction of states that are permutations of each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symmetry {
    /// No reduction.
    Off,
    /// A cheap normal form: some equivalent states are stored twice.
    Fast,
    /// One state per equivalence class.
    Full,
}

impl Symmetry {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Symmetry::Off => "off",
            Symmetry::Fast => "fast",
            Symmetry::Full => "full",
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            order: SearchOrder::BreadthFirst,
            deadlock: DeadlockRule::Stuttering,
            symmetry: Symmetry::Full,
            workers: 1,
            max_states: u64::MAX,
            max_depth: u64::MAX,
            max_time: None,
            max_memory: None,
            max_loop_iterations: 1000,
            hash_compaction: false,
            checkpoint_interval: None,
            coverage: false,
            build_id: 0,
        }
    }
}
