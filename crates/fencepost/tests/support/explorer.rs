//! Runs a closure through the real explorer, exhaustively.
#![allow(dead_code)] // Not every test uses all of it.

use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost::cell::UnsafeCell;
use fencepost_explore::{Failure, Fault, Limit, MonitoredModel, Report, Settings, explore};
use fencepost_runtime::{
    Checked, ComparedStates, OwnedLocation, ProgramError, Registry, Restart, Runtime, Setup,
};

/// What an exploration has found, and the registry of its names.
pub struct Explored {
    pub report: Report<ProgramError, Restart>,
    pub registry: Arc<Registry>,
    /// How often it was begun anew.
    pub restarts: u32,
}

pub fn without_spurious() -> Setup {
    Setup {
        spurious_wakeups: false,
        ..Setup::default()
    }
}

/// Changes the setup as a restart asks for.
pub fn apply_restart(restart: Restart, setup: &mut Setup) {
    setup.are_ends_visible |= restart == Restart::VisibleEnds;
    setup.are_statics_visible |= restart == Restart::VisibleStatics;
    setup.are_writers_announced |= restart == Restart::AnnouncedWriters;
    setup.are_destructors_late |= restart == Restart::LateDestructors;
    setup.do_waits_take_tokens |= restart == Restart::TakenTokens;
    if restart == Restart::ComparedStates {
        setup.compared_states = ComparedStates::Always;
    }
}

/// Explores; begins again when the runtime asks for it.
#[track_caller]
pub fn explore_with(
    setup: Setup,
    settings: &Settings,
    program: impl Fn() + Send + Sync + 'static,
) -> Explored {
    explore_checked(setup, settings, Arc::new(program))
}

/// It is compiled once, and not for each of some hundred programs.
#[track_caller]
fn explore_checked(mut setup: Setup, settings: &Settings, checked: Checked) -> Explored {
    let registry = Arc::new(Registry::new(fencepost_runtime::LocationRef::caller()));
    let mut restarts = 0;
    loop {
        let runtime = || Runtime::new(checked.clone(), setup, registry.clone());
        let report = explore(runtime, settings, &mut |_| ControlFlow::Continue(()));
        if let Some(restart) = report.restart {
            apply_restart(restart, &mut setup);
            restarts += 1;
            assert!(restarts < 10, "it asks again and again");
            continue;
        }
        return Explored {
            report,
            registry,
            restarts,
        };
    }
}

#[track_caller]
fn explored(setup: Setup, program: impl Fn() + Send + Sync + 'static) -> Explored {
    let settings = Settings {
        monitored_model: MonitoredModel::None,
        ..Settings::default()
    };
    explore_with(setup, &settings, program)
}

/// Explores a program that is right, and returns the number of its classes.
#[track_caller]
pub fn classes(program: impl Fn() + Send + Sync + 'static) -> u64 {
    classes_with(Setup::default(), program)
}

#[track_caller]
pub fn classes_with(setup: Setup, program: impl Fn() + Send + Sync + 'static) -> u64 {
    right(explored(setup, program)).report.executions
}

/// Explores a program that is right.
#[track_caller]
pub fn verified(program: impl Fn() + Send + Sync + 'static) -> Explored {
    right(explored(Setup::default(), program))
}

#[track_caller]
fn right(explored: Explored) -> Explored {
    let report = &explored.report;
    let problems: Vec<_> = report.findings.iter().map(|f| &f.failure).collect();
    assert!(problems.is_empty(), "{problems:?}");
    assert!(report.is_complete(), "{:?}", report.limits);
    explored
}

/// Explores a program that is wrong, and returns what is found first.
#[track_caller]
pub fn fault(program: impl Fn() + Send + Sync + 'static) -> Fault<ProgramError> {
    fault_with(Setup::default(), program)
}

#[track_caller]
pub fn fault_with(setup: Setup, program: impl Fn() + Send + Sync + 'static) -> Fault<ProgramError> {
    let report = explored(setup, program).report;
    assert_eq!(report.limits, [Limit::FirstFailure], "nothing is wrong");
    match &report.findings[0].failure {
        Failure::Fault(fault) => fault.clone(),
        other => panic!("{other:?}"),
    }
}

/// Expects a deadlock.
#[track_caller]
pub fn assert_deadlock(program: impl Fn() + Send + Sync + 'static) {
    let fault = fault(program);
    assert!(matches!(fault, Fault::Deadlock(_)), "{fault:?}");
}

/// Expects a data race.
#[track_caller]
pub fn assert_race(program: impl Fn() + Send + Sync + 'static) {
    let fault = fault(program);
    let is_race = matches!(&fault, Fault::Program(ProgramError::Race(_)));
    assert!(is_race, "{fault:?}");
}

/// Expects a panic whose message contains `part`.
#[track_caller]
pub fn assert_panic(part: &str, program: impl Fn() + Send + Sync + 'static) {
    match fault(program) {
        Fault::Program(ProgramError::Panic { message, .. }) => {
            assert!(message.contains(part), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

/// Expects a leak, and returns where the leaked thing was made.
#[track_caller]
pub fn leak(program: impl Fn() + Send + Sync + 'static) -> OwnedLocation {
    match fault(program) {
        Fault::Program(ProgramError::Leak {
            what: "Arc",
            location,
        }) => location,
        other => panic!("{other:?}"),
    }
}

/// Spawns threads that run `body` with their numbers, and joins them.
pub fn in_threads(count: usize, body: impl Fn(usize) + Send + Sync) {
    fencepost::thread::scope(|scope| {
        for number in 0..count {
            let body = &body;
            scope.spawn(move || body(number));
        }
    });
}

/// Data that is not atomic.
pub struct Protected(UnsafeCell<u32>);

#[allow(unsafe_code)] // The tests are about whether this is sound.
// SAFETY: in a check there is one OS thread, and races are found.
unsafe impl Sync for Protected {}

impl Protected {
    #[track_caller]
    pub fn new() -> Self {
        Protected(UnsafeCell::new(0))
    }

    pub fn named(self, name: &str) -> Self {
        Protected(self.0.named(name))
    }

    #[track_caller]
    #[allow(unsafe_code)]
    pub fn increment(&self) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    #[track_caller]
    #[allow(unsafe_code)]
    pub fn get(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }
}
