//! Which traces a model allows (SOBER Def. 2 and 3, repaired and extended).
//!
//! A trace is allowed by SC if happens-before has no cycle on it (SOBER Def. 2). It
//! is allowed by a store-buffer model if
//!
//! - every thread sees each single address in order: never `e` before `e'` in
//!   program order and `e'` before `e` in conflict order (SOBER's (TSO2)), and
//! - the *relaxed happens-before* has no cycle: the program-order pairs that the model
//!   [keeps](MemoryModel::keeps), and the conflict edges between different threads,
//!   except those into a plain load that reads its own thread's store.
//!
//! Deviations from SOBER Def. 3. The exception is ours: such a load may have taken
//! its value out of the store buffer, so other threads' writes that come before the
//! store need not come before the load. Without it the axioms forbid litmus test `n6`,
//! which the machine and real processors show; [`sober_definition_3`] keeps the
//! definition as printed, for comparison. The model decides what is kept, so PSO,
//! fences, barriers and locked operations that only read or only write need no special rules.
//!
//! The relations have a quadratic number of pairs. The checker adds a linear number of edges with
//! the same transitive closure; a test compares the two.

use std::fmt;

use thiserror::Error;

use crate::event::{Address, Event, Operation, OperationKind};
use crate::graph::Digraph;
use crate::model::{Buffering, MemoryModel};
use crate::order::{Layout, add_happens_before, happens_before_cycle};
use crate::trace::Trace;

/// Why a model does not allow a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum AxiomViolation {
    /// Happens-before has a cycle: the trace is not sequentially consistent.
    #[error("happens-before has a cycle: {0}")]
    HappensBefore(Cycle),
    /// One thread sees one address out of order.
    #[error(
        "{} comes before {} in program order but after it in conflict order",
        earlier.1, later.1
    )]
    PerLocation {
        /// The event that is first in program order: its position and the event.
        earlier: (usize, Event),
        /// The event that is first in conflict order: its position and the event.
        later: (usize, Event),
    },
    /// Relaxed happens-before has a cycle.
    #[error("relaxed happens-before has a cycle: {0}")]
    RelaxedHappensBefore(Cycle),
}

/// Events in a cycle: each is before the next, and the last before the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The positions of the events in the trace.
    pub positions: Vec<usize>,
    /// The events themselves.
    pub events: Vec<Event>,
}

impl Cycle {
    fn new(trace: &Trace, positions: Vec<usize>) -> Self {
        let events = positions.iter().map(|&p| trace.events()[p]).collect();
        Cycle { positions, events }
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for event in &self.events {
            write!(f, "{event} → ")?;
        }
        match self.events.first() {
            Some(first) => write!(f, "{first}"),
            None => Ok(()),
        }
    }
}

/// Whether `model` allows `trace`, and if not, why not. Linear in the length of the
/// trace.
///
/// ```
/// use fencepost_memory::{axioms, CoherenceIndex, MemoryModel, Trace};
/// # use fencepost_memory::{Access, Address, Event, IssueIndex, Operation, ThreadId};
/// # let event = |thread, issue, operation, value| Event {
/// #     access: Access::new(ThreadId(thread), operation),
/// #     issue: IssueIndex(issue),
/// #     coherence: CoherenceIndex(value),
/// # };
/// # let (x, y) = (Address(0), Address(1));
/// // Store buffering: both threads store, then load what the other has stored, too early.
/// let trace = Trace::new(vec![
///     event(0, 1, Operation::Store(x), 1),
///     event(0, 2, Operation::Load(y), 0),
///     event(1, 1, Operation::Store(y), 1),
///     event(1, 2, Operation::Load(x), 0),
/// ])?;
/// assert!(axioms::check(&MemoryModel::SC, &trace).is_err());
/// assert!(axioms::check(&MemoryModel::TSO, &trace).is_ok());
/// # Ok::<(), fencepost_memory::TraceError>(())
/// ```
pub fn check(model: &MemoryModel, trace: &Trace) -> Result<(), AxiomViolation> {
    AxiomChecker::default().check(model, trace)
}

/// SOBER Def. 3 exactly as printed, of historical interest: this is *not* TSO.
///
/// Relaxed happens-before is happens-before without the pairs of a store and a later
/// load of the same thread. It still orders another thread's write before a load that
/// took a younger value from its own store buffer, so it forbids `n6` and some of what
/// the machine of the same report emits. Store barriers are no events of that report
/// and are left out; fences and locked operations are taken as neither `st` nor `ld`.
pub fn sober_definition_3(trace: &Trace) -> Result<(), AxiomViolation> {
    let mut checker = AxiomChecker::default();
    let printed = Forwarding::IsOrderedLikeAnyLoad;
    checker.check_relaxed(&MemoryModel::TSO, trace, printed)
}

