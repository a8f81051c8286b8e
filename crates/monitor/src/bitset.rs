//! The relaxed-order monitor for short interleavings that are rewound often.
//!
//! The rule is that of [`relaxed_order`](crate::relaxed_order). But the interleavings of an
//! explorer have few events, so that a set of them fits in a few words, and sets replace clocks:
//! joining is a union, an event is known if its bit is set, and the latest known write is the
//! highest bit. Events need not be in totally ordered groups, so one algorithm serves TSO and PSO.
//! Each event saves the few sets that it replaces, and rewinding restores them.
//!
//! A [`RewindingMonitor`](crate::RewindingMonitor) replaces it when an interleaving has more events
//! than fit.

use fencepost_memory::{Access, Address, Buffering, Event, MemoryModel, Operation, OperationKind};

use crate::journal::FIRST_THREADS;
use crate::runner::MemoryLimitExceeded;
use crate::violation::{PlacedEvent, Violation};

/// A set of events of an interleaving, by their positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Set<const N: usize>([u64; N]);

impl<const N: usize> Set<N> {
    const EMPTY: Self = Set([0; N]);

    #[inline]
    fn only(position: usize) -> Self {
        let mut words = [0; N];
        words[position / 64 % N] = 1 << (position % 64);
        Set(words)
    }

    #[inline]
    fn map(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Set(std::array::from_fn(|i| combine(self.0[i], other.0[i])))
    }

    #[inline]
    fn or(self, other: Self) -> Self {
        self.map(other, |one, two| one | two)
    }

    #[inline]
    fn and(self, other: Self) -> Self {
        self.map(other, |one, two| one & two)
    }

    #[inline]
    fn without(self, other: Self) -> Self {
        self.map(other, |one, two| one & !two)
    }

    /// The set if `condition` holds, else the empty set. Without a branch: the condition is hard to
    /// predict.
    #[inline]
    fn only_if(self, condition: bool) -> Self {
        let mask = u64::from(condition).wrapping_neg();
        Set(self.0.map(|word| word & mask))
    }

    #[inline]
    fn has(self, position: usize) -> bool {
        self.0[position / 64 % N] >> (position % 64) & 1 != 0
    }

    #[inline]
    fn latest(self) -> Option<usize> {
        let last = |i: usize| 64 * i + self.0[i].ilog2() as usize;
        (0..N).rev().find(|&i| self.0[i] != 0).map(last)
    }

    fn count_before(self, position: usize) -> u64 {
        (0..position).filter(|&at| self.has(at)).count() as u64
    }
}

/// The index of what precedes, in relaxed happens-before, a thread's next load.
const LOADS: usize = 0;
/// The same for its next store.
const STORES: usize = 1;
/// The same for its next fence.
const FENCES: usize = 2;

/// How a model keeps the operations of one kind in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rule {
    /// What precedes such an operation: loads, stores or fences.
    kept: usize,
    /// Whether later loads, stores and fences come after it, and after whatever precedes it.
    holds_back: [bool; 3],
}

/// The rules of a model for each kind of operation.
fn rules_of(model: &MemoryModel) -> [Rule; OperationKind::ALL.len()] {
    let (a, b) = (Address(0), Address(1));
    let store = Operation::Store(a);
    let stores_in_order = model.keeps(store, Operation::Store(b), false);
    let locked_waits_for_all = model.keeps(store, Operation::LockedLoad(b), false);
    let locked = if locked_waits_for_all { FENCES } else { STORES };
    OperationKind::ALL.map(|kind| {
        let (kept, holds_back) = match kind {
            OperationKind::Load => (LOADS, [true; 3]),
            OperationKind::Store => (STORES, [false, stores_in_order, true]),
            OperationKind::Interlocked | OperationKind::LockedLoad | OperationKind::LockedStore => {
                (locked, [true; 3])
            }
            OperationKind::Fence => (FENCES, [true; 3]),
            OperationKind::StoreBarrier => (FENCES, [false, true, false]),
        };
        Rule { kept, holds_back }
    })
}

