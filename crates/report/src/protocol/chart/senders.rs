//! Which rules are those of the home node.
//!
//! Where a channel has no addresses, a message in it may come from the node or from home. A rule that uses a variable
//! that belongs to no node is home's; a rule that uses only what is indexed by nodes is that of a node.

use fencepost_protocol::Model;
use fencepost_protocol::model::code::{
    Argument, Call, Domain, Expr, ExprKind, Meaning, Place, Root, Source, Statement, StatementKind,
    Step,
};
use fencepost_protocol::model::types::TypeKind;
use fencepost_protocol::model::{Binding, FunctionId};

/// For each rule, whether it uses a variable of the state that is no array.
pub(super) fn home_rules(model: &Model) -> Vec<bool> {
    let rules = model.rules.iter();
    rules
        .map(|rule| {
            let mut search = Search {
                model,
                entered: Vec::new(),
                found: false,
            };
            for binding in &rule.bindings {
                match binding {
                    Binding::Alias(alias) => search.meaning(&alias.meaning),
                    Binding::Chosen { multiset, .. } => search.place(multiset),
                    Binding::Quantified { .. } => {}
                }
            }
            rule.guard.iter().for_each(|guard| search.expr(guard));
            search.body(&rule.body);
            search.found
        })
        .collect()
}

struct Search<'m> {
    model: &'m Model,
    entered: Vec<FunctionId>,
    found: bool,
}

impl Search<'_> {
    fn place(&mut self, place: &Place) {
        if let Root::Global(id) = place.root {
            let global = &self.model.globals[id.0 as usize];
            let kind = &self.model.types[global.type_id].kind;
            self.found |= !matches!(kind, TypeKind::Array { .. } | TypeKind::Multiset { .. });
        }
        for step in &place.steps {
            if let Step::Index { index, .. } = step {
                self.expr(index);
            }
        }
    }

    fn meaning(&mut self, meaning: &Meaning) {
        match meaning {
            Meaning::Place(place) => self.place(place),
            Meaning::Value(expr) => self.expr(expr),
        }
    }

    fn source(&mut self, source: &Source) {
        match source {
            Source::Value(expr) => self.expr(expr),
            Source::Copy { place, .. } => self.place(place),
            Source::Undefined => {}
        }
    }

    fn domain(&mut self, domain: &Domain) {
        if let Domain::Computed { from, to, by } = domain {
            [from, to, by].into_iter().for_each(|end| self.expr(end));
        }
    }

    fn call(&mut self, call: &Call) {
        for argument in &call.arguments {
            match argument {
                Argument::Reference(place) => self.place(place),
                Argument::Value(expr) => self.expr(expr),
                Argument::Undefined => {}
            }
        }
        if !self.entered.contains(&call.function) {
            self.entered.push(call.function);
            let model = self.model;
            self.body(&model.functions[call.function.0 as usize].body);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Constant(_) | ExprKind::Slot(_) => {}
            ExprKind::Read(place) => self.place(place),
            ExprKind::IsUndefined(place) => self.place(place),
            ExprKind::Not(inner) | ExprKind::Negate(inner) | ExprKind::Complement(inner) => {
                self.expr(inner);
            }
            ExprKind::And(all) | ExprKind::Or(all) => all.iter().for_each(|each| self.expr(each)),
            ExprKind::Implies {
                antecedent: left,
                consequent: right,
                ..
            }
            | ExprKind::Equal { left, right, .. }
            | ExprKind::Same { left, right, .. }
            | ExprKind::Compare { left, right, .. }
            | ExprKind::Arithmetic { left, right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Conditional {
                test,
                then,
                otherwise,
            } => [test, then, otherwise]
                .into_iter()
                .for_each(|each| self.expr(each)),
            ExprKind::Quantified { domain, body, .. } => {
                self.domain(domain);
                self.expr(body);
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::IsMember { operand, .. } | ExprKind::Convert { operand, .. } => {
                self.expr(operand);
            }
            ExprKind::MultisetCount {
                multiset,
                condition,
                ..
            } => {
                self.place(multiset);
                self.expr(condition);
            }
        }
    }

    fn body(&mut self, body: &[Statement]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign { target, source } => {
                self.place(target);
                self.source(source);
            }
            StatementKind::If { branches } => {
                for branch in branches {
                    branch.test.iter().for_each(|test| self.expr(test));
                    self.body(&branch.body);
                }
            }
            StatementKind::Switch {
                subject,
                arms,
                otherwise,
            } => {
                self.expr(subject);
                for arm in arms {
                    arm.values.iter().for_each(|value| self.expr(value));
                    self.body(&arm.body);
                }
                otherwise.iter().for_each(|(_, body)| self.body(body));
            }
            StatementKind::For { domain, body, .. } => {
                self.domain(domain);
                self.body(body);
            }
            StatementKind::While { test, body } => {
                self.expr(test);
                self.body(body);
            }
            StatementKind::Call(call) => self.call(call),
            StatementKind::Clear(place) | StatementKind::Undefine(place) => self.place(place),
            StatementKind::Assume { condition, .. } => self.expr(condition),
            StatementKind::Alias { aliases, body } => {
                { aliases.iter() }.for_each(|alias| self.meaning(&alias.meaning));
                self.body(body);
            }
            StatementKind::Return(source) => source.iter().for_each(|each| self.source(each)),
            StatementKind::MultisetAdd { element, multiset } => {
                self.source(element);
                self.place(multiset);
            }
            StatementKind::MultisetRemove { multiset, .. } => self.place(multiset),
            StatementKind::MultisetRemoveWhere {
                multiset,
                condition,
                ..
            } => {
                self.place(multiset);
                self.expr(condition);
            }
            // What is asserted, covered or printed says nothing about whose rule it is: models assert
            // about ghost variables everywhere.
            StatementKind::Assert { .. }
            | StatementKind::Cover { .. }
            | StatementKind::Put(_)
            | StatementKind::Error(_) => {}
        }
    }
}
