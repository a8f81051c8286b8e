//! Exhaustive exploration by one or more workers ([`Strategy::Exhaustive`](crate::Strategy)).

use std::sync::Arc;

use crate::dpor::optimal::Optimal;
use crate::driver::Exploration;
use crate::driver::budget::{ProgressCallback, SearchedShare, WorkerBudget, WorkerProgress};
use crate::driver::checkpoint::{CheckpointCoordinator, SavedTree};
use crate::driver::report::Limit;
use crate::driver::workers::{ResultsOf, Searched, SpawnOthers, run_workers};
use crate::parallel::pool::{MAX_INTERIOR_NODES, Pool};
use crate::program::Program;

/// The number of steps between two checks for idle workers. Those get some work at once, not each
/// execution one by one.
const STEPS_PER_OFFER: u64 = 256;

/// The first worker spawns the others after this many steps. A shorter search ends before they have
/// started.
const STEPS_BEFORE_SPAWNING: u64 = 4096;

/// [`MAX_INTERIOR_NODES`] in tests that share work always, so that the limit is reached.
const TEST_INTERIOR_NODES: usize = 64;

/// Explores one execution per equivalence class, from the root or from a checkpoint.
pub(super) fn explore_exhaustive<P: Program<Error: Send, Restart: Send>>(
    exploration: &Exploration<'_, '_, P>,
    previous: &ResultsOf<P>,
    tree: Option<&SavedTree>,
    on_progress: ProgressCallback<'_>,
) -> Searched<P> {
    let (settings, budget) = (exploration.settings, exploration.budget);
    let previous_runs = previous.executions + previous.abandoned;
    let explore = |pool: &Arc<Pool>, workers: usize, on_progress: ProgressCallback<'_>| {
        let search = |worker: usize,
                      worker_budget: &mut WorkerBudget<'_, '_>,
                      spawn_others: SpawnOthers<'_>| {
            let mut search = Optimal::new(exploration.new_run(true), Arc::clone(pool));
            // The first worker begins at the root, the others with what it shares.
            let has_work = match tree {
                Some(tree) => search.resume(tree, previous_runs),
                None => worker == 0,
            };
            let coordinator = exploration.coordinator;
            explore_subtrees(
                search,
                has_work,
                pool,
                coordinator,
                worker_budget,
                spawn_others,
            )
        };
        let deregister_worker = || pool.deregister_worker();
        run_workers(workers, &deregister_worker, budget, on_progress, &search)
    };
    let pool = Arc::new(Pool::new(match settings.always_share_work {
        true => TEST_INTERIOR_NODES,
        false => MAX_INTERIOR_NODES,
    }));
    let searched = explore(&pool, settings.workers.max(1), &mut *on_progress);
    if !pool.needs_restart() || budget.is_stopped() {
        return searched;
    }
    budget.restart(previous);
    let pool = Arc::new(Pool::new(MAX_INTERIOR_NODES));
    pool.force_single_worker();
    explore(&pool, 1, on_progress)
}

/// Explores this worker's subtree, then subtrees that others share, until none is left.
fn explore_subtrees<P: Program>(
    mut search: Optimal<P>,
    mut has_work: bool,
    pool: &Pool,
    coordinator: Option<&CheckpointCoordinator<'_, '_, P::Error, P::Restart>>,
    worker_budget: &mut WorkerBudget<'_, '_>,
    spawn_others: SpawnOthers<'_>,
) -> Searched<P> {
    let _guard = pool.stop_on_panic();
    let settings = worker_budget.budget.settings;
    // Only the first worker begins with work, and it spawns the others.
    let mut has_spawned = !has_work || settings.workers <= 1;
    let waits_to_spawn = !has_spawned && !settings.always_share_work;
    let mut next_offer = if waits_to_spawn {
        STEPS_BEFORE_SPAWNING
    } else {
        0
    };
    loop {
        if !has_work {
            has_work = search.take_work();
            if !has_work {
                break;
            }
        }
        if let Some(coordinator) = coordinator {
            if worker_budget.take_checkpoint_due() {
                coordinator.save_tree(search.results(), search.remaining(has_work));
            }
        }
        if !worker_budget.allows_another(|needs_share| progress_of(&search, needs_share)) {
            pool.stop();
            break;
        }
        has_work = !search.run.findings.should_stop && search.next_execution();
        if search.run.findings.should_stop {
            worker_budget.budget.stop(Limit::FirstFailure);
            pool.stop();
            break;
        }
        if pool.needs_restart() {
            pool.stop();
            break;
        }
        if search.run.steps < next_offer || pool.is_single_worker() {
            continue;
        }
        if !std::mem::replace(&mut has_spawned, true) {
            pool.register_workers(settings.workers - 1);
            spawn_others();
        }
        let needs_work = pool.has_idle_workers() && !pool.notify_idle_worker() && !pool.is_full();
        if has_work && (needs_work || settings.always_share_work) {
            search.share();
            has_work = search.has_own_work();
            pool.notify_idle_worker();
        }
        next_offer = match settings.always_share_work {
            true => 0,
            false => search.run.steps + STEPS_PER_OFFER,
        };
    }
    if let Some(coordinator) = coordinator {
        coordinator.set_remaining(search.remaining(has_work));
    }
    search.into_results()
}

fn progress_of<P: Program>(search: &Optimal<P>, needs_share: bool) -> WorkerProgress {
    WorkerProgress {
        executions: search.executions,
        abandoned: search.abandoned,
        steps: search.run.steps,
        share: needs_share.then(|| SearchedShare {
            fraction: search.explored_share(),
            is_stable: search.is_share_stable(),
        }),
        bound: None,
    }
}
