//! What has been found: counted, and kept once for each kind.

use fencepost_memory::Access;
use fencepost_monitor::{
    ExplainError, Finding, TallyResult, Violation, ViolationTally, check_interleaving,
    explain_interleaving,
};

use crate::driver::settings::Settings;
use crate::execution::fault::Fault;
use crate::execution::log::ExecutionLog;
use crate::execution::monitor_feed::Seen;
use crate::execution::run::schedule_of;
use crate::program::OptimisticLoad;
use crate::schedule::Schedule;

/// What was found.
#[derive(Clone, Debug)]
pub enum Failure<E> {
    /// The program is not store-buffer safe.
    StoreBuffer(Box<Violation>),
    /// The execution is wrong.
    Fault(Fault<E>),
}

/// Something found, and the execution that shows it.
#[derive(Clone, Debug)]
pub struct Counterexample<E> {
    /// What.
    pub failure: Failure<E>,
    /// The execution up to there.
    pub schedule: Schedule,
    /// Its memory accesses.
    pub interleaving: Vec<Access>,
    /// Those of them by which an operation only looks, by position. Known of violations.
    pub optimistic_loads: Vec<(usize, OptimisticLoad)>,
    /// In which execution, from 1. With several workers that do not run a sample: of the one that found it.
    pub execution: u64,
}

impl<E> Counterexample<E> {
    /// The cycle and the checked witness of a store-buffer violation. None if it is something else.
    ///
    /// It is made of the interleaving alone, for who reports it: most of what is found is first run again.
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
    /// Whether a store-buffer violation is one by the axioms too, which know nothing of the monitor. None if it is
    /// something else.
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
    /// Whether the execution is wrong, and not only too large for the monitor.
    pub(crate) fn is_fault(&self) -> bool {
        match &self.failure {
            Failure::StoreBuffer(_) => false,
            Failure::Fault(fault) => fault.counts(),
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
    /// How many executions had a violation.
    pub(crate) borderline: u64,
    /// The execution that is being run, from 1.
    pub(crate) execution: u64,
    /// For each violation of the execution, the number of events up to it, with it.
    violations_at: Vec<usize>,
    /// The violations of all executions that were run to an end, each in each of them.
    pub(crate) violations: u64,
    capacity: usize,
    continue_after_failure: bool,
    /// Whether what is found now has been found before.
    pub(crate) is_muted: bool,
    /// Whether there is enough.
    pub(crate) is_enough: bool,
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
            capacity: settings.kept_findings.max(1),
            continue_after_failure: settings.continue_after_failure,
            is_muted: false,
            is_enough: false,
        }
    }

    /// The same, for who wants to see all that an execution shows.
    pub(crate) fn going_on(self) -> Self {
        Findings {
            continue_after_failure: true,
            ..self
        }
    }

    /// Adds what another worker has found.
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
        self.is_enough |= other.is_enough;
    }

    /// Violations leave room for faults.
    fn has_room_for_fault(&self) -> bool {
        let faults = self.kept.iter().filter(|found| found.is_fault());
        faults.count() < self.capacity
    }

    /// All of it, for who has no use for what is left.
    pub(crate) fn take(&mut self) -> Self {
        Findings {
            kept: std::mem::take(&mut self.kept),
            tally: std::mem::take(&mut self.tally),
            violations_at: std::mem::take(&mut self.violations_at),
            ..*self
        }
    }

    /// Counts from the beginning. What was kept is kept.
    pub(crate) fn recount(&mut self) {
        (self.faults, self.borderline, self.violations) = (0, 0, 0);
        self.violations_at.clear();
    }

    /// Hands over what is kept to another search, which then counts for itself.
    pub(crate) fn hand_over(&mut self, to: &mut Self) {
        std::mem::swap(&mut self.kept, &mut to.kept);
        std::mem::swap(&mut self.tally, &mut to.tally);
    }

    /// An execution begins that repeats so many events of the last one.
    pub(crate) fn begin_execution(&mut self, repeated: usize) {
        self.execution += 1;
        let kept = self.violations_at.partition_point(|&at| at <= repeated);
        self.violations_at.truncate(kept);
    }

    /// The execution was run to its end.
    pub(crate) fn end_execution(&mut self) {
        self.borderline += u64::from(!self.violations_at.is_empty());
        self.violations += self.violations_at.len() as u64;
    }

    pub(crate) fn violation(&mut self, violation: &Violation, seen: Seen<'_>, log: &ExecutionLog) {
        self.violations_at.push(log.len());
        if self.is_muted {
            return;
        }
        self.is_enough |= !self.continue_after_failure;
        let is_new = matches!(self.tally.record(violation), TallyResult::New(_));
        if is_new && self.kept.len() < self.capacity {
            self.kept.push(Counterexample {
                failure: Failure::StoreBuffer(Box::new(seen.among_all(violation))),
                schedule: schedule_of(log),
                interleaving: seen.accesses.to_vec(),
                optimistic_loads: seen.optimistic_loads.to_vec(),
                execution: self.execution,
            });
        }
    }

    pub(crate) fn fault(&mut self, fault: Fault<E>, schedule: Schedule, interleaving: &[Access]) {
        self.faults += u64::from(fault.counts());
        self.is_enough |= !self.continue_after_failure || !fault.is_program_fault();
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

    /// A violation of its own, by the places of its events.
    fn violation(place: u32) -> Failure<u32> {
        let placed = PlacedEvent {
            event: Event::next(
                Access {
                    location: Some(LocationId::from_index(place)),
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

    /// What several workers have found, and each had no room for more.
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
