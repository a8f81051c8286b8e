//! All tests of litmus files and engines, as one binary. `hostile` counts allocations and is one of
//! its own.

mod common;

mod agreement;
#[cfg(target_arch = "x86_64")]
mod arithmetic;
mod axioms;
mod corpus;
mod forbidden;
mod hard_cases;
mod herd_hash;
mod instructions;
mod judge;
mod messages;
mod mutations;
mod naive_machine;
mod parser_mutations;
mod reading;
mod two_syntaxes;
