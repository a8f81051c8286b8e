//! x86 instructions in the two syntaxes of litmus tests, and what they come to.
//!
//! Read in this order: `registers`, `mnemonics` (the tables), `operands`, `instruction` and `form`
//! (reading a cell of the program), `register_file`, `lowering` and `exchanges` (instructions as
//! [`Operation`](crate::code::Operation)s).
//!
//! `X86` has the destination first, `X86_64` the source. Operands of which only one can be the
//! destination (`XCHG`, `CMPXCHG`, `XADD` and `CMOVcc` with memory) are taken in either order.
//! Where both are registers, herd7's order holds: the destination of `CMPXCHG` comes first in both.

mod exchanges;
mod form;
pub(crate) mod instruction;
pub(crate) mod lowering;
pub(crate) mod mnemonics;
pub(crate) mod operands;
pub(crate) mod register_file;
pub(crate) mod registers;
