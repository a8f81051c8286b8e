//! A barrier is two objects: how many threads have arrived, and how often the barrier has opened. An
//! arrival writes the first, and the last one writes the second too. The others wait until that has
//! changed.
//!
//! Two, because a thread that leaves must not depend on those that arrive for the next round.

use std::fmt;
use std::panic::Location;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::Operation;

use fencepost_runtime::names::{BARRIER_OPENING, OPENING_OF};
use fencepost_runtime::{Current, Events, Object, Outcomes};

/// Threads wait here for each other, as at a [`std::sync::Barrier`].
pub struct Barrier {
    arrived: Object,
    opened: Object,
    /// How many threads it waits for; at least 1.
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
    /// A barrier for `n` threads.
    #[must_use]
    #[track_caller]
    pub fn new(n: usize) -> Self {
        let location = Location::caller();
        Barrier {
            arrived: Object::new("Barrier", 0, location),
            opened: Object::new(BARRIER_OPENING, 0, location),
            threads: n.max(1) as u64,
            inner: std::sync::Barrier::new(n),
        }
    }

    /// Gives the barrier a name for reports.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.arrived.set_name(name);
        self.opened.set_name(&format!("{OPENING_OF} {name}"));
        self
    }

    /// Waits until as many threads as the barrier is for have come here.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let location = Location::caller();
        let Some(current) = self.arrived.current(location) else {
            return BarrierWaitResult(self.inner.wait().is_leader());
        };
        let round = self.arrive(current, location);
        if let Some(round) = round {
            self.leave(current, round, location);
        }
        BarrierWaitResult(round.is_none())
    }

    /// Arrives: the round to wait for the end of, or none for the last to arrive.
    fn arrive(&self, current: Current, location: &'static Location<'static>) -> Option<u64> {
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

    fn leave(&self, current: Current, round: u64, location: &'static Location<'static>) {
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
