//! A barrier is two objects: the number of threads that have arrived, and how often the barrier has
//! opened. An arrival writes the first, and the last arrival writes the second too. The other
//! threads wait until that has changed.
//!
//! There are two because a thread that leaves must not depend on threads that arrive for the next
//! round.

use std::fmt;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::Operation;

use fencepost_runtime::LocationRef;
use fencepost_runtime::names::{BARRIER_OPENING, OPENING_OF};
use fencepost_runtime::{Current, Events, Object, Outcomes};

/// A barrier lets several threads wait for each other, as [`std::sync::Barrier`].
pub struct Barrier {
    arrived: Object,
    opened: Object,
    /// The number of threads that it waits for; at least 1.
    threads: u64,
    inner: std::sync::Barrier,
}

/// Whether the thread is the leader of its round, as [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether the thread is the leader of its round. Exactly one thread is.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult")
            .field("is_leader", &self.0)
            .finish()
    }
}

impl Barrier {
    /// Creates a barrier for `n` threads.
    #[must_use]
    #[track_caller]
    pub fn new(n: usize) -> Self {
        let location = LocationRef::caller();
        Barrier {
            arrived: Object::new("Barrier", 0, location),
            opened: Object::new(BARRIER_OPENING, 0, location),
            threads: n.max(1) as u64,
            inner: std::sync::Barrier::new(n),
        }
    }

    /// Names the barrier in reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.arrived.set_name(name);
        self.opened.set_name(&format!("{OPENING_OF} {name}"));
        self
    }

    /// Waits until all threads have arrived here.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let location = LocationRef::caller();
        let Some(current) = self.arrived.current(location) else {
            return BarrierWaitResult(self.inner.wait().is_leader());
        };
        let round = self.arrive(current, location);
        if let Some(round) = round {
            self.leave(current, round, location);
        }
        BarrierWaitResult(round.is_none())
    }

    /// Arrives at the barrier. Returns the round to wait for; none for the last thread.
    fn arrive(&self, current: Current, location: LocationRef) -> Option<u64> {
        let (arrived, opened) = (self.arrived.address(), self.opened.address());
        let intent = Intent::Access {
            object: arrived,
            effect: Effect::WriteMultiple,
            awaits: None,
        };
        current.operation(intent, Outcomes::One, location, |step| {
            let round = step.state(opened);
            let count = step.state(arrived) + 1;
            let is_last = count == self.threads;
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

    fn leave(&self, current: Current, round: u64, location: LocationRef) {
        let opened = self.opened.address();
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

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
