//! The instructions of a thread as they are written, with names resolved: for those who encode
//! them.
//!
//! The engines see [`Operation`](crate::code::Operation)s only. What an instruction does is decided
//! there, so running the encoded instruction tests that decision.

use crate::code::{Part, Register, Width};

pub use crate::x86::mnemonics::{Idle, Mnemonic};

/// A memory operand: `symbol + base + index * scale + offset`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemoryArgument {
    /// The address of the named location or element, if one is named.
    pub symbol: Option<u64>,
    /// The number, in two's complement.
    pub offset: u64,
    /// The register with the base, if there is one.
    pub base: Option<Register>,
    /// A register and what it is multiplied by (1, 2, 4 or 8).
    pub index: Option<(Register, u8)>,
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Argument {
    /// A part of a register.
    Register(Register, Part),
    /// A number, cut to the width of the instruction.
    Constant(u64),
    /// The address of a location, as a number.
    Address(u64),
    /// Memory.
    Memory(MemoryArgument),
}

/// An instruction with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AssemblyInstruction {
    /// Which instruction.
    pub mnemonic: Mnemonic,
    /// Whether it has the prefix `LOCK`.
    pub is_locked: bool,
    /// How many bytes it works on; without operands, any.
    pub width: Width,
    /// The destination; the left side of a comparison.
    pub destination: Option<Argument>,
    /// The source. A shift without one is by 1.
    pub source: Option<Argument>,
    /// The instruction that a jump goes to: an index, or the number of instructions for the end.
    pub target: Option<u32>,
}
