//! Errors in files that people write: position, source line, what was expected, and how to fix it.
//!
//! The parsers of traces, litmus tests and Murphi models share this crate, so that their messages
//! look alike. A parser implements [`DescribeError`] for its kinds of errors; [`SourceError`] and
//! [`SourceErrors`] add [`Position`] and [`Excerpt`] and render them. [`nearest`] finds the name
//! that a misspelled one probably stands for. This crate knows no file format.

mod excerpt;
mod position;
mod source_error;
mod suggest;

pub use excerpt::{Excerpt, quoted};
pub use position::Position;
pub use source_error::{DescribeError, Diagnostic, SourceError, SourceErrors};
pub use suggest::nearest;
