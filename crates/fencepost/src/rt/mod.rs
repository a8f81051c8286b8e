//! The runtime: runs a closure whose threads are coroutines, one operation at a time.
//!
//! Read in this order: [`operation`] (what the library's types are made of), `execution` (what is
//! being run), `coroutine` (how threads begin and end), [`runtime`] (the closure as a program for
//! the explorer), [`mapping`] (which events of the machine an operation is), [`races`] and
//! [`cells`] (data races), [`names`] (stable numbers, and names for people), `waits` (loops that
//! wait), `statics`, `panics`, `overflow` and `foreign` (what can go wrong, and how it becomes an
//! [`error`]).
//!
//! This is not public API: it is here for the library's macros, its tests and its checker.

pub mod cells;
pub mod error;
pub mod mapping;
pub mod names;
pub mod operation;
pub mod races;
pub mod runtime;

mod coroutine;
mod execution;
mod foreign;
mod overflow;
mod panics;
mod statics;
mod waits;

pub use coroutine::SpawnOptions;
pub use error::{Place, ProgramError, Race, RaceAccess};
pub use execution::{Outcomes, Setup};
pub use mapping::{Events, Target};
pub use names::{Names, Registry};
pub use operation::{Current, Object, Step, Watch};
pub use runtime::{Checked, Runtime};
pub(crate) use statics::Declared;
