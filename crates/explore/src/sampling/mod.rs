//! Random walks, PCT and replay: each execution runs from the start and does not depend on others.
//!
//! A [`Chooser`] chooses the next thread; [`Sampled`] runs executions with it.

use fencepost_memory::{Random, ThreadId};

use crate::execution::fault::Fault;
use crate::execution::run::{End, EndOf, Run};
use crate::program::{Program, ThreadStatus};
use crate::schedule::{Schedule, Turn};

/// Chooses the next step of an execution.
pub(crate) trait Chooser {
    /// Starts the execution with this number. All choices depend on the number only.
    fn begin(&mut self, number: u64);

    /// Chooses an enabled step. Returns the required thread as an error if it is not enabled.
    fn choose(&mut self, ready: &[Ready], step: usize) -> Result<Turn, ThreadId>;

    /// The thread that must take the step at this index, if there is one.
    fn required_thread(&self, _step: usize) -> Option<ThreadId> {
        None
    }

    /// Whether the execution ends after this number of steps.
    fn is_finished(&self, _step: usize) -> bool {
        false
    }

    /// The step at this index if it does not depend on which threads are enabled.
    fn forced_turn(&self, _step: usize) -> Option<Turn> {
        None
    }
}

/// In one of so many rounds a thread that spins keeps its priority.
const ROUNDS_PER_YIELD: u64 = 4;

/// An enabled thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ready {
    pub(crate) thread: ThreadId,
    pub(crate) outcomes: u32,
    /// Whether it hints that it spins or yields.
    pub(crate) is_spinning: bool,
}

/// The uniform random walk.
pub(crate) struct RandomWalk {
    seed: u64,
    random: Random,
}

impl RandomWalk {
    pub(crate) fn new(seed: u64) -> Self {
        let random = Random::new(seed);
        RandomWalk { seed, random }
    }
}

/// A random walk that mostly continues with the thread that ran last, and does not preempt it
/// within a round of a spin loop. In some executions it never preempts a spinning thread.
pub(crate) struct StickyRandom {
    walk: RandomWalk,
    last: Option<ThreadId>,
    /// Whether spinning threads are never preempted.
    never_leaves_loops: bool,
    /// The average number of steps between two changes of the thread.
    steps_per_change: u64,
    /// The largest number of steps between two hints, if the thread has hinted since it was chosen.
    round: Option<usize>,
    /// The number of steps since the last hint.
    since_hint: usize,
}

/// The average number of steps between two changes of the thread. Executions draw one of them,
/// since a round may have many steps.
const STEPS_PER_CHANGE: [u64; 3] = [8, 64, 512];
/// The average number of rounds of a spin loop between two changes of the thread.
const ROUNDS_PER_CHANGE: u64 = 64;

/// One of this many executions never preempts a spinning thread.
const EXECUTIONS_PER_LOOP_RUN: u64 = 4;

/// The assumed number of steps of a first round.
const FIRST_ROUND: usize = 16;

impl StickyRandom {
    pub(crate) fn new(seed: u64) -> Self {
        StickyRandom {
            walk: RandomWalk::new(seed),
            last: None,
            never_leaves_loops: false,
            steps_per_change: STEPS_PER_CHANGE[0],
            round: None,
            since_hint: 0,
        }
    }

    /// Whether the thread that ran last continues.
    fn stays(&mut self, again: &Ready) -> bool {
        let steps_per_change = self.steps_per_change;
        let mut keeps_running = |per_change| self.walk.random.below(per_change) > 0;
        match self.round {
            _ if again.is_spinning => self.never_leaves_loops || keeps_running(ROUNDS_PER_CHANGE),
            Some(round) if self.since_hint <= round => true,
            _ => keeps_running(steps_per_change),
        }
    }
}

impl Chooser for StickyRandom {
    fn begin(&mut self, number: u64) {
        self.walk.begin(number);
        self.never_leaves_loops = number % EXECUTIONS_PER_LOOP_RUN == 0;
        let kinds = STEPS_PER_CHANGE.len() as u64;
        self.steps_per_change = STEPS_PER_CHANGE[self.walk.random.below(kinds) as usize];
        self.last = None;
    }

