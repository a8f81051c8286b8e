//! A barrier is two objects: the number of threads that have arrived, and how often the barrier has
//! opened. An arrival writes the first, and the last arrival writes the second too. The other
//! threads wait until that has changed.
//!
//! There are two because a thread that leaves must not depend on threads that arrive for the next
//! round.

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::{Address, Operation};

use super::location::LocationRef;
use super::mapping::Events;
use super::operation::Current;
use super::threads::Outcomes;

/// The objects of a barrier.
#[derive(Clone, Copy, Debug)]
pub struct BarrierObjects {
    /// The number of threads that have arrived.
    pub arrived: Address,
    /// How often it has opened.
    pub opened: Address,
}

impl BarrierObjects {
    /// Waits until so many threads have arrived. Returns whether this was the last one.
    pub fn wait(self, current: Current, threads: u64, location: LocationRef) -> bool {
        let round = self.arrive(current, threads, location);
        if let Some(round) = round {
            self.leave(current, round, location);
        }
        round.is_none()
    }

    /// Arrives at the barrier. Returns the round to wait for; none for the last thread.
    fn arrive(self, current: Current, threads: u64, location: LocationRef) -> Option<u64> {
        let BarrierObjects { arrived, opened } = self;
        let intent = Intent::Access {
            object: arrived,
            effect: Effect::WriteMultiple,
            awaits: None,
        };
        current.operation(intent, Outcomes::One, location, |step| {
            let round = step.state(opened);
            let count = step.state(arrived) + 1;
            let is_last = count == threads;
            let after = if is_last { 0 } else { count };
            step.write(arrived, after);
            step.release(arrived);
            let events = step.target().draining(Operation::Interlocked(arrived));
            step.emit(events, after);
            if !is_last {
                return Some(round);
            }
            step.write(opened, round + 1);
            step.acquire(arrived);
            step.release(opened);
            step.emit(Events::only(Operation::Interlocked(opened)), round + 1);
            None
        })
    }

    fn leave(self, current: Current, round: u64, location: LocationRef) {
        let opened = self.opened;
        let intent = Intent::Access {
            object: opened,
            effect: Effect::Read,
            awaits: Some(Condition::Differs(round)),
        };
        let now = current.operation(intent, Outcomes::One, location, |step| {
            let now = step.read(opened);
            step.acquire(opened);
            let events = step.target().draining(Operation::LockedLoad(opened));
            step.emit(events, now);
            now
        });
        if now == round {
            current.cannot_wait();
        }
    }
}
