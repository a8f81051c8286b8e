//! Exploring a program: one call, one report.

pub(crate) mod checkpoint;
pub(crate) mod estimate;
pub(crate) mod replayer;
pub(crate) mod results;
pub(crate) mod settings;

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fencepost_memory::LocationId;

use crate::bounded::Bounded;
use crate::dpor::optimal::Optimal;
use crate::driver::checkpoint::{Checkpoint, CheckpointError, Keeper, Resumed, changed};
use crate::driver::estimate::{Estimate, SizeEstimator};
use crate::driver::replayer::Replayer;
use crate::driver::results::SearchResults;
use crate::driver::settings::{Settings, SpinRule, Strategy};
use crate::execution::fault::Fault;
use crate::execution::findings::{Counterexample, Failure, Findings};
use crate::execution::run::Run;
use crate::parallel::pool::{MOST_ON_THE_WAY, Pool};
use crate::program::Program;
use crate::sampling::{Chooser, Pct, Replay, Sampled, StickyRandom, Walk};

/// Why not all executions were run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Executions with more preemptions than this were left out.
    Preemptions(u32),
    /// Threads would have to wait in a loop for more rounds than this.
    Spins(u32),
    /// So many executions were allowed.
    Executions(u64),
    /// So much time was allowed.
    Time(Duration),
    /// The executions were a sample.
    Sample,
    /// Something was found, and the search ended there.
    FirstFailure,
    /// The caller said stop.
    Cancelled,
}

/// How far an exploration has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Executions run to an end.
    pub executions: u64,
    /// Executions given up because what follows was known, or run in vain.
    pub abandoned: u64,
    /// Steps taken, without repeated ones.
    pub steps: u64,
    /// The time so far.
    pub elapsed: Duration,
    /// The executions in all, estimated from how far the search tree has been explored.
    pub estimate: Option<Estimate>,
    /// The preemption bound being explored.
    pub bound: Option<u32>,
}

/// What an exploration has found.
#[derive(Clone, Debug)]
pub struct Report<E, R = Infallible> {
    /// Executions run to an end, or to where something was found.
    pub executions: u64,
    /// Executions given up because what follows was known; or run in vain, since it turned out later that
    /// operations touch more objects than was known, and the search began again.
    pub abandoned: u64,
    /// Steps taken, without repeated ones.
    pub steps: u64,
    /// Findings in full, the first of each kind.
    pub findings: Vec<Counterexample<E>>,
    /// The restart that the program asked for ([`Stop::Restart`](crate::Stop::Restart)). The exploration ended there, so all else in
    /// the report is incomplete.
    pub restart: Option<R>,
    /// Executions that were wrong; not those that the monitor had no memory for.
    pub faults: u64,
    /// Store-buffer violations, in all executions that were run to an end.
    pub violations: u64,
    /// Those that differ in their source locations.
    pub distinct_violations: usize,
    /// Executions that had at least one.
    pub borderline: u64,
    /// Why not all executions were run; empty if all were.
    pub limits: Vec<Limit>,
    /// Where threads were kept waiting in loops, which are assumed to do nothing else.
    pub waits: Vec<Option<LocationId>>,
    /// For loops that a bound let go round although nothing had changed: how often, at most.
    pub rounds: Vec<(Option<LocationId>, u32)>,
    /// The time taken, with that before a checkpoint.
    pub elapsed: Duration,
    /// Whether a budget or the caller ended it, so that it could go on.
    pub is_resumable: bool,
}

impl<E, R> Report<E, R> {
    /// Whether one execution of every class was run.
    pub fn is_complete(&self) -> bool {
        self.limits.is_empty()
    }
}

/// Called now and then, and told how far it is. Says whether to go on.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// What becomes of an exploration that is interrupted.
#[derive(Default)]
pub struct CheckpointOptions<'a> {
    /// Where to go on.
    pub resume_from: Option<Checkpoint>,
    /// How to keep where it is.
    pub writer: Option<CheckpointWriter<'a>>,
}

/// Keeps where an exploration is: now and then, and when a budget or the caller ends it.
pub struct CheckpointWriter<'a> {
    /// How often. After each execution, if that is no time at all.
    pub interval: Duration,
    /// Keeps a checkpoint, instead of the one before. No program of the exploration runs meanwhile.
    pub save: &'a mut (dyn FnMut(Checkpoint) + Send),
}

