//! The monitor along the executions: fed with what is new, taken back to where the executions
//! part.
//!
//! The monitor keeps a journal. When the end of an execution is taken back, so is what the monitor
//! has learnt from it. It is fed only once an event may have passed an earlier store of its thread
//! ([`ReorderingDetector`]); before that there is nothing to see. And it is not fed with events
//! that order nothing ([`Performed::inert`](crate::Performed::inert)): the making and the beginning
//! of threads, mostly. Nothing comes before those in happens-before, relaxed or not, so it is the
//! same without them among all others.

use fencepost_memory::{Access, Event, IssueIndex, LockedDrains, MemoryModel, Operation};
use fencepost_monitor::clocks::{SharedClocks, SparseClocks};
use fencepost_monitor::{
    BitsetMonitor, ByAddress, ByWriter, MemoryLimitExceeded, Monitor, MonitorLimits, MonitorRunner,
    PlacedEvent, RelaxedOrderMonitor, ReorderingDetector, Rewind, RunnerMark, Violation,
    check_interleaving,
};

use crate::program::OptimisticLoad;

/// The machine for which programs are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonitoredModel {
    /// Only sequential consistency: there is no monitor.
    None,
    /// Total store order.
    Tso,
    /// Partial store order.
    Pso(LockedDrains),
}

/// There is room for so many events from the beginning.
const FIRST_EVENTS: usize = 64;

/// Where an event ends among the accesses of an execution.
#[derive(Clone, Copy, Default, Debug)]
struct End {
    /// How many accesses there are up to it, with its own.
    accesses: u32,
    /// How many of them are inert. Of one event, all are or none.
    inert: u32,
}

impl End {
    /// How many accesses the monitor is to see.
    #[inline]
    fn heard(self) -> usize {
        (self.accesses - self.inert) as usize
    }
}

/// The accesses up to a violation, and which of them the monitor has seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// All accesses, also those that the monitor has not seen.
    pub(crate) accesses: &'a [Access],
    /// Those of them that only look, by position.
    pub(crate) optimistic_loads: &'a [(usize, OptimisticLoad)],
    ends: &'a [End],
}

impl Seen<'_> {
    /// The violation with its places among all accesses.
    pub(crate) fn among_all(self, violation: &Violation) -> Violation {
        Violation {
            model: violation.model,
            pending: self.place(violation.pending),
            last: self.place(violation.last),
            event: self.place(violation.event),
        }
    }

    /// What of a violation matters if its last access only looks: that the access may see a state
    /// in which its operation gives up. None if it can overtake the writes since such a state only
    /// together with others that it cannot overtake.
    #[cold]
    fn that_matters(
        self,
        optimistic_load: OptimisticLoad,
        violation: &Violation,
    ) -> Option<Violation> {
        let (gives_up, is_last) = match optimistic_load {
            OptimisticLoad::Retries => return None,
            OptimisticLoad::FailsOnStale(gives_up) => (gives_up, false),
            OptimisticLoad::FailsOnPrevious(gives_up) => (gives_up, true),
        };
        let heard = self.heard();
        // The latest write before which it gives up. It does not in the state that is there at the
        // beginning.
        let mut is_before_write = false;
        let mut written = 0;
        let mut candidate = None;
        for (position, access) in heard.iter().enumerate() {
            let operation = access.operation;
            if operation.writes() && operation.address() == violation.pending.address() {
                if is_last {
                    candidate = None;
                }
                if is_before_write && position as u64 <= violation.pending.position {
                    candidate = Some((position, written));
                }
                is_before_write = access.value.is_none_or(|state| gives_up.holds(state));
                written += 1;
            }
        }
        let (position, written) = candidate?;
        let access = heard[position];
        let own = heard[..position]
            .iter()
            .filter(|a| a.thread == access.thread);
        let moved = Violation {
            pending: PlacedEvent {
                event: Event::next(access, own.count() as u64, written),
                position: position as u64,
            },
            ..*violation
        };
        check_interleaving(&moved, &heard).is_ok().then_some(moved)
    }

    /// The accesses that the monitor has seen.
    fn heard(self) -> Vec<Access> {
        let mut before = End::default();
        let mut heard = Vec::with_capacity(self.accesses.len());
        for &end in self.ends {
            if end.inert == before.inert {
                let range = before.accesses as usize..end.accesses as usize;
                heard.extend(self.accesses.iter().take(range.end).skip(range.start));
            }
            before = end;
        }
        heard
    }

    fn place(self, placed: PlacedEvent) -> PlacedEvent {
        let is_after = |end: &&End| end.heard() as u64 > placed.position;
        let after = self.ends.iter().find(is_after);
        let inert = after.expect("the monitor has seen it").inert;
        let position = placed.position + u64::from(inert);
        let is_own = |access: &&Access| access.thread == placed.thread();
        let earlier = self.accesses[..position as usize].iter().filter(is_own);
        PlacedEvent {
            event: Event {
                issue: IssueIndex(earlier.count() as u64 + 1),
                ..placed.event
            },
            position,
        }
    }
}

