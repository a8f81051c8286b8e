//! The consequence of a store-buffer violation: the program runs with store buffers, continuing from the witness and then
//! from the start, until an execution fails or the budget is used up.
//!
//! A witness is a run of the machine's events. The program itself follows it ([`Follower`]): each thread runs until it has
//! performed the next event, and a store is committed where the witness commits it. The turns of that run are the prefix
//! from which the explorer continues. Each failure is replayed from its schedule before it is reported.

use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_explore::{
    Failure, Fault, MonitoredModel, Performed, Program, Schedule, Settings, Strategy as Exploring,
    ThreadStatus, Turn, can_perform, explore, join_finished,
};
use fencepost_memory::{Access, Operation, ThreadId};
use fencepost_monitor::{Action, Finding as Explained};
use fencepost_report::check::{Assumption, Consequence, Obstacle, Unexplored};
use fencepost_runtime::{ProgramError, Runtime, Setup, ThreadIdSpace};
use rustc_hash::FxHashMap;

use super::checker::Checker;
use super::problems::Translator;
use super::sameness::is_same_failure;
use super::session::{Counterexample, Report, Session};
use super::showing::Showing;

/// The number of random samples.
const SAMPLES: u64 = 16;
/// The maximum number of steps of an execution. A loop that store buffers break often never ends.
const MOST_STEPS: u64 = 5000;

/// The consequence of a store-buffer violation that a session has found.
pub(super) fn of(found_by: &Session, found: &Counterexample) -> Consequence {
    let checker = Checker {
        checkpoint: None,
        replayed: None,
        ..found_by.checker.clone().store_buffers(true)
    };
    let mut session = found_by.with_checker(checker);
    session.registry = Arc::clone(&found_by.registry);
    let search = Search {
        session,
        executions: 0,
        has_waited: false,
    };
    search.consequence(found)
}

/// The search for an execution with store buffers that fails.
struct Search {
    /// Runs the program with store buffers.
    session: Session,
    executions: u64,
    /// Whether a loop was assumed to wait only.
    has_waited: bool,
}

impl Search {
    fn consequence(mut self, found: &Counterexample) -> Consequence {
        let mut obstacle = None;
        for is_after_witness in [true, false] {
            for strategy in self.strategies() {
                let before = self.executions;
                let searched = match is_after_witness {
                    true => self.continue_from_witness(found, strategy),
                    false => self.start_over(strategy),
                };
                match searched {
                    Ok((Some(schedule), _)) => {
                        if let Some(harmful) = self.harmful(schedule, is_after_witness) {
                            return harmful;
                        }
                        obstacle = Some(Obstacle::NotReproduced);
                    }
                    Ok((None, true)) if is_after_witness => break,
                    Ok((None, true)) => {
                        let executions = self.executions - before;
                        return self.none_found(executions, true, obstacle);
                    }
                    Ok((None, _)) => {}
                    Err(why) => {
                        obstacle = Some(why);
                        break;
                    }
                }
            }
        }
        self.none_found(self.executions, false, obstacle)
    }

    /// An exhaustive search within the budget, then random samples. There are several samples because a search ends at
    /// an execution with too many steps.
    fn strategies(&self) -> Vec<Exploring> {
        let samples = (0..SAMPLES).map(|sample| Exploring::Random {
            seed: self.session.checker.seed.wrapping_add(sample),
            executions: self.session.checker.executions.div_ceil(SAMPLES),
        });
        [Exploring::Exhaustive].into_iter().chain(samples).collect()
    }

    /// The consequence if no execution fails, of all of them or of some.
    fn none_found(
        &self,
        executions: u64,
        are_all: bool,
        obstacle: Option<Obstacle>,
    ) -> Consequence {
        let rest = match are_all {
            _ if self.session.registry.has_excess_drain() => Unexplored::Unsupported,
            true => Unexplored::Nothing,
            false => Unexplored::Remaining,
        };
        let mut assumptions = Vec::new();
        if self.has_waited || !self.session.registry.waits().is_empty() {
            assumptions.push(Assumption::SpinLoopsOnlyWait);
        }
        if !self.session.checker.setup.spurious_wakeups {
            assumptions.push(Assumption::NoSpuriousWakeups);
        }
        Consequence::NoFailure {
            executions,
            unexplored: rest,
            assumptions,
            // If all executions were run, it does not matter how.
            obstacle: obstacle.filter(|_| rest != Unexplored::Nothing),
        }
    }

    fn settings(&self, strategy: Exploring) -> Settings {
        Settings {
            strategy,
            monitored_model: MonitoredModel::None,
            continue_after_failure: false,
            max_steps: self.session.checker.settings.max_steps.min(MOST_STEPS),
            workers: 1,
            max_executions: Some(self.session.checker.executions),
            ..self.session.checker.settings.clone()
        }
    }

