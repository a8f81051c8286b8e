//! The accesses of an execution for the monitor.
//!
//! A [`MonitorFeed`] passes the accesses of each step to a [`RewindingMonitor`] and drops
//! violations of optimistic loads that do not change what their operation does.

use fencepost_memory::{Access, Event, Operation};
use fencepost_monitor::{
    MemoryLimitExceeded, MonitorLimits, MonitoredModel, ObservedPrefix, PlacedEvent,
    RewindingMonitor, Violation, check_interleaving,
};

use crate::program::OptimisticLoad;

/// The accesses up to a violation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    /// The interleaving up to the violation.
    prefix: ObservedPrefix<'a>,
    /// The optimistic loads among all its accesses, by position.
    pub(crate) optimistic_loads: &'a [(usize, OptimisticLoad)],
}

impl<'a> Evidence<'a> {
    /// All accesses, including those that the monitor skipped.
    pub(crate) fn accesses(self) -> &'a [Access] {
        self.prefix.accesses()
    }

    /// The violation with its positions among all accesses.
    pub(crate) fn among_all(self, violation: &Violation) -> Violation {
        self.prefix.among_all(violation)
    }

    /// The accesses that the monitor observed.
    pub(crate) fn observed(self) -> Vec<Access> {
        self.prefix.observed()
    }

    /// The event of the log that an observed access belongs to; none for one before the first event.
    pub(crate) fn event_of(self, position: u64) -> Option<u32> {
        self.prefix
            .step_of(position)
            .checked_sub(1)
            .map(|event| event as u32)
    }

    /// As [`event_of`](Self::event_of), for a position among all accesses.
    pub(crate) fn event_of_any(self, position: usize) -> Option<u32> {
        self.prefix
            .step_of_any(position)
            .checked_sub(1)
            .map(|event| event as u32)
    }

    /// The violation of an optimistic load, if the load may read a state in which its operation
    /// fails. Returns `None` if it can overtake the writes since such a state only together with
    /// others that it cannot overtake.
    #[cold]
    fn failing_violation(
        self,
        optimistic_load: OptimisticLoad,
        violation: &Violation,
    ) -> Option<Violation> {
        let (fails_on, is_previous) = match optimistic_load {
            OptimisticLoad::Retries => return None,
            OptimisticLoad::FailsOnStale(fails_on) => (fails_on, false),
            OptimisticLoad::FailsOnPrevious(fails_on) => (fails_on, true),
        };
        let observed = self.prefix.observed();
        // The latest write before which the operation fails. It does not fail in the initial state.
        let mut fails_before_write = false;
        let mut written = 0;
        let mut candidate = None;
        for (position, access) in observed.iter().enumerate() {
            let operation = access.operation;
            if operation.writes() && operation.address() == violation.pending.address() {
                if is_previous {
                    candidate = None;
                }
                if fails_before_write && position as u64 <= violation.pending.position {
                    candidate = Some((position, written));
                }
                fails_before_write = access.value.is_none_or(|state| fails_on.holds(state));
                written += 1;
            }
        }
        let (position, written) = candidate?;
        let moved = overtaking(violation, &observed, position, written);
        check_interleaving(&moved, &observed)
            .is_ok()
            .then_some(moved)
    }
}

/// The violation with another pending write, at this position among the observed accesses, which
/// comes after `written` writes to the same address.
pub(crate) fn overtaking(
    violation: &Violation,
    observed: &[Access],
    position: usize,
    written: u64,
) -> Violation {
    let access = observed[position];
    let own = observed[..position]
        .iter()
        .filter(|a| a.thread == access.thread);
    Violation {
        pending: PlacedEvent {
            event: Event::next(access, own.count() as u64, written),
            position: position as u64,
        },
        ..*violation
    }
}

/// Whether the monitor finds a violation in an interleaving with these accesses and optimistic
/// loads. Returns true if it has too little memory to decide.
pub fn shows_violation(
    monitored_model: MonitoredModel,
    accesses: &[Access],
    optimistic_loads: Vec<(usize, OptimisticLoad)>,
) -> bool {
    has_violation(monitored_model, accesses, optimistic_loads, |_| true)
}

/// As [`shows_violation`], for one of the last access.
pub(crate) fn ends_in_violation(
    monitored_model: MonitoredModel,
    accesses: &[Access],
    optimistic_loads: Vec<(usize, OptimisticLoad)>,
) -> bool {
    let is_last = |violation: &Violation| violation.event.position + 1 == accesses.len() as u64;
    has_violation(monitored_model, accesses, optimistic_loads, is_last)
}

