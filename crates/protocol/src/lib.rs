//! Murphi models: the language, and the search through all states.
//!
//! Read in this order: `syntax` (text to syntax tree), [`model`] (the typed model), `resolve`
//! (syntax tree to model), [`outcome`] (verdicts and traces), [`mod@reference`] (the semantics: an
//! interpreter and a slow search), `compile` (rules as native code), `state` (how states are
//! stored), [`search`] (the fast search), [`vacuity`] (claims that a search did not exercise).
//! `model_error_kind`, `model_error` and `help` are the errors of a model that cannot be read.
//!
//! The language is that of CMurphi 5 without its floating-point and probabilistic parts, with
//! Rumur's additions. This crate does no I/O. It knows nothing of memory models, which are ordinary
//! Murphi models here.

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