    /// Runs the program from its beginning. The schedule of an execution that fails, and whether all were run.
    fn start_over(&mut self, strategy: Exploring) -> Result<(Option<Schedule>, bool), Obstacle> {
        self.session.settings = self.settings(strategy);
        let report = self.session.explore()?;
        self.note(&report);
        failing_schedule(&report)
    }

    fn note(&mut self, report: &Report) {
        self.executions += report.executions;
        self.has_waited |= !report.waits.is_empty();
    }

    /// Continues the program from the witness. Returns the same as [`start_over`](Self::start_over).
    fn continue_from_witness(
        &mut self,
        found: &Counterexample,
        strategy: Exploring,
    ) -> Result<(Option<Schedule>, bool), Obstacle> {
        let explained = found.explain().ok_or(Obstacle::CannotFollowWitness)?;
        let explained = explained.map_err(|error| Obstacle::Error(error.to_string()))?;
        let settings = self.settings(strategy);
        let report = self.session.explore_until_settled::<Obstacle>(|session| {
            let follower = Follower::new(session.runtime(), session.setup, found);
            let settings = Settings {
                prefix: Schedule(follower.follow(&explained)?),
                ..settings.clone()
            };
            let make = || session.runtime();
            Ok(explore(make, &settings, &mut |_| ControlFlow::Continue(())))
        })?;
        self.note(&report);
        failing_schedule(&report)
    }

    /// Replays an execution that fails. Returns `None` if the replay does not fail.
    fn harmful(&self, schedule: Schedule, is_after_witness: bool) -> Option<Consequence> {
        let mut session = self.session.clone();
        session.settings = self.settings(Exploring::Replay(schedule));
        let report = session.explore().ok()?;
        let found = report.findings.iter().find(|found| is_failure(found))?;
        let model = session.checker.setup.target.monitored_model().model();
        let showing = Showing::new(&session, model, session.registry.thread_id_space());
        let finding = Translator { showing: &showing }.finding(found);
        Some(Consequence::Failure {
            finding: Box::new(finding),
            continues_witness: is_after_witness,
            also_under_sc: self.fails_without_buffers(found),
        })
    }

    /// Whether the same failure happens without store buffers, as far as the budget shows it.
    fn fails_without_buffers(&self, found: &Counterexample) -> bool {
        let mut session = self.session.clone();
        session.setup.store_buffers = None;
        session.settings = self.settings(Exploring::Exhaustive);
        let is_same = |other: &Counterexample| is_same_failure(&other.failure, &found.failure);
        session
            .explore()
            .is_ok_and(|report| report.findings.iter().any(is_same))
    }
}

/// The schedule of an execution that fails, and whether all were run.
fn failing_schedule(report: &Report) -> Result<(Option<Schedule>, bool), Obstacle> {
    if let Some(found) = report.findings.iter().find(|found| is_failure(found)) {
        return Ok((Some(found.schedule.clone()), false));
    }
    let is_bad_use = |found: &Counterexample| {
        matches!(
            &found.failure,
            Failure::Fault(Fault::Program(_) | Fault::NonDeterminism { .. })
        )
    };
    match report.findings.iter().any(is_bad_use) {
        true => Err(Obstacle::CannotContinue),
        false => Ok((None, report.is_complete() && report.findings.is_empty())),
    }
}

/// Whether the program fails, and the execution was not only too long, a misuse of the library or not reproduced.
fn is_failure(found: &Counterexample) -> bool {
    match &found.failure {
        Failure::Fault(Fault::Program(error)) => !matches!(
            error,
            ProgramError::Misuse { .. }
                | ProgramError::StepLimit { .. }
                | ProgramError::Unreproduced { .. }
        ),
        Failure::Fault(Fault::Deadlock(_) | Fault::Livelock(_)) => true,
        _ => false,
    }
}

/// An access of an execution: its thread, and its index among the accesses of the thread.
type AccessOf = (ThreadId, usize);

/// Why a program does not follow a witness to its end.
enum Stop {
    /// The program failed on the way.
    Failed,
    /// The program cannot follow the witness.
    Stuck,
}

/// A program that follows the witness of a violation.
struct Follower<'a> {
    runtime: Runtime,
    stride: ThreadIdSpace,
    performed: Performed,
    interleaving: &'a [Access],
    accesses: Vec<AccessOf>,
    /// The outcomes of operations, thread by thread.
    outcomes: FxHashMap<ThreadId, Vec<u32>>,
    steps: FxHashMap<ThreadId, usize>,
    /// The number of accesses that each thread has performed.
    made: FxHashMap<ThreadId, usize>,
    /// The commits of buffered stores.
    commits: FxHashMap<AccessOf, ThreadId>,
    turns: Vec<Turn>,
}

