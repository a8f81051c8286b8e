//! What comes of a store-buffer violation: the program is run on from the witness, on the machine with store buffers, and
//! then from its beginning, until an execution is wrong or the budget is used up.
//!
//! The witness is a run of the machine's events. Here it is followed by the program itself ([`Follower`]): a thread goes
//! on until it has done the event that is next, and a store is committed when the witness commits it. What is found
//! is run again from its schedule, from the beginning, before it is reported.

use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_explore::{
    Counterexample, Failure, Fault, Intent, MonitoredModel, Performed, Program, Report, Schedule,
    Settings, Strategy as Exploring, ThreadStatus, Turn, explore,
};
use fencepost_memory::{Access, Address, LocationId, Operation, ThreadId};
use fencepost_monitor::{Action, Finding as Explained};
use fencepost_report::check::{Consequence, Unexplored};
use rustc_hash::FxHashMap;

use super::checker::Checker;
use super::checkpoint::Identity;
use super::problems::Translator;
use super::running::{self, Explored, explore_from, is_same, machine, until_visible};
use super::showing::Showing;
use fencepost_runtime::{Checked, ProgramError, Registry, Restart, Runtime, Setup, ThreadIdSpace};

/// How many random samples are drawn.
const SAMPLES: u64 = 16;
/// An execution with more steps than this is given up. What is broken by store buffers often goes round for ever.
const MOST_STEPS: u64 = 5000;

/// What comes of a store-buffer violation.
pub(super) fn of(
    checker: &Checker,
    program: &Checked,
    check: Identity,
    found: &Counterexample<ProgramError>,
    registry: &Arc<Registry>,
) -> Consequence {
    let checker = Checker {
        checkpoint: None,
        replayed: None,
        ..checker.clone().store_buffers(true)
    };
    let search = Search {
        checker: &checker,
        program,
        check,
        registry,
        setup: checker.setup,
        executions: 0,
        has_waited: false,
    };
    search.consequence(found)
}

/// The search for an execution that is wrong.
struct Search<'a> {
    checker: &'a Checker,
    program: &'a Checked,
    check: Identity,
    registry: &'a Arc<Registry>,
    /// What has turned out to be visible.
    setup: Setup,
    executions: u64,
    /// Whether a loop was taken to wait only.
    has_waited: bool,
}

