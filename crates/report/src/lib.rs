//! Findings, for people and for scripts.
//!
//! [`text`] writes what a person reads, [`json`] what a script reads; [`names`] says what
//! threads, addresses and source locations are called, and [`witness_table`] lays out a run
//! of the store-buffer machine step by step, in [`columns`].
//!
//! [`check`] is the report of checking a program: its findings of every kind, shown in the
//! program's [`source`].
//!
//! [`litmus`] has pictures of executions of litmus tests. [`protocol`] is the report of searching a
//! Murphi model: its verdict, what was never seen, the way to an error as text and as a picture.
//!
//! This crate does not know how findings are made or where events come from.

pub mod check;
pub mod columns;
pub mod json;
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

pub use names::Naming;
pub use source::{NoSources, SourcePosition, Sources};
