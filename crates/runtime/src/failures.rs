//! Errors that programs in C and C++ have: failures that end the process, bad uses of heap memory,
//! and misuse of locks. Front ends find them; `error` has them among the other errors.

use std::fmt;

use fencepost_memory::ThreadId;

use super::location::OwnedLocation;

/// A thread that has done something, and where, if that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadPlace {
    /// The thread.
    pub thread: ThreadId,
    /// Where it has done it.
    pub location: Option<OwnedLocation>,
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
    /// A call of `__VERIFIER_error` or `reach_error`.
    VerifierError,
    /// A signal.
    Signal(Signal),
}

/// A signal that an instruction causes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Signal {
    /// `SIGSEGV`.
    Segv {
        /// The address that was accessed.
        address: Option<u64>,
    },
    /// `SIGBUS`.
    Bus {
        /// The address that was accessed.
        address: Option<u64>,
    },
    /// `SIGFPE`.
    Fpe,
    /// `SIGILL`.
    Ill,
}

impl Signal {
    /// The signal with this number, which is about this address if it is about one.
    #[cfg(unix)]
    pub(crate) fn of(number: i32, address: usize) -> Self {
        let address = Some(address as u64);
        match number {
            libc::SIGBUS => Signal::Bus { address },
            libc::SIGFPE => Signal::Fpe,
            libc::SIGILL => Signal::Ill,
            _ => Signal::Segv { address },
        }
    }

    /// There are no signals here.
    #[cfg(not(unix))]
    pub(crate) fn of(_: i32, _: usize) -> Self {
        Signal::Segv { address: None }
    }
}

impl FailureKind {
    /// The kind without what differs from execution to execution: addresses.
    pub fn without_address(self) -> Self {
        match self {
            FailureKind::Signal(Signal::Segv { .. }) => {
                FailureKind::Signal(Signal::Segv { address: None })
            }
            FailureKind::Signal(Signal::Bus { .. }) => {
                FailureKind::Signal(Signal::Bus { address: None })
            }
            other => other,
        }
    }
}

/// A heap block that is used wrongly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadMemory {
    /// What is wrong.
    pub kind: BadMemoryKind,
    /// The thread that uses it.
    pub thread: ThreadId,
    /// Where.
    pub location: Option<OwnedLocation>,
    /// How many bytes are accessed; 0 for a free.
    pub size: u64,
    /// Whether the access is a write.
    pub is_write: bool,
    /// The block, as far as it is known.
    pub block: Option<BlockPosition>,
    /// Where the block was allocated.
    pub allocated: Option<OwnedLocation>,
    /// Who has freed it.
    pub freed: Option<ThreadPlace>,
    /// The name of the memory, such as `node->next`.
    pub name: Option<String>,
}

/// How a heap block is used wrongly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadMemoryKind {
    /// It was freed before the access.
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
    pub location: Option<OwnedLocation>,
    /// How many there are.
    pub count: u64,
    /// Their size together in bytes.
    pub bytes: u64,
}

/// A lock that is used wrongly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockMisuse {
    /// What is wrong.
    pub kind: LockMisuseKind,
    /// The lock in words: ``mutex `m` ``.
    pub lock: String,
    /// The thread that uses it.
    pub thread: ThreadId,
    /// Where.
    pub location: Option<OwnedLocation>,
}

/// How a lock is used wrongly.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LockMisuseKind {
    /// A thread unlocks it that does not hold it.
    NotHeld {
        /// The thread that holds it, if there is one.
        holder: Option<ThreadPlace>,
    },
    /// It is destroyed while a thread holds it.
    DestroyedWhileHeld {
        /// The thread that holds it.
        holder: ThreadPlace,
    },
    /// It is used after it was destroyed.
    Destroyed {
        /// Who has destroyed it.
        destroyed: ThreadPlace,
    },
    /// It is used although it was never initialized.
    Uninitialized,
}

/// A thread that fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramFailure {
    /// How it fails.
    pub kind: FailureKind,
    /// The thread.
    pub thread: ThreadId,
    /// The message: that of the assertion or of the exception. It may be empty.
    pub message: String,
    /// Where.
    pub location: Option<OwnedLocation>,
}

