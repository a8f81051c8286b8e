//! A [`Session`]: one check, from its settings to its outcome.
//!
//! The session owns everything that the parts of a check share. The other files add methods to it: `restarting`
//! explores the program, `confirming` replays what was found, `rounds` unrolls waiting loops, `concluding` makes the
//! outcome of a report.

use std::sync::Arc;

use fencepost_explore::{MonitoredModel, Settings, Strategy as Exploring};
use fencepost_report::check::{Note, Refusal};
use fencepost_runtime::{
    Checked, Current, Insertions, ProgramError, Registry, Restart, Runtime, Setup,
};

use super::checker::{Checker, Strategy};
use super::checkpoint::Identity;
use super::fences::{self, FenceInference};
use super::outcome::Outcome;
use super::{consequence, watchdog};

/// What the explorer reports about a program.
pub(super) type Report = fencepost_explore::Report<ProgramError, Restart>;
/// A failure of a program, with the execution that shows it.
pub(super) type Counterexample = fencepost_explore::Counterexample<ProgramError>;

/// One check, from its settings to its outcome.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) checker: Checker,
    program: Checked,
    pub(super) identity: Identity,
    /// Fences that the program is checked with and does not have, besides those that the user chose.
    insertions: Arc<Insertions>,
    /// How the explorer explores.
    pub(super) settings: Settings,
    /// How the runtime runs the program. A restart changes it.
    pub(super) setup: Setup,
    /// The names of all threads, objects and locations seen so far. Clones of a session share it.
    pub(super) registry: Arc<Registry>,
    /// That checkpoints could not be written, if so.
    pub(super) checkpoint_note: Option<Note>,
}

impl Session {
    /// A session in which nothing has been explored.
    pub(super) fn new(checker: Checker, program: Checked, identity: Identity) -> Self {
        Session {
            program,
            identity,
            insertions: Arc::default(),
            settings: explorer_settings(&checker),
            setup: checker.setup,
            registry: Arc::new(Registry::new(identity.location)),
            checkpoint_note: None,
            checker,
        }
        .with_fresh_registry()
    }

    /// A session of the same program with other settings, in which nothing has been explored.
    pub(super) fn with_checker(&self, checker: Checker) -> Self {
        Session {
            insertions: Arc::clone(&self.insertions),
            ..Session::new(checker, Arc::clone(&self.program), self.identity)
        }
        .with_fresh_registry()
    }

    /// A session of the same program with these fences, in which nothing has been explored.
    pub(super) fn with_insertions(&self, insertions: Insertions) -> Self {
        Session {
            insertions: Arc::new(insertions),
            ..self.with_checker(self.checker.clone())
        }
        .with_fresh_registry()
    }

    fn with_fresh_registry(mut self) -> Self {
        let insertions =
            Insertions::clone(&self.insertions).with_requested(&self.checker.inserted_fences);
        let registry = Registry::new(self.identity.location);
        self.registry = Arc::new(registry.with_insertions(Arc::new(insertions)));
        if let Some(replayed) = &self.checker.replayed {
            replayed.header.apply(&mut self.setup, &self.registry);
        }
        self
    }

    /// Runs the whole check.
    #[track_caller]
    pub(super) fn check(self) -> Outcome {
        let checker = &self.checker;
        refuse_contradictions(checker);
        let infers_fences = checker.infer_fences && checker.replayed.is_none();
        if infers_fences {
            // Not after an hour.
            fences::refuse_samples(checker);
        }
        let searched = self.clone().search();
        let found_by = searched.session.clone();
        let mut outcome = searched.outcome();
        if checker.confirm && checker.setup.store_buffers.is_none() {
            let findings = outcome.details_mut().findings.iter_mut();
            for finding in findings.filter(|finding| finding.is_store_buffer) {
                let found = &finding.found;
                let consequence = in_own_thread(|| consequence::of(&found_by, found));
                finding.consequence = Some(consequence);
            }
        }
        if infers_fences && outcome.violations() > 0 {
            let fences = match &outcome {
                // Where something else is wrong, what a fence would change says nothing.
                Outcome::ProgramError(_) => FenceInference::Unknown(outcome.clone()),
                _ => fences::infer(&self),
            };
            outcome.details_mut().fence_inference = Some(Box::new(fences));
        }
        outcome
    }

