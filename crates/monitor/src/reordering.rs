//! Whether any event of an interleaving may have passed an earlier store of its thread.
//!
//! As long as none may, relaxed happens-before is happens-before: every program-order pair is
//! kept, directly or through a barrier between, and a load that reads its own thread's store
//! comes after whatever that store comes after. So there is nothing for a monitor to see, and it
//! need not be fed. An explorer, which runs a great many executions of which only some have
//! such an event, saves most of the monitor's work that way.

use fencepost_memory::{Access, Address, MemoryModel, Operation};

use crate::journal::{FIRST_EVENTS, FIRST_THREADS};

/// The stores that a thread may still have in its buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Buffered {
    /// There may be some.
    any: bool,
    /// There may be some that no store-store barrier has followed.
    unbarred: bool,
}

/// Looks for the first event that may have passed an earlier store of its thread. It keeps a
/// journal always: a byte or two per event.
#[derive(Clone, Debug)]
pub struct ReorderingDetector {
    stores_in_order: bool,
    locked_waits_for_all: bool,
    threads: Vec<Buffered>,
    /// For each event up to the first that may have passed one, its thread and what that thread had
    /// buffered before. What comes later is not looked at.
    journal: Vec<(u32, Buffered)>,
    /// How many events there were up to the first that may have passed one, with it.
    first: Option<usize>,
}

impl ReorderingDetector {
    /// Nothing has happened yet. What the model keeps is asked of the model.
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

    /// The next event.
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
        let (may_pass, after) = self.judge(before, access.operation);
        self.threads[thread] = after;
        if may_pass {
            self.first = Some(self.journal.len());
        }
    }

    /// Whether an operation may pass what is buffered, and what is buffered after it.
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

    /// Whether an event may have passed an earlier store of its thread.
    #[inline]
    pub fn may_have_reordered(&self) -> bool {
        self.first.is_some()
    }

    /// Goes back to where so many events had been observed.
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

    /// No monitor sees anything before the first event that may have passed a store; and of the
    /// interleavings that are seen as wrong, some are so right at it.
    fn is_not_too_late<M: Monitor>(new: impl Fn() -> M) {
        let model = new().model();
        let mut random = Random::new(11);
        let (mut calm, mut seen) = (0, 0);
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
                seen += u32::from(violation.is_some());
            }
            calm += u32::from(!reordering.may_have_reordered());
        }
        assert!(seen > 500 && calm > 1000, "{seen} seen, {calm} calm");
    }

    #[test]
    fn nothing_is_seen_before_an_event_may_have_passed_a_store() {
        is_not_too_late(RelaxedOrderMonitor::tso);
        is_not_too_late(|| RelaxedOrderMonitor::pso(LockedDrains::Everything));
        is_not_too_late(|| RelaxedOrderMonitor::pso(LockedDrains::OwnAddress));
    }

    #[test]
    fn going_back_is_as_if_nothing_had_happened() {
        let mut random = Random::new(12);
        for _ in 0..2000 {
            let mut gone_back = ReorderingDetector::new(MemoryModel::PSO_OWN_ADDRESS);
            let mut accesses: Vec<Access> = Vec::new();
            for _ in 0..10 {
                for _ in 0..random.below(6) {
                    accesses.push(random_access(&mut random));
                    gone_back.observe(accesses.last().expect("just pushed"));
                }
                let left = random.below(accesses.len() as u64 + 1) as usize;
                accesses.truncate(left);
                gone_back.rewind_to(left);
            }
            let mut fresh = ReorderingDetector::new(MemoryModel::PSO_OWN_ADDRESS);
            accesses.iter().for_each(|access| fresh.observe(access));
            assert_eq!(gone_back.first, fresh.first);
            assert_eq!(gone_back.journal, fresh.journal);
        }
    }
}
