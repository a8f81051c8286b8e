//! The code of a thread: small operations on registers and memory.
//!
//! An x86 instruction may read memory, compute, and write memory. Each of these is an
//! [`Operation`] of its own here, because between them other processors may act; those of a
//! locked instruction stand between [`Operation::BeginLocked`] and [`Operation::EndLocked`]
//! and are one step. The front end lowers both syntaxes to this; the engines see only this.

/// A register of a thread: an index into its register file.
///
/// Register 0 holds the flags ([`Register::FLAGS`]).
/// [`Thread::registers`](crate::test::Thread::registers) has the names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Register(pub u8);

impl Register {
    /// Where the flags are kept, as bits of [`Flags`](crate::arithmetic::Flags).
    pub const FLAGS: Register = Register(0);

    /// The register's number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How many bytes an access or a computation has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Width {
    /// One byte.
    Byte = 1,
    /// Two bytes.
    Word = 2,
    /// Four bytes.
    Long = 4,
    /// Eight bytes.
    Quad = 8,
}

impl Width {
    /// The number of bytes.
    pub fn bytes(self) -> u64 {
        self as u64
    }

    /// The number of bits.
    pub fn bits(self) -> u32 {
        self as u32 * 8
    }

    /// All ones in this width.
    #[inline]
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// A number cut to this width and taken as signed.
    pub fn signed(self, value: u64) -> i64 {
        let unused = 64 - self.bits();
        ((value << unused) as i64) >> unused
    }
}

/// Which part of a register is meant: `rax`, `eax`, `ax`, `al` or `ah`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// The low bytes, as many as the width. Writing four clears the upper four.
    Low(Width),
    /// The second lowest byte: `ah`, `bh`, `ch`, `dh`.
    HighByte,
}

impl Part {
    /// How many bytes the part has.
    pub fn width(self) -> Width {
        match self {
            Part::Low(width) => width,
            Part::HighByte => Width::Byte,
        }
    }

    /// The part, of the whole register's content.
    #[inline]
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Part::Low(width) => whole & width.mask(),
            Part::HighByte => (whole >> 8) & 0xff,
        }
    }

    /// The whole register's content after `value` was written to the part.
    #[inline]
    pub fn replace(self, whole: u64, value: u64) -> u64 {
        match self {
            Part::Low(Width::Quad) => value,
            // As the processor does it: the upper half is cleared.
            Part::Low(Width::Long) => value & Width::Long.mask(),
            Part::Low(width) => (whole & !width.mask()) | (value & width.mask()),
            Part::HighByte => (whole & !0xff00) | ((value & 0xff) << 8),
        }
    }
}

/// Where a value comes from that is not in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A part of a register.
    Register(Register, Part),
    /// A constant: a number, or the address of a location.
    Constant(u64),
}

/// An address: `base + index * scale + displacement`, cut to `width`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddressOperand {
    /// The register with the base, if there is one.
    pub base: Option<Register>,
    /// A register and what it is multiplied by (1, 2, 4 or 8).
    pub index: Option<(Register, u8)>,
    /// A number, or the address of a location, or their sum.
    pub displacement: u64,
    /// The width of addresses: four bytes in `X86`, eight in `X86_64`.
    pub width: Width,
}

/// A computation on two operands (those on one ignore the right one).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Computation {
    /// The left operand as it is. Never changes the flags.
    Move,
    /// `left + right`.
    Add,
    /// `left - right`.
    Subtract,
    /// `left & right`.
    And,
    /// `left | right`.
    Or,
    /// `left ^ right`.
    Xor,
    /// `left + 1`; the carry flag stays.
    Increment,
    /// `left - 1`; the carry flag stays.
    Decrement,
    /// `!left`. Never changes the flags.
    Not,
    /// `-left`.
    Negate,
    /// `left << right`, the count taken modulo 64 for eight bytes and modulo 32 else.
    ShiftLeft,
}

/// A condition on the flags, as in `Jcc`, `SETcc` and `CMOVcc`. `Not` gives the other eight.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FlagTest {
    /// `O`: overflow.
    Overflow,
    /// `B`, `C`, `NAE`: carry.
    Below,
    /// `E`, `Z`: zero.
    Equal,
    /// `BE`, `NA`: carry or zero.
    BelowOrEqual,
    /// `S`: sign.
    Sign,
    /// `P`, `PE`: parity.
    Parity,
    /// `L`, `NGE`: sign differs from overflow.
    Less,
    /// `LE`, `NG`: zero, or sign differs from overflow.
    LessOrEqual,
}

/// A condition on the flags, or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FlagCondition {
    /// The condition.
    pub test: FlagTest,
    /// Whether it holds if the answer is no.
    pub negated: bool,
}

/// A fence instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fence {
    /// `MFENCE`: waits until the thread's stores are in memory.
    Full,
    /// `SFENCE`: keeps stores before it before stores after it. Does nothing under TSO.
    Store,
    /// `LFENCE`: does nothing under any model here.
    Load,
}

/// One operation of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Reads memory into a whole register, the upper bytes cleared.
    Load {
        /// The register.
        to: Register,
        /// Where it reads.
        at: AddressOperand,
        /// How many bytes.
        width: Width,
    },
    /// Writes memory.
    Store {
        /// Where it writes.
        at: AddressOperand,
        /// What.
        value: Operand,
        /// How many bytes.
        width: Width,
    },
    /// From here to [`EndLocked`](Self::EndLocked) all is one step: buffers are empty, and no
    /// other processor acts. There is at least one load in between, and no jump goes in or out.
    BeginLocked,
    /// The end of a locked instruction.
    EndLocked,
    /// Computes.
    Compute {
        /// What.
        computation: Computation,
        /// In how many bytes.
        width: Width,
        /// Where the result goes; nowhere for `CMP` and `TEST`.
        to: Option<(Register, Part)>,
        /// The left operand.
        left: Operand,
        /// The right operand.
        right: Operand,
        /// Whether the flags change.
        sets_flags: bool,
    },
    /// `CMOVcc`. If the condition does not hold, the register still has its upper half
    /// cleared when four bytes are moved.
    MoveIf {
        /// When.
        condition: FlagCondition,
        /// Where to.
        to: (Register, Part),
        /// From where.
        from: Operand,
    },
    /// `SETcc`: 1 or 0 into a part of a register.
    SetIf {
        /// When 1.
        condition: FlagCondition,
        /// Where to.
        to: (Register, Part),
    },
    /// A fence.
    Fence(Fence),
    /// Continues at the operation with this index.
    Jump(u32),
    /// Continues there if the condition holds.
    JumpIf(FlagCondition, u32),
    /// The thread has ended. The last operation of every thread, and what `RET` is.
    End,
}