/// A monitor that can go back.
trait Rewinding {
    /// Whether it has no room for another access.
    fn is_full(&self) -> bool;

    /// The next access that it is to see.
    fn observe(&mut self, access: &Access) -> Result<Option<Violation>, MemoryLimitExceeded>;

    /// All accesses of one more event were observed.
    fn end_event(&mut self);

    /// Goes back to where so many events with so many accesses had been observed. False if it has
    /// gone back to the beginning instead.
    fn rewind(&mut self, events: usize, accesses: usize) -> bool;
}

impl<const N: usize> Rewinding for BitsetMonitor<N> {
    #[inline]
    fn is_full(&self) -> bool {
        self.is_full()
    }

    #[inline]
    fn observe(&mut self, access: &Access) -> Result<Option<Violation>, MemoryLimitExceeded> {
        self.observe(access)
    }

    #[inline]
    fn end_event(&mut self) {}

    #[inline]
    fn rewind(&mut self, _events: usize, accesses: usize) -> bool {
        self.rewind(accesses);
        true
    }
}

/// A runner, and where it was.
struct Marked<M: Monitor> {
    runner: MonitorRunner<M, SharedClocks>,
    /// After each event that was observed.
    marks: Vec<RunnerMark>,
}

impl<M: Monitor + Rewind> Marked<M> {
    fn new(monitor: M, memory: usize) -> Self {
        let limits = MonitorLimits {
            witness_window: 0,
            memory,
        };
        Marked {
            runner: MonitorRunner::rewindable(monitor, limits),
            marks: Vec::new(),
        }
    }
}

impl<M: Monitor + Rewind> Rewinding for Marked<M> {
    #[inline]
    fn is_full(&self) -> bool {
        false
    }

    #[inline]
    fn observe(&mut self, access: &Access) -> Result<Option<Violation>, MemoryLimitExceeded> {
        self.runner.observe(*access)
    }

    #[inline]
    fn end_event(&mut self) {
        self.marks.push(self.runner.mark());
    }

    fn rewind(&mut self, events: usize, _accesses: usize) -> bool {
        self.marks.truncate(events);
        if let Some(&mark) = self.marks.last() {
            if self.runner.rewind(mark) {
                return true;
            }
        }
        // Too much has been forgotten, or there is nothing left: once more from the beginning,
        // when that is needed.
        self.runner.reset();
        self.marks.clear();
        false
    }
}

/// A monitor, and how far it has been fed.
struct Fed<R> {
    monitor: R,
    /// How many events, with what came before any.
    events: usize,
}

/// The monitor has no room for this access.
struct Full(usize);

impl<R: Rewinding> Fed<R> {
    fn new(monitor: R) -> Self {
        Fed { monitor, events: 0 }
    }

    /// Feeds the accesses of the events that have not been fed yet. `ends` and `accesses` are those
    /// of all events.
    #[inline]
    fn feed(
        &mut self,
        ends: &[End],
        accesses: &[Access],
        mut found: impl FnMut(usize, Violation),
    ) -> Result<Result<(), Full>, MemoryLimitExceeded> {
        let mut before = match self.events {
            0 => End::default(),
            events => ends[events - 1],
        };
        for &end in &ends[self.events..] {
            if end.inert == before.inert {
                for at in before.accesses as usize..end.accesses as usize {
                    if self.monitor.is_full() {
                        return Ok(Err(Full(at)));
                    }
                    match self.monitor.observe(&accesses[at]) {
                        Ok(None) => {}
                        Ok(Some(violation)) => found(at, violation),
                        Err(error) => {
                            // It may have seen a part of the event.
                            self.monitor.rewind(0, 0);
                            self.events = 0;
                            return Err(error);
                        }
                    }
                }
            }
            self.monitor.end_event();
            self.events += 1;
            before = end;
        }
        Ok(Ok(()))
    }

