//! Runs a monitor along an interleaving: places each access, keeps the happens-before
//! clock, and remembers the recent accesses that a witness is built from.

use fencepost_memory::{Access, Address, CoherenceIndex, Event, IssueIndex, ThreadId};
use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::explain::{ExplainError, Finding, explain};
use crate::happens_before::HappensBefore;
use crate::monitor::Monitor;
use crate::violation::{Placed, Violation};

/// How much a watcher may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchLimits {
    /// How many of the latest accesses are remembered for witnesses.
    pub witness_window: usize,
    /// The most bytes for clocks and history, the witness window included.
    pub memory: usize,
}

impl Default for WatchLimits {
    /// A million accesses for witnesses (32 MiB), and 4 GiB of memory.
    fn default() -> Self {
        WatchLimits {
            witness_window: 1 << 20,
            memory: 4 << 30,
        }
    }
}

/// The memory limit would be exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "watching {threads} threads and {addresses} addresses needs {needed} bytes, more than the \
     limit of {limit} bytes"
)]
pub struct OutOfMemoryLimit {
    /// The threads so far.
    pub threads: usize,
    /// The addresses so far.
    pub addresses: usize,
    /// The bytes needed.
    pub needed: usize,
    /// The bytes allowed.
    pub limit: usize,
}

/// The latest accesses of an interleaving.
#[derive(Clone, Debug)]
struct Recent {
    accesses: Vec<Access>,
    capacity: usize,
    next: usize,
}

impl Recent {
    #[inline]
    fn push(&mut self, access: Access) {
        if self.accesses.len() < self.capacity {
            self.accesses.push(access);
        } else if self.capacity > 0 {
            self.accesses[self.next] = access;
            self.next += 1;
            if self.next == self.capacity {
                self.next = 0;
            }
        }
    }

    /// The last `count` accesses, oldest first, if so many are remembered.
    fn last(&self, count: u64) -> Option<impl Iterator<Item = Access> + '_> {
        let count = usize::try_from(count).ok()?;
        let skipped = self.accesses.len().checked_sub(count)?;
        let (newer, older) = self.accesses.split_at(self.next);
        Some(older.iter().chain(newer).skip(skipped).copied())
    }
}

/// A monitor, its happens-before clock and the recent past.
#[derive(Clone, Debug)]
pub struct Watcher<M> {
    before: HappensBefore,
    monitor: M,
    recent: Recent,
    limits: WatchLimits,
    checks_until_next_memory_check: u32,
}

/// What grows without new threads and addresses is checked this often.
const EVENTS_PER_MEMORY_CHECK: u32 = 1 << 14;

impl<M: Monitor> Watcher<M> {
    /// Watches with the default limits.
    pub fn new(monitor: M) -> Self {
        Self::with_limits(monitor, WatchLimits::default())
    }

    /// Watches with these limits.
    pub fn with_limits(monitor: M, limits: WatchLimits) -> Self {
        Watcher {
            before: HappensBefore::default(),
            monitor,
            recent: Recent {
                accesses: Vec::new(),
                capacity: limits.witness_window,
                next: 0,
            },
            limits,
            checks_until_next_memory_check: EVENTS_PER_MEMORY_CHECK,
        }
    }

    /// The next access of the interleaving. It is the caller's business that the accesses
    /// form a sequentially consistent interleaving in this order.
    #[inline]
    pub fn observe(&mut self, access: Access) -> Result<Option<Violation>, OutOfMemoryLimit> {
        let threads = access.thread.index() + 1;
        let addresses = access.operation.address().map_or(0, |a| a.index() + 1);
        if threads > self.before.thread_count() || addresses > self.before.address_count() {
            self.check_growth(threads, addresses)?;
            self.before.admit(&access);
        }
        self.checks_until_next_memory_check -= 1;
        if self.checks_until_next_memory_check == 0 {
            self.checks_until_next_memory_check = EVENTS_PER_MEMORY_CHECK;
            self.check_memory(self.memory())?;
        }
        let next = self.before.place(access);
        if let Some(overtaken) = self.monitor.observe(&next, &self.before) {
            return Ok(Some(self.add_violation(overtaken, next)));
        }
        self.add(next);
        Ok(None)
    }

