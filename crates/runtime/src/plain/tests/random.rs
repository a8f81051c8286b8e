//! Random traces against the definition of happens-before: a graph over all events, without clocks,
//! and pairs of accesses, without a shadow.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};

use fencepost_memory::{Address, SplitMix64};

use super::super::AccessKind::{Allocation, AtomicRead, AtomicWrite, Free, Read, Write};
use super::super::*;
use super::{BASE, Checker, access};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AtomicOperation {
    Load,
    Store,
    ReadModifyWrite,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Access(MemoryAccess),
    /// On the variable at that address.
    Atomic(AtomicOperation, MemoryAccess, Ordering),
    Fence(Ordering),
    Lock(usize),
    Unlock(usize),
    Spawn(u32),
    Join(u32),
}

impl Event {
    fn access(&self) -> Option<&MemoryAccess> {
        match self {
            Event::Access(access) | Event::Atomic(_, access, _) => Some(access),
            _ => None,
        }
    }
}

fn acquires(ordering: Ordering) -> bool {
    matches!(ordering, Acquire | AcqRel)
}

fn releases(ordering: Ordering) -> bool {
    matches!(ordering, Release | AcqRel)
}

/// Sets of events.
type Events = u128;
const MOST_EVENTS: usize = 128;

/// A trace, with what happens before each of its events.
#[derive(Clone, Default)]
struct Trace {
    events: Vec<(u32, Event)>,
    /// By event, with the event itself.
    before: Vec<Events>,
}

/// The racing accesses before an event, with the bytes on which they race.
type Racing = Vec<(usize, Vec<(usize, usize)>)>;

impl Trace {
    fn happens_before(&self, one: usize, other: usize) -> bool {
        self.before[other] >> one & 1 != 0
    }

    /// The latest event of the thread that is one of these.
    fn last_of(&self, thread: u32, is_one: impl Fn(&Event) -> bool) -> Option<usize> {
        let mut events = self.events.iter();
        events.rposition(|(of, event)| *of == thread && is_one(event))
    }

    /// The events that an acquiring load after the event `until` synchronizes with: the heads of
    /// the release sequences that the present value of the variable belongs to, and the release
    /// fences before them.
    fn sources(&self, variable: usize, until: usize) -> Vec<usize> {
        let mut sources = Vec::new();
        for (index, (thread, event)) in self.events[..until].iter().enumerate().rev() {
            let Event::Atomic(operation, access, ordering) = event else {
                continue;
            };
            if access.address != variable || *operation == AtomicOperation::Load {
                continue;
            }
            if releases(*ordering) {
                sources.push(index);
            } else {
                let earlier = self.events[..index].iter();
                sources.extend(earlier.enumerate().filter_map(|(at, (of, event))| {
                    let is_fence = matches!(event, Event::Fence(ordering) if releases(*ordering));
                    (of == thread && is_fence).then_some(at)
                }));
            }
            if *operation == AtomicOperation::Store {
                break;
            }
        }
        sources
    }

    /// The events with which the event that is about to be added synchronizes.
    fn synchronizes_with(&self, thread: u32, event: &Event) -> Vec<usize> {
        let indexed = || self.events.iter().enumerate();
        match event {
            Event::Lock(lock) => indexed()
                .filter(|(_, (_, event))| matches!(event, Event::Unlock(of) if of == lock))
                .map(|(index, _)| index)
                .collect(),
            Event::Join(child) => self.last_of(*child, |_| true).into_iter().collect(),
            Event::Atomic(operation, access, ordering)
                if acquires(*ordering) && *operation != AtomicOperation::Store =>
            {
                self.sources(access.address, self.events.len())
            }
            Event::Fence(ordering) if acquires(*ordering) => indexed()
                .filter_map(|(index, (of, event))| match event {
                    Event::Atomic(operation, access, _)
                        if *of == thread && *operation != AtomicOperation::Store =>
                    {
                        Some(self.sources(access.address, index))
                    }
                    _ => None,
                })
                .flatten()
                .collect(),
            _ => Vec::new(),
        }
    }

