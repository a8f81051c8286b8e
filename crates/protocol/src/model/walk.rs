//! Visitors of expressions and statements.

use super::Binding;
use super::code::{
    Alias, AliasTarget, Argument, Call, Designator, Domain, Expr, ExprKind, Source, Statement,
    StatementKind, Step,
};

/// A visitor. A node is visited before its children. Called functions are not entered.
pub trait Visitor {
    /// An expression.
    fn expr(&mut self, _expr: &Expr) {}
    /// A place, whatever is done with it.
    fn place(&mut self, _place: &Designator) {}
    /// A statement.
    fn statement(&mut self, _statement: &Statement) {}
    /// Whether the children of a statement are skipped.
    fn leaves_out(&self, _statement: &Statement) -> bool {
        false
    }
    /// A call, in an expression or as a statement.
    fn call(&mut self, _call: &Call) {}
    /// A place that is changed.
    fn written(&mut self, _place: &Designator) {}
    /// An alias, of a statement or around a rule.
    fn alias(&mut self, _alias: &Alias) {}
}

/// A place with its indices.
pub fn place(place: &Designator, visitor: &mut dyn Visitor) {
    visitor.place(place);
    for step in &place.steps {
        if let Step::Index { index, .. } = step {
            expr(index, visitor);
        }
    }
}

/// The ends of a domain.
pub fn domain(domain: &Domain, visitor: &mut dyn Visitor) {
    if let Domain::Computed { from, to, by } = domain {
        for each in [to, from, by] {
            expr(each, visitor);
        }
    }
}

/// An alias with what it stands for.
pub fn alias(alias: &Alias, visitor: &mut dyn Visitor) {
    visitor.alias(alias);
    match &alias.meaning {
        AliasTarget::Designator(of) => place(of, visitor),
        AliasTarget::Value(of) => expr(of, visitor),
    }
}

fn call(call: &Call, visitor: &mut dyn Visitor) {
    visitor.call(call);
    for argument in &call.arguments {
        match argument {
            Argument::Reference(of) => place(of, visitor),
            Argument::Value(of) => expr(of, visitor),
            Argument::Undefined => {}
        }
    }
}

fn source(source: &Source, visitor: &mut dyn Visitor) {
    match source {
        Source::Value(of) => expr(of, visitor),
        Source::Copy { place: of, .. } => place(of, visitor),
        Source::Undefined => {}
    }
}

/// An expression with its parts.
pub fn expr(of: &Expr, visitor: &mut dyn Visitor) {
    visitor.expr(of);
    match &of.kind {
        ExprKind::Constant(_) | ExprKind::Slot(_) => {}
        ExprKind::Read(of) => place(of, visitor),
        ExprKind::IsUndefined(of) => place(of, visitor),
        ExprKind::Not(operand)
        | ExprKind::Negate(operand)
        | ExprKind::Complement(operand)
        | ExprKind::IsMember { operand, .. }
        | ExprKind::Convert { operand, .. } => expr(operand, visitor),
        ExprKind::And(operands) | ExprKind::Or(operands) => {
            operands.iter().for_each(|operand| expr(operand, visitor));
        }
        ExprKind::Implies {
            antecedent: left,
            consequent: right,
            ..
        }
        | ExprKind::Equal { left, right, .. }
        | ExprKind::Same { left, right, .. }
        | ExprKind::Compare { left, right, .. }
        | ExprKind::Arithmetic { left, right, .. } => {
            expr(left, visitor);
            expr(right, visitor);
        }
        ExprKind::Conditional {
            test,
            then,
            otherwise,
        } => {
            for each in [test, then, otherwise] {
                expr(each, visitor);
            }
        }
        ExprKind::Quantified {
            domain: values,
            body,
            ..
        } => {
            domain(values, visitor);
            expr(body, visitor);
        }
        ExprKind::Call(of) => call(of, visitor),
        ExprKind::MultisetCount {
            multiset,
            condition,
            ..
        } => {
            place(multiset, visitor);
            expr(condition, visitor);
        }
    }
}

/// What a rule, start state or property is within.
pub fn bindings(all: &[Binding], visitor: &mut dyn Visitor) {
    for binding in all {
        match binding {
            Binding::Quantified { domain: values, .. } => domain(values, visitor),
            Binding::Chosen { multiset, .. } => place(multiset, visitor),
            Binding::Alias(of) => alias(of, visitor),
        }
    }
}

/// Statements with their parts.
pub fn statements(all: &[Statement], visitor: &mut dyn Visitor) {
    all.iter().for_each(|each| statement(each, visitor));
}

fn statement(of: &Statement, visitor: &mut dyn Visitor) {
    visitor.statement(of);
    if visitor.leaves_out(of) {
        return;
    }
    match &of.kind {
        StatementKind::Assign {
            target,
            source: from,
        } => {
            visitor.written(target);
            place(target, visitor);
            source(from, visitor);
        }
        StatementKind::If { branches } => {
            for branch in branches {
                if let Some(test) = &branch.test {
                    expr(test, visitor);
                }
                statements(&branch.body, visitor);
            }
        }
        StatementKind::Switch {
            subject,
            arms,
            otherwise,
        } => {
            expr(subject, visitor);
            for arm in arms {
                arm.values.iter().for_each(|value| expr(value, visitor));
                statements(&arm.body, visitor);
            }
            if let Some((_, body)) = otherwise {
                statements(body, visitor);
            }
        }
        StatementKind::For {
            domain: values,
            body,
            ..
        } => {
            domain(values, visitor);
            statements(body, visitor);
        }
        StatementKind::While { test, body } => {
            expr(test, visitor);
            statements(body, visitor);
        }
        StatementKind::Call(of) => call(of, visitor),
        StatementKind::Clear(target) | StatementKind::Undefine(target) => {
            visitor.written(target);
            place(target, visitor);
        }
        StatementKind::Error(_) => {}
        StatementKind::Assert { condition, .. }
        | StatementKind::Assume { condition, .. }
        | StatementKind::Cover { condition, .. } => expr(condition, visitor),
        StatementKind::Put(value) => {
            if let Some(value) = value {
                expr(value, visitor);
            }
        }
        StatementKind::Alias { aliases, body } => {
            aliases.iter().for_each(|each| alias(each, visitor));
            statements(body, visitor);
        }
        StatementKind::Return(value) => {
            if let Some(value) = value {
                source(value, visitor);
            }
        }
        StatementKind::MultisetAdd { element, multiset } => {
            visitor.written(multiset);
            place(multiset, visitor);
            source(element, visitor);
        }
        StatementKind::MultisetRemove { multiset, .. } => {
            visitor.written(multiset);
            place(multiset, visitor);
        }
        StatementKind::MultisetRemoveWhere {
            multiset,
            condition,
            ..
        } => {
            visitor.written(multiset);
            place(multiset, visitor);
            expr(condition, visitor);
        }
    }
}
