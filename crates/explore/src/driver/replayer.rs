//! What was explored, at hand to be run again.

use crate::execution::findings::{Counterexample, Findings};
use crate::execution::run::Run;
use crate::program::Program;
use crate::sampling::{AfterSchedule, Again, Replay, Sampled};
use crate::schedule::Schedule;

/// A program that was explored. Single executions of it can be run again at little cost, since all room has been
/// made; nothing else is left of the exploration.
pub struct Replayer<P: Program> {
    search: Sampled<P, Again>,
    /// Of a new exploration.
    findings: Findings<P::Error>,
}

impl<P: Program> Replayer<P> {
    pub(crate) fn new(mut run: Run<P>, findings: Findings<P::Error>) -> Self {
        // No other execution is planned.
        run.learned = None;
        // Schedules of counterexamples start with the prefix.
        run.prefix = Schedule::default();
        let schedule = Schedule::default();
        Replayer {
            search: Sampled::new(
                run,
                Again {
                    replay: Replay { schedule },
                    after: AfterSchedule::RunToEnd,
                },
            ),
            findings: findings.going_on(),
        }
    }

    /// The program. No execution of it is being run.
    pub fn program_mut(&mut self) -> &mut P {
        &mut self.search.run.program
    }

    /// Runs an execution from its beginning. All that it shows.
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
