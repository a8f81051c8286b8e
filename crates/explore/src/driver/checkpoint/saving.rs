//! Making checkpoints: now and then while the exploration goes on, and when a budget or the caller
//! ends it.
//!
//! If several workers run random executions, they come to a [`CheckpointBarrier`] between two of them, each with what
//! it has done, and the last to come makes the checkpoint. Nothing of theirs is changed by it.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use super::{Checkpoint, Place, SavedFinding, SavedKind, Totals, Tree, settings_of};
use crate::driver::CheckpointWriter;
use crate::driver::results::SearchResults;
use crate::driver::settings::Settings;
use crate::execution::fault::Fault;
use crate::execution::findings::{Counterexample, Failure};
use crate::execution::fingerprint::Fingerprint;
use crate::parallel::barrier::CheckpointBarrier;

/// Makes the checkpoints of an exploration.
pub(crate) struct Keeper<'a, 's, E, R> {
    settings: &'a Settings,
    program: Fingerprint,
    started: Instant,
    barrier: CheckpointBarrier<SearchResults<E, R>>,
    inner: Mutex<Inner<'s, E, R>>,
}

struct Inner<'s, E, R> {
    saver: CheckpointWriter<'s>,
    /// What was done before this exploration went on.
    before: SearchResults<E, R>,
    /// What is left of the tree in the end.
    left: Option<Tree>,
}

impl<'a, 's, E: Clone + PartialEq, R: Clone> Keeper<'a, 's, E, R> {
    pub(crate) fn new(
        settings: &'a Settings,
        program: Fingerprint,
        saver: CheckpointWriter<'s>,
        before: SearchResults<E, R>,
    ) -> Self {
        Keeper {
            settings,
            program,
            started: Instant::now(),
            barrier: CheckpointBarrier::new(settings.workers.max(1)),
            inner: Mutex::new(Inner {
                saver,
                before,
                left: None,
            }),
        }
    }

    pub(crate) fn barrier(&self) -> &CheckpointBarrier<SearchResults<E, R>> {
        &self.barrier
    }

    /// Makes a checkpoint of an exhaustive search.
    #[cold]
    pub(crate) fn save_tree(&self, results: SearchResults<E, R>, tree: Tree) {
        self.save(vec![results], Place::Tree(tree));
    }

    /// Comes to the barrier, and makes a checkpoint if this worker is the last to come. `next` says which
    /// random execution is next then.
    #[cold]
    pub(crate) fn attend(&self, results: SearchResults<E, R>, next: impl FnOnce() -> u64) {
        self.barrier.attend(results, |brought| {
            self.save(brought, Place::Sample(next()));
        });
    }

    /// An exhaustive search ends here.
    pub(crate) fn leave(&self, tree: Tree) {
        self.lock().left = Some(tree);
    }

    /// Makes the last checkpoint, of what all workers have done together: an exhaustive search is where it
    /// was left, and `next` is the next random execution.
    pub(crate) fn save_last(&self, results: SearchResults<E, R>, next: u64) {
        let left = self.lock().left.take();
        self.save(vec![results], left.map_or(Place::Sample(next), Place::Tree));
    }

    fn lock(&self) -> MutexGuard<'_, Inner<'s, E, R>> {
        self.inner.lock().expect("no worker panics here")
    }

    fn save(&self, results: Vec<SearchResults<E, R>>, place: Place) {
        let mut inner = self.lock();
        let all = results
            .into_iter()
            .fold(inner.before.clone(), SearchResults::merge);
        let totals = self.totals(&all);
        (inner.saver.save)(Checkpoint {
            front_end: String::new(),
            settings: settings_of(self.settings),
            program: self.program,
            totals,
            findings: all.findings.kept.iter().map(saved).collect(),
            place,
        });
    }

    fn totals(&self, all: &SearchResults<E, R>) -> Totals {
        let mut waits: Vec<_> = all.waits.iter().copied().collect();
        waits.sort();
        Totals {
            executions: all.executions,
            abandoned: all.abandoned,
            steps: all.steps,
            faults: all.findings.faults,
            borderline: all.findings.borderline,
            violations: all.findings.violations,
            was_cut: all.was_cut,
            elapsed: all.earlier + self.started.elapsed(),
            waits,
            tally: all.findings.tally.entries(),
        }
    }
}

fn saved<E>(found: &Counterexample<E>) -> SavedFinding {
    let kind = match &found.failure {
        Failure::StoreBuffer(violation) => {
            SavedKind::StoreBuffer(violation.distinct_key().map(|id| id.to_bits()))
        }
        // Which thread goes beyond the limit is not in the schedule.
        Failure::Fault(Fault::StepLimit { last, .. }) => SavedKind::Fault(Some(last.thread)),
        Failure::Fault(_) => SavedKind::Fault(None),
    };
    SavedFinding {
        execution: found.execution,
        kind,
        schedule: found.schedule.clone(),
    }
}