/// Checks many traces without allocating for each.
#[derive(Clone, Debug, Default)]
pub struct AxiomChecker {
    layout: Layout,
    graph: Digraph,
    /// For each address.
    own_accesses: Vec<OwnAccesses>,
    /// Stores of the current thread that no collector has an edge from yet.
    uncollected: Vec<usize>,
    /// For each write, the last write before it to its address by another thread. Only
    /// filled in where forwarding is not exempt.
    other_before: Vec<Option<usize>>,
}

/// Whether a load that reads its own thread's store is ordered after other threads'
/// earlier writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forwarding {
    IsExempt,
    IsOrderedLikeAnyLoad,
}

/// The accesses of the current thread to one address so far. The entry is stale unless it carries
/// the number of the current thread.
#[derive(Clone, Copy, Debug, Default)]
struct OwnAccesses {
    /// One more than the thread's number; 0 for none.
    owner: usize,
    highest_write: Option<CoherencePoint>,
    highest_read: Option<CoherencePoint>,
    last_store: Option<usize>,
}

/// The coherence index of an access, and its position in the trace.
#[derive(Clone, Copy, Debug)]
struct CoherencePoint {
    coherence: u64,
    position: usize,
}

/// Which earlier stores of its thread an operation is ordered after.
#[derive(Clone, Copy, Debug, Default)]
struct StoresKept {
    to_same_address: bool,
    to_any_address: bool,
    before_a_barrier: bool,
}

/// [`MemoryModel::keeps`], tabulated in the shape that linear time needs: everything
/// but a store comes before everything later; for stores it depends.
struct KeptOrder {
    before: [StoresKept; OperationKind::ALL.len()],
    stores_in_order: bool,
}

impl KeptOrder {
    fn of(model: &MemoryModel) -> Self {
        let (here, there) = (Address(0), Address(1));
        let before = OperationKind::ALL.map(|kind| {
            let later = kind.at(here);
            StoresKept {
                to_same_address: model.keeps(Operation::Store(here), later, false),
                to_any_address: model.keeps(Operation::Store(there), later, false),
                before_a_barrier: model.keeps(Operation::Store(there), later, true),
            }
        });
        KeptOrder {
            before,
            stores_in_order: before[OperationKind::Store as usize].to_any_address,
        }
    }
}

impl AxiomChecker {
    /// As [`check`].
    pub fn check(&mut self, model: &MemoryModel, trace: &Trace) -> Result<(), AxiomViolation> {
        if model.buffering() == Buffering::None {
            return match happens_before_cycle(trace) {
                None => Ok(()),
                Some(cycle) => Err(AxiomViolation::HappensBefore(Cycle::new(trace, cycle))),
            };
        }
        self.check_relaxed(model, trace, Forwarding::IsExempt)
    }

    /// Whether `model` allows `trace`: [`check`](Self::check) without the reason.
    pub fn allows(&mut self, model: &MemoryModel, trace: &Trace) -> bool {
        if model.buffering() == Buffering::None {
            return self.is_sequentially_consistent(trace);
        }
        let relaxed = self.add_relaxed(model, trace, Forwarding::IsExempt);
        relaxed.is_ok() && self.graph.is_acyclic()
    }

    /// Whether happens-before has no cycle on `trace` (SOBER Def. 2).
    pub fn is_sequentially_consistent(&mut self, trace: &Trace) -> bool {
        self.layout.arrange(trace);
        add_happens_before(trace, &self.layout, &mut self.graph);
        self.graph.is_acyclic()
    }

    fn check_relaxed(
        &mut self,
        model: &MemoryModel,
        trace: &Trace,
        forwarding: Forwarding,
    ) -> Result<(), AxiomViolation> {
        if let Err((earlier, later)) = self.add_relaxed(model, trace, forwarding) {
            let named = |position: usize| (position, trace.events()[position]);
            return Err(AxiomViolation::PerLocation {
                earlier: named(earlier),
                later: named(later),
            });
        }
        let Some(mut cycle) = self.graph.find_cycle() else {
            return Ok(());
        };
        // A path through collectors stands for one kept pair of program order.
        cycle.retain(|&node| node < trace.events().len());
        let cycle = Cycle::new(trace, cycle);
        Err(AxiomViolation::RelaxedHappensBefore(cycle))
    }

