//! Traces from a seed, for benchmarks and tests.
//!
//! A generated trace is a sequentially consistent interleaving by construction:
//! accesses without values happen in the order in which they are listed. Its
//! memory use does not depend on its length, and the same options give the same
//! trace on every machine.

use std::fmt;
use std::str::FromStr;

use fencepost_memory::{Access, Address, OperationKind, Random, ThreadId};
use thiserror::Error;

use crate::limits::{MAX_ADDRESSES, MAX_THREADS};
use crate::mix::{Mix, Picker};
use crate::names::Names;
use crate::reader::BATCH_LENGTH;

/// The shape of a generated trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Shape {
    /// Any thread, any address, each as likely as the other.
    #[default]
    Uniform,
    /// Each thread mostly uses addresses of its own; one access in 16 goes to any address.
    Private,
    /// A few addresses (a sixteenth, at most eight) get 15 of 16 accesses.
    Hot,
    /// Pairs of threads: the first writes some data and then a flag, the second reads
    /// the flag and then the data. The mix chooses among the kinds of writes and of
    /// reads, and puts fences and barriers between them.
    MessagePassing,
    /// Threads take a lock with `il`, access what it protects, and release it with
    /// `st`. No two threads are in the same lock at once; one that waits reads the
    /// lock. The mix chooses the accesses inside.
    Locks,
    /// As uniform, but the last thread has exactly one event, the first of the
    /// trace, and then stops: what is remembered of it must not cost memory for ever.
    StoppedThread,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Shape; 6] = [
        Shape::Uniform,
        Shape::Private,
        Shape::Hot,
        Shape::MessagePassing,
        Shape::Locks,
        Shape::StoppedThread,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Uniform => "uniform",
            Shape::Private => "private",
            Shape::Hot => "hot",
            Shape::MessagePassing => "message-passing",
            Shape::Locks => "locks",
            Shape::StoppedThread => "stopped-thread",
        }
    }

    /// The fewest threads and addresses that make sense.
    fn smallest(self) -> (u32, u32) {
        match self {
            Shape::Uniform | Shape::Private | Shape::Hot => (1, 1),
            Shape::MessagePassing => (2, 2),
            Shape::Locks => (1, 2),
            Shape::StoppedThread => (2, 1),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Shape {
    type Err = GenerateError;

    fn from_str(text: &str) -> Result<Self, GenerateError> {
        let found = || text.to_string();
        Shape::ALL
            .into_iter()
            .find(|shape| shape.name() == text)
            .ok_or_else(|| GenerateError::UnknownShape { found: found() })
    }
}

/// Why a trace cannot be generated.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// A shape that does not exist.
    #[error(
        "unknown shape `{found}`, expected one of uniform, private, hot, message-passing, locks, \
         stopped-thread"
    )]
    UnknownShape {
        /// The name.
        found: String,
    },
    /// The number of threads is out of range.
    #[error("{found} threads, expected {least} to {MAX_THREADS} for the shape {shape}")]
    Threads {
        /// The number.
        found: u32,
        /// The fewest.
        least: u32,
        /// The shape.
        shape: Shape,
    },
    /// The number of addresses is out of range.
    #[error("{found} addresses, expected {least} to {MAX_ADDRESSES} for the shape {shape}")]
    Addresses {
        /// The number.
        found: u32,
        /// The fewest.
        least: u32,
        /// The shape.
        shape: Shape,
    },
}

/// Everything that determines a generated trace.
///
/// ```
/// use fencepost_trace::{GenerateOptions, Shape};
///
/// let options = GenerateOptions { events: 1000, seed: 7, ..GenerateOptions::default() };
/// let once: Vec<_> = options.generate()?.collect();
/// let again: Vec<_> = options.generate()?.collect();
/// assert_eq!(once.len(), 1000);
/// assert_eq!(once, again);
/// # Ok::<(), fencepost_trace::GenerateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// How many threads.
    pub threads: u32,
    /// How many addresses.
    pub addresses: u32,
    /// How many events in all.
    pub events: u64,
    /// The seed of the random numbers.
    pub seed: u64,
    /// How often each kind of operation occurs.
    pub mix: Mix,
    /// Who accesses what.
    pub shape: Shape,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        GenerateOptions {
            threads: 4,
            addresses: 64,
            events: 1_000_000,
            seed: 0,
            mix: Mix::default(),
            shape: Shape::default(),
        }
    }
}

