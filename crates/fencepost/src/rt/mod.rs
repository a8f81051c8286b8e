//! The runtime: runs a closure whose threads are coroutines, one operation at a time.
//!
//! Read in this order: [`operation`], [`object`] and [`step`] (what the library's types are made
//! of), `execution` (what is being run), `coroutine` (how threads begin and end), [`runtime`] (the
//! closure as a program for the explorer), [`mapping`] (which events of the machine an operation
//! is), `blocks` (memory that is used again), `buffers` (stores that wait), `insertions` (events that the program does not have), [`races`] and [`cells`] (data races), [`names`] (stable numbers, and names for people),
//! `waits` (loops that wait), `drops`, `writers` and `statics` (what is a step only if others can
//! notice it), [`pulse`] (whether it gets on), `panics`, `overflow` and `foreign` (what can go wrong, and how it becomes an
//! [`error`]).
//!
//! This is not public API: it is here for the library's macros, its tests and its checker.

pub mod cells;
pub mod error;
pub mod mapping;
pub mod names;
pub mod object;
pub mod operation;
pub mod pulse;
pub mod races;
pub mod runtime;
pub mod step;

mod blocks;
mod buffers;
mod coroutine;
mod drops;
mod execution;
mod foreign;
mod insertions;
mod overflow;
mod panics;
mod statics;
mod waits;
mod writers;

pub(crate) use blocks::free;
pub use buffers::Stride;
pub use coroutine::SpawnOptions;
pub use drops::Watch;
pub use error::{Place, ProgramError, Race, RaceAccess};
pub use execution::{Outcomes, STACK_SIZES, Setup};
pub use insertions::{Insertion, Insertions};
pub(crate) use mapping::releases;
pub use mapping::{Drains, Events, Target};
pub use names::{Names, Registry};
pub use object::Object;
pub use operation::Current;
pub use runtime::{Checked, Runtime};
pub(crate) use statics::Declared;
pub use step::Step;