/// Time and the caller are asked after so many executions.
const EXECUTIONS_PER_LOOK: u64 = 64;

/// What all workers keep an eye on: budgets, and whether someone said stop.
struct Budget<'a> {
    started: Instant,
    settings: &'a Settings,
    /// Executions begun, by all workers.
    runs: AtomicU64,
    /// Executions run to an end, and given up, as far as was told.
    executions: AtomicU64,
    abandoned: AtomicU64,
    steps: AtomicU64,
    limit: Mutex<Option<Limit>>,
    is_stopped: AtomicBool,
    /// The executions and the time before a checkpoint.
    runs_before: u64,
    earlier: Duration,
    /// How often to keep a checkpoint.
    every: Option<Duration>,
    /// When to keep the next one, in milliseconds from the start.
    next_save: AtomicU64,
}

impl<'a> Budget<'a> {
    fn new<E, R>(
        settings: &'a Settings,
        before: &SearchResults<E, R>,
        every: Option<Duration>,
    ) -> Self {
        Budget {
            started: Instant::now(),
            settings,
            runs: AtomicU64::new(0),
            executions: AtomicU64::new(before.executions),
            abandoned: AtomicU64::new(before.abandoned),
            steps: AtomicU64::new(before.steps),
            limit: Mutex::new(None),
            is_stopped: AtomicBool::new(false),
            runs_before: before.executions + before.abandoned,
            earlier: before.earlier,
            every,
            next_save: AtomicU64::new(every.map_or(u64::MAX, milliseconds)),
        }
    }

    /// All that was counted is counted anew.
    fn begin_again<E, R>(&self, before: &SearchResults<E, R>) {
        self.runs.store(0, Ordering::Relaxed);
        self.executions.store(before.executions, Ordering::Relaxed);
        self.abandoned.store(before.abandoned, Ordering::Relaxed);
        self.steps.store(before.steps, Ordering::Relaxed);
    }

    /// Whether it is time to keep a checkpoint. Only one worker is told so.
    fn is_save_due(&self, elapsed: Duration) -> bool {
        let (Some(every), now) = (self.every, milliseconds(elapsed)) else {
            return false;
        };
        let due = self.next_save.load(Ordering::Relaxed);
        let next = now.saturating_add(milliseconds(every));
        let change = |to| {
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            self.next_save.compare_exchange(due, to, success, failure)
        };
        now >= due && change(next).is_ok()
    }

