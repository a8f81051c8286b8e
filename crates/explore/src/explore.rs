//! Exploring a program: one call, one report.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fencepost_memory::{LocationId, Random};

use crate::bounded::Bounded;
use crate::findings::{Findings, Found};
use crate::optimal::Optimal;
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
    /// Store-buffer violations seen.
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

struct Clock<'a> {
    started: Instant,
    settings: &'a Settings,
    watchman: Watchman<'a>,
    until_look: u64,
}

impl Clock<'_> {
    /// Why to stop now, if so.
    fn limit(&mut self, progress: impl FnOnce(Duration) -> Progress, runs: u64) -> Option<Limit> {
        if let Some(most) = self.settings.max_executions
            && runs >= most
        {
            return Some(Limit::Executions(most));
        }
        self.until_look -= 1;
        if self.until_look > 0 {
            return None;
        }
        self.until_look = EXECUTIONS_PER_LOOK;
        let elapsed = self.started.elapsed();
        if let Some(most) = self.settings.max_time
            && elapsed >= most
        {
            return Some(Limit::Time(most));
        }
        match (self.watchman)(&progress(elapsed)) {
            ControlFlow::Continue(()) => None,
            ControlFlow::Break(()) => Some(Limit::Stopped),
        }
    }
}

/// Explores a program.
pub fn explore<P: Program>(
    program: P,
    settings: &Settings,
    watchman: Watchman<'_>,
) -> Report<P::Error> {
    let mut clock = Clock {
        started: Instant::now(),
        settings,
        watchman,
        until_look: EXECUTIONS_PER_LOOK,
    };
    let finds_races = settings.strategy == Strategy::Exhaustive;
    let run = Run::new(program, settings, finds_races);
    match &settings.strategy {
        Strategy::Exhaustive => explore_all(run, &mut clock),
        &Strategy::Bounded { preemptions } => explore_bounded(run, preemptions, &mut clock),
        &Strategy::Random { seed, executions } => {
            let random = Random::new(seed);
            sample(run, Walk { random }, executions, &mut clock)
        }
        &Strategy::Pct {
            seed,
            executions,
            depth,
        } => {
            let pct = Pct::new(Random::new(seed), depth);
            sample(run, pct, executions, &mut clock)
        }
        Strategy::Replay(schedule) => {
            let schedule = schedule.clone();
            sample(run, Replay { schedule }, 1, &mut clock)
        }
    }
}

fn explore_all<P: Program>(run: Run<P>, clock: &mut Clock<'_>) -> Report<P::Error> {
    let mut search = Optimal::new(run);
    let mut limits = Vec::new();
    while search.next_execution() {
        let runs = search.executions + search.abandoned;
        let progress = |elapsed| Progress {
            executions: search.executions,
            abandoned: search.abandoned,
            steps: search.run.steps,
            elapsed,
            estimate: None,
            bound: None,
        };
        if let Some(limit) = clock.limit(progress, runs) {
            limits.push(limit);
            break;
        }
    }
    let (executions, abandoned) = (search.executions, search.abandoned);
    let was_cut = search.was_cut;
    report(search.run, executions, abandoned, was_cut, limits, clock)
}

fn explore_bounded<P: Program>(
    run: Run<P>,
    preemptions: u32,
    clock: &mut Clock<'_>,
) -> Report<P::Error> {
    let memory = clock.settings.memory;
    let mut search = Bounded::new(run, 0, memory);
    let mut limits = Vec::new();
    'bounds: for bound in 0..=preemptions {
        if bound > 0 {
            if !search.is_bound_reached {
                break;
            }
            search.raise_bound(bound);
        }
        while search.next_execution() {
            let runs = search.executions + search.abandoned;
            let progress = |elapsed| Progress {
                executions: search.executions,
                abandoned: search.abandoned,
                steps: search.run.steps,
                elapsed,
                estimate: None,
                bound: Some(bound),
            };
            if let Some(limit) = clock.limit(progress, runs) {
                limits.push(limit);
                break 'bounds;
            }
        }
        if search.run.findings.is_enough {
            break;
        }
    }
    if search.is_bound_reached {
        limits.push(Limit::Preemptions(search.bound()));
    }
    let (executions, abandoned) = (search.executions, search.abandoned);
    let was_cut = search.was_cut;
    report(search.run, executions, abandoned, was_cut, limits, clock)
}

fn sample<P: Program, C: Chooser>(
    run: Run<P>,
    chooser: C,
    executions: u64,
    clock: &mut Clock<'_>,
) -> Report<P::Error> {
    let mut search = Sampled::new(run, chooser);
    let mut limits = vec![Limit::Sample];
    while search.executions < executions && search.next_execution() {
        let progress = |elapsed| Progress {
            executions: search.executions,
            abandoned: 0,
            steps: search.run.steps,
            elapsed,
            estimate: Some(executions as f64),
            bound: None,
        };
        if let Some(limit) = clock.limit(progress, search.executions) {
            limits.push(limit);
            break;
        }
    }
    let (executions, was_cut) = (search.executions, search.was_cut);
    report(search.run, executions, 0, was_cut, limits, clock)
}

fn report<P: Program>(
    run: Run<P>,
    executions: u64,
    abandoned: u64,
    was_cut: bool,
    mut limits: Vec<Limit>,
    clock: &Clock<'_>,
) -> Report<P::Error> {
    if let SpinRule::Bound(rounds) = clock.settings.spin
        && was_cut
    {
        limits.push(Limit::Spins(rounds));
    }
    let Findings {
        kept,
        tally,
        faults,
        borderline,
        is_enough,
        ..
    } = run.findings;
    if is_enough {
        limits.push(Limit::Found);
    }
    let mut waits: Vec<_> = run.waits.into_iter().collect();
    waits.sort();
    Report {
        executions,
        abandoned,
        steps: run.steps,
        findings: kept,
        faults,
        violations: tally.total(),
        distinct_violations: tally.distinct(),
        borderline,
        limits,
        waits,
        elapsed: clock.started.elapsed(),
    }
}
