//! Loops that the program declares to only wait.
//!
//! A loop that backs off counts its rounds, so it does not come back to the same state. The program
//! can declare that it only waits all the same ([`Current::assume_waits`]): the explorer then takes
//! each round that changes nothing for one that came back. So the thread has to repeat its last
//! round as long as it reads the same values, however often. That is assumed; but where a thread is
//! seen to do something else, the execution fails.
//!
//! A round has to be repeated only if it has performed the operations of the round before: the first
//! one also has what the thread has done before the loop, since it last came to the declaration. And
//! not if one of its operations had several outcomes, which are chosen anew.
//!
//! Hints are not compared, since a thread that backs off pauses longer and longer.

use fencepost_explore::{Intent, Round};
use fencepost_memory::{Address, ThreadId};

use super::error::ProgramError;
use super::execution::{Execution, Phase};
use super::location::{LocationRef, OwnedLocation};
use super::operation::Current;
use super::threads::{Outcomes, PendingOperation};

/// A round with more than this is not compared: the thread has left the loop.
const MAX_DEEDS: usize = 1 << 12;

/// One thing that a thread has done in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deed {
    /// It was about to perform an operation on this object; none if it touches none.
    Began(Option<Address>, LocationRef),
    /// The operation has found an object in a state, and has left it in another or the same.
    Touched(Address, u64, u64),
}

impl Deed {
    fn is_same_operation(&self, other: &Deed) -> bool {
        match (self, other) {
            (Deed::Began(..), Deed::Began(..)) => self == other,
            (Deed::Touched(one, ..), Deed::Touched(other, ..)) => one == other,
            _ => false,
        }
    }

    fn is_touch(&self) -> bool {
        matches!(self, Deed::Touched(..))
    }

    fn changes(&self) -> bool {
        matches!(self, Deed::Touched(_, before, after) if before != after)
    }
}

/// What a thread does in one of these loops.
#[derive(Debug)]
struct DeclaredLoop {
    /// The declaration.
    location: LocationRef,
    /// What the thread has done in its last round. Empty if there was none.
    last: Vec<Deed>,
    current: Vec<Deed>,
    /// Whether the thread has repeated the last round so far, and has to.
    repeats: bool,
    /// Whether an operation of the current round had several outcomes.
    has_choice: bool,
}

impl DeclaredLoop {
    /// The thread comes to the declaration again. Returns whether it has not repeated its last
    /// round, although it has read the same values.
    fn begin_round(&mut self) -> bool {
        let is_broken = self.repeats && self.current.len() < self.last.len();
        std::mem::swap(&mut self.last, &mut self.current);
        let (round, before) = (&self.last, &self.current);
        let is_wait = round.iter().any(Deed::is_touch) && !round.iter().any(Deed::changes);
        let same = |(one, other): (&Deed, &Deed)| one.is_same_operation(other);
        let is_as_before = round.len() == before.len() && round.iter().zip(before).all(same);
        let has_choice = std::mem::take(&mut self.has_choice);
        self.repeats = is_wait && is_as_before && !has_choice && round.len() <= MAX_DEEDS;
        self.current.clear();
        is_broken
    }

    /// The thread does something. Returns whether it is not what it has done in its last round,
    /// although it has read the same values.
    fn note(&mut self, deed: Deed) -> bool {
        if self.current.len() > MAX_DEEDS {
            return false;
        }
        let expected = self.last.get(self.current.len());
        let reads_other = deed.is_touch() && expected.is_some_and(Deed::is_touch);
        let is_same = expected == Some(&deed);
        let is_broken = self.repeats && !is_same && !reads_other;
        self.repeats &= is_same;
        self.current.push(deed);
        is_broken
    }
}

/// The loops of a thread that are declared to only wait.
#[derive(Debug, Default)]
pub(crate) struct DeclaredLoops(Vec<DeclaredLoop>);