    /// Goes back to where so many events with so many accesses that it was to see were fed at most.
    fn rewind(&mut self, events: usize, accesses: usize) {
        if self.events > events {
            let has_gone_back = self.monitor.rewind(events, accesses);
            self.events = if has_gone_back { events } else { 0 };
        }
    }
}

/// The monitors. Who has seen a long execution stays with what has room for it.
enum Inner {
    Nothing,
    Short(Fed<BitsetMonitor<1>>),
    Longer(Fed<BitsetMonitor<4>>),
    Tso(Fed<Marked<RelaxedOrderMonitor<ByWriter, SharedClocks>>>),
    Pso(Fed<Marked<RelaxedOrderMonitor<ByAddress, SparseClocks>>>),
}

impl Inner {
    /// One with more room.
    #[cold]
    fn grow(&mut self, monitored_model: MonitoredModel, memory: usize) {
        *self = match (&self, monitored_model) {
            (Inner::Nothing, _) | (_, MonitoredModel::None) => Inner::Nothing,
            (Inner::Short(_), _) => Inner::Longer(Fed::new(BitsetMonitor::new(
                monitored_model.model(),
                memory,
            ))),
            (_, MonitoredModel::Tso) => {
                let monitor = RelaxedOrderMonitor::tso_for_short_interleavings();
                Inner::Tso(Fed::new(Marked::new(monitor, memory)))
            }
            (_, MonitoredModel::Pso(locked)) => Inner::Pso(Fed::new(Marked::new(
                RelaxedOrderMonitor::pso(locked),
                memory,
            ))),
        };
    }
}

/// Whether the monitor sees a violation in an execution with these accesses, of which some only
/// look. Also if it has too little memory to tell.
pub fn shows_violation(
    monitored_model: MonitoredModel,
    accesses: &[Access],
    optimistic_loads: Vec<(usize, OptimisticLoad)>,
) -> bool {
    let mut monitor = MonitorFeed::new(monitored_model, MonitorLimits::default().memory);
    monitor.optimistic_loads = optimistic_loads;
    let mut is_seen = false;
    let result = monitor.add(accesses, false, |_, _| is_seen = true);
    is_seen || result.is_err()
}

/// The monitor and the accesses of the execution so far.
pub(crate) struct MonitorFeed {
    monitored_model: MonitoredModel,
    memory: usize,
    inner: Inner,
    passing: ReorderingDetector,
    /// How many accesses were fed to the monitor once. What they showed is not shown again.
    shown: usize,
    accesses: Vec<Access>,
    /// For each event; first, for those accesses before any event.
    ends: Vec<End>,
    /// The accesses that only look, by position.
    optimistic_loads: Vec<(usize, OptimisticLoad)>,
}

impl MonitorFeed {
    pub(crate) fn new(monitored_model: MonitoredModel, memory: usize) -> Self {
        let inner = match monitored_model {
            MonitoredModel::None => Inner::Nothing,
            _ => Inner::Short(Fed::new(BitsetMonitor::new(
                monitored_model.model(),
                memory,
            ))),
        };
        MonitorFeed {
            monitored_model,
            memory,
            inner,
            passing: ReorderingDetector::new(monitored_model.model()),
            shown: 0,
            accesses: Vec::with_capacity(FIRST_EVENTS),
            ends: Vec::with_capacity(FIRST_EVENTS),
            optimistic_loads: Vec::new(),
        }
    }

    pub(crate) fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// Goes back to where so many events had been added.
    pub(crate) fn rewind(&mut self, events: usize) {
        self.keep(events + 1);
    }

    /// Forgets the execution, also what came before the first event.
    pub(crate) fn clear(&mut self) {
        self.keep(0);
    }

