//! Running one execution: the operations that every strategy consists of.
//!
//! A [`Run`] holds the program, the execution so far and the monitor. A strategy begins executions,
//! asks which threads are enabled, lets one of them take a step, and rewinds.
//!
//! Spin loops are decided here. A thread that hints that it spins, and has come back to the same
//! state without having changed anything ([`Program::round`]), is blocked until something that it
//! has read since then has another state than it read. If no other thread is enabled, it continues
//! nevertheless.

use fencepost_memory::{Address, LocationId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::dpor::learned::LearnedFootprints;
use crate::driver::settings::{Settings, SpinRule};
use crate::execution::fault::{BlockedThread, Fault};
use crate::execution::findings::Findings;
use crate::execution::judge::Judge;
use crate::execution::log::{Event, ExecutionLog, NONE, NewEvent};
use crate::execution::monitor_feed::MonitorFeed;
use crate::program::{Intent, Performed, Program, Round, Stop, ThreadStatus, Touch, TouchKind};
use crate::schedule::{Schedule, Turn};

/// Whether a spin hint blocks its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hint {
    /// The hint does nothing.
    Passes,
    /// The thread waits for a change, which has happened or not.
    Waits { has_changed: bool },
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End<E, R> {
    /// All threads have finished, or nothing waits for those that are left.
    Complete,
    /// The program failed, or some threads can never finish.
    Fault(Fault<E>),
    /// The program asks the front end to restart the exploration with other settings.
    Restart(R),
    /// The spin bound keeps the remaining threads from continuing.
    SpinBound,
    /// It ends because of an assumption of the program.
    Pruned,
    /// It was abandoned, because every continuation is equivalent to one that was explored.
    Redundant,
    /// The search stops at what was found.
    Stopped,
}

/// Why an execution of a program cannot continue.
pub(crate) type StopOf<P> = Stop<Fault<<P as Program>::Error>, <P as Program>::Restart>;
/// How an execution of a program ended.
pub(crate) type EndOf<P> = End<<P as Program>::Error, <P as Program>::Restart>;
/// Why the program itself does not continue.
pub(super) type ProgramStop<P> = Stop<<P as Program>::Error, <P as Program>::Restart>;

impl<E, R> From<Stop<Fault<E>, R>> for End<E, R> {
    fn from(stop: Stop<Fault<E>, R>) -> Self {
        match stop {
            Stop::Error(fault) => End::Fault(fault),
            Stop::Restart(restart) => End::Restart(restart),
        }
    }
}

/// Turns a program's error into a fault of the execution.
#[inline]
pub(super) fn fault_of<E, R>(stop: Stop<E, R>) -> Stop<Fault<E>, R> {
    match stop {
        Stop::Error(error) => Stop::Error(Fault::Program(error)),
        Stop::Restart(restart) => Stop::Restart(restart),
    }
}

/// A program, an execution of it, and the findings so far.
pub(crate) struct Run<P: Program> {
    pub(crate) program: P,
    pub(crate) log: ExecutionLog,
    pub(crate) monitor: MonitorFeed,
    pub(crate) findings: Findings<P::Error>,
    /// The first restart that the program asked for. It ends the search.
    pub(crate) restart: Option<P::Restart>,
    /// The locations of spin loops in which threads were blocked.
    pub(crate) waits: FxHashSet<Option<LocationId>>,
    pub(crate) steps: u64,
    /// With a spin bound, the largest number of rounds of each loop in which nothing had changed.
    pub(crate) rounds: FxHashMap<Option<LocationId>, u32>,
    /// Whether the spin bound blocked a thread.
    pub(crate) hit_spin_bound: bool,
    spin: SpinRule,
    livelock_after: u32,
    max_steps: u64,
    /// The turns that every execution starts with, and that are not explored.
    pub(crate) prefix: Schedule,
    pub(super) performed: Performed,
    /// Learned footprints, for a search that plans executions.
    pub(crate) learned: Option<LearnedFootprints>,
    touches: Vec<Touch>,
    /// What the thread of the last evaluated hint has read in its loop.
    spin_reads: Vec<Touch>,
    /// Threads that have taken a step, and may join others or be joined.
    moved: Vec<ThreadId>,
    /// Blocked joins: the joining thread and the one that it waits for.
    joining: Vec<(ThreadId, ThreadId)>,
    /// Threads that are about to join or have finished when an execution begins.
    first_moved: Vec<ThreadId>,
    /// How often in a row the thread of the last evaluated hint has found nothing changed.
    repeats: u32,
    pub(super) is_running: bool,
    pub(super) judge: Judge,
}

impl<P: Program> Run<P> {
    pub(crate) fn new(program: P, settings: &Settings, finds_races: bool) -> Self {
        let judge = Judge::new(program.supports_stale_reads());
        Run {
            program,
            log: ExecutionLog::new(finds_races),
            monitor: MonitorFeed::new(settings.monitored_model, settings.memory),
            findings: Findings::new(settings),
            restart: None,
            waits: FxHashSet::default(),
            steps: 0,
            rounds: FxHashMap::default(),
            hit_spin_bound: false,
            spin: settings.spin,
            livelock_after: settings.livelock_after,
            max_steps: settings.max_steps,
            prefix: settings.prefix.clone(),
            performed: Performed {
                allows_inline_joins: true,
                ..Performed::default()
            },
            learned: None,
            touches: Vec::new(),
            spin_reads: Vec::new(),
            moved: Vec::new(),
            joining: Vec::new(),
            first_moved: Vec::new(),
            repeats: 0,
            is_running: false,
            judge,
        }
    }

    /// Begins an execution and replays the events of the log.
    pub(crate) fn begin(&mut self) -> Result<(), StopOf<P>> {
        self.start_program()?;
        if !self.monitor.has_begun() {
            self.feed_monitor()?;
        } else {
            self.monitor.rewind(self.log.len());
        }
        self.replay_events(self.log.len())
    }

    /// Runs the program from its start to the first `events` events of the log again.
    pub(super) fn repeat(&mut self, events: usize) -> Result<(), StopOf<P>> {
        self.start_program()?;
        self.replay_events(events)
    }

    /// Starts the program, and runs it to the first event that is explored.
    fn start_program(&mut self) -> Result<(), StopOf<P>> {
        self.performed.clear();
        self.performed.is_replayed = self.monitor.has_begun();
        self.is_running = true;
        self.program.start(&mut self.performed).map_err(fault_of)?;
        if !self.prefix.0.is_empty() {
            self.run_prefix()?;
        }
        self.joining.clear();
        if !self.monitor.has_begun() {
            // They are the same in all executions.
            self.first_moved.clear();
            let threads = self.threads();
            let moved = threads.filter(|&thread| match self.program.status(thread) {
                ThreadStatus::Pending { intent, .. } => matches!(intent, Intent::Join(_)),
                ThreadStatus::Finished => true,
                ThreadStatus::NotSpawned => false,
            });
            self.first_moved.extend(moved);
        }
        self.moved.clone_from(&self.first_moved);
        self.join_ended(false).map_err(fault_of)
    }

    fn replay_events(&mut self, events: usize) -> Result<(), StopOf<P>> {
        self.performed.is_replayed = true;
        for position in 0..events {
            // No result that is assigned here again and again: it is large, and has to be dropped.
            if let Err(stop) = self.replay(position as u32) {
                self.performed.is_replayed = false;
                return Err(stop);
            }
        }
        self.performed.is_replayed = false;
        Ok(())
    }

    /// Takes the turns of the prefix, as part of the start of the execution.
    fn run_prefix(&mut self) -> Result<(), StopOf<P>> {
        let (program, performed) = (&mut self.program, &mut self.performed);
        join_finished(program, performed).map_err(fault_of)?;
        for (position, &Turn { thread, outcome }) in self.prefix.0.iter().enumerate() {
            let is_possible = match program.status(thread) {
                ThreadStatus::Pending { intent, outcomes } => {
                    outcome < outcomes && can_perform(program, &intent)
                }
                _ => false,
            };
            if !is_possible {
                let step = position + 1;
                return Err(Fault::InfeasibleSchedule { step, thread }.into());
            }
            let result = program.step(thread, outcome, performed);
            result.map_err(fault_of)?;
            join_finished(program, performed).map_err(fault_of)?;
        }
        performed.touches.clear();
        Ok(())
    }

    /// Removes all events of the execution.
    pub(crate) fn clear(&mut self) {
        self.log.clear();
        self.monitor.clear();
    }

    /// Ends the execution that was begun. The end is another one if the program reports an error then.
    pub(crate) fn finish(&mut self, end: &mut EndOf<P>) {
        let is_complete = matches!(end, End::Complete);
        if let Err(stop) = self.stop_program(is_complete) {
            if is_complete {
                *end = fault_of(stop).into();
            }
        }
        match end {
            End::Fault(Fault::Program(error)) => {
                self.findings.should_stop |= self.program.is_fatal(error);
            }
            End::Restart(restart) => {
                self.restart.get_or_insert_with(|| restart.clone());
                self.findings.should_stop = true;
            }
            _ => {}
        }
    }

    /// Ends the execution of the program, if one is running.
    pub(super) fn stop_program(&mut self, is_complete: bool) -> Result<(), ProgramStop<P>> {
        match std::mem::take(&mut self.is_running) {
            true => self.program.finish(is_complete),
            false => Ok(()),
        }
    }

    /// Records the end of an execution that was not abandoned.
    pub(crate) fn conclude(&mut self, end: EndOf<P>) {
        match end {
            End::Fault(fault) => {
                let schedule = self.schedule();
                let accesses = self.monitor.accesses();
                self.findings.fault(fault, schedule, accesses);
            }
            End::Pruned => self.findings.pruned += 1,
            _ => {}
        }
        self.findings.end_execution();
    }

    #[inline]
    pub(crate) fn status(&self, thread: ThreadId) -> ThreadStatus {
        self.program.status(thread)
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + use<P> {
        (0..self.program.thread_bound() as u32).map(ThreadId)
    }

    /// The number of outcomes of a thread's next operation if the thread is enabled.
    #[inline(always)] // Asked for every thread before every step.
    pub(crate) fn ready(&mut self, thread: ThreadId) -> Option<u32> {
        let ThreadStatus::Pending { intent, outcomes } = self.program.status(thread) else {
            return None;
        };
        self.is_ready(thread, &intent).then_some(outcomes)
    }

    /// Whether a thread with this intent is enabled.
    #[inline(always)] // Asked for every thread before every step.
    pub(crate) fn is_ready(&mut self, thread: ThreadId, intent: &Intent) -> bool {
        match *intent {
            Intent::Local => true,
            Intent::Access { object, awaits, .. } => {
                awaits.is_none_or(|condition| condition.holds(self.program.state(object)))
            }
            Intent::Join(other) => self.program.status(other) == ThreadStatus::Finished,
            Intent::SpinHint => match self.evaluate_hint(thread) {
                Hint::Passes => true,
                Hint::Waits { has_changed } => has_changed,
            },
            Intent::Stopped => false,
        }
    }

    /// Whether a thread hints that it waits.
    #[inline]
    pub(crate) fn is_at_hint(&self, thread: ThreadId) -> bool {
        let status = self.program.status(thread);
        matches!(status, ThreadStatus::Pending { intent, .. } if intent.is_hint())
    }

    /// Whether a thread hints that it waits, and is known to be in a new state.
    #[inline]
    pub(crate) fn is_at_new_hint(&self, thread: ThreadId) -> bool {
        self.is_at_hint(thread) && self.program.round(thread) == Round::New
    }

    /// The threads that have not finished.
    pub(crate) fn waiting(&self) -> Vec<BlockedThread> {
        let mut waiting = Vec::new();
        for thread in self.threads() {
            if let ThreadStatus::Pending { intent, .. } = self.program.status(thread) {
                waiting.push(BlockedThread {
                    thread,
                    intent,
                    location: self.program.location(thread),
                });
            }
        }
        waiting
    }

    /// How the execution ends if no thread is enabled.
    pub(crate) fn end_of_blocked(&self) -> EndOf<P> {
        let waiting = self.waiting();
        if waiting.is_empty() {
            End::Complete
        } else if waiting.iter().any(|w| w.intent == Intent::Stopped) {
            End::Pruned
        } else if self.spin != SpinRule::UntilChange
            && waiting.iter().any(|w| w.intent == Intent::SpinHint)
        {
            End::SpinBound
        } else if self.program.is_over() {
            End::Complete
        } else {
            End::Fault(Fault::Deadlock(waiting))
        }
    }

    /// What a thread that is blocked at a hint has read in its loop.
    pub(crate) fn spin_reads_of(&mut self, thread: ThreadId) -> &[Touch] {
        self.evaluate_hint(thread);
        &self.spin_reads
    }

    /// Decides whether a hint blocks its thread, and collects what the thread has read in its loop.
    fn evaluate_hint(&mut self, thread: ThreadId) -> Hint {
        self.spin_reads.clear();
        self.repeats = 0;
        let location = self.program.location(thread);
        let earlier_rounds = match self.program.round(thread) {
            Round::New => None,
            Round::Repeated(events) | Round::Bounded(events) => {
                self.read_round(thread, |_, number| number == events)
            }
            Round::Assumed => self.read_round(thread, |event, _| {
                event.intent == Intent::SpinHint && event.location == location
            }),
        };
        let Some(earlier_rounds) = earlier_rounds else {
            self.spin_reads.clear();
            return Hint::Passes;
        };
        if self.spin_reads.is_empty() {
            // A second hint in the same round.
            self.repeats = earlier_rounds;
            return Hint::Passes;
        }
        self.repeats = earlier_rounds + 1;
        let program = &self.program;
        let is_changed = |touch: &Touch| program.state(touch.object) != touch.after;
        let has_changed = self.spin_reads.iter().any(is_changed);
        if has_changed {
            self.repeats = 0;
        }
        if let SpinRule::Bound(rounds) = self.spin {
            if self.repeats <= rounds && !has_changed {
                let most = self.rounds.entry(location).or_default();
                *most = self.repeats.max(*most);
                self.spin_reads.clear();
                return Hint::Passes;
            }
        }
        self.hit_spin_bound |= !has_changed && self.spin != SpinRule::UntilChange;
        let is_wait = !matches!(self.program.round(thread), Round::Bounded(_));
        if is_wait && self.spin == SpinRule::UntilChange && !self.waits.contains(&location) {
            self.waits.insert(location);
        }
        Hint::Waits { has_changed }
    }

    /// Collects what a thread has read in its last round, which begins with the latest event for
    /// which `begins` holds: it is given the event and its number, counted back from 1. Returns how
    /// often in a row the round had been repeated then; none if the thread has changed something
    /// since, or joined another one, or if the round has an effect under the monitored model.
    fn read_round(
        &mut self,
        thread: ThreadId,
        begins: impl Fn(&Event, u32) -> bool,
    ) -> Option<u32> {
        let mut position = self.log.last_of(thread);
        let (mut next, mut number) = (None, 0);
        loop {
            if position == NONE || self.log.has_joined_after(position, next) {
                return None;
            }
            next = Some(position);
            number += 1;
            let event = self.log.event(position);
            let is_first = begins(event, number);
            // Other hints of the same loop do nothing.
            if event.intent != Intent::SpinHint {
                if self.repeats_store_of_other(position) {
                    return None;
                }
                for link in self.log.own_links(position) {
                    if link.touch.before != link.touch.after {
                        return None;
                    }
                    self.spin_reads.push(Touch {
                        kind: TouchKind::Read,
                        ..link.touch
                    });
                }
            }
            if is_first {
                return Some(event.repeats);
            }
            position = event.previous;
        }
    }

    /// Lets a thread take a step.
    #[inline]
    pub(crate) fn perform(&mut self, turn: Turn) -> Result<(), StopOf<P>> {
        self.take_step(turn, false)
    }

    /// Replays steps that were taken in another run of the program.
    pub(crate) fn follow(&mut self, turns: &[Turn]) -> Result<(), StopOf<P>> {
        let steps = self.steps;
        self.findings.is_muted = true;
        let mut result = Ok(());
        for (step, &turn) in turns.iter().enumerate() {
            let thread = turn.thread;
            let infeasible = || {
                let step = step + 1;
                Err(Fault::InfeasibleSchedule { step, thread }.into())
            };
            result = match self.ready(thread) {
                Some(outcomes) if turn.outcome < outcomes => self.perform(turn),
                Some(_) => infeasible(),
                None => self.force().unwrap_or_else(infeasible),
            };
            if result.is_ok() && self.log.events().last().map(|e| e.thread) != Some(thread) {
                result = infeasible();
            }
            if result.is_err() {
                break;
            }
        }
        self.findings.is_muted = false;
        self.steps = steps;
        result
    }

    /// Lets a spinning thread continue although nothing has changed, because no other thread is
    /// enabled. None if no thread spins, or if those that do were let for long enough and nothing waits for them.
    pub(crate) fn force(&mut self) -> Option<Result<(), StopOf<P>>> {
        if self.spin != SpinRule::UntilChange {
            return None;
        }
        let mut next: Option<(u32, ThreadId)> = None;
        // Loops that only wait are in a livelock if all threads are in one; others may end.
        let mut without_end: Option<(u32, ThreadId)> = None;
        for thread in self.threads() {
            if let ThreadStatus::Pending {
                intent: Intent::SpinHint,
                ..
            } = self.program.status(thread)
            {
                self.evaluate_hint(thread);
                let repeats = self.repeats;
                let is_least =
                    |least: Option<(u32, ThreadId)>| least.is_none_or(|(least, _)| repeats < least);
                if is_least(next) {
                    next = Some((repeats, thread));
                }
                let is_bounded = matches!(self.program.round(thread), Round::Bounded(_));
                if is_bounded && is_least(without_end) {
                    without_end = Some((repeats, thread));
                }
            }
        }
        let (repeats, mut thread) = next?;
        if repeats > self.livelock_after {
            // They may wait for a thread that an assumption has stopped, or the program has ended.
            if self.has_stopped_thread() || self.program.is_over() {
                return None;
            }
            match without_end {
                Some((_, other)) => thread = other,
                None => return Some(Err(Fault::Livelock(self.waiting()).into())),
            }
        }
        Some(self.take_step(Turn { thread, outcome: 0 }, true))
    }

    /// Whether an assumption of the program has stopped a thread.
    fn has_stopped_thread(&self) -> bool {
        let is_stopped = |thread| {
            let status = self.program.status(thread);
            matches!(status, ThreadStatus::Pending { intent, .. } if intent == Intent::Stopped)
        };
        self.threads().any(is_stopped)
    }

    /// The fault of an execution that has too many steps. Which thread is about to take the next
    /// one depends on the search.
    #[cold]
    fn step_limit(&self, next: BlockedThread) -> StopOf<P> {
        let last = self.log.events().last().map(|event| event.thread);
        let last = last.into_iter().chain(self.threads()).find_map(|thread| {
            match self.program.status(thread) {
                ThreadStatus::Pending { intent, .. } => Some(BlockedThread {
                    thread,
                    intent,
                    location: self.program.location(thread),
                }),
                _ => None,
            }
        });
        let (steps, last) = (self.max_steps, last.unwrap_or(next));
        Fault::StepLimit { steps, last }.into()
    }

    fn take_step(&mut self, turn: Turn, is_forced: bool) -> Result<(), StopOf<P>> {
        let Turn { thread, outcome } = turn;
        let ThreadStatus::Pending { intent, outcomes } = self.program.status(thread) else {
            unreachable!("only pending threads take steps");
        };
        if self.log.len() as u64 >= self.max_steps {
            return Err(self.step_limit(BlockedThread {
                thread,
                intent,
                location: self.program.location(thread),
            }));
        }
        let (mut location, mut repeats) = (None, 0);
        let is_hint = intent.is_hint();
        if is_hint {
            self.touches.clear();
            location = self.program.location(thread);
            if let Hint::Waits { .. } = self.evaluate_hint(thread) {
                self.touch_spin_reads();
            }
            repeats = self.repeats;
        }
        self.performed.clear();
        let result = self.program.step(thread, outcome, &mut self.performed);
        let own_touches = self.performed.touches.len();
        let (touches, spin_reads, own_touches) = match is_hint {
            true => (
                &self.touches,
                self.spin_reads.as_slice(),
                self.touches.len(),
            ),
            false => {
                if LearnedFootprints::may_be_of(&intent) {
                    self.add_learned_touches(intent);
                }
                (&self.performed.touches, [].as_slice(), own_touches)
            }
        };
        let round_after = self.program.round(thread);
        self.log.push(NewEvent {
            thread,
            intent: &intent,
            outcome,
            outcomes,
            is_forced,
            repeats,
            location,
            touches,
            own_touches,
            spin_reads: if touches.is_empty() { &[] } else { spin_reads },
            spawned: match self.performed.joined.is_empty() {
                true => &self.performed.spawned,
                false => &[],
            },
            round_after,
        });
        if !self.performed.joined.is_empty() {
            self.note_joins(thread, 0);
        }
        self.steps += 1;
        let result = result.and_then(|()| self.join_after(thread));
        self.feed_monitor()?;
        if !self.judge.suspects.is_empty() {
            self.judge_suspects(result.is_err())?;
        }
        result.map_err(fault_of)
    }

    /// Adds the learned footprint of an operation to its touches.
    fn add_learned_touches(&mut self, intent: Intent) {
        if let Some(learned) = &mut self.learned {
            let (program, touches) = (&self.program, &mut self.performed.touches);
            learned.complete(intent, touches, |object| program.state(object));
        }
    }

    /// The learned objects of an operation.
    pub(crate) fn learned_touches_of(&self, intent: Intent) -> &[Address] {
        self.learned
            .as_ref()
            .map_or(&[], |learned| learned.of(intent))
    }

    /// Whether something was learned since the last call.
    pub(crate) fn has_learned_footprints(&mut self) -> bool {
        self.learned
            .as_mut()
            .is_some_and(LearnedFootprints::take_has_learned)
    }

    /// Performs the joins that a step of this thread enabled, if there may be any.
    #[inline]
    fn join_after(&mut self, thread: ThreadId) -> Result<(), ProgramStop<P>> {
        if self.performed.spawned.is_empty() && !self.may_join_or_be_joined(thread) {
            return Ok(());
        }
        self.log.note_moved_joins();
        self.move_joins(thread, true)
    }

    /// Performs the joins that a step of this thread enabled.
    fn move_joins(&mut self, thread: ThreadId, is_new: bool) -> Result<(), ProgramStop<P>> {
        self.moved.push(thread);
        self.moved.extend_from_slice(&self.performed.spawned);
        self.join_ended(is_new)
    }

    #[inline]
    fn may_join_or_be_joined(&self, thread: ThreadId) -> bool {
        match self.program.status(thread) {
            ThreadStatus::Pending { intent, .. } => matches!(intent, Intent::Join(_)),
            ThreadStatus::Finished => self.joining.iter().any(|&(_, ended)| ended == thread),
            ThreadStatus::NotSpawned => false,
        }
    }

    /// Performs enabled joins of the threads in `moved`. A join commutes with everything, so it is
    /// performed at once and is no step. What it performs is added to the last step.
    fn join_ended(&mut self, is_new: bool) -> Result<(), ProgramStop<P>> {
        while let Some(moved) = self.moved.pop() {
            match self.program.status(moved) {
                ThreadStatus::Pending {
                    intent: Intent::Join(ended),
                    ..
                } => {
                    if self.program.status(ended) == ThreadStatus::Finished {
                        self.join(moved, ended, is_new)?;
                    } else if !self.joining.contains(&(moved, ended)) {
                        self.joining.push((moved, ended));
                    }
                }
                ThreadStatus::Finished => {
                    let waits_for_it = |&(_, ended): &(ThreadId, ThreadId)| ended == moved;
                    while let Some(at) = self.joining.iter().position(waits_for_it) {
                        let (thread, _) = self.joining.swap_remove(at);
                        self.join(thread, moved, is_new)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn join(&mut self, by: ThreadId, ended: ThreadId, is_new: bool) -> Result<(), ProgramStop<P>> {
        let before = self.performed.spawned.len();
        self.performed.joined.clear();
        self.performed.joined.push(ended);
        let result = self.program.step(by, 0, &mut self.performed);
        if is_new {
            self.note_joins(by, before);
        }
        self.moved.push(by);
        let spawned = &self.performed.spawned[before..];
        self.moved.extend_from_slice(spawned);
        result
    }

    /// Logs which threads a thread has joined, and which it has spawned since: those from
    /// `first_spawned` on.
    fn note_joins(&mut self, by: ThreadId, first_spawned: usize) {
        let spawned = &self.performed.spawned[first_spawned..];
        // A finished thread that nobody joins passes nothing on.
        let is_over = spawned.is_empty()
            && self.program.status(by) == ThreadStatus::Finished
            && !self.program.may_be_joined(by);
        if !is_over {
            self.log.join(by, &self.performed.joined, spawned);
        }
    }

    /// A hint that waits touches each object that its thread has read in the loop once, in its
    /// current state.
    fn touch_spin_reads(&mut self) {
        for touch in &self.spin_reads {
            let object = touch.object;
            if self.touches.iter().any(|t| t.object == object) {
                continue;
            }
            let state = self.program.state(object);
            self.touches.push(Touch {
                object,
                kind: TouchKind::Read,
                before: state,
                after: state,
            });
        }
    }

    #[inline(always)] // It is called before the first step, and after each.
    fn feed_monitor(&mut self) -> Result<(), Fault<P::Error>> {
        let (findings, log, judge) = (&mut self.findings, &self.log, &mut self.judge);
        let Performed {
            accesses,
            unordered_accesses,
            ..
        } = &self.performed;
        let is_unordered = !accesses.is_empty() && *unordered_accesses == accesses.len();
        if let Some(optimistic_load) = self.performed.optimistic_load {
            self.monitor.note_optimistic_load(accesses, optimistic_load);
        }
        self.monitor
            .push_step(accesses, is_unordered, |violation, evidence| {
                if !judge.suspects(violation, log) {
                    findings.violation(violation, evidence, log);
                }
            })
            .map_err(Fault::OutOfMemory)
    }

    /// Replays an event of the log. It must do the same.
    fn replay(&mut self, position: u32) -> Result<(), StopOf<P>> {
        let event = self.log.event(position);
        let (thread, outcome) = (event.thread, event.outcome);
        let status = self.program.status(thread);
        let is_same = match &status {
            ThreadStatus::Pending { intent, .. } => is_same_intent(intent, &event.intent),
            _ => false,
        };
        if !is_same {
            return Err(self.divergence_at(position, status).into());
        }
        let (is_hint, moves_joins) = (event.intent.is_hint(), event.moves_joins);
        let round_after = event.round_after;
        if is_hint {
            for link in self.log.links_mut(position) {
                let state = self.program.state(link.touch.object);
                link.touch.before = state;
                link.touch.after = state;
            }
        }
        self.performed.clear();
        self.performed.known_round = Some(round_after);
        self.program
            .step(thread, outcome, &mut self.performed)
            .map_err(fault_of)?;
        self.performed.known_round = None;
        if !is_hint && !self.repeats_touches(position) {
            return Err(self.divergence_at(position, status).into());
        }
        match moves_joins {
            true => self.move_joins(thread, false).map_err(fault_of),
            false => Ok(()),
        }
    }

    /// Whether the last step touched what the event of the log touched. Copies the new states to
    /// the log.
    #[inline]
    fn repeats_touches(&mut self, position: u32) -> bool {
        let intent = &self.log.event(position).intent;
        if LearnedFootprints::may_be_of(intent) {
            let intent = *intent;
            self.add_learned_touches(intent);
        }
        let touches = &self.performed.touches;
        let links = self.log.links_mut(position);
        let mut is_same = touches.len() == links.len();
        for (touch, link) in touches.iter().zip(links) {
            is_same &= touch.object == link.touch.object && touch.kind == link.touch.kind;
            // States may differ between executions: pointers do.
            link.touch = *touch;
        }
        is_same
    }

    /// The fault of an event that does not replay.
    #[cold]
    fn divergence_at(&self, position: u32, found: ThreadStatus) -> Fault<P::Error> {
        let event = self.log.event(position);
        Fault::NonDeterminism {
            thread: event.thread,
            step: position as usize + 1,
            expected: event.intent,
            found,
            location: self.program.location(event.thread),
        }
    }

    /// The fault of a thread whose intent differs from that in another execution with the same
    /// prefix.
    pub(crate) fn diverges(&self, thread: ThreadId, expected: Intent) -> Option<Fault<P::Error>> {
        let is_same = match self.program.status(thread) {
            ThreadStatus::Pending { intent, .. } => is_same_intent(&intent, &expected),
            _ => false,
        };
        (!is_same).then(|| self.divergence(thread, expected))
    }

    pub(crate) fn divergence(&self, thread: ThreadId, expected: Intent) -> Fault<P::Error> {
        Fault::NonDeterminism {
            thread,
            step: self.log.len() + 1,
            expected,
            found: self.program.status(thread),
            location: self.program.location(thread),
        }
    }

    /// The schedule of the execution so far.
    pub(crate) fn schedule(&self) -> Schedule {
        schedule_of(&self.log)
    }
}

/// Lets threads join those that have finished, until none can. A join is not a step of an execution: every
/// execution performs it as soon as it can. For callers that run a program themselves.
///
/// # Errors
/// If the program does not continue after a join.
pub fn join_finished<P: Program>(
    program: &mut P,
    performed: &mut Performed,
) -> Result<(), Stop<P::Error, P::Restart>> {
    loop {
        let mut threads = (0..program.thread_bound() as u32).map(ThreadId);
        let can_join = |&thread: &ThreadId| match program.status(thread) {
            ThreadStatus::Pending {
                intent: Intent::Join(other),
                ..
            } => program.status(other) == ThreadStatus::Finished,
            _ => false,
        };
        match threads.find(can_join) {
            Some(thread) => program.step(thread, 0, performed)?,
            None => return Ok(()),
        }
    }
}

/// Whether an operation of a program can be performed now, as a step of an execution. A hint always can.
pub fn can_perform<P: Program>(program: &P, intent: &Intent) -> bool {
    match *intent {
        Intent::Access { object, awaits, .. } => {
            awaits.is_none_or(|condition| condition.holds(program.state(object)))
        }
        Intent::Join(_) | Intent::Stopped => false,
        Intent::Local | Intent::SpinHint => true,
    }
}

pub(crate) fn schedule_of(log: &ExecutionLog) -> Schedule {
    let turns = log.events().iter().map(|event| Turn {
        thread: event.thread,
        outcome: event.outcome,
    });
    Schedule(turns.collect())
}

/// Whether two intents are equal except for the numbers in their conditions, which may be pointers.
#[inline]
fn is_same_intent(a: &Intent, b: &Intent) -> bool {
    match (a, b) {
        (
            Intent::Access {
                object,
                effect,
                awaits,
            },
            Intent::Access {
                object: other_object,
                effect: other_effect,
                awaits: other_awaits,
            },
        ) => {
            object == other_object
                && std::mem::discriminant(effect) == std::mem::discriminant(other_effect)
                && awaits.is_some() == other_awaits.is_some()
        }
        _ => a == b,
    }
}
