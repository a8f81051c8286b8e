//! A monitor over an interleaving that is extended step by step and rewound, for an explorer.
//!
//! An explorer runs executions that share prefixes. A [`RewindingMonitor`] keeps the accesses of
//! the current interleaving, step by step; when the explorer rewinds the end of an execution, the
//! monitor rewinds too, and observes only what is new. It chooses the implementation that is
//! cheapest:
//!
//! - It observes nothing until an event may have been reordered with an earlier store of its thread
//!   ([`ReorderingDetector`]); before that there is nothing to find. Then it catches up.
//! - It starts with sets of events ([`BitsetMonitor`]), for up to 64 and then up to 256 accesses.
//!   Longer interleavings use clocks with a journal ([`MonitorRunner::rewindable`]). It never goes
//!   back to a smaller implementation.
//! - It skips steps that order nothing: mostly the spawns of threads that have done nothing before.
//!   Nothing happens before those, in relaxed happens-before or not, so all other orders are the
//!   same without them.

use fencepost_memory::{Access, Event, IssueIndex, LockedDrains, MemoryModel};

use crate::bitset::BitsetMonitor;
use crate::clocks::{SharedClocks, SparseClocks};
use crate::journal::{FIRST_EVENTS, Rewind};
use crate::monitor::Monitor;
use crate::relaxed_order::{ByAddress, ByWriter, RelaxedOrderMonitor};
use crate::reordering::ReorderingDetector;
use crate::runner::{MemoryLimitExceeded, MonitorLimits, MonitorRunner, RunnerMark};
use crate::violation::{PlacedEvent, Violation};

/// The memory model whose violations an explorer looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonitoredModel {
    /// Sequential consistency: there is no monitor.
    None,
    /// Total store order.
    Tso,
    /// Partial store order.
    Pso(LockedDrains),
}

impl MonitoredModel {
    /// The memory model; SC if there is no monitor.
    pub fn model(self) -> MemoryModel {
        match self {
            MonitoredModel::None => MemoryModel::SC,
            MonitoredModel::Tso => MemoryModel::TSO,
            MonitoredModel::Pso(LockedDrains::Everything) => MemoryModel::PSO,
            MonitoredModel::Pso(LockedDrains::OwnAddress) => MemoryModel::PSO_OWN_ADDRESS,
        }
    }
}

/// The end of a step among the accesses of an interleaving.
#[derive(Clone, Copy, Default, Debug)]
struct StepEnd {
    /// The number of accesses up to the end of the step.
    accesses: u32,
    /// How many of them are skipped. A step is skipped as a whole or not at all.
    skipped: u32,
}

impl StepEnd {
    /// The number of accesses up to the end of the step that the monitor observes.
    #[inline]
    fn observed(self) -> usize {
        (self.accesses - self.skipped) as usize
    }
}

/// The interleaving up to a violation.
#[derive(Clone, Copy, Debug)]
pub struct ObservedPrefix<'a> {
    accesses: &'a [Access],
    steps: &'a [StepEnd],
}