    fn keep(&mut self, ends: usize) {
        self.ends.truncate(ends);
        let end = self.ends.last().copied().unwrap_or_default();
        let accesses = end.accesses as usize;
        self.accesses.truncate(accesses);
        let known = self
            .optimistic_loads
            .partition_point(|&(at, _)| at < accesses);
        self.optimistic_loads.truncate(known);
        self.shown = self.shown.min(accesses);
        match &mut self.inner {
            Inner::Nothing => return,
            Inner::Short(fed) => fed.rewind(ends, end.heard()),
            Inner::Longer(fed) => fed.rewind(ends, end.heard()),
            Inner::Tso(fed) => fed.rewind(ends, end.heard()),
            Inner::Pso(fed) => fed.rewind(ends, end.heard()),
        }
        self.passing.rewind_to(end.heard());
    }

    /// The plain loads among the accesses of the next event only look.
    #[cold]
    pub(crate) fn note_optimistic_load(
        &mut self,
        accesses: &[Access],
        optimistic_load: OptimisticLoad,
    ) {
        let loads = accesses.iter().enumerate();
        let loads = loads.filter(|(_, access)| matches!(access.operation, Operation::Load(_)));
        let before = self.accesses.len();
        self.optimistic_loads
            .extend(loads.map(|(index, _)| (before + index, optimistic_load)));
    }

