//! Stale reads that only repeat a wait.
//!
//! The monitor reports a load that can read a stale value: under the model it can overtake a write
//! that it cannot overtake under sequential consistency. If the thread reads that value, comes back
//! to a state in which it was before the load, and has changed nothing in between, then the round
//! has no effect. The same execution without the round is an execution of the program too: what a
//! memory model allows, it still allows without some of the reads. So such a load is no violation.
//!
//! **Why that is enough.** Take any execution under the model, and remove the rounds that come back
//! to their first state, until there are none. If what is left is sequentially consistent, the
//! program has done nothing that it does not do in a sequentially consistent execution. If not, it
//! has a shortest prefix that is not sequentially consistent. It ends with an event that the monitor
//! reports in every execution that is equivalent to the prefix without that event, one of which is
//! explored. If the event is a load that comes back with every stale value that it can read, its
//! round would have been removed. So one of these values leads elsewhere, and the load is reported.
//!
//! For the same reason a violation does not count if it is none without the rounds before it that
//! came back: a write can be known to a thread only because another thread has seen an earlier value
//! in a round that has no effect. The execution without these rounds is explored too.
//!
//! Where a stale value leads is found by a *trial*: the execution is run again up to the load, which
//! then reads the stale value, and its thread continues alone to its next operation. Only if it has
//! come back there ([`Program::round`]) the value is harmless. A round that reads on after the stale
//! load is not followed: what it reads is not known, so the load counts. The same goes for values
//! that may be pointers: what they point to may have been freed.

use fencepost_memory::{Address, Operation, ThreadId};
use fencepost_monitor::{Violation, check_interleaving};
use rustc_hash::FxHashMap;

use crate::execution::log::{Event, ExecutionLog, Link, NONE};
use crate::execution::monitor_feed::{ends_in_violation, overtaking};
use crate::execution::run::{Run, StopOf, fault_of};
use crate::program::{Effect, Intent, Program, Round, Stop, ThreadStatus, TouchKind};

/// Stale values from here on are not tried, since they may be pointers.
const LEAST_POINTER: u64 = 1 << 16;

/// The maximum number of events of a trial after the load: hints and fences.
const MAX_EVENTS: u32 = 64;

/// The maximum size of the remembered trials, in words.
const MAX_REMEMBERED: usize = 1 << 21;

/// Where a stale value leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trial {
    /// Back to a state in which the thread was before.
    ComesBack,
    /// Elsewhere, as far as is known.
    Continues,
    /// The program does not support stale reads.
    Unsupported,
}

/// What is known about stale reads.
#[derive(Default)]
pub(crate) struct Judge {
    /// The violations of the last event that are not judged yet.
    pub(super) suspects: Vec<Violation>,
    /// The trials so far. What a thread does is determined by all events that happen before, in all
    /// threads: what a lock protects, what a joined thread returns and what a pointer points to are
    /// no states of objects. So these events are the key, with the stale value.
    known: FxHashMap<Box<[u64]>, Trial>,
    /// The size of the keys, in words.
    known_words: usize,
    /// Whether the program does not support stale reads.
    is_unsupported: bool,
}

impl Judge {
    pub(super) fn new(are_stale_reads_supported: bool) -> Self {
        Judge {
            is_unsupported: !are_stale_reads_supported,
            ..Judge::default()
        }
    }

    /// Whether the violation has to be judged: it is one of a plain load, or there are rounds that
    /// came back before it.
    #[cold]
    pub(super) fn suspects(&mut self, violation: &Violation, log: &ExecutionLog) -> bool {
        let is_suspect = self.can_try(violation, log) || earlier_events(log).iter().any(ends_round);
        if is_suspect {
            self.suspects.push(*violation);
        }
        is_suspect
    }

    /// Whether stale values can be tried: the last event of the log is a plain load.
    fn can_try(&self, violation: &Violation, log: &ExecutionLog) -> bool {
        let (Some(last), Operation::Load(address)) =
            (log.events().last(), violation.event.event.access.operation)
        else {
            return false;
        };
        let is_last = last.thread == violation.event.thread()
            && matches!(last.intent, Intent::Access { object, effect: Effect::Read, .. } if object == address);
        is_last && !self.is_unsupported
    }

    fn remember(&mut self, key: Box<[u64]>, trial: Trial) {
        self.known_words += key.len();
        if self.known_words > MAX_REMEMBERED {
            self.known_words = key.len();
            self.known.clear();
        }
        self.known.insert(key, trial);
    }
}

/// Whether a thread had come back to an earlier state after this event.
fn ends_round(event: &Event) -> bool {
    matches!(event.round_after, Round::Repeated(_))
}

/// The events in which rounds that came back can end: all but the last one. The round that ends with
/// that one would be another round if it read another value.
fn earlier_events(log: &ExecutionLog) -> &[Event] {
    log.events()
        .split_last()
        .map_or(&[], |(_, earlier)| earlier)
}