    /// Makes the graph of relaxed happens-before, over the trace's positions and some
    /// collectors. Fails with two events that are in program order and, the other way
    /// around, in conflict order; the edges would not be right then.
    fn add_relaxed(
        &mut self,
        model: &MemoryModel,
        trace: &Trace,
        forwarding: Forwarding,
    ) -> Result<(), (usize, usize)> {
        self.layout.arrange(trace);
        self.graph.reset(trace.events().len());
        self.own_accesses.clear();
        self.own_accesses
            .resize(trace.address_count(), OwnAccesses::default());
        let kept = KeptOrder::of(model);
        for thread in 0..trace.thread_count() {
            self.add_thread(&kept, trace, thread)?;
        }
        self.add_conflicts(trace, forwarding);
        Ok(())
    }

    /// Checks each address for itself, and adds edges whose closure is that of the
    /// thread's kept program order.
    ///
    /// A *collector* is a node after all stores so far. Where stores are not ordered
    /// among themselves, whatever is ordered after many of them (a fence, or what
    /// follows a barrier) gets its edge from a collector. It is made when it is
    /// needed, from the previous one and the stores since, so every store has one edge
    /// to a collector.
    fn add_thread(
        &mut self,
        kept: &KeptOrder,
        trace: &Trace,
        thread: usize,
    ) -> Result<(), (usize, usize)> {
        let mut last_other_than_store = None;
        let mut last_store: Option<usize> = None;
        let mut last_collector: Option<usize> = None;
        let mut collector_at_barrier: Option<usize> = None;
        self.uncollected.clear();
        for index in 0..self.layout.thread(thread).len() {
            let position = self.layout.thread(thread)[index] as usize;
            let event = &trace.events()[position];
            let operation = event.operation();
            if operation == Operation::StoreBarrier {
                if !kept.stores_in_order {
                    last_collector = self.collect(last_collector);
                    collector_at_barrier = last_collector;
                }
                continue;
            }
            let mut last_store_here = None;
            if let Some(address) = operation.address() {
                let own = &mut self.own_accesses[address.index()];
                if own.owner != thread + 1 {
                    *own = OwnAccesses {
                        owner: thread + 1,
                        ..OwnAccesses::default()
                    };
                }
                own.add(position, event)?;
                last_store_here = own.last_store;
                if matches!(operation, Operation::Store(_)) {
                    own.last_store = Some(position);
                }
            }
            let before = kept.before[operation.kind() as usize];
            let mut add = |from: Option<usize>| {
                if let Some(from) = from {
                    self.graph.add_edge(from, position);
                }
            };
            add(last_other_than_store);
            if before.to_any_address && kept.stores_in_order {
                add(last_store);
            } else {
                if before.to_same_address {
                    add(last_store_here);
                }
                if before.before_a_barrier && !before.to_any_address {
                    add(collector_at_barrier);
                }
                if before.to_any_address {
                    last_collector = self.collect(last_collector);
                    if let Some(collector) = last_collector {
                        self.graph.add_edge(collector, position);
                    }
                }
            }
            if matches!(operation, Operation::Store(_)) {
                last_store = Some(position);
                self.uncollected.push(position);
            } else {
                last_other_than_store = Some(position);
            }
        }
        Ok(())
    }

    /// A node after the previous collector and the uncollected stores.
    fn collect(&mut self, previous: Option<usize>) -> Option<usize> {
        if self.uncollected.is_empty() {
            return previous;
        }
        let collector = self.graph.add_node();
        if let Some(previous) = previous {
            self.graph.add_edge(previous, collector);
        }
        for store in self.uncollected.drain(..) {
            self.graph.add_edge(store, collector);
        }
        Some(collector)
    }

    /// Adds edges whose closure, together with the kept program order, is that of the
    /// conflict edges between different threads.
    ///
    /// Writes to one address are chained. Where two neighbours are of one thread,
    /// program order agrees (each address by itself has been checked) and every model
    /// keeps it; likewise from a read to the next write.
    fn add_conflicts(&mut self, trace: &Trace, forwarding: Forwarding) {
        let thread_of = |position: usize| trace.events()[position].thread();
        self.other_before.clear();
        if forwarding == Forwarding::IsOrderedLikeAnyLoad {
            self.other_before.resize(trace.events().len(), None);
        }
        for address in 0..trace.address_count() {
            for pair in self.layout.writes(address).windows(2) {
                let (write, next) = (pair[0] as usize, pair[1] as usize);
                self.graph.add_edge(write, next);
                if forwarding == Forwarding::IsOrderedLikeAnyLoad {
                    self.other_before[next] = match thread_of(write) == thread_of(next) {
                        true => self.other_before[write],
                        false => Some(write),
                    };
                }
            }
        }
        for (position, event) in trace.events().iter().enumerate() {
            let (Some(address), false) = (event.operation().address(), event.operation().writes())
            else {
                continue;
            };
            let writes = self.layout.writes(address.index());
            let value = event.coherence.0 as usize;
            if value < writes.len() {
                self.graph.add_edge(position, writes[value] as usize);
            }
            if value == 0 {
                continue;
            }
            let source = writes[value - 1] as usize;
            if thread_of(source) != event.thread() {
                self.graph.add_edge(source, position);
            } else if forwarding == Forwarding::IsOrderedLikeAnyLoad {
                if let Some(other) = self.other_before[source] {
                    self.graph.add_edge(other, position);
                }
            }
        }
    }
}

