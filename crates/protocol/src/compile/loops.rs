//! Going through the values of a domain and the elements of a multiset.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::analysis::{Analysis, MUCH};
use super::routine::{Address, FaultCode, Routine, ValueRange};
use crate::model::code::{Designator, Domain, Expr, ExprKind, SlotId};
use crate::model::points::PointId;

/// What is done in each round. It ends by going to the block that it gets, or elsewhere.
pub(super) type LoopBody<'r, 'u, 'm, 'f> = &'r mut dyn FnMut(&mut Routine<'u, 'm, 'f>, Block);

impl<'u, 'm, 'f> Routine<'u, 'm, 'f> {
    /// Goes through the values of a domain. `cost` is that of the whole loop: one that may take
    /// long can be stopped. `point` counts if there is a value at all.
    pub fn each_value(
        &mut self,
        domain: &Domain,
        slot: SlotId,
        cost: u64,
        point: Option<PointId>,
        round: LoopBody<'_, 'u, 'm, 'f>,
    ) {
        let (from, to, by) = match domain {
            Domain::Type(id) => {
                let bounds = self.unit.model.types[*id].bounds().unwrap_or((0, -1));
                (bounds.0, bounds.1, 1)
            }
            Domain::Steps { from, to, by } => (*from, *to, *by),
            Domain::Computed { from, to, by } => {
                return self.each_computed([from, to, by], slot, point, round);
            }
        };
        let values = Analysis::domain_size(self.unit.model, domain);
        if values == 0 {
            return;
        }
        if let Some(point) = point {
            self.hit(point);
        }
        // The last value that is reached, so that only equality is to be tested.
        let steps = i128::from(values - 1) * i128::from(by);
        let last = (i128::from(from) + steps) as i64;
        let known = ValueRange::within(from.min(last), from.max(last));
        let _ = to;
        if values == 1 {
            let value = self.int(from);
            self.hold(slot, value, known);
            let on = self.block();
            round(self, on);
            self.at(on);
            return;
        }
        let (body, next, on) = (self.block(), self.block(), self.block());
        let variable = self.b.declare_var(I64);
        let first = self.int(from);
        self.b.def_var(variable, first);
        self.go(body);
        self.at(body);
        let value = self.b.use_var(variable);
        self.hold(slot, value, known);
        round(self, next);
        self.at(next);
        if cost > MUCH {
            self.spend();
        }
        let value = self.b.use_var(variable);
        let is_last = self.compare(IntCC::Equal, value, last);
        let more = self.add(value, by);
        self.b.def_var(variable, more);
        self.choose(is_last, on, body);
        self.at(on);
    }

    fn each_computed(
        &mut self,
        [from, to, by]: [&Expr; 3],
        slot: SlotId,
        point: Option<PointId>,
        round: LoopBody<'_, 'u, 'm, 'f>,
    ) {
        let (last, of_last) = self.defined(to);
        let (first, of_first) = self.defined(from);
        let (step, _) = self.defined(by);
        let is_zero = self.compare(IntCC::Equal, step, 0);
        self.fault_if(is_zero, FaultCode::ZeroStep, by.span);
        let known = of_first.or(of_last);
        let (test, body, next, on) = (self.block(), self.block(), self.block(), self.block());
        let variable = self.b.declare_var(I64);
        self.b.def_var(variable, first);
        let is_up = self.compare(IntCC::SignedGreaterThan, step, 0);
        if let Some(point) = point {
            let (some, begin) = (self.block(), self.block());
            let is_within = self.is_within(first, last, is_up);
            self.choose(is_within, some, begin);
            self.at(some);
            self.hit(point);
            self.go(begin);
            self.at(begin);
        }
        self.go(test);
        self.at(test);
        let value = self.b.use_var(variable);
        let is_within = self.is_within(value, last, is_up);
        self.choose(is_within, body, on);
        self.at(body);
        self.hold(slot, value, known);
        round(self, next);
        self.at(next);
        self.spend();
        let value = self.b.use_var(variable);
        let (more, overflow) = self.b.ins().sadd_overflow(value, step);
        self.b.def_var(variable, more);
        self.choose(overflow, on, test);
        self.at(on);
    }

    fn is_within(&mut self, value: Value, last: Value, is_up: Value) -> Value {
        let below = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, value, last);
        let above = self
            .b
            .ins()
            .icmp(IntCC::SignedGreaterThanOrEqual, value, last);
        self.b.ins().select(is_up, below, above)
    }

    /// Goes through the elements that a multiset has when the loop begins.
    pub fn each_element(
        &mut self,
        multiset: &Designator,
        slot: SlotId,
        is_fixed: bool,
        round: LoopBody<'_, 'u, 'm, 'f>,
    ) {
        let at = self.address(multiset);
        let shape = self.unit.layout.shape(multiset.type_id);
        let (stride, length) = (shape.stride, shape.length);
        if length == 0 {
            return;
        }
        let mut start = self.pointer(at);
        if is_fixed {
            // What is done with the elements may change which are there.
            start = self.kept(multiset.type_id, at);
        }
        let (body, there, next, on) = (self.block(), self.block(), self.block(), self.block());
        let variable = self.b.declare_var(I64);
        let zero = self.int(0);
        self.b.def_var(variable, zero);
        self.go(body);
        self.at(body);
        let number = self.b.use_var(variable);
        let distance = self.scaled(number, stride);
        let base = self.b.ins().iadd(start, distance);
        let flag = Address::at(base);
        let flag = self.load(flag, 1);
        self.choose(flag, there, next);
        self.at(there);
        self.hold(slot, number, ValueRange::within(0, i64::from(length) - 1));
        round(self, next);
        self.at(next);
        let number = self.b.use_var(variable);
        let more = self.add(number, 1);
        self.b.def_var(variable, more);
        let is_end = self.compare(IntCC::Equal, more, i64::from(length));
        self.choose(is_end, on, body);
        self.at(on);
    }

    /// For how many elements a condition is true.
    pub fn multiset_count(&mut self, expr: &Expr) -> (Value, ValueRange) {
        let ExprKind::MultisetCount {
            slot,
            multiset,
            condition,
            point,
        } = &expr.kind
        else {
            return (self.int(0), ValueRange::within(0, 0));
        };
        let count = self.b.declare_var(I64);
        let zero = self.int(0);
        self.b.def_var(count, zero);
        let is_first = self.b.declare_var(I64);
        let one = self.int(1);
        self.b.def_var(is_first, one);
        let is_fixed = Analysis::calls(condition);
        self.each_element(multiset, *slot, is_fixed, &mut |routine, next| {
            if let Some(point) = point {
                let (first, on) = (routine.block(), routine.block());
                let is_now_first = routine.b.use_var(is_first);
                routine.choose(is_now_first, first, on);
                routine.at(first);
                routine.hit(*point);
                let zero = routine.int(0);
                routine.b.def_var(is_first, zero);
                routine.go(on);
                routine.at(on);
            }
            let yes = routine.block();
            routine.branch(condition, yes, next);
            routine.at(yes);
            let before = routine.b.use_var(count);
            let after = routine.add(before, 1);
            routine.b.def_var(count, after);
            routine.go(next);
        });
        let length = self.unit.layout.shape(multiset.type_id).length;
        (self.b.use_var(count), ValueRange::within(0, length.into()))
    }
}
