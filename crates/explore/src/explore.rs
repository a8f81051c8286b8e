//! Exploring a program: one call, one report.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fencepost_memory::LocationId;
use rustc_hash::FxHashSet;

use crate::bounded::Bounded;
use crate::findings::{Findings, Found};
use crate::optimal::Optimal;
use crate::pool::Pool;
use crate::program::Program;
use crate::run::Run;
use crate::sampled::{Chooser, Pct, Replay, Sampled, Walk};
use crate::settings::{Settings, SpinRule, Strategy};

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
    Found,
    /// The caller said stop.
    Stopped,
}

/// How far an exploration has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Executions run to an end.
    pub executions: u64,
    /// Executions given up because what follows was known.
    pub abandoned: u64,
    /// Steps taken, without repeated ones.
    pub steps: u64,
    /// The time so far.
    pub elapsed: Duration,
    /// The executions in all, estimated from how far the search tree has been explored.
    pub estimate: Option<f64>,
    /// The preemption bound being explored.
    pub bound: Option<u32>,
}

/// What an exploration has found.
#[derive(Clone, Debug)]
pub struct Report<E> {
    /// Executions run to an end, or to where something was found.
    pub executions: u64,
    /// Executions given up because what follows was known.
    pub abandoned: u64,
    /// Steps taken, without repeated ones.
    pub steps: u64,
    /// Findings in full, the first of each kind.
    pub findings: Vec<Found<E>>,
    /// Executions that were wrong.
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
    /// The time taken.
    pub elapsed: Duration,
}

impl<E> Report<E> {
    /// Whether one execution of every class was run.
    pub fn is_complete(&self) -> bool {
        self.limits.is_empty()
    }
}

/// Called now and then, and told how far it is. Says whether to go on.
pub type Watchman<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

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
}

impl<'a> Budget<'a> {
    fn new(settings: &'a Settings) -> Self {
        Budget {
            started: Instant::now(),
            settings,
            runs: AtomicU64::new(0),
            executions: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            limit: Mutex::new(None),
            is_stopped: AtomicBool::new(false),
        }
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
        if let Some(most) = self.settings.max_executions
            && self.runs.fetch_add(1, Ordering::Relaxed) >= most
        {
            self.stop(Limit::Executions(most));
            return false;
        }
        true
    }
}

/// One worker's view of the budget.
struct Eye<'a, 'b> {
    budget: &'a Budget<'a>,
    /// The worker that talks to the caller has this.
    watchman: Option<Watchman<'b>>,
    until_look: u64,
    told: (u64, u64, u64),
}

/// What a worker has done so far.
struct Done {
    executions: u64,
    abandoned: u64,
    steps: u64,
    /// The part of all executions that this is, estimated.
    fraction: Option<f64>,
    bound: Option<u32>,
}

impl<'a, 'b> Eye<'a, 'b> {
    fn new(budget: &'a Budget<'a>, watchman: Option<Watchman<'b>>) -> Self {
        Eye {
            budget,
            watchman,
            until_look: EXECUTIONS_PER_LOOK,
            told: (0, 0, 0),
        }
    }

    /// Looks at the time and asks the caller, now and then. False to stop.
    #[inline]
    fn allows_another(&mut self, done: impl FnOnce() -> Done) -> bool {
        self.until_look -= 1;
        if self.until_look == 0 {
            self.look(&done());
        }
        self.budget.allows_another()
    }

    #[cold]
    fn look(&mut self, done: &Done) {
        self.until_look = EXECUTIONS_PER_LOOK;
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
        if let Some(most) = budget.settings.max_time
            && elapsed >= most
        {
            budget.stop(Limit::Time(most));
        }
        let Some(watchman) = &mut self.watchman else {
            return;
        };
        let workers = budget.settings.workers as f64;
        let estimate = done.fraction.map(|fraction| {
            let fraction = (fraction * workers).clamp(1e-300, 1.0);
            (executions as f64 / fraction).max(executions as f64)
        });
        let progress = Progress {
            executions,
            abandoned,
            steps,
            elapsed,
            estimate,
            bound: done.bound,
        };
        if watchman(&progress) == ControlFlow::Break(()) {
            budget.stop(Limit::Stopped);
        }
    }
}

