//! One execution of a program, and what it shows. Every strategy is built on this.
//!
//! Read in this order: `log` (the events so far, their order and their races), `run` (the steps
//! that strategies consist of), `monitor_feed` (the accesses for the monitor), `judge` (stale reads
//! that only repeat a wait), `fault` and `findings` (what can be wrong, and what was found),
//! `fingerprint` (recognising a prefix of an execution).

pub(crate) mod fault;
pub(crate) mod findings;
pub(crate) mod fingerprint;
pub(crate) mod judge;
pub(crate) mod log;
pub(crate) mod monitor_feed;
pub(crate) mod run;
