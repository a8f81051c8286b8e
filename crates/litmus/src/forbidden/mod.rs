//! Why a model forbids a final state.
//!
//! A final state that a model does not allow can be impossible in two ways. Either some candidate
//! execution has it, that is events that the threads make with the values that they read, a write
//! or the initial content for each read, and an order of the writes to each cell; then each such
//! candidate breaks an axiom of the model, and a cycle shows it. Or no candidate has it: the values
//! alone make it impossible, whatever the model.
//!
//! The axioms are those of herd7's model of x86, with the part of program order that the
//! [`MemoryModel`] keeps:
//!
//! - [`Axiom::Coherence`]: program order on each cell, reads-from, coherence and from-reads have no
//!   cycle;
//! - [`Axiom::Atomicity`]: no write comes between the read and the write of a locked instruction;
//! - [`Axiom::Order`]: what the model keeps of program order, reads-from between threads, coherence
//!   and from-reads have no cycle, where a locked instruction is one event.
//!
//! [`explain`] looks for the candidate that says most: one that breaks the order of the model
//! before one that tears a locked instruction apart, before one that is not even coherent, before
//! one in which a thread does not even see its own accesses to a cell in order; among these one with
//! the shortest cycle, and then with the fewest events.
//!
//! Read in this order: `partial` (propositions of which not everything is known), `runs` (what each
//! thread may do), `violation` (the cycle of a candidate), `search` (all candidates). Nothing is
//! shared with the engines but the meaning of instructions; the
//! [judge](crate::judge::check_forbidden) checks the candidate and each step of its cycle.
//!
//! Where this ends: the values of reads are those that threads can come to write, beginning with the
//! initial contents, in at most as many steps as the test has stores. So a candidate does not read a
//! value that comes from nowhere but a circle of reads and writes. An iteration of a loop that changes
//! nothing is left out, since the candidate without it has the same final state.

mod partial;
mod runs;
mod search;
mod violation;

use fencepost_memory::MemoryModel;

use crate::event_graph::cycle::Cycle;
use crate::execution::Candidate;
use crate::test::{Proposition, Test};

pub use violation::violation;

/// An axiom of a model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Axiom {
    /// The order of the model has no cycle.
    Order,
    /// Nothing comes between the accesses of a locked instruction.
    Atomicity,
    /// Each cell by itself is sequentially consistent.
    Coherence,
}

/// Why a model does not allow a candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The axiom that it breaks.
    pub axiom: Axiom,
    /// A shortest cycle that the axiom forbids.
    pub cycle: Cycle,
}

/// A candidate that a model does not allow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forbidden {
    /// The candidate.
    pub candidate: Candidate,
    /// Its final state: the contents of [`Test::observables`].
    pub state: Vec<u64>,
    /// Why the model does not allow it.
    pub violation: Violation,
}

/// Why a model does not allow final states of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Explanation {
    /// Candidates have such a state, and the model forbids all within the limits; this one says
    /// most. Whether others are allowed is for the engines to say.
    Forbidden(Box<Forbidden>),
    /// No candidate has such a state.
    Impossible,
    /// A candidate that the model allows has such a state.
    Allowed(Box<Candidate>),
    /// There was no candidate among those within the limits.
    Unknown,
}

/// How far to go.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The most events of a thread.
    pub events_per_thread: usize,
    /// The most runs of a thread.
    pub runs_per_thread: usize,
    /// The most steps of the search, of which a candidate is some hundred.
    pub steps: u64,
    /// Asked now and then: whether to stop.
    pub should_stop: &'a dyn Fn() -> bool,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Limits {
            events_per_thread: 48,
            runs_per_thread: 1 << 12,
            steps: 1 << 23,
            should_stop: &|| false,
        }
    }
}

/// Why `model` allows no final state for which `wanted` holds and that passes the filter of the
/// test.
pub fn explain(
    test: &Test,
    model: &MemoryModel,
    wanted: &Proposition,
    limits: &Limits<'_>,
) -> Explanation {
    search::Search::new(test, model, wanted, limits).explain()
}
