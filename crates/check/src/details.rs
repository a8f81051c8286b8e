//! The details of an outcome: what was explored, what was found, and what the outcome rests on.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fencepost_report::SourcePosition;
use fencepost_report::check::fences::FENCES_UNKNOWN;
use fencepost_report::check::{self as report, CheckSummary, Compared, FenceOrdering, Gap};

use super::fences::{FenceInference, FenceStrength};
use super::outcome::Finding;
use super::showing::{Showing, ShownSummary};

/// The details of an [`Outcome`](crate::Outcome).
///
/// ```
/// use fencepost::sync::atomic::{AtomicUsize, Ordering::SeqCst};
/// use fencepost::{Assumption, Checker, Limit, thread};
///
/// let outcome = Checker::new().max_executions(2).leak_check(false).run(|| {
///     let count = AtomicUsize::new(0);
///     thread::scope(|scope| {
///         for _ in 0..3 {
///             scope.spawn(|| count.fetch_add(1, SeqCst));
///         }
///     });
/// });
/// let details = outcome.details();
/// assert_eq!(details.executions(), 2);
/// assert_eq!(details.limits(), [Limit::Executions(2)]);
/// assert!(details.assumptions().contains(&Assumption::NoLeaks));
/// assert!(details.findings().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Details {
    pub(super) findings: Vec<Finding>,
    pub(super) summary: CheckSummary,
    pub(super) faults: u64,
    pub(super) violations: u64,
    pub(super) distinct_violations: u64,
    pub(super) borderline: u64,
    pub(super) elapsed: Duration,
    pub(super) showing: Arc<Showing>,
    pub(super) shown: OnceLock<ShownSummary>,
    /// The missing fences, if the user asked for fence inference.
    pub(super) fence_inference: Option<Box<FenceInference>>,
}

/// Why some executions were not explored.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Limit {
    /// Executions with more preemptions than this were excluded
    /// ([`Checker::preemption_bound`](crate::Checker::preemption_bound)).
    Preemptions(u32),
    /// This many executions were explored ([`Checker::max_executions`](crate::Checker::max_executions)); those
    /// before a checkpoint do not count.
    Executions(u64),
    /// The time was used up ([`Checker::max_time`](crate::Checker::max_time)).
    Time(Duration),
    /// Waiting loops were left after so many rounds ([`Checker::spin_bound`](crate::Checker::spin_bound)).
    Spins(u32),
    /// A wait on a condition variable or a park, in a loop that does not come back to the same state, returned at
    /// most so often in a row without a notification.
    Returns(u32),
    /// The monitor needed more memory than so many bytes.
    Memory(u64),
    /// Executions were sampled at random.
    Sample {
        /// The [seed](crate::Checker::seed).
        seed: u64,
    },
    /// A single execution was [replayed](crate::Checker::replay).
    Replay,
    /// The check stopped at the first failure
    /// ([`Checker::continue_after_failure`](crate::Checker::continue_after_failure)).
    FirstFailure,
    /// The check was interrupted.
    Interrupted,
    /// The loops at these positions depend on memory that Fencepost does not compare: they did something else although
    /// they had come back to the same state and read the same values. Their rounds were explored one by one.
    UnseenMemory(Vec<SourcePosition>),
    /// The loops around the operations at these positions change nothing, do not come back to the same state, and go
    /// round without end, as far as is known. In each of them a thread went round at most so often, unless something
    /// changed or no other thread could run.
    EndlessLoops(u32, Vec<SourcePosition>),
    /// With [store buffers](crate::Checker::store_buffers): an operation on an `Arc`, a lock or a channel waited
    /// for stores that may stay in the buffer on the machine.
    EarlyDrain,
}

/// An assumption on which an outcome rests. One more is not listed, because every outcome rests on it: the compiler
/// does not reorder `Relaxed` accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Assumption {
    /// The loops at these positions have no effect until what they wait for happens. They were seen to come back to
    /// the same state; memory that is neither on a thread's stack nor in Fencepost's types was not compared, or not
    /// all of it.
    LoopsOnlyWait(Vec<SourcePosition>),
    /// The waits at these positions do not wake up spuriously again and again: the same, for waits on condition
    /// variables and parks.
    NoRepeatedWakeups(Vec<SourcePosition>),
    /// The loops and waits at these positions depend on nothing that outlives an execution: on no statics and
    /// thread-local values of `std`, and not on what the program captures; and on no memory that threads share through
    /// the atomics and locks of `std`. All else was compared, because the `Allocator` of `fencepost` is the
    /// global allocator.
    NothingOutlivesExecutions(Vec<SourcePosition>),
    /// The loops around these calls of `hint::assume_waits` only wait.
    DeclaredLoopsOnlyWait(Vec<SourcePosition>),
    /// Every store reaches memory at once ([`Checker::monitor`](crate::Checker::monitor) is off).
    ImmediateStores,
    /// No `Arc` leaks ([`Checker::leak_check`](crate::Checker::leak_check) is off).
    NoLeaks,
    /// No wait wakes up spuriously ([`Checker::spurious_wakeups`](crate::Checker::spurious_wakeups) is off).
    NoSpuriousWakeups,
    /// The program has a fence that is not in its source
    /// ([`Checker::insert_fence`](crate::Checker::insert_fence)).
    InsertedFence {
        /// The operation after the fence.
        before: SourcePosition,
        /// The strength of the fence.
        strength: FenceStrength,
    },
}