    fn choose(&mut self, ready: &[Ready], step: usize) -> Result<Turn, ThreadId> {
        let again = ready.iter().find(|r| Some(r.thread) == self.last);
        let turn = match again {
            Some(again) if self.stays(again) => {
                self.walk.choose(std::slice::from_ref(again), step)?
            }
            _ => self.walk.choose(ready, step)?,
        };
        if self.last.replace(turn.thread) != Some(turn.thread) {
            (self.round, self.since_hint) = (None, 0);
        }
        let is_spinning = ready
            .iter()
            .any(|r| r.thread == turn.thread && r.is_spinning);
        if is_spinning {
            let longest = self.round.unwrap_or(FIRST_ROUND);
            self.round = Some(longest.max(self.since_hint));
            self.since_hint = 0;
        } else {
            self.since_hint += 1;
        }
        Ok(turn)
    }
}

/// The random numbers of the execution with this number.
fn random_of(seed: u64, number: u64) -> Random {
    Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

impl Chooser for RandomWalk {
    fn begin(&mut self, number: u64) {
        self.random = random_of(self.seed, number);
    }

    fn choose(&mut self, ready: &[Ready], _step: usize) -> Result<Turn, ThreadId> {
        let chosen = ready[self.random.below(ready.len() as u64) as usize];
        Ok(Turn {
            thread: chosen.thread,
            outcome: self.random.below(u64::from(chosen.outcomes)) as u32,
        })
    }
}

/// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, 2010): the
/// enabled thread of highest priority runs. Priorities are random; at `depth - 1` random steps the
/// running thread gets a low one. A thread that yields gets the lowest, so that those that it waits
/// for can run.
pub(crate) struct Pct {
    seed: u64,
    random: Random,
    depth: u32,
    /// The estimated length of executions: priorities change within this many steps.
    length: usize,
    priorities: Vec<Option<i64>>,
    changes: Vec<usize>,
    lowest: i64,
}

impl Pct {
    pub(crate) fn new(seed: u64, depth: u32, length: usize) -> Self {
        // More priority changes than steps have no effect.
        let most = u32::try_from(length).unwrap_or(u32::MAX).saturating_add(1);
        Pct {
            seed,
            random: Random::new(seed),
            depth: depth.min(most),
            length,
            priorities: Vec::new(),
            changes: Vec::new(),
            lowest: 0,
        }
    }
}

impl Chooser for Pct {
    fn begin(&mut self, number: u64) {
        self.random = random_of(self.seed, number);
        self.priorities.fill(None);
        self.lowest = 0;
        self.changes.clear();
        for _ in 1..self.depth {
            self.changes
                .push(self.random.below(self.length as u64) as usize);
        }
    }

    fn choose(&mut self, ready: &[Ready], step: usize) -> Result<Turn, ThreadId> {
        for ready in ready {
            let index = ready.thread.index();
            if self.priorities.len() <= index {
                self.priorities.resize(index + 1, None);
            }
            if self.priorities[index].is_none() {
                self.priorities[index] = Some(1 + self.random.below(1 << 32) as i64);
            }
        }
        let highest = |priorities: &[Option<i64>]| {
            let by_priority = |r: &&Ready| (priorities[r.thread.index()], r.thread);
            *ready
                .iter()
                .max_by_key(by_priority)
                .expect("a thread is ready")
        };
        let mut chosen = highest(&self.priorities);
        let changes = self.changes.iter().filter(|&&at| at == step).count();
        // A thread that spins lets others go first, mostly: a loop may give up after some rounds.
        let yields = chosen.is_spinning && self.random.below(ROUNDS_PER_YIELD) > 0;
        for _ in 0..changes + usize::from(yields) {
            self.lowest -= 1;
            self.priorities[chosen.thread.index()] = Some(self.lowest);
            chosen = highest(&self.priorities);
        }
        Ok(Turn {
            thread: chosen.thread,
            outcome: self.random.below(u64::from(chosen.outcomes)) as u32,
        })
    }
}

/// Runs a schedule; after its end threads run in order.
pub(crate) struct Replay {
    pub(crate) schedule: Schedule,
}

impl Chooser for Replay {
    fn begin(&mut self, _number: u64) {}

    fn required_thread(&self, step: usize) -> Option<ThreadId> {
        self.schedule.0.get(step).map(|turn| turn.thread)
    }

    fn choose(&mut self, ready: &[Ready], step: usize) -> Result<Turn, ThreadId> {
        match self.schedule.0.get(step) {
            Some(&turn) => ready
                .iter()
                .any(|r| r.thread == turn.thread && turn.outcome < r.outcomes)
                .then_some(turn)
                .ok_or(turn.thread),
            None => Ok(Turn {
                thread: ready[0].thread,
                outcome: 0,
            }),
        }
    }
}

/// What a replay does after the end of the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterSchedule {
    /// It stops there.
    Stop,
    /// Threads run in order to the end of the execution.
    RunToEnd,
}

