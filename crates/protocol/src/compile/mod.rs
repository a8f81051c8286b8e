//! Models as native code.
//!
//! Read in this order: `layout` (states as bytes), `context` (what else compiled code works on),
//! `unit` and `routine` (what a routine is while it is compiled), `places`, `expressions`,
//! `loops`, `statements`, `entries` (what they become), `analysis` (what is known before), then [`Program`].
//!
//! Compiled code means what [`crate::reference`] says, step by step: the same order of evaluation,
//! the same faults at the same places, the same points counted. It differs in one thing: a fault
//! is only a number. Whoever wants to tell more runs the same step with the reference.
//!
//! This is the corner of the crate where `unsafe` is: compiled code is called here, and calls back.

mod analysis;
pub(crate) mod context;
mod entries;
mod expressions;
pub(crate) mod layout;
mod loops;
mod places;
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
