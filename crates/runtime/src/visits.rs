//! Proving that a loop only waits: a thread that comes back to an operation in the same state.
//!
//! At every operation the runtime looks whether the thread has been there before, with the same
//! stack pointer, return address and registers, since it last changed something that others can see. If so,
//! and its stack and registers are as they were (see [`boundary`](super::boundary)), it will do
//! what it did in that round as long as it reads the same values. The explorer suspends it until
//! one of them has changed.
//!
//! Copying stacks takes time, and most programs have no loops that wait. So at first a runtime only
//! keeps the addresses of operations. A second visit makes the check start over with copies
//! ([`Setup::compared_states`](super::Setup::compared_states)).
//!
//! The first copy is taken at the first visit. The last one is kept, and one that is renewed at the
//! visits 2, 4, 8, … (Brent), which finds loops whose state repeats every few rounds.
#![allow(unsafe_code)] // Stacks are compared by address.

use super::boundary::Frame;

/// The number of operations that are remembered: sets of [`WAYS`] operations with hashes that begin
/// alike. A new one replaces the oldest of its set. So a loop is missed only if it has more
/// operations than that, all in one set.
const SITES: usize = 64;
const WAYS: usize = 4;

/// How much of a stack is cleared below the frames that were compared: deeper ones may be.
const BELOW: usize = 1024;

/// A thread's memory of its operations.
#[derive(Default)]
pub(crate) struct Visits {
    /// Empty or of length [`SITES`].
    sites: Vec<Site>,
    /// Changes whenever the thread starts or changes something. Never decreases, so that sites of
    /// earlier executions are not taken for those of this one.
    epoch: u64,
    /// The number of events of the thread.
    pub(crate) events: u32,
    /// Which of a set is replaced next.
    oldest: usize,
    /// The lowest frame since the stack was cleared; none if it never was.
    lowest: Option<usize>,
}

#[derive(Clone, Default)]
struct Site {
    /// Of the stack pointer, the registers and the operation.
    hash: u64,
    epoch: u64,
    visits: u32,
    last: StateCopy,
    anchor: StateCopy,
}

/// The state of the thread at a visit.
#[derive(Clone, Default)]
struct StateCopy {
    /// Empty if there is no copy.
    bytes: Vec<u8>,
    /// The number of events of the thread before the visit.
    events: u32,
}

impl StateCopy {
    fn renew(&mut self, state: &[u8], events: u32) {
        self.bytes.clear();
        self.bytes.extend_from_slice(state);
        self.events = events;
    }

    fn is(&self, state: &[u8]) -> bool {
        self.bytes == state
    }
}

/// What a visit tells about the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Visit {
    /// It has not been here since it last changed something.
    First,
    /// It has been here; whether in the same state is not known, since states are not compared.
    Again,
    /// It has been here in other states.
    Changed,
    /// It was here in the same state, so many events ago.
    Same(u32),
}

impl Visits {
    /// Forgets the visits, because the thread starts or has changed something that others can see.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.epoch += 1;
    }

    /// Begins a new thread.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.forget();
        self.events = 0;
    }

    /// The thread has another stack than before.
    pub(crate) fn forget_lowest(&mut self) {
        self.lowest = None;
    }

    /// The stack is cleared. Returns down to which address it was used; none if that is not known.
    pub(crate) fn take_lowest(&mut self) -> Option<usize> {
        let lowest = self.lowest.replace(usize::MAX)?;
        Some(lowest.saturating_sub(BELOW))
    }

    /// The thread is about to perform an operation. Equal states at the operation have equal hashes.
    /// If states are compared, `base` is where the stack ends.
    #[inline]
    pub(crate) fn visit(&mut self, frame: Frame, hash: u64, base: Option<usize>) -> Visit {
        if self.sites.is_empty() {
            self.add_sites();
        }
        let hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let set = (hash >> 32) as usize % (SITES / WAYS) * WAYS;
        let sites = &mut self.sites[set..set + WAYS];
        let epoch = self.epoch;
        let known = sites
            .iter()
            .position(|site| site.hash == hash && site.epoch == epoch);
        let site = &mut sites[known.unwrap_or(self.oldest)];
        if known.is_none() {
            self.oldest = (self.oldest + 1) % WAYS;
            site.hash = hash;
            site.epoch = epoch;
            site.visits = 0;
        }
        let Some(base) = base else {
            return match known {
                Some(_) => Visit::Again,
                None => Visit::First,
            };
        };
        let address = frame.0.addr();
        self.lowest = self.lowest.map(|lowest| lowest.min(address));
        // SAFETY: the frame is that of the running thread, whose stack ends at `base`, and nobody
        // writes to it meanwhile.
        let state = unsafe { frame.state(base) };
        site.compare(state, self.events)
    }

    #[cold]
    fn add_sites(&mut self) {
        self.sites.resize(SITES, Site::default());
        // Sites that were never visited have epoch 0.
        self.epoch = self.epoch.max(1);
    }
}

impl Site {
    fn compare(&mut self, state: &[u8], events: u32) -> Visit {
        if self.visits == 0 {
            self.last.bytes.clear();
            self.anchor.bytes.clear();
        }
        self.visits = self.visits.saturating_add(1);
        for copy in [&mut self.last, &mut self.anchor] {
            if copy.is(state) {
                // The next round begins here.
                let earlier = std::mem::replace(&mut copy.events, events);
                return Visit::Same(events - earlier);
            }
        }
        if self.visits > 1 && self.visits.is_power_of_two() {
            self.anchor.renew(state, events);
        }
        self.last.renew(state, events);
        match self.visits {
            1 => Visit::First,
            _ => Visit::Changed,
        }
    }
}
