//! Litmus tests for x86: what a memory model allows.
//!
//! Read in this order: [`code`] and [`test`] (what a test is), [`syntax`] and `x86` (how files
//! become tests), [`arithmetic`] and [`thread`] (what instructions do), [`execution`] (what a
//! witness is), [`machine`] (the store-buffer machine of x86-TSO section 3.1, explored to the
//! end), [`axioms`] (section 3.2), [`judge`] (section E.4: checks witnesses), [`generate`]
//! (random tests).
//!
//! The engines share the meaning of instructions and nothing else; the judge shares nothing with the
//! engines. This crate does no I/O: it takes bytes and makes values.

pub mod arithmetic;
pub mod axioms;
pub mod code;
pub mod execution;
pub mod final_state;
pub mod generate;
pub mod judge;
pub mod machine;
pub mod robust;
pub mod run;
pub mod test;
pub mod thread;