/// ` at queue.c:3:5`, or nothing.
struct At<'a>(&'a Option<OwnedLocation>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(location) => write!(f, " at {location}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureKind::Assertion => f.write_str("failed an assertion"),
            FailureKind::Abort => f.write_str("called `abort`"),
            FailureKind::UncaughtException => {
                f.write_str("threw an exception that nothing catches")
            }
            FailureKind::ExitStatus(status) => write!(f, "exited with status {status}"),
            FailureKind::VerifierError => f.write_str("called `__VERIFIER_error`"),
            FailureKind::Signal(signal) => write!(f, "received {signal}"),
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, address) = match self {
            Signal::Segv { address } => ("SIGSEGV", *address),
            Signal::Bus { address } => ("SIGBUS", *address),
            Signal::Fpe => ("SIGFPE", None),
            Signal::Ill => ("SIGILL", None),
        };
        match address {
            Some(address) => write!(f, "{name} for address {address:#x}"),
            None => f.write_str(name),
        }
    }
}

impl fmt::Display for ProgramFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (thread, at) = (self.thread, At(&self.location));
        write!(f, "thread {thread} {}{at}", self.kind)?;
        match self.message.is_empty() {
            true => Ok(()),
            false => write!(f, ": {}", self.message),
        }
    }
}

impl fmt::Display for BadMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            BadMemoryKind::UseAfterFree => "use after free",
            BadMemoryKind::OutOfBounds => "out of bounds",
            BadMemoryKind::DoubleFree => "double free",
            BadMemoryKind::InvalidFree => "invalid free",
        };
        let does = match (self.kind, self.is_write) {
            (BadMemoryKind::DoubleFree | BadMemoryKind::InvalidFree, _) => "frees",
            (_, true) => "writes",
            (_, false) => "reads",
        };
        let name = self.name.as_deref().unwrap_or("memory");
        write!(
            f,
            "{what}: thread {} {does} {name}{}",
            self.thread,
            At(&self.location)
        )
    }
}

impl fmt::Display for LockMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (does, wrong) = match &self.kind {
            LockMisuseKind::NotHeld { .. } => ("unlocks", "which it does not hold"),
            LockMisuseKind::DestroyedWhileHeld { .. } => ("destroys", "which is held"),
            LockMisuseKind::Destroyed { .. } => ("uses", "which was destroyed"),
            LockMisuseKind::Uninitialized => ("uses", "which was never initialized"),
        };
        let (thread, at) = (self.thread, At(&self.location));
        write!(f, "thread {thread} {does} {}, {wrong}{at}", self.lock)
    }
}

/// The message for heap blocks that were not freed.
pub(crate) fn write_leaks(leaks: &[LeakedBlocks], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (count, bytes) = total(leaks);
    write!(f, "{count} heap blocks with {bytes} bytes were not freed")?;
    for (index, leak) in leaks.iter().enumerate() {
        let before = if index == 0 { ": " } else { ", " };
        write!(f, "{before}{} allocated{}", leak.count, At(&leak.location))?;
    }
    Ok(())
}

/// How many blocks there are, and how many bytes.
fn total(leaks: &[LeakedBlocks]) -> (u64, u64) {
    let sum = |of: fn(&LeakedBlocks) -> u64| {
        leaks
            .iter()
            .map(of)
            .fold(0, |sum: u64, more| sum.saturating_add(more))
    };
    (sum(|leak| leak.count), sum(|leak| leak.bytes))
}

#[cfg(test)]
mod tests {
    use super::super::error::ProgramError;
    use super::*;

    fn location(line: u32) -> Option<OwnedLocation> {
        Some(OwnedLocation {
            file: "queue.c".to_owned(),
            line,
            column: 5,
        })
    }

    fn failure(kind: FailureKind, message: &str) -> ProgramError {
        ProgramError::Failed(Box::new(ProgramFailure {
            kind,
            thread: ThreadId(1),
            message: message.to_owned(),
            location: location(3),
        }))
    }

    fn bad_memory(kind: BadMemoryKind, is_write: bool, name: Option<&str>) -> ProgramError {
        ProgramError::BadMemory(Box::new(BadMemory {
            kind,
            thread: ThreadId(2),
            location: location(4),
            size: 8,
            is_write,
            block: None,
            allocated: None,
            freed: None,
            name: name.map(str::to_owned),
        }))
    }

