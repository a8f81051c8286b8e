//! Running single executions again after an exploration.

use crate::execution::findings::{Counterexample, Findings};
use crate::execution::run::Run;
use crate::program::Program;
use crate::sampling::{AfterSchedule, FastReplay, Replay, Sampled};
use crate::schedule::Schedule;

/// A program that was explored. Running single executions again costs little, since all memory has
/// been allocated.
pub struct Replayer<P: Program> {
    search: Sampled<P, FastReplay>,
    /// Empty findings, for each replay.
    findings: Findings<P::Error>,
}

impl<P: Program> Replayer<P> {
    pub(crate) fn new(mut run: Run<P>, findings: Findings<P::Error>) -> Self {
        // A replay plans no other executions.
        run.learned = None;
        // Schedules of counterexamples start with the prefix.
        run.prefix = Schedule::default();
        let schedule = Schedule::default();
        Replayer {
            search: Sampled::new(
                run,
                FastReplay {
                    replay: Replay { schedule },
                    after: AfterSchedule::RunToEnd,
                },
            ),
            findings: findings.continuing_after_failure(),
        }
    }

    /// The program, between two executions.
    pub fn program_mut(&mut self) -> &mut P {
        &mut self.search.run.program
    }

    /// Runs the execution with this schedule. Returns everything that it shows.
    pub fn replay(
        &mut self,
        schedule: &Schedule,
        after: AfterSchedule,
    ) -> Vec<Counterexample<P::Error>> {
        self.search.chooser.replay.schedule.clone_from(schedule);
        self.search.chooser.after = after;
        self.search.run.findings = self.findings.clone();
        self.search.run_execution(0);
        std::mem::take(&mut self.search.run.findings.kept)
    }
}
