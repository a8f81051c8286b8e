//! Something that is done once is an object whose state says how far it is: [`NEW`], [`RUNNING`] or
//! [`DONE`]. Who finds it new makes it running; who finds it running waits; who finds it done only
//! reads, with a plain load. What was done happens before what others do after seeing it done.

use std::fmt;
use std::panic::Location;

use fencepost_explore::{Condition, Effect, Intent};

use crate::rt::{Current, Object, Outcomes, Step};

/// Nobody has begun.
pub(super) const NEW: u64 = 0;
/// Somebody has begun, and is not done.
pub(super) const RUNNING: u64 = 1;
/// It is done.
pub(super) const DONE: u64 = 2;

/// The steps of doing something once.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    object: Object,
}

/// Whether the caller is the one who does it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    Mine,
    Done,
}

impl Progress {
    pub(super) fn new(
        kind: &'static str,
        state: u64,
        location: &'static Location<'static>,
    ) -> Self {
        Progress {
            object: Object::new(kind, state, location),
        }
    }

    /// For the initialisation of a static.
    pub(crate) fn of_static(location: &'static Location<'static>) -> Self {
        Progress::new("static", NEW, location)
    }

    pub(crate) fn object(&self) -> &Object {
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
    pub(crate) fn begin(&self, current: Current, location: &'static Location<'static>) -> Turn {
        if self.is_done_without_waiting(current, location) {
            return Turn::Done;
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
                    Some(Turn::Mine)
                }
                RUNNING => None,
                _ => {
                    self.load(step);
                    Some(Turn::Done)
                }
            }
        });
        turn.unwrap_or_else(|| current.cannot_wait())
    }

    /// Who has begun is done. `put` leaves the result where others find it.
    pub(crate) fn complete<R>(
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
    pub(super) fn do_at_once<R>(
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
    pub(super) fn is_done(&self, current: Current, location: &'static Location<'static>) -> bool {
        let intent = self.intent(Effect::Read, None);
        let state =
            current.plain_operation(intent, Outcomes::One, location, |step| self.load(step));
        state == DONE
    }

    /// Waits until it is done.
    pub(super) fn wait(&self, current: Current, location: &'static Location<'static>) {
        let intent = self.intent(Effect::Read, Some(Condition::Equals(DONE)));
        let state =
            current.plain_operation(intent, Outcomes::One, location, |step| self.load(step));
        if state != DONE {
            current.cannot_wait();
        }
    }

    /// Who has it alone has changed how far it is.
    pub(super) fn set(&self, state: u64) {
        if self.object.is_of_current()
            && let Some(current) = Current::get()
        {
            current.set_state(self.object.address(), state);
        }
    }
}

/// Runs a function once, as [`std::sync::Once`].
///
/// ```
/// use fencepost::sync::Once;
///
/// let once = Once::new();
/// let mut count = 0;
/// once.call_once(|| count += 1);
/// once.call_once(|| count += 1);
/// assert_eq!(count, 1);
/// ```
pub struct Once {
    progress: Progress,
    inner: std::sync::Once,
}

/// What a function that is run once learns, as [`std::sync::OnceState`].
#[derive(Debug)]
pub struct OnceState {
    is_poisoned: bool,
}

impl OnceState {
    /// Whether an earlier call has panicked. Never in a check.
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned
    }
}

impl Once {
    /// Nothing has been run yet.
    #[must_use]
    #[track_caller]
    #[allow(clippy::new_without_default)] // As in `std`.
    pub fn new() -> Self {
        Once {
            progress: Progress::new("Once", NEW, Location::caller()),
            inner: std::sync::Once::new(),
        }
    }

    /// Gives it a name for reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.progress.object().set_name(name);
        self
    }

    /// Runs the function, unless one was run before. Returns when one was.
    ///
    /// # Panics
    /// If an earlier call has panicked, outside of a check.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        let location = Location::caller();
        match self.progress.object().current(location) {
            None => self.inner.call_once(f),
            Some(current) => self.call(current, location, |_| f()),
        }
    }

    /// Like [`call_once`](Self::call_once), even if an earlier call has panicked.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let location = Location::caller();
        match self.progress.object().current(location) {
            None => self.inner.call_once_force(|state| {
                f(&OnceState {
                    is_poisoned: state.is_poisoned(),
                });
            }),
            Some(current) => self.call(current, location, f),
        }
    }

    fn call(
        &self,
        current: Current,
        location: &'static Location<'static>,
        f: impl FnOnce(&OnceState),
    ) {
        if self.progress.begin(current, location) == Turn::Mine {
            f(&OnceState { is_poisoned: false });
            self.progress.complete(current, location, || ());
        }
    }

    /// Whether a function was run.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let location = Location::caller();
        match self.progress.object().current(location) {
            None => self.inner.is_completed(),
            Some(current) => self.progress.is_done(current, location),
        }
    }

    /// Waits until a function was run.
    ///
    /// # Panics
    /// If an earlier call has panicked, outside of a check.
    #[track_caller]
    pub fn wait(&self) {
        let location = Location::caller();
        match self.progress.object().current(location) {
            None => self.inner.wait(),
            Some(current) => self.progress.wait(current, location),
        }
    }

    /// Like [`wait`](Self::wait), even if an earlier call has panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        let location = Location::caller();
        match self.progress.object().current(location) {
            None => self.inner.wait_force(),
            Some(current) => self.progress.wait(current, location),
        }
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
