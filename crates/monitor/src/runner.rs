//! Runs a monitor over an interleaving: gives each access its indices, maintains the happens-before
//! clock, and keeps the recent accesses, from which a witness is built.

use fencepost_memory::{Access, Address, CoherenceIndex, Event, IssueIndex, ThreadId};
use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::clocks::{DenseClocks, SharedClocks, ThreadClocks};
use crate::explain::{ExplainError, Finding, explain};
use crate::happens_before::{HappensBefore, HappensBeforeMark};
use crate::journal::{JournalMark, Rewind};
use crate::monitor::Monitor;
use crate::recent::Recent;
use crate::violation::{PlacedEvent, Violation};

/// The limits of a runner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MonitorLimits {
    /// The number of recent accesses that are kept for witnesses.
    pub witness_window: usize,
    /// The memory limit for clocks, history and the witness window, in bytes.
    pub memory: usize,
}

impl Default for MonitorLimits {
    /// The last 65,536 accesses for witnesses, and 4 GiB of memory.
    fn default() -> Self {
        MonitorLimits {
            witness_window: 1 << 16,
            memory: 4 << 30,
        }
    }
}

/// The memory limit would be exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "the clocks and the history need {needed} bytes, more than the {limit} allowed for them \
     (threads: {threads}, addresses: {addresses})"
)]
pub struct MemoryLimitExceeded {
    /// The number of threads, including the new one.
    pub threads: usize,
    /// The number of addresses, including the new one.
    pub addresses: usize,
    /// The bytes needed.
    pub needed: usize,
    /// The bytes allowed.
    pub limit: usize,
}

/// A monitor with its happens-before clock and the recent accesses.
#[derive(Clone, Debug)]
pub struct MonitorRunner<M, C = DenseClocks> {
    before: HappensBefore<C>,
    monitor: M,
    recent: Recent,
    limits: MonitorLimits,
    events_until_memory_check: u32,
}

/// The number of events between two checks of the memory that grows without new threads and
/// addresses.
const EVENTS_PER_MEMORY_CHECK: u32 = 64;

/// A runner that can be rewound. Its memory grows with the interleaving.
impl<M: Monitor + Rewind> MonitorRunner<M, SharedClocks> {
    /// A runner with these limits that records changes, so that it can be rewound.
    pub fn rewindable(mut monitor: M, limits: MonitorLimits) -> Self {
        let mut before = HappensBefore::default();
        before.keep_journal();
        monitor.keep_journal();
        Self::of(before, monitor, limits)
    }

    /// The current state.
    #[inline]
    pub fn mark(&self) -> RunnerMark {
        RunnerMark {
            before: self.before.mark(),
            monitor: self.monitor.mark(),
        }
    }

    /// Rewinds to where `mark` was taken. Returns false, and changes nothing, if the journal does
    /// not reach back that far. Recent accesses are not rewound: such a runner must have no witness
    /// window.
    pub fn rewind(&mut self, mark: RunnerMark) -> bool {
        self.before.rewind(mark.before) && self.monitor.rewind(mark.monitor)
    }
}

/// A state of a runner to rewind to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunnerMark {
    before: HappensBeforeMark,
    monitor: JournalMark,
}

impl<M: Monitor> MonitorRunner<M> {
    /// A runner with the default limits.
    pub fn new(monitor: M) -> Self {
        Self::with_limits(monitor, MonitorLimits::default())
    }

    /// A runner with these limits.
    pub fn with_limits(monitor: M, limits: MonitorLimits) -> Self {
        Self::of(HappensBefore::default(), monitor, limits)
    }
}

impl<M: Monitor, C: ThreadClocks> MonitorRunner<M, C> {
    fn of(before: HappensBefore<C>, monitor: M, limits: MonitorLimits) -> Self {
        MonitorRunner {
            before,
            monitor,
            recent: Recent::new(limits.witness_window),
            limits,
            events_until_memory_check: EVENTS_PER_MEMORY_CHECK,
        }
    }

    /// Observes the next access. The caller guarantees that the accesses form a sequentially
    /// consistent interleaving in this order.
    #[inline]
    pub fn observe(&mut self, access: Access) -> Result<Option<Violation>, MemoryLimitExceeded> {
        let threads = access.thread.index() + 1;
        let addresses = access.operation.address().map_or(0, |a| a.index() + 1);
        if threads > self.before.thread_count() || addresses > self.before.address_count() {
            self.check_growth(threads, addresses)?;
            self.before.admit(&access);
        }
        self.events_until_memory_check -= 1;
        if self.events_until_memory_check == 0 {
            self.events_until_memory_check = EVENTS_PER_MEMORY_CHECK;
            let (threads, addresses) = self.sizes();
            self.check_memory(self.memory(), threads, addresses)?;
        }
        let next = self.before.place(access);
        if let Some(overtaken) = self.monitor.observe(&next, &self.before) {
            return Ok(Some(self.add_violation(overtaken, next)));
        }
        self.add(next);
        Ok(None)
    }

