//! Recognises how an execution begins: who went when, what they were about to do and what they
//! touched. Values are left out, since they may be pointers.

use fencepost_memory::LocationId;

use crate::execution::log::ExecutionLog;
use crate::program::Intent;

/// A number that two executions have in common if they begin in the same way, and otherwise almost
/// certainly not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fingerprint(pub(crate) u64);

impl Fingerprint {
    /// That of nothing.
    pub(crate) const START: Fingerprint = Fingerprint(0xcbf2_9ce4_8422_2325);

    /// With one more number.
    pub(crate) fn with(self, number: u64) -> Self {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Fingerprint((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    pub(crate) fn with_location(self, location: Option<LocationId>) -> Self {
        self.with(location.map_or(0, |location| location.index() as u64 + 1))
    }

    /// With the event at this position.
    pub(crate) fn with_event(self, log: &ExecutionLog, position: u32) -> Self {
        let event = log.event(position);
        let turn = u64::from(event.thread.0) << 32 | u64::from(event.outcome);
        let mut fingerprint = self.with(turn).with(u64::from(event.outcomes));
        fingerprint = match event.intent {
            Intent::Local => fingerprint.with(1),
            Intent::SpinHint => fingerprint.with(2).with_location(event.location),
            Intent::Join(thread) => fingerprint.with(3).with(u64::from(thread.0)),
            Intent::Access {
                object,
                effect,
                awaits,
            } => {
                let kind = 2 * u64::from(effect.letter()) + u64::from(awaits.is_some());
                fingerprint.with(kind).with(u64::from(object.0))
            }
        };
        for link in log.links(position) {
            let kind = u64::from(link.touch.kind.letter());
            fingerprint = fingerprint.with(u64::from(link.touch.object.0) << 8 | kind);
        }
        fingerprint
    }

    /// That of an execution so far.
    pub(crate) fn of(log: &ExecutionLog) -> Self {
        (0..log.len() as u32).fold(Self::START, |so_far, position| {
            so_far.with_event(log, position)
        })
    }
}
