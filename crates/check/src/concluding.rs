//! From the explorer's report to the outcome of a check.

use std::sync::{Arc, OnceLock};

use fencepost_explore::{Failure, Fault, Limit};
use fencepost_memory::{LocationId, MemoryModel};
use fencepost_report::SourcePosition;
use fencepost_report::check::{Assumption, CheckSummary, Compared, FenceOrdering, Gap, Note};
use fencepost_runtime::{
    ComparedHeap, ComparedStates, Insertion, MOST_RETURNS, MOST_ROUNDS, Registry,
};

use super::details::Details;
use super::fences;
use super::naming::source_position;
use super::outcome::{Finding, Outcome};
use super::problems::gap;
use super::session::{Counterexample, Report, Session, explorer_settings};
use super::showing::Showing;

impl Session {
    /// The outcome of a check with this report.
    pub(super) fn outcome(&self, mut report: Report) -> Outcome {
        let showing = Arc::new(self.showing(!report.waits.is_empty()));
        let (findings, memory_limit) = self.take_findings(&mut report, &showing);
        let distinct_faults = findings.iter().filter(|f| !f.is_store_buffer).count() as u64;
        let bound = report.limits.iter().find_map(|limit| match limit {
            Limit::Preemptions(bound) => Some(*bound),
            _ => None,
        });
        let is_stopped = report.limits.len() > 1;
        let declared = self.registry.declared_waits();
        let blocked = report.waits.iter().copied().flatten();
        let (declared, waits): (Vec<_>, Vec<_>) = blocked.partition(|at| declared.contains(at));
        let summary = CheckSummary {
            executions: report.executions,
            pruned: report.pruned,
            borderline: report.borderline,
            steps: report.steps,
            abandoned: report.abandoned,
            problems: report.violations + report.faults,
            distinct: report.distinct_violations as u64 + distinct_faults,
            distinct_is_lower_bound: false,
            gaps: self.gaps(&report, memory_limit),
            covered_preemptions: bound.filter(|_| !is_stopped),
            waiting_loops: self.positions(waits),
            declared_waits: self.positions(declared),
            tried_rounds: None,
            repeated_waits: self.positions(self.registry.waits()),
            compared: self.compared(),
            store_buffers: self.checker.setup.store_buffers.is_some(),
            assumptions: self.assumptions(),
            notes: { notes(&report, &self.registry, !findings.is_empty()).into_iter() }
                .chain(self.checkpoint_note.clone())
                .collect(),
        };
        let details = Details {
            showing,
            shown: OnceLock::new(),
            faults: report.faults,
            violations: report.violations,
            distinct_violations: report.distinct_violations as u64,
            borderline: report.borderline,
            findings,
            summary,
            elapsed: report.elapsed,
            fence_inference: None,
        };
        if details.faults > 0 {
            Outcome::ProgramError(details)
        } else if details.violations > 0 {
            Outcome::NotStoreBufferSafe(details)
        } else if details.summary.gaps.is_empty() {
            Outcome::Verified(details)
        } else {
            Outcome::Incomplete(details)
        }
    }

    /// What shows the findings of this session.
    fn showing(&self, has_waits: bool) -> Showing {
        let stride = self
            .checker
            .setup
            .store_buffers
            .and(self.registry.thread_id_space());
        Showing::new(self, self.model(), stride)
            .with_waits(has_waits)
            .with_further_checks(fences::further_checks(&self.checker))
    }

    /// The memory model that the outcome is about.
    fn model(&self) -> MemoryModel {
        match self.checker.setup.store_buffers {
            None => explorer_settings(&self.checker).monitored_model.model(),
            Some(_) => self.checker.setup.target.monitored_model().model(),
        }
    }

    /// The findings of a report, and the memory limit if the monitor has reached it.
    fn take_findings(
        &self,
        report: &mut Report,
        showing: &Arc<Showing>,
    ) -> (Vec<Finding>, Option<u64>) {
        let mut findings = Vec::with_capacity(report.findings.len());
        let mut memory_limit = None;
        for (index, found) in report.findings.drain(..).enumerate() {
            if let Failure::Fault(Fault::OutOfMemory(limit)) = &found.failure {
                memory_limit = Some(limit.limit as u64);
                continue;
            }
            stop_if_unsound(&found);
            findings.push(Finding {
                number: findings.len() + 1,
                is_store_buffer: matches!(found.failure, Failure::StoreBuffer(_)),
                found,
                consequence: None,
                first_values: self.registry.first_values(index),
                showing: Arc::clone(showing),
                finding: OnceLock::new(),
                shown: OnceLock::new(),
            });
        }
        (findings, memory_limit)
    }

