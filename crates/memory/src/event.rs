//! What a processor does to memory: operations, accesses and events.
//!
//! An [`Operation`] is what an instruction asks for, an [`Access`] is one
//! operation performed by a thread, and an [`Event`] is an access with its place
//! in a trace: the issue index and the coherence index of SOBER section 3.1.
//!
//! Beyond the papers' `st`, `ld` and `il` there are locked operations that only
//! read or only write, full fences and store-store barriers, as events of their
//! own: under PSO a full fence is not an interlocked operation on a fresh address.

use std::fmt;
use std::num::NonZeroU32;

/// A thread (the papers' processor), numbered densely from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

/// A memory address, numbered densely from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub u32);

/// The sequence number of an event among the events of its thread, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IssueIndex(pub u64);

/// The sequence number of a value among all values written to its address.
///
/// A write has the index of the value that it writes, from 1; a load has the
/// index of the value that it reads, 0 being the initial value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CoherenceIndex(pub u64);

/// A source location, as an index into a table that the front end keeps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocationId(NonZeroU32);

impl ThreadId {
    /// The thread's number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Address {
    /// The address's number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LocationId {
    /// The location with this index in the front end's table.
    ///
    /// # Panics
    /// If `index` is `u32::MAX`.
    #[inline]
    pub fn from_index(index: u32) -> Self {
        let number = index.checked_add(1).and_then(NonZeroU32::new);
        LocationId(number.expect("a location index is below u32::MAX"))
    }

    /// The index in the front end's table.
    #[inline]
    pub fn index(self) -> usize {
        (self.0.get() - 1) as usize
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}", self.0)
    }
}

/// One memory operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// `ld`: a plain load.
    Load(Address),
    /// `st`: a plain store, which the store buffer may delay.
    Store(Address),
    /// `il`: an interlocked read-modify-write that writes.
    Interlocked(Address),
    /// `lld`: a locked operation that only reads, such as a compare-exchange that fails.
    LockedLoad(Address),
    /// `lst`: a locked operation that only writes, such as a SeqCst store on x86.
    LockedStore(Address),
    /// `fence`: a full fence, such as `MFENCE`.
    Fence,
    /// `stbar`: a store-store barrier. It orders nothing that TSO does not order anyway.
    StoreBarrier,
}

/// The kind of an operation: the operation without its address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum OperationKind {
    /// See [`Operation::Load`].
    Load = 0,
    /// See [`Operation::Store`].
    Store = 1,
    /// See [`Operation::Interlocked`].
    Interlocked = 2,
    /// See [`Operation::LockedLoad`].
    LockedLoad = 3,
    /// See [`Operation::LockedStore`].
    LockedStore = 4,
    /// See [`Operation::Fence`].
    Fence = 5,
    /// See [`Operation::StoreBarrier`].
    StoreBarrier = 6,
}

/// A set of kinds, as bits. Whether an operation writes is asked several times per event, and
/// the answer is hard to predict: a bit test has no branch.
#[derive(Clone, Copy)]
struct KindSet(u8);

impl KindSet {
    const READS: KindSet = KindSet::of(&[
        OperationKind::Load,
        OperationKind::Interlocked,
        OperationKind::LockedLoad,
    ]);
    const WRITES: KindSet = KindSet::of(&[
        OperationKind::Store,
        OperationKind::Interlocked,
        OperationKind::LockedStore,
    ]);
    const LOCKED: KindSet = KindSet::of(&[
        OperationKind::Interlocked,
        OperationKind::LockedLoad,
        OperationKind::LockedStore,
    ]);

    const fn of(kinds: &[OperationKind]) -> KindSet {
        let mut bits = 0;
        let mut index = 0;
        while index < kinds.len() {
            bits |= 1 << kinds[index] as u8;
            index += 1;
        }
        KindSet(bits)
    }
}

impl OperationKind {
    #[inline]
    fn is_one_of(self, set: KindSet) -> bool {
        set.0 >> self as u8 & 1 == 1
    }

    /// Every kind, in the order of their codes.
    pub const ALL: [OperationKind; 7] = [
        OperationKind::Load,
        OperationKind::Store,
        OperationKind::Interlocked,
        OperationKind::LockedLoad,
        OperationKind::LockedStore,
        OperationKind::Fence,
        OperationKind::StoreBarrier,
    ];

    /// The short name used in traces and reports.
    pub fn mnemonic(self) -> &'static str {
        match self {
            OperationKind::Load => "ld",
            OperationKind::Store => "st",
            OperationKind::Interlocked => "il",
            OperationKind::LockedLoad => "lld",
            OperationKind::LockedStore => "lst",
            OperationKind::Fence => "fence",
            OperationKind::StoreBarrier => "stbar",
        }
    }

    /// The kind with this short name.
    pub fn from_mnemonic(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.mnemonic() == name)
    }

    /// Whether operations of this kind access an address (fences and barriers do not).
    pub fn has_address(self) -> bool {
        !matches!(self, OperationKind::Fence | OperationKind::StoreBarrier)
    }

    /// The operation of this kind on `address`, which fences and barriers ignore.
    #[inline]
    pub fn at(self, address: Address) -> Operation {
        match self {
            OperationKind::Load => Operation::Load(address),
            OperationKind::Store => Operation::Store(address),
            OperationKind::Interlocked => Operation::Interlocked(address),
            OperationKind::LockedLoad => Operation::LockedLoad(address),
            OperationKind::LockedStore => Operation::LockedStore(address),
            OperationKind::Fence => Operation::Fence,
            OperationKind::StoreBarrier => Operation::StoreBarrier,
        }
    }
}