impl Details {
    /// The executions that were run to their end, or to a failure: one per equivalence class if the strategy is
    /// exhaustive.
    pub fn executions(&self) -> u64 {
        self.summary.executions
    }

    /// The executions that were abandoned, because other executions cover them.
    pub fn abandoned(&self) -> u64 {
        self.summary.abandoned
    }

    /// The steps of all executions. A common prefix of several executions counts once.
    pub fn steps(&self) -> u64 {
        self.summary.steps
    }

    /// The time that the exploration took, with the time before a [checkpoint](crate::Checker::checkpoint).
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The distinct failures, each with its first occurrence.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The executions that failed.
    pub fn errors(&self) -> u64 {
        self.faults
    }

    /// The store-buffer violations of all executions.
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// The store-buffer violations that differ in their source locations.
    pub fn distinct_violations(&self) -> u64 {
        self.distinct_violations
    }

    /// The executions with a store-buffer violation.
    pub fn borderline_executions(&self) -> u64 {
        self.borderline
    }

    /// Why some executions were not explored. Empty if all were.
    pub fn limits(&self) -> Vec<Limit> {
        self.summary.gaps.iter().filter_map(limit).collect()
    }

    /// The assumptions on which the outcome rests.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let summary = &self.summary;
        let positions = |positions: &Vec<SourcePosition>| {
            Some(positions.clone()).filter(|positions| !positions.is_empty())
        };
        let (loops, waits) = match summary.compared {
            Compared::Memory => {
                let all = summary.loops_and_waits();
                let all = positions(&all).map(Assumption::NothingOutlivesExecutions);
                (all, None)
            }
            Compared::MostMemory | Compared::Stacks | Compared::Nothing => (
                positions(&summary.waiting_loops).map(Assumption::LoopsOnlyWait),
                positions(&summary.repeated_waits).map(Assumption::NoRepeatedWakeups),
            ),
        };
        let declared = positions(&summary.declared_waits).map(Assumption::DeclaredLoopsOnlyWait);
        let waits = waits.into_iter().chain(declared);
        let others = summary.assumptions.iter().filter_map(assumption);
        loops.into_iter().chain(waits).chain(others).collect()
    }

    /// The fences that make the program store-buffer safe, if it is not and
    /// [fence inference](crate::Checker::infer_fences) is on.
    pub fn inferred_fences(&self) -> Option<&FenceInference> {
        self.fence_inference.as_deref()
    }

    pub(super) fn shown(&self) -> &ShownSummary {
        self.shown.get_or_init(|| {
            let fences = self.fence_inference.as_deref().map(FenceInference::object);
            self.showing.summary(&self.summary, fences)
        })
    }

    /// The end of the report, if the user asked for fence inference.
    pub(super) fn fences_text(&self) -> Option<String> {
        match self.fence_inference.as_deref()? {
            // The report has shown the failure.
            FenceInference::Unknown(_) if self.faults > 0 => Some(format!("{FENCES_UNKNOWN}\n")),
            fences => Some(fences.to_string()),
        }
    }
}

fn limit(gap: &Gap) -> Option<Limit> {
    Some(match *gap {
        Gap::PreemptionBound(preemptions) => Limit::Preemptions(preemptions),
        Gap::ExecutionBudget(executions) | Gap::FurtherExecutions(executions) => {
            Limit::Executions(executions)
        }
        Gap::TimeBudget(time) => Limit::Time(time),
        Gap::SpinBound(rounds) => Limit::Spins(rounds),
        Gap::WaitBound(returns) => Limit::Returns(returns),
        Gap::MemoryBudget(bytes) => Limit::Memory(bytes),
        Gap::Random { seed } => Limit::Sample { seed },
        Gap::Replay => Limit::Replay,
        Gap::Interrupted => Limit::Interrupted,
        Gap::StoppedAtProblem => Limit::FirstFailure,
        Gap::EarlyDrain => Limit::EarlyDrain,
        Gap::UnseenMemory(ref loops) => Limit::UnseenMemory(loops.clone()),
        Gap::EndlessLoops(rounds, ref loops) => Limit::EndlessLoops(rounds, loops.clone()),
        _ => return None,
    })
}

fn assumption(assumption: &report::Assumption) -> Option<Assumption> {
    Some(match assumption {
        report::Assumption::ImmediateStores => Assumption::ImmediateStores,
        report::Assumption::NoLeaks => Assumption::NoLeaks,
        report::Assumption::NoSpuriousWakeups => Assumption::NoSpuriousWakeups,
        report::Assumption::InsertedFence { fence, before } => Assumption::InsertedFence {
            before: before.clone(),
            strength: match fence {
                FenceOrdering::Release => FenceStrength::Release,
                FenceOrdering::SeqCst => FenceStrength::SeqCst,
            },
        },
        _ => return None,
    })
}