fn has_violation(
    monitored_model: MonitoredModel,
    accesses: &[Access],
    optimistic_loads: Vec<(usize, OptimisticLoad)>,
    is_wanted: impl Fn(&Violation) -> bool,
) -> bool {
    let mut feed = MonitorFeed::new(monitored_model, MonitorLimits::default().memory);
    feed.optimistic_loads = optimistic_loads;
    let mut is_found = false;
    let found = |violation: &Violation, _: Evidence<'_>| is_found |= is_wanted(violation);
    let result = feed.push_step(accesses, false, found);
    is_found || result.is_err()
}

/// The monitor of the execution so far.
///
/// The first step of the monitor has the accesses before the first event.
pub(crate) struct MonitorFeed {
    monitor: RewindingMonitor,
    /// The optimistic loads among the accesses, by position.
    optimistic_loads: Vec<(usize, OptimisticLoad)>,
}

impl MonitorFeed {
    pub(crate) fn new(monitored_model: MonitoredModel, memory: usize) -> Self {
        MonitorFeed {
            monitor: RewindingMonitor::new(monitored_model, memory),
            optimistic_loads: Vec::new(),
        }
    }

    pub(crate) fn monitored_model(&self) -> MonitoredModel {
        self.monitor.monitored_model()
    }

    pub(crate) fn accesses(&self) -> &[Access] {
        self.monitor.accesses()
    }

    /// The accesses of an event of the log. None if there is no monitor.
    pub(crate) fn accesses_of(&self, event: u32) -> &[Access] {
        self.monitor.accesses_of_step(event as usize + 1)
    }

    /// Rewinds to the first `events` events.
    pub(crate) fn rewind(&mut self, events: usize) {
        self.rewind_steps(events + 1);
    }

    /// Removes all accesses, including those before the first event.
    pub(crate) fn clear(&mut self) {
        self.rewind_steps(0);
    }

    fn rewind_steps(&mut self, steps: usize) {
        self.monitor.rewind(steps);
        let accesses = self.monitor.accesses().len();
        let kept = self
            .optimistic_loads
            .partition_point(|&(at, _)| at < accesses);
        self.optimistic_loads.truncate(kept);
    }

    /// Notes that the plain loads among the accesses of the next event are optimistic.
    #[cold]
    pub(crate) fn note_optimistic_load(
        &mut self,
        accesses: &[Access],
        optimistic_load: OptimisticLoad,
    ) {
        let loads = accesses.iter().enumerate();
        let loads = loads.filter(|(_, access)| matches!(access.operation, Operation::Load(_)));
        let before = self.monitor.accesses().len();
        self.optimistic_loads
            .extend(loads.map(|(index, _)| (before + index, optimistic_load)));
    }

    /// The accesses up to a violation of the last event.
    pub(crate) fn evidence_of(&self, violation: &Violation) -> Evidence<'_> {
        let prefix = self.monitor.prefix_of(violation);
        let accesses = prefix.accesses().len();
        let known = self
            .optimistic_loads
            .partition_point(|&(at, _)| at < accesses);
        Evidence {
            prefix,
            optimistic_loads: &self.optimistic_loads[..known],
        }
    }

    /// Notes that it makes no difference whether the load of this violation reads a stale value.
    pub(crate) fn note_harmless(&mut self, violation: &Violation) {
        let at = self.evidence_of(violation).accesses().len() - 1;
        let place = self.optimistic_loads.partition_point(|&(p, _)| p < at);
        let load = (at, OptimisticLoad::Retries);
        self.optimistic_loads.insert(place, load);
    }

    /// Whether the accesses before the first event were added.
    pub(crate) fn has_begun(&self) -> bool {
        self.monitor.step_count() > 0
    }

    /// Adds the accesses of one event, or those before the first. Calls `on_violation` for each
    /// violation, with the accesses up to it. The positions of the violation are among those that
    /// the monitor observed.
    #[inline]
    pub(crate) fn push_step(
        &mut self,
        accesses: &[Access],
        is_unordered: bool,
        mut on_violation: impl FnMut(&Violation, Evidence<'_>),
    ) -> Result<(), MemoryLimitExceeded> {
        let optimistic_loads = &self.optimistic_loads;
        let filtered = |violation: &Violation, prefix: ObservedPrefix<'_>| {
            let at = prefix.accesses().len() - 1;
            let known = optimistic_loads.partition_point(|&(position, _)| position <= at);
            let optimistic_loads = &optimistic_loads[..known];
            let evidence = Evidence {
                prefix,
                optimistic_loads,
            };
            match optimistic_loads.last() {
                Some(&(position, optimistic_load)) if position == at => {
                    if let Some(violation) = evidence.failing_violation(optimistic_load, violation)
                    {
                        on_violation(&violation, evidence);
                    }
                }
                _ => on_violation(violation, evidence),
            }
        };
        self.monitor.push_step(accesses, is_unordered, filtered)
    }
}

