//! Making checkpoints: now and then while the exploration goes on, and when a budget or the caller
//! ends it.
//!
//! Workers come to a [`Meeting`] between two executions, each with what it has done and where it is. Nothing
//! of theirs is changed by it. The last to come makes the checkpoint and hands it to the caller.

use std::sync::Mutex;
use std::time::Instant;

use fencepost_memory::Address;

use super::{Checkpoint, Part, Place, SavedFinding, SavedKind, Totals, Tree, settings_of};
use crate::explore::Saver;
use crate::fault::Fault;
use crate::findings::{Found, Problem};
use crate::fingerprint::Fingerprint;
use crate::gathered::Gathered;
use crate::meeting::Meeting;
use crate::pool::{NodeRef, Pool};
use crate::settings::Settings;

/// Where a worker is.
pub(crate) struct Standpoint {
    pub(crate) worker: usize,
    /// How many executions it has begun.
    pub(crate) begun: u64,
    /// What it is at, if it has something to do.
    pub(crate) part: Option<Part<NodeRef>>,
    pub(crate) partners: Vec<(Address, Address)>,
}

impl Standpoint {
    /// Of a worker that runs one random execution after the other.
    pub(crate) fn of_sample(worker: usize) -> Self {
        Standpoint {
            worker,
            begun: 0,
            part: None,
            partners: Vec::new(),
        }
    }
}

/// Makes the checkpoints of an exploration.
pub(crate) struct Keeper<'a, 's, E> {
    settings: &'a Settings,
    program: Fingerprint,
    started: Instant,
    meeting: Meeting<(Gathered<E>, Standpoint)>,
    inner: Mutex<Inner<'s, E>>,
}

struct Inner<'s, E> {
    saver: Saver<'s>,
    /// What was done before this exploration went on.
    before: Gathered<E>,
    /// Where workers were in the end.
    left: Vec<Standpoint>,
}

/// Where the search as a whole is.
pub(crate) enum Search<'a> {
    Tree(&'a Pool),
    Sample(u64),
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
                left: Vec::new(),
            }),
        }
    }

    pub(crate) fn meeting(&self) -> &Meeting<(Gathered<E>, Standpoint)> {
        &self.meeting
    }

    /// Comes to the meeting, and makes a checkpoint if this worker is the last to come.
    #[cold]
    pub(crate) fn attend<'b>(
        &self,
        gathered: Gathered<E>,
        standpoint: Standpoint,
        search: impl FnOnce() -> Search<'b>,
    ) {
        self.meeting.attend((gathered, standpoint), |brought| {
            let mut brought = brought;
            brought.sort_by_key(|(_, standpoint)| standpoint.worker);
            let (gathered, standpoints): (Vec<_>, Vec<_>) = brought.into_iter().unzip();
            self.save(gathered, standpoints, &search());
        });
    }

    /// A worker ends here.
    pub(crate) fn leave(&self, standpoint: Standpoint) {
        let mut inner = self.inner.lock().expect("no worker panics here");
        inner.left.push(standpoint);
    }

    /// Makes the last checkpoint, of what all workers have done together.
    pub(crate) fn save_last(&self, gathered: Gathered<E>, search: &Search<'_>) {
        let mut left = std::mem::take(&mut self.inner.lock().expect("no worker panics").left);
        left.sort_by_key(|standpoint| standpoint.worker);
        self.save(vec![gathered], left, search);
    }

    fn save(&self, gathered: Vec<Gathered<E>>, standpoints: Vec<Standpoint>, search: &Search<'_>) {
        let mut inner = self.inner.lock().expect("no worker panics here");
        let all = gathered
            .into_iter()
            .fold(inner.before.clone(), Gathered::merge);
        let place = match search {
            Search::Tree(pool) => Place::Tree(tree(pool, standpoints)),
            Search::Sample(next) => Place::Sample(*next),
        };
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
        Problem::StoreBuffer(shown) => {
            SavedKind::StoreBuffer(shown.violation.distinct_key().map(|id| id.to_bits()))
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

fn tree(pool: &Pool, standpoints: Vec<Standpoint>) -> Tree {
    let mut tree = Tree::default();
    let mut parts = Vec::new();
    for standpoint in standpoints {
        tree.begun.push(standpoint.begun);
        for pair in standpoint.partners {
            if !tree.partners.contains(&pair) {
                tree.partners.push(pair);
            }
        }
        parts.extend(standpoint.part);
    }
    pool.save(parts, &mut tree);
    tree
}