    fn push(&mut self, thread: u32, event: Event) {
        let mut before: Events = 1 << self.events.len();
        let own = self.last_of(thread, |_| true);
        let spawn = self
            .events
            .iter()
            .position(|(_, event)| matches!(event, Event::Spawn(child) if *child == thread));
        let synchronized = self.synchronizes_with(thread, &event);
        for earlier in own.into_iter().chain(spawn).chain(synchronized) {
            before |= self.before[earlier];
        }
        // A thread that was joined before it did anything has its spawn before the join.
        if let Event::Join(child) = event {
            let spawn = |event: &Event| matches!(event, Event::Spawn(of) if *of == child);
            let spawned = self.events.iter().position(|(_, event)| spawn(event));
            before |= spawned.map_or(0, |spawned| self.before[spawned]);
        }
        self.events.push((thread, event));
        self.before.push(before);
    }

    fn listing(&self) -> String {
        let events = self.events.iter().enumerate();
        let lines = events.map(|(index, (thread, event))| format!("{index} T{thread} {event:?}\n"));
        lines.collect()
    }

    /// The accesses with which the last event races.
    fn racing(&self) -> Racing {
        let last = self.events.len() - 1;
        let Some(second) = self.events[last].1.access() else {
            return Vec::new();
        };
        let mut racing = Racing::new();
        for index in 0..last {
            let Some(first) = self.events[index].1.access() else {
                continue;
            };
            let is_atomic = |kind| matches!(kind, AtomicRead | AtomicWrite);
            let is_read = |kind| matches!(kind, AtomicRead | Read);
            let kinds = (first.kind, second.kind);
            if self.happens_before(index, last)
                || second.kind == Allocation
                || is_atomic(kinds.0) && is_atomic(kinds.1)
                || is_read(kinds.0) && is_read(kinds.1)
            {
                continue;
            }
            let range =
                |access: &MemoryAccess| (access.address, access.address + access.size as usize);
            let (one, other) = (range(first), range(second));
            let mut bytes = vec![(one.0.max(other.0), one.1.min(other.1))];
            for (_, between) in &self.events[index + 1..last] {
                if let Event::Access(allocation) = between {
                    if allocation.kind == Allocation {
                        bytes = without(&bytes, range(allocation));
                    }
                }
            }
            bytes.retain(|(from, to)| from < to);
            if !bytes.is_empty() {
                racing.push((index, bytes));
            }
        }
        racing
    }
}

fn without(bytes: &[(usize, usize)], (from, to): (usize, usize)) -> Vec<(usize, usize)> {
    let parts = bytes
        .iter()
        .flat_map(|&(low, high)| [(low, high.min(from)), (low.max(to), high)]);
    parts.filter(|(low, high)| low < high).collect()
}

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// An address, mostly near the border of two pages.
    fn address(&mut self) -> usize {
        match self.below(8) {
            0 => BASE - 2 * PAGE + self.below(4 * PAGE),
            1 => BASE - self.pick(&[PAGE, 2 * PAGE]),
            _ => BASE - 16 + self.below(32),
        }
    }

    fn plain_access(&mut self, place: u64) -> MemoryAccess {
        let kind = match self.below(24) {
            0 => Allocation,
            1 => Free,
            2..=9 => Write,
            _ => Read,
        };
        let size = match self.below(6) {
            0 => self.below(3 * PAGE) + 1,
            1 => self.pick(&[PAGE, 2 * PAGE]),
            _ => self.below(16) + 1,
        };
        access(kind, self.address(), size as u32, place)
    }

    fn event(&mut self, place: u64) -> Event {
        use AtomicOperation::{Load, ReadModifyWrite, Store};
        match self.below(12) {
            0..=5 => Event::Access(self.plain_access(place)),
            6..=8 => {
                let variable = BASE + self.pick(&[0, 8, 16]);
                let operation = self.pick(&[Load, Store, ReadModifyWrite]);
                let (kind, orderings): (_, &[_]) = match operation {
                    Load => (AtomicRead, &[Relaxed, Acquire]),
                    Store => (AtomicWrite, &[Relaxed, Release]),
                    ReadModifyWrite => (AtomicWrite, &[Relaxed, Acquire, Release, AcqRel]),
                };
                let ordering = self.pick(orderings);
                Event::Atomic(operation, access(kind, variable, 4, place), ordering)
            }
            9 => Event::Fence(self.pick(&[Acquire, Release, AcqRel])),
            10 => Event::Lock(self.below(2)),
            _ => Event::Unlock(self.below(2)),
        }
    }
}

