//! How to search.

use std::time::Duration;

use crate::outcome::DeadlockRule;

/// How to search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// In which order.
    pub order: SearchOrder,
    /// Which states are deadlocks.
    pub deadlock: DeadlockRule,
    /// Whether states that are permutations of each other are one.
    pub symmetry: Symmetry,
    /// How many threads search. Only breadth-first search and random walks use more than one.
    pub workers: usize,
    /// How many states are looked at.
    pub max_states: u64,
    /// How many rules in a row are looked at.
    pub max_depth: u64,
    /// How long it may take.
    pub max_time: Option<Duration>,
    /// How many bytes states may take, with what finds them.
    pub max_memory: Option<u64>,
    /// How many rounds a `while` may take; CMurphi allows 1000.
    pub max_loop_iterations: u64,
    /// Whether only fingerprints of states are kept. Then states may be missed, with a
    /// probability that the report has.
    pub hash_compaction: bool,
    /// How often a breadth-first search is saved: see [`SearchCallbacks::checkpoint`](super::SearchCallbacks::checkpoint).
    pub checkpoint_interval: Option<Duration>,
    /// Whether all points are counted. Otherwise [`SearchOutcome::hits`](super::SearchOutcome::hits) of branches
    /// and arms are 0, and those of other points but rules say only whether there were any.
    pub coverage: bool,
    /// A number of the program that searches. A search that another program has saved is not gone on with: what is
    /// wrong in that program would be wrong in the result.
    pub build_id: u64,
}

/// In which order states are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchOrder {
    /// Nearest to the start states first, so that traces are as short as possible.
    BreadthFirst,
    /// Farthest first.
    DepthFirst,
    /// Random walks from the start states, without remembering states. Never complete.
    Random {
        /// What the choices depend on.
        seed: u64,
        /// How many walks.
        walks: u64,
        /// How many rules each fires at most.
        steps: u64,
    },
}

/// Whether states that are permutations of each other are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symmetry {
    /// They are different.
    Off,
    /// Most are one: what is cheap to see.
    Fast,
    /// They are one, always.
    Full,
}

impl Symmetry {
    /// Its name, as on the command line.
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
