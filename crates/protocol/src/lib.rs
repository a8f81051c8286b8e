//! Murphi models: the language, and the search through all states.
//!
//! Read in this order: `syntax` (text to tree), [`model`] (what a model is when every name is
//! resolved), `resolve` (tree to model), [`mod@reference`] (what a model means, and a slow search that
//! the fast one is compared with), [`vacuity`] (what a search never saw). `problem`, `model_error` and `help` are what is said about a model
//! that cannot be read.
//!
//! The language is that of CMurphi 5 without its floating-point and probabilistic parts, and what
//! Rumur adds to it. This crate does no I/O: it takes bytes and makes values. It knows nothing of
//! memory models, which are models like any other here.

mod compile;
mod help;
mod limits;
pub mod model;
mod model_error;
mod model_error_kind;
pub mod outcome;
mod read;
pub mod reference;
mod resolve;
pub mod search;
mod source;
mod state;
mod syntax;
pub mod vacuity;

pub use fencepost_diagnostics::{Excerpt, Position};
pub use limits::Limits;
pub use model::Model;
pub use model_error::{ModelError, SourceError};
pub use model_error_kind::ModelErrorKind;
pub use source::Span;
