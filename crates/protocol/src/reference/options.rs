//! How to search.

use std::time::Duration;

use crate::outcome::DeadlockRule;

/// How to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which states are deadlocks.
    pub deadlock: DeadlockRule,
    /// Whether states that are permutations of each other are one.
    pub symmetry: Symmetry,
    /// How many states are looked at.
    pub max_states: u64,
    /// How long it may take.
    pub max_time: Option<Duration>,
    /// How many rounds a `while` may take; CMurphi allows 1000.
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

/// Whether states that are permutations of each other are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symmetry {
    /// They are different.
    Off,
    /// They are one: all permutations are tried.
    Exhaustive,
}