    fn lock_misuse(kind: LockMisuseKind) -> ProgramError {
        ProgramError::LockMisuse(Box::new(LockMisuse {
            kind,
            lock: "mutex `m`".to_owned(),
            thread: ThreadId(1),
            location: None,
        }))
    }

    fn holder() -> ThreadPlace {
        ThreadPlace {
            thread: ThreadId(2),
            location: location(7),
        }
    }

    #[test]
    fn failures_say_what_and_where() {
        use FailureKind::{Abort, Assertion, ExitStatus, UncaughtException, VerifierError};
        let segv = |address| FailureKind::Signal(Signal::Segv { address });
        for (error, message) in [
            (
                failure(Assertion, "x == 1"),
                "thread T1 failed an assertion at queue.c:3:5: x == 1",
            ),
            (
                failure(Abort, ""),
                "thread T1 called `abort` at queue.c:3:5",
            ),
            (
                failure(UncaughtException, "std::bad_alloc"),
                "thread T1 threw an exception that nothing catches at queue.c:3:5: std::bad_alloc",
            ),
            (
                failure(ExitStatus(3), ""),
                "thread T1 exited with status 3 at queue.c:3:5",
            ),
            (
                failure(VerifierError, ""),
                "thread T1 called `__VERIFIER_error` at queue.c:3:5",
            ),
            (
                failure(segv(Some(16)), ""),
                "thread T1 received SIGSEGV for address 0x10 at queue.c:3:5",
            ),
            (
                failure(FailureKind::Signal(Signal::Bus { address: None }), ""),
                "thread T1 received SIGBUS at queue.c:3:5",
            ),
            (
                failure(FailureKind::Signal(Signal::Fpe), ""),
                "thread T1 received SIGFPE at queue.c:3:5",
            ),
            (
                failure(FailureKind::Signal(Signal::Ill), ""),
                "thread T1 received SIGILL at queue.c:3:5",
            ),
        ] {
            assert_eq!(error.to_string(), message);
        }
        assert_eq!(segv(Some(16)).without_address(), segv(None));
        assert_eq!(ExitStatus(3).without_address(), ExitStatus(3));
    }

    #[test]
    fn misuses_of_memory_and_locks_say_what_and_where() {
        use BadMemoryKind::{DoubleFree, InvalidFree, OutOfBounds, UseAfterFree};
        let leak = |count, bytes, line| LeakedBlocks {
            location: location(line),
            count,
            bytes,
        };
        for (error, message) in [
            (
                bad_memory(UseAfterFree, false, Some("node->next")),
                "use after free: thread T2 reads node->next at queue.c:4:5",
            ),
            (
                bad_memory(OutOfBounds, true, None),
                "out of bounds: thread T2 writes memory at queue.c:4:5",
            ),
            (
                bad_memory(DoubleFree, false, None),
                "double free: thread T2 frees memory at queue.c:4:5",
            ),
            (
                bad_memory(InvalidFree, false, None),
                "invalid free: thread T2 frees memory at queue.c:4:5",
            ),
            (
                ProgramError::LeakedBlocks(vec![leak(2, 64, 1), leak(1, 8, 2)]),
                "3 heap blocks with 72 bytes were not freed: 2 allocated at queue.c:1:5, 1 allocated at \
                 queue.c:2:5",
            ),
            (
                lock_misuse(LockMisuseKind::NotHeld { holder: None }),
                "thread T1 unlocks mutex `m`, which it does not hold",
            ),
            (
                lock_misuse(LockMisuseKind::DestroyedWhileHeld { holder: holder() }),
                "thread T1 destroys mutex `m`, which is held",
            ),
            (
                lock_misuse(LockMisuseKind::Destroyed {
                    destroyed: holder(),
                }),
                "thread T1 uses mutex `m`, which was destroyed",
            ),
            (
                lock_misuse(LockMisuseKind::Uninitialized),
                "thread T1 uses mutex `m`, which was never initialized",
            ),
        ] {
            assert_eq!(error.to_string(), message);
        }
    }
}