impl<'a> Follower<'a> {
    fn new(runtime: Runtime, setup: Setup, found: &'a Counterexample) -> Self {
        let mut made: FxHashMap<ThreadId, usize> = FxHashMap::default();
        let accesses = found.interleaving.iter().map(|access| {
            let made = made.entry(access.thread).or_default();
            *made += 1;
            (access.thread, *made - 1)
        });
        let mut outcomes: FxHashMap<ThreadId, Vec<u32>> = FxHashMap::default();
        for turn in &found.schedule.0 {
            outcomes.entry(turn.thread).or_default().push(turn.outcome);
        }
        Follower {
            runtime,
            stride: setup.store_buffers.unwrap_or(ThreadIdSpace::FIRST),
            performed: Performed::default(),
            interleaving: &found.interleaving,
            accesses: accesses.collect(),
            outcomes,
            steps: FxHashMap::default(),
            made: FxHashMap::default(),
            commits: FxHashMap::default(),
            turns: Vec::new(),
        }
    }

    /// The steps of the program that are those of the witness, up to where an event has overtaken the pending
    /// write.
    fn follow(mut self, explained: &Explained) -> Result<Vec<Turn>, Obstacle> {
        match self.follow_to_end(explained) {
            Ok(()) | Err(Stop::Failed) => Ok(self.turns),
            Err(Stop::Stuck) => Err(Obstacle::CannotFollowWitness),
        }
    }

    fn follow_to_end(&mut self, explained: &Explained) -> Result<(), Stop> {
        let began = self.runtime.start(&mut self.performed);
        began.map_err(|_| Stop::Failed)?;
        self.join_and_count(None)?;
        let witness = &explained.witness;
        for position in 0..witness.starts_after as usize {
            self.issue(position)?;
            self.commit(position)?;
        }
        let overtaking = explained.violation.event.position;
        let mut steps = witness.steps.iter();
        let last = steps.rposition(|step| step.event.position == overtaking);
        for step in &witness.steps[..=last.ok_or(Stop::Stuck)?] {
            let position = step.event.position as usize;
            match step.action {
                Action::Commit => self.commit(position)?,
                _ => self.issue(position)?,
            }
        }
        Ok(())
    }

    /// Runs a thread until it has performed an access.
    fn issue(&mut self, position: usize) -> Result<(), Stop> {
        let &(thread, nth) = self.accesses.get(position).ok_or(Stop::Stuck)?;
        while self.made.get(&thread).copied().unwrap_or(0) <= nth {
            // The end of a thread is an access of the thread that joins it.
            if self.runtime.status(thread) == ThreadStatus::Finished {
                return Ok(());
            }
            self.step(thread)?;
        }
        Ok(())
    }

    /// Commits a store, if it waits.
    fn commit(&mut self, position: usize) -> Result<(), Stop> {
        let access = self.accesses.get(position).ok_or(Stop::Stuck)?;
        match self.commits.remove(access) {
            Some(commit) => self.step(commit),
            None => Ok(()),
        }
    }

    fn step(&mut self, thread: ThreadId) -> Result<(), Stop> {
        let ThreadStatus::Pending { intent, outcomes } = self.runtime.status(thread) else {
            return Err(Stop::Stuck);
        };
        let can_go = can_perform(&self.runtime, &intent);
        let nth = self.steps.entry(thread).or_default();
        let known = self.outcomes.get(&thread).and_then(|all| all.get(*nth));
        let outcome = known.copied().unwrap_or(0);
        *nth += 1;
        // Apart from hints, an execution has no more steps than accesses; hints must not repeat forever.
        let most = 100 * (self.interleaving.len() + 100);
        if !can_go || outcome >= outcomes || self.turns.len() > most {
            return Err(Stop::Stuck);
        }
        self.turns.push(Turn { thread, outcome });
        let result = self.runtime.step(thread, outcome, &mut self.performed);
        result.map_err(|_| Stop::Failed)?;
        self.join_and_count(Some(thread))
    }

    /// Performs joins that are possible, and records the accesses and commits since the last call.
    fn join_and_count(&mut self, by: Option<ThreadId>) -> Result<(), Stop> {
        join_finished(&mut self.runtime, &mut self.performed).map_err(|_| Stop::Failed)?;
        let mut store = None;
        for access in self.performed.accesses.drain(..) {
            if self.stride.committed(access.thread).is_some() {
                continue;
            }
            let made = self.made.entry(access.thread).or_default();
            if Some(access.thread) == by && matches!(access.operation, Operation::Store(_)) {
                store = Some((access.thread, *made));
            }
            *made += 1;
        }
        for spawned in self.performed.spawned.drain(..) {
            if self.stride.committed(spawned).is_some() {
                if let Some(store) = store {
                    self.commits.insert(store, spawned);
                }
            }
        }
        self.performed.touches.clear();
        Ok(())
    }
}