impl DeclaredLoops {
    /// Forgets everything, for a new thread.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.0.clear();
    }

    /// Whether the thread has been in such a loop.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The thread comes to a declaration. Returns whether it has broken it.
    fn begin_round(&mut self, location: LocationRef) -> bool {
        let mut known = self.0.iter_mut();
        if let Some(declared) = known.find(|declared| declared.location == location) {
            return declared.begin_round();
        }
        self.0.push(DeclaredLoop {
            location,
            last: Vec::new(),
            current: Vec::new(),
            repeats: false,
            has_choice: false,
        });
        false
    }

    /// The thread does something. Returns the declaration that it breaks.
    fn note(&mut self, deed: Deed) -> Option<LocationRef> {
        let mut broken = None;
        for declared in &mut self.0 {
            if declared.note(deed) {
                broken = Some(declared.location);
            }
        }
        broken
    }

    /// The thread is about to perform an operation with several outcomes.
    fn note_choice(&mut self) {
        for declared in &mut self.0 {
            declared.has_choice = true;
            declared.repeats = false;
        }
    }

    /// An operation of the thread has touched an object.
    pub(crate) fn note_touch(&mut self, object: Address, before: u64, after: u64) {
        // Another value is no other operation.
        self.note(Deed::Touched(object, before, after));
    }

    /// The thread is about to perform an operation. Returns the declaration that it breaks.
    pub(crate) fn note_operation(
        &mut self,
        intent: Intent,
        location: LocationRef,
    ) -> Option<LocationRef> {
        let object = match intent {
            Intent::SpinHint | Intent::Stopped => return None,
            Intent::Access { object, .. } => Some(object),
            Intent::Local | Intent::Join(_) => None,
        };
        self.note(Deed::Began(object, location))
    }

    /// The declaration that the thread breaks if it ends now.
    pub(crate) fn broken_by_end(&self) -> Option<LocationRef> {
        let leaves = |one: &&DeclaredLoop| one.repeats && one.current.len() < one.last.len();
        self.0.iter().find(leaves).map(|declared| declared.location)
    }
}

/// The error of a thread that breaks a declaration by what it does at `location`.
#[cold]
pub(crate) fn broken(declared: LocationRef, location: Option<LocationRef>) -> ProgramError {
    ProgramError::Misuse {
        message: format!(
            "the loop at {} is declared to only wait (`hint::assume_waits`), but it does more: the thread \
             has not repeated its last round, although it has read the same values",
            OwnedLocation::from(declared)
        ),
        location: Some(location.unwrap_or(declared).into()),
    }
}

impl Current {
    /// The calling thread is in a loop that is assumed to only wait: it waits until something has
    /// changed that it has read since it was here the last time. The location is recorded in the
    /// [`Registry`](super::Registry).
    pub fn assume_waits(self, location: LocationRef) {
        let arrived = self.with(|execution| {
            if !execution.takes_steps() {
                return None;
            }
            let is_kept = execution.begin_declared_round(location);
            Some((execution.yielder(), is_kept))
        });
        match arrived {
            None => {}
            Some((_, false)) => self.fail(broken(location, None)),
            Some((yielder, true)) => self.wait_outside(yielder),
        }
    }

    /// The calling thread is about to perform an operation. Fails if that breaks a declaration.
    #[cold]
    pub(crate) fn keep_declarations(self, intent: Intent, location: LocationRef, has_choice: bool) {
        let note = |execution: &mut Execution| {
            let declared = &mut execution.slot_mut().declared;
            let broken = declared.note_operation(intent, location);
            if has_choice {
                declared.note_choice();
            }
            broken
        };
        if let Some(declared) = self.with(note) {
            self.fail(broken(declared, Some(location)));
        }
    }
}

impl Execution {
    /// A thread has returned. Fails if it has left a loop that only waits.
    #[inline]
    pub(crate) fn end_declared_loops(&mut self, thread: ThreadId) {
        let declared = &self.threads.slots[thread.index()].declared;
        if self.phase != Phase::Running || declared.are_none() {
            return;
        }
        if let Some(location) = declared.broken_by_end() {
            self.fail(broken(location, None).into());
        }
    }

