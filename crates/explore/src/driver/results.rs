//! What workers have done and found.

use std::time::Duration;

use fencepost_memory::LocationId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::execution::findings::Findings;
use crate::execution::run::Run;
use crate::program::Program;

/// What one or more workers have done and found.
#[derive(Clone)]
pub(crate) struct SearchResults<E, R> {
    pub(crate) findings: Findings<E>,
    /// The restart that the program asked for.
    pub(crate) restart: Option<R>,
    pub(crate) executions: u64,
    pub(crate) abandoned: u64,
    pub(crate) steps: u64,
    pub(crate) was_cut: bool,
    pub(crate) waits: FxHashSet<Option<LocationId>>,
    /// How often threads went round loops in which nothing had changed, at most. Samples without checkpoints have it.
    pub(crate) rounds: FxHashMap<Option<LocationId>, u32>,
    /// Whether it began at the root again, so that what was done before was in vain.
    pub(crate) is_anew: bool,
    /// The time that it took before this exploration went on from a checkpoint.
    pub(crate) earlier: Duration,
}

impl<E: Clone + PartialEq, R: Clone> SearchResults<E, R> {
    /// Nothing yet.
    pub(crate) fn nothing(findings: Findings<E>) -> Self {
        SearchResults {
            findings,
            restart: None,
            executions: 0,
            abandoned: 0,
            steps: 0,
            was_cut: false,
            waits: FxHashSet::default(),
            rounds: FxHashMap::default(),
            is_anew: false,
            earlier: Duration::ZERO,
        }
    }

    /// What a worker has done, which is through.
    pub(crate) fn taken_from<P: Program<Error = E, Restart = R>>(
        run: &mut Run<P>,
        executions: u64,
        abandoned: u64,
        was_cut: bool,
    ) -> Self {
        let findings = run.findings.take();
        SearchResults {
            findings,
            ..Self::of(run, executions, abandoned, was_cut)
        }
    }

    /// What a worker has done so far.
    pub(crate) fn of<P: Program<Error = E, Restart = R>>(
        run: &Run<P>,
        executions: u64,
        abandoned: u64,
        was_cut: bool,
    ) -> Self {
        SearchResults {
            executions,
            abandoned,
            steps: run.steps,
            was_cut: was_cut || run.was_bounded,
            waits: run.waits.clone(),
            rounds: run.rounds.clone(),
            findings: run.findings.clone(),
            restart: run.restart.clone(),
            is_anew: false,
            earlier: Duration::ZERO,
        }
    }

    /// With the steps of another search, for the same.
    pub(crate) fn with_steps(mut self, steps: u64) -> Self {
        self.steps += steps;
        self
    }

    /// Adds what was done later, or by another worker.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        if other.is_anew {
            self.findings.recount();
            self.abandoned += std::mem::take(&mut self.executions);
            self.was_cut = false;
        }
        self.findings.merge(other.findings);
        self.restart = self.restart.or(other.restart);
        self.executions += other.executions;
        self.abandoned += other.abandoned;
        self.steps += other.steps;
        self.was_cut |= other.was_cut;
        self.waits.extend(other.waits);
        for (location, rounds) in other.rounds {
            let most = self.rounds.entry(location).or_default();
            *most = rounds.max(*most);
        }
        self.earlier += other.earlier;
        self
    }
}