    /// Why some executions were not run.
    fn gaps(&self, report: &Report, memory_limit: Option<u64>) -> Vec<Gap> {
        let checker = &self.checker;
        // Where the search was when something else ended it, which is a gap of its own.
        let is_smaller_bound = |limit: &Limit| matches!(limit, Limit::Preemptions(bound) if *bound < checker.preemption_bound);
        let limits = report.limits.iter();
        let limits = limits.filter(|limit| !is_smaller_bound(limit));
        let mut gaps: Vec<Gap> = limits
            .map(|&limit| gap(limit, checker, checker.replayed.is_some()))
            .collect();
        if let Some(bytes) = memory_limit {
            gaps.retain(|gap| *gap != Gap::StoppedAtProblem);
            gaps.push(Gap::MemoryBudget(bytes));
        }
        if self.registry.has_excess_drain() {
            gaps.push(Gap::EarlyDrain);
        }
        if self.registry.has_bounded_wait() {
            gaps.push(Gap::WaitBound(MOST_RETURNS));
        }
        let loops = self.positions(self.registry.loops_on_unseen_memory());
        if !loops.is_empty() {
            gaps.push(Gap::UnseenMemory(loops));
        }
        let loops = self.positions(self.registry.endless_loops());
        if !loops.is_empty() {
            gaps.push(Gap::EndlessLoops(MOST_ROUNDS, loops));
        }
        gaps
    }

    /// What was compared before a loop was taken to wait.
    fn compared(&self) -> Compared {
        match (self.setup.compared_states, self.registry.compared_heap()) {
            (ComparedStates::Never | ComparedStates::OnDemand, _) => Compared::Nothing,
            (ComparedStates::Always, ComparedHeap::Nothing) => Compared::Stacks,
            (ComparedStates::Always, ComparedHeap::Part) => Compared::MostMemory,
            (ComparedStates::Always, ComparedHeap::All) => Compared::Memory,
        }
    }

    /// Where these locations are, in the order of the source.
    fn positions(&self, locations: impl IntoIterator<Item = LocationId>) -> Vec<SourcePosition> {
        let mut positions: Vec<SourcePosition> = locations
            .into_iter()
            .map(|location| source_position(self.registry.location(location)))
            .collect();
        positions.sort();
        positions.dedup();
        positions
    }

    /// The assumptions that follow from the settings.
    fn assumptions(&self) -> Vec<Assumption> {
        let checker = &self.checker;
        let mut all = Vec::new();
        if !checker.monitor && checker.setup.store_buffers.is_none() {
            all.push(Assumption::ImmediateStores);
        }
        if !checker.setup.leak_check {
            all.push(Assumption::NoLeaks);
        }
        if !checker.setup.spurious_wakeups {
            all.push(Assumption::NoSpuriousWakeups);
        }
        if checker.allows_races {
            all.push(Assumption::PlainAccessesKept);
        }
        if let Some((low, high)) = self.registry.open_values() {
            all.push(Assumption::OpenValues { low, high });
        }
        for (place, insertion) in &checker.inserted_fences {
            all.push(Assumption::InsertedFence {
                fence: match insertion {
                    Insertion::StoreBarrier => FenceOrdering::Release,
                    Insertion::Fence | Insertion::SeqCstStore => FenceOrdering::SeqCst,
                },
                before: SourcePosition::new(&place.file, place.line, place.column),
            });
        }
        all
    }
}

/// Remarks that do not depend on the outcome.
fn notes(report: &Report, registry: &Registry, has_findings: bool) -> Vec<Note> {
    let not_met = registry.insertions().unmatched();
    let mut notes: Vec<Note> = not_met
        .map(|place| Note::UnusedFence(SourcePosition::new(&place.file, place.line, place.column)))
        .collect();
    if report.steps == 0 && report.executions > 0 && !has_findings {
        match (registry.thread_count(), registry.has_objects()) {
            (1, false) => notes.push(Note::NothingChecked),
            (1, true) => {}
            _ => notes.push(Note::NothingShared),
        }
    }
    notes
}

/// A violation that does not check is a bug of ours, and nothing that the tool says can be trusted.
fn stop_if_unsound(found: &Counterexample) {
    if let Some(Err(error)) = found.check() {
        panic!("{error} (schedule: {})", found.schedule);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::Checker;
    use crate::{Outcome, Strategy};
    use fencepost::sync::atomic::{AtomicU32, Ordering::*};
    use fencepost::thread;

    #[test]
    fn workers_without_memory_leave_the_check_incomplete() {
        for workers in [1, 2, 4] {
            let mut checker = Checker::new().strategy(Strategy::Random).executions(100);
            checker.settings.memory = 1;
            checker.settings.workers = workers;
            let outcome = checker.run(|| {
                let data: Arc<[AtomicU32; 2]> = Arc::new([0, 0].map(AtomicU32::new));
                let other = Arc::clone(&data);
                let thread = thread::spawn(move || {
                    other[0].store(1, Relaxed);
                    other[1].store(1, Relaxed);
                    other[0].load(Relaxed)
                });
                data[1].store(2, Relaxed);
                data[0].load(Relaxed);
                thread.join().unwrap();
            });
            assert!(matches!(outcome, Outcome::Incomplete(_)), "{outcome}");
            assert_eq!((outcome.errors(), outcome.findings().len()), (0, 0));
            assert!(outcome.to_string().contains("memory"), "{outcome}");
        }
    }
}