impl GenerateOptions {
    /// The accesses of the trace, one after the other.
    pub fn generate(&self) -> Result<Generator, GenerateError> {
        let (shape, (least_threads, least_addresses)) = (self.shape, self.shape.smallest());
        if !(least_threads..=MAX_THREADS).contains(&self.threads) {
            return Err(GenerateError::Threads {
                found: self.threads,
                least: least_threads,
                shape,
            });
        }
        if !(least_addresses..=MAX_ADDRESSES).contains(&self.addresses) {
            return Err(GenerateError::Addresses {
                found: self.addresses,
                least: least_addresses,
                shape,
            });
        }
        let source = Source {
            random: Random::new(self.seed),
            threads: self.threads,
            addresses: self.addresses,
            any: self.mix.picker(|_| true, OperationKind::Load),
        };
        let state = match shape {
            Shape::Uniform => ShapeState::Uniform,
            Shape::Private => ShapeState::Private,
            Shape::Hot => ShapeState::Hot {
                hot: (self.addresses / 16).clamp(1, 8),
            },
            Shape::MessagePassing => ShapeState::MessagePassing(Channels::new(self)),
            Shape::Locks => ShapeState::Locks(Locks::new(self)),
            Shape::StoppedThread => ShapeState::StoppedThread { stopped: false },
        };
        Ok(Generator {
            source,
            state,
            remaining: self.events,
        })
    }

    /// The names of the trace: threads and addresses by their numbers.
    pub fn names(&self) -> Names {
        let mut names = Names::new();
        for number in 0..self.threads.min(MAX_THREADS) {
            let _ = names.thread(number);
        }
        // Nothing is named yet, so no name can collide.
        let _ = names.add_nameless_addresses(self.addresses.min(MAX_ADDRESSES));
        names
    }
}

/// The accesses of a generated trace.
#[derive(Clone, Debug)]
pub struct Generator {
    source: Source,
    state: ShapeState,
    remaining: u64,
}

impl Generator {
    /// Replaces the contents of `batch` by the next accesses, as
    /// [`TraceReader::next_batch`](crate::TraceReader::next_batch) does.
    pub fn next_batch(&mut self, batch: &mut Vec<Access>) -> bool {
        batch.clear();
        batch.reserve(BATCH_LENGTH);
        self.steps(BATCH_LENGTH as u64, |access| batch.push(access));
        !batch.is_empty()
    }

    /// The next `count` accesses, or as many as remain. The shape is dispatched
    /// once, not once per access.
    #[inline]
    fn steps(&mut self, count: u64, mut accept: impl FnMut(Access)) {
        let mut count = count.min(self.remaining);
        self.remaining -= count;
        let source = &mut self.source;
        let threads = source.threads;
        match &mut self.state {
            ShapeState::Uniform => (0..count).for_each(|_| accept(source.uniform(threads))),
            ShapeState::Private => (0..count).for_each(|_| accept(source.private())),
            ShapeState::Hot { hot } => (0..count).for_each(|_| accept(source.hot(*hot))),
            ShapeState::MessagePassing(channels) => {
                (0..count).for_each(|_| accept(channels.step(source)));
            }
            ShapeState::Locks(locks) => (0..count).for_each(|_| accept(locks.step(source))),
            ShapeState::StoppedThread { stopped } => {
                if !*stopped && count > 0 {
                    *stopped = true;
                    count -= 1;
                    let mut only = source.uniform(1);
                    only.thread = ThreadId(threads - 1);
                    accept(only);
                }
                (0..count).for_each(|_| accept(source.uniform(threads - 1)));
            }
        }
    }
}

impl Iterator for Generator {
    type Item = Access;

    /// One access; [`Generator::next_batch`] is faster.
    fn next(&mut self) -> Option<Access> {
        let mut next = None;
        self.steps(1, |access| next = Some(access));
        next
    }
}

