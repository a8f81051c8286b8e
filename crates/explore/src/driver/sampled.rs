//! Random, PCT and replayed executions, by one or more workers.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::Exploration;
use crate::driver::budget::{ProgressCallback, WorkerBudget, WorkerProgress};
use crate::driver::checkpoint::CheckpointCoordinator;
use crate::driver::report::Limit;
use crate::driver::results::SearchResults;
use crate::driver::workers::{Searched, SpawnOthers, run_workers};
use crate::execution::run::Run;
use crate::program::Program;
use crate::sampling::{Chooser, Replay, Sampled};
use crate::schedule::Schedule;

/// Runs the executions from the number `next` up to `executions`. Workers draw the numbers, and the
/// number alone decides what `new_chooser`'s chooser does in an execution.
pub(super) fn explore_sampled<P, C>(
    exploration: &Exploration<'_, '_, P>,
    new_chooser: impl Fn() -> C + Sync,
    next: &AtomicU64,
    executions: u64,
    on_progress: ProgressCallback<'_>,
) -> Searched<P>
where
    P: Program<Error: Send, Restart: Send>,
    C: Chooser,
{
    let coordinator = exploration.coordinator;
    let search =
        |_: usize, worker_budget: &mut WorkerBudget<'_, '_>, spawn_others: SpawnOthers<'_>| {
            spawn_others();
            let search = Sampled::new(exploration.new_run(false), new_chooser());
            sample(search, next, executions, coordinator, worker_budget)
        };
    let deregister_worker = || {
        if let Some(coordinator) = coordinator {
            coordinator.barrier().deregister_worker();
        }
    };
    let workers = exploration.settings.workers;
    run_workers(
        workers,
        &deregister_worker,
        exploration.budget,
        on_progress,
        &search,
    )
}

/// Runs the execution with this schedule.
pub(super) fn explore_replay<P: Program>(
    exploration: &Exploration<'_, '_, P>,
    schedule: Schedule,
    next: &AtomicU64,
    on_progress: ProgressCallback<'_>,
) -> Searched<P> {
    let mut worker_budget = WorkerBudget::new(exploration.budget, Some(on_progress));
    let search = Sampled::new(exploration.new_run(false), Replay { schedule });
    let coordinator = exploration.coordinator;
    sample(search, next, 1, coordinator, &mut worker_budget)
}

fn sample<P: Program, C: Chooser>(
    mut search: Sampled<P, C>,
    next: &AtomicU64,
    executions: u64,
    coordinator: Option<&CheckpointCoordinator<'_, '_, P::Error, P::Restart>>,
    worker_budget: &mut WorkerBudget<'_, '_>,
) -> Searched<P> {
    let _membership = coordinator.map(|coordinator| coordinator.barrier().membership());
    loop {
        if let Some(coordinator) = coordinator {
            if worker_budget.take_checkpoint_due() {
                coordinator.barrier().request();
            }
            if coordinator.barrier().is_requested() {
                let (run, hit_spin_bound) = (&search.run, search.hit_spin_bound);
                let results = SearchResults::snapshot(run, search.executions, 0, hit_spin_bound);
                // When the last worker arrives, all executions below the next number have been run.
                coordinator.save_samples(results, || next.load(Ordering::Relaxed));
            }
        }
        let progress = |_| WorkerProgress {
            executions: search.executions,
            steps: search.run.steps,
            ..WorkerProgress::default()
        };
        if next.load(Ordering::Relaxed) >= executions || !worker_budget.allows_another(progress) {
            break;
        }
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= executions {
            break;
        }
        if !search.run_execution(number) {
            worker_budget.budget.stop(Limit::FirstFailure);
            break;
        }
    }
    let (executions, hit_spin_bound) = (search.executions, search.hit_spin_bound);
    let results = SearchResults::take(&mut search.run, executions, 0, hit_spin_bound);
    (results, search.run)
}

/// The number of steps of the execution in which threads run in order. PCT needs an estimate of the
/// length.
pub(super) fn execution_length<P: Program>(run: Run<P>) -> usize {
    let schedule = Schedule::default();
    let mut search = Sampled::new(run, Replay { schedule });
    search.run_execution(0);
    search.run.log.len().max(1)
}