impl<'a> ObservedPrefix<'a> {
    /// All accesses, including those that the monitor skipped.
    pub fn accesses(self) -> &'a [Access] {
        self.accesses
    }

    /// The accesses that the monitor observed.
    pub fn observed(self) -> Vec<Access> {
        let mut before = StepEnd::default();
        let mut observed = Vec::with_capacity(self.accesses.len());
        for &end in self.steps {
            if end.skipped == before.skipped {
                let range = before.accesses as usize..end.accesses as usize;
                observed.extend(self.accesses.iter().take(range.end).skip(range.start));
            }
            before = end;
        }
        observed
    }

    /// Translates a violation, whose events have positions among the observed accesses, to
    /// positions among all accesses.
    pub fn among_all(self, violation: &Violation) -> Violation {
        Violation {
            model: violation.model,
            pending: self.translate(violation.pending),
            last: self.translate(violation.last),
            event: self.translate(violation.event),
        }
    }

    /// The number of the step of an access, given its position among the observed accesses.
    pub fn step_of(self, position: u64) -> usize {
        self.steps
            .partition_point(|end| end.observed() as u64 <= position)
    }

    /// The number of the step of an access, given its position among all accesses.
    pub fn step_of_any(self, position: usize) -> usize {
        self.steps
            .partition_point(|end| end.accesses as usize <= position)
    }

    fn translate(self, placed: PlacedEvent) -> PlacedEvent {
        let skipped = self.steps[self.step_of(placed.position)].skipped;
        let position = placed.position + u64::from(skipped);
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

/// One implementation of the monitor.
trait Rewindable {
    /// Whether there is no room for another access.
    fn is_full(&self) -> bool;

    /// Observes the next access.
    fn observe(&mut self, access: &Access) -> Result<Option<Violation>, MemoryLimitExceeded>;

    /// Ends a step, all accesses of which were observed.
    fn end_step(&mut self);

    /// Rewinds to where this many steps with this many accesses had been observed. Returns false if
    /// it has rewound to the beginning instead.
    fn rewind(&mut self, steps: usize, accesses: usize) -> bool;
}

impl<const N: usize> Rewindable for BitsetMonitor<N> {
    #[inline]
    fn is_full(&self) -> bool {
        self.is_full()
    }

    #[inline]
    fn observe(&mut self, access: &Access) -> Result<Option<Violation>, MemoryLimitExceeded> {
        self.observe(access)
    }

    #[inline]
    fn end_step(&mut self) {}

    #[inline]
    fn rewind(&mut self, _steps: usize, accesses: usize) -> bool {
        self.rewind(accesses);
        true
    }
}

/// A runner with a mark after each step.
struct MarkedRunner<M: Monitor> {
    runner: MonitorRunner<M, SharedClocks>,
    marks: Vec<RunnerMark>,
}

impl<M: Monitor + Rewind> MarkedRunner<M> {
    fn new(monitor: M, memory: usize) -> Self {
        let limits = MonitorLimits {
            witness_window: 0,
            memory,
        };
        MarkedRunner {
            runner: MonitorRunner::rewindable(monitor, limits),
            marks: Vec::new(),
        }
    }
}

impl<M: Monitor + Rewind> Rewindable for MarkedRunner<M> {
    #[inline]
    fn is_full(&self) -> bool {
        false
    }

    #[inline]
    fn observe(&mut self, access: &Access) -> Result<Option<Violation>, MemoryLimitExceeded> {
        self.runner.observe(*access)
    }

    #[inline]
    fn end_step(&mut self) {
        self.marks.push(self.runner.mark());
    }

    fn rewind(&mut self, steps: usize, _accesses: usize) -> bool {
        self.marks.truncate(steps);
        if let Some(&mark) = self.marks.last() {
            if self.runner.rewind(mark) {
                return true;
            }
        }
        // The journal does not reach back far enough, or nothing is left. The monitor catches up
        // from the beginning when it is needed.
        self.runner.reset();
        self.marks.clear();
        false
    }
}

/// A monitor, and how many steps it has observed.
struct Progressed<R> {
    monitor: R,
    steps: usize,
}

/// The monitor has no room for the access at this position.
struct Full(usize);

impl<R: Rewindable> Progressed<R> {
    fn new(monitor: R) -> Self {
        Progressed { monitor, steps: 0 }
    }

    /// Observes the accesses of the steps that it has not observed yet. `steps` and `accesses` are
    /// those of the whole interleaving.
    #[inline]
    fn catch_up(
        &mut self,
        steps: &[StepEnd],
        accesses: &[Access],
        mut on_violation: impl FnMut(usize, Violation),
    ) -> Result<Result<(), Full>, MemoryLimitExceeded> {
        let mut before = match self.steps {
            0 => StepEnd::default(),
            steps_observed => steps[steps_observed - 1],
        };
        for &end in &steps[self.steps..] {
            if end.skipped == before.skipped {
                for at in before.accesses as usize..end.accesses as usize {
                    if self.monitor.is_full() {
                        return Ok(Err(Full(at)));
                    }
                    match self.monitor.observe(&accesses[at]) {
                        Ok(None) => {}
                        Ok(Some(violation)) => on_violation(at, violation),
                        Err(error) => {
                            // It may have observed a part of the step.
                            self.monitor.rewind(0, 0);
                            self.steps = 0;
                            return Err(error);
                        }
                    }
                }
            }
            self.monitor.end_step();
            self.steps += 1;
            before = end;
        }
        Ok(Ok(()))
    }

    /// Rewinds to at most this many steps with this many observed accesses.
    fn rewind(&mut self, steps: usize, accesses: usize) {
        if self.steps > steps {
            let is_rewound = self.monitor.rewind(steps, accesses);
            self.steps = if is_rewound { steps } else { 0 };
        }
    }
}

/// The implementations, from the smallest.
enum Implementation {
    Off,
    Small(Progressed<BitsetMonitor<1>>),
    Medium(Progressed<BitsetMonitor<4>>),
    TsoClocks(Progressed<MarkedRunner<RelaxedOrderMonitor<ByWriter, SharedClocks>>>),
    PsoClocks(Progressed<MarkedRunner<RelaxedOrderMonitor<ByAddress, SparseClocks>>>),
}

impl Implementation {
    /// Replaces the implementation by the next larger one.
    #[cold]
    fn grow(&mut self, monitored_model: MonitoredModel, memory: usize) {
        *self = match (&self, monitored_model) {
            (Implementation::Off, _) | (_, MonitoredModel::None) => Implementation::Off,
            (Implementation::Small(_), _) => {
                let monitor = BitsetMonitor::new(monitored_model.model(), memory);
                Implementation::Medium(Progressed::new(monitor))
            }
            (_, MonitoredModel::Tso) => {
                let monitor = RelaxedOrderMonitor::tso_for_short_interleavings();
                let runner = MarkedRunner::new(monitor, memory);
                Implementation::TsoClocks(Progressed::new(runner))
            }
            (_, MonitoredModel::Pso(locked)) => {
                let runner = MarkedRunner::new(RelaxedOrderMonitor::pso(locked), memory);
                Implementation::PsoClocks(Progressed::new(runner))
            }
        };
    }
}

/// A monitor over an interleaving that is extended step by step and rewound.
pub struct RewindingMonitor {
    monitored_model: MonitoredModel,
    memory: usize,
    implementation: Implementation,
    detector: ReorderingDetector,
    /// The number of accesses whose violations were reported. When the monitor observes them again,
    /// it does not report them again.
    reported: usize,
    accesses: Vec<Access>,
    steps: Vec<StepEnd>,
}

impl RewindingMonitor {
    /// A monitor of an empty interleaving, which may use this many bytes.
    pub fn new(monitored_model: MonitoredModel, memory: usize) -> Self {
        let implementation = match monitored_model {
            MonitoredModel::None => Implementation::Off,
            _ => {
                let monitor = BitsetMonitor::new(monitored_model.model(), memory);
                Implementation::Small(Progressed::new(monitor))
            }
        };
        RewindingMonitor {
            monitored_model,
            memory,
            implementation,
            detector: ReorderingDetector::new(monitored_model.model()),
            reported: 0,
            accesses: Vec::with_capacity(FIRST_EVENTS),
            steps: Vec::with_capacity(FIRST_EVENTS),
        }
    }

    /// The model whose violations it finds.
    pub fn monitored_model(&self) -> MonitoredModel {
        self.monitored_model
    }

    /// All accesses of the interleaving, including skipped ones.
    #[inline]
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// The accesses of a step. None if the interleaving has no such step.
    pub fn accesses_of_step(&self, step: usize) -> &[Access] {
        let end_of = |step: usize| self.steps.get(step).map_or(0, |end| end.accesses as usize);
        let from = step.checked_sub(1).map_or(0, end_of);
        self.accesses.get(from..end_of(step)).unwrap_or_default()
    }

    /// The interleaving up to a violation, which [`push_step`](Self::push_step) has found in it.
    pub fn prefix_of(&self, violation: &Violation) -> ObservedPrefix<'_> {
        let whole = ObservedPrefix {
            accesses: &self.accesses,
            steps: &self.steps,
        };
        let last = whole.translate(violation.event).position as usize;
        ObservedPrefix {
            accesses: &self.accesses[..=last],
            ..whole
        }
    }

    /// The number of steps of the interleaving.
    #[inline]
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// Rewinds to the first `steps` steps.
    pub fn rewind(&mut self, steps: usize) {
        self.steps.truncate(steps);
        let end = self.steps.last().copied().unwrap_or_default();
        let accesses = end.accesses as usize;
        self.accesses.truncate(accesses);
        self.reported = self.reported.min(accesses);
        match &mut self.implementation {
            Implementation::Off => return,
            Implementation::Small(monitor) => monitor.rewind(steps, end.observed()),
            Implementation::Medium(monitor) => monitor.rewind(steps, end.observed()),
            Implementation::TsoClocks(monitor) => monitor.rewind(steps, end.observed()),
            Implementation::PsoClocks(monitor) => monitor.rewind(steps, end.observed()),
        }
        self.detector.rewind_to(end.observed());
    }

    /// Adds a step with these accesses. If `is_unordered`, the accesses order nothing that other
    /// threads can notice, and the monitor skips them.
    ///
    /// Calls `on_violation` for each violation that the step shows, with the interleaving up to it.
    /// The positions of the violation are among the observed accesses: see
    /// [`ObservedPrefix::among_all`].
    ///
    /// # Errors
    /// If the monitor needs more memory than allowed. It has observed nothing of the step then.
    #[inline]
    pub fn push_step(
        &mut self,
        accesses: &[Access],
        is_unordered: bool,
        on_violation: impl FnMut(&Violation, ObservedPrefix<'_>),
    ) -> Result<(), MemoryLimitExceeded> {
        match accesses {
            // Mostly there is one, which needs no call that copies memory.
            [access] => self.accesses.push(*access),
            _ => self.accesses.extend_from_slice(accesses),
        }
        let skipped = self.steps.last().map_or(0, |end| end.skipped);
        self.steps.push(StepEnd {
            accesses: self.accesses.len() as u32,
            skipped: skipped
                + if is_unordered {
                    accesses.len() as u32
                } else {
                    0
                },
        });
        if is_unordered || matches!(self.implementation, Implementation::Off) {
            return Ok(());
        }
        accesses.iter().for_each(|a| self.detector.observe(a));
        if !self.detector.may_have_reordered() {
            return Ok(());
        }
        self.catch_up(on_violation)
    }

    /// Observes the steps that have not been observed.
    #[inline(never)]
    fn catch_up(
        &mut self,
        mut on_violation: impl FnMut(&Violation, ObservedPrefix<'_>),
    ) -> Result<(), MemoryLimitExceeded> {
        let (steps, all) = (&self.steps, &self.accesses);
        let mut reported = std::mem::replace(&mut self.reported, all.len());
        loop {
            let report = |at: usize, violation: Violation| {
                if at >= reported {
                    let accesses = &all[..=at];
                    on_violation(&violation, ObservedPrefix { accesses, steps });
                }
            };
            let caught_up = match &mut self.implementation {
                Implementation::Off => return Ok(()),
                Implementation::Small(monitor) => monitor.catch_up(steps, all, report),
                Implementation::Medium(monitor) => monitor.catch_up(steps, all, report),
                Implementation::TsoClocks(monitor) => monitor.catch_up(steps, all, report),
                Implementation::PsoClocks(monitor) => monitor.catch_up(steps, all, report),
            };
            match caught_up? {
                Ok(()) => return Ok(()),
                Err(Full(at)) => reported = reported.max(at),
            }
            self.implementation.grow(self.monitored_model, self.memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use fencepost_memory::{Address, Operation, OperationKind, Random, ThreadId};

    use super::*;

    /// An interleaving in steps, each with its accesses and whether they are unordered.
    type Steps = Vec<(Vec<Access>, bool)>;

    const ADDRESSES: u64 = 2;

    /// Threads that spawn others and access two addresses. The object of a spawn is above those.
    /// If `only_unordered`, spawns are called unordered only if they are; else all of them are.
    fn random_steps(random: &mut Random, only_unordered: bool) -> Steps {
        random_steps_of(24, random, only_unordered)
    }

    fn random_steps_of(length: usize, random: &mut Random, only_unordered: bool) -> Steps {
        let mut has_done_nothing = vec![true];
        let mut steps = Steps::new();
        for _ in 0..length {
            let thread = random.below(has_done_nothing.len() as u64) as usize;
            let id = ThreadId(thread as u32);
            if random.below(3) == 0 && has_done_nothing.len() < 5 {
                let child = has_done_nothing.len();
                let object = Address(ADDRESSES as u32 + child as u32);
                let spawn = Access::new(id, Operation::LockedStore(object));
                let begin = Access::new(ThreadId(child as u32), Operation::LockedLoad(object));
                let is_unordered = has_done_nothing[thread] || !only_unordered;
                steps.push((vec![spawn, begin], is_unordered));
                has_done_nothing.push(has_done_nothing[thread]);
            } else {
                // Mostly plain accesses: the others rule violations out.
                let kind = match random.below(8) {
                    0 => OperationKind::ALL[random.below(OperationKind::ALL.len() as u64) as usize],
                    number if number % 2 == 0 => OperationKind::Load,
                    _ => OperationKind::Store,
                };
                let access = Access::new(id, kind.at(Address(random.below(ADDRESSES) as u32)));
                steps.push((vec![access], false));
                has_done_nothing[thread] = false;
            }
        }
        steps
    }

    fn violations(
        monitored_model: MonitoredModel,
        steps: &[(Vec<Access>, bool)],
    ) -> Vec<(Violation, usize)> {
        let mut monitor = RewindingMonitor::new(monitored_model, usize::MAX);
        let mut all = Vec::new();
        for (accesses, is_unordered) in steps {
            let on_violation = |violation: &Violation, prefix: ObservedPrefix<'_>| {
                all.push((prefix.among_all(violation), prefix.accesses().len()));
            };
            monitor
                .push_step(accesses, *is_unordered, on_violation)
                .expect("enough memory");
        }
        all
    }

    /// How many interleavings have violations, and in how many the violations differ if steps that
    /// are called unordered are skipped.
    fn compare(monitored_model: MonitoredModel, only_unordered: bool) -> (u32, u32) {
        let mut random = Random::new(31);
        let (mut wrong, mut different) = (0, 0);
        for _ in 0..8_000 {
            let steps = random_steps(&mut random, only_unordered);
            let observed: Steps = steps.iter().map(|(a, _)| (a.clone(), false)).collect();
            let all = violations(monitored_model, &observed);
            wrong += u32::from(!all.is_empty());
            different += u32::from(all != violations(monitored_model, &steps));
        }
        (wrong, different)
    }

    #[test]
    fn skipping_unordered_steps_changes_no_violation() {
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
                "a spawn by a thread that has done something is not unordered: {different}"
            );
        }
    }

    /// The violations that a runner with clocks finds when it observes everything.
    fn by_clocks(monitored_model: MonitoredModel, steps: &Steps) -> Vec<(Violation, usize)> {
        fn monitor<M: Monitor>(monitor: M, steps: &Steps) -> Vec<(Violation, usize)> {
            let mut runner = MonitorRunner::new(monitor);
            let mut all = Vec::new();
            for &access in steps.iter().flat_map(|(accesses, _)| accesses) {
                let violation = runner.observe(access).expect("enough memory");
                all.extend(violation.map(|violation| (violation, runner.events() as usize)));
            }
            all
        }
        match monitored_model {
            MonitoredModel::None => Vec::new(),
            MonitoredModel::Tso => monitor(RelaxedOrderMonitor::tso(), steps),
            MonitoredModel::Pso(locked) => monitor(RelaxedOrderMonitor::pso(locked), steps),
        }
    }

    /// The implementation grows on the way, and violations are not reported twice.
    #[test]
    fn long_interleavings_have_the_same_violations() {
        for monitored_model in [
            MonitoredModel::Tso,
            MonitoredModel::Pso(LockedDrains::Everything),
            MonitoredModel::Pso(LockedDrains::OwnAddress),
        ] {
            let mut random = Random::new(33);
            let mut kinds = [0; 3];
            for round in 0..400 {
                let mut monitor = RewindingMonitor::new(monitored_model, usize::MAX);
                let mut steps: Steps = Steps::new();
                let mut found: Vec<(Violation, usize)> = Vec::new();
                // Back and forth with one monitor, which keeps its implementation.
                for _ in 0..3 {
                    let length = [10, 15, 20, 60, 150, 300][random.below(6) as usize];
                    let left = random.below(steps.len() as u64 + 1) as usize;
                    monitor.rewind(left);
                    let accesses: usize = steps[..left].iter().map(|(a, _)| a.len()).sum();
                    found.retain(|&(_, end)| end <= accesses);
                    steps.truncate(left);
                    steps.extend(match left {
                        0 => random_steps_of(length, &mut random, true),
                        // Which threads were spawned is not known here.
                        _ => plain_steps(length, &mut random),
                    });
                    for (accesses, is_unordered) in &steps[left..] {
                        let on_violation = |violation: &Violation, prefix: ObservedPrefix<'_>| {
                            found.push((prefix.among_all(violation), prefix.accesses().len()));
                        };
                        monitor
                            .push_step(accesses, *is_unordered, on_violation)
                            .expect("enough memory");
                    }
                    assert_eq!(
                        found,
                        by_clocks(monitored_model, &steps),
                        "{monitored_model:?}, {round}"
                    );
                }
                match monitor.implementation {
                    Implementation::Off => {}
                    Implementation::Small(_) => kinds[0] += 1,
                    Implementation::Medium(_) => kinds[1] += 1,
                    Implementation::TsoClocks(_) | Implementation::PsoClocks(_) => kinds[2] += 1,
                }
            }
            assert!(kinds.iter().all(|&count| count > 10), "{kinds:?}");
        }
    }

    /// A step that exceeded the memory limit is not half observed afterwards.
    #[test]
    fn a_step_that_exceeds_the_memory_limit_is_not_observed() {
        let (one, two) = (ThreadId(0), ThreadId(1));
        let (x, y, far) = (Address(0), Address(1), Address(1000));
        let store = Access::new(one, Operation::Store(x));
        let (load, elsewhere) = (
            Access::new(one, Operation::Load(y)),
            Access::new(two, Operation::Store(far)),
        );
        let mut monitor = RewindingMonitor::new(MonitoredModel::Tso, 1 << 14);
        let nothing = |_: &Violation, _: ObservedPrefix<'_>| panic!("there is no violation");
        let refused = monitor.push_step(&[store, load, elsewhere], false, nothing);
        assert!(refused.is_err());
        monitor.rewind(0);
        // With a part of that step, the second load would not be the first event of its thread.
        let mut found = Vec::new();
        for access in [
            store,
            load,
            Access::new(two, Operation::Store(y)),
            Access::new(two, Operation::Load(x)),
        ] {
            let add = |violation: &Violation, _: ObservedPrefix<'_>| found.push(*violation);
            monitor
                .push_step(&[access], false, add)
                .expect("enough memory");
        }
        let [violation] = found[..] else {
            panic!("{found:?}");
        };
        let positions = [violation.pending, violation.last, violation.event].map(|p| p.position);
        assert_eq!(positions, [0, 2, 3]);
    }

    /// Accesses of five threads to two addresses.
    fn plain_steps(length: usize, random: &mut Random) -> Steps {
        let access = |random: &mut Random| {
            let kind = [OperationKind::Load, OperationKind::Store][random.below(2) as usize];
            let thread = ThreadId(random.below(5) as u32);
            Access::new(thread, kind.at(Address(random.below(ADDRESSES) as u32)))
        };
        let steps = (0..length).map(|_| (vec![access(random)], false));
        steps.collect()
    }

    #[test]
    fn rewinding_over_unordered_steps_has_no_effect() {
        let mut random = Random::new(32);
        for _ in 0..3000 {
            let steps = random_steps(&mut random, true);
            let mut monitor = RewindingMonitor::new(MonitoredModel::Tso, usize::MAX);
            for (accesses, is_unordered) in &steps {
                let added = monitor.push_step(accesses, *is_unordered, |_, _| {});
                added.expect("enough memory");
            }
            let back = random.below(steps.len() as u64 + 1) as usize;
            monitor.rewind(back);
            let mut again = Vec::new();
            for (accesses, is_unordered) in &steps[back..] {
                let on_violation = |violation: &Violation, prefix: ObservedPrefix<'_>| {
                    again.push((prefix.among_all(violation), prefix.accesses().len()));
                };
                monitor
                    .push_step(accesses, *is_unordered, on_violation)
                    .expect("enough memory");
            }
            let before: usize = steps[..back].iter().map(|(a, _)| a.len()).sum();
            let mut all = violations(MonitoredModel::Tso, &steps);
            all.retain(|&(_, end)| end > before);
            assert_eq!(again, all);
        }
    }
}