    #[inline]
    fn add(&mut self, next: PlacedEvent) {
        self.before.add(next);
        if self.limits.witness_window > 0 {
            self.recent.push(&next.event.access);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_violation(&mut self, pending: PlacedEvent, event: PlacedEvent) -> Violation {
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
        match self.recent.last(violation.span()) {
            Some(accesses) => self.explain_from(violation, accesses),
            None => Err(ExplainError::OutsideWindow {
                length: violation.span(),
                window: self.limits.witness_window,
            }),
        }
    }

    /// As [`explain`](Self::explain), for a violation that spans more than the witness window:
    /// the caller has the accesses from the pending write to the overtaking event. They must have
    /// been observed; if they were not, the explanation may be that the monitor is wrong.
    pub fn explain_from(
        &self,
        violation: &Violation,
        accesses: Vec<Access>,
    ) -> Result<Finding, ExplainError> {
        assert_eq!(
            violation.event.position + 1,
            self.before.position(),
            "only the violation of the last event can be explained"
        );
        let earlier = violation.pending.event.coherence.0 - 1;
        let address = violation.pending.address();
        let read = address.and_then(|a| self.before.find_write(a, CoherenceIndex(earlier)));
        explain(violation, &self.place_recent(accesses), read.copied())
    }

    /// Restores the indices of the last accesses, counting back from the end.
    fn place_recent(&self, accesses: Vec<Access>) -> Vec<PlacedEvent> {
        let mut later_events: FxHashMap<ThreadId, u64> = FxHashMap::default();
        let mut later_writes: FxHashMap<Address, u64> = FxHashMap::default();
        let mut placed = Vec::with_capacity(accesses.len());
        for (back, access) in accesses.into_iter().rev().enumerate() {
            let issued = self.before.last_of(access.thread);
            let later = later_events.entry(access.thread).or_default();
            let issue = issued
                .map_or(0, |last| last.event.issue.0)
                .saturating_sub(*later);
            *later += 1;
            let coherence = access.operation.address().map_or(0, |address| {
                let written = self.before.last_write(address);
                let later = later_writes.entry(address).or_default();
                let written = written.map_or(0, |write| write.event.coherence.0);
                let coherence = written.saturating_sub(*later);
                *later += u64::from(access.operation.writes());
                coherence
            });
            placed.push(PlacedEvent {
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
    pub fn happens_before(&self) -> &HappensBefore<C> {
        &self.before
    }

    /// The monitor.
    pub fn monitor(&self) -> &M {
        &self.monitor
    }

    /// The memory in use, in bytes.
    pub fn memory(&self) -> usize {
        self.before.memory() + self.monitor.memory() + self.recent.memory()
    }

    /// Removes all events, and keeps the memory for the next interleaving.
    pub fn reset(&mut self) {
        self.before.reset();
        self.monitor.reset();
        self.recent.reset();
    }

    #[cold]
    fn check_growth(&self, threads: usize, addresses: usize) -> Result<(), MemoryLimitExceeded> {
        let threads = threads.max(self.before.thread_count());
        let addresses = addresses.max(self.before.address_count());
        let needed = self
            .before
            .projected_memory(threads, addresses)
            .saturating_add(self.monitor.projected_memory(threads, addresses))
            .saturating_add(self.recent.memory());
        self.check_memory(needed, threads, addresses)
    }

    fn sizes(&self) -> (usize, usize) {
        (self.before.thread_count(), self.before.address_count())
    }

    fn check_memory(
        &self,
        needed: usize,
        threads: usize,
        addresses: usize,
    ) -> Result<(), MemoryLimitExceeded> {
        if needed <= self.limits.memory {
            return Ok(());
        }
        Err(MemoryLimitExceeded {
            threads,
            addresses,
            needed,
            limit: self.limits.memory,
        })
    }
}

#[cfg(test)]
impl<M: Monitor, C: ThreadClocks> MonitorRunner<M, C> {
    pub(crate) fn forget_unreachable_writes_now(&mut self) {
        self.before.forget_unreachable_writes_now();
    }
}
