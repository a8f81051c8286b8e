//! Rewinding: an explorer rewinds the end of an execution and continues differently, and the
//! monitor with it.
//!
//! A journal records each change with the old value. It grows with the interleaving, so it is kept
//! only on request.

/// The numbers of events, threads and addresses for which memory is allocated in advance: small
/// programs have no more.
pub(crate) const FIRST_EVENTS: usize = 64;
pub(crate) const FIRST_THREADS: usize = 8;
pub(crate) const FIRST_ADDRESSES: usize = 40;

/// A position in a journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct JournalMark(pub(crate) usize);

/// State that can be rewound.
pub trait Rewind {
    /// Records changes from now on.
    fn keep_journal(&mut self);

    /// The current position in the journal.
    fn mark(&self) -> JournalMark;

    /// Rewinds to where `mark` was taken. Returns false, and changes nothing, if the journal does
    /// not reach back that far.
    fn rewind(&mut self, mark: JournalMark) -> bool;
}

#[cfg(test)]
mod tests {
    use fencepost_memory::{Access, Address, LockedDrains, OperationKind, Random, ThreadId};

    use super::*;
    use crate::{Monitor, MonitorLimits, MonitorRunner, RelaxedOrderMonitor};

    fn random_access(random: &mut Random, threads: u64, addresses: u64) -> Access {
        let kind = OperationKind::ALL[random.below(OperationKind::ALL.len() as u64) as usize];
        Access {
            thread: ThreadId(random.below(threads) as u32),
            operation: kind.at(Address(random.below(addresses) as u32)),
            value: None,
            location: None,
        }
    }

    /// A runner that rewinds reports what one reports that has observed only the rest.
    fn check_rewinding<M: Monitor + Rewind + Clone>(monitor: &M, seed: u64) {
        let mut random = Random::new(seed);
        let limits = MonitorLimits {
            witness_window: 0,
            ..MonitorLimits::default()
        };
        let mut runner = MonitorRunner::rewindable(monitor.clone(), limits);
        let mut accesses = Vec::new();
        let mut marks = vec![runner.mark()];
        let mut verdicts = Vec::new();
        for _ in 0..60 {
            for _ in 0..random.below(12) {
                // New threads and addresses come late, so that the clocks grow in between.
                let size = 1 + accesses.len() as u64 / 4;
                let access = random_access(&mut random, 2 + size.min(7), 1 + size);
                accesses.push(access);
                verdicts.push(runner.observe(access).unwrap().map(|v| v.pending));
                marks.push(runner.mark());
            }
            let left = random.below(accesses.len() as u64 + 1) as usize;
            accesses.truncate(left);
            verdicts.truncate(left);
            marks.truncate(left + 1);
            assert!(runner.rewind(marks[left]));
            let mut fresh = MonitorRunner::with_limits(monitor.clone(), limits);
            let again: Vec<_> = accesses
                .iter()
                .map(|&access| fresh.observe(access).unwrap().map(|v| v.pending))
                .collect();
            assert_eq!(again, verdicts, "seed {seed}");
            // The following events have the same results, too.
            let mut copy = runner.clone();
            for _ in 0..12 {
                let access = random_access(&mut random, 9, 20);
                let (one, two) = (copy.observe(access), fresh.observe(access));
                assert_eq!(one.unwrap(), two.unwrap(), "seed {seed}");
            }
        }
    }

    #[test]
    fn runners_rewind() {
        for seed in 0..200 {
            check_rewinding(&RelaxedOrderMonitor::tso_for_short_interleavings(), seed);
            check_rewinding(&RelaxedOrderMonitor::pso(LockedDrains::OwnAddress), seed);
            check_rewinding(&RelaxedOrderMonitor::pso(LockedDrains::Everything), seed);
        }
    }
}