impl<P: Program> Run<P> {
    /// Judges the violations of the last event, and records those that count. If the event
    /// `has_failed` or the search stops, the program need not continue.
    #[cold]
    pub(super) fn judge_suspects(&mut self, has_failed: bool) -> Result<(), StopOf<P>> {
        let suspects = std::mem::take(&mut self.judge.suspects);
        for suspect in &suspects {
            let judged = match self.is_due_to_rounds(suspect) {
                true => None,
                false if self.judge.can_try(suspect, &self.log) => self.judge(suspect)?,
                false => Some(*suspect),
            };
            match judged {
                Some(violation) => {
                    let evidence = self.monitor.evidence_of(suspect);
                    self.findings.violation(&violation, evidence, &self.log);
                }
                None => {
                    self.monitor.note_harmless(suspect);
                    self.waits.insert(suspect.event.event.access.location);
                }
            }
        }
        self.judge.suspects = suspects;
        self.judge.suspects.clear();
        let is_over = has_failed || self.findings.should_stop;
        if !self.is_running && !is_over {
            self.repeat(self.log.len())?;
        }
        Ok(())
    }

    /// The events of rounds that came back before the last event, in all threads: without them, each
    /// thread does the same.
    fn events_of_rounds(&self) -> Vec<bool> {
        /// How an event of a thread is left out.
        #[derive(Clone, Copy, PartialEq)]
        enum Left {
            In,
            Out,
            /// It is the last one of its round, so the state after it is that before the round.
            OutLast,
        }
        let mut threads: FxHashMap<ThreadId, Vec<(u32, Left)>> = FxHashMap::default();
        for (position, event) in earlier_events(&self.log).iter().enumerate() {
            let own = threads.entry(event.thread).or_default();
            own.push((position as u32, Left::In));
            let Round::Repeated(round) = event.round_after else {
                continue;
            };
            let Some(first) = own.len().checked_sub(round as usize) else {
                continue;
            };
            // The thread must be in the state before the round if what was left out before is
            // missing.
            if first > 0 && own[first - 1].1 == Left::Out {
                continue;
            }
            if !self.has_no_effect(position as u32, round) {
                continue;
            }
            own[first..].iter_mut().for_each(|one| one.1 = Left::Out);
            if let Some(last) = own.last_mut() {
                last.1 = Left::OutLast;
            }
        }
        let mut is_left_out = vec![false; self.log.len()];
        for &(position, left) in threads.values().flatten() {
            is_left_out[position as usize] = left != Left::In;
        }
        is_left_out
    }

    /// Whether the last `count` events of a thread up to the one at this position can be left out
    /// of an execution under the model.
    fn has_no_effect(&self, mut position: u32, count: u32) -> bool {
        for _ in 0..count {
            if position == NONE {
                return false;
            }
            let mut links = self.log.own_links(position).iter();
            if links.any(|link| link.touch.before != link.touch.after)
                || self.repeats_store_of_other(position)
            {
                return false;
            }
            position = self.log.event(position).previous;
        }
        true
    }

    /// Whether the event is a plain store of the value that another thread has just written. The
    /// thread may read its own store before that of the other one is in memory, so it is not the
    /// same without it.
    pub(super) fn repeats_store_of_other(&self, position: u32) -> bool {
        let thread = self.log.event(position).thread;
        let is_of_other = |link: &Link| {
            let writer = self.log.writer_before(link);
            link.touch.kind == TouchKind::Write && writer.is_some_and(|writer| writer != thread)
        };
        self.log.own_links(position).iter().any(is_of_other)
            && (self.monitor.accesses_of(position).iter())
                .any(|access| matches!(access.operation, Operation::Store(_)))
    }

    /// Whether the event of the violation shows none without the rounds before it that came back.
    fn is_due_to_rounds(&self, suspect: &Violation) -> bool {
        if !earlier_events(&self.log).iter().any(ends_round) {
            return false;
        }
        let is_left_out = self.events_of_rounds();
        let evidence = self.monitor.evidence_of(suspect);
        let last = evidence.accesses().len() - 1;
        let (mut accesses, mut optimistic_loads) = (Vec::new(), Vec::new());
        let mut known = evidence.optimistic_loads.iter().peekable();
        for (at, access) in evidence.accesses().iter().enumerate() {
            let optimistic_load = known.next_if(|(position, _)| *position == at);
            // The event itself stays: whether it is stale is the question.
            let is_out = at < last
                && evidence.event_of_any(at).is_some_and(|event| {
                    is_left_out[event as usize] && self.log.event(event).thread == access.thread
                });
            if !is_out {
                if let Some(&(_, load)) = optimistic_load {
                    optimistic_loads.push((accesses.len(), load));
                }
                accesses.push(*access);
            }
        }
        let model = self.monitor.monitored_model();
        !ends_in_violation(model, &accesses, optimistic_loads)
    }

