//! Running the same search on several threads of the operating system.

use crate::driver::budget::{
    Budget, ProgressCallback, SearchedShare, WorkerBudget, WorkerProgress,
};
use crate::driver::results::SearchResults;
use crate::driver::settings::Strategy;
use crate::execution::run::Run;
use crate::program::Program;

/// The results of a search, and the run of one worker for later replays.
pub(super) type Searched<P> = (ResultsOf<P>, Run<P>);

/// The results of a search of the program `P`.
pub(super) type ResultsOf<P> = SearchResults<<P as Program>::Error, <P as Program>::Restart>;

/// Spawns the other workers. The first worker calls it once, when there is enough work for them.
pub(super) type SpawnOthers<'a> = &'a mut dyn FnMut();

/// Runs `search` on up to `workers` threads, this one included, and merges the results.
///
/// `search` receives the number of the worker, its budget, and how to spawn the others. Where the
/// system has no more threads, `deregister_worker` is called for each that is missing.
pub(super) fn run_workers<P: Program<Error: Send, Restart: Send>>(
    workers: usize,
    deregister_worker: &dyn Fn(),
    budget: &Budget<'_>,
    on_progress: ProgressCallback<'_>,
    search: &(impl Fn(usize, &mut WorkerBudget<'_, '_>, SpawnOthers<'_>) -> Searched<P> + Sync),
) -> Searched<P> {
    std::thread::scope(|scope| {
        let spawn = |worker| {
            let thread = std::thread::Builder::new();
            thread.spawn_scoped(scope, move || {
                search(worker, &mut WorkerBudget::new(budget, None), &mut || ()).0
            })
        };
        let mut others = Vec::new();
        let mut spawn_others = || {
            others.extend((1..workers).map_while(|worker| spawn(worker).ok()));
            for _ in others.len() + 1..workers {
                deregister_worker();
            }
        };
        let mut worker_budget = WorkerBudget::new(budget, Some(on_progress));
        let (own, run) = search(0, &mut worker_budget, &mut spawn_others);
        if !budget.is_stopped() {
            let is_exhaustive = budget.settings.strategy == Strategy::Exhaustive;
            worker_budget.poll(&WorkerProgress {
                executions: own.executions,
                abandoned: own.abandoned,
                steps: own.steps,
                share: is_exhaustive.then_some(SearchedShare {
                    fraction: 1.0,
                    is_stable: true,
                }),
                bound: None,
            });
        }
        let results = others.into_iter().fold(own, |results, other| {
            let other = other.join();
            results.merge(other.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        (results, run)
    })
}
