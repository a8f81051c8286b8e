//! The settings of a check.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fencepost_explore as explore;
use fencepost_report::ProgramLanguage;
use fencepost_report::check::Refusal;

use super::checkpoint::Identity;
use super::environment;
use super::fences::{self, FenceInference, FenceStrength};
use super::invocation::Invocation;
use super::outcome::Outcome;
use super::replaying::ReplaySchedule;
use super::session::Session;
use fencepost_runtime::{
    Checked, Insertion, LocationRef, OwnedLocation, STACK_SIZES, Setup, Target, ThreadIdSpace,
};

/// The supported numbers of workers.
pub(super) const WORKERS: RangeInclusive<usize> = 1..=1024;

/// Which executions a check explores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// One execution per equivalence class: every behaviour of the program.
    #[default]
    Exhaustive,
    /// The executions within a [preemption bound](Checker::preemption_bound), those with fewer preemptions first.
    /// An exhaustive search takes turns with this one; the first to finish decides.
    Bounded,
    /// A uniform random walk: each step is of a random thread.
    Random,
    /// Probabilistic concurrency testing: threads have random priorities. Finds bugs of a given
    /// [depth](Checker::pct_depth) with a known probability.
    Pct,
}

/// The settings of a check, and the methods that run it.
///
/// ```
/// use fencepost::{Checker, Target};
///
/// let outcome = Checker::new().target(Target::Pso).run(|| ());
/// assert!(outcome.is_verified());
/// assert_eq!(outcome.executions(), 1);
/// ```
///
/// # Environment variables
/// An environment variable overrides each setting, so that no code has to change.
///
#[doc = include_str!("variables.md")]
///
/// The check panics if a value cannot be parsed or is out of range, and if there is an unknown variable that starts
/// with `FENCEPOST_`. Methods clamp numbers to their range.
#[derive(Clone, Debug)]
#[must_use = "a checker does nothing until `run` or `check` is called"]
pub struct Checker {
    pub(super) strategy: Strategy,
    pub(super) preemption_bound: u32,
    pub(super) strict_bound: bool,
    pub(super) executions: u64,
    pub(super) pct_depth: u32,
    pub(super) seed: u64,
    pub(super) monitor: bool,
    pub(super) confirm: bool,
    /// Whether environment variables override the settings.
    pub(super) reads_environment: bool,
    pub(super) progress: Option<bool>,
    pub(super) summary: bool,
    pub(super) setup: Setup,
    pub(super) settings: explore::Settings,
    pub(super) replayed: Option<ReplaySchedule>,
    pub(super) name: Option<String>,
    /// Whether the report ends with the missing fences.
    pub(super) infer_fences: bool,
    /// Fences that the program is checked with and does not have, because the user wants to try them.
    pub(super) inserted_fences: Vec<(OwnedLocation, Insertion)>,
    /// Texts of source files, by the name that the compiler has for the file.
    pub(super) sources: Arc<BTreeMap<String, String>>,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) checkpoint_every: Duration,
    /// How the test that runs the check is run again.
    pub(super) invocation: Option<Invocation>,
    /// The command that runs the check of a program in another language.
    pub(super) command: Option<String>,
    /// Whether plain accesses of a program in C are operations.
    pub(super) allows_races: bool,
    /// The language of the program.
    pub(super) language: ProgramLanguage,
}

impl Default for Checker {
    fn default() -> Self {
        Checker::new()
    }
}

impl Checker {
    /// The default settings: exhaustive, for x86, with one worker, up to the first failure, without limits except
    /// 100,000 steps per execution.
    pub fn new() -> Self {
        Checker {
            strategy: Strategy::Exhaustive,
            preemption_bound: 2,
            strict_bound: false,
            executions: 10_000,
            pct_depth: 3,
            seed: 0,
            monitor: true,
            confirm: false,
            reads_environment: true,
            progress: None,
            summary: false,
            setup: Setup::default(),
            settings: explore::Settings::default(),
            replayed: None,
            name: None,
            infer_fences: false,
            inserted_fences: Vec::new(),
            sources: Arc::default(),
            checkpoint: None,
            checkpoint_every: Duration::from_secs(60),
            invocation: None,
            command: None,
            allows_races: false,
            language: ProgramLanguage::Rust,
        }
    }