    fn stop(&self, limit: Limit) {
        let mut first = self.limit.lock().expect("no worker panics here");
        first.get_or_insert(limit);
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Whether one more execution may be begun.
    fn allows_another(&self) -> bool {
        if self.is_stopped() {
            return false;
        }
        if let Some(most) = self.settings.max_executions {
            if self.runs.fetch_add(1, Ordering::Relaxed) >= most {
                self.stop(Limit::Executions(self.runs_before.saturating_add(most)));
                return false;
            }
        }
        true
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// One worker's view of the budget.
struct WorkerBudget<'a, 'b> {
    budget: &'a Budget<'a>,
    /// The worker that talks to the caller has this.
    on_progress: Option<ProgressCallback<'b>>,
    /// What it is told of how many there are in all.
    estimator: SizeEstimator,
    until_look: u64,
    per_look: u64,
    told: (u64, u64, u64),
    /// It is time to keep a checkpoint.
    is_save_due: bool,
}

/// What a worker has done so far.
struct Done {
    executions: u64,
    abandoned: u64,
    steps: u64,
    /// The part of all executions that this is, if that can be told.
    part: Option<Part>,
    bound: Option<u32>,
}

/// A part of all executions, estimated.
struct Part {
    fraction: f64,
    /// Whether no more can be expected to become known of what is above it.
    is_firm: bool,
}

impl<'a, 'b> WorkerBudget<'a, 'b> {
    fn new(budget: &'a Budget<'a>, on_progress: Option<ProgressCallback<'b>>) -> Self {
        let per_look = match budget.every {
            Some(Duration::ZERO) => 1,
            // There are few of them, and they may be long.
            _ if matches!(budget.settings.strategy, Strategy::StickyRandom { .. }) => 1,
            _ => EXECUTIONS_PER_LOOK,
        };
        WorkerBudget {
            budget,
            on_progress,
            estimator: SizeEstimator::default(),
            until_look: per_look,
            per_look,
            told: (0, 0, 0),
            is_save_due: false,
        }
    }

    /// Looks at the time and asks the caller, now and then. False to stop. What part of all executions it is need be
    /// said only if it is asked for.
    #[inline]
    fn allows_another(&mut self, done: impl FnOnce(bool) -> Done) -> bool {
        self.until_look -= 1;
        if self.until_look == 0 {
            let executions = self.budget.executions.load(Ordering::Relaxed);
            let is_asked = self.on_progress.is_some() && self.estimator.is_due(executions);
            self.look(&done(is_asked));
        }
        self.budget.allows_another()
    }

    #[cold]
    fn look(&mut self, done: &Done) {
        self.until_look = self.per_look;
        let budget = self.budget;
        let (executions, abandoned, steps) = self.told;
        let tell = |to: &AtomicU64, now: u64, before: u64| {
            let more = now.wrapping_sub(before);
            to.fetch_add(more, Ordering::Relaxed).wrapping_add(more)
        };
        let executions = tell(&budget.executions, done.executions, executions);
        let abandoned = tell(&budget.abandoned, done.abandoned, abandoned);
        let steps = tell(&budget.steps, done.steps, steps);
        self.told = (done.executions, done.abandoned, done.steps);
        let elapsed = budget.started.elapsed();
        if let Some(most) = budget.settings.max_time {
            if elapsed >= most {
                budget.stop(Limit::Time(most));
            }
        }
        self.is_save_due = budget.is_save_due(elapsed);
        let Some(on_progress) = &mut self.on_progress else {
            return;
        };
        if let Some(Part { fraction, is_firm }) = done.part {
            let workers = budget.settings.workers as f64;
            let fraction = (fraction * workers).clamp(1e-300, 1.0);
            let all = executions as f64 / fraction;
            self.estimator.look(executions, all, is_firm);
        }
        let progress = Progress {
            executions,
            abandoned,
            steps,
            elapsed: budget.earlier + elapsed,
            estimate: self.estimator.estimate(executions),
            bound: done.bound,
        };
        if on_progress(&progress) == ControlFlow::Break(()) {
            budget.stop(Limit::Cancelled);
        }
    }
}

/// Explores a program. Each worker has its own instance, made by `program`; names must be
/// the same in all of them.
pub fn explore<P, F>(
    program: F,
    settings: &Settings,
    on_progress: ProgressCallback<'_>,
) -> Report<P::Error, P::Restart>
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

/// Explores a program, from the start or from a checkpoint, and keeps where it is. The report, and the program of
/// this thread's worker, to run what was found again.
///
/// Budgets are for what is still to be done. All else in the report is about the whole exploration, as if it
/// had not been interrupted.
///
/// # Errors
/// If the checkpoint does not fit the program, or there are no checkpoints with these settings.
pub fn explore_with_checkpoints<P, F>(
    program: F,
    settings: &Settings,
    on_progress: ProgressCallback<'_>,
    keeping: CheckpointOptions<'_>,
) -> Result<(ReportOf<P>, Replayer<P>), CheckpointError>
where
    P: Program,
    P::Error: Send,
    P::Restart: Send,
    F: Fn() -> P + Sync,
{
    let CheckpointOptions {
        resume_from: from,
        writer: saver,
    } = keeping;
    // Several workers may have to begin again, and a checkpoint is no place to begin again from.
    let alone;
    let is_kept = from.is_some() || saver.is_some();
    let settings = if is_kept && settings.strategy == Strategy::Exhaustive {
        alone = Settings {
            workers: 1,
            always_share_work: false,
            ..settings.clone()
        };
        &alone
    } else {
        settings
    };
    let is_resumed = from.is_some();
    let mut resumed = Resumed::nothing(settings);
    let mut keeper = None;
    let every = saver.as_ref().map(|saver| saver.interval);
    if from.is_some() || saver.is_some() {
        if !checkpoint::are_supported(settings) {
            return Err(CheckpointError::Unsupported);
        }
        let first = checkpoint::first_execution(Run::new(program(), settings, false));
        if let Some(from) = from {
            resumed = checkpoint::resume(from, &program, settings, first)?;
        }
        let before = resumed.before.clone();
        keeper = saver.map(|saver| Keeper::new(settings, first, saver, before));
    }
    let Resumed { before, tree, next } = resumed;
    let keeper = keeper.as_ref();
    let budget = Budget::new(settings, &before, every);
    let mut limits = Vec::new();
    let next = AtomicU64::new(next);
    let deregister_worker = || {
        if let Some(keeper) = keeper {
            keeper.barrier().deregister_worker();
        }
    };
    let (results, run) = match &settings.strategy {
        Strategy::Exhaustive => {
            let workers = settings.workers.max(1);
            // In tests the bound is reached too.
            let most_on_the_way = match settings.always_share_work {
                true => 64,
                false => MOST_ON_THE_WAY,
            };
            let first = Arc::new(Pool::new(most_on_the_way));
            let work = |pool: &Arc<Pool>,
                        worker: usize,
                        eye: &mut WorkerBudget<'_, '_>,
                        help: Help<'_>| {
                let run = Run::new(program(), settings, true);
                let mut search = Optimal::new(run, Arc::clone(pool));
                // The first worker begins at the root, the others with what it shares.
                let has_work = match &tree {
                    Some(tree) => search.go_on(tree, before.executions + before.abandoned),
                    None => worker == 0,
                };
                explore_part(search, has_work, pool, keeper, eye, help)
            };
            let by_all = |worker: usize, eye: &mut WorkerBudget<'_, '_>, help: Help<'_>| {
                work(&first, worker, eye, help)
            };
            let by_these = with_workers(
                workers,
                &|| first.deregister_worker(),
                &budget,
                &mut *on_progress,
                &by_all,
            );
            if first.needs_restart() && !budget.is_stopped.load(Ordering::Relaxed) {
                budget.begin_again(&before);
                let alone = Arc::new(Pool::new(MOST_ON_THE_WAY));
                alone.force_single_worker();
                let by_one = |worker: usize, eye: &mut WorkerBudget<'_, '_>, help: Help<'_>| {
                    work(&alone, worker, eye, help)
                };
                with_workers(1, &|| (), &budget, on_progress, &by_one)
            } else {
                by_these
            }
        }
        &(Strategy::Bounded { preemptions } | Strategy::BoundedOrExhaustive { preemptions }) => {
            let mut eye = WorkerBudget::new(&budget, Some(on_progress));
            let run = Run::new(program(), settings, false);
            let within = Bounded::new(run, 0, settings.memory);
            let has_companion = matches!(settings.strategy, Strategy::BoundedOrExhaustive { .. });
            let companion = has_companion.then(|| {
                let run = Run::new(program(), settings, true);
                Optimal::new(run, Arc::new(Pool::new(MOST_ON_THE_WAY)))
            });
            let (results, bound, run) = explore_bounded(within, companion, preemptions, &mut eye);
            limits.extend(bound.map(Limit::Preemptions));
            (results, run)
        }
        &Strategy::Random { seed, executions } => {
            limits.push(Limit::Sample);
            let work = |_: usize, eye: &mut WorkerBudget<'_, '_>, help: Help<'_>| {
                help();
                let search = Sampled::new(Run::new(program(), settings, false), Walk::new(seed));
                sample(search, &next, executions, keeper, eye)
            };
            with_workers(
                settings.workers,
                &deregister_worker,
                &budget,
                on_progress,
                &work,
            )
        }
        &Strategy::StickyRandom { seed, executions } => {
            limits.push(Limit::Sample);
            let work = |_: usize, eye: &mut WorkerBudget<'_, '_>, help: Help<'_>| {
                help();
                let run = Run::new(program(), settings, false);
                sample(
                    Sampled::new(run, StickyRandom::new(seed)),
                    &next,
                    executions,
                    keeper,
                    eye,
                )
            };
            with_workers(
                settings.workers,
                &deregister_worker,
                &budget,
                on_progress,
                &work,
            )
        }
        &Strategy::Pct {
            seed,
            executions,
            depth,
        } => {
            limits.push(Limit::Sample);
            let length = length_of_one(Run::new(program(), settings, false));
            let work = |_: usize, eye: &mut WorkerBudget<'_, '_>, help: Help<'_>| {
                help();
                let chooser = Pct::new(seed, depth, length);
                let search = Sampled::new(Run::new(program(), settings, false), chooser);
                sample(search, &next, executions, keeper, eye)
            };
            with_workers(
                settings.workers,
                &deregister_worker,
                &budget,
                on_progress,
                &work,
            )
        }
        Strategy::Replay(schedule) => {
            limits.push(Limit::Sample);
            let schedule = schedule.clone();
            let mut eye = WorkerBudget::new(&budget, Some(on_progress));
            let search = Sampled::new(Run::new(program(), settings, false), Replay { schedule });
            sample(search, &next, 1, keeper, &mut eye)
        }
    };
    if is_resumed {
        refuse_divergence(&results)?;
    }
    let limit = budget.limit.lock().expect("no worker panics").take();
    let is_resumable = !results.findings.is_enough
        && matches!(
            limit,
            Some(Limit::Executions(_) | Limit::Time(_) | Limit::Cancelled)
        );
    if let Some(keeper) = keeper {
        if is_resumable {
            keeper.save_last(results.clone(), next.load(Ordering::Relaxed));
        }
    }
    limits.extend(limit);
    let elapsed = before.earlier + budget.started.elapsed();
    let mut report = report(before.merge(results), limits, settings, elapsed);
    report.is_resumable = is_resumable;
    Ok((report, Replayer::new(run, Findings::new(settings))))
}

