//! Confirming findings: each one is replayed from its schedule before it is reported.

use fencepost_explore::{AfterSchedule, Failure, Fault, Replayer};
use fencepost_runtime::{ProgramError, Runtime};

use super::sameness::is_same_kind;
use super::session::{Counterexample, Report, Session};

impl Session {
    /// Replays each finding from its schedule alone. A failure that a replay does not reproduce is reported as
    /// nondeterminism of the program.
    pub(super) fn confirm(&self, report: &mut Report, mut replayer: Replayer<Runtime>) {
        if self.is_replay() {
            return self.registry.keep_first_values();
        }
        replayer.program_mut().keep_first_values();
        let mut unconfirmed_violations = 0;
        for found in &mut report.findings {
            if !is_replayable(found) {
                self.registry.keep_first_values();
                continue;
            }
            let is_violation = matches!(found.failure, Failure::StoreBuffer(_));
            // The search ended at this violation, so nothing after it was ever run.
            let after = match is_violation && !self.settings.continue_after_failure {
                true => AfterSchedule::Stop,
                false => AfterSchedule::RunToEnd,
            };
            let replayed = replayer.replay(&found.schedule, after);
            self.registry.keep_first_values();
            if !confirm_by(found, replayed) {
                unconfirmed_violations += usize::from(is_violation);
            }
        }
        recount(report, unconfirmed_violations);
    }
}

/// Whether a replay of the schedule can show the failure again.
fn is_replayable(found: &Counterexample) -> bool {
    match &found.failure {
        Failure::StoreBuffer(_) => true,
        Failure::Fault(fault) => matches!(fault, Fault::Program(_) | Fault::Deadlock(_)),
    }
}

/// Compares a finding with what its replay has shown, and corrects it. Whether the failure is still the same.
fn confirm_by(found: &mut Counterexample, replayed: Vec<Counterexample>) -> bool {
    let refused = replayed.iter().find(|other| is_refused(other));
    let refused = refused.map(|other| other.failure.clone());
    let same = replayed
        .into_iter()
        .find(|other| is_same_kind(&other.failure, &found.failure));
    match (same, refused) {
        // The values of the replay belong together: those of the search may come from several executions.
        (Some(same), _) => {
            found.interleaving = same.interleaving;
            found.optimistic_loads = same.optimistic_loads;
            if let Failure::StoreBuffer(_) = same.failure {
                found.failure = same.failure;
            }
            true
        }
        // A misuse, such as state kept from an earlier execution, explains why they differ.
        (None, Some(refused)) => {
            found.failure = refused;
            false
        }
        // A misuse is an error, whether it happens again or not.
        (None, None) if is_refused(found) => true,
        (None, None) => {
            let fault = match &found.failure {
                Failure::StoreBuffer(_) => None,
                Failure::Fault(fault) => Some(Box::new(fault.clone())),
            };
            let unreproduced = ProgramError::Unreproduced { fault };
            found.failure = Failure::Fault(Fault::Program(unreproduced));
            false
        }
    }
}

/// Whether Fencepost refuses what the program does.
fn is_refused(found: &Counterexample) -> bool {
    matches!(
        &found.failure,
        Failure::Fault(Fault::Program(ProgramError::Misuse { .. }))
    )
}

/// Counts unconfirmed violations as failures of the program.
fn recount(report: &mut Report, unconfirmed_violations: usize) {
    report.faults += unconfirmed_violations as u64;
    report.distinct_violations -= unconfirmed_violations;
    if report.distinct_violations == 0 {
        (report.violations, report.borderline) = (0, 0);
    }
}
