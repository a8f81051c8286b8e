//! The settings of a check.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::panic::Location;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fencepost_explore as explore;

use super::checkpoint::Identity;
use super::environment;
use super::fences::{self, FenceInference, FenceStrength};
use super::outcome::Outcome;
use super::replaying::ReplaySchedule;
use super::session::Session;
use fencepost_runtime::{Insertion, OwnedLocation, STACK_SIZES, Setup, Target, ThreadIdSpace};

/// How many workers there can be.
pub(super) const WORKERS: RangeInclusive<usize> = 1..=1024;

/// Which executions to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// One execution of each equivalence class: all that can happen.
    #[default]
    Exhaustive,
    /// The executions with at most so many preemptions, those with fewer first; in turns with
    /// `Exhaustive`, until either is through.
    Bounded,
    /// Random executions.
    Random,
    /// Random priorities: finds bugs that need few switches with a known probability
    /// (probabilistic concurrency testing).
    Pct,
}

/// Checks programs, with settings.
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
/// Each setting can be overridden without a change of the code.
///
#[doc = include_str!("variables.md")]
///
/// A value that cannot be read or is out of its range makes the check panic and say so, and so does any other variable
/// that begins with `FENCEPOST_`. Methods take a number that is out of its range for the nearest one in it.
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
    /// Whether variables override the settings.
    pub(super) reads_environment: bool,
    pub(super) progress: Option<bool>,
    pub(super) summary: bool,
    pub(super) setup: Setup,
    pub(super) settings: explore::Settings,
    pub(super) replayed: Option<ReplaySchedule>,
    pub(super) name: Option<String>,
    /// Whether the report ends with the fences that are missing.
    pub(super) infer_fences: bool,
    /// Fences that the program is checked with and does not have, because the user wants to try them.
    pub(super) tried: Vec<(OwnedLocation, Insertion)>,
    /// Texts of source files, by the name that the compiler has for the file.
    pub(super) sources: Arc<BTreeMap<String, String>>,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) checkpoint_every: Duration,
}

impl Default for Checker {
    fn default() -> Self {
        Checker::new()
    }
}

