//! Compilation of statements.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::analysis::Analysis;
use super::context::status;
use super::routine::{Address, FaultCode, Returned, Routine, UNDEFINED, ValueRange};
use crate::model::code::{
    Alias, AliasTarget, Argument, Arm, Branch, Call, Designator, Domain, Expr, SlotId, Source,
    Statement, StatementKind,
};
use crate::model::points::PointId;
use crate::model::types::TypeId;
use crate::source::Span;

/// An operand that is assigned, returned or added: a simple value, or the address of a composite
/// one.
enum Operand {
    Simple(Value, ValueRange),
    Composite(Value),
    Undefined,
}

impl Routine<'_, '_, '_> {
    /// Compiles statements. Returns whether their end can be reached.
    pub fn statements(&mut self, all: &[Statement]) -> bool {
        all.iter().all(|each| self.statement(each))
    }

    fn statement(&mut self, statement: &Statement) -> bool {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Assign { target, source } => {
                let at = self.address(target);
                let operand = self.operand(source);
                self.assign(at, target.type_id, operand, span);
            }
            StatementKind::If { branches } => return self.branches(branches),
            StatementKind::Switch {
                subject,
                arms,
                otherwise,
            } => return self.switch(subject, arms, otherwise.as_ref()),
            StatementKind::For { slot, domain, body } => self.for_each(*slot, domain, body),
            StatementKind::While { test, body } => self.repeat(test, body, span),
            StatementKind::Call(call) => {
                self.call(call, span);
            }
            StatementKind::Clear(place) => {
                let at = self.address(place);
                self.clear(at, place.type_id);
            }
            StatementKind::Undefine(place) => {
                let at = self.address(place);
                let bytes = self.unit.layout.shape(place.type_id).bytes;
                self.zero(at, bytes);
            }
            StatementKind::Error(_) => {
                let fault = self.fault(FaultCode::Error, span);
                self.go(fault);
                return false;
            }
            StatementKind::Assert {
                condition, point, ..
            } => {
                self.hit(*point);
                let (on, fault) = (self.block(), self.fault(FaultCode::Assertion, span));
                self.branch(condition, on, fault);
                self.at(on);
            }
            StatementKind::Assume { condition, point } => {
                self.hit(*point);
                let on = self.block();
                let out = self.way_out(None, 0, status::ASSUMPTION);
                self.branch(condition, on, out);
                self.at(on);
            }
            StatementKind::Cover { condition, point } => {
                let (yes, on) = (self.block(), self.block());
                self.branch(condition, yes, on);
                self.at(yes);
                self.hit(*point);
                self.go(on);
                self.at(on);
            }
            StatementKind::Put(value) => {
                if let Some(value) = value {
                    self.evaluate(value);
                }
            }
            StatementKind::Alias { aliases, body } => {
                aliases.iter().for_each(|alias| self.bind(alias));
                return self.statements(body);
            }
            StatementKind::Return(source) => {
                self.return_value(source.as_ref());
                return false;
            }
            StatementKind::MultisetAdd { element, multiset } => {
                self.multiset_add(element, multiset, span);
            }
            StatementKind::MultisetRemove { slot, multiset } => {
                let number = self.value_of(*slot);
                self.multiset_remove(multiset, number, span);
            }
            StatementKind::MultisetRemoveWhere {
                slot,
                multiset,
                condition,
            } => self.multiset_remove_where(*slot, multiset, condition, span),
        }
        true
    }

    fn evaluate(&mut self, expr: &Expr) {
        match self.is_composite(expr) {
            true => {
                self.composite(expr);
            }
            false => {
                self.simple(expr);
            }
        }
    }

    fn operand(&mut self, source: &Source) -> Operand {
        match source {
            Source::Value(expr) if self.is_composite(expr) => {
                Operand::Composite(self.composite(expr))
            }
            Source::Value(expr) => {
                let (value, known) = self.simple(expr);
                Operand::Simple(value, known)
            }
            Source::Copy { place, table } => {
                let at = self.address(place);
                if !self.unit.model.types[place.type_id].is_simple() {
                    return Operand::Composite(self.pointer(at));
                }
                let (value, known) = self.lenient(at, place.type_id);
                match table {
                    Some(table) => {
                        let (value, known) = self.converted(value, known, table);
                        Operand::Simple(value, known)
                    }
                    None => Operand::Simple(value, known),
                }
            }
            Source::Undefined => Operand::Undefined,
        }
    }

    /// The value of a simple place, which may be undefined.
    fn lenient(&mut self, at: Address, id: TypeId) -> (Value, ValueRange) {
        let shape = self.unit.layout.shape(id);
        let (bytes, low, high) = (shape.bytes, shape.low, shape.high);
        let stored = self.load(at, bytes);
        let is_undefined = self.compare(IntCC::Equal, stored, 0);
        let value = self.add(stored, low.wrapping_sub(1));
        let undefined = self.int(UNDEFINED);
        let value = self.b.ins().select(is_undefined, undefined, value);
        let known = ValueRange {
            may_be_undefined: true,
            ..ValueRange::within(low, high)
        };
        (value, known)
    }

    fn assign(&mut self, at: Address, id: TypeId, operand: Operand, span: Span) {
        let shape = self.unit.layout.shape(id);
        let (bytes, low) = (shape.bytes, shape.low);
        match operand {
            Operand::Simple(value, known) => {
                let known = self.check_bounds(value, known, id, span);
                self.check_target(at, span);
                let stored = self.stored(value, known, low);
                self.store(at, bytes, stored);
            }
            Operand::Composite(base) => {
                self.check_target(at, span);
                let from = Address::at(base);
                self.copy(at, from, bytes);
            }
            Operand::Undefined => {
                self.check_target(at, span);
                self.zero(at, bytes);
            }
        }
    }

    /// Checks that the element still exists: evaluating the value may have removed it.
    fn check_target(&mut self, at: Address, span: Span) {
        if let Some(flag) = at.flag {
            self.check_flag(flag, span);
        }
    }

    fn clear(&mut self, at: Address, id: TypeId) {
        let shape = self.unit.layout.shape(id);
        let bytes = shape.bytes;
        if self.unit.model.types[id].is_simple() {
            let one = self.int(1);
            self.store(at, bytes, one);
            return;
        }
        let mut template = vec![0; bytes as usize].into_boxed_slice();
        self.unit
            .layout
            .clear(&self.unit.model.types, id, &mut template);
        let base = template.as_ptr() as i64;
        self.unit.kept.templates.push(template);
        let base = self.int(base);
        let from = Address::at(base);
        self.copy(at, from, bytes);
    }

    fn branches(&mut self, branches: &[Branch]) -> bool {
        let on = self.block();
        let mut reaches_end = false;
        for branch in branches {
            let (yes, no) = (self.block(), self.block());
            match &branch.test {
                Some(test) => self.branch(test, yes, no),
                None => self.go(yes),
            }
            self.at(yes);
            self.hit(branch.point);
            if self.statements(&branch.body) {
                self.go(on);
                reaches_end = true;
            }
            if branch.test.is_none() {
                if reaches_end {
                    self.at(on);
                }
                return reaches_end;
            }
            self.at(no);
        }
        self.go(on);
        self.at(on);
        true
    }

    fn switch(
        &mut self,
        subject: &Expr,
        arms: &[Arm],
        otherwise: Option<&(PointId, Vec<Statement>)>,
    ) -> bool {
        let (subject, _) = self.used(subject);
        let on = self.block();
        let mut reaches_end = false;
        for arm in arms {
            let (yes, other) = (self.block(), self.block());
            for value in &arm.values {
                let (value, _) = self.used(value);
                let next = self.block();
                let is_equal = self.b.ins().icmp(IntCC::Equal, subject, value);
                self.choose(is_equal, yes, next);
                self.at(next);
            }
            self.go(other);
            self.at(yes);
            self.hit(arm.point);
            if self.statements(&arm.body) {
                self.go(on);
                reaches_end = true;
            }
            self.at(other);
        }
        let reaches_end = match otherwise {
            Some((point, body)) => {
                self.hit(*point);
                let falls_through = self.statements(body);
                if falls_through {
                    self.go(on);
                }
                falls_through || reaches_end
            }
            None => {
                self.go(on);
                true
            }
        };
        if reaches_end {
            self.at(on);
        }
        reaches_end
    }

    fn for_each(&mut self, slot: SlotId, domain: &Domain, body: &[Statement]) {
        let once = Analysis::body_cost(self.unit.model, body).saturating_add(1);
        let many = Analysis::domain_size(self.unit.model, domain);
        let cost = once.saturating_mul(many);
        self.each_value(domain, slot, cost, None, &mut |routine, next| {
            if routine.statements(body) {
                routine.go(next);
            }
        });
    }

    fn repeat(&mut self, test: &Expr, body: &[Statement], span: Span) {
        let (head, inside, on) = (self.block(), self.block(), self.block());
        let rounds = self.b.declare_var(I64);
        let zero = self.int(0);
        self.b.def_var(rounds, zero);
        self.go(head);
        self.at(head);
        self.branch(test, inside, on);
        self.at(inside);
        let before = self.b.use_var(rounds);
        let allowed = i64::try_from(self.unit.rounds).unwrap_or(i64::MAX);
        let is_over = self.compare(IntCC::SignedGreaterThanOrEqual, before, allowed);
        self.fault_if(is_over, FaultCode::LoopTooLong, span);
        let after = self.add(before, 1);
        self.b.def_var(rounds, after);
        self.spend();
        if self.statements(body) {
            self.go(head);
        }
        self.at(on);
    }

    pub fn bind(&mut self, alias: &Alias) {
        match &alias.meaning {
            AliasTarget::Designator(place) => {
                let at = self.address(place);
                self.refer(alias.slot, at);
            }
            AliasTarget::Value(expr) if self.is_composite(expr) => {
                let value = self.fixed_composite(expr);
                self.hold(alias.slot, value, ValueRange::ANYTHING);
            }
            AliasTarget::Value(expr) => {
                let (value, known) = self.simple(expr);
                self.hold(alias.slot, value, known);
            }
        }
    }

    fn return_value(&mut self, source: Option<&Source>) {
        let operand = source.map(|source| self.operand(source));
        let value = match (self.result, operand) {
            (Some(Returned::Simple(id)), Some(Operand::Simple(value, known))) => {
                Some(self.distinct_from_undefined(value, known, id))
            }
            (Some(Returned::Simple(_)), _) => Some(self.int(UNDEFINED)),
            (Some(Returned::Memory(id, room)), operand) => {
                let operand = operand.unwrap_or(Operand::Undefined);
                let to = self.in_context(room);
                self.assign(to, id, operand, Span::default());
                Some(self.pointer(to))
            }
            _ => None,
        };
        self.leave(status::DONE, value);
    }

    /// Replaces a number that equals the code for undefined by another one that is out of range
    /// too: the caller reports that.
    fn distinct_from_undefined(&mut self, value: Value, known: ValueRange, id: TypeId) -> Value {
        if known.may_be_undefined || known.low > UNDEFINED.into() {
            return value;
        }
        let outside = match self.unit.layout.shape(id).high < i64::MAX {
            true => i64::MAX,
            false => i64::MIN + 1,
        };
        let is_like_undefined = self.compare(IntCC::Equal, value, UNDEFINED);
        let outside = self.int(outside);
        self.b.ins().select(is_like_undefined, outside, value)
    }

    /// Calls a function. Returns its value, or the address of a composite one.
    pub fn call(&mut self, call: &Call, span: Span) -> (Value, ValueRange) {
        let model = self.unit.model;
        let function = &model.functions[call.function.0 as usize];
        let mut passed = vec![self.state, self.context];
        for (argument, parameter) in call.arguments.iter().zip(&function.parameters) {
            let at = match argument {
                Argument::Reference(place) => self.address(place),
                Argument::Value(expr) => {
                    let operand = match self.is_composite(expr) {
                        true => Operand::Composite(self.composite(expr)),
                        false => {
                            let (value, known) = self.simple(expr);
                            Operand::Simple(value, known)
                        }
                    };
                    let room = self.unit.reserve(parameter.type_id);
                    let to = self.in_context(room);
                    self.assign(to, parameter.type_id, operand, expr.span);
                    to
                }
                Argument::Undefined => {
                    let room = self.unit.reserve(parameter.type_id);
                    let to = self.in_context(room);
                    self.assign(to, parameter.type_id, Operand::Undefined, span);
                    to
                }
            };
            passed.push(self.pointer(at));
            let of_function = &self.unit.analysis.in_element[call.function.0 as usize];
            if of_function[parameter.slot.0 as usize] {
                let flag = match at.flag {
                    Some(flag) => flag,
                    None => self.always_there(),
                };
                passed.push(flag);
            }
        }
        let callee = self.unit.functions[call.function.0 as usize];
        let callee = self.callee(callee);
        let called = self.b.ins().call(callee, &passed);
        let results = self.b.inst_results(called);
        let (status, value) = (results[0], results[1]);
        self.leave_unless_done(status);
        match function.result {
            None => (value, ValueRange::ANYTHING),
            Some(id) if model.types[id].is_simple() => {
                let known = self.check_bounds(value, ValueRange::ANYTHING, id, span);
                (value, known)
            }
            Some(id) => {
                // The next call of the same function overwrites its result.
                (self.kept(id, Address::at(value)), ValueRange::ANYTHING)
            }
        }
    }

    /// The address of a flag that is always set, for places outside of multisets.
    fn always_there(&mut self) -> Value {
        let at = self.in_context(super::context::field::ONE);
        self.pointer(at)
    }

    fn multiset_add(&mut self, element: &Source, multiset: &Designator, span: Span) {
        let at = self.address(multiset);
        let crate::model::types::TypeKind::Multiset { element: id, .. } =
            self.unit.model.types[multiset.type_id].kind
        else {
            return;
        };
        let mut operand = self.operand(element);
        if let Operand::Simple(value, known) = operand {
            let known = self.check_bounds(value, known, id, span);
            operand = Operand::Simple(value, known);
        }
        let shape = self.unit.layout.shape(multiset.type_id);
        let (stride, length) = (shape.stride, shape.length);
        if let Some(flag) = at.flag {
            let flag = Address::at(flag);
            let flag = self.load(flag, 1);
            let is_gone = self.compare(IntCC::Equal, flag, 0);
            self.fault_if(is_gone, FaultCode::MultisetFull, span);
        }
        let start = self.pointer(at);
        let (many, wide) = (self.int(length.into()), self.int(stride.into()));
        let helper = self.unit.helpers.first_free;
        let Some(free) = self.call_helper(helper, &[start, many, wide]) else {
            return;
        };
        let is_full = self.compare(IntCC::Equal, free, i64::from(length));
        self.fault_if(is_full, FaultCode::MultisetFull, span);
        let distance = self.scaled(free, stride);
        let base = self.b.ins().iadd(start, distance);
        let flag = Address::at(base);
        let one = self.int(1);
        self.store(flag, 1, one);
        let to = Address {
            base,
            offset: 1,
            flag: None,
        };
        self.assign(to, id, operand, span);
    }

    fn multiset_remove_where(
        &mut self,
        slot: SlotId,
        multiset: &Designator,
        condition: &Expr,
        span: Span,
    ) {
        let is_fixed = Analysis::calls(condition);
        self.each_element(multiset, slot, is_fixed, &mut |routine, next| {
            let yes = routine.block();
            routine.branch(condition, yes, next);
            routine.at(yes);
            let number = routine.value_of(slot);
            routine.multiset_remove(multiset, number, span);
            routine.go(next);
        });
    }

    fn multiset_remove(&mut self, multiset: &Designator, number: Value, span: Span) {
        let at = self.address(multiset);
        let shape = self.unit.layout.shape(multiset.type_id);
        let (stride, length) = (shape.stride, shape.length);
        let is_outside = self.compare(IntCC::UnsignedGreaterThanOrEqual, number, length.into());
        self.fault_if(is_outside, FaultCode::ElementGone, span);
        let start = self.pointer(at);
        let distance = self.scaled(number, stride);
        let base = self.b.ins().iadd(start, distance);
        self.check_flag(base, span);
        let element = Address::at(base);
        self.zero(element, stride);
    }
}
