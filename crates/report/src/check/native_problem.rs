//! The failures of programs in C and C++: what ends the process, bad uses of heap memory, and misuse
//! of locks.

use fencepost_memory::ThreadId;

use crate::source::SourcePosition;

/// A thread that has done something, and where, if that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadPlace {
    /// The thread.
    pub thread: ThreadId,
    /// The location.
    pub location: Option<SourcePosition>,
}

/// How a thread ends the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailureKind {
    /// A failed `assert`.
    Assertion,
    /// A call of `abort`.
    Abort,
    /// An exception that nothing catches.
    UncaughtException,
    /// An exit with this status, which is not 0.
    ExitStatus(i32),
    /// A call of `__VERIFIER_error`.
    VerifierError,
    /// A signal.
    Signal(Signal),
    /// Another way.
    Other,
}

/// A signal that an instruction causes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Signal {
    /// `SIGSEGV`, with the address that was accessed.
    Segv(Option<u64>),
    /// `SIGBUS`, with the address that was accessed.
    Bus(Option<u64>),
    /// `SIGFPE`.
    Fpe,
    /// `SIGILL`.
    Ill,
}

/// A heap block that is used wrongly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadMemory {
    /// What is wrong.
    pub kind: BadMemoryKind,
    /// Who uses it, and where.
    pub by: ThreadPlace,
    /// How many bytes are accessed.
    pub size: u64,
    /// Whether the access is a write.
    pub writes: bool,
    /// The address relative to a block, if it is known.
    pub block: Option<BlockPosition>,
    /// Where the block was allocated.
    pub allocated: Option<SourcePosition>,
    /// Who has freed it, and where.
    pub freed: Option<ThreadPlace>,
    /// The name of the memory, if it has one.
    pub name: Option<String>,
}

/// How a heap block is used wrongly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadMemoryKind {
    /// It is accessed after its free.
    UseAfterFree,
    /// The access is to bytes before or after the block.
    OutOfBounds,
    /// It is freed again.
    DoubleFree,
    /// What is freed is not the beginning of a block.
    InvalidFree,
}

/// An address relative to a heap block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockPosition {
    /// The size of the block in bytes.
    pub size: u64,
    /// The address minus that of the block.
    pub offset: i64,
}

/// Heap blocks that were allocated in one place and not freed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeakedBlocks {
    /// Where they were allocated.
    pub location: Option<SourcePosition>,
    /// How many there are.
    pub count: u64,
    /// Their size together in bytes.
    pub bytes: u64,
}

/// How a lock is used wrongly.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LockMisuse {
    /// A thread unlocks it that does not hold it; the thread that does, if there is one.
    NotHeld(Option<ThreadPlace>),
    /// It is destroyed while this thread holds it.
    DestroyedWhileHeld(ThreadPlace),
    /// It is used after this thread has destroyed it.
    Destroyed(ThreadPlace),
    /// It is used although it was never initialized.
    Uninitialized,
}

impl FailureKind {
    /// The name for scripts.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Assertion => "assertion",
            FailureKind::Abort => "abort",
            FailureKind::UncaughtException => "exception",
            FailureKind::ExitStatus(_) => "exit",
            FailureKind::VerifierError => "verifier-error",
            FailureKind::Signal(signal) => signal.name(),
            FailureKind::Other => "other",
        }
    }
}

impl Signal {
    /// The name of the signal.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Segv(_) => "SIGSEGV",
            Signal::Bus(_) => "SIGBUS",
            Signal::Fpe => "SIGFPE",
            Signal::Ill => "SIGILL",
        }
    }

    /// The address that was accessed, if it is known.
    pub fn address(self) -> Option<u64> {
        match self {
            Signal::Segv(address) | Signal::Bus(address) => address,
            Signal::Fpe | Signal::Ill => None,
        }
    }
}

impl BadMemoryKind {
    /// The name for scripts.
    pub fn name(self) -> &'static str {
        match self {
            BadMemoryKind::UseAfterFree => "use-after-free",
            BadMemoryKind::OutOfBounds => "out-of-bounds",
            BadMemoryKind::DoubleFree => "double-free",
            BadMemoryKind::InvalidFree => "invalid-free",
        }
    }
}

impl LockMisuse {
    /// The name for scripts.
    pub fn name(&self) -> &'static str {
        match self {
            LockMisuse::NotHeld(_) => "not-held",
            LockMisuse::DestroyedWhileHeld(_) => "destroyed-while-held",
            LockMisuse::Destroyed(_) => "destroyed",
            LockMisuse::Uninitialized => "uninitialized",
        }
    }

    /// The other thread that is concerned, if there is one.
    pub fn other(&self) -> Option<&ThreadPlace> {
        match self {
            LockMisuse::NotHeld(other) => other.as_ref(),
            LockMisuse::DestroyedWhileHeld(other) | LockMisuse::Destroyed(other) => Some(other),
            LockMisuse::Uninitialized => None,
        }
    }
}