#[derive(Clone, Debug)]
enum ShapeState {
    Uniform,
    Private,
    Hot { hot: u32 },
    MessagePassing(Channels),
    Locks(Locks),
    StoppedThread { stopped: bool },
}

/// The random numbers and counters that all shapes share.
///
/// Its methods, like the steps of the other shapes, are always inlined: an access
/// that is returned through memory in pieces costs more than drawing it.
#[derive(Clone, Debug)]
struct Source {
    random: Random,
    threads: u32,
    addresses: u32,
    any: Picker,
}

/// Four random numbers of 32 bits for one event.
struct Bits {
    kind: u32,
    thread: u32,
    address: u32,
    choice: u32,
}

/// A number below `bound`.
#[inline]
fn scale(bits: u32, bound: u32) -> u32 {
    ((u64::from(bits) * u64::from(bound)) >> 32) as u32
}

/// Whether `bits` are among one in 16.
#[inline]
fn one_in_16(bits: u32) -> bool {
    bits < 1 << 28
}

#[inline(always)]
fn access(thread: u32, kind: OperationKind, address: u32) -> Access {
    Access::new(ThreadId(thread), kind.at(Address(address)))
}

impl Source {
    #[inline(always)]
    fn bits(&mut self) -> Bits {
        let (first, second) = (self.random.next_u64(), self.random.next_u64());
        Bits {
            kind: first as u32,
            thread: (first >> 32) as u32,
            address: second as u32,
            choice: (second >> 32) as u32,
        }
    }

    #[inline(always)]
    fn uniform(&mut self, threads: u32) -> Access {
        let bits = self.bits();
        let address = scale(bits.address, self.addresses);
        access(
            scale(bits.thread, threads),
            self.any.pick(bits.kind),
            address,
        )
    }

    #[inline(always)]
    fn private(&mut self) -> Access {
        let bits = self.bits();
        let thread = scale(bits.thread, self.threads);
        let own = (self.addresses / self.threads).max(1);
        let address = match one_in_16(bits.choice) {
            true => scale(bits.address, self.addresses),
            false => (thread + self.threads * scale(bits.address, own)) % self.addresses,
        };
        access(thread, self.any.pick(bits.kind), address)
    }

    #[inline(always)]
    fn hot(&mut self, hot: u32) -> Access {
        let bits = self.bits();
        let address = match one_in_16(bits.choice) {
            true => scale(bits.address, self.addresses),
            false => scale(bits.address, hot),
        };
        access(
            scale(bits.thread, self.threads),
            self.any.pick(bits.kind),
            address,
        )
    }
}

/// Addresses `0..groups` lead a group each; the others belong to the groups in turn.
#[derive(Clone, Copy, Debug)]
struct Groups {
    groups: u32,
    addresses: u32,
}

impl Groups {
    /// How many addresses belong to a group besides its leader; at least one.
    fn members(&self, group: u32) -> u32 {
        (self.addresses - 1 - group) / self.groups
    }

    fn member(&self, group: u32, index: u32) -> u32 {
        group + self.groups * (index + 1)
    }
}

/// Producers and consumers of [`Shape::MessagePassing`]; a group is a flag and its data.
#[derive(Clone, Debug)]
struct Channels {
    groups: Groups,
    channels: u32,
    /// The progress of each thread: the round, and the position in it.
    rounds: Vec<u32>,
    places: Vec<u32>,
    reads: Picker,
    writes: Picker,
    fences: Picker,
    fence_share: u64,
}

/// How many data a producer writes before it sets the flag, at most.
const MESSAGE_LENGTH: u32 = 4;

impl Channels {
    fn new(options: &GenerateOptions) -> Self {
        let GenerateOptions { threads, mix, .. } = options;
        let channels = threads / 2;
        let reads = [OperationKind::Load, OperationKind::LockedLoad];
        let fence = |kind: OperationKind| !kind.has_address();
        Channels {
            groups: Groups {
                groups: channels.min(options.addresses / 2),
                addresses: options.addresses,
            },
            channels,
            rounds: vec![0; *threads as usize],
            places: vec![0; *threads as usize],
            reads: mix.picker(|kind| reads.contains(&kind), OperationKind::Load),
            writes: mix.picker(
                |kind| !fence(kind) && !reads.contains(&kind),
                OperationKind::Store,
            ),
            fences: mix.picker(fence, OperationKind::Fence),
            // A mix of nothing but fences would never send anything.
            fence_share: mix.share(fence).min(1 << 31),
        }
    }

