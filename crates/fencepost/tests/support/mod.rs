//! A tiny explorer: runs a closure at random, in turns, or in every order.
#![allow(dead_code)] // Not every test uses all of it.

use std::sync::{Arc, Mutex};

use fencepost_explore::{Intent, Performed, Program, ThreadStatus, Touch};
use fencepost_memory::{Access, Operation, Random, ThreadId};
use fencepost_runtime::{
    ComparedStates, ProgramError, Registry, Restart, Runtime, Setup, Stop, Target,
};

/// What is chosen from: a thread, and an outcome of its operation.
pub type Choice = (ThreadId, u32);

/// One step that was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    pub thread: ThreadId,
    pub intent: Intent,
    pub touches: Vec<Touch>,
    pub spawned: Vec<ThreadId>,
    pub accesses: Vec<Access>,
}

/// One execution.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub steps: Vec<Taken>,
    /// What `start` told.
    pub began: Performed,
    pub error: Option<ProgramError>,
    /// The restart that the runtime asked for.
    pub restart: Option<Restart>,
    /// Threads were left that could not move.
    pub is_deadlock: bool,
}

impl Run {
    fn stop(&mut self, result: Result<(), Stop>) {
        match result {
            Ok(()) => {}
            Err(_) if self.is_stopped() => {}
            Err(Stop::Error(error)) => self.error = Some(error),
            Err(Stop::Restart(restart)) => self.restart = Some(restart),
        }
    }

    fn is_stopped(&self) -> bool {
        self.error.is_some() || self.restart.is_some()
    }

    /// `T1 st a3` for all accesses, in order.
    pub fn accesses(&self) -> Vec<Access> {
        let mut accesses = self.began.accesses.clone();
        for step in &self.steps {
            accesses.extend_from_slice(&step.accesses);
        }
        accesses
    }

    /// The mnemonics of a thread's accesses, one string per access.
    pub fn mnemonics(&self, thread: u32) -> Vec<&'static str> {
        self.accesses()
            .iter()
            .filter(|access| access.thread == ThreadId(thread))
            .map(|access| access.operation.kind().mnemonic())
            .collect()
    }

    pub fn expect_fine(&self) -> &Self {
        assert_eq!((&self.error, self.restart), (&None, None));
        assert!(!self.is_deadlock, "deadlock: {self:?}");
        self
    }
}

/// A program, ready to be run.
pub struct Driver {
    pub runtime: Runtime,
    pub registry: Arc<Registry>,
    pub performed: Performed,
    pub max_steps: usize,
}

/// Brute force waits for nothing and skips nothing.
pub fn as_it_is(setup: Setup) -> Setup {
    Setup {
        compared_states: ComparedStates::Never,
        ..setup
    }
}

impl Driver {
    #[track_caller]
    pub fn new(program: impl Fn() + Send + Sync + 'static) -> Self {
        Driver::with(Setup::default(), program)
    }

    #[track_caller]
    pub fn with(setup: Setup, program: impl Fn() + Send + Sync + 'static) -> Self {
        let registry = Arc::new(Registry::new(fencepost_runtime::LocationRef::caller()));
        Driver {
            runtime: Runtime::new(Arc::new(program), as_it_is(setup), registry.clone()),
            registry,
            performed: Performed::default(),
            max_steps: 10_000,
        }
    }

    /// What can be done next.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        for number in 0..self.runtime.thread_bound() {
            let thread = ThreadId(number as u32);
            if let ThreadStatus::Pending { intent, outcomes } = self.runtime.status(thread) {
                if is_enabled(&self.runtime, intent) {
                    choices.extend((0..outcomes).map(|outcome| (thread, outcome)));
                }
            }
        }
        choices
    }

    /// Runs one execution; `choose` picks one of the choices, or none to stop here.
    pub fn run(&mut self, mut choose: impl FnMut(&[Choice]) -> Option<usize>) -> Run {
        let mut run = Run::default();
        self.performed.clear();
        let started = self.runtime.start(&mut self.performed);
        run.began = self.performed.clone();
        run.stop(started);
        while !run.is_stopped() {
            let choices = self.choices();
            if choices.is_empty() {
                run.is_deadlock = !self.has_ended();
                break;
            }
            assert!(run.steps.len() < self.max_steps, "too many steps");
            let Some(choice) = choose(&choices) else {
                break;
            };
            let (thread, outcome) = choices[choice];
            let ThreadStatus::Pending { intent, .. } = self.runtime.status(thread) else {
                panic!("{thread} was chosen");
            };
            assert!(self.runtime.location(thread).is_some());
            self.performed.clear();
            let stepped = self.runtime.step(thread, outcome, &mut self.performed);
            run.stop(stepped);
            run.steps.push(Taken {
                thread,
                intent,
                touches: self.performed.touches.clone(),
                spawned: self.performed.spawned.clone(),
                accesses: self.performed.accesses.clone(),
            });
        }
        let is_complete = !run.is_stopped() && self.has_ended();
        run.stop(self.runtime.finish(is_complete));
        run
    }

    fn has_ended(&self) -> bool {
        (0..self.runtime.thread_bound()).all(|number| {
            let status = self.runtime.status(ThreadId(number as u32));
            !matches!(status, ThreadStatus::Pending { .. })
        })
    }

    /// Runs once, at random.
    pub fn run_random(&mut self, random: &mut Random) -> Run {
        self.run(|choices| Some(random.below(choices.len() as u64) as usize))
    }

    /// Runs once, with the threads in turn.
    pub fn run_in_turns(&mut self) -> Run {
        let mut last = 0;
        self.run(|choices| {
            let next = choices.iter().position(|(thread, _)| thread.0 > last);
            let next = next.unwrap_or(0);
            last = choices[next].0.0;
            Some(next)
        })
    }

    /// Runs once, where the first thread that can go on does.
    pub fn run_first(&mut self) -> Run {
        self.run(|_| Some(0))
    }

    /// Runs in every order, and stops after the first error.
    pub fn run_all(&mut self) -> Vec<Run> {
        let mut runs = Vec::new();
        // The choices made, and how many there were.
        let mut path: Vec<(usize, usize)> = Vec::new();
        loop {
            let mut depth = 0;
            let run = self.run(|choices| {
                if depth == path.len() {
                    path.push((0, choices.len()));
                }
                assert_eq!(path[depth].1, choices.len(), "the program is not the same");
                depth += 1;
                Some(path[depth - 1].0)
            });
            let is_error = run.is_stopped();
            runs.push(run);
            assert!(runs.len() < 1_000_000, "too many executions");
            while path
                .last()
                .is_some_and(|(taken, count)| taken + 1 == *count)
            {
                path.pop();
            }
            match path.last_mut() {
                Some((taken, _)) if !is_error => *taken += 1,
                _ => return runs,
            }
        }
    }
}

