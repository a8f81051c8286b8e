//! One-time initialization: an object whose state is [`NEW`], [`RUNNING`] or [`DONE`]. The thread
//! that finds it new sets it to running; a thread that finds it running waits; a thread that finds
//! it done only reads it, with a plain load. The initialization happens before whatever other
//! threads do after they see it done.

use fencepost_explore::{Condition, Effect, Intent};

use super::location::LocationRef;
use super::{Current, Object, Outcomes, Step};

/// No thread has begun the initialization.
pub const NEW: u64 = 0;
/// A thread is initializing.
pub const RUNNING: u64 = 1;
/// The initialization is complete.
pub const DONE: u64 = 2;

/// The state of a one-time initialization, in steps that the explorer sees.
#[derive(Clone, Copy)]
pub struct OnceFlag {
    object: Object,
}

/// The result of [`OnceFlag::begin`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// The caller initializes, and then calls [`OnceFlag::complete`].
    Claimed,
    /// Another thread has completed the initialization.
    AlreadyDone,
}

impl OnceFlag {
    /// Creates a flag: an object of type `kind`.
    pub fn new(kind: &'static str, state: u64, location: LocationRef) -> Self {
        OnceFlag {
            object: Object::new(kind, state, location),
        }
    }

    /// The flag of an object.
    pub fn of(object: Object) -> Self {
        OnceFlag { object }
    }

    /// Creates the flag of a static.
    pub fn of_static(location: LocationRef) -> Self {
        OnceFlag::new("static", NEW, location)
    }

    /// The object.
    pub fn object(&self) -> &Object {
        &self.object
    }

    fn intent(&self, effect: Effect, awaits: Option<Condition>) -> Intent {
        Intent::Access {
            object: self.object.address(),
            effect,
            awaits,
        }
    }

    /// A plain load.
    fn load(&self, step: &mut Step<'_>) -> u64 {
        let object = self.object.address();
        let state = step.read(object);
        step.emit(step.target().load(object), state);
        step.acquire(object);
        state
    }

    /// Claims the initialization, or waits until another thread has completed it.
    pub fn begin(&self, current: Current, location: LocationRef) -> Begin {
        if self.is_done_without_waiting(current, location) {
            return Begin::AlreadyDone;
        }
        self.begin_unless_done(current, location)
    }

    /// As [`begin`](Self::begin), for a caller that has already looked whether it is complete.
    pub fn begin_unless_done(&self, current: Current, location: LocationRef) -> Begin {
        let object = self.object.address();
        let effect = Effect::WriteIf(Condition::Equals(NEW));
        let intent = self.intent(effect, Some(Condition::Differs(RUNNING)));
        let turn = current.operation(intent, Outcomes::One, location, |step| {
            match step.state(object) {
                NEW => {
                    step.write(object, RUNNING);
                    step.acquire(object);
                    step.emit(step.target().lock(object), RUNNING);
                    Some(Begin::Claimed)
                }
                RUNNING => None,
                _ => {
                    self.load(step);
                    Some(Begin::AlreadyDone)
                }
            }
        });
        turn.unwrap_or_else(|| current.cannot_wait())
    }

    /// Completes the initialization. `put` publishes the result.
    pub fn complete<R>(
        &self,
        current: Current,
        location: LocationRef,
        put: impl FnOnce() -> R,
    ) -> R {
        let intent = self.intent(Effect::Write, None);
        current.operation(intent, Outcomes::One, location, |step| {
            self.finish(step);
            put()
        })
    }

    /// Initializes in one step if no thread has begun; otherwise waits until another thread has
    /// completed it.
    pub fn do_at_once<R>(
        &self,
        current: Current,
        location: LocationRef,
        put: impl FnOnce() -> R,
    ) -> Option<R> {
        if self.is_done_without_waiting(current, location) {
            return None;
        }
        let object = self.object.address();
        let effect = Effect::WriteIf(Condition::Equals(NEW));
        let intent = self.intent(effect, Some(Condition::Differs(RUNNING)));
        let done = current.operation(intent, Outcomes::One, location, |step| {
            match step.state(object) {
                NEW => {
                    step.acquire(object);
                    self.finish(step);
                    Some(Some(put()))
                }
                RUNNING => None,
                _ => {
                    self.load(step);
                    Some(None)
                }
            }
        });
        done.unwrap_or_else(|| current.cannot_wait())
    }

    fn finish(&self, step: &mut Step<'_>) {
        let object = self.object.address();
        step.write(object, DONE);
        step.release(object);
        step.emit(step.target().unlock(object), DONE);
    }

    /// With store buffers, whether the initialization is complete, by a plain load: the operation
    /// that follows if it is not waits for the buffer.
    fn is_done_without_waiting(&self, current: Current, location: LocationRef) -> bool {
        current.buffers_stores() && self.is_done(current, location)
    }

    /// Whether the initialization is complete.
    pub fn is_done(&self, current: Current, location: LocationRef) -> bool {
        let intent = self.intent(Effect::Read, None);
        let state =
            current.plain_operation(intent, Outcomes::One, location, |step| self.load(step));
        state == DONE
    }

    /// Waits until the initialization is complete.
    pub fn wait(&self, current: Current, location: LocationRef) {
        let intent = self.intent(Effect::Read, Some(Condition::Equals(DONE)));
        let state =
            current.plain_operation(intent, Outcomes::One, location, |step| self.load(step));
        if state != DONE {
            current.cannot_wait();
        }
    }

    /// Gives the initialization up: another thread may begin it.
    pub fn give_up(&self, current: Current, location: LocationRef) {
        let object = self.object.address();
        let intent = self.intent(Effect::Write, None);
        current.operation(intent, Outcomes::One, location, |step| {
            step.write(object, NEW);
            step.release(object);
            step.emit(step.target().unlock(object), NEW);
        });
    }

    /// Sets the state, for a caller that has an exclusive reference.
    pub fn set(&self, state: u64) {
        if self.object.is_of_current() {
            if let Some(current) = Current::get() {
                current.set_state(self.object.address(), state);
            }
        }
    }
}
