//! Reports as text, JSON and pictures. All English that users read about results is here.
//!
//! Read in this order: [`names`] (names of threads, addresses and locations), [`language`] (the words of the
//! program's language), [`text`] (findings of a monitor), [`witness_table`] (a run of the store-buffer machine, in [`columns`]), [`json`] (the
//! same for scripts). [`check`] is the report of a check, with failures shown in the program's
//! [`source`]. [`litmus`] draws executions of litmus tests, and [`hardware`] is the log of their runs
//! on the processor. [`protocol`] is the report of the
//! search of a Murphi model: verdict, vacuity, and the counterexample as text and as a sequence
//! chart. `svg` has what both kinds of pictures share.
//!
//! This crate analyses nothing and reads no files: it turns typed results into strings.

pub mod check;
pub mod columns;
pub mod duration;
#[cfg(feature = "hardware")]
pub mod hardware;
pub mod json;
pub mod language;
#[cfg(feature = "litmus")]
pub mod litmus;
pub mod names;
#[cfg(feature = "protocol")]
pub mod protocol;
#[cfg(feature = "litmus")]
pub mod safety;
mod selection;
pub mod source;
pub mod style;
#[cfg(any(feature = "litmus", feature = "protocol"))]
mod svg;
pub mod text;
pub mod witness_table;

pub use language::ProgramLanguage;
pub use names::Naming;
pub use source::{NoSources, SourcePosition, Sources};