pub fn is_enabled(runtime: &Runtime, intent: Intent) -> bool {
    match intent {
        Intent::Local | Intent::SpinHint => true,
        Intent::Stopped => false,
        Intent::Join(thread) => runtime.status(thread) == ThreadStatus::Finished,
        Intent::Access { object, awaits, .. } => {
            awaits.is_none_or(|condition| condition.holds(runtime.state(object)))
        }
    }
}

/// One of the threads that can go on, of which there are at most eight. Allocates nothing.
pub fn pick(runtime: &Runtime, random: &mut Random) -> Option<ThreadId> {
    let mut enabled = [ThreadId(0); 8];
    let mut count = 0;
    for number in 0..runtime.thread_bound() as u32 {
        if let ThreadStatus::Pending { intent, .. } = runtime.status(ThreadId(number)) {
            if is_enabled(runtime, intent) {
                enabled[count] = ThreadId(number);
                count += 1;
            }
        }
    }
    (count > 0).then(|| enabled[random.below(count as u64) as usize])
}

/// Runs a program in every order, and expects the first error that is found.
#[track_caller]
pub fn first_error(program: impl Fn() + Send + Sync + 'static) -> Option<ProgramError> {
    let runs = Driver::new(program).run_all();
    runs.last().and_then(|run| run.error.clone())
}

/// Runs a program in every order, without errors or deadlocks.
#[track_caller]
pub fn all_fine(program: impl Fn() + Send + Sync + 'static) -> Vec<Run> {
    all_fine_with(Setup::default(), program)
}

/// The same, with a setup.
#[track_caller]
pub fn all_fine_with(setup: Setup, program: impl Fn() + Send + Sync + 'static) -> Vec<Run> {
    let runs = Driver::with(setup, program).run_all();
    for run in &runs {
        run.expect_fine();
    }
    runs
}

/// Waits return only if they are notified.
pub fn no_spurious() -> Setup {
    Setup {
        spurious_wakeups: false,
        ..Setup::default()
    }
}

pub fn pso() -> Setup {
    Setup {
        target: Target::Pso,
        ..Setup::default()
    }
}

/// Collects what executions saw, sorted and without repetitions.
#[derive(Clone, Default)]
pub struct Seen<T>(Arc<Mutex<Vec<T>>>);

impl<T: Ord + Clone> Seen<T> {
    pub fn new() -> Self {
        Seen(Arc::new(Mutex::new(Vec::new())))
    }

    pub fn add(&self, value: T) {
        self.0.lock().unwrap().push(value);
    }

    pub fn sorted(&self) -> Vec<T> {
        let mut values = self.0.lock().unwrap().clone();
        values.sort();
        values.dedup();
        values
    }
}

/// Operations of a thread, without spawn, join and end.
pub fn operations_of(run: &Run, thread: u32) -> Vec<Operation> {
    run.accesses()
        .iter()
        .filter(|access| access.thread == ThreadId(thread))
        .map(|access| access.operation)
        .collect()
}

/// The methods of [`fencepost_explore::Program`] that a wrapper of a runtime passes on as they are. A wrapper that left
/// out `round` would have every loop with a hint taken for a wait.
#[allow(unused_macros)] // Not every test has a wrapper.
macro_rules! passed_on_to_runtime {
    () => {
        type Error = fencepost_runtime::ProgramError;
        type Restart = fencepost_runtime::Restart;

        fn is_fatal(&self, error: &Self::Error) -> bool {
            self.runtime.is_fatal(error)
        }

        fn thread_bound(&self) -> usize {
            self.runtime.thread_bound()
        }

        fn status(&self, thread: fencepost_memory::ThreadId) -> fencepost_explore::ThreadStatus {
            self.runtime.status(thread)
        }

        fn state(&self, object: fencepost_memory::Address) -> u64 {
            self.runtime.state(object)
        }

        fn location(
            &self,
            thread: fencepost_memory::ThreadId,
        ) -> Option<fencepost_memory::LocationId> {
            self.runtime.location(thread)
        }

        fn round(&self, thread: fencepost_memory::ThreadId) -> fencepost_explore::Round {
            self.runtime.round(thread)
        }

        fn may_be_joined(&self, thread: fencepost_memory::ThreadId) -> bool {
            self.runtime.may_be_joined(thread)
        }
    };
}
#[allow(unused_imports)]
pub(crate) use passed_on_to_runtime;
