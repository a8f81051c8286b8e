//! Compilation of models to native code, with Cranelift.
//!
//! Read in this order: `layout` (states as bytes), `context` (the memory of compiled code besides
//! the state), `unit` and `routine` (the compiler's state), `designators`, `expressions`, `loops`,
//! `statements`, `entries` (code generation), `analysis` (static analysis before it), then
//! [`Program`].
//!
//! Compiled code has the semantics of [`crate::reference`], step by step: the same order of
//! evaluation, the same faults at the same places, the same points counted. A fault is only a
//! number; the search runs the same step with the reference interpreter for the details.
//!
//! This is the corner of the crate where `unsafe` is: compiled code is called here, and calls back.

mod analysis;
pub(crate) mod context;
mod designators;
mod entries;
mod expressions;
pub(crate) mod layout;
mod loops;
mod program;
mod routine;
mod statements;
#[cfg(test)]
mod tests;
mod unit;

pub(crate) use context::{Context, status};
pub(crate) use layout::Layout;
pub(crate) use program::Program;
#[cfg(test)]
pub(crate) use routine::FaultCode;
