//! What statements become.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::analysis::Analysis;
use super::context::status;
use super::routine::{Address, Known, Returned, Routine, UNDEFINED, Wrong};
use crate::model::code::{
    Alias, Argument, Arm, Branch, Call, Expr, Meaning, Place, Source, Statement, StatementKind,
};
use crate::model::points::PointId;
use crate::model::types::TypeId;
use crate::source::Span;

/// What is assigned, returned or added: a simple value, or where a composite one is.
enum Given {
    Simple(Value, Known),
    Composite(Value),
    Undefined,
}

impl Routine<'_, '_, '_> {
    /// Compiles statements; whether the end of them can be reached.
    pub fn statements(&mut self, all: &[Statement]) -> bool {
        all.iter().all(|each| self.statement(each))
    }

    fn statement(&mut self, statement: &Statement) -> bool {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Assign { target, source } => {
                let at = self.address(target);
                let given = self.given(source);
                self.assign(at, target.type_id, given, span);
            }
            StatementKind::If { branches } => return self.branches(branches),
            StatementKind::Switch {
                subject,
                arms,
                otherwise,
            } => return self.switch(subject, arms, otherwise.as_ref()),
            StatementKind::For { slot, domain, body } => {
                let once = Analysis::body_cost(self.unit.model, body).saturating_add(1);
                let many = Analysis::domain_size(self.unit.model, domain);
                let cost = once.saturating_mul(many);
                self.each_value(domain, *slot, cost, None, &mut |routine, next| {
                    if routine.statements(body) {
                        routine.go(next);
                    }
                });
            }
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
                let fault = self.fault(Wrong::Error, span);
                self.go(fault);
                return false;
            }
            StatementKind::Assert {
                condition, point, ..
            } => {
                self.hit(*point);
                let (on, fault) = (self.block(), self.fault(Wrong::Assertion, span));
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
                self.give_back(source.as_ref());
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
            } => {
                let is_fixed = Analysis::calls(condition);
                self.each_element(multiset, *slot, is_fixed, &mut |routine, next| {
                    let yes = routine.block();
                    routine.branch(condition, yes, next);
                    routine.at(yes);
                    let number = routine.value_of(*slot);
                    routine.multiset_remove(multiset, number, span);
                    routine.go(next);
                });
            }
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

    fn given(&mut self, source: &Source) -> Given {
        match source {
            Source::Value(expr) if self.is_composite(expr) => {
                Given::Composite(self.composite(expr))
            }
            Source::Value(expr) => {
                let (value, known) = self.simple(expr);
                Given::Simple(value, known)
            }
            Source::Copy { place, table } => {
                let at = self.address(place);
                if !self.unit.model.types[place.type_id].is_simple() {
                    return Given::Composite(self.pointer(at));
                }
                let (value, known) = self.lenient(at, place.type_id);
                match table {
                    Some(table) => {
                        let (value, known) = self.converted(value, known, table);
                        Given::Simple(value, known)
                    }
                    None => Given::Simple(value, known),
                }
            }
            Source::Undefined => Given::Undefined,
        }
    }

    /// What a simple place holds, also if it is undefined.
    fn lenient(&mut self, at: Address, id: TypeId) -> (Value, Known) {
        let shape = self.unit.layout.shape(id);
        let (bytes, low, high) = (shape.bytes, shape.low, shape.high);
        let stored = self.load(at, bytes);
        let is_undefined = self.compare(IntCC::Equal, stored, 0);
        let value = self.add(stored, low.wrapping_sub(1));
        let undefined = self.int(UNDEFINED);
        let value = self.b.ins().select(is_undefined, undefined, value);
        let known = Known {
            may_be_undefined: true,
            ..Known::within(low, high)
        };
        (value, known)
    }

    fn assign(&mut self, at: Address, id: TypeId, given: Given, span: Span) {
        let shape = self.unit.layout.shape(id);
        let (bytes, low) = (shape.bytes, shape.low);
        match given {
            Given::Simple(value, known) => {
                let known = self.check_bounds(value, known, id, span);
                self.check_target(at, span);
                let stored = self.stored(value, known, low);
                self.store(at, bytes, stored);
            }
            Given::Composite(base) => {
                self.check_target(at, span);
                let from = Address::at(base);
                self.copy(at, from, bytes);
            }
            Given::Undefined => {
                self.check_target(at, span);
                self.zero(at, bytes);
            }
        }
    }

    /// The element may have gone while the value was evaluated.
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
        let mut goes_on = false;
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
                goes_on = true;
            }
            if branch.test.is_none() {
                if goes_on {
                    self.at(on);
                }
                return goes_on;
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
        let mut goes_on = false;
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
                goes_on = true;
            }
            self.at(other);
        }
        let goes_on = match otherwise {
            Some((point, body)) => {
                self.hit(*point);
                let falls_through = self.statements(body);
                if falls_through {
                    self.go(on);
                }
                falls_through || goes_on
            }
            None => {
                self.go(on);
                true
            }
        };
        if goes_on {
            self.at(on);
        }
        goes_on
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
        self.fault_if(is_over, Wrong::LoopTooLong, span);
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
            Meaning::Place(place) => {
                let at = self.address(place);
                self.refer(alias.slot, at);
            }
            Meaning::Value(expr) if self.is_composite(expr) => {
                let value = self.fixed_composite(expr);
                self.hold(alias.slot, value, Known::ANYTHING);
            }
            Meaning::Value(expr) => {
                let (value, known) = self.simple(expr);
                self.hold(alias.slot, value, known);
            }
        }
    }

    fn give_back(&mut self, source: Option<&Source>) {
        let given = source.map(|source| self.given(source));
        let value = match (self.result, given) {
            (Some(Returned::Simple(id)), Some(Given::Simple(value, known))) => {
                Some(self.not_like_undefined(value, known, id))
            }
            (Some(Returned::Simple(_)), _) => Some(self.int(UNDEFINED)),
            (Some(Returned::Memory(id, room)), given) => {
                let given = given.unwrap_or(Given::Undefined);
                let to = self.in_context(room);
                self.assign(to, id, given, Span::default());
                Some(self.pointer(to))
            }
            _ => None,
        };
        self.leave(status::DONE, value);
    }

    /// A number that looks like undefined, and is not, becomes another one that does not fit
    /// either: the caller says so.
    fn not_like_undefined(&mut self, value: Value, known: Known, id: TypeId) -> Value {
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

    /// Calls a function: the value that it returns, or where it is.
    pub fn call(&mut self, call: &Call, span: Span) -> (Value, Known) {
        let model = self.unit.model;
        let function = &model.functions[call.function.0 as usize];
        let mut passed = vec![self.state, self.context];
        for (argument, parameter) in call.arguments.iter().zip(&function.parameters) {
            let at = match argument {
                Argument::Reference(place) => self.address(place),
                Argument::Value(expr) => {
                    let given = match self.is_composite(expr) {
                        true => Given::Composite(self.composite(expr)),
                        false => {
                            let (value, known) = self.simple(expr);
                            Given::Simple(value, known)
                        }
                    };
                    let room = self.unit.reserve(parameter.type_id);
                    let to = self.in_context(room);
                    self.assign(to, parameter.type_id, given, expr.span);
                    to
                }
                Argument::Undefined => {
                    let room = self.unit.reserve(parameter.type_id);
                    let to = self.in_context(room);
                    self.assign(to, parameter.type_id, Given::Undefined, span);
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
            None => (value, Known::ANYTHING),
            Some(id) if model.types[id].is_simple() => {
                let known = self.check_bounds(value, Known::ANYTHING, id, span);
                (value, known)
            }
            Some(id) => {
                // The next call of the same function overwrites its result.
                (self.kept(id, Address::at(value)), Known::ANYTHING)
            }
        }
    }

    /// A flag for what is in no element.
    fn always_there(&mut self) -> Value {
        let at = self.in_context(super::context::field::ONE);
        self.pointer(at)
    }

    fn multiset_add(&mut self, element: &Source, multiset: &Place, span: Span) {
        let at = self.address(multiset);
        let crate::model::types::TypeKind::Multiset { element: id, .. } =
            self.unit.model.types[multiset.type_id].kind
        else {
            return;
        };
        let mut given = self.given(element);
        if let Given::Simple(value, known) = given {
            let known = self.check_bounds(value, known, id, span);
            given = Given::Simple(value, known);
        }
        let shape = self.unit.layout.shape(multiset.type_id);
        let (stride, length) = (shape.stride, shape.length);
        if let Some(flag) = at.flag {
            let flag = Address::at(flag);
            let flag = self.load(flag, 1);
            let is_gone = self.compare(IntCC::Equal, flag, 0);
            self.fault_if(is_gone, Wrong::MultisetFull, span);
        }
        let start = self.pointer(at);
        let (many, wide) = (self.int(length.into()), self.int(stride.into()));
        let helper = self.unit.helpers.first_free;
        let Some(free) = self.call_helper(helper, &[start, many, wide]) else {
            return;
        };
        let is_full = self.compare(IntCC::Equal, free, i64::from(length));
        self.fault_if(is_full, Wrong::MultisetFull, span);
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
        self.assign(to, id, given, span);
    }

    fn multiset_remove(&mut self, multiset: &Place, number: Value, span: Span) {
        let at = self.address(multiset);
        let shape = self.unit.layout.shape(multiset.type_id);
        let (stride, length) = (shape.stride, shape.length);
        let is_outside = self.compare(IntCC::UnsignedGreaterThanOrEqual, number, length.into());
        self.fault_if(is_outside, Wrong::ElementGone, span);
        let start = self.pointer(at);
        let distance = self.scaled(number, stride);
        let base = self.b.ins().iadd(start, distance);
        self.check_flag(base, span);
        let element = Address::at(base);
        self.zero(element, stride);
    }
}