#[derive(Clone, Copy, Debug)]
struct ThreadSets<const N: usize> {
    /// Its events.
    own: Set<N>,
    /// What happens before its next event.
    before: Set<N>,
    /// The writes that precede, in relaxed happens-before, its next load, store and fence.
    kept: [Set<N>; 3],
}

impl<const N: usize> ThreadSets<N> {
    const NEW: Self = ThreadSets {
        own: Set::EMPTY,
        before: Set::EMPTY,
        kept: [Set::EMPTY; 3],
    };
}

#[derive(Clone, Copy, Debug)]
struct AddressSets<const N: usize> {
    /// The writes to it.
    writes: Set<N>,
    /// The events that happen before a read after the last write, and before a write after all
    /// accesses.
    before: Flows<N>,
    /// The same in relaxed happens-before, and only writes.
    kept: Flows<N>,
}

impl<const N: usize> AddressSets<N> {
    const UNUSED: Self = AddressSets {
        writes: Set::EMPTY,
        before: Flows::NOTHING,
        kept: Flows::NOTHING,
    };
}

/// The events that precede the next access to an address.
#[derive(Clone, Copy, Debug)]
struct Flows<const N: usize> {
    last_write: Set<N>,
    all: Set<N>,
}

impl<const N: usize> Flows<N> {
    const NOTHING: Self = Flows {
        last_write: Set::EMPTY,
        all: Set::EMPTY,
    };

    /// The events that precede an access. None do if `is_apart`.
    #[inline]
    fn before_access(&self, writes: bool, is_apart: bool) -> Set<N> {
        let set = self.all.only_if(writes).or(self.last_write);
        set.only_if(!is_apart)
    }

    /// Adds an access with all events that precede it.
    #[inline]
    fn add_access(&mut self, writes: bool, access: Set<N>) {
        self.all = self.all.or(access);
        self.last_write = self.last_write.or(access.only_if(writes));
    }
}

/// An event, and the sets that it replaced.
#[derive(Clone, Copy, Debug)]
struct JournalEntry<const N: usize> {
    access: Access,
    thread: ThreadSets<N>,
    address: AddressSets<N>,
}

/// The relaxed-order monitor for interleavings of at most 64 `N` events.
#[derive(Clone, Debug)]
pub struct BitsetMonitor<const N: usize> {
    model: MemoryModel,
    rules: [Rule; OperationKind::ALL.len()],
    threads: Vec<ThreadSets<N>>,
    addresses: Vec<AddressSets<N>>,
    /// The events that read and write.
    exchanges: Set<N>,
    journal: Vec<JournalEntry<N>>,
    memory_limit: usize,
}

impl<const N: usize> BitsetMonitor<N> {
    /// The number of events that fit.
    pub const MAX_EVENTS: usize = 64 * N;

    /// The monitor for a model with store buffers. `memory` is the most bytes that it may use.
    ///
    /// # Panics
    /// If the model has no store buffers: there are no violations.
    pub fn new(model: MemoryModel, memory: usize) -> Self {
        assert!(
            model.buffering() != Buffering::None,
            "{} has no store buffers",
            model.name()
        );
        BitsetMonitor {
            model,
            rules: rules_of(&model),
            threads: Vec::new(),
            addresses: Vec::new(),
            exchanges: Set::EMPTY,
            journal: Vec::new(),
            memory_limit: memory,
        }
    }

