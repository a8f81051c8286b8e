//! Litmus tests for x86: which final states a memory model allows.
//!
//! Read in this order:
//! 1. [`code`] and [`mod@test`]: a test as a value. [`assembly`]: its instructions as written.
//! 2. [`parse()`], `syntax`, `x86` and `assemble`: from files to tests. `parse_error`,
//!    `parse_error_kind` and `help`: errors in files.
//! 3. [`arithmetic`] and [`thread`]: the semantics of instructions.
//! 4. [`execution`] and [`run`]: witnesses; `shorten`: short ones. [`event_graph`]: their relations, and the cycle that
//!    makes one not sequentially consistent.
//! 5. [`machine`]: exhaustive search of the store-buffer machine of x86-TSO, section 3.1.
//! 6. [`axioms`]: the axiomatic model of section 3.2.
//! 7. [`judge`]: the checker of witnesses of section E.4.
//! 8. [`mod@forbidden`]: why a model does not allow a final state.
//! 9. [`answer`] and [`log`]: the result of a test, and its log; `herd_hash`: the checksum in it.
//!    [`robust`]: whether a test is store-buffer safe.
//! 10. [`generate`]: random tests.
//!
//! The engines share the semantics of instructions and nothing else; the judge shares nothing else
//! with the engines. This crate does no I/O: it takes bytes and returns values.

pub mod answer;
pub mod arithmetic;
mod assemble;
pub mod assembly;
pub mod axioms;
pub mod code;
pub mod event_graph;
pub mod execution;
mod fault_text;
pub mod final_state;
pub mod forbidden;
pub mod generate;
mod help;
mod herd_hash;
pub mod judge;
mod limits;
pub mod log;
pub mod machine;
mod parse;
mod parse_error;
mod parse_error_kind;
pub mod robust;
pub mod run;
mod shorten;
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