impl Checker {
    /// Exhaustive, for x86, one worker, stopping at the first finding, without limits but for
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
            tried: Vec::new(),
            sources: Arc::default(),
            checkpoint: None,
            checkpoint_every: Duration::from_secs(60),
        }
    }

    /// Ignores all environment variables: for a command that has options of its own.
    pub fn without_environment(mut self) -> Self {
        self.reads_environment = false;
        self
    }

    /// The machine that the program is for. x86 unless said otherwise.
    pub fn target(mut self, target: Target) -> Self {
        self.setup.target = target;
        self
    }

    /// Which executions to run. All unless said otherwise; with any other strategy, a program in
    /// which nothing is found is not verified.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Runs the executions with at most so many preemptions ([`Strategy::Bounded`]): what is
    /// wrong only with more preemptions may not be found. Unless this left nothing out, the
    /// program is not verified. Where all executions are run as quickly, nothing is left out.
    pub fn preemption_bound(mut self, preemptions: u32) -> Self {
        self.preemption_bound = preemptions;
        self.strategy = Strategy::Bounded;
        self
    }

    /// Whether [`Strategy::Bounded`] runs nothing beyond the bound, even where that takes longer: then the
    /// executions within the bound are what is counted. It may, unless said otherwise.
    pub fn strict_bound(mut self, is_on: bool) -> Self {
        self.strict_bound = is_on;
        self
    }

    /// How many executions [`Strategy::Random`] and [`Strategy::Pct`] run. 10,000 unless said
    /// otherwise.
    pub fn executions(mut self, executions: u64) -> Self {
        self.executions = executions;
        self
    }

    /// The depth of the bugs that [`Strategy::Pct`] looks for, at least 1: 0 is taken for 1. 3 unless said otherwise.
    pub fn pct_depth(mut self, depth: u32) -> Self {
        self.pct_depth = depth.max(1);
        self
    }

    /// Where random numbers begin. The same seed gives the same executions.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Stops after so many executions. The program is then not verified.
    pub fn max_executions(mut self, executions: u64) -> Self {
        self.settings.max_executions = Some(executions);
        self
    }

    /// Stops after so much time. The program is then not verified. The clock is looked at between
    /// executions only: one that never ends is not stopped.
    pub fn max_time(mut self, time: Duration) -> Self {
        self.settings.max_time = Some(time);
        self
    }

    /// The most operations in one execution, and the most threads that it makes; one with more is reported.
    /// 100,000 unless said otherwise.
    pub fn max_steps(mut self, steps: u64) -> Self {
        self.settings.max_steps = steps;
        self
    }

    /// How many threads of the operating system explore at once: from 1 to 1024, and fewer if there
    /// are no more to be had. 0 is taken for 1, and what is more for 1024. One unless said otherwise. The result is
    /// the same with any number.
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers.clamp(*WORKERS.start(), *WORKERS.end());
        self
    }

    /// Whether to look for what store buffers can do. If not, only sequentially consistent
    /// executions are judged, and "verified" says nothing about a real machine.
    pub fn monitor(mut self, is_on: bool) -> Self {
        self.monitor = is_on;
        self
    }

    /// Whether to run the program on the target, where stores wait in buffers, and not as if every store were in
    /// memory at once. There is no monitor then: an execution is wrong if it panics, deadlocks, and so on, and
    /// that store buffers add executions is no finding. Takes longer, since there are more executions. Not unless said otherwise.
    ///
    /// With [`preemption_bound`](Self::preemption_bound), a store that goes to memory while its thread could
    /// go on is a preemption too.
    pub fn store_buffers(mut self, are_there: bool) -> Self {
        self.setup.store_buffers = are_there.then_some(ThreadIdSpace::FIRST);
        self
    }

    /// Whether to look for what comes of a store-buffer violation: runs the program on from the witness, and from
    /// the beginning, on the target, until an execution is wrong or so many were run as
    /// [`executions`](Self::executions) says. Not unless said otherwise.
    ///
    /// A program that frees memory twice or reads what was freed may do so in earnest.
    pub fn confirm(mut self, is_on: bool) -> Self {
        self.confirm = is_on;
        self
    }

    /// Whether to go on after the first finding, and count them.
    pub fn continue_after_failure(mut self, continue_after_failure: bool) -> Self {
        self.settings.continue_after_failure = continue_after_failure;
        self
    }

    /// Does not assume that loops with a [spin hint](crate::hint::spin_loop) only wait: a thread
    /// may go round so many times without a change of what it read. What would need more rounds is
    /// not explored, and the program then not verified.
    pub fn spin_bound(mut self, rounds: u32) -> Self {
        self.settings.spin = explore::SpinRule::Bound(rounds);
        self
    }

    /// Whether waiting on a condition variable may end without a notification, and
    /// [`park`](crate::thread::park) without having been unparked, as `std` allows. They may unless
    /// said otherwise.
    pub fn spurious_wakeups(mut self, is_on: bool) -> Self {
        self.setup.spurious_wakeups = is_on;
        self
    }

    /// Whether an [`Arc`](crate::sync::Arc) that was not dropped by the end of an execution is an
    /// error. It is unless said otherwise.
    pub fn leak_check(mut self, is_on: bool) -> Self {
        self.setup.leak_check = is_on;
        self
    }

    /// Whether to print what a check came to on standard error, also if it is verified. Not unless
    /// said otherwise. In a test, `cargo test -- --show-output` shows it.
    pub fn summary(mut self, is_on: bool) -> Self {
        self.summary = is_on;
        self
    }

    /// Whether the report of a program that is not store-buffer safe ends with the fences that are missing, as
    /// [`run_fence_inference`](Self::run_fence_inference) finds them, and [`Outcome::inferred_fences`] has them. For that the program is checked a
    /// few times more, and not only up to the first finding. Not unless said otherwise. One execution that is replayed
    /// says nothing about all fences, and has none in its report; [`Strategy::Random`] and [`Strategy::Pct`] are refused.
    pub fn infer_fences(mut self, is_on: bool) -> Self {
        self.infer_fences = is_on;
        self
    }

    /// Checks the program as if it had a fence here too: before the operation at this place, which is written as in
    /// reports, `src/lock.rs:31:9`, or before all operations of a line, `src/lock.rs:31`. The end of the path is enough.
    /// Call it for each fence. Nothing has to be built again to try others; what the program comes to rests on
    /// them, and the report says so.
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
    /// If it is not a place.
    #[track_caller]
    pub fn insert_fence(mut self, before: impl fmt::Display, strength: FenceStrength) -> Self {
        let text = before.to_string();
        match fences::place(&text) {
            Some(place) => self.tried.push((place, strength.into())),
            None => panic!(
                "`{text}` is no place for a fence: say before which operation, by file, line and perhaps column, \
                 as in `src/lock.rs:31:9`"
            ),
        }
        self
    }

    /// The bytes of stack of a thread, from 16 KiB to 1 GiB: what is less or more is taken for the
    /// nearest of these. 256 KiB unless said otherwise.
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

    /// Whether to show progress on standard error. Unless said otherwise: on a terminal, and
    /// elsewhere if it takes long.
    pub fn progress(mut self, is_on: bool) -> Self {
        self.progress = Some(is_on);
        self
    }

    /// Keeps in this file how far the check is, so that a long one can be interrupted. When
    /// the same check is run again, it goes on from there, and comes to the same in the end as if it
    /// had not been interrupted. If `path` is a folder, each check has a file of its own in it, named
    /// after where it is called. A program that captures values needs a [`name`](Self::name).
    ///
    /// The file is written [every](Self::checkpoint_every) minute and when
    /// [`max_time`](Self::max_time) or [`max_executions`](Self::max_executions) ends the check; these
    /// budgets are then for what is still to be done. It is removed when the check has come to its end: all
    /// executions were run, or something was found and it does not [go on](Self::continue_after_failure). The number of
    /// workers and the budgets may be others when the check goes on. [`Strategy::Bounded`] has no
    /// checkpoints.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(path.into());
        self
    }

    /// Tells this check from others at the same place, for [checkpoints](Self::checkpoint). A program that
    /// captures values must have a name that says which: what was explored with other values says
    /// nothing about these.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How often [`checkpoint`](Self::checkpoint) writes its file. Every minute unless said otherwise.
    pub fn checkpoint_every(mut self, time: Duration) -> Self {
        self.checkpoint_every = time;
        self
    }

    /// Checks a program.
    ///
    /// # Panics
    /// If it is called from inside of a check, if an environment variable has a value that cannot be
    /// read, or if a [checkpoint](Self::checkpoint) is damaged or does not fit.
    #[track_caller]
    pub fn run(&self, program: impl Fn() + Send + Sync + 'static) -> Outcome {
        let checker = environment::apply(self.clone());
        let check = Identity::of(&program, Location::caller());
        let outcome = Session::new(checker.clone(), Arc::new(program), check).check();
        checker.print_summary(&outcome, Location::caller());
        outcome
    }

    fn print_summary(&self, outcome: &Outcome, location: &Location<'_>) {
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
        let checker = environment::apply(self.clone());
        let check = Identity::of(&program, Location::caller());
        let outcome = Session::new(checker.clone(), Arc::new(program), check).check();
        if !outcome.is_verified() {
            // The summary is part of it.
            outcome.panic_with_report();
        }
        if checker.summary || outcome.has_notes() {
            // Who has to know something is told, asked or not.
            outcome.print_summary(Location::caller());
        }
    }

    /// Looks for a smallest set of fences that makes the program store-buffer safe, and proves that it does:
    /// the program is checked with them, inserted while it runs. A fence can be before any operation of the
    /// program. No set with fewer fences is enough; for PSO, none with as many has fewer full fences. Where not all
    /// executions were run, the outcome with the fences is incomplete, and no proof.
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
        let checker = environment::apply(self.clone());
        fences::refuse_samples(&checker);
        let check = Identity::of(&program, Location::caller());
        fences::infer(&Session::new(checker, Arc::new(program), check))
    }

    /// Runs one execution again: the one with this schedule.
    ///
    /// # Panics
    /// If it is not a schedule.
    #[track_caller]
    pub fn replay(&self, schedule: &str, program: impl Fn() + Send + Sync + 'static) -> Outcome {
        let parsed: Result<ReplaySchedule, _> = schedule.parse();
        let schedule = match parsed {
            Ok(schedule) => schedule,
            Err(error) => panic!("the schedule to replay cannot be read: {error}"),
        };
        let mut checker = environment::apply(self.clone());
        checker.replayed = Some(schedule);
        checker.setup.keeps_first_values = true;
        let check = Identity::of(&program, Location::caller());
        let outcome = Session::new(checker.clone(), Arc::new(program), check).check();
        checker.print_summary(&outcome, Location::caller());
        outcome
    }
}
