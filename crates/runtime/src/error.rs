//! Errors of a checked program, misuse of the library, and requests to restart a check.

use super::failures::{BadMemory, LeakedBlocks, LockMisuse, ProgramFailure, write_leaks};
use super::location::OwnedLocation;
use super::plain::AccessKind;
use std::fmt;

use fencepost_explore::Fault;
use fencepost_memory::ThreadId;

/// One of the two accesses of a race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaceAccess {
    /// The thread that accessed the cell.
    pub thread: ThreadId,
    /// Whether the access is a write. The creation of a cell is one.
    pub is_write: bool,
    /// The source location of the access.
    pub location: OwnedLocation,
}

/// Two accesses to a cell, at least one of them a write, that happens-before does not order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// Where the cell was created.
    pub cell: OwnedLocation,
    /// The name that the program gave the cell.
    pub name: Option<String>,
    /// The access that was performed first.
    pub first: RaceAccess,
    /// The access at which the race was detected.
    pub second: RaceAccess,
}

/// One of the two accesses of a race on memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryRaceAccess {
    /// The thread that accessed the memory.
    pub thread: ThreadId,
    /// How it did.
    pub kind: AccessKind,
    /// How many bytes it accessed.
    pub size: u32,
    /// The source location of the access.
    pub location: Option<OwnedLocation>,
}

/// Two accesses to overlapping bytes that happens-before does not order: at least one is a write, and
/// at least one is not atomic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryRace {
    /// The first byte that both access.
    pub address: usize,
    /// The name of the memory, such as `queue.head`.
    pub name: Option<String>,
    /// The access that was performed first.
    pub first: MemoryRaceAccess,
    /// The access at which the race was detected.
    pub second: MemoryRaceAccess,
}

/// What went wrong in an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProgramError {
    /// A thread panicked, mostly because of a failed assertion.
    Panic {
        /// The thread.
        thread: ThreadId,
        /// The panic message.
        message: String,
        /// Where the thread panicked. Unknown if the panic was resumed, or the panic hook was
        /// replaced.
        location: Option<OwnedLocation>,
    },
    /// A data race on a cell.
    Race(Box<Race>),
    /// A data race on memory that is accessed by address.
    MemoryRace(Box<MemoryRace>),
    /// A thread failed in a way that ends a process.
    Failed(Box<ProgramFailure>),
    /// A heap block is used wrongly.
    BadMemory(Box<BadMemory>),
    /// Heap blocks were not freed by the end of the execution.
    LeakedBlocks(Vec<LeakedBlocks>),
    /// A lock is used wrongly.
    LockMisuse(Box<LockMisuse>),
    /// A value was not dropped by the end of the execution.
    Leak {
        /// Its type, such as `Arc`.
        what: &'static str,
        /// Where it was created.
        location: OwnedLocation,
    },
    /// A thread overflowed its stack.
    StackOverflow {
        /// The thread.
        thread: ThreadId,
        /// The size of its stack in bytes.
        size: usize,
    },
    /// The program spawned more threads than an execution may have steps.
    StepLimit {
        /// The step limit.
        steps: u64,
        /// The thread that spawned one more.
        thread: ThreadId,
        /// Where it did.
        location: OwnedLocation,
    },
    /// The program uses the library in a way that cannot be checked.
    Misuse {
        /// What is wrong, and what to do instead.
        message: String,
        /// Where the program does it, if that is one location.
        location: Option<OwnedLocation>,
    },
    /// A replay of the execution did not reproduce its failure: the program is not deterministic.
    /// Whoever replays it reports this, not the runtime.
    Unreproduced {
        /// The failure, unless it was a store-buffer violation.
        fault: Option<Box<Fault<ProgramError>>>,
    },
}

/// What a check has to change before it starts over. This is not an error of the program: an
/// execution showed that something matters that the runtime had left out to explore fewer
/// executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Restart {
    /// The program asks whether a thread has finished, so the ends of threads have to be steps of
    /// their own ([`Setup::are_ends_visible`](super::Setup::are_ends_visible)).
    VisibleEnds,
    /// Other threads can notice when the last reference to an `Arc` is dropped, so the order of the
    /// drops matters. The [`Registry`](super::Registry) has recorded it: reuse it.
    OrderedDrops,
    /// The initializer of a static does more than construct values, so it has to run in steps
    /// ([`Setup::are_statics_visible`](super::Setup::are_statics_visible)).
    VisibleStatics,
    /// A writer that waits for an `RwLock` can block readers in a way that matters
    /// ([`Setup::are_writers_announced`](super::Setup::are_writers_announced)).
    AnnouncedWriters,
    /// A thread comes back to an operation without having changed anything, so the states of
    /// threads have to be compared
    /// ([`Setup::compared_states`](super::Setup::compared_states)).
    ComparedStates,
    /// A loop depends on memory that is not compared, so it must not be taken to wait. The
    /// [`Registry`](super::Registry) has recorded it: reuse it.
    UnseenMemory,
    /// A loop goes round again and again, changes nothing, and does not come back to the same state.
    /// The [`Registry`](super::Registry) has recorded it: reuse it.
    EndlessLoop,
    /// The destructor of a thread-local value does something that other threads can observe, so it
    /// matters that it may do so after the end of a scope
    /// ([`Setup::are_destructors_late`](super::Setup::are_destructors_late)).
    LateDestructors,
    /// A thread that has waited by parking inside of `std` parks later: its token may have been taken
    /// ([`Setup::do_waits_take_tokens`](super::Setup::do_waits_take_tokens)).
    TakenTokens,
    /// The program has more threads than there are ids for with store buffers: use a wider
    /// [`ThreadIdSpace`](super::ThreadIdSpace).
    WiderThreadIdSpace,
}