#[cfg(test)]
mod tests {
    use fencepost_memory::{Address, ThreadId};

    use super::*;
    use crate::program::Condition;

    /// A thread changes a lock and loads; another one, which has read the lock after `known`
    /// changes, stores and reads it again. Returns the positions of the writes that the second read
    /// can overtake, if that matters. A rewound execution may have a plain load in place of an
    /// optimistic one.
    fn overtaken(
        changes: &[u64],
        known: usize,
        optimistic_loads: &[Option<OptimisticLoad>],
    ) -> Vec<Option<u64>> {
        let (variable, lock) = (Address(0), Address(1));
        let change = |&state: &u64| Access {
            value: Some(state),
            ..Access::new(ThreadId(1), Operation::Interlocked(lock))
        };
        let mut accesses: Vec<Access> = changes.iter().map(change).collect();
        let read = Access::new(ThreadId(0), Operation::Load(lock));
        accesses.insert(known, read);
        accesses.push(Access::new(ThreadId(1), Operation::Load(variable)));
        accesses.push(Access::new(ThreadId(0), Operation::Store(variable)));
        let mut monitor = MonitorFeed::new(MonitoredModel::Tso, usize::MAX);
        monitor
            .push_step(&[], false, |_, _| {})
            .expect("enough memory");
        for access in &accesses {
            let nothing = |_: &Violation, _: Evidence<'_>| panic!("it is too early");
            monitor
                .push_step(&[*access], false, nothing)
                .expect("enough memory");
        }
        let read_again = |optimistic_load: &Option<OptimisticLoad>| {
            monitor.rewind(accesses.len());
            if let Some(optimistic_load) = *optimistic_load {
                monitor.note_optimistic_load(&[read], optimistic_load);
            }
            let mut overtaken = None;
            let found = |violation: &Violation, evidence: Evidence<'_>| {
                overtaken = Some(evidence.among_all(violation).pending.position);
            };
            monitor
                .push_step(&[read], false, found)
                .expect("enough memory");
            overtaken
        };
        optimistic_loads.iter().map(read_again).collect()
    }

    #[test]
    fn a_stale_optimistic_load_counts_only_if_its_operation_fails() {
        let fails_on_stale = |state| Some(OptimisticLoad::FailsOnStale(Condition::Equals(state)));
        let fails_on_previous =
            |state| Some(OptimisticLoad::FailsOnPrevious(Condition::Equals(state)));
        let optimistic_loads = [
            Some(OptimisticLoad::Retries),
            fails_on_stale(9),
            fails_on_stale(5),
            // Plain loads, where there were optimistic ones before.
            None,
            fails_on_previous(9),
            None,
        ];
        // The first read is at position 0.
        let last = Some(2);
        let expected = [None, last, None, last, last, last];
        assert_eq!(overtaken(&[9, 0], 0, &optimistic_loads), expected);

        let optimistic_loads = [
            fails_on_stale(9),
            fails_on_stale(3),
            fails_on_previous(9),
            fails_on_previous(3),
            fails_on_stale(5),
        ];
        let expected = [Some(2), Some(4), None, Some(4), None];
        assert_eq!(overtaken(&[9, 0, 3, 0], 0, &optimistic_loads), expected);
        // It cannot read a state that is older than one that it has read.
        let expected = [None, Some(4), None, Some(4), None];
        assert_eq!(overtaken(&[9, 0, 3, 0], 2, &optimistic_loads), expected);
        assert_eq!(overtaken(&[9, 0, 3, 0], 3, &optimistic_loads), expected);
        assert_eq!(overtaken(&[9, 0, 3, 0], 4, &optimistic_loads), [None; 5]);
    }
}
