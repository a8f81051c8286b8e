//! Findings: all are counted, and the first of each kind is kept.

use fencepost_memory::Access;
use fencepost_monitor::{
    ExplainError, Finding, TallyResult, Violation, ViolationTally, check_interleaving,
    explain_interleaving,
};

use crate::driver::settings::Settings;
use crate::execution::fault::Fault;
use crate::execution::log::ExecutionLog;
use crate::execution::monitor_feed::Evidence;
use crate::execution::run::schedule_of;
use crate::program::OptimisticLoad;
use crate::schedule::Schedule;

/// What is wrong with an execution.
#[derive(Clone, Debug)]
pub enum Failure<E> {
    /// The program is not store-buffer safe.
    StoreBuffer(Box<Violation>),
    /// The execution has a fault.
    Fault(Fault<E>),
}

/// A failure, and the execution that shows it.
#[derive(Clone, Debug)]
pub struct Counterexample<E> {
    /// The failure.
    pub failure: Failure<E>,
    /// The execution up to the failure.
    pub schedule: Schedule,
    /// The memory accesses of the execution.
    pub interleaving: Vec<Access>,
    /// The optimistic loads among the accesses, by position. Only violations have them.
    pub optimistic_loads: Vec<(usize, OptimisticLoad)>,
    /// The number of the execution, from 1. In an exhaustive search with several workers, the count
    /// is that of the worker that found it.
    pub execution: u64,
}

impl<E> Counterexample<E> {
    /// The cycle and the checked witness of a store-buffer violation. `None` for other failures.
    ///
    /// They are computed from the interleaving, when a caller asks for them: most counterexamples
    /// are first run again.
    pub fn explain(&self) -> Option<Result<Finding, ExplainError>> {
        match &self.failure {
            Failure::StoreBuffer(violation) => {
                Some(explain_interleaving(violation, &self.interleaving))
            }
            Failure::Fault(_) => None,
        }
    }
}

impl<E> Counterexample<E> {
    /// Checks a store-buffer violation against the axioms, which know nothing of the monitor.
    /// `None` for other failures.
    pub fn check(&self) -> Option<Result<(), ExplainError>> {
        match &self.failure {
            Failure::StoreBuffer(violation) => {
                Some(check_interleaving(violation, &self.interleaving))
            }
            Failure::Fault(_) => None,
        }
    }
}

impl<E: PartialEq> Counterexample<E> {
    /// Whether it is a fault that counts, not a memory limit of the monitor.
    pub(crate) fn is_fault(&self) -> bool {
        match &self.failure {
            Failure::StoreBuffer(_) => false,
            Failure::Fault(fault) => fault.is_counted(),
        }
    }
}

impl<E: PartialEq> Failure<E> {
    /// Whether two failures are the same: violations that have the same source locations, equal faults, and errors
    /// of the program of which `are_same` says so.
    pub fn is_same_as(&self, other: &Self, are_same: impl Fn(&E, &E) -> bool) -> bool {
        match (self, other) {
            (Failure::StoreBuffer(one), Failure::StoreBuffer(other)) => {
                one.distinct_key() == other.distinct_key()
            }
            (Failure::Fault(Fault::Program(one)), Failure::Fault(Fault::Program(other))) => {
                are_same(one, other)
            }
            (Failure::Fault(one), Failure::Fault(other)) => one == other,
            _ => false,
        }
    }
}

/// Counts and keeps findings.
#[derive(Clone, Debug)]
pub(crate) struct Findings<E> {
    pub(crate) kept: Vec<Counterexample<E>>,
    pub(crate) tally: ViolationTally,
    pub(crate) faults: u64,
    /// The number of executions with a violation.
    pub(crate) borderline: u64,
    /// The number of the current execution, from 1.
    pub(crate) execution: u64,
    /// For each violation of the current execution, the number of events up to and including it.
    violations_at: Vec<usize>,
    /// The number of violations in all executions that ran to their end.
    pub(crate) violations: u64,
    /// The number of executions that an assumption of the program has ended.
    pub(crate) pruned: u64,
    capacity: usize,
    continue_after_failure: bool,
    /// Whether violations are not recorded, because the steps are replayed.
    pub(crate) is_muted: bool,
    /// Whether the search should stop.
    pub(crate) should_stop: bool,
}

impl<E: Clone + PartialEq> Findings<E> {
    pub(crate) fn new(settings: &Settings) -> Self {
        Findings {
            kept: Vec::new(),
            tally: ViolationTally::with_capacity(1 << 12),
            faults: 0,
            borderline: 0,
            execution: 0,
            violations_at: Vec::new(),
            violations: 0,
            pruned: 0,
            capacity: settings.kept_findings.max(1),
            continue_after_failure: settings.continue_after_failure,
            is_muted: false,
            should_stop: false,
        }
    }

    /// Records everything that an execution shows.
    pub(crate) fn continuing_after_failure(self) -> Self {
        Findings {
            continue_after_failure: true,
            ..self
        }
    }