    /// Whether the accesses before the first event are known.
    pub(crate) fn has_begun(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Adds the accesses of one event (or those before the first). Calls `found` for each
    /// violation, with the accesses up to it. Its places are among those that the monitor has seen.
    #[inline]
    pub(crate) fn add(
        &mut self,
        accesses: &[Access],
        is_inert: bool,
        found: impl FnMut(&Violation, Seen<'_>),
    ) -> Result<(), MemoryLimitExceeded> {
        self.accesses.extend_from_slice(accesses);
        let inert = self.ends.last().map_or(0, |end| end.inert);
        self.ends.push(End {
            accesses: self.accesses.len() as u32,
            inert: inert + if is_inert { accesses.len() as u32 } else { 0 },
        });
        if is_inert || matches!(self.inner, Inner::Nothing) {
            return Ok(());
        }
        accesses.iter().for_each(|a| self.passing.observe(a));
        if !self.passing.may_have_reordered() {
            return Ok(());
        }
        self.feed(found)
    }

    /// Feeds the monitor.
    #[inline(never)]
    fn feed(
        &mut self,
        mut found: impl FnMut(&Violation, Seen<'_>),
    ) -> Result<(), MemoryLimitExceeded> {
        let (ends, all, optimistic_loads) = (&self.ends, &self.accesses, &self.optimistic_loads);
        let mut shown = std::mem::replace(&mut self.shown, all.len());
        loop {
            let found = |at: usize, violation: Violation| {
                if at >= shown {
                    let known = optimistic_loads.partition_point(|&(position, _)| position <= at);
                    let (accesses, optimistic_loads) = (&all[..=at], &optimistic_loads[..known]);
                    let seen = Seen {
                        accesses,
                        optimistic_loads,
                        ends,
                    };
                    let optimistic_load = optimistic_loads
                        .last()
                        .filter(|(position, _)| *position == at);
                    let violation = match optimistic_load {
                        None => Some(violation),
                        Some((_, optimistic_load)) => {
                            seen.that_matters(*optimistic_load, &violation)
                        }
                    };
                    if let Some(violation) = violation {
                        found(&violation, seen);
                    }
                }
            };
            let fed = match &mut self.inner {
                Inner::Nothing => return Ok(()),
                Inner::Short(fed) => fed.feed(ends, all, found),
                Inner::Longer(fed) => fed.feed(ends, all, found),
                Inner::Tso(fed) => fed.feed(ends, all, found),
                Inner::Pso(fed) => fed.feed(ends, all, found),
            };
            match fed? {
                Ok(()) => return Ok(()),
                Err(Full(at)) => shown = shown.max(at),
            }
            self.inner.grow(self.monitored_model, self.memory);
        }
    }
}

/// The memory model that is monitored_model for.
impl MonitoredModel {
    /// The model, or SC if nothing is monitored_model for.
    pub fn model(self) -> MemoryModel {
        match self {
            MonitoredModel::None => MemoryModel::SC,
            MonitoredModel::Tso => MemoryModel::TSO,
            MonitoredModel::Pso(LockedDrains::Everything) => MemoryModel::PSO,
            MonitoredModel::Pso(LockedDrains::OwnAddress) => MemoryModel::PSO_OWN_ADDRESS,
        }
    }
}

#[cfg(test)]
mod tests {
    use fencepost_memory::{Address, OperationKind, Random, ThreadId};

    use super::*;
    use crate::program::Condition;

    /// An interleaving in events, each with its accesses and whether they are inert.
    type Events = Vec<(Vec<Access>, bool)>;

    const ADDRESSES: u64 = 2;

    /// Threads that make others, and access two addresses. The object of a spawn is above those.
    /// If `only_inert`, spawns are called inert only if they are; else all of them are.
    fn random_events(random: &mut Random, only_inert: bool) -> Events {
        random_events_of(24, random, only_inert)
    }

    fn random_events_of(length: usize, random: &mut Random, only_inert: bool) -> Events {
        let mut is_unheard = vec![true];
        let mut events = Events::new();
        for _ in 0..length {
            let thread = random.below(is_unheard.len() as u64) as usize;
            let id = ThreadId(thread as u32);
            if random.below(3) == 0 && is_unheard.len() < 5 {
                let child = is_unheard.len();
                let object = Address(ADDRESSES as u32 + child as u32);
                let spawn = Access::new(id, Operation::LockedStore(object));
                let begin = Access::new(ThreadId(child as u32), Operation::LockedLoad(object));
                let is_inert = is_unheard[thread] || !only_inert;
                events.push((vec![spawn, begin], is_inert));
                is_unheard.push(is_unheard[thread]);
            } else {
                // Plain ones mostly: the others rule violations out.
                let kind = match random.below(8) {
                    0 => OperationKind::ALL[random.below(OperationKind::ALL.len() as u64) as usize],
                    number if number % 2 == 0 => OperationKind::Load,
                    _ => OperationKind::Store,
                };
                let access = Access::new(id, kind.at(Address(random.below(ADDRESSES) as u32)));
                events.push((vec![access], false));
                is_unheard[thread] = false;
            }
        }
        events
    }

    fn violations(
        monitored_model: MonitoredModel,
        events: &[(Vec<Access>, bool)],
    ) -> Vec<(Violation, usize)> {
        let mut monitor = MonitorFeed::new(monitored_model, usize::MAX);
        let mut all = Vec::new();
        for (accesses, is_inert) in events {
            let found = |violation: &Violation, seen: Seen<'_>| {
                all.push((seen.among_all(violation), seen.accesses.len()));
            };
            monitor
                .add(accesses, *is_inert, found)
                .expect("enough memory");
        }
        all
    }

    /// A thread changes a lock and loads; another one, which has looked at the lock after so many
    /// changes, stores and looks again. Where the writes are that it can overtake then, if that
    /// matters. Looks may come to be plain loads when the execution is taken back.
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
        let look = Access::new(ThreadId(0), Operation::Load(lock));
        accesses.insert(known, look);
        accesses.push(Access::new(ThreadId(1), Operation::Load(variable)));
        accesses.push(Access::new(ThreadId(0), Operation::Store(variable)));
        let mut monitor = MonitorFeed::new(MonitoredModel::Tso, usize::MAX);
        monitor.add(&[], false, |_, _| {}).expect("enough memory");
        for access in &accesses {
            let nothing = |_: &Violation, _: Seen<'_>| panic!("it is too early");
            monitor
                .add(&[*access], false, nothing)
                .expect("enough memory");
        }
        let look_again = |optimistic_load: &Option<OptimisticLoad>| {
            monitor.rewind(accesses.len());
            if let Some(optimistic_load) = *optimistic_load {
                monitor.note_optimistic_load(&[look], optimistic_load);
            }
            let mut overtaken = None;
            let found = |violation: &Violation, seen: Seen<'_>| {
                overtaken = Some(seen.among_all(violation).pending.position);
            };
            monitor.add(&[look], false, found).expect("enough memory");
            overtaken
        };
        optimistic_loads.iter().map(look_again).collect()
    }

