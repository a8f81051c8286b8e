//! Operators on integers.

/// An order of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

impl Comparison {
    /// Whether it holds.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }
}

/// An operation on integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`, towards 0.
    Divide,
    /// `%`, with the sign of the left side.
    Remainder,
    /// `&` on integers.
    BitAnd,
    /// `|` on integers.
    BitOr,
    /// `^`.
    BitXor,
    /// `<<`; by a negative number it is `>>`.
    ShiftLeft,
    /// `>>`, which keeps the sign; by a negative number it is `<<`.
    ShiftRight,
}

impl Arithmetic {
    /// The result, or why there is none.
    pub fn apply(self, left: i64, right: i64) -> Result<i64, &'static str> {
        const OVERFLOW: &str = "it does not fit 64 bits";
        let result = match self {
            Arithmetic::Add => left.checked_add(right),
            Arithmetic::Subtract => left.checked_sub(right),
            Arithmetic::Multiply => left.checked_mul(right),
            Arithmetic::Divide | Arithmetic::Remainder if right == 0 => {
                return Err("division by 0");
            }
            Arithmetic::Divide => left.checked_div(right),
            Arithmetic::Remainder => left.checked_rem(right),
            Arithmetic::BitAnd => Some(left & right),
            Arithmetic::BitOr => Some(left | right),
            Arithmetic::BitXor => Some(left ^ right),
            Arithmetic::ShiftLeft => Some(shifted(left, right)),
            Arithmetic::ShiftRight => Some(shifted(left, right.saturating_neg())),
        };
        result.ok_or(OVERFLOW)
    }
}

/// To the left, or to the right if `by` is negative. Bits that fall out are lost.
fn shifted(value: i64, by: i64) -> i64 {
    match by {
        0..=63 => value << by,
        64.. => 0,
        -63..=-1 => value >> -by,
        _ => value >> 63,
    }
}

#[cfg(test)]
mod tests {
    use super::Arithmetic;

    #[test]
    fn shifts_by_any_number_have_a_result() {
        let shift = |value, by| Arithmetic::ShiftLeft.apply(value, by);
        assert_eq!(shift(1, 63), Ok(i64::MIN));
        assert_eq!(shift(1, 64), Ok(0));
        assert_eq!(shift(-8, -1), Ok(-4));
        assert_eq!(shift(-8, -64), Ok(-1));
        assert_eq!(shift(8, i64::MIN), Ok(0));
        assert_eq!(Arithmetic::ShiftRight.apply(8, i64::MIN), Ok(0));
        assert_eq!(Arithmetic::ShiftRight.apply(8, -1), Ok(16));
    }

    #[test]
    fn what_does_not_fit_has_no_result() {
        assert!(Arithmetic::Divide.apply(i64::MIN, -1).is_err());
        assert!(Arithmetic::Remainder.apply(i64::MIN, -1).is_err());
        assert!(Arithmetic::Multiply.apply(i64::MAX, 2).is_err());
        assert!(Arithmetic::Remainder.apply(1, 0).is_err());
    }
}
