//! Optimal dynamic partial-order reduction.
//!
//! Read in this order: `footprint` (what operations touch, and when two depend on each other),
//! `learned` (footprints that are known only from executions), `sleep` (sleep sets), `wakeup`
//! (reversed races and wakeup trees), `optimal` (the search).

pub(crate) mod footprint;
pub(crate) mod learned;
pub(crate) mod optimal;
pub(crate) mod sleep;
pub(crate) mod wakeup;
