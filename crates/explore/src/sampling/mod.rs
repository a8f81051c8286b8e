//! Random executions, and replayed ones: each is run from the beginning, none depends on another.

use fencepost_memory::{Random, ThreadId};

use crate::execution::fault::Fault;
use crate::execution::run::{End, EndOf, Run};
use crate::program::{Intent, Program, ThreadStatus};
use crate::schedule::{Schedule, Turn};

/// Who goes next.
pub(crate) trait Chooser {
    /// The execution with this number begins. All that follows depends on the number only.
    fn begin(&mut self, number: u64);

    /// Chooses one of the steps that can be taken; or names the thread that it wants and cannot have.
    fn choose(&mut self, ready: &[Ready], step: usize) -> Result<Turn, ThreadId>;

    /// The thread that it wants to go on after so many steps, if it wants a certain one.
    fn wanted(&self, _step: usize) -> Option<ThreadId> {
        None
    }

    /// Whether no more is wanted after so many steps.
    fn is_over(&self, _step: usize) -> bool {
        false
    }

    /// What it chooses after so many steps, if that can be done, whatever else can be.
    fn certain(&self, _step: usize) -> Option<Turn> {
        None
    }
}

/// A thread that can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ready {
    pub(crate) thread: ThreadId,
    pub(crate) outcomes: u32,
    /// It says that it spins or yields.
    pub(crate) hints: bool,
}

/// The uniform random walk.
pub(crate) struct Walk {
    seed: u64,
    random: Random,
}

impl Walk {
    pub(crate) fn new(seed: u64) -> Self {
        let random = Random::new(seed);
        Walk { seed, random }
    }
}

/// A random walk that mostly goes on with the thread that went last, and does not leave it in the middle of a round of a
/// loop. In some executions it does not leave a loop at all.
pub(crate) struct StickyRandom {
    walk: Walk,
    last: Option<ThreadId>,
    /// Whether it leaves no thread that goes round.
    is_endless: bool,
    /// How many steps it takes until there may be another thread's, on average.
    steps_per_change: u64,
    /// How many steps the thread took at most from hint to hint, if it has hinted since it went on.
    round: Option<usize>,
    /// How many it has taken since then.
    since_hint: usize,
}

/// One step of so many on average may be followed by another thread's. Which it is depends on the execution: a round may
/// have many steps …
const STEPS_PER_CHANGE: [u64; 3] = [8, 64, 512];
/// … and one round of so many.
const ROUNDS_PER_CHANGE: u64 = 64;

/// Of so many executions, one leaves no thread that goes round.
const EXECUTIONS_PER_ENDLESS: u64 = 4;

/// A first round is taken to have so many steps.
const FIRST_ROUND: usize = 16;

impl StickyRandom {
    pub(crate) fn new(seed: u64) -> Self {
        StickyRandom {
            walk: Walk::new(seed),
            last: None,
            is_endless: false,
            steps_per_change: STEPS_PER_CHANGE[0],
            round: None,
            since_hint: 0,
        }
    }

    /// Whether the thread that went last, and can go on, does.
    fn stays(&mut self, again: &Ready) -> bool {
        let steps_per_change = self.steps_per_change;
        let mut keeps_running = |per_change| self.walk.random.below(per_change) > 0;
        match self.round {
            _ if again.hints => self.is_endless || keeps_running(ROUNDS_PER_CHANGE),
            Some(round) if self.since_hint <= round => true,
            _ => keeps_running(steps_per_change),
        }
    }
}

impl Chooser for StickyRandom {
    fn begin(&mut self, number: u64) {
        self.walk.begin(number);
        self.is_endless = number % EXECUTIONS_PER_ENDLESS == 0;
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
        let hints = ready.iter().any(|r| r.thread == turn.thread && r.hints);
        if hints {
            let longest = self.round.unwrap_or(FIRST_ROUND);
            self.round = Some(longest.max(self.since_hint));
            self.since_hint = 0;
        } else {
            self.since_hint += 1;
        }
        Ok(turn)
    }
}