/// Why the runtime does not continue an execution.
pub type Stop = fencepost_explore::Stop<ProgramError, Restart>;

impl From<Restart> for Stop {
    fn from(restart: Restart) -> Self {
        Stop::Restart(restart)
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::Panic {
                thread,
                message,
                location,
            } => {
                write!(f, "thread {thread} panicked")?;
                if let Some(location) = location {
                    write!(f, " at {location}")?;
                }
                write!(f, ": {message}")
            }
            ProgramError::Race(race) => write!(
                f,
                "data race on the cell created at {}: {} and {}, and nothing orders them",
                race.cell, race.first, race.second
            ),
            ProgramError::MemoryRace(race) => {
                write!(f, "data race on ")?;
                match &race.name {
                    Some(name) => write!(f, "`{name}`")?,
                    None => write!(f, "memory at {:#x}", race.address)?,
                }
                write!(
                    f,
                    ": {} and {}, and nothing orders them",
                    race.first, race.second
                )
            }
            ProgramError::Failed(failure) => failure.fmt(f),
            ProgramError::BadMemory(misuse) => misuse.fmt(f),
            ProgramError::LeakedBlocks(leaks) => write_leaks(leaks, f),
            ProgramError::LockMisuse(misuse) => misuse.fmt(f),
            ProgramError::Leak { what, location } => {
                write!(f, "the {what} created at {location} was never dropped")
            }
            ProgramError::StackOverflow { thread, size } => {
                write!(
                    f,
                    "thread {thread} overflowed its stack of {} KiB",
                    size / 1024
                )
            }
            ProgramError::StepLimit {
                steps,
                thread,
                location,
            } => write!(
                f,
                "thread {thread} spawned more than {steps} threads, the step limit, at {location}"
            ),
            ProgramError::Misuse { message, location } => {
                f.write_str(message)?;
                match location {
                    Some(location) => write!(f, " (at {location})"),
                    None => Ok(()),
                }
            }
            ProgramError::Unreproduced { .. } => {
                f.write_str("a replay did not reproduce the failure")
            }
        }
    }
}

impl std::error::Error for ProgramError {}

impl fmt::Display for RaceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_write { "writes" } else { "reads" };
        write!(f, "{} {verb} at {}", self.thread, self.location)
    }
}

impl fmt::Display for MemoryRaceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} it", self.thread, self.kind.verb())?;
        match &self.location {
            Some(location) => write!(f, " at {location}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(line: u32) -> OwnedLocation {
        OwnedLocation {
            file: "src/queue.rs".to_owned(),
            line,
            column: 5,
        }
    }

    #[test]
    fn each_error_says_what_and_where() {
        let access = |thread, is_write, line| RaceAccess {
            thread: ThreadId(thread),
            is_write,
            location: location(line),
        };
        let memory_access = |thread, kind, location| MemoryRaceAccess {
            thread: ThreadId(thread),
            kind,
            size: 8,
            location,
        };
        let messages = [
            (
                ProgramError::Panic {
                    thread: ThreadId(1),
                    message: "assertion failed".to_owned(),
                    location: Some(location(3)),
                },
                "thread T1 panicked at src/queue.rs:3:5: assertion failed",
            ),
            (
                ProgramError::Race(Box::new(Race {
                    cell: location(1),
                    name: None,
                    first: access(1, true, 2),
                    second: access(2, false, 3),
                })),
                "data race on the cell created at src/queue.rs:1:5: T1 writes at src/queue.rs:2:5 and \
                 T2 reads at src/queue.rs:3:5, and nothing orders them",
            ),
            (
                ProgramError::MemoryRace(Box::new(MemoryRace {
                    address: 0x1000,
                    name: Some("head".to_owned()),
                    first: memory_access(1, AccessKind::Free, Some(location(2))),
                    second: memory_access(2, AccessKind::AtomicRead, None),
                })),
                "data race on `head`: T1 frees it at src/queue.rs:2:5 and T2 atomically reads it, and \
                 nothing orders them",
            ),
            (
                ProgramError::MemoryRace(Box::new(MemoryRace {
                    address: 0x1000,
                    name: None,
                    first: memory_access(1, AccessKind::Allocation, None),
                    second: memory_access(2, AccessKind::AtomicWrite, None),
                })),
                "data race on memory at 0x1000: T1 allocates it and T2 atomically writes it, and nothing \
                 orders them",
            ),
            (
                ProgramError::Leak {
                    what: "Arc",
                    location: location(4),
                },
                "the Arc created at src/queue.rs:4:5 was never dropped",
            ),
            (
                ProgramError::StackOverflow {
                    thread: ThreadId(2),
                    size: 262_144,
                },
                "thread T2 overflowed its stack of 256 KiB",
            ),
            (
                ProgramError::Misuse {
                    message: "a check is inside a check".to_owned(),
                    location: Some(location(5)),
                },
                "a check is inside a check (at src/queue.rs:5:5)",
            ),
            (
                ProgramError::Unreproduced { fault: None },
                "a replay did not reproduce the failure",
            ),
        ];
        for (error, message) in messages {
            assert_eq!(error.to_string(), message);
        }
    }
}