    /// Ignores all environment variables: for a command that has options of its own.
    pub fn without_environment(mut self) -> Self {
        self.reads_environment = false;
        self
    }

    /// The machine that the program is compiled for. The default is x86.
    pub fn target(mut self, target: Target) -> Self {
        self.setup.target = target;
        self
    }

    /// Which executions to explore. The default is all of them; no other strategy verifies a program, unless it
    /// happens to explore all.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Explores the executions with at most so many preemptions, and sets [`Strategy::Bounded`]. Bugs that need more
    /// preemptions may be missed, so the program is verified only if the bound excluded nothing. If exploring
    /// everything is as quick, the bound is ignored.
    pub fn preemption_bound(mut self, preemptions: u32) -> Self {
        self.preemption_bound = preemptions;
        self.strategy = Strategy::Bounded;
        self
    }

    /// Whether [`Strategy::Bounded`] explores exactly the executions within the bound, even if exploring everything
    /// is quicker. Off by default.
    pub fn strict_bound(mut self, is_on: bool) -> Self {
        self.strict_bound = is_on;
        self
    }

    /// The number of executions of [`Strategy::Random`] and [`Strategy::Pct`], and the budget of
    /// [`confirm`](Self::confirm). The default is 10,000.
    pub fn executions(mut self, executions: u64) -> Self {
        self.executions = executions;
        self
    }

    /// The depth of the bugs that [`Strategy::Pct`] looks for, at least 1. The default is 3.
    pub fn pct_depth(mut self, depth: u32) -> Self {
        self.pct_depth = depth.max(1);
        self
    }

    /// The seed of [`Strategy::Random`] and [`Strategy::Pct`]. The same seed gives the same executions.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Stops after so many executions. The outcome is then incomplete.
    pub fn max_executions(mut self, executions: u64) -> Self {
        self.settings.max_executions = Some(executions);
        self
    }

    /// Stops after this time. The outcome is then incomplete. The clock is read between executions, so an execution
    /// that never ends is not stopped.
    pub fn max_time(mut self, time: Duration) -> Self {
        self.settings.max_time = Some(time);
        self
    }

    /// The maximum number of operations of an execution, and of threads that it spawns. An execution with more is
    /// reported as a failure. The default is 100,000.
    pub fn max_steps(mut self, steps: u64) -> Self {
        self.settings.max_steps = steps;
        self
    }

