//! The interface of monitors: they observe one event at a time and report violations.

use fencepost_memory::MemoryModel;

use crate::clocks::ThreadClocks;
use crate::happens_before::HappensBefore;
use crate::violation::PlacedEvent;

/// A monitor over one sequentially consistent interleaving.
///
/// The events come in the order of the interleaving. The caller maintains the happens-before clock:
/// see [`MonitorRunner`](crate::MonitorRunner).
pub trait Monitor {
    /// The name by which users choose it.
    fn name(&self) -> &'static str;

    /// The memory model whose violations it detects.
    fn model(&self) -> MemoryModel;

    /// Observes the next event. `before` has all events before `next`.
    ///
    /// If `next` shows a violation, returns the write that it can overtake. That write happens
    /// before the last event of `next`'s thread.
    fn observe<C: ThreadClocks>(
        &mut self,
        next: &PlacedEvent,
        before: &HappensBefore<C>,
    ) -> Option<PlacedEvent>;

    /// Removes all events, and keeps the memory for the next interleaving.
    fn reset(&mut self);

    /// The memory in use, in bytes.
    fn memory(&self) -> usize;

    /// The memory that this many threads and addresses would use, in bytes.
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