/// A random trace that has no race, except perhaps at its last event.
fn random_trace(random: &mut Random) -> (Trace, Racing) {
    let threads = 2 + random.below(3) as u32;
    let length = 20 + random.below(MOST_EVENTS - 20);
    let mut trace = Trace::default();
    let mut live = vec![0];
    let mut spawned = 1;
    while trace.events.len() < length {
        let thread = random.pick(&live);
        let place = trace.events.len() as u64;
        let event = match random.below(16) {
            0 if spawned < threads => {
                live.push(spawned);
                spawned += 1;
                Event::Spawn(spawned - 1)
            }
            1 if random.below(4) == 0 && live.len() > 2 => {
                let ended = random.pick(&live);
                if ended == thread || ended == 0 {
                    continue;
                }
                live.retain(|&other| other != ended);
                Event::Join(ended)
            }
            _ => random.event(place),
        };
        trace.push(thread, event);
        let racing = trace.racing();
        if racing.is_empty() {
            continue;
        }
        if random.below(12) == 0 {
            return (trace, racing);
        }
        trace.events.pop();
        trace.before.pop();
    }
    (trace, Racing::new())
}

/// An error that the test makes between the trace and the checker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutation {
    /// Accesses concern whole granules.
    IgnoreMasks,
    ForgetReads,
    ForgetAtomicReads,
    IgnoreFrees,
    IgnoreAllocations,
    /// A thread knows more of another one than it does.
    LateClock,
    /// A thread knows less of another one than it does.
    EarlyClock,
    /// An atomic operation is performed after what it releases.
    AtomicAfterRelease,
    /// An atomic operation is performed before what it acquires.
    AtomicBeforeAcquire,
}

/// What the checker finds in a trace, and at which event.
fn found(
    checker: &mut Checker,
    trace: &Trace,
    mutation: Option<Mutation>,
) -> Option<(usize, MemoryFinding)> {
    for (index, &(thread, event)) in trace.events.iter().enumerate() {
        if let Err(finding) = perform(checker, thread, event, mutation) {
            return Some((index, finding));
        }
    }
    None
}

fn perform(
    checker: &mut Checker,
    thread: u32,
    event: Event,
    mutation: Option<Mutation>,
) -> Result<(), MemoryFinding> {
    let id = ThreadId(thread);
    let object = |address: usize| Address(((address - BASE) / 8) as u32);
    let lock = |lock: usize| Address(8 + lock as u32);
    let races = &mut checker.races;
    match event {
        Event::Access(access) => {
            let time = checker.time(thread);
            return mutated_access(checker, thread, time, access, mutation);
        }
        Event::Atomic(operation, access, ordering) => {
            let mut time = checker.time(thread);
            if mutation == Some(Mutation::AtomicBeforeAcquire) {
                mutated_access(checker, thread, time, access, mutation)?;
            }
            let (races, object) = (&mut checker.races, object(access.address));
            match operation {
                AtomicOperation::Load => races.load(id, object, ordering),
                AtomicOperation::Store => races.store(id, object, ordering),
                AtomicOperation::ReadModifyWrite => races.read_modify_write(id, object, ordering),
            }
            if mutation == Some(Mutation::AtomicAfterRelease) {
                time = checker.time(thread);
            }
            return mutated_access(checker, thread, time, access, mutation);
        }
        Event::Fence(ordering) => races.fence(id, ordering),
        Event::Lock(index) => races.acquire(id, lock(index)),
        Event::Unlock(index) => races.release(id, lock(index)),
        Event::Spawn(child) => races.spawn(id, ThreadId(child)),
        Event::Join(child) => races.join(id, ThreadId(child)),
    }
    Ok(())
}