    #[inline(always)]
    fn step(&mut self, source: &mut Source) -> Access {
        let bits = source.bits();
        let thread = scale(bits.thread, source.threads);
        if u64::from(bits.choice) < self.fence_share {
            return access(thread, self.fences.pick(bits.kind), 0);
        }
        // With an odd number of threads, the last is a second consumer.
        let channel = (thread / 2).min(self.channels - 1);
        let produces = thread.is_multiple_of(2) && thread / 2 < self.channels;
        let group = channel % self.groups.groups;
        let members = self.groups.members(group);
        let length = members.min(MESSAGE_LENGTH);

        let round = &mut self.rounds[thread as usize];
        let place = &mut self.places[thread as usize];
        // A producer ends with the flag, a consumer begins with it.
        let at_flag = match produces {
            true => *place == length,
            false => *place == 0,
        };
        let datum = *place - u32::from(!produces && !at_flag);
        let address = match at_flag {
            true => group,
            false => self.groups.member(group, (*round + datum) % members),
        };
        *place += 1;
        if *place > length {
            *place = 0;
            *round = (*round + length) % members;
        }
        let picker = if produces { &self.writes } else { &self.reads };
        access(thread, picker.pick(bits.kind), address)
    }
}

/// The locks of [`Shape::Locks`]; a group is a lock and what it protects.
#[derive(Clone, Debug)]
struct Locks {
    groups: Groups,
    /// The thread in each lock.
    owners: Vec<Option<u32>>,
    /// The lock that each thread is in, and how many accesses it will still make there.
    inside: Vec<Option<(u32, u32)>>,
    waits: Picker,
}

/// The most accesses of a thread in a lock.
const LONGEST_SECTION: u32 = 8;

impl Locks {
    fn new(options: &GenerateOptions) -> Self {
        let groups = (options.addresses / 8).max(1);
        let reads = [OperationKind::Load, OperationKind::LockedLoad];
        let mix = &options.mix;
        Locks {
            groups: Groups {
                groups,
                addresses: options.addresses,
            },
            owners: vec![None; groups as usize],
            inside: vec![None; options.threads as usize],
            waits: mix.picker(|kind| reads.contains(&kind), OperationKind::Load),
        }
    }

    #[inline(always)]
    fn step(&mut self, source: &mut Source) -> Access {
        let bits = source.bits();
        let thread = scale(bits.thread, source.threads);
        if self.inside[thread as usize].is_some() {
            return self.step_inside(thread, &bits, source);
        }
        let lock = scale(bits.address, self.groups.groups);
        match self.owners[lock as usize] {
            None => {
                self.owners[lock as usize] = Some(thread);
                let accesses = 1 + scale(bits.choice, LONGEST_SECTION);
                self.inside[thread as usize] = Some((lock, accesses));
                access(thread, OperationKind::Interlocked, lock)
            }
            // Mostly the owner continues; otherwise many threads would do little but wait.
            Some(_) if bits.choice < 1 << 30 => access(thread, self.waits.pick(bits.kind), lock),
            Some(owner) => self.step_inside(owner, &bits, source),
        }
    }

    #[inline(always)]
    fn step_inside(&mut self, thread: u32, bits: &Bits, source: &Source) -> Access {
        let inside = &mut self.inside[thread as usize];
        match inside {
            Some((lock, accesses)) if *accesses > 0 => {
                *accesses -= 1;
                // The bits that chose the lock have been used.
                let index = scale(bits.choice.rotate_left(16), self.groups.members(*lock));
                let address = self.groups.member(*lock, index);
                access(thread, source.any.pick(bits.kind), address)
            }
            _ => {
                let lock = inside.take().map_or(0, |(lock, _)| lock);
                self.owners[lock as usize] = None;
                access(thread, OperationKind::Store, lock)
            }
        }
    }
}
