//! Where fences rule a finding's cycle out.
//!
//! That says nothing of other cycles: the program may need more fences to be store-buffer safe.

use fencepost_monitor::{Finding, Placed};

/// Two events of one thread between which a fence is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenceGap {
    /// The fence comes after this event,
    pub after: Placed,
    /// and before this one.
    pub before: Placed,
}

/// Full fences in all of these gaps rule the cycle out: they are between the events whose
/// program order is relaxed, and nothing else of a cycle is. There is none in a gap yet.
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