fn mutated_access(
    checker: &mut Checker,
    thread: u32,
    time: u32,
    mut access: MemoryAccess,
    mutation: Option<Mutation>,
) -> Result<(), MemoryFinding> {
    let is_left_out = match mutation {
        Some(Mutation::ForgetReads) => access.kind == Read,
        Some(Mutation::ForgetAtomicReads) => access.kind == AtomicRead,
        Some(Mutation::IgnoreFrees) => access.kind == Free,
        Some(Mutation::IgnoreAllocations) => access.kind == Allocation,
        _ => false,
    };
    if is_left_out {
        return Ok(());
    }
    if mutation == Some(Mutation::IgnoreMasks) {
        let end = (access.address + access.size as usize).next_multiple_of(GRANULE);
        access.address -= access.address % GRANULE;
        access.size = (end - access.address) as u32;
    }
    let shift: i64 = match mutation {
        Some(Mutation::LateClock) => 1,
        Some(Mutation::EarlyClock) => -1,
        _ => return checker.access_at(thread, time, access),
    };
    let id = ThreadId(thread);
    let mut now = checker.races.clock(id).to_vec();
    for (other, entry) in now.iter_mut().enumerate() {
        if other != id.index() {
            *entry = (i64::from(*entry) + shift).max(0) as u32;
        }
    }
    let by = Accessor {
        thread: id,
        time,
        now: &now,
    };
    checker.memory.add(&[access], by)
}

/// Whether the checker finds what there is.
fn agree(trace: &Trace, racing: &Racing, found: Option<(usize, MemoryFinding)>) -> bool {
    let (at, finding) = match found {
        None => return racing.is_empty(),
        Some(found) => found,
    };
    let MemoryFinding::Race {
        address,
        first,
        second,
    } = finding
    else {
        return false;
    };
    let is_access = |index: usize, access: &RecordedAccess| {
        let (thread, event) = &trace.events[index];
        let expected = event.access().map(|access| RecordedAccess {
            thread: ThreadId(*thread),
            kind: access.kind,
            size: access.size,
            place: access.place,
        });
        expected == Some(*access)
    };
    let lowest = racing.iter().flat_map(|(_, bytes)| bytes).min();
    let is_pair = racing.iter().any(|(index, bytes)| {
        is_access(*index, &first)
            && bytes
                .iter()
                .any(|&(from, to)| from <= address && address < to)
    });
    at + 1 == trace.events.len()
        && is_pair
        && is_access(at, &second)
        && lowest.is_some_and(|lowest| lowest.0 / GRANULE == address / GRANULE)
}

#[test]
fn the_races_are_those_of_the_definition() {
    let (mut random, mut checker) = (Random(SplitMix64::new(20)), Checker::default());
    let (mut races, mut events) = (0, 0);
    for execution in 1..=10_000 {
        let (trace, racing) = random_trace(&mut random);
        checker.begin(execution);
        let found = found(&mut checker, &trace, None);
        assert!(
            agree(&trace, &racing, found),
            "trace {execution}: {found:?}, but {racing:?} in\n{}",
            trace.listing()
        );
        races += usize::from(!racing.is_empty());
        events += trace.events.len();
    }
    assert!(
        (2_000..9_000).contains(&races),
        "{races} traces with a race"
    );
    assert!(events > 200_000, "{events} events");
}

#[test]
fn errors_are_noticed() {
    for mutation in [
        Mutation::IgnoreMasks,
        Mutation::ForgetReads,
        Mutation::ForgetAtomicReads,
        Mutation::IgnoreFrees,
        Mutation::IgnoreAllocations,
        Mutation::LateClock,
        Mutation::EarlyClock,
        Mutation::AtomicAfterRelease,
        Mutation::AtomicBeforeAcquire,
    ] {
        let (mut random, mut checker) = (Random(SplitMix64::new(20)), Checker::default());
        let is_noticed = (1..=3_000).any(|execution| {
            let (trace, racing) = random_trace(&mut random);
            checker.begin(execution);
            let found = found(&mut checker, &trace, Some(mutation));
            !agree(&trace, &racing, found)
        });
        assert!(is_noticed, "{mutation:?}");
    }
}