    /// Whether no more events fit.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.journal.len() >= Self::MAX_EVENTS
    }

    /// Observes the next access of the interleaving. The monitor must not be full.
    ///
    /// # Errors
    /// If there is not enough memory for its thread or its address.
    #[inline]
    pub fn observe(&mut self, access: &Access) -> Result<Option<Violation>, MemoryLimitExceeded> {
        let position = self.journal.len();
        assert!(position < Self::MAX_EVENTS, "no more events fit");
        let thread = access.thread.index();
        let address = access.operation.address();
        let addresses = address.map_or(0, |address| address.index() + 1);
        if thread >= self.threads.len() || addresses > self.addresses.len() {
            self.admit(thread + 1, addresses)?;
        }
        let Some(address) = address else {
            self.add_fence(access, position);
            return Ok(None);
        };
        let (by, at) = (
            &mut self.threads[thread],
            &mut self.addresses[address.index()],
        );
        self.journal.push(JournalEntry {
            access: *access,
            thread: *by,
            address: *at,
        });
        let operation = access.operation;
        let (kind, writes) = (operation.kind(), operation.writes());
        let is_load = kind == OperationKind::Load;
        let rule = &self.rules[kind as usize];
        let event = Set::only(position);
        let ordered = by.own.or(by.kept[rule.kept]);
        let last_write = at.writes.latest();
        let is_own = last_write.is_some_and(|write| by.own.has(write));
        let mut overtaken = None;
        // If the last write of all must come before it, so must the others.
        if let Some(last) = last_write {
            if !ordered.has(last) {
                // The latest that happens before it; and the latest that it can be put before.
                let known = at.writes.and(by.before);
                let can_be_passed = match is_load {
                    true => known,
                    false => known.without(self.exchanges),
                };
                let is_ordered = |write: usize| ordered.has(write);
                overtaken = match known.latest() {
                    Some(write) if !is_ordered(write) => {
                        can_be_passed.latest().filter(|&write| !is_ordered(write))
                    }
                    _ => None,
                };
            }
        }

        let before = by
            .before
            .or(at.before.before_access(writes, false))
            .or(event);
        by.before = before;
        at.before.add_access(writes, before);

        // A load of the own store may have taken it from the buffer, before anything else came to
        // memory.
        let flows_in = at.kept.before_access(writes, is_load && is_own);
        let kept = by.kept[rule.kept].or(flows_in).or(event.only_if(writes));
        for (set, holds_back) in by.kept.iter_mut().zip(rule.holds_back) {
            *set = set.or(kept.only_if(holds_back));
        }
        at.kept.add_access(writes, kept);

        at.writes = at.writes.or(event.only_if(writes));
        by.own = by.own.or(event);
        let exchanges = event.only_if(writes && operation.reads());
        self.exchanges = self.exchanges.without(event).or(exchanges);
        Ok(overtaken.map(|pending| self.violation(pending, position)))
    }

    fn add_fence(&mut self, access: &Access, position: usize) {
        let by = &mut self.threads[access.thread.index()];
        self.journal.push(JournalEntry {
            access: *access,
            thread: *by,
            address: AddressSets::UNUSED,
        });
        let rule = &self.rules[access.operation.kind() as usize];
        let kept = by.kept[rule.kept];
        for (set, holds_back) in by.kept.iter_mut().zip(rule.holds_back) {
            *set = set.or(kept.only_if(holds_back));
        }
        let event = Set::only(position);
        by.before = by.before.or(event);
        by.own = by.own.or(event);
    }

    #[cold]
    #[inline(never)]
    fn violation(&self, pending: usize, event: usize) -> Violation {
        let of_thread = self.threads[self.journal[event].access.thread.index()].own;
        let earlier = of_thread.without(Set::only(event));
        let last = earlier.latest();
        let last = last.expect("the thread knows of a write, so it has had an event");
        Violation {
            model: self.model,
            pending: self.placed(pending),
            last: self.placed(last),
            event: self.placed(event),
        }
    }

    fn placed(&self, position: usize) -> PlacedEvent {
        let access = self.journal[position].access;
        let of_thread = self.threads[access.thread.index()].own;
        let written = access.operation.address().map_or(0, |address| {
            let writes = self.addresses[address.index()].writes;
            writes.count_before(position)
        });
        PlacedEvent {
            event: Event::next(access, of_thread.count_before(position), written),
            position: position as u64,
        }
    }

    /// Rewinds to the first `accesses` accesses.
    pub fn rewind(&mut self, events: usize) {
        while self.journal.len() > events {
            let noted = self.journal.pop().expect("it is longer");
            self.threads[noted.access.thread.index()] = noted.thread;
            if let Some(address) = noted.access.operation.address() {
                self.addresses[address.index()] = noted.address;
            }
        }
    }

    #[cold]
    fn admit(&mut self, threads: usize, addresses: usize) -> Result<(), MemoryLimitExceeded> {
        let threads = threads.max(self.threads.len());
        let addresses = addresses.max(self.addresses.len());
        // Lists grow by doubling.
        let room_for = |count: usize| count.saturating_mul(2).max(FIRST_THREADS);
        let for_sets = room_for(threads) * size_of::<ThreadSets<N>>()
            + room_for(addresses).saturating_mul(size_of::<AddressSets<N>>());
        let needed = for_sets.saturating_add(Self::MAX_EVENTS * size_of::<JournalEntry<N>>());
        if needed > self.memory_limit {
            return Err(MemoryLimitExceeded {
                threads,
                addresses,
                needed,
                limit: self.memory_limit,
            });
        }
        if self.threads.is_empty() {
            self.threads.reserve(FIRST_THREADS);
            self.addresses.reserve(FIRST_THREADS);
            self.journal.reserve(FIRST_THREADS);
        }
        self.threads.resize(threads, ThreadSets::NEW);
        self.addresses.resize(addresses, AddressSets::UNUSED);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fencepost_memory::{LockedDrains, Random, ThreadId};

    use super::*;
    use crate::{Monitor, MonitorRunner, RelaxedOrderMonitor};

    /// Mostly plain accesses to few addresses: the others rule violations out.
    fn random_access(random: &mut Random, threads: u64, addresses: u64) -> Access {
        let kind = match random.below(6) {
            0 => OperationKind::ALL[random.below(OperationKind::ALL.len() as u64) as usize],
            number if number % 2 == 0 => OperationKind::Load,
            _ => OperationKind::Store,
        };
        let thread = ThreadId(random.below(threads) as u32);
        Access::new(thread, kind.at(Address(random.below(addresses) as u32)))
    }

    /// The number of interleavings whose violations differ from those of the monitor with clocks,
    /// and the number of interleavings with violations. Half of the events are rewound now and
    /// then.
    fn compare<const N: usize, M: Monitor>(
        short: &mut BitsetMonitor<N>,
        clocks: impl Fn() -> M,
        seed: u64,
        (interleavings, events): (usize, usize),
    ) -> (usize, usize) {
        let mut random = Random::new(seed);
        let (mut different, mut wrong) = (0, 0);
        for _ in 0..interleavings {
            short.rewind(0);
            let (threads, addresses) = (2 + random.below(4), 1 + random.below(4));
            let mut accesses: Vec<Access> = Vec::new();
            while accesses.len() < events {
                accesses.push(random_access(&mut random, threads, addresses));
                short
                    .observe(accesses.last().expect("just pushed"))
                    .expect("enough memory");
                if random.below(events as u64 / 2) == 0 {
                    let left = random.below(accesses.len() as u64 + 1) as usize;
                    accesses.truncate(left);
                    short.rewind(left);
                }
            }
            let tail = random.below(events as u64) as usize;
            short.rewind(tail);
            let mut runner = MonitorRunner::new(clocks());
            let (mut is_different, mut is_wrong) = (false, false);
            for (position, access) in accesses.iter().enumerate() {
                let expected = runner.observe(*access).expect("enough memory");
                is_wrong |= expected.is_some();
                if position >= tail {
                    is_different |= short.observe(access) != Ok(expected);
                }
            }
            wrong += usize::from(is_wrong);
            different += usize::from(is_different);
        }
        (different, wrong)
    }

    fn agree<M: Monitor>(clocks: impl Fn() -> M) {
        let model = clocks().model();
        let mut short = BitsetMonitor::<1>::new(model, usize::MAX);
        let mut longer = BitsetMonitor::<4>::new(model, usize::MAX);
        let (different, wrong) = compare(&mut short, &clocks, 41, (20_000, 14));
        assert_eq!(different, 0);
        assert!((2_000..19_000).contains(&wrong), "{wrong}");
        let (different, _) = compare(&mut short, &clocks, 42, (2000, 64));
        assert_eq!(different, 0);
        let (different, _) = compare(&mut longer, &clocks, 43, (500, 256));
        assert_eq!(different, 0);
        let (different, _) = compare(&mut longer, &clocks, 44, (5000, 14));
        assert_eq!(different, 0);
    }

    #[test]
    fn sets_say_what_clocks_say() {
        agree(RelaxedOrderMonitor::tso);
        agree(|| RelaxedOrderMonitor::pso(LockedDrains::Everything));
        agree(|| RelaxedOrderMonitor::pso(LockedDrains::OwnAddress));
    }

    /// Whether a change of the rules of one kind is noticed.
    fn is_noticed<M: Monitor>(
        clocks: &impl Fn() -> M,
        kind: OperationKind,
        change: impl Fn(&mut Rule),
    ) -> bool {
        let mut short = BitsetMonitor::<1>::new(clocks().model(), usize::MAX);
        change(&mut short.rules[kind as usize]);
        let (different, _) = compare(&mut short, clocks, 45, (3000, 14));
        different > 0
    }

    /// The changes of single rules that are not noticed.
    fn unnoticed<M: Monitor>(clocks: impl Fn() -> M) -> Vec<(OperationKind, Rule)> {
        let rules = rules_of(&clocks().model());
        let mut all = Vec::new();
        for kind in OperationKind::ALL {
            let rule = rules[kind as usize];
            for row in [LOADS, STORES, FENCES] {
                let mut flipped = rule;
                flipped.holds_back[row] ^= true;
                let moved = Rule { kept: row, ..rule };
                let changed = [flipped, moved].into_iter().filter(|&other| other != rule);
                for other in changed {
                    if !is_noticed(&clocks, kind, |rule| *rule = other) {
                        all.push((kind, other));
                    }
                }
            }
        }
        all
    }

    #[test]
    fn each_rule_matters() {
        // Stores and fences come after the same, and a barrier does nothing: 11 changes say the
        // same.
        let on_tso = unnoticed(RelaxedOrderMonitor::tso);
        let is_about_loads = |(kind, rule): &(OperationKind, Rule)| {
            *kind != OperationKind::StoreBarrier
                && (rule.kept == LOADS || rule.holds_back[LOADS] == (*kind == OperationKind::Store))
        };
        assert_eq!(on_tso.len(), 11, "{on_tso:?}");
        assert!(!on_tso.iter().any(is_about_loads), "{on_tso:?}");
        // What a fence or a barrier comes after holds fences back already.
        let on_pso = unnoticed(|| RelaxedOrderMonitor::pso(LockedDrains::Everything));
        let kinds: Vec<OperationKind> = on_pso.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [OperationKind::Fence, OperationKind::StoreBarrier]);
        // Nor does it matter that other operations hold fences back that hold back loads and stores
        // themselves; one or two more changes show only in rare interleavings.
        let on_pso = unnoticed(|| RelaxedOrderMonitor::pso(LockedDrains::OwnAddress));
        assert!(on_pso.len() <= 8, "{on_pso:?}");
    }

    fn keeps_to_its_memory<const N: usize>(seed: u64) -> u32 {
        let mut random = Random::new(seed);
        let mut refused = 0;
        // What the first events need, more and more of it.
        let least = match BitsetMonitor::<N>::new(MemoryModel::TSO, 0).observe(&random_access(
            &mut random,
            1,
            1,
        )) {
            Err(error) => error.needed,
            Ok(_) => panic!("there is no memory"),
        };
        for limit in (0..40).map(|more| least - 1 + more * 97) {
            let mut short = BitsetMonitor::<N>::new(MemoryModel::TSO, limit);
            for addresses in 1..64 {
                let access = random_access(&mut random, 1 + addresses, addresses);
                if let Err(error) = short.observe(&access) {
                    assert!(error.needed > limit && error.limit == limit);
                    refused += 1;
                }
                let held = short.threads.capacity() * size_of::<ThreadSets<N>>()
                    + short.addresses.capacity() * size_of::<AddressSets<N>>()
                    + short.journal.capacity() * size_of::<JournalEntry<N>>();
                assert!(held <= limit, "{held} bytes of {limit}");
            }
        }
        refused
    }

    #[test]
    fn memory_is_not_exceeded() {
        assert!(keeps_to_its_memory::<1>(46) > 64);
        assert!(keeps_to_its_memory::<4>(46) > 64);
    }
}
