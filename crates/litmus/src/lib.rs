//! Litmus tests for x86: what a memory model allows.
//!
//! Read in this order:
//! - [`code`] and [`mod@test`]: what a test is.
//! - [`parse()`], `syntax`, `x86` and `assemble`: how files become tests; `parse_error`, `parse_error_kind` and `help`: what
//!   is said if they do not.
//! - [`arithmetic`] and [`thread`]: what instructions do.
//! - [`execution`] and [`run`]: what a witness is. [`event_graph`]: its relations, and the cycle that makes it not
//!   sequentially consistent.
//! - [`machine`]: the store-buffer machine of x86-TSO section 3.1, explored to the end.
//! - [`axioms`]: section 3.2, without a machine.
//! - [`judge`]: section E.4, checks witnesses.
//! - [`answer`] and [`log`]: what a test comes to, and how it is written down. [`robust`]: whether it is store-buffer safe.
//! - [`generate`]: random tests.
//!
//! The engines share the meaning of instructions and nothing else; the judge shares nothing with the
//! engines. This crate does no I/O: it takes bytes and makes values.

pub mod answer;
pub mod arithmetic;
mod assemble;
pub mod axioms;
pub mod code;
pub mod event_graph;
pub mod execution;
mod fault_text;
pub mod final_state;
pub mod generate;
mod help;
pub mod judge;
mod limits;
pub mod log;
pub mod machine;
mod parse;
mod parse_error;
mod parse_error_kind;
pub mod robust;
pub mod run;
mod state;
mod syntax;
pub mod test;
pub mod thread;
mod x86;

pub use fencepost_diagnostics::Excerpt;
pub use limits::Limits;
pub use parse::parse;
pub use parse_error::{ParseError, SourceError};
pub use parse_error_kind::{ParseErrorKind, Section, Unterminated};