/// What one or more workers have found.
struct Gathered<E> {
    findings: Findings<E>,
    executions: u64,
    abandoned: u64,
    steps: u64,
    was_cut: bool,
    waits: FxHashSet<Option<LocationId>>,
}

impl<E: Clone + PartialEq> Gathered<E> {
    fn of<P: Program<Error = E>>(
        run: Run<P>,
        executions: u64,
        abandoned: u64,
        was_cut: bool,
    ) -> Self {
        Gathered {
            executions,
            abandoned,
            steps: run.steps,
            was_cut: was_cut || run.was_bounded,
            waits: run.waits,
            findings: run.findings,
        }
    }

    fn merge(mut self, other: Self) -> Self {
        self.findings.merge(other.findings);
        self.executions += other.executions;
        self.abandoned += other.abandoned;
        self.steps += other.steps;
        self.was_cut |= other.was_cut;
        self.waits.extend(other.waits);
        self
    }
}

/// Explores a program. Each worker has its own instance, made by `program`; names must be
/// the same in all of them.
pub fn explore<P, F>(program: F, settings: &Settings, watchman: Watchman<'_>) -> Report<P::Error>
where
    P: Program,
    P::Error: Send,
    F: Fn() -> P + Sync,
{
    let budget = Budget::new(settings);
    let mut limits = Vec::new();
    let gathered = match &settings.strategy {
        Strategy::Exhaustive => {
            let pool = Arc::new(Pool::new(settings.workers.max(1)));
            let work = |worker: usize, eye: &mut Eye<'_, '_>| {
                let run = Run::new(program(), settings, true);
                explore_part(Optimal::new(run, Arc::clone(&pool)), worker, &pool, eye)
            };
            with_workers(settings.workers, &budget, watchman, &work)
        }
        &Strategy::Bounded { preemptions } => {
            let mut eye = Eye::new(&budget, Some(watchman));
            let run = Run::new(program(), settings, false);
            let (gathered, bound) = explore_bounded(run, preemptions, settings, &mut eye);
            limits.extend(bound.map(Limit::Preemptions));
            gathered
        }
        &Strategy::Random { seed, executions } => {
            limits.push(Limit::Sample);
            let next = AtomicU64::new(0);
            let work = |_: usize, eye: &mut Eye<'_, '_>| {
                let run = Run::new(program(), settings, false);
                sample(run, Walk::new(seed), &next, executions, eye)
            };
            with_workers(settings.workers, &budget, watchman, &work)
        }
        &Strategy::Pct {
            seed,
            executions,
            depth,
        } => {
            limits.push(Limit::Sample);
            let next = AtomicU64::new(0);
            let length = length_of_one(Run::new(program(), settings, false));
            let work = |_: usize, eye: &mut Eye<'_, '_>| {
                let run = Run::new(program(), settings, false);
                sample(run, Pct::new(seed, depth, length), &next, executions, eye)
            };
            with_workers(settings.workers, &budget, watchman, &work)
        }
        Strategy::Replay(schedule) => {
            limits.push(Limit::Sample);
            let schedule = schedule.clone();
            let mut eye = Eye::new(&budget, Some(watchman));
            let run = Run::new(program(), settings, false);
            sample(run, Replay { schedule }, &AtomicU64::new(0), 1, &mut eye)
        }
    };
    limits.extend(budget.limit.lock().expect("no worker panics").take());
    report(gathered, limits, settings, budget.started.elapsed())
}

/// Runs the same work on several threads, this one among them.
fn with_workers<E: Clone + PartialEq + Send>(
    workers: usize,
    budget: &Budget<'_>,
    watchman: Watchman<'_>,
    work: &(impl Fn(usize, &mut Eye<'_, '_>) -> Gathered<E> + Sync),
) -> Gathered<E> {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers)
            .map(|worker| scope.spawn(move || work(worker, &mut Eye::new(budget, None))))
            .collect();
        let mut eye = Eye::new(budget, Some(watchman));
        let own = work(0, &mut eye);
        if !budget.is_stopped() {
            eye.look(&Done {
                executions: own.executions,
                abandoned: own.abandoned,
                steps: own.steps,
                fraction: (budget.settings.strategy == Strategy::Exhaustive).then_some(1.0),
                bound: None,
            });
        }
        others.into_iter().fold(own, |gathered, other| {
            let other = other.join();
            gathered.merge(other.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })
}

fn explore_part<P: Program>(
    mut search: Optimal<P>,
    worker: usize,
    pool: &Pool,
    eye: &mut Eye<'_, '_>,
) -> Gathered<P::Error> {
    let _guard = pool.stop_on_panic();
    // The first worker begins at the root, the others with what it shares.
    let mut has_work = worker == 0 || search.take_task();
    while has_work {
        let done = || Done {
            executions: search.executions,
            abandoned: search.abandoned,
            steps: search.run.steps,
            fraction: Some(search.fraction()),
            bound: None,
        };
        if !eye.allows_another(done) {
            pool.stop();
            break;
        }
        has_work = search.next_execution();
        if search.run.findings.is_enough {
            eye.budget.stop(Limit::Found);
            pool.stop();
            break;
        }
        if has_work && (pool.is_hungry() || eye.budget.settings.shares_always) {
            search.share();
            has_work = search.has_own_work();
        }
        has_work = has_work || search.take_task();
    }
    let (executions, abandoned) = (search.executions, search.abandoned);
    let was_cut = search.was_cut;
    Gathered::of(search.run, executions, abandoned, was_cut)
}

/// Explores with growing bounds. The bound that kept something from being explored, if so.
fn explore_bounded<P: Program>(
    run: Run<P>,
    preemptions: u32,
    settings: &Settings,
    eye: &mut Eye<'_, '_>,
) -> (Gathered<P::Error>, Option<u32>) {
    let mut search = Bounded::new(run, 0, settings.memory);
    for bound in 0..=preemptions {
        if bound > 0 {
            search.raise_bound(bound);
        }
        let mut is_stopped = false;
        loop {
            let done = || Done {
                executions: search.executions,
                abandoned: search.abandoned,
                steps: search.run.steps,
                fraction: None,
                bound: Some(bound),
            };
            if !eye.allows_another(done) {
                is_stopped = true;
                break;
            }
            if !search.next_execution() {
                break;
            }
        }
        if is_stopped || search.run.findings.is_enough || !search.is_bound_reached {
            break;
        }
    }
    if search.run.findings.is_enough {
        eye.budget.stop(Limit::Found);
    }
    let bound = search.is_bound_reached.then_some(search.bound());
    let (executions, abandoned) = (search.executions, search.abandoned);
    let was_cut = search.was_cut;
    let gathered = Gathered::of(search.run, executions, abandoned, was_cut);
    (gathered, bound)
}

fn sample<P: Program, C: Chooser>(
    run: Run<P>,
    chooser: C,
    next: &AtomicU64,
    executions: u64,
    eye: &mut Eye<'_, '_>,
) -> Gathered<P::Error> {
    let mut search = Sampled::new(run, chooser);
    loop {
        let done = || Done {
            executions: search.executions,
            abandoned: 0,
            steps: search.run.steps,
            fraction: None,
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
            eye.budget.stop(Limit::Found);
            break;
        }
    }
    let (executions, was_cut) = (search.executions, search.was_cut);
    Gathered::of(search.run, executions, 0, was_cut)
}

/// The number of steps of an execution in which threads run in order.
fn length_of_one<P: Program>(run: Run<P>) -> usize {
    let schedule = crate::schedule::Schedule::default();
    let mut search = Sampled::new(run, Replay { schedule });
    search.run_execution(0);
    search.run.past.len().max(1)
}

fn report<E: Clone + PartialEq>(
    gathered: Gathered<E>,
    mut limits: Vec<Limit>,
    settings: &Settings,
    elapsed: Duration,
) -> Report<E> {
    if let SpinRule::Bound(rounds) = settings.spin
        && gathered.was_cut
    {
        limits.push(Limit::Spins(rounds));
    }
    let Findings {
        kept,
        tally,
        faults,
        borderline,
        violations,
        ..
    } = gathered.findings;
    let mut waits: Vec<_> = gathered.waits.into_iter().collect();
    waits.sort();
    Report {
        executions: gathered.executions,
        abandoned: gathered.abandoned,
        steps: gathered.steps,
        findings: kept,
        faults,
        // Also those that were seen only in an execution that was not run to its end.
        violations: violations.max(tally.distinct() as u64),
        distinct_violations: tally.distinct(),
        borderline,
        limits,
        waits,
        elapsed,
    }
}