impl Operation {
    /// The operation without its address.
    #[inline]
    pub fn kind(self) -> OperationKind {
        // In the order of the codes, so that this is a copy of the tag and not a jump table.
        match self {
            Operation::Load(_) => OperationKind::Load,
            Operation::Store(_) => OperationKind::Store,
            Operation::Interlocked(_) => OperationKind::Interlocked,
            Operation::LockedLoad(_) => OperationKind::LockedLoad,
            Operation::LockedStore(_) => OperationKind::LockedStore,
            Operation::Fence => OperationKind::Fence,
            Operation::StoreBarrier => OperationKind::StoreBarrier,
        }
    }

    /// The address accessed, if any.
    #[inline]
    pub fn address(self) -> Option<Address> {
        match self {
            Operation::Load(a)
            | Operation::Store(a)
            | Operation::Interlocked(a)
            | Operation::LockedLoad(a)
            | Operation::LockedStore(a) => Some(a),
            Operation::Fence | Operation::StoreBarrier => None,
        }
    }

    /// Whether the operation reads memory.
    #[inline]
    pub fn reads(self) -> bool {
        self.kind().is_one_of(KindSet::READS)
    }

    /// Whether the operation writes memory.
    #[inline]
    pub fn writes(self) -> bool {
        self.kind().is_one_of(KindSet::WRITES)
    }

    /// Whether the operation is locked: it acts on memory at once, past any buffer.
    #[inline]
    pub fn is_locked(self) -> bool {
        self.kind().is_one_of(KindSet::LOCKED)
    }

    /// Whether two operations conflict: the same address, and at least one writes.
    #[inline]
    pub fn conflicts_with(self, other: Operation) -> bool {
        self.address().is_some()
            && self.address() == other.address()
            && (self.writes() || other.writes())
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.mnemonic())
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Some(address) => write!(f, "{} {address}", self.kind()),
            None => write!(f, "{}", self.kind()),
        }
    }
}

/// An operation performed by a thread, not yet placed in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Who performs it.
    pub thread: ThreadId,
    /// What is performed.
    pub operation: Operation,
    /// The value written by a write or read by a load, where the front end knows it.
    pub value: Option<u64>,
    /// The source location that performed it, where the front end knows it.
    pub location: Option<LocationId>,
}

impl Access {
    /// An access without value or source location.
    #[inline]
    pub fn new(thread: ThreadId, operation: Operation) -> Self {
        Access {
            thread,
            operation,
            value: None,
            location: None,
        }
    }
}

/// An access with its place in a trace (SOBER section 3.1, `o(p, i, a, c)`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// What was performed and by whom.
    pub access: Access,
    /// The sequence number among the events of the thread.
    pub issue: IssueIndex,
    /// The sequence number of the value read or written; 0 for fences and barriers.
    pub coherence: CoherenceIndex,
}

impl Event {
    /// The event that `access` is when its thread has had `issued` events and its address, if it
    /// has one, `written` writes: its place in a sequentially consistent interleaving.
    #[inline]
    pub fn next(access: Access, issued: u64, written: u64) -> Self {
        let coherence = match access.operation.address() {
            None => 0,
            Some(_) => written + u64::from(access.operation.writes()),
        };
        Event {
            access,
            issue: IssueIndex(issued + 1),
            coherence: CoherenceIndex(coherence),
        }
    }

    /// Who performed it.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.access.thread
    }

    /// What was performed.
    #[inline]
    pub fn operation(&self) -> Operation {
        self.access.operation
    }
}

/// `T0:2 ld a1 (value 3)`, where 2 is the issue index and 3 the coherence index.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (thread, operation) = (self.thread(), self.operation());
        write!(f, "{thread}:{} {operation}", self.issue.0)?;
        match operation.address() {
            Some(_) => write!(f, " (value {})", self.coherence.0),
            None => Ok(()),
        }
    }
}

/// An event without value or location, for the tests of this crate.
#[cfg(test)]
pub(crate) fn event(thread: u32, issue: u64, operation: Operation, coherence: u64) -> Event {
    Event {
        access: Access::new(ThreadId(thread), operation),
        issue: IssueIndex(issue),
        coherence: CoherenceIndex(coherence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_round_trip_through_names_and_codes() {
        for (code, kind) in OperationKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, code);
            assert_eq!(OperationKind::from_mnemonic(kind.mnemonic()), Some(kind));
            let operation = kind.at(Address(3));
            assert_eq!(operation.kind(), kind);
            assert_eq!(operation.address().is_some(), kind.has_address());
        }
        assert_eq!(OperationKind::from_mnemonic("LD"), None);
    }

    #[test]
    fn two_reads_never_conflict() {
        let a = Address(0);
        assert!(!Operation::Load(a).conflicts_with(Operation::LockedLoad(a)));
        assert!(Operation::Load(a).conflicts_with(Operation::Store(a)));
        assert!(!Operation::Load(a).conflicts_with(Operation::Store(Address(1))));
        assert!(!Operation::Fence.conflicts_with(Operation::Fence));
    }

    #[test]
    fn an_access_is_small() {
        assert!(size_of::<Access>() <= 32);
        assert_eq!(size_of::<Option<LocationId>>(), 4);
    }
}