/// The random numbers of one execution.
fn random_of(seed: u64, number: u64) -> Random {
    Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

impl Chooser for Walk {
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

/// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, 2010): the ready
/// thread of highest priority goes next. Priorities are random; at `depth - 1` random steps the
/// running thread gets a low one. A thread that yields gets the lowest, so that those that it
/// waits for can go on.
pub(crate) struct Pct {
    seed: u64,
    random: Random,
    depth: u32,
    /// How long executions are, about: the points of change are among so many steps.
    length: usize,
    priorities: Vec<Option<i64>>,
    changes: Vec<usize>,
    lowest: i64,
}

impl Pct {
    pub(crate) fn new(seed: u64, depth: u32, length: usize) -> Self {
        // There is no use in more points of change than there are steps.
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
        for _ in 0..changes + usize::from(chosen.hints) {
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

/// One given execution; after its end threads go on in order.
pub(crate) struct Replay {
    pub(crate) schedule: Schedule,
}

impl Chooser for Replay {
    fn begin(&mut self, _number: u64) {}

    fn wanted(&self, step: usize) -> Option<ThreadId> {
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

/// What is run when a schedule is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterSchedule {
    /// Nothing.
    Stop,
    /// The threads go on in order, to the end of the execution.
    RunToEnd,
}

/// As [`Replay`], for who knows the program, and does not ask at each step who else could go on.
pub(crate) struct Again {
    pub(crate) replay: Replay,
    pub(crate) after: AfterSchedule,
}

impl Chooser for Again {
    fn begin(&mut self, number: u64) {
        self.replay.begin(number);
    }

    fn wanted(&self, step: usize) -> Option<ThreadId> {
        self.replay.wanted(step)
    }

    fn certain(&self, step: usize) -> Option<Turn> {
        self.replay.schedule.0.get(step).copied()
    }

    fn is_over(&self, step: usize) -> bool {
        self.after == AfterSchedule::Stop && step >= self.replay.schedule.0.len()
    }

    fn choose(&mut self, ready: &[Ready], step: usize) -> Result<Turn, ThreadId> {
        self.replay.choose(ready, step)
    }
}

/// Runs executions that a [`Chooser`] chooses.
pub(crate) struct Sampled<P: Program, C> {
    pub(crate) run: Run<P>,
    pub(crate) chooser: C,
    ready: Vec<Ready>,
    pub(crate) executions: u64,
    pub(crate) was_cut: bool,
}

impl<P: Program, C: Chooser> Sampled<P, C> {
    pub(crate) fn new(run: Run<P>, chooser: C) -> Self {
        Sampled {
            run,
            chooser,
            ready: Vec::new(),
            executions: 0,
            was_cut: false,
        }
    }

    /// Runs the execution with this number. False if enough was found.
    pub(crate) fn run_execution(&mut self, number: u64) -> bool {
        self.run.clear();
        self.run.findings.execution = number;
        self.run.findings.begin_execution(0);
        self.chooser.begin(number);
        let end = self.execute();
        let end = self.run.finish(end);
        self.executions += 1;
        self.was_cut |= end == End::Cut;
        self.run.conclude(end);
        !self.run.findings.is_enough
    }

    fn execute(&mut self) -> EndOf<P> {
        if let Err(stop) = self.run.begin() {
            return stop.into();
        }
        loop {
            let step = self.run.log.len();
            if self.run.findings.is_enough || self.chooser.is_over(step) {
                return End::Enough;
            }
            if let Some(turn) = self.chooser.certain(step) {
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
                if let Some(outcomes) = self.run.ready(thread) {
                    let hints = matches!(
                        self.run.status(thread),
                        ThreadStatus::Pending {
                            intent: Intent::SpinHint,
                            ..
                        }
                    );
                    self.ready.push(Ready {
                        thread,
                        outcomes,
                        hints,
                    });
                }
            }
            let result = if self.ready.is_empty() {
                match self.run.force() {
                    Some(result) => result,
                    None => {
                        let end = self.run.end_of_blocked();
                        let step = self.run.log.len();
                        return match self.chooser.wanted(step) {
                            Some(thread) if end == End::Complete => {
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
