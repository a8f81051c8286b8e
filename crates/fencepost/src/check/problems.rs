//! From what the explorer found to what can be reported.

use fencepost_explore::{Fault, Found, Intent, Limit, Problem as FoundProblem, Standing, Waiting};
use fencepost_memory::{LocationId, ThreadId};
use fencepost_report::SourcePosition;
use fencepost_report::check::{CheckFinding, Gap, Problem, RaceAccess, Wait};

use crate::rt::{Names, Place, ProgramError};

fn position(place: &Place) -> SourcePosition {
    SourcePosition::new(place.file.clone(), place.line, place.column)
}

/// Makes reportable what was found.
pub(super) struct Translator<'a> {
    pub(super) names: &'a Names,
}

impl Translator<'_> {
    pub(super) fn finding(&self, found: &Found<ProgramError>, replay: String) -> CheckFinding {
        let problem = match &found.problem {
            FoundProblem::StoreBuffer(shown) => Problem::StoreBuffer {
                violation: shown.violation,
                explained: shown.explained.clone(),
            },
            FoundProblem::Fault(fault) => self.fault(fault),
        };
        CheckFinding {
            problem,
            interleaving: found.interleaving.clone(),
            schedule: found.schedule.to_string(),
            replay,
            execution: found.execution,
        }
    }

    fn at(&self, location: Option<LocationId>) -> Option<SourcePosition> {
        location
            .and_then(|location| self.names.location(location))
            .map(SourcePosition::from)
    }

    fn fault(&self, fault: &Fault<ProgramError>) -> Problem {
        match fault {
            Fault::Program(error) => self.error(error),
            Fault::Deadlock(waiting) => Problem::Deadlock {
                waits: self.waits(waiting),
            },
            Fault::Livelock(waiting) => Problem::Livelock {
                waits: self.waits(waiting),
            },
            Fault::StepLimit { steps, last } => Problem::StepLimit {
                steps: *steps,
                thread: last.thread,
                location: self.at(last.location),
            },
            Fault::NonDeterminism {
                thread,
                step,
                expected,
                found,
                location,
            } => Problem::NonDeterminism {
                expected: format!("at step {step}, to {}", self.intent(*expected)),
                found: match found {
                    Standing::Before { intent, .. } => self.intent(*intent),
                    Standing::Ended => "end".to_owned(),
                    Standing::Absent => "not exist".to_owned(),
                },
                thread: *thread,
                location: self.at(*location),
            },
            Fault::NoSuchExecution { step, thread } => Problem::BadUse {
                message: format!(
                    "the schedule does not fit the program: at step {step} thread {} cannot go on; \
                     has the program been changed since the schedule was made?",
                    self.names.thread(*thread)
                ),
                location: None,
            },
            Fault::OutOfMemory(limit) => Problem::BadUse {
                message: limit.to_string(),
                location: None,
            },
        }
    }

    fn error(&self, error: &ProgramError) -> Problem {
        match error {
            ProgramError::Panic {
                thread,
                message,
                place,
            } => Problem::Panic {
                thread: *thread,
                message: message.clone(),
                location: place.as_ref().map(position),
            },
            ProgramError::Race(race) => {
                let access = |access: &crate::rt::RaceAccess| RaceAccess {
                    thread: access.thread,
                    writes: access.is_write,
                    location: Some(position(&access.place)),
                };
                Problem::Race {
                    cell: format!("cell made at {}", race.cell),
                    first: access(&race.first),
                    second: access(&race.second),
                }
            }
            ProgramError::Leak { what, place } => Problem::Leak {
                what: (*what).to_owned(),
                location: Some(position(place)),
            },
            ProgramError::StackOverflow { thread, .. } => Problem::StackOverflow {
                thread: *thread,
                location: None,
            },
            ProgramError::BadUse { message, place } => Problem::BadUse {
                message: message.clone(),
                location: place.as_ref().map(position),
            },
            other => Problem::BadUse {
                message: other.to_string(),
                location: None,
            },
        }
    }

    fn waits(&self, waiting: &[Waiting]) -> Vec<Wait> {
        let wait = |waiting: &Waiting| Wait {
            thread: waiting.thread,
            what: self.awaited(waiting.intent),
            location: self.at(waiting.location),
        };
        waiting.iter().map(wait).collect()
    }

    /// To follow "waits for".
    fn awaited(&self, intent: Intent) -> String {
        match intent {
            Intent::Access { object, .. } => format!("`{}`", self.names.object(object)),
            Intent::Join(thread) => format!("the end of {}", self.thread(thread)),
            Intent::Hint => "a change of what it reads".to_owned(),
            Intent::Local => "its turn".to_owned(),
        }
    }

    fn thread(&self, thread: ThreadId) -> &str {
        self.names.thread(thread)
    }

    fn intent(&self, intent: Intent) -> String {
        match intent {
            Intent::Access { object, .. } => format!("operate on `{}`", self.names.object(object)),
            Intent::Join(thread) => format!("join {}", self.thread(thread)),
            Intent::Hint => "hint that it spins".to_owned(),
            Intent::Local => "perform a fence".to_owned(),
        }
    }
}

/// Why some executions were not run.
pub(super) fn gap(limit: Limit, seed: u64, is_replay: bool) -> Gap {
    match limit {
        Limit::Preemptions(bound) => Gap::PreemptionBound(bound),
        Limit::Spins(rounds) => Gap::SpinBound(rounds),
        Limit::Executions(most) => Gap::ExecutionBudget(most),
        Limit::Time(most) => Gap::TimeBudget(most),
        Limit::Sample if is_replay => Gap::Replay,
        Limit::Sample => Gap::Random { seed },
        Limit::Found => Gap::StoppedAtProblem,
        Limit::Stopped => Gap::Interrupted,
    }
}
