//! Where fences rule a finding's cycle out.
//!
//! That says nothing of other cycles: the program may need more fences to be store-buffer safe.

use fencepost_monitor::{Finding, Placed, Relation};

/// Two events of one thread between which a fence is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenceGap {
    /// The fence comes after this event,
    pub after: Placed,
    /// and before this one.
    pub before: Placed,
}

/// Full fences in all of these gaps rule the cycle out: they are between the events whose
/// program order is relaxed. None if something else in the cycle is relaxed too.
pub fn fence_gaps(finding: &Finding) -> Option<Vec<FenceGap>> {
    let next = finding.cycle.iter().cycle().skip(1);
    let mut gaps = Vec::new();
    for (from, to) in finding.cycle.iter().zip(next) {
        match from.relation {
            _ if from.is_kept => {}
            Relation::ProgramOrder => gaps.push(FenceGap {
                after: from.event,
                before: to.event,
            }),
            _ => return None,
        }
    }
    (!gaps.is_empty()).then_some(gaps)
}
