//! Whether an event of an interleaving may have been reordered with an earlier store of its thread.
//!
//! As long as none may, relaxed happens-before is happens-before: every program-order pair is kept,
//! directly or through a barrier between, and a load that reads its own thread's store comes after
//! whatever that store comes after. So there are no violations, and the monitor need not observe
//! anything. An explorer runs many executions, of which only some have such an event, and saves
//! most of the monitor's work that way.

use fencepost_memory::{Access, Address, MemoryModel, Operation};

use crate::journal::{FIRST_EVENTS, FIRST_THREADS};

/// What a thread may still have in its store buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Buffered {
    /// There may be stores.
    any: bool,
    /// There may be stores that no store-store barrier has followed.
    unbarred: bool,
}

/// Finds the first event that may have been reordered with an earlier store of its thread. It
/// always keeps a journal of a few bytes per event.
#[derive(Clone, Debug)]
pub struct ReorderingDetector {
    stores_in_order: bool,
    locked_waits_for_all: bool,
    threads: Vec<Buffered>,
    /// For each event up to the first reordered one, its thread and what that thread had buffered
    /// before. Later events are not examined.
    journal: Vec<(u32, Buffered)>,
    /// The number of events up to and including the first reordered one.
    first: Option<usize>,
}

impl ReorderingDetector {
    /// A detector for a model, before any event.
    pub fn new(model: MemoryModel) -> Self {
        let store = Operation::Store(Address(0));
        let other = Address(1);
        ReorderingDetector {
            stores_in_order: model.keeps(store, Operation::Store(other), false),
            locked_waits_for_all: model.keeps(store, Operation::LockedLoad(other), false),
            threads: Vec::with_capacity(FIRST_THREADS),
            journal: Vec::with_capacity(FIRST_EVENTS),
            first: None,
        }
    }

    /// Observes the next event.
    #[inline]
    pub fn observe(&mut self, access: &Access) {
        if self.first.is_some() {
            return;
        }
        let thread = access.thread.index();
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, Buffered::default());
        }
        let before = self.threads[thread];
        self.journal.push((thread as u32, before));
        let (may_reorder, after) = self.judge(before, access.operation);
        self.threads[thread] = after;
        if may_reorder {
            self.first = Some(self.journal.len());
        }
    }

    /// Whether an operation may be reordered with what is buffered, and what is buffered after it.
    #[inline]
    fn judge(&self, before: Buffered, operation: Operation) -> (bool, Buffered) {
        match operation {
            Operation::Load(_) => (before.any, before),
            Operation::Store(_) => {
                let after = Buffered {
                    any: true,
                    unbarred: true,
                };
                (before.unbarred && !self.stores_in_order, after)
            }
            Operation::LockedLoad(_) | Operation::LockedStore(_) | Operation::Interlocked(_) => {
                if self.locked_waits_for_all {
                    (false, Buffered::default())
                } else {
                    (before.unbarred, before)
                }
            }
            Operation::Fence => (false, Buffered::default()),
            Operation::StoreBarrier => {
                let after = Buffered {
                    unbarred: false,
                    ..before
                };
                (false, after)
            }
        }
    }

    /// Whether an event may have been reordered with an earlier store of its thread.
    #[inline]
    pub fn may_have_reordered(&self) -> bool {
        self.first.is_some()
    }

    /// Rewinds to the first `events` events.
    #[inline]
    pub fn rewind_to(&mut self, events: usize) {
        while self.journal.len() > events {
            let (thread, before) = self.journal.pop().expect("it is longer");
            self.threads[thread as usize] = before;
        }
        self.first = self.first.filter(|&first| first <= events);
    }
}

#[cfg(test)]
mod tests {
    use fencepost_memory::{LockedDrains, OperationKind, Random, ThreadId};

    use super::*;
    use crate::monitor::Monitor;
    use crate::relaxed_order::RelaxedOrderMonitor;
    use crate::runner::MonitorRunner;

    fn random_access(random: &mut Random) -> Access {
        let kind = OperationKind::ALL[random.below(OperationKind::ALL.len() as u64) as usize];
        let thread = ThreadId(random.below(3) as u32);
        Access::new(thread, kind.at(Address(random.below(3) as u32)))
    }

    /// No monitor reports anything before the first event that may have been reordered; and some
    /// violations are reported right at it.
    fn is_not_too_late<M: Monitor>(new: impl Fn() -> M) {
        let model = new().model();
        let mut random = Random::new(11);
        let (mut in_order, mut reported) = (0, 0);
        for number in 0..20_000 {
            let mut runner = MonitorRunner::new(new());
            let mut reordering = ReorderingDetector::new(model);
            for _ in 0..24 {
                let access = random_access(&mut random);
                reordering.observe(&access);
                let violation = runner.observe(access).expect("enough memory");
                assert!(
                    violation.is_none() || reordering.may_have_reordered(),
                    "interleaving {number}: {violation:?}"
                );
                reported += u32::from(violation.is_some());
            }
            in_order += u32::from(!reordering.may_have_reordered());
        }
        assert!(
            reported > 500 && in_order > 1000,
            "{reported} reported, {in_order} in order"
        );
    }

    #[test]
    fn nothing_is_reported_before_an_event_may_have_been_reordered() {
        is_not_too_late(RelaxedOrderMonitor::tso);
        is_not_too_late(|| RelaxedOrderMonitor::pso(LockedDrains::Everything));
        is_not_too_late(|| RelaxedOrderMonitor::pso(LockedDrains::OwnAddress));
    }

    #[test]
    fn rewinding_restores_the_state() {
        let mut random = Random::new(12);
        for _ in 0..2000 {
            let mut rewound = ReorderingDetector::new(MemoryModel::PSO_OWN_ADDRESS);
            let mut accesses: Vec<Access> = Vec::new();
            for _ in 0..10 {
                for _ in 0..random.below(6) {
                    accesses.push(random_access(&mut random));
                    rewound.observe(accesses.last().expect("just pushed"));
                }
                let left = random.below(accesses.len() as u64 + 1) as usize;
                accesses.truncate(left);
                rewound.rewind_to(left);
            }
            let mut fresh = ReorderingDetector::new(MemoryModel::PSO_OWN_ADDRESS);
            accesses.iter().for_each(|access| fresh.observe(access));
            assert_eq!(rewound.first, fresh.first);
            assert_eq!(rewound.journal, fresh.journal);
        }
    }
}
