//! Repairs: fences or stronger orderings that rule out the cycle of a finding.
//!
//! A repair is for one cycle. The program may have others and need more fences to be store-buffer
//! safe.

use fencepost_memory::{Buffering, MemoryModel, Operation};

use crate::explain::Finding;
use crate::violation::PlacedEvent;

/// Two events of one thread between which a fence is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenceGap {
    /// The fence comes after this event,
    pub after: PlacedEvent,
    /// and before this one.
    pub before: PlacedEvent,
}

/// The gaps of a cycle: a full fence in each of them rules the cycle out.
///
/// They are the program-order edges that the model does not keep, and nothing else of a cycle is
/// relaxed. No gap has a fence yet.
pub fn fence_gaps(finding: &Finding) -> Vec<FenceGap> {
    let next = finding.cycle.iter().cycle().skip(1);
    let pairs = finding.cycle.iter().zip(next);
    let relaxed = pairs.filter(|(from, _)| !from.is_kept);
    relaxed
        .map(|(from, to)| FenceGap {
            after: from.event,
            before: to.event,
        })
        .collect()
}

/// A stronger ordering of one access at each gap that has the effect of fences in the gaps: the
/// model then keeps the order of each pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StrongerOrdering {
    /// `Ordering::SeqCst` for the store before each gap.
    SeqCstStores,
    /// `Ordering::Release` for the write after each gap.
    ReleaseWrites,
}

impl StrongerOrdering {
    /// The stronger ordering that rules out what fences in these gaps rule out, if there is one.
    pub fn instead_of_fences(model: &MemoryModel, gaps: &[FenceGap]) -> Option<Self> {
        let is_after_plain_store = |gap: &FenceGap| gap.after.is_plain_store();
        let is_kept_by_barrier = |gap: &FenceGap| {
            let (after, before) = (gap.after.event.operation(), gap.before.event.operation());
            let writes = matches!(before, Operation::Store(_) | Operation::Interlocked(_));
            writes && model.keeps(after, before, true)
        };
        match model.buffering() {
            // On x86 a SeqCst store is a store with a full fence.
            Buffering::Fifo if gaps.iter().all(is_after_plain_store) => {
                Some(StrongerOrdering::SeqCstStores)
            }
            Buffering::PerAddress if gaps.iter().all(is_kept_by_barrier) => {
                Some(StrongerOrdering::ReleaseWrites)
            }
            _ => None,
        }
    }

    /// The access at a gap whose ordering changes.
    pub fn changed_access(self, gap: &FenceGap) -> &PlacedEvent {
        match self {
            StrongerOrdering::SeqCstStores => &gap.after,
            StrongerOrdering::ReleaseWrites => &gap.before,
        }
    }
}

/// What rules out the cycle of a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// Full fences in all of these gaps.
    pub gaps: Vec<FenceGap>,
    /// A stronger ordering with the same effect, if there is one.
    pub stronger_ordering: Option<StrongerOrdering>,
}

impl Repair {
    /// The repair of a finding. `has_ordering` says whether the program chooses the ordering of an
    /// access: one that calls `lock` does not.
    pub fn new(finding: &Finding, has_ordering: impl Fn(&PlacedEvent) -> bool) -> Self {
        let gaps = fence_gaps(finding);
        let can_be_written = |ordering: &StrongerOrdering| {
            let mut accesses = gaps.iter().map(|gap| ordering.changed_access(gap));
            accesses.all(&has_ordering)
        };
        let model = &finding.violation.model;
        let stronger_ordering =
            StrongerOrdering::instead_of_fences(model, &gaps).filter(can_be_written);
        Repair {
            gaps,
            stronger_ordering,
        }
    }
}
