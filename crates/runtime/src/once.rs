//! One-time initialization: an object whose state says how far it is ([`NEW`], [`RUNNING`] or
//! [`DONE`]). The thread that finds it new makes it running; a thread that finds it running waits; a
//! thread that finds it done only reads it, with a plain load. What was done happens before whatever
//! others do after they see it done.

use std::panic::Location;

use fencepost_explore::{Condition, Effect, Intent};

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

/// What [`OnceFlag::begin`] came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// The caller initialises, and says so with [`OnceFlag::complete`].
    Claimed,
    /// Another thread has initialized it.
    AlreadyDone,
}

impl OnceFlag {
    /// A new flag, which is an object of type `kind`.
    pub fn new(kind: &'static str, state: u64, location: &'static Location<'static>) -> Self {
        OnceFlag {
            object: Object::new(kind, state, location),
        }
    }

    /// For the initialization of a static.
    pub fn of_static(location: &'static Location<'static>) -> Self {
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

    /// Begins, or waits until it is done.
    pub fn begin(&self, current: Current, location: &'static Location<'static>) -> Begin {
        if self.is_done_without_waiting(current, location) {
            return Begin::AlreadyDone;
        }
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

    /// Who has begun is done. `put` leaves the result where others find it.
    pub fn complete<R>(
        &self,
        current: Current,
        location: &'static Location<'static>,
        put: impl FnOnce() -> R,
    ) -> R {
        let intent = self.intent(Effect::Write, None);
        current.operation(intent, Outcomes::One, location, |step| {
            self.finish(step);
            put()
        })
    }

    /// Does what needs no time, if it is new; or waits until it is done.
    pub fn do_at_once<R>(
        &self,
        current: Current,
        location: &'static Location<'static>,
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

    /// Whether it is done, which is a plain load. Where stores are buffered that matters: what follows if it is not
    /// waits for them.
    fn is_done_without_waiting(
        &self,
        current: Current,
        location: &'static Location<'static>,
    ) -> bool {
        current.buffers_stores() && self.is_done(current, location)
    }

    /// Whether it is done.
    pub fn is_done(&self, current: Current, location: &'static Location<'static>) -> bool {
        let intent = self.intent(Effect::Read, None);
        let state =
            current.plain_operation(intent, Outcomes::One, location, |step| self.load(step));
        state == DONE
    }

    /// Waits until it is done.
    pub fn wait(&self, current: Current, location: &'static Location<'static>) {
        let intent = self.intent(Effect::Read, Some(Condition::Equals(DONE)));
        let state =
            current.plain_operation(intent, Outcomes::One, location, |step| self.load(step));
        if state != DONE {
            current.cannot_wait();
        }
    }

    /// Who has it alone has changed how far it is.
    pub fn set(&self, state: u64) {
        if self.object.is_of_current() {
            if let Some(current) = Current::get() {
                current.set_state(self.object.address(), state);
            }
        }
    }
}
