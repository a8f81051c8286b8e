//! Making checkpoints: at intervals, and when a budget or the progress callback ends the
//! exploration.
//!
//! Workers that sample come to a [`CheckpointBarrier`] between two executions, each with its
//! results, and the last to arrive makes the checkpoint. An exhaustive search has one worker.
//! Making a checkpoint changes nothing in a search.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use super::{
    Checkpoint, Counts, Remaining, SavedFailure, SavedFinding, SavedTree, Totals, settings_of,
};
use crate::driver::CheckpointWriter;
use crate::driver::results::SearchResults;
use crate::driver::settings::Settings;
use crate::execution::fault::Fault;
use crate::execution::findings::{Counterexample, Failure};
use crate::execution::fingerprint::Fingerprint;
use crate::parallel::barrier::CheckpointBarrier;

/// Makes the checkpoints of an exploration.
pub(crate) struct CheckpointCoordinator<'a, 's, E, R> {
    settings: &'a Settings,
    program: Fingerprint,
    started: Instant,
    barrier: CheckpointBarrier<SearchResults<E, R>>,
    state: Mutex<State<'s, E, R>>,
}

struct State<'s, E, R> {
    writer: CheckpointWriter<'s>,
    /// The results before the checkpoint that was resumed.
    previous: SearchResults<E, R>,
    /// What an exhaustive search that has stopped leaves unexplored.
    remaining: Option<SavedTree>,
}

impl<'a, 's, E: Clone + PartialEq, R: Clone> CheckpointCoordinator<'a, 's, E, R> {
    pub(crate) fn new(
        settings: &'a Settings,
        program: Fingerprint,
        writer: CheckpointWriter<'s>,
        previous: SearchResults<E, R>,
    ) -> Self {
        CheckpointCoordinator {
            settings,
            program,
            started: Instant::now(),
            barrier: CheckpointBarrier::new(settings.workers.max(1)),
            state: Mutex::new(State {
                writer,
                previous,
                remaining: None,
            }),
        }
    }

    pub(crate) fn barrier(&self) -> &CheckpointBarrier<SearchResults<E, R>> {
        &self.barrier
    }

    /// Saves a checkpoint of an exhaustive search.
    #[cold]
    pub(crate) fn save_tree(&self, results: SearchResults<E, R>, tree: SavedTree) {
        self.save(vec![results], Remaining::Tree(tree));
    }

    /// Waits at the barrier. The last worker to arrive saves a checkpoint in which `next` is the
    /// number of the next execution.
    #[cold]
    pub(crate) fn save_samples(&self, results: SearchResults<E, R>, next: impl FnOnce() -> u64) {
        self.barrier.wait(results, |results| {
            self.save(results, Remaining::Samples { next: next() });
        });
    }

    /// Notes what an exhaustive search leaves unexplored when it stops.
    pub(crate) fn set_remaining(&self, tree: SavedTree) {
        self.lock().remaining = Some(tree);
    }

    /// Saves the last checkpoint, after all workers have stopped. `next` is the number of the next
    /// execution of a sample.
    pub(crate) fn save_final(&self, results: SearchResults<E, R>, next: u64) {
        let remaining = self.lock().remaining.take();
        let samples = Remaining::Samples { next };
        self.save(vec![results], remaining.map_or(samples, Remaining::Tree));
    }

    fn lock(&self) -> MutexGuard<'_, State<'s, E, R>> {
        self.state.lock().expect("no worker panics here")
    }

    fn save(&self, results: Vec<SearchResults<E, R>>, remaining: Remaining) {
        let mut state = self.lock();
        let all = results
            .into_iter()
            .fold(state.previous.clone(), SearchResults::merge);
        let totals = self.totals(&all);
        (state.writer.save)(Checkpoint {
            settings: settings_of(self.settings),
            program: self.program,
            totals,
            findings: all.findings.kept.iter().map(saved).collect(),
            remaining,
        });
    }

    fn totals(&self, all: &SearchResults<E, R>) -> Totals {
        let mut waits: Vec<_> = all.waits.iter().copied().collect();
        waits.sort();
        Totals {
            counts: Counts {
                executions: all.executions,
                abandoned: all.abandoned,
                steps: all.steps,
                faults: all.findings.faults,
                borderline: all.findings.borderline,
                violations: all.findings.violations,
                pruned: all.findings.pruned,
            },
            hit_spin_bound: all.hit_spin_bound,
            elapsed: all.previous_time + self.started.elapsed(),
            waits,
            tally: all.findings.tally.entries(),
        }
    }
}

fn saved<E>(found: &Counterexample<E>) -> SavedFinding {
    let failure = match &found.failure {
        Failure::StoreBuffer(violation) => {
            SavedFailure::StoreBuffer(violation.distinct_key().map(|id| id.to_bits()))
        }
        // The thread that exceeds the limit is not in the schedule.
        Failure::Fault(Fault::StepLimit { last, .. }) => SavedFailure::Fault(Some(last.thread)),
        Failure::Fault(_) => SavedFailure::Fault(None),
    };
    SavedFinding {
        execution: found.execution,
        failure,
        schedule: found.schedule.clone(),
    }
}
