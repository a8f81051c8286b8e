//! The papers that Fencepost implements: their programs, what they measured, and the same measured again.
//!
//! Read [`programs`] first: the papers' programs, each with its store-buffer bug and without. [`figures`] has the numbers
//! that the papers print, and [`reproduce`] measures them again for `fencepost reproduce`.

pub mod figures;
pub mod programs;
pub mod reproduce;

pub use programs::{EXAMPLES, Example, Fix, Verdict, Version};