    /// Adds the findings of another worker.
    pub(crate) fn merge(&mut self, mut other: Self) {
        if self.kept.is_empty() {
            std::mem::swap(&mut self.kept, &mut other.kept);
        }
        for found in other.kept {
            let is_known = self
                .kept
                .iter()
                .any(|known| known.failure.is_same_as(&found.failure, E::eq));
            let is_room = match &found.failure {
                Failure::Fault(_) => self.has_room_for_fault(),
                Failure::StoreBuffer(_) => self.kept.len() < self.capacity,
            };
            if !is_known && is_room {
                self.kept.push(found);
            }
        }
        self.tally.merge(other.tally);
        self.faults += other.faults;
        self.borderline += other.borderline;
        self.violations += other.violations;
        self.pruned += other.pruned;
        self.should_stop |= other.should_stop;
    }

    /// Whether another fault can be kept. Violations do not use up the capacity for faults.
    fn has_room_for_fault(&self) -> bool {
        let faults = self.kept.iter().filter(|found| found.is_fault());
        faults.count() < self.capacity
    }

    /// Takes all findings.
    pub(crate) fn take(&mut self) -> Self {
        Findings {
            kept: std::mem::take(&mut self.kept),
            tally: std::mem::take(&mut self.tally),
            violations_at: std::mem::take(&mut self.violations_at),
            ..*self
        }
    }

    /// Resets the counts. What was kept stays.
    pub(crate) fn recount(&mut self) {
        (self.faults, self.borderline) = (0, 0);
        (self.violations, self.pruned) = (0, 0);
        self.violations_at.clear();
    }

    /// Exchanges what is kept with another search of the same program. Both keep their own counts.
    pub(crate) fn swap_kept(&mut self, to: &mut Self) {
        std::mem::swap(&mut self.kept, &mut to.kept);
        std::mem::swap(&mut self.tally, &mut to.tally);
    }

    /// Begins an execution that shares a prefix of this length with the last one.
    pub(crate) fn begin_execution(&mut self, prefix: usize) {
        self.execution += 1;
        let kept = self.violations_at.partition_point(|&at| at <= prefix);
        self.violations_at.truncate(kept);
    }

    /// Counts the violations of an execution that ran to its end.
    pub(crate) fn end_execution(&mut self) {
        self.borderline += u64::from(!self.violations_at.is_empty());
        self.violations += self.violations_at.len() as u64;
    }

    /// Records a violation of the current execution.
    pub(crate) fn violation(
        &mut self,
        violation: &Violation,
        evidence: Evidence<'_>,
        log: &ExecutionLog,
    ) {
        self.violations_at.push(log.len());
        if self.is_muted {
            return;
        }
        self.should_stop |= !self.continue_after_failure;
        let is_new = matches!(self.tally.record(violation), TallyResult::New(_));
        if is_new && self.kept.len() < self.capacity {
            self.kept.push(Counterexample {
                failure: Failure::StoreBuffer(Box::new(evidence.among_all(violation))),
                schedule: schedule_of(log),
                interleaving: evidence.accesses().to_vec(),
                optimistic_loads: evidence.optimistic_loads.to_vec(),
                execution: self.execution,
            });
        }
    }

    /// Records a fault of the current execution.
    pub(crate) fn fault(&mut self, fault: Fault<E>, schedule: Schedule, interleaving: &[Access]) {
        self.faults += u64::from(fault.is_counted());
        self.should_stop |= !self.continue_after_failure || !fault.is_program_fault();
        let is_known = self
            .kept
            .iter()
            .any(|found| matches!(&found.failure, Failure::Fault(known) if *known == fault));
        if !is_known && self.has_room_for_fault() {
            self.kept.push(Counterexample {
                failure: Failure::Fault(fault),
                schedule,
                interleaving: interleaving.to_vec(),
                optimistic_loads: Vec::new(),
                execution: self.execution,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use fencepost_memory::{Access, Address, Event, LocationId, MemoryModel, Operation, ThreadId};
    use fencepost_monitor::PlacedEvent;

    use super::*;

    fn found(failure: Failure<u32>) -> Counterexample<u32> {
        Counterexample {
            failure,
            schedule: Schedule::default(),
            interleaving: Vec::new(),
            optimistic_loads: Vec::new(),
            execution: 1,
        }
    }

    /// A violation with a distinct location.
    fn violation(location: u32) -> Failure<u32> {
        let placed = PlacedEvent {
            event: Event::next(
                Access {
                    location: Some(LocationId::from_index(location)),
                    ..Access::new(ThreadId(0), Operation::Store(Address(0)))
                },
                0,
                0,
            ),
            position: 0,
        };
        Failure::StoreBuffer(Box::new(Violation {
            model: MemoryModel::TSO,
            pending: placed,
            last: placed,
            event: placed,
        }))
    }

    /// Merges findings of workers that each were at their capacity.
    #[test]
    fn violations_leave_room_for_faults_of_other_workers() {
        let settings = Settings {
            kept_findings: 2,
            ..Settings::default()
        };
        let with = |problems: Vec<Failure<u32>>| {
            let mut findings = Findings::new(&settings);
            findings.kept = problems.into_iter().map(found).collect();
            findings
        };
        let fault = |number| Failure::Fault(Fault::Program(number));
        let mut all = with(vec![violation(1), violation(2)]);
        all.merge(with(vec![violation(3), fault(1), fault(1)]));
        all.merge(with(vec![fault(2), fault(3), violation(1)]));
        let faults: Vec<u32> = (all.kept.iter())
            .filter_map(|found| match &found.failure {
                Failure::Fault(Fault::Program(number)) => Some(*number),
                _ => None,
            })
            .collect();
        assert_eq!(faults, [1, 2]);
        assert_eq!(all.kept.len(), 4);
    }
}
