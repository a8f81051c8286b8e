//! The monitor along the executions: fed with what is new, taken back to where the executions
//! part.
//!
//! The monitor keeps a journal. When the end of an execution is taken back, so is what the
//! monitor has learnt from it. It is fed only once an event may have passed an earlier store of
//! its thread ([`Passing`]); before that there is nothing to see.

use fencepost_memory::{Access, LockedDrains, MemoryModel};
use fencepost_monitor::clocks::{SharedClocks, SparseClocks};
use fencepost_monitor::{
    ByAddress, ByWriter, Monitor, OutOfMemoryLimit, Passing, RelaxedOrder, Rewind, Violation,
    WatchLimits, Watcher, WatcherMark,
};

/// The machine for which programs are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watched {
    /// Only sequential consistency: there is no monitor.
    Nothing,
    /// Total store order.
    Tso,
    /// Partial store order.
    Pso(LockedDrains),
}

/// There is room for so many events from the beginning.
const FIRST_EVENTS: usize = 64;

/// A watcher that can go back.
struct Rewinding<M: Monitor> {
    watcher: Watcher<M, SharedClocks>,
    /// Where the watcher was after each event; first, before any. Events that it has not been fed
    /// yet are not there.
    marks: Vec<WatcherMark>,
}

impl<M: Monitor + Rewind> Rewinding<M> {
    fn new(monitor: M, memory: usize) -> Self {
        let limits = WatchLimits {
            witness_window: 0,
            memory,
        };
        Rewinding {
            watcher: Watcher::going_back(monitor, limits),
            marks: Vec::with_capacity(FIRST_EVENTS),
        }
    }

    /// Feeds the accesses of the events that have not been fed yet. `ends` and `accesses` are those
    /// of all events.
    #[inline]
    fn feed(
        &mut self,
        ends: &[u32],
        accesses: &[Access],
        mut found: impl FnMut(usize, Violation),
    ) -> Result<(), OutOfMemoryLimit> {
        while self.marks.len() < ends.len() {
            let first = match self.marks.len() {
                0 => 0,
                event => ends[event - 1] as usize,
            };
            for at in first..ends[self.marks.len()] as usize {
                if let Some(violation) = self.watcher.observe(accesses[at])? {
                    found(at, violation);
                }
            }
            self.marks.push(self.watcher.mark());
        }
        Ok(())
    }

    /// Goes back to where so many events, and before them whatever came before any, were fed at
    /// most.
    fn rewind(&mut self, events: usize) {
        if self.marks.len() <= events {
            return;
        }
        self.marks.truncate(events);
        if let Some(&mark) = self.marks.last()
            && self.watcher.rewind(mark)
        {
            return;
        }
        // Too much has been forgotten, or there is nothing left: once more from the beginning,
        // when that is needed.
        self.watcher.reset();
        self.marks.clear();
    }
}

enum Inner {
    Nothing,
    Tso(Rewinding<RelaxedOrder<ByWriter, SharedClocks>>),
    Pso(Rewinding<RelaxedOrder<ByAddress, SparseClocks>>),
}

/// Whether the monitor sees a violation in an execution with these accesses. Also if it has too little memory
/// to tell.
pub fn shows_violation(watched: Watched, accesses: Vec<Access>) -> bool {
    let mut watch = Watch::new(watched, WatchLimits::default().memory);
    let mut is_seen = false;
    let result = watch.add(&accesses, |_, _| is_seen = true);
    is_seen || result.is_err()
}

/// The monitor and the accesses of the execution so far.
pub(crate) struct Watch {
    inner: Inner,
    passing: Passing,
    /// How many accesses were fed to the monitor once. What they showed is not shown again.
    shown: usize,
    accesses: Vec<Access>,
    /// For each event, how many accesses there are with it; first, those before any event.
    ends: Vec<u32>,
}

impl Watch {
    pub(crate) fn new(watched: Watched, memory: usize) -> Self {
        let inner = match watched {
            Watched::Nothing => Inner::Nothing,
            Watched::Tso => Inner::Tso(Rewinding::new(
                RelaxedOrder::tso_for_short_interleavings(),
                memory,
            )),
            Watched::Pso(locked) => Inner::Pso(Rewinding::new(RelaxedOrder::pso(locked), memory)),
        };
        Watch {
            inner,
            passing: Passing::new(watched.model()),
            shown: 0,
            accesses: Vec::with_capacity(FIRST_EVENTS),
            ends: Vec::with_capacity(FIRST_EVENTS),
        }
    }

    pub(crate) fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// Goes back to where so many events had been added.
    pub(crate) fn rewind(&mut self, events: usize) {
        self.keep(events + 1);
    }

    /// Forgets the execution, also what came before the first event.
    pub(crate) fn clear(&mut self) {
        self.keep(0);
    }

    fn keep(&mut self, ends: usize) {
        self.ends.truncate(ends);
        let accesses = self.ends.last().map_or(0, |&end| end as usize);
        self.accesses.truncate(accesses);
        self.shown = self.shown.min(accesses);
        match &mut self.inner {
            Inner::Nothing => return,
            Inner::Tso(rewinding) => rewinding.rewind(ends),
            Inner::Pso(rewinding) => rewinding.rewind(ends),
        }
        self.passing.rewind_to(accesses);
    }

    /// Whether the accesses before the first event are known.
    pub(crate) fn has_begun(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Adds the accesses of one event (or those before the first). Calls `found` for each
    /// violation, with the accesses up to it.
    #[inline]
    pub(crate) fn add(
        &mut self,
        accesses: &[Access],
        found: impl FnMut(&Violation, &[Access]),
    ) -> Result<(), OutOfMemoryLimit> {
        self.accesses.extend_from_slice(accesses);
        self.ends.push(self.accesses.len() as u32);
        if matches!(self.inner, Inner::Nothing) {
            return Ok(());
        }
        accesses.iter().for_each(|a| self.passing.observe(a));
        if !self.passing.has_any() {
            return Ok(());
        }
        self.feed(found)
    }

    /// Feeds the monitor.
    #[inline(never)]
    fn feed(
        &mut self,
        mut found: impl FnMut(&Violation, &[Access]),
    ) -> Result<(), OutOfMemoryLimit> {
        let (ends, all) = (&self.ends, &self.accesses);
        let shown = std::mem::replace(&mut self.shown, all.len());
        let found = |at: usize, violation: Violation| {
            if at >= shown {
                found(&violation, &all[..=at]);
            }
        };
        match &mut self.inner {
            Inner::Nothing => Ok(()),
            Inner::Tso(rewinding) => rewinding.feed(ends, all, found),
            Inner::Pso(rewinding) => rewinding.feed(ends, all, found),
        }
    }
}

/// The memory model that is watched for.
impl Watched {
    /// The model, or SC if nothing is watched for.
    pub fn model(self) -> MemoryModel {
        match self {
            Watched::Nothing => MemoryModel::SC,
            Watched::Tso => MemoryModel::TSO,
            Watched::Pso(LockedDrains::Everything) => MemoryModel::PSO,
            Watched::Pso(LockedDrains::OwnAddress) => MemoryModel::PSO_OWN_ADDRESS,
        }
    }
}
