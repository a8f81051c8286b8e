//! The monitor along the executions: fed with what is new, taken back to where the executions
//! part.
//!
//! From time to time the state of the monitor is saved. When the end of an execution is taken
//! back, the latest saved state before that is restored, and the few accesses after it are
//! fed again.

use fencepost_memory::{Access, LockedDrains, MemoryModel};
use fencepost_monitor::{
    ByAddress, ByWriter, ExplainError, Finding, Monitor, OutOfMemoryLimit, RelaxedOrder, Violation,
    WatchLimits, Watcher,
};

/// Accesses between two saved states. Fewer make restoring cheaper and saving dearer.
const ACCESSES_PER_SAVE: usize = 16;

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

struct Saved<M: Monitor> {
    /// How many accesses it has seen.
    accesses: usize,
    watcher: Watcher<M>,
}

/// A watcher that can go back.
struct Rewinding<M: Monitor> {
    watcher: Watcher<M>,
    fed: usize,
    saved: Vec<Saved<M>>,
    /// How many of `saved` are in use; the others are kept for their memory.
    saved_count: usize,
}

impl<M: Monitor + Clone> Rewinding<M> {
    fn new(monitor: M, memory: usize) -> Self {
        let limits = WatchLimits {
            witness_window: 0,
            memory,
        };
        Rewinding {
            watcher: Watcher::with_limits(monitor, limits),
            fed: 0,
            saved: Vec::new(),
            saved_count: 0,
        }
    }

    #[inline]
    fn feed(
        &mut self,
        accesses: &[Access],
        mut found: impl FnMut(&Watcher<M>, usize, Violation),
    ) -> Result<(), OutOfMemoryLimit> {
        let last_save = match self.saved_count {
            0 => 0,
            count => self.saved[count - 1].accesses,
        };
        if self.fed >= last_save + ACCESSES_PER_SAVE {
            self.save();
        }
        while self.fed < accesses.len() {
            let at = self.fed;
            self.fed += 1;
            if let Some(violation) = self.watcher.observe(accesses[at])? {
                found(&self.watcher, at, violation);
            }
        }
        Ok(())
    }

    fn save(&mut self) {
        let accesses = self.fed;
        match self.saved.get_mut(self.saved_count) {
            Some(slot) => {
                slot.accesses = accesses;
                slot.watcher.clone_from(&self.watcher);
            }
            None => self.saved.push(Saved {
                accesses,
                watcher: self.watcher.clone(),
            }),
        }
        self.saved_count += 1;
    }

    /// Goes back to a saved state that has seen at most so many accesses.
    fn rewind(&mut self, accesses: usize) {
        if self.fed <= accesses {
            return;
        }
        while self.saved_count > 0 && self.saved[self.saved_count - 1].accesses > accesses {
            self.saved_count -= 1;
        }
        match self.saved_count {
            0 => {
                self.watcher.reset();
                self.fed = 0;
            }
            count => {
                let saved = &self.saved[count - 1];
                self.watcher.clone_from(&saved.watcher);
                self.fed = saved.accesses;
            }
        }
    }
}

enum Inner {
    Nothing,
    Tso(Rewinding<RelaxedOrder<ByWriter>>),
    Pso(Rewinding<RelaxedOrder<ByAddress>>),
}

/// A violation that an execution showed, with its explanation.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The violation.
    pub violation: Violation,
    /// Its cycle and witness.
    pub explained: Result<Finding, ExplainError>,
    /// The execution up to it.
    pub interleaving: Vec<Access>,
}

/// The monitor and the accesses of the execution so far.
pub(crate) struct Watch {
    inner: Inner,
    accesses: Vec<Access>,
    /// For each event, how many accesses there are with it; first, those before any event.
    ends: Vec<u32>,
}

impl Watch {
    pub(crate) fn new(watched: Watched, memory: usize) -> Self {
        let inner = match watched {
            Watched::Nothing => Inner::Nothing,
            Watched::Tso => Inner::Tso(Rewinding::new(RelaxedOrder::tso(), memory)),
            Watched::Pso(locked) => Inner::Pso(Rewinding::new(RelaxedOrder::pso(locked), memory)),
        };
        Watch {
            inner,
            accesses: Vec::new(),
            ends: Vec::new(),
        }
    }

    pub(crate) fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// Goes back to where so many events had been added.
    pub(crate) fn rewind(&mut self, events: usize) {
        self.ends.truncate(events + 1);
        let accesses = self.ends.last().map_or(0, |&end| end as usize);
        self.accesses.truncate(accesses);
        match &mut self.inner {
            Inner::Nothing => {}
            Inner::Tso(rewinding) => {
                rewinding.rewind(accesses);
                // What was shown before is not shown again.
                let _ = rewinding.feed(&self.accesses, |_, _, _| ());
            }
            Inner::Pso(rewinding) => {
                rewinding.rewind(accesses);
                let _ = rewinding.feed(&self.accesses, |_, _, _| ());
            }
        }
    }

    /// Forgets the execution, also what came before the first event.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
        self.accesses.clear();
        match &mut self.inner {
            Inner::Nothing => {}
            Inner::Tso(rewinding) => rewinding.rewind(0),
            Inner::Pso(rewinding) => rewinding.rewind(0),
        }
    }

    /// Whether the accesses before the first event are known.
    pub(crate) fn has_begun(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Adds the accesses of one event (or those before the first). Calls `found` for each
    /// violation, with a way to explain it.
    pub(crate) fn add(
        &mut self,
        accesses: &[Access],
        mut found: impl FnMut(&Violation, &dyn Fn() -> Shown),
    ) -> Result<(), OutOfMemoryLimit> {
        self.accesses.extend_from_slice(accesses);
        self.ends.push(self.accesses.len() as u32);
        let all = &self.accesses;
        match &mut self.inner {
            Inner::Nothing => Ok(()),
            Inner::Tso(rewinding) => rewinding.feed(all, |watcher, at, violation| {
                found(&violation, &|| explain(watcher, all, at, violation));
            }),
            Inner::Pso(rewinding) => rewinding.feed(all, |watcher, at, violation| {
                found(&violation, &|| explain(watcher, all, at, violation));
            }),
        }
    }
}

fn explain<M: Monitor>(
    watcher: &Watcher<M>,
    accesses: &[Access],
    at: usize,
    violation: Violation,
) -> Shown {
    let from = violation.pending.position as usize;
    let explained = watcher.explain_from(&violation, accesses[from..=at].to_vec());
    Shown {
        violation,
        explained,
        interleaving: accesses[..=at].to_vec(),
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
