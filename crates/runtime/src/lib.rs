//! Internal crate of Fencepost: runs a program whose threads are coroutines, one operation at a
//! time.
//!
//! A front end (the look-alikes of `std` in `fencepost`) performs operations on objects through
//! [`Current`]; the explorer runs the program through [`Runtime`]. This crate does not depend on
//! the types of the front end.
//!
//! No safe function has an unsafe precondition: `current` says how that is enforced.
//!
//! Read in this order:
//! 1. [`operation`], [`object`] and [`step`]: what a front end's types are built from. `variable`: atomics.
//! 2. `execution` with `threads` and `recording`: the state of one execution. `current`: how its
//!    threads find and borrow it. `coroutine`: spawn and end of threads. [`runtime`]: the closure
//!    as a program of the explorer. `setup`: settings.
//! 3. [`mapping`]: the memory events of each operation. `buffers`: store buffers. `insertions`:
//!    fences that the program does not have.
//! 4. [`races`], [`cells`] and [`plain`]: data races.
//! 5. [`names`]: deterministic ids, and names for reports. `location`: source locations.
//! 6. [`mutex`], [`rwlock`], [`condvar`], [`barrier`]: the steps of locks. [`once`], [`locals`] and `statics`: one-time
//!    initialization, thread-local values, statics.
//! 7. `boundary` and `visits`: whether a thread that loops has come back to the same state.
//!    `memory` and `arena`: whether it has changed the heap of the program.
//! 8. `declared`, `waits`, `drops`, `writers` and `parking`: operations that are steps only if a thread can
//!    observe the difference.
//! 9. [`heartbeat`], `panics`, `overflow`, `foreign`, [`error`] and `failures`: the watchdog's view, and
//!    what can go wrong.
//! 10. `blocks`: memory that the next execution reuses.

pub mod barrier;
pub mod cells;
pub mod condvar;
pub mod error;
pub mod heartbeat;
pub mod locals;
pub mod mapping;
pub mod mutex;
pub mod names;
pub mod object;
pub mod once;
pub mod operation;
pub mod plain;
pub mod races;
pub mod runtime;
pub mod rwlock;
pub mod step;

mod arena;
mod blocks;
mod boundary;
mod buffers;
mod coroutine;
mod current;
mod declared;
mod drops;
mod execution;
mod failures;
mod foreign;
mod insertions;
mod location;
mod memory;
mod overflow;
mod panics;
mod parking;
mod recording;
mod setup;
mod statics;
mod threads;
mod variable;
mod visits;
mod waits;
mod writers;

pub use arena::Allocator;
pub use blocks::free;
pub use buffers::ThreadIdSpace;
pub use coroutine::SpawnOptions;
pub use drops::DropTracker;
pub use error::{MemoryRace, MemoryRaceAccess, ProgramError, Race, RaceAccess, Restart, Stop};
pub use failures::{
    BadMemory, BadMemoryKind, BlockPosition, FailureKind, LeakedBlocks, LockMisuse, LockMisuseKind,
    ProgramFailure, Signal, ThreadPlace,
};
pub use insertions::{Inserted, Insertion, Insertions};
pub use location::{LocationRef, OwnedLocation, SourceLocation};
pub use mapping::releases;
pub use mapping::{Drains, Events, Target};
pub use names::{ComparedHeap, Names, Registry};
pub use object::Object;
pub use operation::Current;
pub use overflow::ForeignCode;
pub use runtime::{Checked, Runtime};
pub use setup::{ComparedStates, STACK_SIZES, Setup, StateMutation};
pub use statics::StaticDeclaration;
pub use step::Step;
pub use threads::Outcomes;
pub use variable::{Operand, Variable, fence};
pub use visits::MOST_ROUNDS;
pub use waits::MOST_RETURNS;
