//! From what the explorer found to what can be reported.

use fencepost_explore::{
    BlockedThread, Counterexample, Failure, Fault, Intent, Limit, ThreadStatus,
};
use fencepost_memory::{Access, Address, LocationId, Operation, ThreadId};
use fencepost_monitor::explain_interleaving;
use fencepost_report::SourcePosition;
use fencepost_report::check::{Buffers, CheckFinding, Gap, Problem, RaceAccess, Wait};

use super::checker::Checker;
use super::naming::{opened, source_position};
use super::showing::Showing;
use fencepost_runtime::names::{
    BARRIER_OPENING, PARK_TOKEN, WAIT_TOKEN, WAITING_WRITERS, derive_name,
};
use fencepost_runtime::{OwnedLocation, ProgramError, Race};

fn position(place: &OwnedLocation) -> SourcePosition {
    SourcePosition::new(place.file.clone(), place.line, place.column)
}

/// What a thread has done, the last first.
fn by(thread: ThreadId, accesses: &[Access]) -> impl Iterator<Item = &Access> {
    let accesses = accesses.iter().rev();
    accesses.filter(move |access| access.thread == thread)
}

/// Makes reportable what was found.
pub(super) struct Translator<'a> {
    pub(super) showing: &'a Showing,
}

impl Translator<'_> {
    pub(super) fn finding(&self, found: &Counterexample<ProgramError>) -> CheckFinding {
        let problem = match &found.failure {
            Failure::StoreBuffer(violation) => Problem::StoreBuffer {
                violation: **violation,
                explained: explain_interleaving(violation, &found.interleaving),
            },
            Failure::Fault(fault) => self.fault(fault, &found.interleaving),
        };
        // What is not a fault of one execution does not come again with its schedule.
        let is_replayable = !matches!(
            problem,
            Problem::NonDeterminism { .. } | Problem::BadUse { .. }
        );
        let schedule = if is_replayable {
            found.schedule.to_string()
        } else {
            String::new()
        };
        let replay = match is_replayable {
            true => format!(
                "{}replay(\"{schedule}\", program)",
                self.showing.replaying()
            ),
            false => String::new(),
        };
        let (interleaving, buffers) = self.interleaving(&found.interleaving);
        CheckFinding {
            problem,
            interleaving,
            buffers,
            schedule,
            replay,
            execution: found.execution,
            consequence: None,
        }
    }

    /// Commits are shown as what the threads do that have issued the stores.
    fn interleaving(&self, accesses: &[Access]) -> (Vec<Access>, Option<Buffers>) {
        let Some(stride) = self.showing.stride() else {
            return (accesses.to_vec(), None);
        };
        // What the first thread stores while it is alone does not wait.
        let mut is_alone = true;
        let mut buffers = Buffers::default();
        let own = accesses.iter().enumerate().map(|(position, access)| {
            is_alone &= access.thread == ThreadId(0);
            if let Some((thread, _)) = stride.committed(access.thread) {
                buffers.commits.insert(position);
                return Access { thread, ..*access };
            }
            if !is_alone && matches!(access.operation, Operation::Store(_)) {
                buffers.stores.insert(position);
            }
            *access
        });
        let own = own.collect();
        (own, Some(buffers))
    }

    fn at(&self, location: Option<LocationId>) -> Option<SourcePosition> {
        location
            .and_then(|location| self.showing.names().location(location))
            .map(source_position)
    }

    fn fault(&self, fault: &Fault<ProgramError>, before: &[Access]) -> Problem {
        match fault {
            Fault::Program(error) => self.error(error, before),
            Fault::Deadlock(waiting) => Problem::Deadlock {
                waits: self.waits(waiting, before),
            },
            Fault::Livelock(waiting) => Problem::Livelock {
                waits: self.waits(waiting, before),
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
                    ThreadStatus::Pending { intent, .. } => self.intent(*intent),
                    ThreadStatus::Finished => "end".to_owned(),
                    ThreadStatus::NotSpawned => "not exist".to_owned(),
                },
                thread: *thread,
                location: self.at(*location),
            },
            Fault::InfeasibleSchedule { step, thread } => Problem::BadUse {
                message: format!(
                    "the schedule does not fit the program: at step {step} {}; has the program been \
                     changed since the schedule was made?",
                    match thread.index() < self.showing.names().thread_count() {
                        true if self.showing.has_waits() => format!(
                            "{} cannot go on (if the report replays it with `spin_bound`, do so too, or set \
                             FENCEPOST_SPIN_BOUND)",
                            self.thread(*thread)
                        ),
                        true => format!("{} cannot go on", self.thread(*thread)),
                        false if self.showing.stride().is_some() => {
                            format!("there is no store to commit with number {}", thread.0)
                        }
                        false => format!(
                            "there is no thread with number {} (if it is a commit, replay with `store_buffers`, or set \
                             FENCEPOST_STORE_BUFFERS=on)",
                            thread.0
                        ),
                    }
                ),
                location: None,
            },
            Fault::OutOfMemory(limit) => Problem::BadUse {
                message: limit.to_string(),
                location: None,
            },
        }
    }

    fn error(&self, error: &ProgramError, before: &[Access]) -> Problem {
        match error {
            ProgramError::Panic {
                thread,
                message,
                location,
            } => Problem::Panic {
                thread: *thread,
                message: message.clone(),
                location: location.as_ref().map(position),
            },
            ProgramError::Race(race) => {
                let access = |access: &fencepost_runtime::RaceAccess| RaceAccess {
                    thread: access.thread,
                    writes: access.is_write,
                    location: Some(position(&access.location)),
                };
                Problem::Race {
                    cell: self.cell(race),
                    first: access(&race.first),
                    second: access(&race.second),
                }
            }
            ProgramError::Leak { what, location } => Problem::Leak {
                what: match self.name_of(what, location) {
                    Some(name) => format!("the `{what}` `{name}`"),
                    None => format!("an `{what}`"),
                },
                location: Some(position(location)),
            },
            ProgramError::StackOverflow { thread, .. } => Problem::StackOverflow {
                thread: *thread,
                location: by(*thread, before)
                    .next()
                    .and_then(|last| self.at(last.location)),
            },
            ProgramError::StepLimit {
                steps,
                thread,
                location,
            } => Problem::StepLimit {
                steps: *steps,
                thread: *thread,
                location: Some(position(location)),
            },
            ProgramError::Misuse { message, location } => Problem::BadUse {
                message: message.clone(),
                location: location.as_ref().map(position),
            },
            other => Problem::BadUse {
                message: other.to_string(),
                location: None,
            },
        }
    }

    /// What the cell of a race is called: by the user, or where it is made.
    fn cell(&self, race: &Race) -> String {
        let derived = || self.derived(&race.cell);
        let name = race.name.clone().or_else(derived);
        name.unwrap_or_else(|| format!("cell made at {}:{}", race.cell.file, race.cell.line))
    }

    /// What something of this kind that was made there is called, if all of them are called the same.
    fn name_of(&self, kind: &str, place: &OwnedLocation) -> Option<String> {
        let mut given = (0..self.showing.names().object_count() as u32)
            .map(Address)
            .filter(|&object| self.showing.names().kind(object) == Some(kind))
            .filter(|&object| {
                self.showing
                    .names()
                    .created_at(object)
                    .map(OwnedLocation::from)
                    .as_ref()
                    == Some(place)
            })
            .filter_map(|object| self.showing.names().given(object));
        match (given.next(), given.next()) {
            (Some(name), None) => Some(name.to_owned()),
            _ => self.derived(place),
        }
    }

    /// A guess from the line that makes something.
    fn derived(&self, place: &OwnedLocation) -> Option<String> {
        let line = self.showing.sources().line(&place.file, place.line)?;
        derive_name(&line, place.column)
    }

    fn waits(&self, waiting: &[BlockedThread], before: &[Access]) -> Vec<Wait> {
        let wait = |waiting: &BlockedThread| Wait {
            thread: waiting.thread,
            what: self.awaited(waiting, before),
            spins: waiting.intent == Intent::SpinHint,
            location: self.at(waiting.location),
        };
        waiting.iter().map(wait).collect()
    }

    /// To follow "waits for".
    fn awaited(&self, waiting: &BlockedThread, before: &[Access]) -> String {
        match waiting.intent {
            Intent::Access { object, .. } => match self.showing.names().kind(object) {
                Some(PARK_TOKEN) => "an `unpark`".to_owned(),
                Some(WAIT_TOKEN) => match self.condvar(waiting.thread, before) {
                    Some(condvar) => format!("a notification of `{condvar}`"),
                    None => "somebody to wake it".to_owned(),
                },
                Some(BARRIER_OPENING) => {
                    self.at_barrier(opened(self.showing.names().object(object)), before)
                }
                Some(WAITING_WRITERS) => format!(
                    "the {}, which may hold up readers",
                    self.showing.names().object(object)
                ),
                _ => format!("`{}`", self.showing.names().object(object)),
            },
            Intent::Join(thread) => format!("the end of {}", self.thread(thread)),
            // A livelock says of what.
            Intent::SpinHint => String::new(),
            Intent::Local => "its turn".to_owned(),
        }
    }

    /// Who is missing at a barrier: its state is how many have come.
    fn at_barrier(&self, barrier: &str, before: &[Access]) -> String {
        let names = self.showing.names();
        let is_arrival = |access: &&Access| {
            let object = access.operation.address();
            object.is_some_and(|o| names.kind(o) == Some("Barrier") && names.object(o) == barrier)
        };
        let last = before.iter().rfind(is_arrival);
        let come = match last.and_then(|arrival| arrival.value) {
            Some(1) => " (1 has come)".to_owned(),
            Some(count) => format!(" ({count} have come)"),
            None => String::new(),
        };
        format!("more threads to come to `{barrier}`{come}")
    }

    /// The condition variable on which a thread waits: before it waits, it only releases a mutex.
    fn condvar(&self, thread: ThreadId, before: &[Access]) -> Option<&str> {
        let names = self.showing.names();
        let mut objects = by(thread, before).filter_map(|access| access.operation.address());
        let last = objects.find(|&object| names.kind(object) != Some("Mutex"))?;
        (names.kind(last) == Some("Condvar")).then(|| names.object(last))
    }

    fn thread(&self, thread: ThreadId) -> &str {
        self.showing.names().thread(thread)
    }

    fn intent(&self, intent: Intent) -> String {
        match intent {
            Intent::Access { object, .. } => {
                format!("operate on `{}`", self.showing.names().object(object))
            }
            Intent::Join(thread) => format!("join {}", self.thread(thread)),
            Intent::SpinHint => "hint that it spins".to_owned(),
            Intent::Local => "perform a fence".to_owned(),
        }
    }
}

/// Why some executions were not run.
pub(super) fn gap(limit: Limit, checker: &Checker, is_replay: bool) -> Gap {
    match limit {
        Limit::Preemptions(bound) => Gap::PreemptionBound(bound),
        Limit::Spins(rounds) => Gap::SpinBound(rounds),
        Limit::Executions(in_all) => match checker.settings.max_executions {
            Some(most) if most < in_all => Gap::FurtherExecutions(most),
            _ => Gap::ExecutionBudget(in_all),
        },
        // A part of the check may have had what another left.
        Limit::Time(most) => Gap::TimeBudget(checker.settings.max_time.unwrap_or(most)),
        Limit::Sample if is_replay => Gap::Replay,
        Limit::Sample => Gap::Random { seed: checker.seed },
        Limit::FirstFailure => Gap::StoppedAtProblem,
        Limit::Cancelled => Gap::Interrupted,
    }
}
