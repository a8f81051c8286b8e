//! Program order, conflict order and happens-before (SOBER section 3.1 and 3.2).
//!
//! The orders are predicates on two events of one trace. None of them is closed
//! under transitivity, as in the paper.
//!
//! Beyond the paper: a locked load only reads and a locked store only writes, so
//! where the paper asks for a load, "reads and does not write" is asked here. Fences
//! and barriers have no address and so no conflicts.

use crate::event::Event;
use crate::graph::Digraph;
use crate::trace::Trace;

/// Program order: the same thread, `earlier` before `later`.
#[inline]
pub fn program_order(earlier: &Event, later: &Event) -> bool {
    earlier.thread() == later.thread() && earlier.issue < later.issue
}

/// Conflict order: the same address, one of the two writes, and coherence puts
/// `earlier` first.
///
/// ```
/// use fencepost_memory::order::conflict_order;
/// use fencepost_memory::{Access, Address, Operation, ThreadId, Trace};
/// let trace = Trace::of_interleaving(&[
///     Access::new(ThreadId(0), Operation::Load(Address(0))),
///     Access::new(ThreadId(1), Operation::Store(Address(0))),
/// ]);
/// let [load, store] = trace.events() else { unreachable!() };
/// assert!(conflict_order(load, store));
/// assert!(!conflict_order(store, load));
/// ```
#[inline]
pub fn conflict_order(earlier: &Event, later: &Event) -> bool {
    if !earlier.operation().conflicts_with(later.operation()) {
        return false;
    }
    if later.operation().writes() {
        earlier.coherence < later.coherence
    } else {
        earlier.coherence <= later.coherence
    }
}

/// Happens-before: program order or conflict order (SOBER section 3.2).
#[inline]
pub fn happens_before(earlier: &Event, later: &Event) -> bool {
    program_order(earlier, later) || conflict_order(earlier, later)
}

/// The positions of the events along a cycle of happens-before, if there is one: the
/// trace is sequentially consistent exactly if there is none (SOBER Def. 2).
///
/// Each event happens before the next, and the last before the first. Linear in the
/// length of the trace.
///
/// ```
/// use fencepost_memory::order::happens_before_cycle;
/// use fencepost_memory::{Access, Address, Operation, ThreadId, Trace};
/// let trace = Trace::of_interleaving(&[
///     Access::new(ThreadId(0), Operation::Store(Address(0))),
///     Access::new(ThreadId(1), Operation::Load(Address(0))),
/// ]);
/// assert_eq!(happens_before_cycle(&trace), None);
/// ```
pub fn happens_before_cycle(trace: &Trace) -> Option<Vec<usize>> {
    let mut layout = Layout::default();
    layout.arrange(trace);
    let mut graph = Digraph::default();
    add_happens_before(trace, &layout, &mut graph);
    let cycle = graph.find_cycle()?;
    Some(without_inner_steps_of_threads(trace, cycle))
}

/// Makes `graph` a graph over the trace's positions whose transitive closure is that
/// of happens-before, with at most three edges per event.
pub(crate) fn add_happens_before(trace: &Trace, layout: &Layout, graph: &mut Digraph) {
    graph.reset(trace.events().len());
    for thread in 0..trace.thread_count() {
        for pair in layout.thread(thread).windows(2) {
            graph.add_edge(pair[0] as usize, pair[1] as usize);
        }
    }
    for address in 0..trace.address_count() {
        for pair in layout.writes(address).windows(2) {
            graph.add_edge(pair[0] as usize, pair[1] as usize);
        }
    }
    for (position, event) in trace.events().iter().enumerate() {
        let (Some(address), false) = (event.operation().address(), event.operation().writes())
        else {
            continue;
        };
        let writes = layout.writes(address.index());
        let value = event.coherence.0 as usize;
        if value > 0 {
            graph.add_edge(writes[value - 1] as usize, position);
        }
        if value < writes.len() {
            graph.add_edge(position, writes[value] as usize);
        }
    }
}

/// Program order is transitive, so a cycle needs only the first and the last of the
/// consecutive events of a thread.
fn without_inner_steps_of_threads(trace: &Trace, cycle: Vec<usize>) -> Vec<usize> {
    let event = |index: usize| &trace.events()[cycle[index % cycle.len()]];
    let is_inner = |&index: &usize| {
        program_order(event(index + cycle.len() - 1), event(index))
            && program_order(event(index), event(index + 1))
    };
    let kept = (0..cycle.len()).filter(|index| !is_inner(index));
    kept.map(|index| cycle[index]).collect()
}

/// The positions of a trace's events by thread and of its writes by address, in two
/// flat lists. (E1) and (E2) give every event its place, so nothing is sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    thread_starts: Vec<usize>,
    in_program_order: Vec<u32>,
    address_starts: Vec<usize>,
    in_coherence_order: Vec<u32>,
}