impl Search<'_> {
    fn consequence(mut self, found: &Counterexample<ProgramError>) -> Consequence {
        let mut trouble = None;
        let not_repeated = "something was found, and did not happen again";
        for is_after_witness in [true, false] {
            for strategy in self.strategies() {
                let before = self.executions;
                let searched = match is_after_witness {
                    true => self.go_on(found, strategy),
                    false => self.begin(strategy),
                };
                match searched {
                    Ok((Some(schedule), _)) => {
                        if let Some(harmful) = self.harmful(schedule, is_after_witness) {
                            return harmful;
                        }
                        trouble = Some(not_repeated.to_owned());
                    }
                    Ok((None, true)) if is_after_witness => break,
                    Ok((None, true)) => {
                        let executions = self.executions - before;
                        return self.none_found(executions, true, trouble);
                    }
                    Ok((None, _)) => {}
                    Err(why) => {
                        trouble = Some(why);
                        break;
                    }
                }
            }
        }
        self.none_found(self.executions, false, trouble)
    }

    /// All executions, as far as the budget goes, and then as many at random. A search ends with an execution that is too
    /// long, so there are several of these.
    fn strategies(&self) -> Vec<Exploring> {
        let samples = (0..SAMPLES).map(|sample| Exploring::Random {
            seed: self.checker.seed.wrapping_add(sample),
            executions: self.checker.executions.div_ceil(SAMPLES),
        });
        [Exploring::Exhaustive].into_iter().chain(samples).collect()
    }

    /// Nothing bad was found, in all executions that the library runs or in some of them.
    fn none_found(&self, executions: u64, are_all: bool, trouble: Option<String>) -> Consequence {
        let rest = match are_all {
            _ if self.registry.has_excess_drain() => Unexplored::Unsupported,
            true => Unexplored::Nothing,
            false => Unexplored::Remaining,
        };
        let mut assumptions = Vec::new();
        if self.has_waited || !self.registry.waits().is_empty() {
            assumptions.push("loops that wait only wait (`store_buffers` names them)".to_owned());
        }
        if !self.checker.setup.spurious_wakeups {
            assumptions.push("no wait ends by itself (`spurious_wakeups(false)`)".to_owned());
        }
        Consequence::NoFailure {
            executions,
            unexplored: rest,
            assumptions,
            // Where all were run, it does not matter how.
            trouble: trouble.filter(|_| rest != Unexplored::Nothing),
        }
    }

    fn settings(&self, strategy: Exploring) -> Settings {
        Settings {
            strategy,
            monitored_model: MonitoredModel::None,
            continue_after_failure: false,
            max_steps: self.checker.settings.max_steps.min(MOST_STEPS),
            workers: 1,
            max_executions: Some(self.checker.executions),
            ..self.checker.settings.clone()
        }
    }

    /// Runs the program from its beginning. The schedule of an execution that is wrong, and whether all were
    /// run.
    fn begin(&mut self, strategy: Exploring) -> Result<(Option<Schedule>, bool), String> {
        let settings = self.settings(strategy);
        let mut setup = self.setup;
        let (report, _) = self.explore(&settings, &mut setup)?;
        self.setup = setup;
        self.note(&report);
        wrong(&report)
    }

    fn note(&mut self, report: &Report<ProgramError, Restart>) {
        self.executions += report.executions;
        self.has_waited |= !report.waits.is_empty();
    }

    fn explore(&self, settings: &Settings, setup: &mut Setup) -> Result<Explored, String> {
        let registry = Arc::clone(self.registry);
        explore_from(
            self.checker,
            self.program,
            self.check,
            settings,
            setup,
            registry,
        )
    }

    /// Runs the program on from the witness. As [`begin`](Self::begin).
    fn go_on(
        &mut self,
        found: &Counterexample<ProgramError>,
        strategy: Exploring,
    ) -> Result<(Option<Schedule>, bool), String> {
        let explained = found.explain().ok_or("it is no violation")?;
        let explained = explained.map_err(|error| error.to_string())?;
        let settings = self.settings(strategy);
        let mut setup = self.setup;
        let mut beginning: Arc<[Turn]> = Arc::default();
        let report = until_visible(&mut setup, |setup| {
            let runtime = self.runtime(setup);
            beginning = Follower::new(runtime, setup, found)
                .follow(&explained)?
                .into();
            let make = || Continued {
                runtime: self.runtime(setup),
                beginning: Arc::clone(&beginning),
            };
            Ok(explore(make, &settings, &mut |_| ControlFlow::Continue(())))
        })?;
        self.setup = setup;
        self.note(&report);
        let (schedule, is_complete) = wrong(&report)?;
        let whole = schedule.map(|end| Schedule(beginning.iter().chain(&end.0).copied().collect()));
        Ok((whole, is_complete))
    }

    fn runtime(&self, setup: Setup) -> Runtime {
        running::runtime(self.checker, self.program, setup, self.registry)
    }

    /// Runs an execution that is wrong again. None if it is not wrong then.
    fn harmful(&self, schedule: Schedule, is_after_witness: bool) -> Option<Consequence> {
        let settings = self.settings(Exploring::Replay(schedule));
        let (report, registry) = self.explore(&settings, &mut { self.setup }).ok()?;
        let found = report.findings.iter().find(|found| is_wrong(found))?;
        let model = machine(self.checker.setup.target).model();
        let stride = registry.thread_id_space();
        let showing = Showing::new(registry, self.checker.setup.target, model, stride);
        let showing = showing.with_replay(running::replaying(self.checker));
        let finding = Translator { showing: &showing }.finding(found);
        Some(Consequence::Failure {
            finding: Box::new(finding),
            continues_witness: is_after_witness,
            also_under_sc: self.is_without_too(found),
        })
    }

    /// Whether the same goes wrong without store buffers, as far as the budget shows it.
    fn is_without_too(&self, found: &Counterexample<ProgramError>) -> bool {
        let mut setup = Setup {
            store_buffers: None,
            ..self.setup
        };
        let settings = self.settings(Exploring::Exhaustive);
        let explored = self.explore(&settings, &mut setup);
        explored.is_ok_and(|(report, _)| {
            report
                .findings
                .iter()
                .any(|other| is_same_harm(other, found))
        })
    }
}

