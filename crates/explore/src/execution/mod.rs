//! One execution of a program, and what it shows. Every strategy is built on this.

pub(crate) mod fault;
pub(crate) mod findings;
pub(crate) mod fingerprint;
pub(crate) mod log;
pub(crate) mod monitor_feed;
pub(crate) mod run;
