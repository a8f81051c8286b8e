//! The driver: one call that explores a program under a strategy and returns a report.
//!
//! Read in this order:
//! - `settings`: which executions to run, and the limits;
//! - `report`: the result, and the reasons why it may be incomplete;
//! - this file: [`explore_with_checkpoints`], which chooses the strategy;
//! - `exhaustive`, `bounded`, `sampled`: the loop of each strategy around the search that it
//!   drives;
//! - `budget`: limits, progress, and when a checkpoint is due; `estimate`: the size of the search
//!   tree;
//! - `workers`: running one search on several threads; `results`: merging what they found;
//! - `checkpoint`: saving an exploration and resuming it; `replayer`: running single executions
//!   again.

pub(crate) mod bounded;
pub(crate) mod budget;
pub(crate) mod checkpoint;
pub(crate) mod estimate;
pub(crate) mod exhaustive;
pub(crate) mod replayer;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod sampled;
pub(crate) mod settings;
pub(crate) mod workers;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::driver::bounded::explore_bounded;
use crate::driver::budget::{Budget, ProgressCallback};
use crate::driver::checkpoint::{
    Checkpoint, CheckpointCoordinator, CheckpointError, Resumed, program_changed,
};
use crate::driver::exhaustive::explore_exhaustive;
use crate::driver::replayer::Replayer;
use crate::driver::report::{Limit, Report, ReportOf};
use crate::driver::results::SearchResults;
use crate::driver::sampled::{execution_length, explore_replay, explore_sampled};
use crate::driver::settings::{Settings, Strategy};
use crate::driver::workers::Searched;
use crate::execution::fault::Fault;
use crate::execution::findings::{Counterexample, Failure, Findings};
use crate::execution::run::Run;
use crate::program::Program;
use crate::sampling::{Pct, RandomWalk, StickyRandom};
use fencepost_monitor::MonitoredModel;

/// Where an exploration resumes, and how it is saved.
#[derive(Default)]
pub struct CheckpointOptions<'a> {
    /// The checkpoint to resume from.
    pub resume_from: Option<Checkpoint>,
    /// Saves checkpoints at intervals, and when a budget or the progress callback ends the
    /// exploration.
    pub writer: Option<CheckpointWriter<'a>>,
}

/// Saves the checkpoints of an exploration.
pub struct CheckpointWriter<'a> {
    /// The time between two checkpoints. With zero there is one after each execution.
    pub interval: Duration,
    /// Saves a checkpoint in place of the previous one. No execution runs meanwhile.
    pub save: &'a mut (dyn FnMut(Checkpoint) + Send),
}

/// Explores a program. Each worker has its own instance, which `program` creates; ids must be the
/// same in all of them.
///
/// # Panics
/// If the settings have both a prefix and a monitor.
pub fn explore<P, F>(
    program: F,
    settings: &Settings,
    on_progress: ProgressCallback<'_>,
) -> ReportOf<P>
where
    P: Program,
    P::Error: Send,
    P::Restart: Send,
    F: Fn() -> P + Sync,
{
    match explore_with_checkpoints(program, settings, on_progress, CheckpointOptions::default()) {
        Ok((report, _)) => report,
        Err(error) => unreachable!("there is no checkpoint: {error}"),
    }
}

/// Explores a program, from the start or from a checkpoint, and saves checkpoints. Returns the
/// report, and the program of this thread's worker for replays.
///
/// Budgets apply to what remains. All else in the report is about the whole exploration, as if it
/// had not been interrupted.
///
/// # Errors
/// If the checkpoint does not fit the program, or the strategy has no checkpoints.
///
/// # Panics
/// If the settings have both a prefix and a monitor.
pub fn explore_with_checkpoints<P, F>(
    program: F,
    settings: &Settings,
    on_progress: ProgressCallback<'_>,
    checkpoints: CheckpointOptions<'_>,
) -> Result<(ReportOf<P>, Replayer<P>), CheckpointError>
where
    P: Program,
    P::Error: Send,
    P::Restart: Send,
    F: Fn() -> P + Sync,
{
    explore_made(&program, settings, on_progress, checkpoints)
}

