//! How to search.

use std::time::Duration;

/// How to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which states are deadlocks.
    pub deadlock: Deadlock,
    /// Whether states that are permutations of each other are one.
    pub symmetry: Symmetry,
    /// How many states are looked at.
    pub states: u64,
    /// How long it may take.
    pub time: Option<Duration>,
    /// How many rounds a `while` may take; CMurphi allows 1000.
    pub rounds: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            deadlock: Deadlock::Stuttering,
            symmetry: Symmetry::Off,
            states: u64::MAX,
            time: None,
            rounds: 1000,
        }
    }
}

/// Which states are deadlocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deadlock {
    /// States that no rule leaves: none is enabled, or those that are change nothing. As in
    /// CMurphi.
    Stuttering,
    /// States in which no rule is enabled.
    Stuck,
    /// None.
    Off,
}

/// Whether states that are permutations of each other are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symmetry {
    /// They are different.
    Off,
    /// They are one: all permutations are tried.
    Exhaustive,
}