    /// The running thread is about to wait at a declaration. Returns whether it has kept it so far.
    fn begin_declared_round(&mut self, location: LocationRef) -> bool {
        if self.slot().declared.are_none() {
            let id = self.names.location(location);
            self.names.registry().note_declared_wait(id);
        }
        // A load that reads its own buffered store does not read the state of its object.
        let is_compared = !self.buffers.are_enabled();
        self.recording.are_touches_noted |= is_compared;
        let slot = self.slot_mut();
        slot.visits.events += 1;
        slot.pending = PendingOperation {
            intent: Intent::SpinHint,
            outcomes: Outcomes::One,
            location,
            round: Round::Assumed,
        };
        !is_compared || !slot.declared.begin_round(location)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread loads an object in each round: the values, and whether the rounds end with another
    /// operation.
    fn breaks(rounds: &[(u64, bool)]) -> bool {
        let here = LocationRef::caller();
        let there = LocationRef::caller();
        let mut loops = DeclaredLoops::default();
        let mut is_broken = loops.begin_round(here);
        let load = |object: u32| Intent::Access {
            object: Address(object),
            effect: fencepost_explore::Effect::Read,
            awaits: None,
        };
        for &(value, does_more) in rounds {
            is_broken |= loops.note_operation(load(1), here).is_some();
            loops.note_touch(Address(1), value, value);
            if does_more {
                is_broken |= loops.note_operation(load(2), there).is_some();
                loops.note_touch(Address(2), 0, 0);
            }
            is_broken |= loops.begin_round(here);
        }
        is_broken
    }

    #[test]
    fn a_round_has_to_be_repeated_while_it_reads_the_same() {
        assert!(!breaks(&[(0, false), (0, false), (0, false)]));
        assert!(!breaks(&[(0, true), (0, true)]));
        assert!(
            !breaks(&[(0, false), (1, true), (0, false)]),
            "other values"
        );
        assert!(breaks(&[(0, false), (0, false), (0, true)]), "it does more");
        assert!(breaks(&[(0, true), (0, true), (0, false)]), "it does less");
        assert!(breaks(&[(1, false), (0, false), (0, true)]));
        assert!(
            !breaks(&[(0, false), (0, true), (0, false)]),
            "the first round may have more before it"
        );
    }

    /// Loops that wait in turn for one variable and another, in one function.
    #[test]
    fn a_thread_may_come_to_the_declaration_from_elsewhere() {
        let here = LocationRef::caller();
        let mut loops = DeclaredLoops::default();
        let mut load = |object: u32, value| {
            let intent = Intent::Access {
                object: Address(object),
                effect: fencepost_explore::Effect::Read,
                awaits: None,
            };
            assert_eq!(loops.note_operation(intent, here), None);
            loops.note_touch(Address(object), value, value);
            if value == 0 {
                assert!(!loops.begin_round(here));
            }
        };
        for _ in 0..2 {
            for (object, value) in [(1, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 1)] {
                load(object, value);
            }
        }
    }

    #[test]
    fn a_round_with_a_choice_need_not_be_repeated() {
        let here = LocationRef::caller();
        let mut loops = DeclaredLoops::default();
        for round in 0..4 {
            loops.note_choice();
            loops.note_touch(Address(1), 0, 0);
            if round % 2 == 0 {
                assert_eq!(loops.note_operation(Intent::Local, here), None);
            }
            assert!(!loops.begin_round(here));
        }
    }

    #[test]
    fn a_thread_that_ends_does_not_repeat_its_round() {
        let here = LocationRef::caller();
        let mut loops = DeclaredLoops::default();
        let read = |loops: &mut DeclaredLoops, value| loops.note_touch(Address(1), value, value);
        loops.begin_round(here);
        read(&mut loops, 0);
        assert_eq!(loops.broken_by_end(), None, "it has only begun");
        loops.begin_round(here);
        read(&mut loops, 0);
        loops.begin_round(here);
        assert_eq!(loops.broken_by_end(), Some(here));
        read(&mut loops, 1);
        assert_eq!(loops.broken_by_end(), None, "it has read another value");
        loops.reset();
        assert!(loops.are_none());
    }

    #[test]
    fn a_round_that_changes_something_is_no_wait() {
        let here = LocationRef::caller();
        let mut loops = DeclaredLoops::default();
        for _ in 0..3 {
            assert!(!loops.begin_round(here));
            loops.note_touch(Address(1), 0, 1);
            assert_eq!(loops.broken_by_end(), None);
        }
    }
}
