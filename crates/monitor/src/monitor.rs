//! What every monitor is: fed one event at a time, it says what that event shows.

use fencepost_memory::MemoryModel;

use crate::clocks::ThreadClocks;
use crate::happens_before::HappensBefore;
use crate::violation::PlacedEvent;

/// A monitor over one sequentially consistent interleaving.
///
/// The events come in the order of the interleaving. The happens-before clock is kept by
/// the caller, who has use for it too: see [`MonitorRunner`](crate::MonitorRunner).
pub trait Monitor {
    /// The name by which users choose it.
    fn name(&self) -> &'static str;

    /// The memory model that it watches for.
    fn model(&self) -> MemoryModel;

    /// Judges `next` by what came before, then takes it in. `before` has everything up to
    /// `next`, but not `next` itself.
    ///
    /// If `next` shows a violation, the answer is the write that it can overtake. That write
    /// happens before the last event of `next`'s thread.
    fn observe<C: ThreadClocks>(
        &mut self,
        next: &PlacedEvent,
        before: &HappensBefore<C>,
    ) -> Option<PlacedEvent>;

    /// Forgets the interleaving, keeping the memory for the next one.
    fn reset(&mut self);

    /// The bytes held.
    fn memory(&self) -> usize;

    /// The bytes that would be held with so many threads and addresses.
    fn projected_memory(&self, threads: usize, addresses: usize) -> usize;
}

/// No monitor: only the happens-before clock runs. The baseline of the benchmarks.
#[derive(Clone, Copy, Debug)]
pub struct HappensBeforeOnly(pub MemoryModel);

impl Monitor for HappensBeforeOnly {
    fn name(&self) -> &'static str {
        "happens-before"
    }

    fn model(&self) -> MemoryModel {
        self.0
    }

    #[inline]
    fn observe<C: ThreadClocks>(
        &mut self,
        _next: &PlacedEvent,
        _before: &HappensBefore<C>,
    ) -> Option<PlacedEvent> {
        None
    }

    fn reset(&mut self) {}

    fn memory(&self) -> usize {
        0
    }

    fn projected_memory(&self, _threads: usize, _addresses: usize) -> usize {
        0
    }
}
