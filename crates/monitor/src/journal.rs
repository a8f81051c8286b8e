//! Going back: an explorer takes back the end of an execution and goes on differently, and the
//! monitor with it.
//!
//! What has a journal notes each change with what was there before. A journal grows with the
//! interleaving, so it is kept only by who asks for one.

/// For so many events, threads and addresses what has a journal has room from the beginning: small programs have
/// no more.
pub(crate) const FIRST_EVENTS: usize = 64;
pub(crate) const FIRST_THREADS: usize = 8;
pub(crate) const FIRST_ADDRESSES: usize = 40;

/// A place in a journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct JournalMark(pub(crate) usize);

/// What can be taken back to an earlier state.
pub trait Rewind {
    /// Notes changes from now on.
    fn keep_journal(&mut self);

    /// The present place in the journal.
    fn mark(&self) -> JournalMark;

    /// Goes back to where `mark` was taken. False if the journal does not reach so far; then
    /// nothing has happened.
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

    /// A runner that goes back and forth says what one says that has only seen what is left.
    fn goes_back<M: Monitor + Rewind + Clone>(monitor: &M, seed: u64) {
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
            // And what comes next is the same too.
            let mut copy = runner.clone();
            for _ in 0..12 {
                let access = random_access(&mut random, 9, 20);
                let (one, two) = (copy.observe(access), fresh.observe(access));
                assert_eq!(one.unwrap(), two.unwrap(), "seed {seed}");
            }
        }
    }

    #[test]
    fn watchers_go_back() {
        for seed in 0..200 {
            goes_back(&RelaxedOrderMonitor::tso_for_short_interleavings(), seed);
            goes_back(&RelaxedOrderMonitor::pso(LockedDrains::OwnAddress), seed);
            goes_back(&RelaxedOrderMonitor::pso(LockedDrains::Everything), seed);
        }
    }
}
