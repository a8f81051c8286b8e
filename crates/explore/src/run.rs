//! Running one execution: the steps that every strategy is made of.
//!
//! A [`Run`] holds the program, the execution so far and the monitor. A strategy begins
//! executions, asks which threads can go on, lets one of them take a step, and takes steps back.
//!
//! Waiting in loops is decided here. A thread that hints that it spins waits, if since its
//! last hint at the same place it has changed nothing, until something that it has read
//! since then has another state than it read. If no other thread can go on, it goes on
//! nevertheless.

use fencepost_memory::{Address, LocationId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::fault::{Fault, Waiting};
use crate::findings::Findings;
use crate::partners::Partners;
use crate::past::{NONE, NewEvent, Past};
use crate::program::{Intent, Performed, Program, Standing, Touch, TouchKind};
use crate::schedule::{Schedule, Turn};
use crate::settings::{Settings, SpinRule};
use crate::watch::Watch;

/// A hint: whether the thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hint {
    /// It does not; the hint does nothing.
    Passes,
    /// It waits for a change, which has happened or not.
    Waits { has_changed: bool },
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End<E> {
    /// All threads have ended.
    Complete,
    /// Some have not, and never will; or the program failed.
    Fault(Fault<E>),
    /// A bound keeps the threads that have not ended from going on.
    Cut,
    /// It was given up, because what follows is known.
    Known,
    /// Something was found, and that is enough.
    Enough,
}

/// A program, an execution of it, and what has been found.
pub(crate) struct Run<P: Program> {
    pub(crate) program: P,
    pub(crate) past: Past,
    pub(crate) watch: Watch,
    pub(crate) findings: Findings<P::Error>,
    /// Where threads were kept waiting in loops.
    pub(crate) waits: FxHashSet<Option<LocationId>>,
    pub(crate) steps: u64,
    /// How often threads went round loops in which nothing had changed, at most, if a bound lets them.
    pub(crate) rounds: FxHashMap<Option<LocationId>, u32>,
    /// Whether a bound kept a thread from going round a loop once more.
    pub(crate) was_bounded: bool,
    spin: SpinRule,
    livelock_after: u32,
    max_steps: u64,
    performed: Performed,
    /// What operations are taken to touch, if executions that were not run are planned.
    pub(crate) partners: Option<Partners>,
    touches: Vec<Touch>,
    watched: Vec<Touch>,
    /// Threads that have moved, and may have to join others or to be joined.
    moved: Vec<ThreadId>,
    /// Threads that wait for the end of another, each with that one.
    joining: Vec<(ThreadId, ThreadId)>,
    /// Threads that stand before a join or have ended when an execution begins.
    first_moved: Vec<ThreadId>,
    /// How often the hinting thread has found nothing changed, with this time.
    repeats: u32,
    is_running: bool,
}

impl<P: Program> Run<P> {
    pub(crate) fn new(program: P, settings: &Settings, finds_races: bool) -> Self {
        Run {
            program,
            past: Past::new(finds_races),
            watch: Watch::new(settings.watched, settings.memory),
            findings: Findings::new(settings),
            waits: FxHashSet::default(),
            steps: 0,
            rounds: FxHashMap::default(),
            was_bounded: false,
            spin: settings.spin,
            livelock_after: settings.livelock_after,
            max_steps: settings.max_steps,
            performed: Performed {
                takes_joins: true,
                ..Performed::default()
            },
            partners: None,
            touches: Vec::new(),
            watched: Vec::new(),
            moved: Vec::new(),
            joining: Vec::new(),
            first_moved: Vec::new(),
            repeats: 0,
            is_running: false,
        }
    }

    /// Begins an execution and repeats the events of the past.
    pub(crate) fn begin(&mut self) -> Result<(), Fault<P::Error>> {
        self.performed.clear();
        self.performed.is_repeated = self.watch.has_begun();
        self.is_running = true;
        self.program
            .start(&mut self.performed)
            .map_err(Fault::Program)?;
        self.joining.clear();
        if !self.watch.has_begun() {
            // The same in all executions.
            self.first_moved.clear();
            let threads = self.threads();
            let moved = threads.filter(|&thread| match self.program.standing(thread) {
                Standing::Before { intent, .. } => matches!(intent, Intent::Join(_)),
                Standing::Ended => true,
                Standing::Absent => false,
            });
            self.first_moved.extend(moved);
        }
        self.moved.clone_from(&self.first_moved);
        self.join_ended(false).map_err(Fault::Program)?;
        if !self.watch.has_begun() {
            self.feed_watch()?;
        } else {
            self.watch.rewind(self.past.len());
        }
        self.performed.is_repeated = true;
        for position in 0..self.past.len() {
            self.repeat(position as u32)?;
        }
        self.performed.is_repeated = false;
        Ok(())
    }

    /// Forgets the execution.
    pub(crate) fn clear(&mut self) {
        self.past.clear();
        self.watch.clear();
    }

    /// Ends the execution that was begun.
    pub(crate) fn finish(&mut self, end: End<P::Error>) -> End<P::Error> {
        if !std::mem::take(&mut self.is_running) {
            return end;
        }
        let is_complete = end == End::Complete;
        let end = match self.program.finish(is_complete) {
            Err(error) if is_complete => End::Fault(Fault::Program(error)),
            _ => end,
        };
        if let End::Fault(Fault::Program(error)) = &end {
            self.findings.is_enough |= self.program.is_fatal(error);
        }
        end
    }

    /// Keeps what an execution that was not given up came to.
    pub(crate) fn conclude(&mut self, end: End<P::Error>) {
        if let End::Fault(fault) = end {
            let schedule = self.schedule();
            let accesses = self.watch.accesses();
            self.findings.fault(fault, schedule, accesses);
        }
        self.findings.end_execution();
    }

    /// Where a thread stands.
    #[inline]
    pub(crate) fn standing(&self, thread: ThreadId) -> Standing {
        self.program.standing(thread)
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + use<P> {
        (0..self.program.thread_bound() as u32).map(ThreadId)
    }

    /// Whether a thread can go on; with the number of outcomes of its next operation.
    #[inline]
    pub(crate) fn ready(&mut self, thread: ThreadId) -> Option<u32> {
        let Standing::Before { intent, outcomes } = self.program.standing(thread) else {
            return None;
        };
        self.is_ready(thread, &intent).then_some(outcomes)
    }

    /// Whether a thread that stands before this can go on.
    #[inline]
    pub(crate) fn is_ready(&mut self, thread: ThreadId, intent: &Intent) -> bool {
        match *intent {
            Intent::Local => true,
            Intent::Access { object, awaits, .. } => {
                awaits.is_none_or(|condition| condition.holds(self.program.state(object)))
            }
            Intent::Join(other) => self.program.standing(other) == Standing::Ended,
            Intent::Hint => match self.look_at_hint(thread) {
                Hint::Passes => true,
                Hint::Waits { has_changed } => has_changed,
            },
        }
    }

    /// The threads that have not ended.
    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        let mut waiting = Vec::new();
        for thread in self.threads() {
            if let Standing::Before { intent, .. } = self.program.standing(thread) {
                waiting.push(Waiting {
                    thread,
                    intent,
                    location: self.program.location(thread),
                });
            }
        }
        waiting
    }

    /// No thread can go on: what that means.
    pub(crate) fn end_of_blocked(&self) -> End<P::Error> {
        let waiting = self.waiting();
        if waiting.is_empty() {
            End::Complete
        } else if waiting.iter().any(|w| w.intent == Intent::Hint) {
            End::Cut
        } else {
            End::Fault(Fault::Deadlock(waiting))
        }
    }

    /// What a blocked hinting thread watches.
    pub(crate) fn watched_by(&mut self, thread: ThreadId) -> &[Touch] {
        self.look_at_hint(thread);
        &self.watched
    }

    /// Decides whether a hinting thread waits, and collects what it watches.
    fn look_at_hint(&mut self, thread: ThreadId) -> Hint {
        self.watched.clear();
        self.repeats = 0;
        let location = self.program.location(thread);
        let mut position = self.past.last_of(thread);
        let mut next = None;
        let earlier_rounds = loop {
            if position == NONE || self.past.has_joined_after(position, next) {
                return Hint::Passes;
            }
            next = Some(position);
            let event = self.past.event(position);
            if event.intent == Intent::Hint && event.location == location {
                break event.repeats;
            }
            if event.intent == Intent::Hint {
                // Another hint of the same loop.
                position = event.previous;
                continue;
            }
            for link in self.past.own_links(position) {
                if link.touch.before != link.touch.after {
                    return Hint::Passes;
                }
                self.watched.push(Touch {
                    kind: TouchKind::Read,
                    ..link.touch
                });
            }
            position = event.previous;
        };
        if self.watched.is_empty() {
            // It hints again, in the same round.
            self.repeats = earlier_rounds;
            return Hint::Passes;
        }
        self.repeats = earlier_rounds + 1;
        let program = &self.program;
        let is_changed = |touch: &Touch| program.state(touch.object) != touch.after;
        let has_changed = self.watched.iter().any(is_changed);
        if has_changed {
            self.repeats = 0;
        }
        if let SpinRule::Bound(rounds) = self.spin
            && self.repeats <= rounds
            && !has_changed
        {
            let most = self.rounds.entry(location).or_default();
            *most = self.repeats.max(*most);
            self.watched.clear();
            return Hint::Passes;
        }
        self.was_bounded |= !has_changed && self.spin != SpinRule::UntilChange;
        if self.spin == SpinRule::UntilChange && !self.waits.contains(&location) {
            self.waits.insert(location);
        }
        Hint::Waits { has_changed }
    }

    /// Lets a thread take a step.
    #[inline]
    pub(crate) fn perform(&mut self, turn: Turn) -> Result<(), Fault<P::Error>> {
        self.take_step(turn, false)
    }

    /// Repeats steps that were taken in another run of the program.
    pub(crate) fn follow(&mut self, turns: &[Turn]) -> Result<(), Fault<P::Error>> {
        let steps = self.steps;
        self.findings.is_muted = true;
        let mut result = Ok(());
        for (step, &turn) in turns.iter().enumerate() {
            let thread = turn.thread;
            let no_such = || {
                Err(Fault::NoSuchExecution {
                    step: step + 1,
                    thread,
                })
            };
            result = match self.ready(thread) {
                Some(outcomes) if turn.outcome < outcomes => self.perform(turn),
                Some(_) => no_such(),
                None => self.force().unwrap_or_else(no_such),
            };
            if result.is_ok() && self.past.events().last().map(|e| e.thread) != Some(thread) {
                result = no_such();
            }
            if result.is_err() {
                break;
            }
        }
        self.findings.is_muted = false;
        self.steps = steps;
        result
    }

    /// Lets a thread that waits in a loop go on although nothing has changed, because no one else
    /// can.
    pub(crate) fn force(&mut self) -> Option<Result<(), Fault<P::Error>>> {
        if self.spin != SpinRule::UntilChange {
            return None;
        }
        let mut next: Option<(u32, ThreadId)> = None;
        for thread in self.threads() {
            if let Standing::Before {
                intent: Intent::Hint,
                ..
            } = self.program.standing(thread)
            {
                self.look_at_hint(thread);
                if next.is_none_or(|(repeats, _)| self.repeats < repeats) {
                    next = Some((self.repeats, thread));
                }
            }
        }
        let (repeats, thread) = next?;
        if repeats > self.livelock_after {
            return Some(Err(Fault::Livelock(self.waiting())));
        }
        Some(self.take_step(Turn { thread, outcome: 0 }, true))
    }

    fn take_step(&mut self, turn: Turn, is_forced: bool) -> Result<(), Fault<P::Error>> {
        let Turn { thread, outcome } = turn;
        let Standing::Before { intent, outcomes } = self.program.standing(thread) else {
            unreachable!("only threads that stand before an operation take steps");
        };
        if self.past.len() as u64 >= self.max_steps {
            let last = Waiting {
                thread,
                intent,
                location: self.program.location(thread),
            };
            let steps = self.max_steps;
            return Err(Fault::StepLimit { steps, last });
        }
        let (mut location, mut repeats) = (None, 0);
        let is_hint = intent.is_hint();
        if is_hint {
            self.touches.clear();
            location = self.program.location(thread);
            if let Hint::Waits { .. } = self.look_at_hint(thread) {
                self.touch_watched();
            }
            repeats = self.repeats;
        }
        self.performed.clear();
        let result = self.program.step(thread, outcome, &mut self.performed);
        let own_touches = self.performed.touches.len();
        let (touches, watched, own_touches) = match is_hint {
            true => (&self.touches, self.watched.as_slice(), self.touches.len()),
            false => {
                if Partners::may_be_of(&intent) {
                    self.add_partners(intent);
                }
                (&self.performed.touches, [].as_slice(), own_touches)
            }
        };
        self.past.push(NewEvent {
            thread,
            intent: &intent,
            outcome,
            outcomes,
            is_forced,
            repeats,
            location,
            touches,
            own_touches,
            watched: if touches.is_empty() { &[] } else { watched },
            spawned: match self.performed.joined.is_empty() {
                true => &self.performed.spawned,
                false => &[],
            },
        });
        if !self.performed.joined.is_empty() {
            self.note_joins(thread, 0);
        }
        self.steps += 1;
        let result = result.and_then(|()| self.join_after(thread));
        self.feed_watch()?;
        result.map_err(Fault::Program)
    }

    /// Adds what the operation is taken to touch to what it has touched.
    fn add_partners(&mut self, intent: Intent) {
        if let Some(partners) = &mut self.partners {
            let (program, touches) = (&self.program, &mut self.performed.touches);
            partners.complete(intent, touches, |object| program.state(object));
        }
    }

    /// What an operation is taken to touch besides its object.
    pub(crate) fn partners_of(&self, intent: Intent) -> &[Address] {
        self.partners.as_ref().map_or(&[], |p| p.of(intent))
    }

    /// Whether an operation touched more than it was taken to, since the last time.
    pub(crate) fn has_learnt_partners(&mut self) -> bool {
        self.partners.as_mut().is_some_and(Partners::take_news)
    }

    /// Lets threads join those that have ended with the step of this one, if there may be any.
    #[inline]
    fn join_after(&mut self, thread: ThreadId) -> Result<(), P::Error> {
        if self.performed.spawned.is_empty() && !self.may_join_or_be_joined(thread) {
            return Ok(());
        }
        self.past.note_moved_joins();
        self.move_joins(thread, true)
    }

    /// Lets threads join those that have ended with the step of this one.
    fn move_joins(&mut self, thread: ThreadId, is_new: bool) -> Result<(), P::Error> {
        self.moved.push(thread);
        self.moved.extend_from_slice(&self.performed.spawned);
        self.join_ended(is_new)
    }

    #[inline]
    fn may_join_or_be_joined(&self, thread: ThreadId) -> bool {
        match self.program.standing(thread) {
            Standing::Before { intent, .. } => matches!(intent, Intent::Join(_)),
            Standing::Ended => self.joining.iter().any(|&(_, ended)| ended == thread),
            Standing::Absent => false,
        }
    }

    /// Lets threads join those that have ended. That commutes with everything, so it is done at once
    /// and is no step. What they have performed is added to what the last step has.
    fn join_ended(&mut self, is_new: bool) -> Result<(), P::Error> {
        while let Some(moved) = self.moved.pop() {
            match self.program.standing(moved) {
                Standing::Before {
                    intent: Intent::Join(ended),
                    ..
                } => {
                    if self.program.standing(ended) == Standing::Ended {
                        self.join(moved, ended, is_new)?;
                    } else if !self.joining.contains(&(moved, ended)) {
                        self.joining.push((moved, ended));
                    }
                }
                Standing::Ended => {
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

    fn join(&mut self, by: ThreadId, ended: ThreadId, is_new: bool) -> Result<(), P::Error> {
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

    /// Tells the past what a thread has joined, and then made: the threads from the one with this number on.
    fn note_joins(&mut self, by: ThreadId, first_spawned: usize) {
        let spawned = &self.performed.spawned[first_spawned..];
        // What nobody can learn from it any more need not be known.
        let is_over = spawned.is_empty()
            && self.program.standing(by) == Standing::Ended
            && !self.program.may_be_joined(by);
        if !is_over {
            self.past.join(by, &self.performed.joined, spawned);
        }
    }

    /// A hint that waits touches each object that it watches once, as it is now.
    fn touch_watched(&mut self) {
        for touch in &self.watched {
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

    fn feed_watch(&mut self) -> Result<(), Fault<P::Error>> {
        let (findings, past) = (&mut self.findings, &self.past);
        let Performed {
            accesses, inert, ..
        } = &self.performed;
        let is_inert = !accesses.is_empty() && *inert == accesses.len();
        if let Some(glance) = self.performed.glance {
            self.watch.note_glance(accesses, glance);
        }
        self.watch
            .add(accesses, is_inert, |violation, seen| {
                findings.violation(violation, seen, past);
            })
            .map_err(Fault::OutOfMemory)
    }

    /// Repeats an event of the past, which must turn out the same.
    fn repeat(&mut self, position: u32) -> Result<(), Fault<P::Error>> {
        let event = self.past.event(position);
        let (thread, outcome) = (event.thread, event.outcome);
        let standing = self.program.standing(thread);
        let is_same = match &standing {
            Standing::Before { intent, .. } => is_same_intent(intent, &event.intent),
            _ => false,
        };
        if !is_same {
            return Err(self.turned_out_otherwise(position, standing));
        }
        let (is_hint, moves_joins) = (event.intent.is_hint(), event.moves_joins);
        if is_hint {
            for link in self.past.links_mut(position) {
                let state = self.program.state(link.touch.object);
                link.touch.before = state;
                link.touch.after = state;
            }
        }
        self.performed.clear();
        self.program
            .step(thread, outcome, &mut self.performed)
            .map_err(Fault::Program)?;
        if !is_hint && !self.repeats_touches(position) {
            return Err(self.turned_out_otherwise(position, standing));
        }
        match moves_joins {
            true => self.move_joins(thread, false).map_err(Fault::Program),
            false => Ok(()),
        }
    }

    /// Whether what was touched is what the event of the past touched. Takes over the states.
    #[inline]
    fn repeats_touches(&mut self, position: u32) -> bool {
        let intent = &self.past.event(position).intent;
        if Partners::may_be_of(intent) {
            let intent = *intent;
            self.add_partners(intent);
        }
        let touches = &self.performed.touches;
        let links = self.past.links_mut(position);
        let mut is_same = touches.len() == links.len();
        for (touch, link) in touches.iter().zip(links) {
            is_same &= touch.object == link.touch.object && touch.kind == link.touch.kind;
            // Values may differ from execution to execution: pointers do.
            link.touch = *touch;
        }
        is_same
    }

    /// The fault of an event that is not repeated.
    #[cold]
    fn turned_out_otherwise(&self, position: u32, found: Standing) -> Fault<P::Error> {
        let event = self.past.event(position);
        Fault::NonDeterminism {
            thread: event.thread,
            step: position as usize + 1,
            expected: event.intent,
            found,
            location: self.program.location(event.thread),
        }
    }

    /// The fault of a thread that is not about to do what it was about to do in another execution
    /// that began in the same way.
    pub(crate) fn diverges(&self, thread: ThreadId, expected: Intent) -> Option<Fault<P::Error>> {
        let is_same = match self.program.standing(thread) {
            Standing::Before { intent, .. } => is_same_intent(&intent, &expected),
            _ => false,
        };
        (!is_same).then(|| self.divergence(thread, expected))
    }

    pub(crate) fn divergence(&self, thread: ThreadId, expected: Intent) -> Fault<P::Error> {
        Fault::NonDeterminism {
            thread,
            step: self.past.len() + 1,
            expected,
            found: self.program.standing(thread),
            location: self.program.location(thread),
        }
    }

    /// The schedule so far.
    pub(crate) fn schedule(&self) -> Schedule {
        schedule_of(&self.past)
    }
}

pub(crate) fn schedule_of(past: &Past) -> Schedule {
    let turns = past.events().iter().map(|event| Turn {
        thread: event.thread,
        outcome: event.outcome,
    });
    Schedule(turns.collect())
}

/// Whether two intents are the same but for the numbers in their conditions, which may be pointers.
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
