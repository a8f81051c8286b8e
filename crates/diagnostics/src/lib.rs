//! Errors in files that people write: where they are, the line itself, what was expected, and what to do.
//!
//! [`Position`] and [`Excerpt`] say where, [`DescribeError`] what, [`SourceError`] and [`SourceErrors`] both, as compilers show them;
//! [`nearest`] guesses what was meant. The readers of traces, litmus tests and Murphi models share this, so that
//! their messages look alike. It knows nothing of what is read.

mod excerpt;
mod position;
mod source_error;
mod suggest;

pub use excerpt::{Excerpt, quoted};
pub use position::Position;
pub use source_error::{DescribeError, Diagnostic, SourceError, SourceErrors};
pub use suggest::nearest;