impl Layout {
    pub(crate) fn arrange(&mut self, trace: &Trace) {
        self.thread_starts.clear();
        self.thread_starts.resize(trace.thread_count() + 1, 0);
        self.address_starts.clear();
        self.address_starts.resize(trace.address_count() + 1, 0);
        for event in trace.events() {
            self.thread_starts[event.thread().index() + 1] += 1;
            if let (true, Some(a)) = (event.operation().writes(), event.operation().address()) {
                self.address_starts[a.index() + 1] += 1;
            }
        }
        sum_up(&mut self.thread_starts);
        sum_up(&mut self.address_starts);
        self.in_program_order.clear();
        self.in_program_order.resize(trace.events().len(), 0);
        let writes = self.address_starts[trace.address_count()];
        self.in_coherence_order.clear();
        self.in_coherence_order.resize(writes, 0);
        for (position, event) in trace.events().iter().enumerate() {
            let place = self.thread_starts[event.thread().index()] + event.issue.0 as usize - 1;
            self.in_program_order[place] = position as u32;
            if let (true, Some(a)) = (event.operation().writes(), event.operation().address()) {
                let place = self.address_starts[a.index()] + event.coherence.0 as usize - 1;
                self.in_coherence_order[place] = position as u32;
            }
        }
    }

    /// The positions of a thread's events, in program order.
    #[inline]
    pub(crate) fn thread(&self, thread: usize) -> &[u32] {
        &self.in_program_order[self.thread_starts[thread]..self.thread_starts[thread + 1]]
    }

    /// The positions of the writes to an address, in coherence order.
    #[inline]
    pub(crate) fn writes(&self, address: usize) -> &[u32] {
        &self.in_coherence_order[self.address_starts[address]..self.address_starts[address + 1]]
    }
}

fn sum_up(counts: &mut [usize]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::event;
    use crate::event::{Access, Address, Operation, ThreadId};

    #[test]
    fn conflict_order_follows_the_definition() {
        let a = Address(0);
        let load = |value| event(0, 1, Operation::Load(a), value);
        let locked_load = |value| event(0, 1, Operation::LockedLoad(a), value);
        let store = |value| event(1, 1, Operation::Store(a), value);
        let interlocked = |value| event(1, 1, Operation::Interlocked(a), value);
        // A write comes before the loads of its value and of later ones.
        assert!(conflict_order(&store(1), &load(1)));
        assert!(conflict_order(&store(1), &locked_load(2)));
        assert!(!conflict_order(&store(2), &load(1)));
        // A load comes before the writes after the one that it reads.
        assert!(conflict_order(&load(1), &store(2)));
        assert!(!conflict_order(&load(1), &store(1)));
        // An interlocked operation has the index of what it writes.
        assert!(conflict_order(&store(1), &interlocked(2)));
        assert!(!conflict_order(&interlocked(2), &store(1)));
        assert!(conflict_order(&load(1), &interlocked(2)));
        assert!(conflict_order(&interlocked(2), &load(2)));
        // Two reads, two addresses, and fences do not conflict.
        assert!(!conflict_order(&load(0), &locked_load(1)));
        let elsewhere = event(1, 1, Operation::Store(Address(1)), 1);
        assert!(!conflict_order(&load(0), &elsewhere));
        let fence = event(1, 1, Operation::Fence, 0);
        assert!(!conflict_order(&fence, &fence));
    }

    #[test]
    fn the_cycle_of_store_buffering_has_its_four_events() {
        let (x, y) = (Address(0), Address(1));
        let trace = Trace::new(vec![
            event(0, 1, Operation::Store(x), 1),
            event(0, 2, Operation::StoreBarrier, 0),
            event(0, 3, Operation::Load(y), 0),
            event(1, 1, Operation::Store(y), 1),
            event(1, 2, Operation::Load(x), 0),
        ])
        .unwrap();
        let mut cycle = happens_before_cycle(&trace).unwrap();
        for (index, &position) in cycle.iter().enumerate() {
            let next = cycle[(index + 1) % cycle.len()];
            assert!(happens_before(
                &trace.events()[position],
                &trace.events()[next]
            ));
        }
        cycle.sort_unstable();
        assert_eq!(cycle, [0, 2, 3, 4]);
    }

    #[test]
    fn a_load_before_the_store_that_it_reads_is_a_cycle_of_two() {
        let x = Address(0);
        let trace = Trace::new(vec![
            event(0, 1, Operation::Load(x), 1),
            event(0, 2, Operation::Store(x), 1),
        ])
        .unwrap();
        assert_eq!(happens_before_cycle(&trace).map(|c| c.len()), Some(2));
    }

    #[test]
    fn a_million_events_are_no_problem() {
        let mut accesses = Vec::new();
        for index in 0..1_000_000_u32 {
            let address = Address(index % 7);
            let operation = match index % 3 {
                0 => Operation::Store(address),
                1 => Operation::Load(address),
                _ => Operation::Interlocked(address),
            };
            accesses.push(Access::new(ThreadId(index % 4), operation));
        }
        let trace = Trace::of_interleaving(&accesses);
        assert_eq!(happens_before_cycle(&trace), None);
    }
}
