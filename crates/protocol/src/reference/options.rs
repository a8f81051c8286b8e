//! The options of the reference search.

use std::time::Duration;

use crate::outcome::DeadlockRule;

/// The options of the reference search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The states that count as deadlocks.
    pub deadlock: DeadlockRule,
    /// The symmetry reduction.
    pub symmetry: Symmetry,
    /// The most states.
    pub max_states: u64,
    /// The most time.
    pub max_time: Option<Duration>,
    /// The most iterations of a `while` loop; CMurphi allows 1000.
    pub max_loop_iterations: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            deadlock: DeadlockRule::Stuttering,
            symmetry: Symmetry::Off,
            max_states: u64::MAX,
            max_time: None,
            max_loop_iterations: 1000,
        }
    }
}

/// The reduction of states that are permutations of each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symmetry {
    /// No reduction.
    Off,
    /// One state per equivalence class, found by trying all permutations.
    Exhaustive,
}
