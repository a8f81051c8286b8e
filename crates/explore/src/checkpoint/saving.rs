//! Making checkpoints: now and then while the exploration goes on, and when a budget or the caller
//! ends it.
//!
//! If several workers run random executions, they come to a [`Meeting`] between two of them, each with what
//! it has done, and the last to come makes the checkpoint. Nothing of theirs is changed by it.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use super::{Checkpoint, Place, SavedFinding, SavedKind, Totals, Tree, settings_of};
use crate::explore::Saver;
use crate::fault::Fault;
use crate::findings::{Found, Problem};
use crate::fingerprint::Fingerprint;
use crate::gathered::Gathered;
use crate::meeting::Meeting;
use crate::settings::Settings;

/// Makes the checkpoints of an exploration.
pub(crate) struct Keeper<'a, 's, E> {
    settings: &'a Settings,
    program: Fingerprint,
    started: Instant,
    meeting: Meeting<Gathered<E>>,
    inner: Mutex<Inner<'s, E>>,
}

struct Inner<'s, E> {
    saver: Saver<'s>,
    /// What was done before this exploration went on.
    before: Gathered<E>,
    /// What is left of the tree in the end.
    left: Option<Tree>,
}

impl<'a, 's, E: Clone + PartialEq> Keeper<'a, 's, E> {
    pub(crate) fn new(
        settings: &'a Settings,
        program: Fingerprint,
        saver: Saver<'s>,
        before: Gathered<E>,
    ) -> Self {
        Keeper {
            settings,
            program,
            started: Instant::now(),
            meeting: Meeting::new(settings.workers.max(1)),
            inner: Mutex::new(Inner {
                saver,
                before,
                left: None,
            }),
        }
    }

    pub(crate) fn meeting(&self) -> &Meeting<Gathered<E>> {
        &self.meeting
    }

    /// Makes a checkpoint of an exhaustive search.
    #[cold]
    pub(crate) fn save_tree(&self, gathered: Gathered<E>, tree: Tree) {
        self.save(vec![gathered], Place::Tree(tree));
    }

    /// Comes to the meeting, and makes a checkpoint if this worker is the last to come. `next` says which
    /// random execution is next then.
    #[cold]
    pub(crate) fn attend(&self, gathered: Gathered<E>, next: impl FnOnce() -> u64) {
        self.meeting.attend(gathered, |brought| {
            self.save(brought, Place::Sample(next()));
        });
    }

    /// An exhaustive search ends here.
    pub(crate) fn leave(&self, tree: Tree) {
        self.lock().left = Some(tree);
    }

    /// Makes the last checkpoint, of what all workers have done together: an exhaustive search is where it
    /// was left, and `next` is the next random execution.
    pub(crate) fn save_last(&self, gathered: Gathered<E>, next: u64) {
        let left = self.lock().left.take();
        self.save(
            vec![gathered],
            left.map_or(Place::Sample(next), Place::Tree),
        );
    }

    fn lock(&self) -> MutexGuard<'_, Inner<'s, E>> {
        self.inner.lock().expect("no worker panics here")
    }

    fn save(&self, gathered: Vec<Gathered<E>>, place: Place) {
        let mut inner = self.lock();
        let all = gathered
            .into_iter()
            .fold(inner.before.clone(), Gathered::merge);
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

    fn totals(&self, all: &Gathered<E>) -> Totals {
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

fn saved<E>(found: &Found<E>) -> SavedFinding {
    let kind = match &found.problem {
        Problem::StoreBuffer(violation) => {
            SavedKind::StoreBuffer(violation.distinct_key().map(|id| id.to_bits()))
        }
        // Which thread goes beyond the limit is not in the schedule.
        Problem::Fault(Fault::StepLimit { last, .. }) => SavedKind::Fault(Some(last.thread)),
        Problem::Fault(_) => SavedKind::Fault(None),
    };
    SavedFinding {
        execution: found.execution,
        kind,
        schedule: found.schedule.clone(),
    }
}