/// As [`explore_with_checkpoints`]. A search is large: it is compiled once for all that make the same type of program.
fn explore_made<P>(
    program: MakeProgram<'_, P>,
    settings: &Settings,
    on_progress: ProgressCallback<'_>,
    checkpoints: CheckpointOptions<'_>,
) -> Result<(ReportOf<P>, Replayer<P>), CheckpointError>
where
    P: Program<Error: Send, Restart: Send>,
{
    // The accesses of the prefix are recorded as one step, in which the monitor could not tell the
    // optimistic loads from others.
    assert!(
        settings.prefix.0.is_empty() || settings.monitored_model == MonitoredModel::None,
        "an exploration with a prefix has no monitor"
    );
    let CheckpointOptions {
        resume_from,
        writer,
    } = checkpoints;
    // A search with several workers may have to restart at the root, which a checkpoint does not
    // have.
    let single_worker;
    let has_checkpoints = resume_from.is_some() || writer.is_some();
    let settings = if has_checkpoints && settings.strategy == Strategy::Exhaustive {
        single_worker = Settings {
            workers: 1,
            always_share_work: false,
            ..settings.clone()
        };
        &single_worker
    } else {
        settings
    };
    let is_resumed = resume_from.is_some();
    let checkpoint_interval = writer.as_ref().map(|writer| writer.interval);
    let mut resumed = Resumed::from_start(settings);
    let mut coordinator = None;
    if has_checkpoints {
        if !checkpoint::are_supported(settings) {
            return Err(CheckpointError::Unsupported);
        }
        let first = checkpoint::first_execution(Run::new(program(), settings, false));
        if let Some(from) = resume_from {
            resumed = checkpoint::resume(from, program, settings, first)?;
        }
        let previous = resumed.previous.clone();
        coordinator =
            writer.map(|writer| CheckpointCoordinator::new(settings, first, writer, previous));
    }
    let budget = Budget::new(settings, &resumed.previous, checkpoint_interval);
    let exploration = Exploration {
        program,
        settings,
        budget: &budget,
        coordinator: coordinator.as_ref(),
    };
    let next = AtomicU64::new(resumed.next_sample);
    let ((results, run), mut limits) = exploration.explore(&resumed, &next, on_progress);
    if is_resumed {
        refuse_divergence(&results)?;
    }
    let limit = budget.take_limit();
    let is_resumable = is_resumable(&results, limit);
    if let Some(coordinator) = coordinator.filter(|_| is_resumable) {
        coordinator.save_final(results.clone(), next.load(Ordering::Relaxed));
    }
    limits.extend(limit);
    let results = resumed.previous.merge(results);
    let report = Report::new(results, limits, settings, budget.elapsed(), is_resumable);
    Ok((report, Replayer::new(run, Findings::new(settings))))
}

/// Whether the exploration stopped because of a budget or the callback, and can be resumed.
fn is_resumable<E, R>(results: &SearchResults<E, R>, limit: Option<Limit>) -> bool {
    !results.findings.should_stop
        && matches!(
            limit,
            Some(Limit::Executions(_) | Limit::Time(_) | Limit::Cancelled)
        )
}

/// Makes the instance of a worker.
pub(crate) type MakeProgram<'a, P> = &'a (dyn Fn() -> P + Sync);

/// What every strategy needs.
pub(crate) struct Exploration<'a, 'w, P: Program> {
    program: MakeProgram<'a, P>,
    settings: &'a Settings,
    budget: &'a Budget<'a>,
    /// Makes checkpoints, if any are to be made.
    coordinator: Option<&'a CheckpointCoordinator<'a, 'w, P::Error, P::Restart>>,
}

impl<P: Program<Error: Send, Restart: Send>> Exploration<'_, '_, P> {
    /// Runs the strategy. Also returns the limits that follow from the strategy itself.
    fn explore(
        &self,
        resumed: &Resumed<P::Error, P::Restart>,
        next: &AtomicU64,
        on_progress: ProgressCallback<'_>,
    ) -> (Searched<P>, Vec<Limit>) {
        let Resumed { previous, tree, .. } = resumed;
        let searched = match &self.settings.strategy {
            Strategy::Exhaustive => {
                let searched = explore_exhaustive(self, previous, tree.as_ref(), on_progress);
                return (searched, Vec::new());
            }
            &(Strategy::Bounded { preemptions }
            | Strategy::BoundedOrExhaustive { preemptions }) => {
                let (searched, bound) = explore_bounded(self, preemptions, on_progress);
                return (searched, Vec::from_iter(bound.map(Limit::Preemptions)));
            }
            &Strategy::Random { seed, executions } => {
                let new_chooser = || RandomWalk::new(seed);
                explore_sampled(self, new_chooser, next, executions, on_progress)
            }
            &Strategy::StickyRandom { seed, executions } => {
                let new_chooser = || StickyRandom::new(seed);
                explore_sampled(self, new_chooser, next, executions, on_progress)
            }
            &Strategy::Pct {
                seed,
                executions,
                depth,
            } => {
                let length = execution_length(self.new_run(false));
                let new_chooser = || Pct::new(seed, depth, length);
                explore_sampled(self, new_chooser, next, executions, on_progress)
            }
            Strategy::Replay(schedule) => explore_replay(self, schedule.clone(), next, on_progress),
        };
        (searched, vec![Limit::Sample])
    }
}

impl<P: Program> Exploration<'_, '_, P> {
    /// A new instance of the program, for one worker.
    fn new_run(&self, finds_races: bool) -> Run<P> {
        Run::new((self.program)(), self.settings, finds_races)
    }
}

/// Refuses the results if the program did not do what it did before the checkpoint: it may be
/// another program.
fn refuse_divergence<E, R>(results: &SearchResults<E, R>) -> Result<(), CheckpointError> {
    let diverges = |found: &Counterexample<E>| {
        matches!(
            found.failure,
            Failure::Fault(Fault::NonDeterminism { .. } | Fault::InfeasibleSchedule { .. })
        )
    };
    match results.findings.kept.iter().find(|found| diverges(found)) {
        None => Ok(()),
        Some(found) => Err(program_changed(format!(
            "an execution diverges from the planned one (schedule: {})",
            found.schedule.shortened()
        ))),
    }
}
