//! The result of an exploration.

use std::convert::Infallible;
use std::time::Duration;

use fencepost_memory::LocationId;

use crate::driver::results::SearchResults;
use crate::driver::settings::{Settings, SpinRule};
use crate::execution::findings::{Counterexample, Findings};
use crate::program::Program;

/// A reason why not every execution was run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Executions with more preemptions than this were not run.
    Preemptions(u32),
    /// Executions in which a thread repeats a spin loop more often than this were not run.
    Spins(u32),
    /// The exploration stopped after this many executions.
    Executions(u64),
    /// The exploration stopped after this time.
    Time(Duration),
    /// The executions are a sample.
    Sample,
    /// The exploration stopped at the first failure.
    FirstFailure,
    /// The progress callback stopped the exploration.
    Cancelled,
}

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Report<E, R = Infallible> {
    /// Executions that ran to their end or to a failure.
    pub executions: u64,
    /// Of these, the executions that an assumption of the program has ended
    /// ([`Intent::Stopped`](crate::Intent::Stopped)).
    pub pruned: u64,
    /// Executions abandoned as redundant, and executions before a restart. The search restarts when
    /// an operation touches more objects than the explorer had learned.
    pub abandoned: u64,
    /// Steps taken, without those of replayed prefixes.
    pub steps: u64,
    /// The first counterexample of each kind.
    pub findings: Vec<Counterexample<E>>,
    /// The restart that the program asked for ([`Stop::Restart`](crate::Stop::Restart)). The
    /// exploration ended there, so all else in the report is incomplete.
    pub restart: Option<R>,
    /// The number of executions with a fault, without those that exceeded the monitor's memory.
    pub faults: u64,
    /// The number of store-buffer violations in all executions that ran to their end.
    pub violations: u64,
    /// The number of violations that differ in their source locations.
    pub distinct_violations: usize,
    /// The number of executions with at least one violation.
    pub borderline: u64,
    /// Why not every execution was run; empty if every one was.
    pub limits: Vec<Limit>,
    /// The source locations of spin loops in which threads were blocked, assuming that the loops
    /// only wait.
    pub waits: Vec<Option<LocationId>>,
    /// For each spin loop that a bound let run although nothing had changed: the largest number of
    /// rounds.
    pub rounds: Vec<(Option<LocationId>, u32)>,
    /// The time taken, including the time before a checkpoint.
    pub elapsed: Duration,
    /// Whether a budget or the progress callback ended the exploration, so that it can be resumed.
    pub is_resumable: bool,
}

/// The report of an exploration of the program `P`.
pub type ReportOf<P> = Report<<P as Program>::Error, <P as Program>::Restart>;

impl<E, R> Report<E, R> {
    /// Whether one execution of every equivalence class was run.
    pub fn is_complete(&self) -> bool {
        self.limits.is_empty()
    }
}

impl<E: Clone + PartialEq, R> Report<E, R> {
    pub(super) fn new(
        results: SearchResults<E, R>,
        mut limits: Vec<Limit>,
        settings: &Settings,
        elapsed: Duration,
        is_resumable: bool,
    ) -> Self {
        if let SpinRule::Bound(rounds) = settings.spin {
            if results.hit_spin_bound {
                limits.push(Limit::Spins(rounds));
            }
        }
        let Findings {
            mut kept,
            tally,
            faults,
            borderline,
            violations,
            pruned,
            ..
        } = results.findings;
        for found in &mut kept {
            let turns = &mut found.schedule.0;
            turns.splice(0..0, settings.prefix.0.iter().copied());
        }
        let mut waits: Vec<_> = results.waits.into_iter().collect();
        waits.sort();
        let mut rounds: Vec<_> = results.rounds.into_iter().collect();
        rounds.sort();
        Report {
            executions: results.executions,
            pruned,
            abandoned: results.abandoned,
            steps: results.steps,
            // A search that restarted or lost the race against another one recounts, but keeps its
            // findings.
            faults: faults.max(kept.iter().filter(|found| found.is_fault()).count() as u64),
            findings: kept,
            restart: results.restart,
            // The same holds for violations in executions that did not run to their end.
            violations: violations.max(tally.distinct() as u64),
            distinct_violations: tally.distinct(),
            borderline,
            limits,
            waits,
            rounds,
            elapsed,
            is_resumable,
        }
    }
}