/// As [`Replay`], without asking at each step which threads are enabled.
pub(crate) struct FastReplay {
    pub(crate) replay: Replay,
    pub(crate) after: AfterSchedule,
}

impl Chooser for FastReplay {
    fn begin(&mut self, number: u64) {
        self.replay.begin(number);
    }

    fn required_thread(&self, step: usize) -> Option<ThreadId> {
        self.replay.required_thread(step)
    }

    fn forced_turn(&self, step: usize) -> Option<Turn> {
        self.replay.schedule.0.get(step).copied()
    }

    fn is_finished(&self, step: usize) -> bool {
        self.after == AfterSchedule::Stop && step >= self.replay.schedule.0.len()
    }

    fn choose(&mut self, ready: &[Ready], step: usize) -> Result<Turn, ThreadId> {
        self.replay.choose(ready, step)
    }
}

/// Runs executions with a [`Chooser`].
pub(crate) struct Sampled<P: Program, C> {
    pub(crate) run: Run<P>,
    pub(crate) chooser: C,
    ready: Vec<Ready>,
    pub(crate) executions: u64,
    pub(crate) hit_spin_bound: bool,
}

impl<P: Program, C: Chooser> Sampled<P, C> {
    pub(crate) fn new(run: Run<P>, chooser: C) -> Self {
        Sampled {
            run,
            chooser,
            ready: Vec::new(),
            executions: 0,
            hit_spin_bound: false,
        }
    }

    /// Runs the execution with this number. Returns false if the search should stop.
    pub(crate) fn run_execution(&mut self, number: u64) -> bool {
        self.run.clear();
        self.run.findings.execution = number;
        self.run.findings.begin_execution(0);
        self.chooser.begin(number);
        let mut end = self.execute();
        self.run.finish(&mut end);
        self.executions += 1;
        self.hit_spin_bound |= matches!(end, End::SpinBound);
        self.run.conclude(end);
        !self.run.findings.should_stop
    }

    fn execute(&mut self) -> EndOf<P> {
        if let Err(stop) = self.run.begin() {
            return stop.into();
        }
        loop {
            let step = self.run.log.len();
            if self.run.findings.should_stop || self.chooser.is_finished(step) {
                return End::Stopped;
            }
            if let Some(turn) = self.chooser.forced_turn(step) {
                if let Some(outcomes) = self.run.ready(turn.thread) {
                    if turn.outcome < outcomes {
                        match self.run.perform(turn) {
                            Ok(()) => continue,
                            Err(stop) => return stop.into(),
                        }
                    }
                }
            }
            self.ready.clear();
            for thread in self.run.threads() {
                let ThreadStatus::Pending { intent, outcomes } = self.run.status(thread) else {
                    continue;
                };
                if self.run.is_ready(thread, &intent) {
                    self.ready.push(Ready {
                        thread,
                        outcomes,
                        is_spinning: intent.is_hint(),
                    });
                }
            }
            let result = if self.ready.is_empty() {
                match self.run.force() {
                    Some(result) => result,
                    None => {
                        let end = self.run.end_of_blocked();
                        let step = self.run.log.len();
                        return match self.chooser.required_thread(step) {
                            Some(thread) if matches!(end, End::Complete) => {
                                let step = step + 1;
                                End::Fault(Fault::InfeasibleSchedule { step, thread })
                            }
                            _ => end,
                        };
                    }
                }
            } else {
                let step = self.run.log.len();
                match self.chooser.choose(&self.ready, step) {
                    Ok(turn) => self.run.perform(turn),
                    Err(thread) => {
                        let step = step + 1;
                        return End::Fault(Fault::InfeasibleSchedule { step, thread });
                    }
                }
            };
            if let Err(stop) = result {
                return stop.into();
            }
        }
    }
}