impl OwnAccesses {
    /// Adds the thread's next event on this address, unless it is in conflict order
    /// before an earlier one: then the error names the two.
    #[inline]
    fn add(&mut self, position: usize, event: &Event) -> Result<(), (usize, usize)> {
        let coherence = event.coherence.0;
        let point = Some(CoherencePoint {
            coherence,
            position,
        });
        let against =
            |earlier: Option<CoherencePoint>, is_against: fn(u64, u64) -> bool| match earlier {
                Some(point) if is_against(coherence, point.coherence) => {
                    Err((point.position, position))
                }
                _ => Ok(()),
            };
        against(self.highest_write, |later, earlier| later < earlier)?;
        let highest = if event.operation().writes() {
            against(self.highest_read, |later, earlier| later <= earlier)?;
            &mut self.highest_write
        } else {
            &mut self.highest_read
        };
        if highest.is_none_or(|point| point.coherence < coherence) {
            *highest = point;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::event;
    use crate::event::{Access, Address, Operation, ThreadId};

    const X: Address = Address(0);
    const Y: Address = Address(1);

    #[test]
    fn every_model_has_the_shape_that_linear_time_needs() {
        let operations = || OperationKind::ALL.map(|kind| kind.at(X)).into_iter();
        for model in MemoryModel::ALL {
            for earlier in operations() {
                for later in operations() {
                    let is_exempt = |o| matches!(o, Operation::StoreBarrier);
                    if is_exempt(earlier) || is_exempt(later) {
                        continue;
                    }
                    if !matches!(earlier, Operation::Store(_)) || later.writes() {
                        assert!(model.keeps(earlier, later, false), "{earlier} {later}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_violation_names_its_cycle() {
        let trace = Trace::new(vec![
            event(0, 1, Operation::Store(X), 1),
            event(0, 2, Operation::Fence, 0),
            event(0, 3, Operation::Load(Y), 0),
            event(1, 1, Operation::Interlocked(Y), 1),
            event(1, 2, Operation::Load(X), 0),
        ])
        .unwrap();
        for model in [MemoryModel::TSO, MemoryModel::PSO] {
            let violation = check(&model, &trace).unwrap_err();
            let AxiomViolation::RelaxedHappensBefore(cycle) = &violation else {
                panic!("{violation}");
            };
            let mut positions = cycle.positions.clone();
            positions.sort_unstable();
            assert_eq!(positions, [0, 1, 2, 3, 4]);
            let text = violation.to_string();
            assert!(
                text.starts_with("relaxed happens-before has a cycle: T"),
                "{text}"
            );
            assert!(text.contains("T0:1 st a0 (value 1) → T0:2 fence → T0:3 ld a1 (value 0)"));
        }
        let violation = check(&MemoryModel::SC, &trace).unwrap_err();
        assert!(matches!(violation, AxiomViolation::HappensBefore(_)));
        let text = violation.to_string();
        assert!(text.starts_with("happens-before has a cycle: T"), "{text}");
    }

    #[test]
    fn a_violation_at_one_address_names_both_events() {
        let trace = Trace::new(vec![
            event(0, 1, Operation::Store(X), 1),
            event(0, 2, Operation::Load(X), 0),
        ])
        .unwrap();
        let violation = check(&MemoryModel::TSO, &trace).unwrap_err();
        assert_eq!(
            violation.to_string(),
            "T0:1 st a0 (value 1) comes before T0:2 ld a0 (value 0) in program order but after \
             it in conflict order"
        );
    }

    #[test]
    fn a_long_trace_is_checked_in_linear_time() {
        // Under PSO every fence is after many unordered stores, and barriers abound.
        let mut accesses = Vec::new();
        for index in 0..600_000_u32 {
            let operation = match index % 10 {
                7 => Operation::StoreBarrier,
                8 if index % 1000 == 8 => Operation::Fence,
                9 => Operation::Load(Address(index % 101)),
                _ => Operation::Store(Address(index % 97)),
            };
            accesses.push(Access::new(ThreadId(index / 7 % 3), operation));
        }
        let trace = Trace::of_interleaving(&accesses);
        for model in MemoryModel::ALL {
            assert_eq!(check(&model, &trace), Ok(()));
        }
        assert_eq!(sober_definition_3(&trace), Ok(()));
    }
}