/// If the program does something else than before a checkpoint, perhaps it is another one.
fn refuse_divergence<E, R>(results: &SearchResults<E, R>) -> Result<(), CheckpointError> {
    let diverges = |found: &Counterexample<E>| {
        matches!(
            found.failure,
            Failure::Fault(Fault::NonDeterminism { .. } | Fault::InfeasibleSchedule { .. })
        )
    };
    match results.findings.kept.iter().find(|found| diverges(found)) {
        None => Ok(()),
        Some(found) => Err(changed(format!(
            "an execution does not go on as planned (schedule: {})",
            found.schedule.shortened()
        ))),
    }
}

/// What a worker has results, and with what it ran the program.
type Worked<P> = (ResultsOf<P>, Run<P>);

/// The report of an exploration of a program.
pub type ReportOf<P> = Report<<P as Program>::Error, <P as Program>::Restart>;

type ResultsOf<P> = SearchResults<<P as Program>::Error, <P as Program>::Restart>;

/// How the first worker calls the others.
type Help<'a> = &'a mut dyn FnMut();

/// Runs the same work on several threads, this one among them. This one calls the others, once, if it wants help.
/// Where the system has no more threads, `deregister_worker` is called for each that is missing. What all have results,
/// and the run of this one.
fn with_workers<P: Program<Error: Send, Restart: Send>>(
    workers: usize,
    deregister_worker: &dyn Fn(),
    budget: &Budget<'_>,
    on_progress: ProgressCallback<'_>,
    work: &(impl Fn(usize, &mut WorkerBudget<'_, '_>, Help<'_>) -> Worked<P> + Sync),
) -> Worked<P> {
    std::thread::scope(|scope| {
        let spawn = |worker| {
            let thread = std::thread::Builder::new();
            thread.spawn_scoped(scope, move || {
                work(worker, &mut WorkerBudget::new(budget, None), &mut || ()).0
            })
        };
        let mut others = Vec::new();
        let mut call_others = || {
            others.extend((1..workers).map_while(|worker| spawn(worker).ok()));
            for _ in others.len() + 1..workers {
                deregister_worker();
            }
        };
        let mut eye = WorkerBudget::new(budget, Some(on_progress));
        let (own, run) = work(0, &mut eye, &mut call_others);
        if !budget.is_stopped() {
            eye.look(&Done {
                executions: own.executions,
                abandoned: own.abandoned,
                steps: own.steps,
                part: (budget.settings.strategy == Strategy::Exhaustive).then_some(Part {
                    fraction: 1.0,
                    is_firm: true,
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

/// A worker looks so many steps later for others that have nothing to do: they get some work at once, not each
/// execution one by one.
const STEPS_PER_OFFER: u64 = 256;

/// The first worker calls the others after so many steps. If there are fewer, it is through before they have begun.
const STEPS_ALONE: u64 = 4096;

fn explore_part<P: Program>(
    mut search: Optimal<P>,
    mut has_work: bool,
    pool: &Pool,
    keeper: Option<&Keeper<'_, '_, P::Error, P::Restart>>,
    eye: &mut WorkerBudget<'_, '_>,
    help: Help<'_>,
) -> Worked<P> {
    let _guard = pool.stop_on_panic();
    let settings = eye.budget.settings;
    // The first worker begins with work and calls the others; those begin without.
    let mut has_called = !has_work || settings.workers <= 1;
    let is_patient = !has_called && !settings.always_share_work;
    let mut next_offer = if is_patient { STEPS_ALONE } else { 0 };
    loop {
        if !has_work {
            has_work = search.take_work();
            if !has_work {
                break;
            }
        }
        if let Some(keeper) = keeper {
            if std::mem::take(&mut eye.is_save_due) {
                keeper.save_tree(search.results(), search.left(has_work));
            }
        }
        let done = |is_asked: bool| Done {
            executions: search.executions,
            abandoned: search.abandoned,
            steps: search.run.steps,
            part: is_asked.then(|| Part {
                fraction: search.fraction(),
                is_firm: search.is_firm(),
            }),
            bound: None,
        };
        if !eye.allows_another(done) {
            pool.stop();
            break;
        }
        has_work = !search.run.findings.is_enough && search.next_execution();
        if search.run.findings.is_enough {
            eye.budget.stop(Limit::FirstFailure);
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
        if !std::mem::replace(&mut has_called, true) {
            pool.expect(settings.workers - 1);
            help();
        }
        let is_in_want = pool.has_idle_workers() && !pool.offer() && !pool.is_full();
        if has_work && (is_in_want || settings.always_share_work) {
            search.share();
            has_work = search.has_own_work();
            pool.offer();
        }
        next_offer = match settings.always_share_work {
            true => 0,
            false => search.run.steps + STEPS_PER_OFFER,
        };
    }
    if let Some(keeper) = keeper {
        keeper.leave(search.left(has_work));
    }
    search.end()
}

/// For each execution that the search within a bound gives up, so many are run without a bound.
const WITHOUT_BOUND_PER_ABANDONED: u64 = 6;

/// Explores with growing bounds. What was results, the bound that kept something from being explored, if so, and
/// with what the program was run.
///
/// Within a bound there is no partial-order reduction, and with many threads most executions are given up
/// because what follows is known. The fewer of them are of use, the more a search for all executions, if there
/// is one, gets to do in turns with it. If that is through first, nothing was left out. What one that is
/// through has counted is what there is; the other has counted some of it again.
fn explore_bounded<P: Program>(
    mut within: Bounded<P>,
    mut all: Option<Optimal<P>>,
    preemptions: u32,
    eye: &mut WorkerBudget<'_, '_>,
) -> (ResultsOf<P>, Option<u32>, Run<P>) {
    loop {
        let done = |_| {
            let (executions, abandoned, steps) = match &all {
                Some(all) => (all.executions, all.abandoned, all.run.steps),
                None => (0, 0, 0),
            };
            Done {
                executions: within.executions + executions,
                abandoned: within.abandoned + abandoned,
                steps: within.run.steps + steps,
                part: None,
                bound: Some(within.bound()),
            }
        };
        if !eye.allows_another(done) {
            break;
        }
        let owed = within.abandoned_in_all * WITHOUT_BOUND_PER_ABANDONED;
        if let Some(all) = &mut all {
            if all.executions + all.abandoned < owed {
                within.run.findings.hand_over(&mut all.run.findings);
                let is_left = all.next_execution();
                let is_enough = all.run.findings.is_enough;
                if !is_left && !is_enough {
                    let results = all.results().with_steps(within.run.steps);
                    return (results, None, within.run);
                }
                all.run.findings.hand_over(&mut within.run.findings);
                if is_enough {
                    break;
                }
                continue;
            }
        }
        let is_left = within.next_execution();
        if within.run.findings.is_enough {
            break;
        }
        if !is_left {
            let is_through = !within.is_bound_reached || within.bound() == preemptions;
            if is_through {
                let bound = within.is_bound_reached.then_some(within.bound());
                let steps = all.map_or(0, |all| all.run.steps);
                return (within.results().with_steps(steps), bound, within.run);
            }
            within.raise_bound(within.bound() + 1);
        }
    }
    let bound = within.is_bound_reached.then_some(within.bound());
    let results = within.results();
    let results = match &all {
        // Also if it began again, what was done within the bound is what it is.
        Some(all) => results.merge(SearchResults {
            is_anew: false,
            ..all.results()
        }),
        None => results,
    };
    if results.findings.is_enough {
        eye.budget.stop(Limit::FirstFailure);
    }
    (results, bound, within.run)
}

fn sample<P: Program, C: Chooser>(
    mut search: Sampled<P, C>,
    next: &AtomicU64,
    executions: u64,
    keeper: Option<&Keeper<'_, '_, P::Error, P::Restart>>,
    eye: &mut WorkerBudget<'_, '_>,
) -> Worked<P> {
    let _stay = keeper.map(|keeper| keeper.barrier().stay());
    loop {
        if let Some(keeper) = keeper {
            if std::mem::take(&mut eye.is_save_due) {
                keeper.barrier().call();
            }
            if keeper.barrier().is_called() {
                let (run, was_cut) = (&search.run, search.was_cut);
                let results = SearchResults::of(run, search.executions, 0, was_cut);
                // When the last worker has come, all executions below the next number have been run.
                keeper.attend(results, || next.load(Ordering::Relaxed));
            }
        }
        let done = |_| Done {
            executions: search.executions,
            abandoned: 0,
            steps: search.run.steps,
            part: None,
            bound: None,
        };
        if next.load(Ordering::Relaxed) >= executions || !eye.allows_another(done) {
            break;
        }
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= executions {
            break;
        }
        if !search.run_execution(number) {
            eye.budget.stop(Limit::FirstFailure);
            break;
        }
    }
    let (executions, was_cut) = (search.executions, search.was_cut);
    let results = SearchResults::taken_from(&mut search.run, executions, 0, was_cut);
    (results, search.run)
}

/// The number of steps of an execution in which threads run in order.
fn length_of_one<P: Program>(run: Run<P>) -> usize {
    let schedule = crate::schedule::Schedule::default();
    let mut search = Sampled::new(run, Replay { schedule });
    search.run_execution(0);
    search.run.log.len().max(1)
}

fn report<E: Clone + PartialEq, R>(
    results: SearchResults<E, R>,
    mut limits: Vec<Limit>,
    settings: &Settings,
    elapsed: Duration,
) -> Report<E, R> {
    if let SpinRule::Bound(rounds) = settings.spin {
        if results.was_cut {
            limits.push(Limit::Spins(rounds));
        }
    }
    let Findings {
        kept,
        tally,
        faults,
        borderline,
        violations,
        ..
    } = results.findings;
    let mut kept = kept;
    for found in &mut kept {
        found
            .schedule
            .0
            .splice(0..0, settings.prefix.0.iter().copied());
    }
    let mut waits: Vec<_> = results.waits.into_iter().collect();
    waits.sort();
    let mut rounds: Vec<_> = results.rounds.into_iter().collect();
    rounds.sort();
    Report {
        executions: results.executions,
        abandoned: results.abandoned,
        steps: results.steps,
        // Also those that were found only by a search that did not come to its end.
        faults: faults.max(kept.iter().filter(|found| found.is_fault()).count() as u64),
        findings: kept,
        restart: results.restart,
        // Also those that were seen only in an execution that was not run to its end.
        violations: violations.max(tally.distinct() as u64),
        distinct_violations: tally.distinct(),
        borderline,
        limits,
        waits,
        rounds,
        elapsed,
        is_resumable: false,
    }
}
