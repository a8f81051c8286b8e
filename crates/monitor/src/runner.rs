//! Runs a monitor along an interleaving: places each access, keeps the happens-before
//! clock, and remembers the recent accesses, from which a witness is built.

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

/// How much a runner may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MonitorLimits {
    /// How many of the latest accesses are remembered for witnesses.
    pub witness_window: usize,
    /// The most bytes for clocks and history, the witness window included.
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
    /// The threads, with the one that would come next.
    pub threads: usize,
    /// The addresses, with the one that would come next.
    pub addresses: usize,
    /// The bytes needed.
    pub needed: usize,
    /// The bytes allowed.
    pub limit: usize,
}

/// A monitor, its happens-before clock and the recent past.
#[derive(Clone, Debug)]
pub struct MonitorRunner<M, C = DenseClocks> {
    before: HappensBefore<C>,
    monitor: M,
    recent: Recent,
    limits: MonitorLimits,
    events_until_memory_check: u32,
}

/// What grows without new threads and addresses is checked this often.
const EVENTS_PER_MEMORY_CHECK: u32 = 64;

/// A runner that can go back. Its memory grows with the interleaving.
impl<M: Monitor + Rewind> MonitorRunner<M, SharedClocks> {
    /// Watches with these limits, and notes changes, so that they can be taken back.
    pub fn rewindable(mut monitor: M, limits: MonitorLimits) -> Self {
        let mut before = HappensBefore::default();
        before.keep_journal();
        monitor.keep_journal();
        Self::of(before, monitor, limits)
    }

    /// The present state, to come back to.
    #[inline]
    pub fn mark(&self) -> RunnerMark {
        RunnerMark {
            before: self.before.mark(),
            monitor: self.monitor.mark(),
        }
    }

    /// Goes back to where `mark` was taken. False if too much has been forgotten for that; then
    /// nothing has happened. Recent accesses are not taken back: have no witness window.
    pub fn rewind(&mut self, mark: RunnerMark) -> bool {
        self.before.rewind(mark.before) && self.monitor.rewind(mark.monitor)
    }
}

/// A state of a runner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunnerMark {
    before: HappensBeforeMark,
    monitor: JournalMark,
}

impl<M: Monitor> MonitorRunner<M> {
    /// Watches with the default limits.
    pub fn new(monitor: M) -> Self {
        Self::with_limits(monitor, MonitorLimits::default())
    }

    /// Watches with these limits.
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

    /// The next access of the interleaving. It is the caller's business that the accesses
    /// form a sequentially consistent interleaving in this order.
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

    /// Gives the last accesses their indices again, counting back from the end.
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

    /// The bytes held.
    pub fn memory(&self) -> usize {
        self.before.memory() + self.monitor.memory() + self.recent.memory()
    }

    /// Forgets the interleaving, keeping the memory for the next one.
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