/// The schedule of an execution that is wrong, and whether all were run.
fn wrong(report: &Report<ProgramError, Restart>) -> Result<(Option<Schedule>, bool), String> {
    if let Some(found) = report.findings.iter().find(|found| is_wrong(found)) {
        return Ok((Some(found.schedule.clone()), false));
    }
    let is_bad_use = |found: &Counterexample<ProgramError>| {
        matches!(
            &found.failure,
            Failure::Fault(Fault::Program(_) | Fault::NonDeterminism { .. })
        )
    };
    match report.findings.iter().any(is_bad_use) {
        true => Err("the program could not be run on".to_owned()),
        false => Ok((None, report.is_complete() && report.findings.is_empty())),
    }
}

/// Whether an execution is wrong, and not only too long or run in a wrong way.
fn is_wrong(found: &Counterexample<ProgramError>) -> bool {
    match &found.failure {
        Failure::Fault(Fault::Program(error)) => !matches!(
            error,
            ProgramError::Misuse { .. } | ProgramError::StepLimit { .. }
        ),
        Failure::Fault(Fault::Deadlock(_) | Fault::Livelock(_)) => true,
        _ => false,
    }
}

/// Whether the same is wrong: a panic, for example, in the same place. Its message may have values in it.
fn is_same_harm(one: &Counterexample<ProgramError>, other: &Counterexample<ProgramError>) -> bool {
    let place = |found: &Counterexample<ProgramError>| match &found.failure {
        Failure::Fault(Fault::Program(ProgramError::Panic { location, .. })) => location.clone(),
        _ => None,
    };
    is_same(one, other) && place(one) == place(other)
}

/// Lets threads join those that have ended, as the explorer does: it is no step.
fn join_ended(
    runtime: &mut Runtime,
    performed: &mut Performed,
) -> Result<(), fencepost_runtime::Stop> {
    loop {
        let mut threads = (0..runtime.thread_bound() as u32).map(ThreadId);
        let can_join = |&thread: &ThreadId| match runtime.status(thread) {
            ThreadStatus::Pending {
                intent: Intent::Join(other),
                ..
            } => runtime.status(other) == ThreadStatus::Finished,
            _ => false,
        };
        match threads.find(can_join) {
            Some(thread) => runtime.step(thread, 0, performed)?,
            None => return Ok(()),
        }
    }
}

/// A program whose executions all begin in the same way, which is no part of what is explored.
struct Continued {
    runtime: Runtime,
    beginning: Arc<[Turn]>,
}

impl Program for Continued {
    type Error = ProgramError;
    type Restart = Restart;

    fn start(&mut self, performed: &mut Performed) -> Result<(), fencepost_runtime::Stop> {
        self.runtime.start(performed)?;
        join_ended(&mut self.runtime, performed)?;
        for turn in self.beginning.iter() {
            self.runtime.step(turn.thread, turn.outcome, performed)?;
            join_ended(&mut self.runtime, performed)?;
        }
        performed.touches.clear();
        Ok(())
    }

