//! Fingerprints of prefixes of executions: which threads ran, what they were about to do, and what
//! they touched. Values are left out, since they may be pointers.

use fencepost_memory::LocationId;

use crate::execution::log::ExecutionLog;
use crate::program::{Effect, Intent, TouchKind};

/// A hash of a prefix of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fingerprint(pub(crate) u64);

impl Fingerprint {
    /// The fingerprint of the empty prefix.
    pub(crate) const START: Fingerprint = Fingerprint(0xcbf2_9ce4_8422_2325);

    /// Adds a number.
    pub(crate) fn with(self, number: u64) -> Self {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Fingerprint((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    pub(crate) fn with_location(self, location: Option<LocationId>) -> Self {
        self.with(location.map_or(0, |location| location.index() as u64 + 1))
    }

    /// Adds the event at this position.
    pub(crate) fn with_event(self, log: &ExecutionLog, position: u32) -> Self {
        let event = log.event(position);
        let turn = u64::from(event.thread.0) << 32 | u64::from(event.outcome);
        let mut fingerprint = self.with(turn).with(u64::from(event.outcomes));
        fingerprint = match event.intent {
            Intent::Local => fingerprint.with(1),
            Intent::SpinHint => fingerprint.with(2).with_location(event.location),
            Intent::Stopped => fingerprint.with(16),
            Intent::Join(thread) => fingerprint.with(3).with(u64::from(thread.0)),
            Intent::Access {
                object,
                effect,
                awaits,
            } => {
                let kind = 2 * effect_code(effect) + u64::from(awaits.is_some());
                fingerprint.with(kind).with(u64::from(object.0))
            }
        };
        for link in log.links(position) {
            let kind = touch_code(link.touch.kind);
            fingerprint = fingerprint.with(u64::from(link.touch.object.0) << 8 | kind);
        }
        fingerprint
    }

    /// The fingerprint of an execution so far.
    pub(crate) fn of(log: &ExecutionLog) -> Self {
        (0..log.len() as u32).fold(Self::START, |so_far, position| {
            so_far.with_event(log, position)
        })
    }
}

/// From 2 on, so that twice the code differs from the codes of other intents.
fn effect_code(effect: Effect) -> u64 {
    match effect {
        Effect::Read => 2,
        Effect::Write => 3,
        Effect::WriteIf(_) => 4,
        Effect::WriteMultiple => 5,
        Effect::Update => 6,
    }
}

fn touch_code(kind: TouchKind) -> u64 {
    match kind {
        TouchKind::Read => 0,
        TouchKind::Update => 1,
        TouchKind::Write => 2,
    }
}
