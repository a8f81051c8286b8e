//! Evaluation of expressions.

use super::interruption::EvalResult;
use super::machine::{Machine, SlotContents};
use crate::model::code::{Argument, Call, Designator, Domain, Expr, ExprKind, SlotId, Source};
use crate::model::points::PointId;
use crate::outcome::{FaultKind, Value};
use crate::source::Span;

impl Machine<'_> {
    /// The value of an expression. It is undefined only for types that allow reading that, and if
    /// a function returned it: see [`Machine::used`].
    pub fn evaluate(&mut self, expr: &Expr) -> EvalResult<Value> {
        self.step()?;
        let value = match &expr.kind {
            ExprKind::Constant(value) => *value,
            ExprKind::Slot(slot) => return Ok(self.held(*slot)),
            ExprKind::Read(place) => return self.read(place),
            ExprKind::Not(operand) => i64::from(!self.is_true(operand)?),
            ExprKind::Negate(operand) => {
                let value = self.integer(operand)?;
                let overflow = FaultKind::Arithmetic("it does not fit 64 bits");
                value.checked_neg().ok_or(overflow.at(expr.span))?
            }
            ExprKind::Complement(operand) => !self.integer(operand)?,
            ExprKind::And(operands) => i64::from(!self.any(operands, false)?),
            ExprKind::Or(operands) => i64::from(self.any(operands, true)?),
            ExprKind::Implies {
                antecedent,
                consequent,
                point,
            } => i64::from(self.implies(antecedent, consequent, *point)?),
            ExprKind::Equal {
                negated,
                left,
                right,
            }
            | ExprKind::Same {
                negated,
                left,
                right,
            } => {
                let left = self.used(left)?;
                let right = self.used(right)?;
                i64::from(equal(&left, &right) != *negated)
            }
            ExprKind::Compare {
                operator,
                left,
                right,
            } => {
                let left = self.integer(left)?;
                i64::from(operator.holds(left, self.integer(right)?))
            }
            ExprKind::Arithmetic {
                operator,
                left,
                right,
            } => {
                let left = self.integer(left)?;
                let result = operator.apply(left, self.integer(right)?);
                result.map_err(|why| FaultKind::Arithmetic(why).at(expr.span))?
            }
            ExprKind::Conditional {
                test,
                then,
                otherwise,
            } => {
                return match self.is_true(test)? {
                    true => self.used(then),
                    false => self.used(otherwise),
                };
            }
            ExprKind::Quantified {
                every,
                slot,
                domain,
                body,
                point,
            } => {
                let is_decided = self.any_value(*slot, domain, body, !*every, *point)?;
                i64::from(is_decided != *every)
            }
            ExprKind::Call(call) => return self.call(call, expr.span),
            ExprKind::IsUndefined(place) => {
                let address = self.address(place)?;
                i64::from(*self.load(&address) == Value::Undefined)
            }
            ExprKind::IsMember {
                operand,
                first,
                last,
            } => match self.evaluate(operand)? {
                Value::Simple(value) => i64::from((*first..=*last).contains(&value)),
                _ => 0,
            },
            ExprKind::MultisetCount {
                slot,
                multiset,
                condition,
                point,
            } => self.count_elements(*slot, multiset, condition, *point)?,
            ExprKind::Convert { operand, table } => {
                let value = self.evaluate(operand)?;
                return Ok(converted(value, table));
            }
        };
        Ok(Value::Simple(value))
    }

    fn implies(
        &mut self,
        antecedent: &Expr,
        consequent: &Expr,
        point: Option<PointId>,
    ) -> EvalResult<bool> {
        if !self.is_true(antecedent)? {
            return Ok(true);
        }
        if let Some(point) = point {
            self.hit(point);
        }
        self.is_true(consequent)
    }

    /// Whether the body has the wanted value for a value of the domain; stops at the first. The
    /// point is hit if the domain is not empty.
    fn any_value(
        &mut self,
        slot: SlotId,
        domain: &Domain,
        body: &Expr,
        wanted: bool,
        point: Option<PointId>,
    ) -> EvalResult<bool> {
        for (iteration, value) in self.values(domain)?.enumerate() {
            self.step()?;
            if let (0, Some(point)) = (iteration, point) {
                self.hit(point);
            }
            self.hold_value(slot, value);
            if self.is_true(body)? == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of elements that satisfy a condition. The point is hit if there are elements.
    fn count_elements(
        &mut self,
        slot: SlotId,
        multiset: &Designator,
        condition: &Expr,
        point: Option<PointId>,
    ) -> EvalResult<i64> {
        let elements = self.elements(multiset)?;
        if let (Some(_), Some(point)) = (elements.first(), point) {
            self.hit(point);
        }
        let mut count = 0;
        for index in elements {
            self.hold_value(slot, index as i64);
            count += i64::from(self.is_true(condition)?);
        }
        Ok(count)
    }

    /// Whether an operand has the wanted value; stops at the first that has.
    fn any(&mut self, operands: &[Expr], wanted: bool) -> EvalResult<bool> {
        for operand in operands {
            if self.is_true(operand)? == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A value that must be defined unless its type allows reading what is undefined. Only
    /// functions give undefined values of other types; these can be assigned and passed on.
    pub fn used(&mut self, expr: &Expr) -> EvalResult<Value> {
        match self.evaluate(expr)? {
            Value::Undefined if !expr.reads_undefined(&self.model.types) => {
                Err(FaultKind::Undefined.at(expr.span))
            }
            value => Ok(value),
        }
    }

    /// A value that must be defined.
    pub fn integer(&mut self, expr: &Expr) -> EvalResult<i64> {
        match self.evaluate(expr)? {
            Value::Simple(value) => Ok(value),
            _ => Err(FaultKind::Undefined.at(expr.span)),
        }
    }

    pub fn is_true(&mut self, expr: &Expr) -> EvalResult<bool> {
        Ok(self.integer(expr)? != 0)
    }

    /// The value of a place. Fails if it is undefined and its type does not allow reading that.
    fn read(&mut self, place: &Designator) -> EvalResult<Value> {
        let address = self.address(place)?;
        let value = self.load(&address).clone();
        let lenient = self.model.types[place.type_id].reads_undefined();
        match value == Value::Undefined && !lenient {
            true => Err(FaultKind::Undefined.at(place.span)),
            false => Ok(value),
        }
    }

    /// The indices of the elements that a multiset has.
    pub fn elements(&mut self, multiset: &Designator) -> EvalResult<Vec<usize>> {
        let address = self.address(multiset)?;
        Ok(match self.load(&address) {
            Value::Elements(elements) => {
                let present = elements.iter().enumerate();
                let present = present.filter(|(_, element)| element.is_some());
                present.map(|(index, _)| index).collect()
            }
            _ => Vec::new(),
        })
    }

    /// The values of a domain, in order.
    pub fn values(&mut self, domain: &Domain) -> EvalResult<Values> {
        let (from, to, by) = match domain {
            Domain::Type(id) => {
                let (low, high) = self.model.types[*id].bounds().unwrap_or((0, -1));
                (low, high, 1)
            }
            Domain::Steps { from, to, by } => (*from, *to, *by),
            Domain::Computed { from, to, by } => {
                let last = self.integer(to)?;
                let first = self.integer(from)?;
                let step = self.integer(by)?;
                if step == 0 {
                    return Err(FaultKind::ZeroStep.at(by.span));
                }
                (first, last, step)
            }
        };
        Ok(Values {
            next: Some(from),
            to,
            by,
        })
    }

    /// The value that is assigned or returned; nothing if it is `undefined`.
    pub fn source(&mut self, source: &Source) -> EvalResult<Option<Value>> {
        match source {
            Source::Value(expr) => self.evaluate(expr).map(Some),
            Source::Copy { place, table } => {
                let address = self.address(place)?;
                let value = self.load(&address).clone();
                Ok(Some(match table {
                    Some(table) => converted(value, table),
                    None => value,
                }))
            }
            Source::Undefined => Ok(None),
        }
    }

    /// Calls a function; a procedure gives an undefined value.
    pub fn call(&mut self, call: &Call, span: Span) -> EvalResult<Value> {
        let function = &self.model.functions[call.function.0 as usize];
        let mut held = Vec::with_capacity(call.arguments.len());
        for (argument, parameter) in call.arguments.iter().zip(&function.parameters) {
            held.push(match argument {
                Argument::Reference(place) => SlotContents::Reference(self.address(place)?),
                Argument::Value(expr) => {
                    let value = self.evaluate(expr)?;
                    self.check_bounds(parameter.type_id, &value, expr.span)?;
                    SlotContents::Value(value)
                }
                Argument::Undefined => {
                    SlotContents::Value(Value::undefined(&self.model.types, parameter.type_id))
                }
            });
        }
        self.enter(&function.frame);
        for (held, parameter) in held.into_iter().zip(&function.parameters) {
            self.hold(parameter.slot, held);
        }
        let returned = self.execute(&function.body)?;
        self.leave();
        match (returned, function.result) {
            (Some(Value::Undefined), Some(result)) => {
                Ok(Value::undefined(&self.model.types, result))
            }
            (Some(value), Some(result)) => {
                self.check_bounds(result, &value, span)?;
                Ok(value)
            }
            (None, Some(_)) => {
                Err(FaultKind::MissingReturn(function.name.clone()).at(function.span))
            }
            (_, None) => Ok(Value::Undefined),
        }
    }
}

fn converted(value: Value, table: &[i64]) -> Value {
    match value {
        Value::Simple(value) => match table.get(value as usize) {
            Some(&value) => Value::Simple(value),
            None => Value::Simple(-1),
        },
        other => other,
    }
}

/// Whether two values are equal; the elements of multisets in any order.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Parts(left), Value::Parts(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal(l, r))
        }
        (Value::Elements(left), Value::Elements(right)) => {
            let mut unmatched: Vec<&Value> = right.iter().flatten().collect();
            let all = left.iter().flatten().all(|element| {
                let twin = unmatched.iter().position(|other| equal(element, other));
                twin.map(|at| unmatched.swap_remove(at)).is_some()
            });
            all && unmatched.is_empty()
        }
        _ => left == right,
    }
}

/// The values of a domain.
pub(super) struct Values {
    next: Option<i64>,
    to: i64,
    by: i64,
}

impl Iterator for Values {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let value = self.next?;
        let is_beyond = match self.by > 0 {
            true => value > self.to,
            false => value < self.to,
        };
        if is_beyond {
            self.next = None;
            return None;
        }
        self.next = value.checked_add(self.by);
        Some(value)
    }
}
