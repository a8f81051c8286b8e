//! The effect of arithmetic instructions on values and flags.
//!
//! After Intel's manual, volume 2. The tests run the same instructions on the processor
//! (`tests/arithmetic.rs`). What the manual leaves undefined (the auxiliary flag is not kept at
//! all; overflow after a shift by more than one) is stated where it is decided.

use crate::code::{Computation, FlagCondition, FlagTest, Width};

/// The flags, as bits of the register [`FLAGS`](crate::code::Register::FLAGS).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags(pub u64);

impl Flags {
    /// Carry.
    pub const CARRY: u64 = 1;
    /// Parity: an even number of ones in the lowest byte.
    pub const PARITY: u64 = 2;
    /// Zero.
    pub const ZERO: u64 = 4;
    /// Sign.
    pub const SIGN: u64 = 8;
    /// Overflow.
    pub const OVERFLOW: u64 = 16;

    /// Whether a flag is set.
    #[inline]
    pub fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// Whether a condition holds.
    pub fn meet(self, condition: FlagCondition) -> bool {
        let less = self.has(Self::SIGN) != self.has(Self::OVERFLOW);
        let holds = match condition.test {
            FlagTest::Overflow => self.has(Self::OVERFLOW),
            FlagTest::Below => self.has(Self::CARRY),
            FlagTest::Equal => self.has(Self::ZERO),
            FlagTest::BelowOrEqual => self.has(Self::CARRY | Self::ZERO),
            FlagTest::Sign => self.has(Self::SIGN),
            FlagTest::Parity => self.has(Self::PARITY),
            FlagTest::Less => less,
            FlagTest::LessOrEqual => less || self.has(Self::ZERO),
        };
        holds != condition.negated
    }

    /// Zero, sign and parity of a result; carry and overflow as given.
    fn of_result(result: u64, width: Width, carry: bool, overflow: bool) -> Flags {
        let mut flags = 0;
        if carry {
            flags |= Self::CARRY;
        }
        if overflow {
            flags |= Self::OVERFLOW;
        }
        if result == 0 {
            flags |= Self::ZERO;
        }
        if is_negative(result, width) {
            flags |= Self::SIGN;
        }
        if (result as u8).count_ones() % 2 == 0 {
            flags |= Self::PARITY;
        }
        Flags(flags)
    }
}

fn is_negative(value: u64, width: Width) -> bool {
    value >> (width.bits() - 1) & 1 == 1
}

/// The result of a computation in `width`, and the flags after it if it sets them.
pub fn compute(
    computation: Computation,
    width: Width,
    left: u64,
    right: u64,
    flags: Flags,
) -> (u64, Flags) {
    let (left, right) = (left & width.mask(), right & width.mask());
    match computation {
        Computation::Move => (left, flags),
        Computation::Not => (!left & width.mask(), flags),
        Computation::Add => add(left, right, width),
        Computation::Subtract => subtract(left, right, width),
        Computation::And => logic(left & right, width),
        Computation::Or => logic(left | right, width),
        Computation::Xor => logic(left ^ right, width),
        Computation::Increment => keep_carry(add(left, 1, width), flags),
        Computation::Decrement => keep_carry(subtract(left, 1, width), flags),
        Computation::Negate => subtract(0, left, width),
        Computation::ShiftLeft => shift_left(left, right, width, flags),
    }
}

fn add(left: u64, right: u64, width: Width) -> (u64, Flags) {
    let result = left.wrapping_add(right) & width.mask();
    let carry = result < left;
    let overflow = is_negative((left ^ result) & (right ^ result), width);
    (result, Flags::of_result(result, width, carry, overflow))
}

fn subtract(left: u64, right: u64, width: Width) -> (u64, Flags) {
    let result = left.wrapping_sub(right) & width.mask();
    let overflow = is_negative((left ^ right) & (left ^ result), width);
    (
        result,
        Flags::of_result(result, width, left < right, overflow),
    )
}

fn logic(result: u64, width: Width) -> (u64, Flags) {
    (result, Flags::of_result(result, width, false, false))
}

fn keep_carry((result, flags): (u64, Flags), before: Flags) -> (u64, Flags) {
    let carry = before.0 & Flags::CARRY;
    (result, Flags(flags.0 & !Flags::CARRY | carry))
}

/// Overflow after a shift by more than one is undefined; here it is as for a shift by one, which is
/// what processors do. The carry after a shift by more than the width is undefined; here it is
/// clear.
fn shift_left(left: u64, right: u64, width: Width, flags: Flags) -> (u64, Flags) {
    let count = right & if width == Width::Quad { 63 } else { 31 };
    if count == 0 {
        return (left, flags);
    }
    let result = left.checked_shl(count as u32).unwrap_or(0) & width.mask();
    let carry = u64::from(width.bits())
        .checked_sub(count)
        .is_some_and(|position| left >> position & 1 == 1);
    let overflow = is_negative(result, width) != carry;
    (result, Flags::of_result(result, width, carry, overflow))
}
