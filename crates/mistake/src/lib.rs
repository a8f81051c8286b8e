//! Mistakes in files that people write: where they are, the line itself, what was expected, and what to do.
//!
//! [`Position`] and [`Excerpt`] say where, [`Describe`] what, [`Mistake`] and [`Mistakes`] both, as compilers show them;
//! [`nearest`] guesses what was meant. The readers of traces, litmus tests and Murphi models share this, so that
//! their messages look alike. It knows nothing of what is read.

mod excerpt;
mod mistakes;
mod position;
mod suggest;

pub use excerpt::{Excerpt, quoted};
pub use mistakes::{Describe, Mistake, Mistakes, Shown};
pub use position::Position;
pub use suggest::nearest;
