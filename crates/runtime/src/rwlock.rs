//! A reader-writer lock is an object whose state is the number of its readers, or [`WRITTEN`].
//! Acquiring and releasing it are writes, for readers too, and a failed attempt is a read.
//! Readers are ordered with writers, but not with each other.
//!
//! A waiting writer may block readers that come after it. Mostly it makes no difference, since the
//! writer could have come a little later. But it does for a reader that waits while it holds the lock, since it
//! may wait for a blocked reader (itself, if it reads again), and for a reader that does not wait
//! (`try_read`). If a program has either, the check restarts with
//! [`Setup::are_writers_announced`](super::Setup::are_writers_announced): another object of the lock
//! then counts the waiting writers. Readers may wait until there are none, and an attempt to read may
//! fail while there are some. They need not: when the lock becomes free, a writer is woken, and a
//! reader may still come first.

use fencepost_explore::{Condition, Effect, Intent, OptimisticLoad};
use fencepost_memory::Address;

use super::location::LocationRef;
use super::names::{FREE, READER_LEFT, WRITTEN};
use super::operation::Current;
use super::step::Step;
use super::threads::Outcomes;

/// The joined clocks of readers that have released a lock, for writers.
pub trait ReadUntil: Copy {
    /// Lends the clock.
    fn with(self, f: impl FnOnce(&mut Vec<u32>));
}

/// The objects of a lock.
#[derive(Clone, Copy)]
pub struct RwLockObjects<U> {
    /// The lock.
    pub object: Address,
    /// Its state is the number of waiting writers, if writers are announced.
    pub waiting: Option<Address>,
    /// Until when it was read.
    pub read_until: U,
}

/// How the lock is acquired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    /// By an operation that waits.
    Waiting,
    /// By an attempt. It first reads the lock with a plain load, and fails if that shows that it
    /// is not free.
    Trying,
}

impl<U: ReadUntil> RwLockObjects<U> {
    /// Acquires the lock for reading, and waits until it can. `take` takes what it protects, if that can be read. None if
    /// the execution is over.
    pub fn read<R>(
        self,
        current: Current,
        location: LocationRef,
        take: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        self.await_writers(current, location);
        let awaits = Some(Condition::Differs(WRITTEN));
        let intent = self.intent(Effect::Write, awaits);
        current.lock_operation(intent, Outcomes::One, location, |step| {
            self.take_read(step, Taking::Waiting, take())
        })
    }

    /// Acquires the lock for reading if no writer holds it. It may fail if a writer waits for it.
    pub fn try_read<R>(
        self,
        current: Current,
        location: LocationRef,
        take: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        if self.is_held_up(current, location) {
            return None;
        }
        let mut met_readers = false;
        let intent = self.intent(Effect::WriteIf(Condition::Differs(WRITTEN)), None);
        let inner = current.lock_operation(intent, Outcomes::One, location, |step| {
            let state = step.state(self.object);
            met_readers = step.is_recorded() && state != FREE && state != WRITTEN;
            self.take_read(step, Taking::Trying, take())
        });
        if met_readers {
            // It could have failed because of a waiting writer.
            current.note_blocked_reader(self.object);
        }
        inner
    }

    /// Acquires the lock for writing, and waits until it is free. None if the execution is over.
    pub fn write<R>(
        self,
        current: Current,
        location: LocationRef,
        take: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        current.note_writer(self.object);
        if let Some(waiting) = self.waiting {
            count_writers(current, waiting, location, |writers| writers + 1);
        }
        let intent = self.intent(Effect::Write, Some(Condition::Equals(FREE)));
        let inner = current.lock_operation(intent, Outcomes::One, location, |step| {
            self.take_write(step, Taking::Waiting, take())
        });
        if let Some(waiting) = self.waiting {
            // Until then it blocks only those that the lock blocks.
            count_writers(current, waiting, location, |writers| {
                writers.saturating_sub(1)
            });
        }
        inner
    }

    /// Acquires the lock for writing if it is free.
    pub fn try_write<R>(
        self,
        current: Current,
        location: LocationRef,
        take: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        let intent = self.intent(Effect::WriteIf(Condition::Equals(FREE)), None);
        current.lock_operation(intent, Outcomes::One, location, |step| {
            self.take_write(step, Taking::Trying, take())
        })
    }

    /// Releases the lock, or downgrades it, in a step that calls `release` and sets the state to
    /// `after` of the state before.
    pub fn release<R>(
        self,
        current: Current,
        location: LocationRef,
        release: impl FnOnce() -> R,
        after: impl FnOnce(u64) -> u64,
    ) -> R {
        let object = self.object;
        let intent = self.intent(Effect::Write, None);
        current.operation(intent, Outcomes::One, location, |step| {
            let result = release();
            let before = step.state(object);
            let state = after(before);
            step.write_lock(object, state);
            if before == WRITTEN {
                step.release(object);
            } else {
                self.release_to_writers(step);
                step.end_reading(object);
            }
            if state != FREE && before == WRITTEN {
                step.begin_reading(object);
            }
            let value = match state {
                FREE => FREE,
                // A downgrade does not release the lock.
                readers if before == WRITTEN => readers,
                readers => readers | READER_LEFT,
            };
            step.emit(step.target().unlock(object), value);
            result
        })
    }

