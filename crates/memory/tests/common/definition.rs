//! The axioms straight from the definition: all pairs, then the transitive closure.
//!
//! Slow and plain on purpose, and with switches that break it, so that a comparison can
//! be shown to notice.

use fencepost_memory::order::{conflict_order, program_order};
use fencepost_memory::{Event, MemoryModel, Operation, Trace};

/// Ways to get the axioms wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutation {
    /// Order a load that reads its own thread's store after other threads' writes.
    DropForwardingException,
    /// Keep the program order from stores to loads.
    KeepStoreToLoad,
    /// Order nothing around fences.
    ForgetFences,
    /// Order nothing around store-store barriers.
    ForgetBarriers,
    /// Buffer a locked operation's address like any other: st to locked is not kept.
    ForgetLockedDrain,
    /// Do not look at each address by itself.
    ForgetPerLocation,
    /// Take conflict edges within a thread as well, where program order is not kept.
    TakeConflictsWithinThreads,
    /// Exempt every load that reads a value at least as new as an own store's.
    ExemptTooManyLoads,
}

impl Mutation {
    pub const ALL: [Mutation; 8] = [
        Mutation::DropForwardingException,
        Mutation::KeepStoreToLoad,
        Mutation::ForgetFences,
        Mutation::ForgetBarriers,
        Mutation::ForgetLockedDrain,
        Mutation::ForgetPerLocation,
        Mutation::TakeConflictsWithinThreads,
        Mutation::ExemptTooManyLoads,
    ];
}

/// Whether the model's axioms, with or without a mutation, allow the trace.
pub fn allows(model: &MemoryModel, trace: &Trace, mutation: Option<Mutation>) -> bool {
    let events = trace.events();
    let has = |m: Mutation| mutation == Some(m);
    let barriers: Vec<&Event> = events
        .iter()
        .filter(|e| e.operation() == Operation::StoreBarrier)
        .collect();
    let barrier_between = |x: &Event, y: &Event| {
        let between = |b: &&Event| program_order(x, b) && program_order(b, y);
        !has(Mutation::ForgetBarriers) && barriers.iter().any(between)
    };
    let is_plain_store = |e: &Event| matches!(e.operation(), Operation::Store(_));
    let is_plain_load = |e: &Event| matches!(e.operation(), Operation::Load(_));
    let kept = |x: &Event, y: &Event| {
        if has(Mutation::KeepStoreToLoad) && is_plain_store(x) && is_plain_load(y) {
            return true;
        }
        let fences = [x, y].iter().any(|e| e.operation() == Operation::Fence);
        if has(Mutation::ForgetFences) && fences {
            return false;
        }
        if has(Mutation::ForgetLockedDrain) && is_plain_store(x) && y.operation().is_locked() {
            return false;
        }
        model.keeps(x.operation(), y.operation(), barrier_between(x, y))
    };
    let reads_own_store = |load: &Event| {
        is_plain_load(load)
            && !has(Mutation::DropForwardingException)
            && events.iter().any(|write| {
                write.thread() == load.thread()
                    && write.operation().writes()
                    && write.operation().address() == load.operation().address()
                    && (write.coherence == load.coherence
                        || (has(Mutation::ExemptTooManyLoads) && write.coherence <= load.coherence))
            })
    };
    let relaxed = |x: &Event, y: &Event| {
        if program_order(x, y) && kept(x, y) {
            return true;
        }
        let within_thread = x.thread() == y.thread();
        if within_thread && !has(Mutation::TakeConflictsWithinThreads) {
            return false;
        }
        conflict_order(x, y) && !(x.operation().writes() && reads_own_store(y) && !within_thread)
    };
    let against = |x: &Event, y: &Event| program_order(x, y) && conflict_order(y, x);
    if !has(Mutation::ForgetPerLocation) && any_pair(events, against) {
        return false;
    }
    is_acyclic(events, relaxed)
}

/// SOBER Def. 3 as printed. Barriers are left out: the report has none.
pub fn allows_by_sober_definition_3(trace: &Trace) -> bool {
    let is_event = |e: &&Event| e.operation() != Operation::StoreBarrier;
    let events: Vec<Event> = trace.events().iter().filter(is_event).copied().collect();
    let is_store = |e: &Event| matches!(e.operation(), Operation::Store(_));
    let is_load = |e: &Event| matches!(e.operation(), Operation::Load(_));
    let relaxed = |x: &Event, y: &Event| {
        let is_removed = program_order(x, y) && is_store(x) && is_load(y);
        (program_order(x, y) || conflict_order(x, y)) && !is_removed
    };
    let against = |x: &Event, y: &Event| program_order(x, y) && conflict_order(y, x);
    !any_pair(&events, against) && is_acyclic(&events, relaxed)
}

/// SOBER Def. 2.
pub fn is_sequentially_consistent(trace: &Trace) -> bool {
    let happens_before = |x: &Event, y: &Event| program_order(x, y) || conflict_order(x, y);
    is_acyclic(trace.events(), happens_before)
}

fn any_pair(events: &[Event], relation: impl Fn(&Event, &Event) -> bool) -> bool {
    let with = |x| events.iter().any(|y| relation(x, y));
    events.iter().any(with)
}

fn is_acyclic(events: &[Event], relation: impl Fn(&Event, &Event) -> bool) -> bool {
    assert!(events.len() <= 64);
    let after = |x: &Event| {
        let bits = events.iter().enumerate();
        bits.fold(0_u64, |set, (i, y)| set | (u64::from(relation(x, y)) << i))
    };
    let mut reaches: Vec<u64> = events.iter().map(after).collect();
    for middle in 0..events.len() {
        for first in 0..events.len() {
            if reaches[first] >> middle & 1 == 1 {
                reaches[first] |= reaches[middle];
            }
        }
    }
    (0..events.len()).all(|node| reaches[node] >> node & 1 == 0)
}
