//! A mutex is an object whose state is [`HELD`] while it is locked. Locking is a write that awaits [`FREE`], unlocking is a
//! write, and a failed attempt is a read.

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::Address;

use super::location::LocationRef;
use super::operation::Current;
use super::threads::Outcomes;

/// The state of a mutex that is free.
pub const FREE: u64 = 0;
/// The state of a mutex that is locked.
pub const HELD: u64 = 1;

impl Current {
    /// Locks a mutex, and waits until it can. None if it cannot, since the execution is over.
    ///
    /// `take` takes what the mutex protects, if that is free.
    #[inline]
    pub fn lock_mutex<R>(
        self,
        mutex: Address,
        location: LocationRef,
        take: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        let awaits = Some(Condition::Equals(FREE));
        self.take_mutex(mutex, (Effect::Write, awaits), location, take)
    }

    /// Locks a mutex if it is free.
    #[inline]
    pub fn try_lock_mutex<R>(
        self,
        mutex: Address,
        location: LocationRef,
        take: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        let effect = Effect::WriteIf(Condition::Equals(FREE));
        self.take_mutex(mutex, (effect, None), location, take)
    }

    #[inline]
    fn take_mutex<R>(
        self,
        object: Address,
        (effect, awaits): (Effect, Option<Condition>),
        location: LocationRef,
        take: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        let intent = Intent::Access {
            object,
            effect,
            awaits,
        };
        self.lock_operation(intent, Outcomes::One, location, |step| {
            let taken = take();
            if taken.is_some() {
                step.write_lock(object, HELD);
                step.acquire(object);
                step.emit(step.target().lock(object), HELD);
            } else {
                step.read(object);
                step.emit(step.target().failed_lock(object), HELD);
            }
            taken
        })
    }

    /// Unlocks a mutex. `give` gives back what it protects.
    #[inline]
    pub fn unlock_mutex(self, object: Address, location: LocationRef, give: impl FnOnce()) {
        let intent = Intent::Access {
            object,
            effect: Effect::Write,
            awaits: None,
        };
        self.operation(intent, Outcomes::One, location, |step| {
            give();
            step.write_lock(object, FREE);
            step.release(object);
            step.emit(step.target().unlock(object), FREE);
        });
    }
}