    fn intent(self, effect: Effect, awaits: Option<Condition>) -> Intent {
        Intent::Access {
            object: self.object,
            effect,
            awaits,
        }
    }

    fn take_read<R>(self, step: &mut Step<'_>, taking: Taking, taken: Option<R>) -> Option<R> {
        let object = self.object;
        let readers = step.state(object).wrapping_add(1);
        let fails = Condition::Equals(WRITTEN);
        self.record_attempt(step, taking, fails, taken.is_some().then_some(readers));
        if taken.is_some() {
            step.begin_reading(object);
        }
        taken
    }

    fn take_write<R>(self, step: &mut Step<'_>, taking: Taking, taken: Option<R>) -> Option<R> {
        let fails = Condition::Differs(FREE);
        self.record_attempt(step, taking, fails, taken.is_some().then_some(WRITTEN));
        taken
    }

    /// Acquires the lock, which gives it a new state. An attempt fails in states for which `fails`
    /// holds.
    fn record_attempt(
        self,
        step: &mut Step<'_>,
        taking: Taking,
        fails: Condition,
        state: Option<u64>,
    ) {
        let object = self.object;
        if taking == Taking::Trying {
            // An attempt that reads too early that the lock is free continues with an exchange,
            // which may fail.
            let optimistic_load = match state {
                Some(_) => OptimisticLoad::FailsOnStale(fails),
                None => OptimisticLoad::Retries,
            };
            let before = step.state(object);
            step.emit_optimistic_load(object, before, optimistic_load);
        }
        match state {
            Some(state) => {
                step.write_lock(object, state);
                step.acquire(object);
                if state == WRITTEN {
                    self.acquire_from_readers(step);
                }
                step.emit(step.target().lock(object), state);
            }
            None => {
                step.read(object);
            }
        }
    }

    /// Waits for the waiting writers, if they are announced and hold the reader up.
    fn await_writers(self, current: Current, location: LocationRef) {
        let Some(waiting) = self.waiting_that_blocks(current, location) else {
            return;
        };
        let intent = intent_on_waiting(waiting, Some(Condition::Equals(0)));
        current.plain_operation(intent, Outcomes::One, location, |step| {
            step.read(waiting);
        });
    }

    /// The object that counts the waiting writers, if there are some and they hold the reader up,
    /// which the explorer chooses.
    fn waiting_that_blocks(self, current: Current, location: LocationRef) -> Option<Address> {
        let waiting = self.waiting.filter(|_| !current.is_tearing_down())?;
        let either = |writers| 1 + u32::from(writers > 0);
        let intent = intent_on_waiting(waiting, None);
        let outcomes = Outcomes::Of(waiting, either);
        let is_held_up = current.plain_operation(intent, outcomes, location, |step| {
            step.read(waiting);
            step.is_recorded() && step.outcome() == 1
        });
        is_held_up.then_some(waiting)
    }

    /// Whether an attempt to read fails because a writer waits.
    fn is_held_up(self, current: Current, location: LocationRef) -> bool {
        if self.waiting_that_blocks(current, location).is_none() {
            return false;
        }
        // A writer waits only for threads that hold the lock.
        let object = self.object;
        let intent = self.intent(Effect::Read, None);
        current.lock_operation(intent, Outcomes::One, location, |step| {
            let state = step.read(object);
            step.emit_optimistic_load(object, state, OptimisticLoad::Retries);
            state != FREE
        })
    }

    /// What readers have done happens before what the writer does.
    fn acquire_from_readers(self, step: &mut Step<'_>) {
        let thread = step.thread();
        if let Some(races) = step.races() {
            self.read_until
                .with(|read_until| races.learn(thread, read_until));
        }
    }

    /// What the reader has done happens before what writers do, but not before what other readers
    /// do.
    fn release_to_writers(self, step: &mut Step<'_>) {
        let thread = step.thread();
        if let Some(races) = step.races() {
            self.read_until
                .with(|read_until| races.publish_more(thread, read_until));
        }
    }
}

fn intent_on_waiting(waiting: Address, awaits: Option<Condition>) -> Intent {
    Intent::Access {
        object: waiting,
        effect: Effect::Read,
        awaits,
    }
}

/// Changes the number of the waiting writers.
fn count_writers(
    current: Current,
    waiting: Address,
    location: LocationRef,
    change: fn(u64) -> u64,
) {
    let intent = Intent::Access {
        object: waiting,
        effect: Effect::Write,
        awaits: None,
    };
    current.plain_operation(intent, Outcomes::One, location, |step| {
        let writers = change(step.state(waiting));
        step.write_in_wait(waiting, writers);
    });
}
