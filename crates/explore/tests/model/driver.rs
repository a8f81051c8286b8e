//! Runs programs without an explorer: at random, or in every way.

use fencepost_explore::program::{Performed, Program, ThreadStatus};
use fencepost_memory::{Access, Buffering, MemoryModel, Random};
use fencepost_monitor::{Monitor, MonitorRunner, RelaxedOrderMonitor};
use rustc_hash::{FxHashMap, FxHashSet};

use super::class::{
    ClassKey, RecordedStep, Status, Tracker, enabled_threads, is_before_join, status_of,
};

/// Runs the program to its end, or for `bound` steps. The next thread is any enabled one.
/// The answer is `None` if the bound was reached.
pub fn run_at_random<P: Program>(
    program: &mut P,
    random: &mut Random,
    bound: usize,
) -> Option<Status> {
    let mut performed = Performed::default();
    let mut status = match program.start(&mut performed) {
        Ok(()) => status_of(program),
        Err(_) => Some(Status::Failed),
    };
    let mut steps = 0;
    while status.is_none() && steps < bound {
        let threads = enabled_threads(program);
        let thread = threads[random.below(threads.len() as u64) as usize];
        let ThreadStatus::Pending { outcomes, .. } = program.status(thread) else {
            unreachable!("it is enabled");
        };
        let outcome = random.below(outcomes.into()) as u32;
        performed.clear();
        status = match program.step(thread, outcome, &mut performed) {
            Ok(()) => status_of(program),
            Err(_) => Some(Status::Failed),
        };
        steps += 1;
    }
    let is_complete = status == Some(Status::Finished);
    let finished = program.finish(is_complete);
    assert!(finished.is_ok(), "nothing is checked at the end of a model");
    status
}

/// An execution of a class.
#[derive(Clone, Debug)]
pub struct Representative {
    pub steps: Vec<RecordedStep>,
    pub accesses: Vec<Access>,
}

/// An execution of every class of a program without spin loops, or `None` if there are more
/// than `limit` beginnings of executions. One beginning of each class is extended.
pub fn every_class<P: Program + Clone>(
    program: &P,
    limit: usize,
) -> Option<FxHashMap<ClassKey, Representative>> {
    let mut program = program.clone();
    let mut performed = Performed::default();
    let is_failed = program.start(&mut performed).is_err();
    let first = Beginning {
        tracker: Tracker::new(program.thread_bound()),
        representative: Representative {
            steps: Vec::new(),
            accesses: performed.accesses,
        },
        program,
        is_failed,
        is_after_join: false,
    };
    let mut visited: FxHashSet<Tracker> = FxHashSet::default();
    let mut classes = FxHashMap::default();
    let mut open = vec![first];
    while let Some(beginning) = open.pop() {
        let status = match beginning.is_failed {
            true => Some(Status::Failed),
            false => status_of(&beginning.program),
        };
        if let Some(status) = status {
            let class = beginning.tracker.finish(status);
            classes.insert(class, beginning.representative);
            continue;
        }
        for next in beginning.successors() {
            if next.is_after_join || visited.insert(next.tracker.clone()) {
                open.push(next);
            }
        }
        if visited.len() > limit {
            return None;
        }
    }
    Some(classes)
}

struct Beginning<P> {
    program: P,
    tracker: Tracker,
    representative: Representative,
    is_failed: bool,
    is_after_join: bool,
}

impl<P: Program + Clone> Beginning<P> {
    fn successors(&self) -> Vec<Self> {
        let mut successors = Vec::new();
        for thread in enabled_threads(&self.program) {
            let ThreadStatus::Pending { outcomes, .. } = self.program.status(thread) else {
                unreachable!("it is enabled");
            };
            for outcome in 0..outcomes {
                let mut program = self.program.clone();
                let mut performed = Performed::default();
                let is_join = is_before_join(&program, thread);
                let is_failed = program.step(thread, outcome, &mut performed).is_err();
                let mut tracker = self.tracker.clone();
                let mut representative = self.representative.clone();
                if !is_join {
                    let touches = performed.touches.clone();
                    let touched = touches.iter();
                    tracker.add(
                        thread.index(),
                        touched.map(|touch| (touch.object.0, touch.kind)),
                    );
                    representative.steps.push(RecordedStep {
                        thread,
                        outcome,
                        touches,
                    });
                }
                representative.accesses.extend(performed.accesses);
                successors.push(Beginning {
                    program,
                    tracker,
                    representative,
                    is_failed,
                    is_after_join: is_join,
                });
            }
        }
        successors
    }
}

/// Whether the monitor of a memory model reports one of these executions.
pub fn is_reported<'a>(
    executions: impl IntoIterator<Item = &'a [Access]>,
    memory: &MemoryModel,
) -> bool {
    match memory.buffering() {
        Buffering::None => false,
        Buffering::Fifo => is_reported_by(RelaxedOrderMonitor::tso(), executions),
        Buffering::PerAddress => {
            is_reported_by(RelaxedOrderMonitor::pso(memory.locked_drains()), executions)
        }
    }
}

fn is_reported_by<'a>(
    monitor: impl Monitor,
    executions: impl IntoIterator<Item = &'a [Access]>,
) -> bool {
    let mut runner = MonitorRunner::new(monitor);
    executions.into_iter().any(|accesses| {
        runner.reset();
        accesses.iter().any(|&access| {
            let violation = runner.observe(access).expect("no memory limit");
            violation.is_some()
        })
    })
}