    fn is_fatal(&self, error: &ProgramError) -> bool {
        self.runtime.is_fatal(error)
    }

    fn thread_bound(&self) -> usize {
        self.runtime.thread_bound()
    }

    fn status(&self, thread: ThreadId) -> ThreadStatus {
        self.runtime.status(thread)
    }

    fn state(&self, object: Address) -> u64 {
        self.runtime.state(object)
    }

    fn location(&self, thread: ThreadId) -> Option<LocationId> {
        self.runtime.location(thread)
    }

    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), fencepost_runtime::Stop> {
        self.runtime.step(thread, outcome, performed)
    }

    fn finish(&mut self, is_complete: bool) -> Result<(), fencepost_runtime::Stop> {
        self.runtime.finish(is_complete)
    }
}

/// An access of an execution: whose, and which of the thread's it is, from 0.
type AccessOf = (ThreadId, usize);

/// Why a witness is not followed to its end.
enum Stop {
    /// The program went wrong on the way.
    Wrong,
    /// It cannot be followed.
    Stuck,
}

/// A program that follows the witness of a violation.
struct Follower<'a> {
    runtime: Runtime,
    stride: ThreadIdSpace,
    performed: Performed,
    interleaving: &'a [Access],
    accesses: Vec<AccessOf>,
    /// How operations turned out, thread by thread.
    outcomes: FxHashMap<ThreadId, Vec<u32>>,
    steps: FxHashMap<ThreadId, usize>,
    /// How many accesses each thread has made.
    made: FxHashMap<ThreadId, usize>,
    /// The commits of the stores that were buffered.
    commits: FxHashMap<AccessOf, ThreadId>,
    turns: Vec<Turn>,
}

impl<'a> Follower<'a> {
    fn new(runtime: Runtime, setup: Setup, found: &'a Counterexample<ProgramError>) -> Self {
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
    fn follow(mut self, explained: &Explained) -> Result<Vec<Turn>, String> {
        match self.follow_to_end(explained) {
            Ok(()) | Err(Stop::Wrong) => Ok(self.turns),
            Err(Stop::Stuck) => Err("the program cannot be led to the violation".to_owned()),
        }
    }

    fn follow_to_end(&mut self, explained: &Explained) -> Result<(), Stop> {
        let began = self.runtime.start(&mut self.performed);
        began.map_err(|_| Stop::Wrong)?;
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

    /// Lets a thread go on until it has made an access.
    fn issue(&mut self, position: usize) -> Result<(), Stop> {
        let &(thread, nth) = self.accesses.get(position).ok_or(Stop::Stuck)?;
        while self.made.get(&thread).copied().unwrap_or(0) <= nth {
            // Its end is made known by who joins it.
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
        let can_go = match intent {
            Intent::Access { object, awaits, .. } => {
                awaits.is_none_or(|condition| condition.holds(self.runtime.state(object)))
            }
            Intent::Join(_) => false,
            Intent::Local | Intent::SpinHint => true,
        };
        let nth = self.steps.entry(thread).or_default();
        let known = self.outcomes.get(&thread).and_then(|all| all.get(*nth));
        let outcome = known.copied().unwrap_or(0);
        *nth += 1;
        // An execution of the program has no more steps than accesses but for hints; those do not go on for ever.
        let most = 100 * (self.interleaving.len() + 100);
        if !can_go || outcome >= outcomes || self.turns.len() > most {
            return Err(Stop::Stuck);
        }
        self.turns.push(Turn { thread, outcome });
        let result = self.runtime.step(thread, outcome, &mut self.performed);
        result.map_err(|_| Stop::Wrong)?;
        self.join_and_count(Some(thread))
    }

    /// Takes a note of what was done since the last time.
    fn join_and_count(&mut self, by: Option<ThreadId>) -> Result<(), Stop> {
        join_ended(&mut self.runtime, &mut self.performed).map_err(|_| Stop::Wrong)?;
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