    /// The number of operating-system threads that explore, from 1 to 1024. The default is 1. The outcome does not
    /// depend on it. If the system has fewer threads, the check uses those.
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers.clamp(*WORKERS.start(), *WORKERS.end());
        self
    }

    /// Whether to look for store-buffer violations. Without the monitor, the outcome is about sequentially
    /// consistent executions only, and "verified" says nothing about a real machine. On by default.
    pub fn monitor(mut self, is_on: bool) -> Self {
        self.monitor = is_on;
        self
    }

    /// Whether to run the program with the store buffers of the target, instead of looking for violations with the
    /// monitor. Then only panics, deadlocks and other failures are findings; that store buffers add executions is
    /// none. There are more executions, so it takes longer. Off by default.
    ///
    /// With [`preemption_bound`](Self::preemption_bound), the commit of a store while its thread could continue
    /// counts as a preemption.
    pub fn store_buffers(mut self, are_there: bool) -> Self {
        self.setup.store_buffers = are_there.then_some(ThreadIdSpace::FIRST);
        self
    }

    /// Whether to look for the [consequence](crate::Consequence) of each store-buffer violation: runs the program
    /// with store buffers, continuing from the witness and then from the start, until an execution fails or
    /// [`executions`](Self::executions) were run. Off by default.
    ///
    /// A program that frees memory twice, or reads freed memory, then really does so.
    pub fn confirm(mut self, is_on: bool) -> Self {
        self.confirm = is_on;
        self
    }

    /// Whether to continue after the first failure, and count all of them. Off by default.
    pub fn continue_after_failure(mut self, continue_after_failure: bool) -> Self {
        self.settings.continue_after_failure = continue_after_failure;
        self
    }

    /// Explores loops that come back to the same state for at most so many rounds without a change, instead of
    /// letting them wait for one. If a loop needs more rounds, the outcome is incomplete.
    pub fn spin_bound(mut self, rounds: u32) -> Self {
        self.settings.spin = explore::SpinRule::Bound(rounds);
        self
    }

    /// Whether waits on a condition variable and `park` may wake up spuriously, as `std`
    /// allows. On by default.
    pub fn spurious_wakeups(mut self, is_on: bool) -> Self {
        self.setup.spurious_wakeups = is_on;
        self
    }

    /// Whether an `Arc` that is not dropped by the end of an execution is an error. On by
    /// default.
    pub fn leak_check(mut self, is_on: bool) -> Self {
        self.setup.leak_check = is_on;
        self
    }

    /// Whether to print a summary on standard error, also of a verified program. Off by default. `cargo test --
    /// --show-output` shows it.
    pub fn summary(mut self, is_on: bool) -> Self {
        self.summary = is_on;
        self
    }

    /// Whether the report of a program that is not store-buffer safe ends with the missing fences. They are those
    /// that [`run_fence_inference`](Self::run_fence_inference) finds; [`Outcome::inferred_fences`] returns them. The
    /// inference checks the program a few times more. Off by default. A replay infers no fences, and
    /// [`Strategy::Random`] and [`Strategy::Pct`] are refused.
    pub fn infer_fences(mut self, is_on: bool) -> Self {
        self.infer_fences = is_on;
        self
    }

    /// Checks the program as if it had another fence, without a rebuild. The fence is before the operation at a
    /// position as reports print it, `src/lock.rs:31:9`, or before all operations of a line, `src/lock.rs:31`; the
    /// end of the path is enough. Call the method once per fence. The report lists the fences as assumptions.
    ///
    /// ```
    /// use fencepost::sync::atomic::{AtomicBool, Ordering::Relaxed};
    /// use fencepost::{Checker, FenceStrength, thread};
    ///
    /// fn program() {
    ///     let flags = [AtomicBool::new(false), AtomicBool::new(false)];
    ///     thread::scope(|scope| {
    ///         for own in 0..2 {
    ///             let flags = &flags;
    ///             scope.spawn(move || {
    ///                 flags[own].store(true, Relaxed);
    ///                 flags[1 - own].load(Relaxed)
    ///             });
    ///         }
    ///     });
    /// }
    ///
    /// assert!(Checker::new().run(program).has_failed());
    /// let fences = Checker::new().run_fence_inference(program);
    /// let missing = &fences.needed().unwrap().fences()[0];
    /// let checker = Checker::new().insert_fence(missing.position(), FenceStrength::SeqCst);
    /// assert!(checker.run(program).is_verified());
    /// ```
    ///
    /// # Panics
    /// If `before` is not a position.
    #[track_caller]
    pub fn insert_fence(mut self, before: impl fmt::Display, strength: FenceStrength) -> Self {
        let text = before.to_string();
        match fences::parse_position(&text) {
            Some(place) => self.inserted_fences.push((place, strength.into())),
            None => panic!("{}", Refusal::NoPosition(text)),
        }
        self
    }

    /// The stack size of a thread of the program in bytes, from 16 KiB to 1 GiB. The default is 256 KiB.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.setup.stack_size = bytes.clamp(*STACK_SIZES.start(), *STACK_SIZES.end());
        self
    }

    /// Shows this text in reports for a source file of the program, instead of reading the file: for programs that
    /// run where their sources are not. `file` is what `file!()` returns in it.
    pub fn source(mut self, file: impl Into<String>, text: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.sources).insert(file.into(), text.into());
        self
    }

    /// Whether to show progress on standard error. The default is to show it on a terminal, and elsewhere if the
    /// check takes long.
    pub fn progress(mut self, is_on: bool) -> Self {
        self.progress = Some(is_on);
        self
    }

    /// Saves the state of the exploration in this file, so that a long check can be interrupted. When the same check
    /// runs again, it resumes from the file, and its outcome is that of an uninterrupted check. If `path` is a
    /// folder, each check has its own file there, named after its source location. A program that captures values
    /// needs a [`name`](Self::name).
    ///
    /// The file is written [every minute](Self::checkpoint_every), and when [`max_time`](Self::max_time) or
    /// [`max_executions`](Self::max_executions) ends the check; after a resume, these budgets start anew. The file is
    /// removed when the check is finished: all executions were explored, or the check stopped at the first
    /// [failure](Self::continue_after_failure). The number of workers and the budgets may change between runs.
    /// [`Strategy::Bounded`] has no checkpoints.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(path.into());
        self
    }

    /// Distinguishes this check from others at the same source location, for [checkpoints](Self::checkpoint). A
    /// program that captures values needs a name that identifies the values, because a checkpoint with other values
    /// must not be resumed.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The time between two [checkpoints](Self::checkpoint). The default is one minute.
    pub fn checkpoint_every(mut self, time: Duration) -> Self {
        self.checkpoint_every = time;
        self
    }

    /// Checks a program and returns the outcome.
    ///
    /// # Panics
    /// If it is called inside a check, if the value of an environment variable cannot be parsed, or if a
    /// [checkpoint](Self::checkpoint) is damaged or does not fit.
    #[track_caller]
    pub fn run(&self, program: impl Fn() + Send + Sync + 'static) -> Outcome {
        let check = Identity::of(&program, LocationRef::caller());
        self.run_shared(Arc::new(program), check)
    }

    /// As [`run`](Self::run). This and what follows is compiled once, and not for each program.
    #[track_caller]
    fn run_shared(&self, program: Checked, check: Identity) -> Outcome {
        let checker = environment::apply(self.clone());
        let outcome = Session::new(checker.clone(), program, check).check();
        checker.print_summary(&outcome, check.location);
        outcome
    }

    fn print_summary(&self, outcome: &Outcome, location: LocationRef) {
        if self.summary {
            outcome.print_summary(location);
        }
    }

    /// Checks a program and returns if it is verified.
    ///
    /// # Panics
    /// With the full report if it is not.
    #[track_caller]
    pub fn check(&self, program: impl Fn() + Send + Sync + 'static) {
        let check = Identity::of(&program, LocationRef::caller());
        self.check_shared(Arc::new(program), check);
    }

    #[track_caller]
    fn check_shared(&self, program: Checked, check: Identity) {
        let checker = environment::apply(self.clone());
        let outcome = Session::new(checker.clone(), program, check).check();
        if !outcome.is_verified() {
            // The summary is part of it.
            outcome.panic_with_report();
        }
        if checker.summary || outcome.has_notes() {
            // Remarks are printed even if no summary is asked for.
            outcome.print_summary(check.location);
        }
    }

    /// Infers a smallest set of fences that makes the program store-buffer safe, and proves that it does by checking
    /// the program with the fences inserted at run time. A fence can be before any operation of the program. No
    /// smaller set is enough; for PSO, no set of the same size has fewer full fences. If some executions were not
    /// explored, the outcome with the fences is incomplete, and proves nothing.
    ///
    /// ```
    /// use fencepost::sync::Arc;
    /// use fencepost::sync::atomic::{AtomicBool, Ordering::Relaxed};
    /// use fencepost::{Checker, thread};
    ///
    /// let fences = Checker::new().run_fence_inference(|| {
    ///     let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    ///     let other = Arc::clone(&flags);
    ///     let thread = thread::spawn(move || {
    ///         other[0].store(true, Relaxed);
    ///         other[1].load(Relaxed)
    ///     });
    ///     flags[1].store(true, Relaxed);
    ///     flags[0].load(Relaxed);
    ///     thread.join().unwrap();
    /// });
    /// let set = fences.needed().unwrap();
    /// assert_eq!(set.fences().len(), 2);
    /// assert!(set.outcome().is_verified());
    /// ```
    ///
    /// # Panics
    /// As [`run`](Self::run), and if the strategy runs only a sample of the executions.
    #[track_caller]
    pub fn run_fence_inference(
        &self,
        program: impl Fn() + Send + Sync + 'static,
    ) -> FenceInference {
        let check = Identity::of(&program, LocationRef::caller());
        self.infer_shared(Arc::new(program), check)
    }

    #[track_caller]
    fn infer_shared(&self, program: Checked, check: Identity) -> FenceInference {
        let checker = environment::apply(self.clone());
        fences::refuse_samples(&checker);
        fences::infer(&Session::new(checker, program, check))
    }

    /// Replays the execution with this schedule, as a report prints it.
    ///
    /// # Panics
    /// If `schedule` is not a schedule, or needs other settings.
    #[track_caller]
    pub fn replay(&self, schedule: &str, program: impl Fn() + Send + Sync + 'static) -> Outcome {
        let check = Identity::of(&program, LocationRef::caller());
        self.replay_shared(schedule, Arc::new(program), check)
    }

    #[track_caller]
    fn replay_shared(&self, schedule: &str, program: Checked, check: Identity) -> Outcome {
        let schedule = parsed(schedule);
        let mut checker = environment::apply(self.clone());
        checker.replayed = Some(schedule);
        checker.setup.keeps_first_values = true;
        let outcome = Session::new(checker.clone(), program, check).check();
        checker.print_summary(&outcome, check.location);
        outcome
    }
}