    #[test]
    fn a_look_that_is_too_early_counts_only_if_its_operation_gives_up() {
        let gives_up_if = |state| Some(OptimisticLoad::FailsOnStale(Condition::Equals(state)));
        let just_after = |state| Some(OptimisticLoad::FailsOnPrevious(Condition::Equals(state)));
        let optimistic_loads = [
            Some(OptimisticLoad::Retries),
            gives_up_if(9),
            gives_up_if(5),
            // Plain loads, where there were looks before.
            None,
            just_after(9),
            None,
        ];
        // The look that is known comes first.
        let last = Some(2);
        let expected = [None, last, None, last, last, last];
        assert_eq!(overtaken(&[9, 0], 0, &optimistic_loads), expected);

        let optimistic_loads = [
            gives_up_if(9),
            gives_up_if(3),
            just_after(9),
            just_after(3),
            gives_up_if(5),
        ];
        let expected = [Some(2), Some(4), None, Some(4), None];
        assert_eq!(overtaken(&[9, 0, 3, 0], 0, &optimistic_loads), expected);
        // What it has seen to be over, it cannot see again.
        let expected = [None, Some(4), None, Some(4), None];
        assert_eq!(overtaken(&[9, 0, 3, 0], 2, &optimistic_loads), expected);
        assert_eq!(overtaken(&[9, 0, 3, 0], 3, &optimistic_loads), expected);
        assert_eq!(overtaken(&[9, 0, 3, 0], 4, &optimistic_loads), [None; 5]);
    }

    /// How many interleavings have violations, and in how many they are others without what is
    /// called inert.
    fn compare(monitored_model: MonitoredModel, only_inert: bool) -> (u32, u32) {
        let mut random = Random::new(31);
        let (mut wrong, mut different) = (0, 0);
        for _ in 0..8_000 {
            let events = random_events(&mut random, only_inert);
            let heard: Events = events.iter().map(|(a, _)| (a.clone(), false)).collect();
            let all = violations(monitored_model, &heard);
            wrong += u32::from(!all.is_empty());
            different += u32::from(all != violations(monitored_model, &events));
        }
        (wrong, different)
    }

    #[test]
    fn what_is_inert_changes_no_violation() {
        for monitored_model in [
            MonitoredModel::Tso,
            MonitoredModel::Pso(LockedDrains::Everything),
            MonitoredModel::Pso(LockedDrains::OwnAddress),
        ] {
            let (wrong, different) = compare(monitored_model, true);
            assert!(wrong > 1000, "{wrong}");
            assert_eq!(different, 0, "{monitored_model:?}");
            let (_, different) = compare(monitored_model, false);
            assert!(
                different > 100,
                "a spawn by who has done something is not inert: {different}"
            );
        }
    }

    /// What a runner with clocks sees that is fed with everything.
    fn by_clocks(monitored_model: MonitoredModel, events: &Events) -> Vec<(Violation, usize)> {
        fn monitor<M: Monitor>(monitor: M, events: &Events) -> Vec<(Violation, usize)> {
            let mut runner = MonitorRunner::new(monitor);
            let mut all = Vec::new();
            for &access in events.iter().flat_map(|(accesses, _)| accesses) {
                let violation = runner.observe(access).expect("enough memory");
                all.extend(violation.map(|violation| (violation, runner.events() as usize)));
            }
            all
        }
        match monitored_model {
            MonitoredModel::None => Vec::new(),
            MonitoredModel::Tso => monitor(RelaxedOrderMonitor::tso(), events),
            MonitoredModel::Pso(locked) => monitor(RelaxedOrderMonitor::pso(locked), events),
        }
    }