    /// The violation of a load with the latest write that it must not overtake: the thread leads
    /// elsewhere if it reads what was there before. None if there is no such write.
    fn judge(&mut self, suspect: &Violation) -> Result<Option<Violation>, StopOf<P>> {
        let evidence = self.monitor.evidence_of(suspect);
        let observed = evidence.observed();
        let address = suspect.pending.address();
        let is_write = |operation: Operation| operation.writes() && operation.address() == address;
        let stale: Vec<usize> = (0..=suspect.pending.position as usize)
            .filter(|&position| is_write(observed[position].operation))
            .collect();
        let events: Vec<Option<u32>> = stale
            .iter()
            .map(|&position| evidence.event_of(position as u64))
            .collect();
        for (written, (&position, &event)) in stale.iter().zip(&events).enumerate().rev() {
            let violation = overtaking(suspect, &observed, position, written as u64);
            // The last write is the one that the monitor has found.
            let is_last = written + 1 == stale.len();
            if !is_last && check_interleaving(&violation, &observed).is_err() {
                break;
            }
            let trial = match (event, address) {
                (Some(event), Some(address)) => self.trial_before(event, address)?,
                _ => Trial::Continues,
            };
            if trial != Trial::ComesBack {
                return Ok(Some(violation));
            }
        }
        Ok(None)
    }

    /// Where it leads if the last event reads the state before this write.
    fn trial_before(&mut self, write: u32, address: Address) -> Result<Trial, StopOf<P>> {
        let Some(state) = self.state_before(write, address) else {
            return Ok(Trial::Continues);
        };
        if state >= LEAST_POINTER {
            return Ok(Trial::Continues);
        }
        let key = self.history_of_last(state);
        if let Some(&trial) = self.judge.known.get(&key) {
            return Ok(trial);
        }
        // The program may have failed already.
        let _ = self.stop_program(false);
        self.repeat(self.log.len() - 1)?;
        let trial = match self.state_before(write, address) {
            Some(state) => self.try_stale(state)?,
            None => Trial::Continues,
        };
        let _ = self.stop_program(false);
        self.judge.is_unsupported |= trial == Trial::Unsupported;
        self.judge.remember(key, trial);
        Ok(trial)
    }

    /// The state of an object before an event of the log that writes it.
    fn state_before(&self, write: u32, address: Address) -> Option<u64> {
        let links = self.log.own_links(write).iter();
        let mut touches = links.map(|link| link.touch);
        touches
            .find(|touch| touch.object == address)
            .map(|touch| touch.before)
    }

    /// All that happens before the last event, and the state that it reads now. Executions that
    /// differ in the order of independent events have the same.
    fn history_of_last(&self, state: u64) -> Box<[u64]> {
        let last = self.log.len() as u32 - 1;
        let name = |position: u32| {
            let event = self.log.event(position);
            u64::from(event.thread.0) << 32 | u64::from(event.index)
        };
        let is_before = |&position: &u32| self.log.is_known_before(position, last);
        let mut before: Vec<u32> = (0..last).filter(is_before).collect();
        before.sort_unstable_by_key(|&position| name(position));
        let mut history = vec![state, name(last)];
        for position in before {
            let event = self.log.event(position);
            // Each event begins with an even number, and each link with an odd one.
            history.extend([name(position) << 1, u64::from(event.outcome)]);
            for link in self.log.own_links(position) {
                let touch = link.touch;
                let written = self.log.write_before(link).map_or(u64::MAX, name);
                let object = u64::from(touch.object.0) << 1 | 1;
                history.extend([object, touch.before, touch.after, written]);
            }
        }
        history.into()
    }

    /// Lets the thread of the last event, which is about to perform it, read this state. The
    /// program is over then.
    fn try_stale(&mut self, state: u64) -> Result<Trial, StopOf<P>> {
        let thread = self.log.events().last().expect("it has a violation").thread;
        for events in 1..=MAX_EVENTS {
            self.performed.clear();
            self.performed.is_replayed = true;
            self.performed.stale_read = (events == 1).then_some(state);
            let result = self.program.step(thread, 0, &mut self.performed);
            self.performed.is_replayed = false;
            if self.performed.stale_read.take().is_some() {
                return Ok(Trial::Unsupported);
            }
            match result {
                Ok(()) => {}
                Err(Stop::Error(_)) => return Ok(Trial::Continues),
                Err(restart) => return Err(fault_of(restart)),
            }
            match self.next_of_trial(thread, events) {
                Some(trial) => return Ok(trial),
                None => continue,
            }
        }
        Ok(Trial::Continues)
    }

    /// Where a thread has got, so many events after the beginning of its stale load. None if it can
    /// continue without reading or changing something.
    fn next_of_trial(&self, thread: ThreadId, events: u32) -> Option<Trial> {
        let ThreadStatus::Pending {
            intent,
            outcomes: 1,
        } = self.program.status(thread)
        else {
            return Some(Trial::Continues);
        };
        // The log still ends with the load itself.
        let before = self.log.event(self.log.last_of(thread)).previous;
        match (intent, self.program.round(thread)) {
            // A round that began after the load leads nowhere before it.
            (Intent::SpinHint, Round::Repeated(round)) => Some(match round.checked_sub(events) {
                Some(earlier) if self.has_no_effect(before, earlier) => Trial::ComesBack,
                _ => Trial::Continues,
            }),
            (Intent::SpinHint, Round::New) | (Intent::Local, _) => None,
            _ => Some(Trial::Continues),
        }
    }
}