    /// Explores the program as [`explore`](Self::explore) does, on a thread of its own.
    ///
    /// # Panics
    /// If the program cannot be explored with these settings, or a check is running on this thread.
    #[track_caller]
    pub(super) fn explore_in_own_thread(&mut self) -> Report {
        if Current::get().is_some() {
            panic!("{}", Refusal::InsideCheck);
        }
        match in_own_thread(|| self.explore()) {
            Ok(report) => report,
            Err(refusal) => panic!("{}", refusal.in_language(self.checker.language)),
        }
    }

    /// A worker that runs the program. The watchdog watches it.
    pub(super) fn runtime(&self) -> Runtime {
        let setup = Setup {
            max_steps: self.checker.settings.max_steps,
            ..self.setup
        };
        let runtime = Runtime::new(Arc::clone(&self.program), setup, Arc::clone(&self.registry));
        if self.checker.progress != Some(false) {
            watchdog::watch(runtime.heartbeat(), &self.registry);
        }
        runtime
    }

    /// Whether the session replays a schedule.
    pub(super) fn is_replay(&self) -> bool {
        matches!(self.settings.strategy, Exploring::Replay(_))
    }
}

/// Runs the work on a new thread, so that what a program does to its thread ends with it.
#[track_caller]
fn in_own_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("fencepost".to_owned());
        match thread.spawn_scoped(scope, work) {
            Ok(thread) => thread.join(),
            Err(error) => panic!("{}", Refusal::NoThread(error)),
        }
    });
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Panics if two settings contradict each other.
#[track_caller]
fn refuse_contradictions(checker: &Checker) {
    let replayed = checker.replayed.as_ref();
    if let Some(refusal) =
        replayed.and_then(|replayed| replayed.header.contradiction(&checker.setup))
    {
        panic!("{}", refusal.in_language(checker.language));
    }
    let buffered = match (checker.confirm, checker.setup.store_buffers) {
        (true, _) => Some("confirm"),
        (false, Some(_)) => Some("store_buffers"),
        (false, None) => None,
    };
    if let Some(setting) = buffered.filter(|_| checker.allows_races) {
        let refusal = Refusal::RacesInBuffers { setting };
        panic!("{}", refusal.in_language(checker.language));
    }
    let setting = match (checker.confirm, checker.infer_fences) {
        (true, _) => "confirm",
        (false, true) => "infer_fences",
        (false, false) => return,
    };
    if checker.setup.store_buffers.is_some() {
        let refusal = Refusal::NoViolations { setting };
        panic!("{}", refusal.in_language(checker.language));
    }
    if !checker.monitor {
        let refusal = Refusal::NoMonitor { setting };
        panic!("{}", refusal.in_language(checker.language));
    }
}

/// The explorer's settings of a check.
pub(super) fn explorer_settings(checker: &Checker) -> Settings {
    let strategy = match (&checker.replayed, checker.strategy) {
        (Some(replayed), _) => Exploring::Replay(replayed.schedule.clone()),
        (None, Strategy::Exhaustive) => Exploring::Exhaustive,
        (None, Strategy::Bounded) if checker.strict_bound => Exploring::Bounded {
            preemptions: checker.preemption_bound,
        },
        (None, Strategy::Bounded) => Exploring::BoundedOrExhaustive {
            preemptions: checker.preemption_bound,
        },
        (None, Strategy::Random) => Exploring::Random {
            seed: checker.seed,
            executions: checker.executions,
        },
        (None, Strategy::Pct) => Exploring::Pct {
            seed: checker.seed,
            executions: checker.executions,
            depth: checker.pct_depth,
        },
    };
    let monitored_model = match checker.monitor && checker.setup.store_buffers.is_none() {
        true => checker.setup.target.monitored_model(),
        false => MonitoredModel::None,
    };
    Settings {
        strategy,
        monitored_model,
        ..checker.settings.clone()
    }
}
