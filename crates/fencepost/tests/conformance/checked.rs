//! All outcomes of a program in a check, and its data races.
#![allow(dead_code)] // Not every test uses all of it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use fencepost_explore::{
    Failure, Fault, MonitoredModel, Performed, Program as Explored, Settings, ThreadStatus, explore,
};
use fencepost_memory::ThreadId;
use fencepost_runtime::{Checked, LocationRef, ProgramError, Race, Registry, Runtime, Setup, Stop};

use crate::explorer::apply_restart;
use crate::journal::{End, Journal, Outcome};
use crate::over_fencepost;
use crate::program::Program;
use crate::support::{is_enabled, passed_on_to_runtime};

/// A program with more executions is left out.
const MOST_EXECUTIONS: u64 = 30_000;

/// The program, and the outcomes of its executions so far.
struct Observed {
    runtime: Runtime,
    journal: Arc<Journal>,
    outcomes: Arc<Mutex<BTreeSet<Outcome>>>,
    /// Whether the execution has failed, and so has no outcome.
    has_failed: bool,
}

impl Observed {
    /// The threads that have not ended, and whether one of them can continue.
    fn is_blocked(&self) -> bool {
        let mut pending = (0..self.runtime.thread_bound() as u32).filter_map(|thread| {
            match self.runtime.status(ThreadId(thread)) {
                ThreadStatus::Pending { intent, .. } => Some(intent),
                _ => None,
            }
        });
        !pending.any(|intent| is_enabled(&self.runtime, intent))
    }
}

impl Explored for Observed {
    passed_on_to_runtime!();

    fn start(&mut self, performed: &mut Performed) -> Result<(), Stop> {
        self.journal.clear();
        let result = self.runtime.start(performed);
        self.has_failed = result.is_err();
        result
    }

    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop> {
        let result = self.runtime.step(thread, outcome, performed);
        self.has_failed |= result.is_err();
        result
    }

    fn finish(&mut self, is_complete: bool) -> Result<(), Stop> {
        let end = match is_complete {
            _ if self.has_failed => None,
            true => Some(End::Done),
            // An execution that was not continued has no outcome.
            false => self.is_blocked().then_some(End::Blocked),
        };
        if let Some(end) = end {
            let outcome = (end, self.journal.results());
            self.outcomes.lock().unwrap().insert(outcome);
        }
        self.runtime.finish(is_complete)
    }
}

/// What a check of a program has found.
pub struct Found {
    pub outcomes: BTreeSet<Outcome>,
    pub executions: u64,
    /// One of each kind.
    pub races: Vec<Race>,
    /// The messages.
    pub panics: BTreeSet<String>,
    /// Other failures, except for deadlocks.
    pub others: Vec<String>,
}

/// All outcomes of a program. None if it has too many executions.
pub fn outcomes(program: &Arc<Program>) -> Option<BTreeSet<Outcome>> {
    found(program, Setup::default()).map(|found| found.outcomes)
}

/// Checks a program. None if it has too many executions.
pub fn found(program: &Arc<Program>, mut setup: Setup) -> Option<Found> {
    let registry = Arc::new(Registry::new(LocationRef::caller()));
    let journal = Arc::new(Journal::default());
    let (checked_program, checked_journal) = (program.clone(), journal.clone());
    let checked: Checked =
        Arc::new(move || over_fencepost::run(&checked_program, checked_journal.clone(), None));
    let settings = Settings {
        monitored_model: MonitoredModel::None,
        continue_after_failure: true,
        max_executions: Some(MOST_EXECUTIONS),
        ..Settings::default()
    };
    loop {
        let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
        let observed = || Observed {
            runtime: Runtime::new(checked.clone(), setup, registry.clone()),
            journal: journal.clone(),
            outcomes: outcomes.clone(),
            has_failed: false,
        };
        let report = explore(observed, &settings, &mut |_| ControlFlow::Continue(()));
        if let Some(restart) = report.restart {
            apply_restart(restart, &mut setup);
            continue;
        }
        if !report.is_complete() {
            return None;
        }
        let (mut races, mut panics, mut others) = (Vec::new(), BTreeSet::new(), Vec::new());
        for finding in report.findings {
            match finding.failure {
                Failure::Fault(Fault::Program(ProgramError::Race(race))) => races.push(*race),
                Failure::Fault(Fault::Program(ProgramError::Panic { message, .. })) => {
                    panics.insert(message);
                }
                Failure::Fault(Fault::Deadlock(_)) => {}
                other => others.push(format!("{other:?}")),
            }
        }
        return Some(Found {
            outcomes: std::mem::take(&mut outcomes.lock().unwrap()),
            executions: report.executions,
            races,
            panics,
            others,
        });
    }
}
