//! Translates counterexamples of the explorer into the input of the report.

use fencepost_explore::{
    BlockedThread, Counterexample, Failure, Fault, Intent, Limit, ThreadStatus,
};
use fencepost_memory::{Access, Address, LocationId, Operation, ThreadId};
use fencepost_monitor::explain_interleaving;
use fencepost_report::SourcePosition;
use fencepost_report::check::{
    AccessKind, Awaited, Buffers, CheckFinding, Gap, Holder, PlannedOperation, Problem, RaceAccess,
    RacedCell, ScheduleMismatch, Unreproduced, Wait,
};

use super::checker::Checker;
use super::naming::{opened, source_position};
use super::native_problems;
use super::showing::Showing;
use fencepost_runtime::names::{
    BARRIER_OPENING, END_TOKEN, PARK_TOKEN, START_TOKEN, WAIT_TOKEN, WAITING_WRITERS, derive_name,
};
use fencepost_runtime::names::{is_release, is_written};
use fencepost_runtime::{OwnedLocation, ProgramError, Race};

pub(super) fn position(place: &OwnedLocation) -> SourcePosition {
    SourcePosition::new(place.file.clone(), place.line, place.column)
}

/// The accesses of a thread, the last first.
fn by(thread: ThreadId, accesses: &[Access]) -> impl Iterator<Item = &Access> {
    let accesses = accesses.iter().rev();
    accesses.filter(move |access| access.thread == thread)
}

