//! All outcomes of a program, computed without the library: an interpreter whose states are data, which performs one
//! action of one thread at a time and visits every state.
//!
//! It follows the documentation of `std`, and where that leaves something open, what the standard library's
//! implementation can do:
//! - a wait on a condition variable or a park may return spuriously, one with a timeout at any time;
//! - a notification wakes any of the waiting threads;
//! - a writer that waits for an `RwLock` may block readers that do not wait;
//! - scopes and channels wait by parking, and may take the park token of their thread;
//! - a scoped or finished thread may not have dropped its thread-local values yet.
//!
//! Modules: `state` what a state is; `actions` what threads do; `channels` the operations of channels; `counts` those of `Arc`s;
//! `memory` atomic variables, store buffers and data races.

mod actions;
mod channels;
mod counts;
mod memory;
mod state;

use std::collections::{BTreeSet, HashSet};

use crate::journal::{End, Outcome};
use crate::program::Program;

pub use memory::{Access, Buffers, Failure, Race};
use state::State;

/// A program with more states is left out.
const MOST_STATES: usize = 60_000;

/// Everything that a program can do.
#[derive(Default, Debug)]
pub struct Behaviour {
    /// Of the executions that do not fail.
    pub outcomes: BTreeSet<Outcome>,
    /// The first failures of the others.
    pub failures: BTreeSet<Failure>,
}

/// Visits all states. None if there are too many.
pub fn behaviour(program: &Program, buffers: Buffers) -> Option<Behaviour> {
    let first = State::first(program, buffers);
    let mut seen = HashSet::from([first.clone()]);
    let mut open = vec![first];
    let mut behaviour = Behaviour::default();
    while let Some(state) = open.pop() {
        let next = state.successors();
        if next.iter().all(|next| next.is_optional) {
            let end = match state.has_ended() {
                true => End::Done,
                false => End::Blocked,
            };
            behaviour.outcomes.insert((end, state.results()));
        }
        for next in next {
            let failures = next.state.failures();
            if !failures.is_empty() {
                behaviour.failures.extend(failures.iter().cloned());
            } else if !seen.contains(&next.state) {
                seen.insert(next.state.clone());
                open.push(next.state);
            }
        }
        if seen.len() > MOST_STATES {
            return None;
        }
    }
    Some(behaviour)
}
