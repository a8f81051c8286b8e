//! Execution of statements.

use super::interruption::{EvalResult, Interruption};
use super::machine::{Machine, SlotContents};
use crate::model::code::{
    Alias, AliasTarget, Arm, Branch, Designator, Domain, Expr, SlotId, Source, Statement,
    StatementKind,
};
use crate::model::points::PointId;
use crate::model::types::TypeKind;
use crate::outcome::{FaultKind, Value};
use crate::source::Span;

/// The value that a `return` returned (undefined if it has none). Nothing if execution reached the
/// end of the statements.
type Returned = Option<Value>;

impl Machine<'_> {
    pub fn execute(&mut self, statements: &[Statement]) -> EvalResult<Returned> {
        for statement in statements {
            self.step()?;
            let returned = self.statement(statement)?;
            if returned.is_some() {
                return Ok(returned);
            }
        }
        Ok(None)
    }

    fn statement(&mut self, statement: &Statement) -> EvalResult<Returned> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Assign { target, source } => self.assign(target, source, span)?,
            StatementKind::If { branches } => return self.branches(branches),
            StatementKind::Switch {
                subject,
                arms,
                otherwise,
            } => return self.switch(subject, arms, otherwise.as_ref()),
            StatementKind::For { slot, domain, body } => {
                return self.for_each(*slot, domain, body);
            }
            StatementKind::While { test, body } => return self.repeat(test, body, span),
            StatementKind::Call(call) => {
                self.call(call, span)?;
            }
            StatementKind::Clear(place) => {
                let address = self.address(place)?;
                let cleared = Value::cleared(&self.model.types, place.type_id);
                self.store(&address, place.type_id, cleared, span)?;
            }
            StatementKind::Undefine(place) => {
                let address = self.address(place)?;
                let undefined = Value::undefined(&self.model.types, place.type_id);
                self.store(&address, place.type_id, undefined, span)?;
            }
            StatementKind::Error(message) => {
                return Err(FaultKind::Error(message.clone()).at(span));
            }
            StatementKind::Assert {
                condition,
                name,
                point,
            } => {
                self.hit(*point);
                if !self.is_true(condition)? {
                    return Err(FaultKind::Assertion(name.clone()).at(span));
                }
            }
            StatementKind::Assume { condition, point } => {
                self.hit(*point);
                if !self.is_true(condition)? {
                    return Err(Interruption::Assumption);
                }
            }
            StatementKind::Cover { condition, point } => {
                if self.is_true(condition)? {
                    self.hit(*point);
                }
            }
            StatementKind::Put(value) => {
                if let Some(value) = value {
                    self.evaluate(value)?;
                }
            }
            StatementKind::Alias { aliases, body } => {
                for alias in aliases {
                    self.bind_alias(alias)?;
                }
                return self.execute(body);
            }
            StatementKind::Return(None) => return Ok(Some(Value::Undefined)),
            StatementKind::Return(Some(source)) => {
                let value = self.source(source)?;
                return Ok(Some(value.unwrap_or(Value::Undefined)));
            }
            StatementKind::MultisetAdd { element, multiset } => {
                self.multiset_add(element, multiset, span)?;
            }
            StatementKind::MultisetRemove { slot, multiset } => {
                let index = self.held_index(*slot);
                self.multiset_remove(multiset, index, span)?;
            }
            StatementKind::MultisetRemoveWhere {
                slot,
                multiset,
                condition,
            } => {
                for index in self.elements(multiset)? {
                    self.hold_value(*slot, index as i64);
                    if self.is_true(condition)? {
                        self.multiset_remove(multiset, index, span)?;
                    }
                }
            }
        }
        Ok(None)
    }

    fn assign(&mut self, target: &Designator, source: &Source, span: Span) -> EvalResult<()> {
        let address = self.address(target)?;
        let value = match self.source(source)? {
            Some(value) => value,
            None => Value::undefined(&self.model.types, target.type_id),
        };
        self.store(&address, target.type_id, value, span)
    }

    fn branches(&mut self, branches: &[Branch]) -> EvalResult<Returned> {
        for branch in branches {
            let is_taken = match &branch.test {
                Some(test) => self.is_true(test)?,
                None => true,
            };
            if is_taken {
                self.hit(branch.point);
                return self.execute(&branch.body);
            }
        }
        Ok(None)
    }

    fn for_each(
        &mut self,
        slot: SlotId,
        domain: &Domain,
        body: &[Statement],
    ) -> EvalResult<Returned> {
        for value in self.values(domain)? {
            self.step()?;
            self.hold_value(slot, value);
            let returned = self.execute(body)?;
            if returned.is_some() {
                return Ok(returned);
            }
        }
        Ok(None)
    }

    fn switch(
        &mut self,
        subject: &Expr,
        arms: &[Arm],
        otherwise: Option<&(PointId, Vec<Statement>)>,
    ) -> EvalResult<Returned> {
        let subject = self.used(subject)?;
        for arm in arms {
            for value in &arm.values {
                if self.used(value)? == subject {
                    self.hit(arm.point);
                    return self.execute(&arm.body);
                }
            }
        }
        match otherwise {
            Some((point, body)) => {
                self.hit(*point);
                self.execute(body)
            }
            None => Ok(None),
        }
    }

    fn repeat(&mut self, test: &Expr, body: &[Statement], span: Span) -> EvalResult<Returned> {
        let mut rounds = 0;
        while self.is_true(test)? {
            rounds += 1;
            if rounds > self.rounds_allowed {
                let allowed = self.rounds_allowed;
                return Err(FaultKind::LoopTooLong { allowed }.at(span));
            }
            let returned = self.execute(body)?;
            if returned.is_some() {
                return Ok(returned);
            }
        }
        Ok(None)
    }

    pub fn bind_alias(&mut self, alias: &Alias) -> EvalResult<()> {
        let held = match &alias.meaning {
            AliasTarget::Designator(place) => SlotContents::Reference(self.address(place)?),
            AliasTarget::Value(expr) => SlotContents::Value(self.evaluate(expr)?),
        };
        self.hold(alias.slot, held);
        Ok(())
    }

    fn multiset_add(
        &mut self,
        element: &Source,
        multiset: &Designator,
        span: Span,
    ) -> EvalResult<()> {
        let address = self.address(multiset)?;
        let TypeKind::Multiset {
            capacity,
            element: id,
        } = self.model.types[multiset.type_id].kind
        else {
            return Ok(());
        };
        let value = match self.source(element)? {
            Some(value) => value,
            None => Value::undefined(&self.model.types, id),
        };
        self.check_bounds(id, &value, span)?;
        let free = match self.load_mut(&address) {
            Some(Value::Elements(elements)) => elements.iter_mut().find(|e| e.is_none()),
            _ => None,
        };
        match free {
            Some(free) => {
                *free = Some(value);
                Ok(())
            }
            None => Err(FaultKind::MultisetFull { capacity }.at(span)),
        }
    }

    fn multiset_remove(
        &mut self,
        multiset: &Designator,
        index: usize,
        span: Span,
    ) -> EvalResult<()> {
        let address = self.address(multiset)?;
        let element = match self.load_mut(&address) {
            Some(Value::Elements(elements)) => elements.get_mut(index),
            _ => None,
        };
        match element {
            Some(element) if element.is_some() => {
                *element = None;
                Ok(())
            }
            _ => Err(FaultKind::ElementGone.at(span)),
        }
    }
}
