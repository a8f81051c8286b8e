//! The results of one or more workers, and how they are merged.

use std::time::Duration;

use fencepost_memory::LocationId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::execution::findings::Findings;
use crate::execution::run::Run;
use crate::program::Program;

/// The results of one or more workers.
#[derive(Clone)]
pub(crate) struct SearchResults<E, R> {
    pub(crate) findings: Findings<E>,
    /// The restart that the program asked for.
    pub(crate) restart: Option<R>,
    pub(crate) executions: u64,
    pub(crate) abandoned: u64,
    pub(crate) steps: u64,
    /// Whether the spin bound kept an execution from being run.
    pub(crate) hit_spin_bound: bool,
    /// The source locations of spin loops in which threads were blocked.
    pub(crate) waits: FxHashSet<Option<LocationId>>,
    /// The largest number of rounds of each spin loop in which nothing had changed. Not saved in
    /// checkpoints.
    pub(crate) rounds: FxHashMap<Option<LocationId>, u32>,
    /// Whether the search restarted at the root, so that earlier executions do not count.
    pub(crate) has_restarted: bool,
    /// The time before the checkpoint that was resumed.
    pub(crate) previous_time: Duration,
}

impl<E: Clone + PartialEq, R: Clone> SearchResults<E, R> {
    /// Results without any execution.
    pub(crate) fn empty(findings: Findings<E>) -> Self {
        SearchResults {
            findings,
            restart: None,
            executions: 0,
            abandoned: 0,
            steps: 0,
            hit_spin_bound: false,
            waits: FxHashSet::default(),
            rounds: FxHashMap::default(),
            has_restarted: false,
            previous_time: Duration::ZERO,
        }
    }

    /// Takes the results out of a worker's run that has finished.
    pub(crate) fn take<P: Program<Error = E, Restart = R>>(
        run: &mut Run<P>,
        executions: u64,
        abandoned: u64,
        hit_spin_bound: bool,
    ) -> Self {
        let findings = run.findings.take();
        SearchResults {
            findings,
            ..Self::snapshot(run, executions, abandoned, hit_spin_bound)
        }
    }

    /// Copies the results so far of a worker's run.
    pub(crate) fn snapshot<P: Program<Error = E, Restart = R>>(
        run: &Run<P>,
        executions: u64,
        abandoned: u64,
        hit_spin_bound: bool,
    ) -> Self {
        SearchResults {
            executions,
            abandoned,
            steps: run.steps,
            hit_spin_bound: hit_spin_bound || run.hit_spin_bound,
            waits: run.waits.clone(),
            rounds: run.rounds.clone(),
            findings: run.findings.clone(),
            restart: run.restart.clone(),
            has_restarted: false,
            previous_time: Duration::ZERO,
        }
    }

    /// Adds the steps of another search of the same program.
    pub(crate) fn with_steps(mut self, steps: u64) -> Self {
        self.steps += steps;
        self
    }

    /// Adds the results of a later search, or of another worker.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        if other.has_restarted {
            self.findings.recount();
            self.abandoned += std::mem::take(&mut self.executions);
            self.hit_spin_bound = false;
        }
        self.findings.merge(other.findings);
        self.restart = self.restart.or(other.restart);
        self.executions += other.executions;
        self.abandoned += other.abandoned;
        self.steps += other.steps;
        self.hit_spin_bound |= other.hit_spin_bound;
        self.waits.extend(other.waits);
        for (location, rounds) in other.rounds {
            let most = self.rounds.entry(location).or_default();
            *most = rounds.max(*most);
        }
        self.previous_time += other.previous_time;
        self
    }
}