    #[inline]
    fn add(&mut self, next: Placed) {
        self.before.add(next);
        self.recent.push(next.event.access);
    }

    #[cold]
    #[inline(never)]
    fn add_violation(&mut self, pending: Placed, event: Placed) -> Violation {
        let last = self.before.last_of(event.thread());
        let last = *last.expect("the thread knows of a write, so it has had an event");
        self.add(event);
        Violation {
            model: self.monitor.model(),
            pending,
            last,
            event,
        }
    }

    /// The cycle and the checked witness of the violation that the last call of
    /// [`observe`](Self::observe) reported.
    pub fn explain(&self, violation: &Violation) -> Result<Finding, ExplainError> {
        let length = violation.event.position - violation.pending.position + 1;
        assert_eq!(
            violation.event.position + 1,
            self.before.position(),
            "only the violation of the last event can be explained"
        );
        let Some(accesses) = self.recent.last(length) else {
            return Err(ExplainError::OutsideWindow {
                length,
                window: self.recent.capacity,
            });
        };
        explain(violation, &self.place_recent(accesses.collect()))
    }

    /// Gives the last accesses their indices again, counting back from the end.
    fn place_recent(&self, accesses: Vec<Access>) -> Vec<Placed> {
        let mut later_events: FxHashMap<ThreadId, u64> = FxHashMap::default();
        let mut later_writes: FxHashMap<Address, u64> = FxHashMap::default();
        let mut placed = Vec::with_capacity(accesses.len());
        for (back, access) in accesses.into_iter().rev().enumerate() {
            let issued = self.before.last_of(access.thread);
            let later = later_events.entry(access.thread).or_default();
            let issue = issued.map_or(0, |last| last.event.issue.0) - *later;
            *later += 1;
            let coherence = access.operation.address().map_or(0, |address| {
                let written = self.before.last_write(address);
                let later = later_writes.entry(address).or_default();
                let coherence = written.map_or(0, |write| write.event.coherence.0) - *later;
                *later += u64::from(access.operation.writes());
                coherence
            });
            placed.push(Placed {
                event: Event {
                    access,
                    issue: IssueIndex(issue),
                    coherence: CoherenceIndex(coherence),
                },
                position: self.before.position() - 1 - back as u64,
            });
        }
        placed.reverse();
        placed
    }

    /// The number of events observed.
    pub fn events(&self) -> u64 {
        self.before.position()
    }

    /// The happens-before clock.
    pub fn happens_before(&self) -> &HappensBefore {
        &self.before
    }

    /// The monitor.
    pub fn monitor(&self) -> &M {
        &self.monitor
    }

    /// The bytes held.
    pub fn memory(&self) -> usize {
        self.before.memory() + self.monitor.memory() + self.window_memory()
    }

    /// Forgets the interleaving, keeping the memory for the next one.
    pub fn reset(&mut self) {
        self.before.reset();
        self.monitor.reset();
        self.recent.accesses.clear();
        self.recent.next = 0;
    }

    fn window_memory(&self) -> usize {
        self.recent.accesses.capacity() * size_of::<Access>()
    }

    #[cold]
    fn check_growth(&self, threads: usize, addresses: usize) -> Result<(), OutOfMemoryLimit> {
        let threads = threads.max(self.before.thread_count());
        let addresses = addresses.max(self.before.address_count());
        let needed = self
            .before
            .projected_memory(threads, addresses)
            .saturating_add(self.monitor.projected_memory(threads, addresses))
            .saturating_add(self.window_memory());
        self.check_memory(needed)
    }

    fn check_memory(&self, needed: usize) -> Result<(), OutOfMemoryLimit> {
        if needed <= self.limits.memory {
            return Ok(());
        }
        Err(OutOfMemoryLimit {
            threads: self.before.thread_count(),
            addresses: self.before.address_count(),
            needed,
            limit: self.limits.memory,
        })
    }
}
