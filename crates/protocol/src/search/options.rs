//! How to search.

use std::time::Duration;

use crate::reference::Deadlock;

/// How to search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// In which order.
    pub order: Order,
    /// Which states are deadlocks.
    pub deadlock: Deadlock,
    /// Whether states that are permutations of each other are one.
    pub symmetry: Symmetry,
    /// How many threads search. Only breadth-first search and random walks use more than one.
    pub workers: usize,
    /// How many states are looked at.
    pub states: u64,
    /// How many rules in a row are looked at.
    pub depth: u64,
    /// How long it may take.
    pub time: Option<Duration>,
    /// How many bytes states may take, with what finds them.
    pub memory: Option<u64>,
    /// How many rounds a `while` may take; CMurphi allows 1000.
    pub rounds: u64,
    /// Whether only fingerprints of states are kept. Then states may be missed, with a
    /// probability that the report has.
    pub compact: bool,
    /// How often a breadth-first search is saved: see [`Watch::save`](super::Watch::save).
    pub saved_every: Option<Duration>,
    /// Whether all points are counted. Otherwise [`Report::hits`](super::Report::hits) of branches
    /// and arms are 0, and those of other points but rules say only whether there were any.
    pub coverage: bool,
    /// A number of the program that searches. A search that another program has saved is not gone on with: what is
    /// wrong in that program would be wrong in the result.
    pub made_by: u64,
}

/// In which order states are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
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
            order: Order::BreadthFirst,
            deadlock: Deadlock::Stuttering,
            symmetry: Symmetry::Full,
            workers: 1,
            states: u64::MAX,
            depth: u64::MAX,
            time: None,
            memory: None,
            rounds: 1000,
            compact: false,
            saved_every: None,
            coverage: false,
            made_by: 0,
        }
    }
}
