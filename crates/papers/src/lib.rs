//! The papers that Fencepost implements: their programs, their published figures, and
//! reproductions.
//!
//! - [`programs`]: the papers' programs, each with its store-buffer bug and with the bug fixed
//!   (`fencepost example`). Read this first.
//! - [`figures`]: the numbers that the papers publish.
//! - [`reproduce`]: measures the papers' tables (`fencepost reproduce`): [`reproduce::sober`],
//!   [`reproduce::bss`], [`reproduce::x86_tso`] and [`reproduce::tso_cc`].
//!
//! This crate is internal to Fencepost: the command and the tests use it.

pub mod figures;
pub mod programs;
pub mod reproduce;

pub use programs::{EXAMPLES, Example, Fix, Verdict, Version};
