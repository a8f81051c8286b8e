//! Loop iterations that change nothing.
//!
//! A thread that waits in a loop may read the same value any number of times, so there are
//! infinitely many executions. But if a thread comes back to the same position with the same
//! registers, and in between has only read, passed fences, or written with locked instructions what
//! it had read with them, then there is an execution without these events that ends in the same
//! state:
//!
//! - Leaving out reads and fences takes constraints away from the other events and adds none.
//! - A locked instruction that writes what it has read comes right after the write that it reads
//!   from, among the writes to the cell. A read that reads from it can read the same value from
//!   that write.
//!
//! So for final states, one such state per stretch is enough, and an execution in which a thread
//! returns to it is discarded. For cycles of happens-before it is not enough: the cycle may contain
//! an event that would be left out. But a shortest cycle has at most two events of a thread, and
//! everything else can be left out before, between and after them, so no state has to recur more
//! than three times. A thread does not have to end for that: it stays where it waits, and the
//! others continue.

use std::rc::Rc;

/// The purpose for which executions are grown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// Their final states: all threads end.
    FinalStates,
    /// Cycles of happens-before: threads may wait for ever.
    Cycles,
}

impl Purpose {
    /// How often a thread may be in a state without having changed anything.
    pub(super) fn visits(self) -> usize {
        match self {
            Purpose::FinalStates => 1,
            Purpose::Cycles => 3,
        }
    }
}

/// The states in which a thread was since it last changed something.
#[derive(Clone, Debug, Default)]
pub(super) struct SpinHistory(Option<Rc<Visit>>);

#[derive(Debug)]
struct Visit {
    position: u32,
    registers: Box<[u64]>,
    earlier: Option<Rc<Visit>>,
}

impl SpinHistory {
    /// Records a state. Returns how often it was recorded before.
    pub(super) fn visit(&mut self, position: u32, registers: &[u64]) -> usize {
        let mut count = 0;
        let mut next = self.0.as_deref();
        while let Some(visit) = next {
            if visit.position == position && *visit.registers == *registers {
                count += 1;
            }
            next = visit.earlier.as_deref();
        }
        self.0 = Some(Rc::new(Visit {
            position,
            registers: registers.into(),
            earlier: self.0.take(),
        }));
        count
    }

    /// Forgets everything: the thread has changed something.
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}
