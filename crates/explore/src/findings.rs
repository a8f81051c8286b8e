//! What has been found: counted, and kept once for each kind.

use fencepost_memory::Access;
use fencepost_monitor::{
    ExplainError, Finding, Recorded, Tally, Violation, check_interleaving, explain_interleaving,
};

use crate::fault::Fault;
use crate::past::Past;
use crate::program::Glance;
use crate::run::schedule_of;
use crate::schedule::Schedule;
use crate::settings::Settings;
use crate::watch::Seen;

/// What was found.
#[derive(Clone, Debug)]
pub enum Problem<E> {
    /// The program is not store-buffer safe.
    StoreBuffer(Box<Violation>),
    /// The execution is wrong.
    Fault(Fault<E>),
}

/// Something found, and the execution that shows it.
#[derive(Clone, Debug)]
pub struct Found<E> {
    /// What.
    pub problem: Problem<E>,
    /// The execution up to there.
    pub schedule: Schedule,
    /// Its memory accesses.
    pub interleaving: Vec<Access>,
    /// Those of them by which an operation only looks, by position. Known of violations.
    pub glances: Vec<(usize, Glance)>,
    /// In which execution, from 1. With several workers that do not run a sample: of the one that found it.
    pub execution: u64,
}

impl<E> Found<E> {
    /// The cycle and the checked witness of a store-buffer violation. None if it is something else.
    ///
    /// It is made of the interleaving alone, for who reports it: most of what is found is first run again.
    pub fn explain(&self) -> Option<Result<Finding, ExplainError>> {
        match &self.problem {
            Problem::StoreBuffer(violation) => {
                Some(explain_interleaving(violation, &self.interleaving))
            }
            Problem::Fault(_) => None,
        }
    }
}

impl<E> Found<E> {
    /// Whether a store-buffer violation is one by the axioms too, which know nothing of the monitor. None if it is
    /// something else.
    pub fn check(&self) -> Option<Result<(), ExplainError>> {
        match &self.problem {
            Problem::StoreBuffer(violation) => {
                Some(check_interleaving(violation, &self.interleaving))
            }
            Problem::Fault(_) => None,
        }
    }
}

impl<E: PartialEq> Found<E> {
    /// Whether the execution is wrong, and not only too large for the monitor.
    pub(crate) fn is_fault(&self) -> bool {
        match &self.problem {
            Problem::StoreBuffer(_) => false,
            Problem::Fault(fault) => fault.counts(),
        }
    }

    /// Whether the same is wrong, in perhaps another execution.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.problem, &other.problem) {
            (Problem::StoreBuffer(one), Problem::StoreBuffer(two)) => {
                one.distinct_key() == two.distinct_key()
            }
            (Problem::Fault(one), Problem::Fault(two)) => one == two,
            _ => false,
        }
    }
}

/// Counts and keeps findings.
#[derive(Clone, Debug)]
pub(crate) struct Findings<E> {
    pub(crate) kept: Vec<Found<E>>,
    pub(crate) tally: Tally,
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
    goes_on: bool,
    /// Whether what is found now has been found before.
    pub(crate) is_muted: bool,
    /// Whether there is enough.
    pub(crate) is_enough: bool,
}

impl<E: Clone + PartialEq> Findings<E> {
    pub(crate) fn new(settings: &Settings) -> Self {
        Findings {
            kept: Vec::new(),
            tally: Tally::with_capacity(1 << 12),
            faults: 0,
            borderline: 0,
            execution: 0,
            violations_at: Vec::new(),
            violations: 0,
            capacity: settings.kept_findings.max(1),
            goes_on: settings.goes_on,
            is_muted: false,
            is_enough: false,
        }
    }

    /// The same, for who wants to see all that an execution shows.
    pub(crate) fn going_on(self) -> Self {
        Findings {
            goes_on: true,
            ..self
        }
    }

    /// Adds what another worker has found.
    pub(crate) fn merge(&mut self, mut other: Self) {
        if self.kept.is_empty() {
            std::mem::swap(&mut self.kept, &mut other.kept);
        }
        for found in other.kept {
            let is_known = self.kept.iter().any(|known| known.is_same(&found));
            let is_room = match &found.problem {
                Problem::Fault(_) => self.has_room_for_fault(),
                Problem::StoreBuffer(_) => self.kept.len() < self.capacity,
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

    pub(crate) fn violation(&mut self, violation: &Violation, seen: Seen<'_>, past: &Past) {
        self.violations_at.push(past.len());
        if self.is_muted {
            return;
        }
        self.is_enough |= !self.goes_on;
        let is_new = matches!(self.tally.record(violation), Recorded::New(_));
        if is_new && self.kept.len() < self.capacity {
            self.kept.push(Found {
                problem: Problem::StoreBuffer(Box::new(seen.among_all(violation))),
                schedule: schedule_of(past),
                interleaving: seen.accesses.to_vec(),
                glances: seen.glances.to_vec(),
                execution: self.execution,
            });
        }
    }

    pub(crate) fn fault(&mut self, fault: Fault<E>, schedule: Schedule, interleaving: &[Access]) {
        self.faults += u64::from(fault.counts());
        self.is_enough |= !self.goes_on || !fault.is_about_program();
        let is_known = self
            .kept
            .iter()
            .any(|found| matches!(&found.problem, Problem::Fault(known) if *known == fault));
        if !is_known && self.has_room_for_fault() {
            self.kept.push(Found {
                problem: Problem::Fault(fault),
                schedule,
                interleaving: interleaving.to_vec(),
                glances: Vec::new(),
                execution: self.execution,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use fencepost_memory::{Access, Address, Event, LocationId, MemoryModel, Operation, ThreadId};
    use fencepost_monitor::Placed;

    use super::*;

    fn found(problem: Problem<u32>) -> Found<u32> {
        Found {
            problem,
            schedule: Schedule::default(),
            interleaving: Vec::new(),
            glances: Vec::new(),
            execution: 1,
        }
    }

    /// A violation of its own, by the places of its events.
    fn violation(place: u32) -> Problem<u32> {
        let placed = Placed {
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
        Problem::StoreBuffer(Box::new(Violation {
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
        let with = |problems: Vec<Problem<u32>>| {
            let mut findings = Findings::new(&settings);
            findings.kept = problems.into_iter().map(found).collect();
            findings
        };
        let fault = |number| Problem::Fault(Fault::Program(number));
        let mut all = with(vec![violation(1), violation(2)]);
        all.merge(with(vec![violation(3), fault(1), fault(1)]));
        all.merge(with(vec![fault(2), fault(3), violation(1)]));
        let faults: Vec<u32> = (all.kept.iter())
            .filter_map(|found| match &found.problem {
                Problem::Fault(Fault::Program(number)) => Some(*number),
                _ => None,
            })
            .collect();
        assert_eq!(faults, [1, 2]);
        assert_eq!(all.kept.len(), 4);
    }
}
