//! Compilation of expressions.

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::analysis::Analysis;
use super::context::Comparer;
use super::routine::{Address, FaultCode, Routine, UNDEFINED, ValueRange, flags};
use crate::model::code::{Arithmetic, Comparison, Expr, ExprKind, ValueType};
use crate::source::Span;

/// The value of a boolean.
const BOOLEAN: ValueRange = ValueRange {
    low: 0,
    high: 1,
    may_be_undefined: false,
};

impl Routine<'_, '_, '_> {
    pub fn is_composite(&self, expr: &Expr) -> bool {
        matches!(expr.value_type, ValueType::Of(id) if !self.unit.model.types[id].is_simple())
    }

    /// The value of a simple expression, with its known range.
    pub fn simple(&mut self, expr: &Expr) -> (Value, ValueRange) {
        match &expr.kind {
            ExprKind::Constant(value) => (self.int(*value), ValueRange::within(*value, *value)),
            ExprKind::Slot(slot) => (self.value_of(*slot), self.known[slot.0 as usize]),
            ExprKind::Read(place) => self.read(place),
            ExprKind::Negate(operand) => self.negated(operand, expr.span),
            ExprKind::Complement(operand) => {
                let (value, _) = self.defined(operand);
                let known = ValueRange::within(i64::MIN, i64::MAX);
                (self.b.ins().bnot(value), known)
            }
            ExprKind::Equal {
                negated,
                left,
                right,
            } => (self.equal(left, right, *negated), BOOLEAN),
            ExprKind::Same {
                negated,
                left,
                right,
            } => {
                let is_same = self.same(left, right);
                let negated = i64::from(*negated);
                let negated = self.int(negated);
                (self.b.ins().bxor(is_same, negated), BOOLEAN)
            }
            ExprKind::Compare {
                operator,
                left,
                right,
            } => {
                let holds = self.comparison(*operator, left, right);
                (self.b.ins().uextend(I64, holds), BOOLEAN)
            }
            ExprKind::Arithmetic {
                operator,
                left,
                right,
            } => {
                let (left, of_left) = self.defined(left);
                let (right, of_right) = self.defined(right);
                self.arithmetic(*operator, (left, of_left), (right, of_right), expr.span)
            }
            ExprKind::Conditional {
                test,
                then,
                otherwise,
            } => self.conditional(test, then, otherwise),
            ExprKind::Call(call) => self.call(call, expr.span),
            ExprKind::IsUndefined(place) => {
                let at = self.address(place);
                let bytes = self.unit.layout.shape(place.type_id).bytes;
                let stored = self.load(at, bytes);
                let is_undefined = self.compare(IntCC::Equal, stored, 0);
                (self.b.ins().uextend(I64, is_undefined), BOOLEAN)
            }
            ExprKind::IsMember {
                operand,
                first,
                last,
            } => (self.is_member(operand, *first, *last), BOOLEAN),
            ExprKind::MultisetCount { .. } => self.multiset_count(expr),
            ExprKind::Convert { operand, table } => {
                let (value, known) = self.simple(operand);
                self.converted(value, known, table)
            }
            ExprKind::Not(_)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Implies { .. }
            | ExprKind::Quantified { .. } => (self.branch_value(expr), BOOLEAN),
        }
    }

    fn negated(&mut self, operand: &Expr, span: Span) -> (Value, ValueRange) {
        let (value, known) = self.defined(operand);
        let zero = self.int(0);
        let known = ValueRange {
            low: -known.high,
            high: -known.low,
            may_be_undefined: false,
        };
        let negated = match known.fits(i64::MIN, i64::MAX) {
            true => self.b.ins().isub(zero, value),
            false => {
                let (negated, overflow) = self.b.ins().ssub_overflow(zero, value);
                self.fault_if(overflow, FaultCode::Arithmetic, span);
                negated
            }
        };
        (negated, known)
    }

    /// Whether two simple values are equal (or differ, if negated), as 0 or 1.
    fn equal(&mut self, left: &Expr, right: &Expr, is_negated: bool) -> Value {
        let (left, _) = self.used(left);
        let (right, _) = self.used(right);
        let condition = match is_negated {
            true => IntCC::NotEqual,
            false => IntCC::Equal,
        };
        let holds = self.b.ins().icmp(condition, left, right);
        self.b.ins().uextend(I64, holds)
    }

    fn conditional(&mut self, test: &Expr, then: &Expr, otherwise: &Expr) -> (Value, ValueRange) {
        let (yes, no, on) = (self.block(), self.block(), self.block());
        let result = self.b.declare_var(I64);
        self.branch(test, yes, no);
        self.at(yes);
        let (value, known) = self.used(then);
        self.b.def_var(result, value);
        self.go(on);
        self.at(no);
        let (value, other) = self.used(otherwise);
        self.b.def_var(result, value);
        self.go(on);
        self.at(on);
        (self.b.use_var(result), known.or(other))
    }

    /// Whether a value of a union is between two of its values, as 0 or 1.
    fn is_member(&mut self, operand: &Expr, first: i64, last: i64) -> Value {
        let (value, _) = self.simple(operand);
        if first > last {
            return self.int(0);
        }
        let number = self.add(value, first.wrapping_neg());
        let most = last.wrapping_sub(first);
        let is_within = self.compare(IntCC::UnsignedLessThanOrEqual, number, most);
        self.b.ins().uextend(I64, is_within)
    }

    /// The value of a condition that is compiled to branches, as 0 or 1.
    fn branch_value(&mut self, condition: &Expr) -> Value {
        let (yes, no, on) = (self.block(), self.block(), self.block());
        let result = self.b.declare_var(I64);
        self.branch(condition, yes, no);
        for (block, value) in [(yes, 1), (no, 0)] {
            self.at(block);
            let value = self.int(value);
            self.b.def_var(result, value);
            self.go(on);
        }
        self.at(on);
        self.b.use_var(result)
    }

    /// A value that must be defined.
    pub fn defined(&mut self, expr: &Expr) -> (Value, ValueRange) {
        let (value, mut known) = self.simple(expr);
        if known.may_be_undefined {
            let is_undefined = self.compare(IntCC::Equal, value, UNDEFINED);
            self.fault_if(is_undefined, FaultCode::Undefined, expr.span);
            known.may_be_undefined = false;
        }
        (value, known)
    }

    /// A value that must be defined unless its type allows reading what is undefined.
    pub fn used(&mut self, expr: &Expr) -> (Value, ValueRange) {
        match expr.reads_undefined(&self.unit.model.types) {
            true => self.simple(expr),
            false => self.defined(expr),
        }
    }

    /// Jumps to one of two blocks, without computing a value of the condition.
    pub fn branch(&mut self, expr: &Expr, yes: Block, no: Block) {
        match &expr.kind {
            ExprKind::Not(operand) => self.branch(operand, no, yes),
            ExprKind::And(operands) => {
                for operand in operands {
                    let on = self.block();
                    self.branch(operand, on, no);
                    self.at(on);
                }
                self.go(yes);
            }
            ExprKind::Or(operands) => {
                for operand in operands {
                    let on = self.block();
                    self.branch(operand, yes, on);
                    self.at(on);
                }
                self.go(no);
            }
            ExprKind::Implies {
                antecedent,
                consequent,
                point,
            } => {
                let holds = self.block();
                self.branch(antecedent, holds, yes);
                self.at(holds);
                if let Some(point) = point {
                    self.hit(*point);
                }
                self.branch(consequent, yes, no);
            }
            ExprKind::Compare {
                operator,
                left,
                right,
            } => {
                let holds = self.comparison(*operator, left, right);
                self.choose(holds, yes, no);
            }
            ExprKind::Quantified {
                every,
                slot,
                domain,
                body,
                point,
            } => {
                let cost = Analysis::cost(self.unit.model, expr);
                let decided = match every {
                    true => no,
                    false => yes,
                };
                self.each_value(
                    domain,
                    *slot,
                    cost,
                    *point,
                    &mut |routine, next| match every {
                        true => routine.branch(body, next, decided),
                        false => routine.branch(body, decided, next),
                    },
                );
                self.go(match every {
                    true => yes,
                    false => no,
                });
            }
            _ => {
                let (value, _) = self.defined(expr);
                self.choose(value, yes, no);
            }
        }
    }

    fn comparison(&mut self, operator: Comparison, left: &Expr, right: &Expr) -> Value {
        let (left, _) = self.defined(left);
        let (right, _) = self.defined(right);
        let how = match operator {
            Comparison::Less => IntCC::SignedLessThan,
            Comparison::LessOrEqual => IntCC::SignedLessThanOrEqual,
            Comparison::Greater => IntCC::SignedGreaterThan,
            Comparison::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
        };
        self.b.ins().icmp(how, left, right)
    }

    /// Converts a value of another enum, scalarset or union.
    pub fn converted(
        &mut self,
        value: Value,
        known: ValueRange,
        table: &Arc<[i64]>,
    ) -> (Value, ValueRange) {
        let kept: Box<[i64]> = table.iter().copied().collect();
        let (low, high) = kept.iter().fold((-1, -1), |(low, high), &to| {
            (low.min(i128::from(to)), high.max(i128::from(to)))
        });
        let start = kept.as_ptr() as i64;
        let length = kept.len() as i64;
        self.unit.kept.tables.push(kept);
        let (within, outside, on) = (self.block(), self.block(), self.block());
        let result = self.b.declare_var(I64);
        let is_within = self.compare(IntCC::UnsignedLessThan, value, length);
        self.choose(is_within, within, outside);
        self.at(within);
        let start = self.int(start);
        let distance = self.scaled(value, 8);
        let at = self.b.ins().iadd(start, distance);
        let found = self.b.ins().load(I64, flags(), at, 0);
        self.b.def_var(result, found);
        self.go(on);
        self.at(outside);
        let is_undefined = self.compare(IntCC::Equal, value, UNDEFINED);
        let undefined = self.int(UNDEFINED);
        let none = self.int(-1);
        let other = self.b.ins().select(is_undefined, undefined, none);
        self.b.def_var(result, other);
        self.go(on);
        self.at(on);
        let known = ValueRange {
            low,
            high,
            may_be_undefined: known.may_be_undefined,
        };
        (self.b.use_var(result), known)
    }

    fn arithmetic(
        &mut self,
        operator: Arithmetic,
        (left, of_left): (Value, ValueRange),
        (right, of_right): (Value, ValueRange),
        span: Span,
    ) -> (Value, ValueRange) {
        let anything = ValueRange::within(i64::MIN, i64::MAX);
        let between = |low: i128, high: i128| ValueRange {
            low,
            high,
            may_be_undefined: false,
        };
        match operator {
            Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply => {
                let known = match operator {
                    Arithmetic::Add => {
                        between(of_left.low + of_right.low, of_left.high + of_right.high)
                    }
                    Arithmetic::Subtract => {
                        between(of_left.low - of_right.high, of_left.high - of_right.low)
                    }
                    _ => {
                        let corners = [
                            of_left.low * of_right.low,
                            of_left.low * of_right.high,
                            of_left.high * of_right.low,
                            of_left.high * of_right.high,
                        ];
                        let (low, high) = (corners.iter().min(), corners.iter().max());
                        between(*low.unwrap_or(&0), *high.unwrap_or(&0))
                    }
                };
                let ins = self.b.ins();
                if known.fits(i64::MIN, i64::MAX) {
                    let result = match operator {
                        Arithmetic::Add => ins.iadd(left, right),
                        Arithmetic::Subtract => ins.isub(left, right),
                        _ => ins.imul(left, right),
                    };
                    return (result, known);
                }
                let (result, overflow) = match operator {
                    Arithmetic::Add => ins.sadd_overflow(left, right),
                    Arithmetic::Subtract => ins.ssub_overflow(left, right),
                    _ => ins.smul_overflow(left, right),
                };
                self.fault_if(overflow, FaultCode::Arithmetic, span);
                (result, anything)
            }
            Arithmetic::Divide | Arithmetic::Remainder => {
                let is_zero = self.compare(IntCC::Equal, right, 0);
                self.fault_if(is_zero, FaultCode::Arithmetic, span);
                let is_least = self.compare(IntCC::Equal, left, i64::MIN);
                let is_minus_one = self.compare(IntCC::Equal, right, -1);
                let overflows = self.b.ins().band(is_least, is_minus_one);
                self.fault_if(overflows, FaultCode::Arithmetic, span);
                let result = match operator {
                    Arithmetic::Divide => self.b.ins().sdiv(left, right),
                    _ => self.b.ins().srem(left, right),
                };
                (result, anything)
            }
            Arithmetic::BitAnd => (self.b.ins().band(left, right), anything),
            Arithmetic::BitOr => (self.b.ins().bor(left, right), anything),
            Arithmetic::BitXor => (self.b.ins().bxor(left, right), anything),
            Arithmetic::ShiftLeft => (self.shifted(left, right), anything),
            Arithmetic::ShiftRight => {
                // The least number has no opposite; -63 and less all mean the same.
                let least = self.int(-i64::MAX);
                let right = self.b.ins().smax(right, least);
                let right = self.b.ins().ineg(right);
                (self.shifted(left, right), anything)
            }
        }
    }

    /// Shifts to the left, or to the right if `by` is negative. Bits that fall out are lost.
    fn shifted(&mut self, value: Value, by: Value) -> Value {
        let (zero, most) = (self.int(0), self.int(63));
        let is_left = self.compare(IntCC::SignedGreaterThanOrEqual, by, 0);
        let is_far = self.compare(IntCC::SignedGreaterThan, by, 63);
        let left = self.b.ins().ishl(value, by);
        let left = self.b.ins().select(is_far, zero, left);
        let least = self.int(-63);
        let back = self.b.ins().smax(by, least);
        let back = self.b.ins().ineg(back);
        let back = self.b.ins().smin(back, most);
        let right = self.b.ins().sshr(value, back);
        self.b.ins().select(is_left, left, right)
    }

    /// The address of a record, array or multiset. Its contents may change with the state.
    pub fn composite(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Read(place) => {
                let at = self.address(place);
                self.pointer(at)
            }
            ExprKind::Slot(slot) => self.value_of(*slot),
            ExprKind::Call(call) => self.call(call, expr.span).0,
            ExprKind::Conditional {
                test,
                then,
                otherwise,
            } => {
                let (yes, no, on) = (self.block(), self.block(), self.block());
                let result = self.b.declare_var(I64);
                self.branch(test, yes, no);
                for (block, expr) in [(yes, then), (no, otherwise)] {
                    self.at(block);
                    let value = self.composite(expr);
                    self.b.def_var(result, value);
                    self.go(on);
                }
                self.at(on);
                self.b.use_var(result)
            }
            // Others are simple.
            _ => self.int(0),
        }
    }

    /// The address of a copy of a record, array or multiset, unless the original cannot change.
    pub fn fixed_composite(&mut self, expr: &Expr) -> Value {
        let value = self.composite(expr);
        if matches!(expr.kind, ExprKind::Call(_) | ExprKind::Slot(_)) {
            return value;
        }
        let ValueType::Of(id) = expr.value_type else {
            return value;
        };
        self.kept(id, Address::at(value))
    }

    /// Whether two records, arrays or multisets are equal, as 0 or 1.
    fn same(&mut self, left: &Expr, right: &Expr) -> Value {
        let ValueType::Of(id) = left.value_type else {
            return self.int(0);
        };
        if self.unit.model.types[id].is_simple() {
            let (left, _) = self.simple(left);
            let (right, _) = self.simple(right);
            let is_equal = self.b.ins().icmp(IntCC::Equal, left, right);
            return self.b.ins().uextend(I64, is_equal);
        }
        let left = match Analysis::calls(right) {
            true => self.fixed_composite(left),
            false => self.composite(left),
        };
        let right = self.composite(right);
        let comparer = Arc::new(Comparer {
            sizes: self.unit.sizes(),
            id,
        });
        let address = std::ptr::from_ref(&*comparer) as i64;
        self.unit.kept.comparers.push(comparer);
        let comparer = self.int(address);
        let helper = self.unit.helpers.same;
        match self.call_helper(helper, &[comparer, left, right]) {
            Some(is_same) => is_same,
            None => self.int(0),
        }
    }
}
