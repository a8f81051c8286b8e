//! Errors in files that people write: position, source line, what was expected, and help.
//!
//! [`Position`] and [`Excerpt`] locate an error, [`DescribeError`] describes it, [`SourceError`]
//! and [`SourceErrors`] combine both. `snippet` draws messages with source lines, as compilers do;
//! [`nearest`] suggests a name. The readers of traces, litmus tests and Murphi models and the
//! reports of checks share this, so that their messages look alike. This crate does not know what
//! is read.

mod excerpt;
mod position;
mod snippet;
mod source_error;
mod suggest;

pub use excerpt::{Excerpt, quoted};
pub use position::Position;
pub use snippet::{Label, LabelledSource, Severity, render_error};
pub use source_error::{DescribeError, Diagnostic, SourceError, SourceErrors};
pub use suggest::nearest;