/// Translates counterexamples into findings.
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
        // A failure that is not one of a single execution cannot be replayed with a schedule.
        let is_replayable = !matches!(
            problem,
            Problem::NonDeterminism { .. }
                | Problem::InfeasibleSchedule { .. }
                | Problem::BadUse { .. }
                | Problem::Unreproduced(_)
        );
        let schedule = if is_replayable {
            self.showing.replaying().schedule(found)
        } else {
            String::new()
        };
        let replay = match is_replayable {
            true => self.showing.replaying().code(&schedule),
            false => String::new(),
        };
        let command = match is_replayable {
            true => self.showing.replaying().command(&schedule),
            false => None,
        };
        let (interleaving, buffers) = self.interleaving(&found.interleaving);
        CheckFinding {
            problem,
            interleaving,
            buffers,
            schedule,
            replay,
            command,
            execution: found.execution,
            consequence: None,
        }
    }

    /// The accesses with each commit attributed to the thread that issued the store.
    fn interleaving(&self, accesses: &[Access]) -> (Vec<Access>, Option<Buffers>) {
        let Some(stride) = self.showing.stride() else {
            return (accesses.to_vec(), None);
        };
        // The stores of the first thread are not buffered while it is the only one.
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
                step: *step,
                expected: self.planned(*expected),
                found: match found {
                    ThreadStatus::Pending { intent, .. } => self.planned(*intent),
                    ThreadStatus::Finished => PlannedOperation::Finished,
                    ThreadStatus::NotSpawned => PlannedOperation::NotSpawned,
                },
                thread: *thread,
                location: self.at(*location),
            },
            Fault::InfeasibleSchedule { step, thread } => Problem::InfeasibleSchedule {
                step: *step,
                mismatch: match thread.index() < self.showing.names().thread_count() {
                    true => ScheduleMismatch::Blocked {
                        thread: *thread,
                        has_waited: self.showing.has_waits(),
                    },
                    false if self.showing.stride().is_some() => {
                        ScheduleMismatch::NoSuchCommit(thread.0)
                    }
                    false => ScheduleMismatch::NoSuchThread(thread.0),
                },
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
                    kind: match access.is_write {
                        true => AccessKind::Write,
                        false => AccessKind::Read,
                    },
                    size: None,
                    location: Some(position(&access.location)),
                };
                Problem::Race {
                    cell: self.cell(race),
                    first: access(&race.first),
                    second: access(&race.second),
                }
            }
            ProgramError::MemoryRace(race) => native_problems::race(race),
            ProgramError::Failed(failure) => native_problems::failed(failure),
            ProgramError::BadMemory(misuse) => native_problems::bad_memory(misuse),
            ProgramError::LeakedBlocks(leaks) => native_problems::leaked_blocks(leaks),
            ProgramError::LockMisuse(misuse) => native_problems::lock_misuse(misuse),
            ProgramError::Leak { what, location } => Problem::Leak {
                kind: what.to_string(),
                name: self.name_of(what, location),
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
            ProgramError::Unreproduced { fault } => Problem::Unreproduced(match fault.as_deref() {
                None => Unreproduced::Violation,
                Some(Fault::Program(error)) => Unreproduced::Error(error.to_string()),
                Some(Fault::Deadlock(_)) => Unreproduced::Deadlock,
                Some(_) => Unreproduced::Other,
            }),
            other => Problem::BadUse {
                message: other.to_string(),
                location: None,
            },
        }
    }

    /// The cell of a race: by its name, or by where it was created.
    fn cell(&self, race: &Race) -> RacedCell {
        let name = race.name.clone().or_else(|| self.derived(&race.cell));
        name.map_or_else(
            || RacedCell::CreatedAt(position(&race.cell)),
            RacedCell::Named,
        )
    }

    /// The name of the objects of this kind that were created there, if all have the same one.
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

    /// A name guessed from the line that creates an object.
    fn derived(&self, place: &OwnedLocation) -> Option<String> {
        let line = self.showing.sources().line(&place.file, place.line)?;
        derive_name(&line, place.column)
    }

    fn waits(&self, waiting: &[BlockedThread], before: &[Access]) -> Vec<Wait> {
        let wait = |waiting: &BlockedThread| Wait {
            thread: waiting.thread,
            awaited: self.awaited(waiting, before),
            spins: waiting.intent == Intent::SpinHint,
            location: self.at(waiting.location),
            holders: self.holders(waiting, before),
        };
        waiting.iter().map(wait).collect()
    }

    /// The threads that hold the lock for which a thread waits.
    fn holders(&self, waiting: &BlockedThread, before: &[Access]) -> Vec<Holder> {
        let Intent::Access { object, .. } = waiting.intent else {
            return Vec::new();
        };
        let kind = self.showing.names().kind(object);
        if !matches!(kind, Some("Mutex" | "RwLock")) {
            return Vec::new();
        }
        let (mut holders, mut last): (Vec<Holder>, u64) = (Vec::new(), 0);
        for access in before {
            let (operation, Some(value)) = (access.operation, access.value) else {
                continue;
            };
            if operation.address() != Some(object) || !operation.writes() {
                continue;
            }
            let own = |holder: &Holder| holder.thread == access.thread;
            let is_downgrade = is_written(last) && !is_release(value);
            last = value;
            if is_release(value) {
                if let Some(held) = holders.iter().rposition(own) {
                    holders.remove(held);
                }
            } else if !is_downgrade {
                holders.push(Holder {
                    thread: access.thread,
                    location: self.at(access.location),
                });
            }
        }
        holders
    }

    fn awaited(&self, waiting: &BlockedThread, before: &[Access]) -> Awaited {
        let names = self.showing.names();
        match waiting.intent {
            Intent::Access { object, .. } => match names.kind(object) {
                Some(PARK_TOKEN) => Awaited::Unpark,
                Some(START_TOKEN) => Awaited::Return(self.owner(object, START_TOKEN)),
                // Only a scope with a leaked handle waits like this.
                Some(END_TOKEN) => Awaited::LeakedHandle,
                Some(WAIT_TOKEN) => match self.condvar(waiting.thread, before) {
                    Some(condvar) => Awaited::Notification(condvar.to_owned()),
                    None => Awaited::Wakeup,
                },
                Some(BARRIER_OPENING) => self.at_barrier(opened(names.object(object)), before),
                Some(WAITING_WRITERS) => Awaited::QueuedWriters(names.object(object).to_owned()),
                _ => Awaited::Object(names.object(object).to_owned()),
            },
            Intent::Join(thread) => Awaited::ThreadEnd(thread),
            Intent::SpinHint => Awaited::Change,
            Intent::Local => Awaited::Turn,
            Intent::Stopped => Awaited::Nothing,
        }
    }

    /// The name of the thread to which a token of this kind belongs.
    fn owner(&self, token: Address, kind: &str) -> String {
        let name = self.showing.names().object(token);
        let owner = name.strip_prefix(kind);
        let owner = owner.and_then(|owner| owner.strip_prefix(" of "));
        owner.unwrap_or(name).to_owned()
    }

    /// A barrier and the number of threads that have arrived, which is its state.
    fn at_barrier(&self, barrier: &str, before: &[Access]) -> Awaited {
        let names = self.showing.names();
        let is_arrival = |access: &&Access| {
            let object = access.operation.address();
            object.is_some_and(|o| names.kind(o) == Some("Barrier") && names.object(o) == barrier)
        };
        let last = before.iter().rfind(is_arrival);
        Awaited::Barrier {
            name: barrier.to_owned(),
            arrived: last.and_then(|arrival| arrival.value),
        }
    }

    /// The condition variable on which a thread waits: between its last access to it and the wait, the thread
    /// only releases a mutex.
    fn condvar(&self, thread: ThreadId, before: &[Access]) -> Option<&str> {
        let names = self.showing.names();
        let mut objects = by(thread, before).filter_map(|access| access.operation.address());
        let last = objects.find(|&object| names.kind(object) != Some("Mutex"))?;
        (names.kind(last) == Some("Condvar")).then(|| names.object(last))
    }

    fn planned(&self, intent: Intent) -> PlannedOperation {
        match intent {
            Intent::Access { object, .. } => {
                PlannedOperation::Access(self.showing.names().object(object).to_owned())
            }
            Intent::Join(thread) => PlannedOperation::Join(thread),
            Intent::SpinHint => PlannedOperation::SpinHint,
            Intent::Local => PlannedOperation::Fence,
            Intent::Stopped => PlannedOperation::Stopped,
        }
    }
}

/// The gap that a limit leaves.
pub(super) fn gap(limit: Limit, checker: &Checker, is_replay: bool) -> Gap {
    match limit {
        Limit::Preemptions(bound) => Gap::PreemptionBound(bound),
        Limit::Spins(rounds) => Gap::SpinBound(rounds),
        Limit::Executions(in_all) => match checker.settings.max_executions {
            Some(most) if most < in_all => Gap::FurtherExecutions(most),
            _ => Gap::ExecutionBudget(in_all),
        },
        // A part of the check may have had only the time that another part left.
        Limit::Time(most) => Gap::TimeBudget(checker.settings.max_time.unwrap_or(most)),
        Limit::Sample if is_replay => Gap::Replay,
        Limit::Sample => Gap::Random { seed: checker.seed },
        Limit::FirstFailure => Gap::StoppedAtProblem,
        Limit::Cancelled => Gap::Interrupted,
    }
}
