//! The axiomatic model of x86-TSO, section 3.2: every valid execution of a test.
//!
//! An execution is a set of events with a reads-from map and a memory order that satisfy the axioms
//! of the paper. It is enough to know what each read reads from and the order of the writes to each
//! cell: the rest of the memory order follows, and if that has no cycle, any linear extension will
//! do. So:
//!
//! - `growth` grows the events and the reads-from map, event by event, each once;
//! - `graph` derives the memory order from them (`order`, transitively closed), and rejects graphs
//!   with a cycle;
//! - `coherence` completes the order of the writes to each cell. For final states only the last
//!   write matters, and whether the rest can be completed: nine writes to one cell are nine cases,
//!   not 9!;
//! - `search` is the loop over all executions, `found` collects the results, and `cycles` looks for
//!   executions that are not sequentially consistent;
//! - `reach` (which cells a thread may still write) and `spins` (loop iterations that change
//!   nothing) keep the search finite where they can.
//!
//! There is no machine here: no buffers, no steps and no time.
//!
//! Deviations from the paper:
//! - The [`MemoryModel`] decides which part of program order the memory order keeps. TSO is the
//!   paper's, and SC and PSO are models of the same kind.
//! - A locked instruction is one node of the order (`mo_atomicity`). It reads one cell and may then
//!   write it.

mod coherence;
mod cycles;
mod found;
mod graph;
mod growth;
mod order;
mod reach;
mod search;
mod spins;

use std::ops::ControlFlow;

use fencepost_memory::MemoryModel;
use rustc_hash::FxHashSet;
use thiserror::Error;

pub use found::Found;

use crate::execution::Execution;
use crate::test::Test;
use crate::thread::Fault;
use growth::Growth;
use spins::Purpose;

/// How far to go.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The most events of a thread. Only loops that change something come to it.
    pub events_per_thread: usize,
    /// The most executions to look at.
    pub executions: u64,
    /// Asked now and then: whether to stop.
    pub should_stop: &'a dyn Fn() -> bool,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Limits {
            events_per_thread: 128,
            executions: u64::MAX,
            should_stop: &|| false,
        }
    }
}

/// Why a search is not complete.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cut {
    /// A thread came to [`Limits::events_per_thread`].
    Events,
    /// There were [`Limits::executions`].
    Executions,
    /// [`Limits::should_stop`] returned true.
    Stopped,
}

/// A test that the engine does not support.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A locked instruction that is not one read of a cell and then at most one write of it.
    #[error(
        "P{thread} `{instruction}`: a locked instruction that does not read one location and \
         then write it"
    )]
    UnsupportedLocked {
        /// The thread's number in the source.
        thread: u32,
        /// The instruction as it was written.
        instruction: String,
    },
}

/// The statistics of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// The number of executions: with distinct reads-from maps for [`explore`], and with
    /// distinct orders of the writes to each cell too for [`visit_executions`].
    pub executions: u64,
    /// Why the search is not complete; `None` if it is.
    pub cut: Option<Cut>,
    /// The faults of threads. Executions with a fault have no final state.
    pub faults: Vec<Fault>,
}

/// The final states of a test.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exploration {
    /// The final states, sorted: each the contents of [`Test::observables`], cut to their widths.
    pub states: Vec<Vec<u64>>,
    /// The statistics of the search.
    pub summary: Summary,
}

/// All final states of `test` under `model`.
pub fn explore(
    test: &Test,
    model: &MemoryModel,
    limits: &Limits<'_>,
) -> Result<Exploration, Error> {
    let mut states = Vec::new();
    let summary = explore_with(test, model, limits, |found| states.push(found.observed()))?;
    states.sort_unstable();
    Ok(Exploration { states, summary })
}

/// All final states of `test` under `model`, with one execution for each when it is first found.
pub fn explore_with(
    test: &Test,
    model: &MemoryModel,
    limits: &Limits<'_>,
    mut on_new_state: impl FnMut(&Found<'_>),
) -> Result<Summary, Error> {
    let growth = Growth::new(test, model, limits, Purpose::FinalStates);
    let mut known = FxHashSet::default();
    search::search(&growth, |graph, executions| {
        *executions += 1;
        search::for_new_states(&growth, graph, &mut known, &mut on_new_state);
        ControlFlow::Continue(())
    })
}

/// Hands out every valid execution of `test` under `model`, that is every reads-from map with every
/// order of the writes to each cell, once, until the visitor breaks.
///
/// Executions with loop iterations that change nothing are left out.
pub fn visit_executions(
    test: &Test,
    model: &MemoryModel,
    limits: &Limits<'_>,
    mut visitor: impl FnMut(&Found<'_>) -> ControlFlow<()>,
) -> Result<Summary, Error> {
    let growth = Growth::new(test, model, limits, Purpose::FinalStates);
    search::search(&growth, |graph, executions| {
        search::for_all_completions(&growth, graph, executions, &mut visitor)
    })
}

/// An execution of `test` under `model` whose happens-before has a cycle, if there is one. If there
/// is none, and the search was not cut, the test is store-buffer safe.
///
/// Happens-before is program order and conflict order, as [`Found::is_cyclic`] has it. That is a
/// question about traces, not about final states: a cycle need not show in any register, and
/// threads need not end. An execution in which a thread waits for ever is given as far as it was
/// grown; the judge does not take it.
pub fn find_cyclic_trace(
    test: &Test,
    model: &MemoryModel,
    limits: &Limits<'_>,
) -> Result<(Option<Execution>, Summary), Error> {
    let growth = Growth::new(test, model, limits, Purpose::Cycles);
    let mut witness = None;
    let summary = search::search(&growth, |graph, executions| {
        *executions += 1;
        let Some(order) = cycles::cyclic_completion(graph, test.cells.len()) else {
            return ControlFlow::Continue(());
        };
        let found = Found {
            growth: &growth,
            graph,
            order: &order,
        };
        witness = Some(found.execution());
        ControlFlow::Break(None)
    })?;
    Ok((witness, summary))
}
