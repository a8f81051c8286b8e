//! Exploration with growing preemption bounds ([`Strategy::Bounded`] and
//! [`Strategy::BoundedOrExhaustive`]).

use std::sync::Arc;

use crate::bounded::Bounded;
use crate::dpor::optimal::Optimal;
use crate::driver::Exploration;
use crate::driver::budget::{ProgressCallback, WorkerBudget, WorkerProgress};
use crate::driver::report::Limit;
use crate::driver::results::SearchResults;
use crate::driver::settings::Strategy;
use crate::driver::workers::{ResultsOf, Searched};
use crate::execution::run::Run;
use crate::parallel::pool::{MAX_INTERIOR_NODES, Pool};
use crate::program::Program;

/// For each execution that the bounded search abandons, the exhaustive one runs this many.
const EXHAUSTIVE_PER_ABANDONED: u64 = 6;

/// Explores with growing bounds, on one thread. Also returns the bound that excluded an execution,
/// if one did.
pub(super) fn explore_bounded<P: Program>(
    exploration: &Exploration<'_, '_, P>,
    preemptions: u32,
    on_progress: ProgressCallback<'_>,
) -> (Searched<P>, Option<u32>) {
    let settings = exploration.settings;
    let bounded = Bounded::new(exploration.new_run(false), 0, settings.memory);
    let has_companion = matches!(settings.strategy, Strategy::BoundedOrExhaustive { .. });
    let exhaustive = has_companion.then(|| {
        let pool = Arc::new(Pool::new(MAX_INTERIOR_NODES));
        Optimal::new(exploration.new_run(true), pool)
    });
    let mut worker_budget = WorkerBudget::new(exploration.budget, Some(on_progress));
    let (results, bound, run) = take_turns(bounded, exhaustive, preemptions, &mut worker_budget);
    ((results, run), bound)
}

/// Runs the bounded search, and in turns with it the exhaustive one if there is one, until one of
/// them has finished.
///
/// Within a bound there is no partial-order reduction, and with many threads most executions are
/// abandoned as redundant. The more of them are, the more executions the exhaustive search gets to
/// run. The counts of the search that finishes first are the result: the other has counted some of
/// the same executions again.
fn take_turns<P: Program>(
    mut bounded: Bounded<P>,
    mut exhaustive: Option<Optimal<P>>,
    preemptions: u32,
    worker_budget: &mut WorkerBudget<'_, '_>,
) -> (ResultsOf<P>, Option<u32>, Run<P>) {
    while worker_budget.allows_another(|_| progress_of(&bounded, exhaustive.as_ref())) {
        let owed = bounded.total_abandoned * EXHAUSTIVE_PER_ABANDONED;
        if let Some(exhaustive) = &mut exhaustive {
            if exhaustive.executions + exhaustive.abandoned < owed {
                bounded.run.findings.swap_kept(&mut exhaustive.run.findings);
                let has_more = exhaustive.next_execution();
                let should_stop = exhaustive.run.findings.should_stop;
                if !has_more && !should_stop {
                    let results = exhaustive.results().with_steps(bounded.run.steps);
                    return (results, None, bounded.run);
                }
                exhaustive.run.findings.swap_kept(&mut bounded.run.findings);
                if should_stop {
                    break;
                }
                continue;
            }
        }
        let has_more = bounded.next_execution();
        if bounded.run.findings.should_stop {
            break;
        }
        if !has_more {
            let is_finished = !bounded.is_bound_reached || bounded.bound() == preemptions;
            if is_finished {
                let bound = bounded.is_bound_reached.then_some(bounded.bound());
                let steps = exhaustive.map_or(0, |exhaustive| exhaustive.run.steps);
                return (bounded.results().with_steps(steps), bound, bounded.run);
            }
            bounded.raise_bound(bounded.bound() + 1);
        }
    }
    let bound = bounded.is_bound_reached.then_some(bounded.bound());
    let results = bounded.results();
    let results = match &exhaustive {
        // If the exhaustive search has restarted, the counts of the bounded one are still right.
        Some(exhaustive) => results.merge(SearchResults {
            has_restarted: false,
            ..exhaustive.results()
        }),
        None => results,
    };
    if results.findings.should_stop {
        worker_budget.budget.stop(Limit::FirstFailure);
    }
    (results, bound, bounded.run)
}

fn progress_of<P: Program>(
    bounded: &Bounded<P>,
    exhaustive: Option<&Optimal<P>>,
) -> WorkerProgress {
    let (executions, abandoned, steps) = match exhaustive {
        Some(search) => (search.executions, search.abandoned, search.run.steps),
        None => (0, 0, 0),
    };
    WorkerProgress {
        executions: bounded.executions + executions,
        abandoned: bounded.abandoned + abandoned,
        steps: bounded.run.steps + steps,
        share: None,
        bound: Some(bounded.bound()),
    }
}
