//! A barrier consists of the steps of [`fencepost_runtime::barrier`].

use std::fmt;

use fencepost_runtime::barrier::BarrierObjects;
use fencepost_runtime::names::{BARRIER_OPENING, OPENING_OF};
use fencepost_runtime::{LocationRef, Object};

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
        let objects = BarrierObjects {
            arrived: self.arrived.address(),
            opened: self.opened.address(),
        };
        BarrierWaitResult(objects.wait(current, self.threads, location))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