/// A program in C or C++.
pub struct ForeignProgram {
    /// Runs its first thread.
    pub program: Checked,
    /// Where that begins.
    pub location: LocationRef,
    /// Whether its plain accesses are operations, as a compiler would have translated them one by one.
    pub allows_races: bool,
    /// The command that runs the check. `--replay SCHEDULE` is added in place of `{replay}`, or else at the end.
    pub command: String,
}

impl ForeignProgram {
    /// Checks the program, as [`Checker::run`]. Nothing is unwound, and nothing is dropped, when an execution ends.
    pub fn run(self, checker: &Checker) -> Outcome {
        self.check(environment::apply(checker.clone()))
    }

    /// Replays an execution of the program, as [`Checker::replay`].
    ///
    /// # Panics
    /// If `schedule` is not a schedule.
    pub fn replay(self, checker: &Checker, schedule: &str) -> Outcome {
        let mut checker = environment::apply(checker.clone());
        checker.replayed = Some(parsed(schedule));
        self.check(checker)
    }

    fn check(self, mut checker: Checker) -> Outcome {
        // The memory of such a program exists once in a process.
        checker.settings.workers = 1;
        checker.setup.abandons_threads = true;
        checker.setup.tracks_memory = true;
        checker.language = ProgramLanguage::C;
        checker.allows_races = self.allows_races;
        checker.command = Some(self.command);
        checker.setup.keeps_first_values |= checker.replayed.is_some();
        let identity = Identity {
            location: self.location,
            program: std::any::TypeId::of::<ForeignProgram>(),
            captures: false,
        };
        Session::new(checker, self.program, identity).check()
    }
}

/// The schedule of a text.
///
/// # Panics
/// If it is none.
#[track_caller]
fn parsed(text: &str) -> ReplaySchedule {
    let parsed: Result<ReplaySchedule, _> = text.parse();
    match parsed {
        Ok(schedule) => schedule,
        Err(error) => {
            let text = text.to_owned();
            panic!("{}", Refusal::NoSchedule { text, error })
        }
    }
}