    /// Sets of events are exchanged for larger ones and for clocks on the way, and what was seen is
    /// not shown again.
    #[test]
    fn long_executions_are_watched_as_short_ones_are() {
        for monitored_model in [
            MonitoredModel::Tso,
            MonitoredModel::Pso(LockedDrains::Everything),
            MonitoredModel::Pso(LockedDrains::OwnAddress),
        ] {
            let mut random = Random::new(33);
            let mut kinds = [0; 3];
            for round in 0..400 {
                let mut monitor = MonitorFeed::new(monitored_model, usize::MAX);
                let mut events: Events = Events::new();
                let mut seen: Vec<(Violation, usize)> = Vec::new();
                // Back and forth with one monitor, which keeps the room that it has got.
                for _ in 0..3 {
                    let length = [10, 15, 20, 60, 150, 300][random.below(6) as usize];
                    let left = random.below(events.len() as u64 + 1) as usize;
                    monitor.keep(left);
                    let accesses: usize = events[..left].iter().map(|(a, _)| a.len()).sum();
                    seen.retain(|&(_, end)| end <= accesses);
                    events.truncate(left);
                    events.extend(match left {
                        0 => random_events_of(length, &mut random, true),
                        // Who was made, and by whom, is not known here.
                        _ => plain_events(length, &mut random),
                    });
                    for (accesses, is_inert) in &events[left..] {
                        let found = |violation: &Violation, at: Seen<'_>| {
                            seen.push((at.among_all(violation), at.accesses.len()));
                        };
                        monitor
                            .add(accesses, *is_inert, found)
                            .expect("enough memory");
                    }
                    assert_eq!(
                        seen,
                        by_clocks(monitored_model, &events),
                        "{monitored_model:?}, {round}"
                    );
                }
                match monitor.inner {
                    Inner::Nothing => {}
                    Inner::Short(_) => kinds[0] += 1,
                    Inner::Longer(_) => kinds[1] += 1,
                    Inner::Tso(_) | Inner::Pso(_) => kinds[2] += 1,
                }
            }
            assert!(kinds.iter().all(|&count| count > 10), "{kinds:?}");
        }
    }

    /// Who has no memory for an event has seen nothing of it, when there is some again.
    #[test]
    fn an_event_that_there_is_no_memory_for_is_not_half_seen() {
        let (one, two) = (ThreadId(0), ThreadId(1));
        let (x, y, far) = (Address(0), Address(1), Address(1000));
        let store = Access::new(one, Operation::Store(x));
        let (load, elsewhere) = (
            Access::new(one, Operation::Load(y)),
            Access::new(two, Operation::Store(far)),
        );
        let mut monitor = MonitorFeed::new(MonitoredModel::Tso, 1 << 14);
        let nothing = |_: &Violation, _: Seen<'_>| panic!("there is no violation");
        let refused = monitor.add(&[store, load, elsewhere], false, nothing);
        assert!(refused.is_err());
        monitor.clear();
        // With what was seen of the event, the second load would not be the first event of its
        // thread.
        let mut found = Vec::new();
        for access in [
            store,
            load,
            Access::new(two, Operation::Store(y)),
            Access::new(two, Operation::Load(x)),
        ] {
            let add = |violation: &Violation, _: Seen<'_>| found.push(*violation);
            monitor.add(&[access], false, add).expect("enough memory");
        }
        let [violation] = found[..] else {
            panic!("{found:?}");
        };
        let places = [violation.pending, violation.last, violation.event].map(|p| p.position);
        assert_eq!(places, [0, 2, 3]);
    }

    /// Accesses of five threads to two addresses.
    fn plain_events(length: usize, random: &mut Random) -> Events {
        let access = |random: &mut Random| {
            let kind = [OperationKind::Load, OperationKind::Store][random.below(2) as usize];
            let thread = ThreadId(random.below(5) as u32);
            Access::new(thread, kind.at(Address(random.below(ADDRESSES) as u32)))
        };
        let events = (0..length).map(|_| (vec![access(random)], false));
        events.collect()
    }

    #[test]
    fn going_back_over_what_is_inert_leads_to_the_same() {
        let mut random = Random::new(32);
        for _ in 0..3000 {
            let events = random_events(&mut random, true);
            let mut monitor = MonitorFeed::new(MonitoredModel::Tso, usize::MAX);
            for (accesses, is_inert) in &events {
                let added = monitor.add(accesses, *is_inert, |_, _| {});
                added.expect("enough memory");
            }
            let back = random.below(events.len() as u64 + 1) as usize;
            monitor.keep(back);
            let mut again = Vec::new();
            for (accesses, is_inert) in &events[back..] {
                let found = |violation: &Violation, seen: Seen<'_>| {
                    again.push((seen.among_all(violation), seen.accesses.len()));
                };
                monitor
                    .add(accesses, *is_inert, found)
                    .expect("enough memory");
            }
            let before: usize = events[..back].iter().map(|(a, _)| a.len()).sum();
            let mut all = violations(MonitoredModel::Tso, &events);
            all.retain(|&(_, end)| end > before);
            assert_eq!(again, all);
        }
    }
}
