//! Statements.

use super::designators::Operand;
use super::scopes::Symbol;
use super::{Reported, Resolved, Resolver, Returns};
use crate::model::code::{
    Alias, AliasTarget, Arm, Branch, Designator, Expr, ExprKind, SlotKind, Source, Statement,
    StatementKind, ValueType,
};
use crate::model::points::PointKind;
use crate::model::types::{TypeId, TypeKind};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::tree::{self, AliasTree, PropertyKind, Quantifier};

use super::convert::Conversion;

impl<'s> Resolver<'s, '_> {
    /// Statements; those with errors are left out.
    pub(super) fn statements(&mut self, trees: &[tree::Statement<'s>]) -> Vec<Statement> {
        let mut statements = Vec::with_capacity(trees.len());
        for tree in trees {
            if let Ok(kind) = self.statement(tree) {
                let span = tree.span;
                statements.push(Statement { kind, span });
            }
        }
        statements
    }

    fn statement(&mut self, tree: &tree::Statement<'s>) -> Resolved<StatementKind> {
        match &tree.kind {
            tree::StatementKind::Assign(target, value) => {
                let target = self.target(target, "assign to");
                let source = self.source_of(value, target.as_ref().ok().map(|t| t.type_id))?;
                Ok(StatementKind::Assign {
                    target: target?,
                    source,
                })
            }
            tree::StatementKind::If {
                branches,
                otherwise,
            } => self.if_statement(branches, otherwise.as_ref()),
            tree::StatementKind::Switch {
                subject,
                arms,
                otherwise,
            } => self.switch(subject, arms, otherwise.as_ref()),
            tree::StatementKind::For(quantifiers, body) => {
                self.scoped(|r| r.for_statement(quantifiers, body, tree.span))
            }
            tree::StatementKind::While(test, body) => {
                let test = self.condition(test);
                let body = self.statements(body);
                Ok(StatementKind::While { test: test?, body })
            }
            tree::StatementKind::Call(name, arguments) => {
                let (call, _) = self.call(*name, arguments)?;
                Ok(StatementKind::Call(call))
            }
            tree::StatementKind::Clear(target) => {
                let place = self.target(target, "clear")?;
                if self.types[place.type_id].has_scalarset && self.holds_scalarset(place.type_id) {
                    self.warn(ModelErrorKind::ScalarsetCleared, tree.span);
                }
                Ok(StatementKind::Clear(place))
            }
            tree::StatementKind::Undefine(target) => {
                Ok(StatementKind::Undefine(self.target(target, "undefine")?))
            }
            tree::StatementKind::Error(text) => Ok(StatementKind::Error((*text).into())),
            tree::StatementKind::Property {
                kind,
                name,
                condition,
            } => self.property_statement(*kind, *name, condition, tree.span),
            tree::StatementKind::Put(value) => {
                let value = match value {
                    // Places are printed, not read: undefined is no error.
                    Some(value) => match self.operand(value)? {
                        Operand::Designator(_) => None,
                        Operand::Value(expr) => Some(expr),
                    },
                    None => None,
                };
                Ok(StatementKind::Put(value))
            }
            tree::StatementKind::Alias(aliases, body) => self.scoped(|r| {
                let aliases = r.aliases(aliases);
                let body = r.statements(body);
                Ok(StatementKind::Alias {
                    aliases: aliases?,
                    body,
                })
            }),
            tree::StatementKind::Return(value) => self.return_statement(value.as_ref(), tree.span),
            tree::StatementKind::MultisetAdd(element, multiset) => {
                self.multiset_add(element, multiset)
            }
            tree::StatementKind::MultisetRemove(element, multiset) => {
                let multiset = self.multiset_target(multiset)?;
                let slot = self.multiset_index(element, multiset.type_id)?;
                Ok(StatementKind::MultisetRemove { slot, multiset })
            }
            tree::StatementKind::MultisetRemovePred {
                binder,
                multiset,
                condition,
            } => {
                let target = self.multiset_target(multiset);
                let (slot, multiset, condition) =
                    self.multiset_condition(*binder, multiset, condition)?;
                target?;
                Ok(StatementKind::MultisetRemoveWhere {
                    slot,
                    multiset,
                    condition,
                })
            }
        }
    }

    /// Whether scalarset values, and not only indices, are in a variable of the type outside of
    /// multisets, which become empty.
    fn holds_scalarset(&self, id: TypeId) -> bool {
        let this = &self.types[id];
        match &this.kind {
            TypeKind::Record(fields) => fields.iter().any(|f| self.holds_scalarset(f.type_id)),
            TypeKind::Array { element, .. } => self.holds_scalarset(*element),
            TypeKind::Multiset { .. } => false,
            _ => this.has_scalarset,
        }
    }

    /// Resolves the source of an assignment. Without a target, only reports errors.
    fn source_of(&mut self, tree: &tree::Expr<'s>, wanted: Option<TypeId>) -> Resolved<Source> {
        if self.is_undefined_word(tree) {
            return Ok(Source::Undefined);
        }
        let operand = self.operand(tree)?;
        let Some(wanted) = wanted else {
            return Err(Reported);
        };
        match operand {
            Operand::Designator(place) => {
                let found = ValueType::Of(place.type_id);
                match self.conversion(found, ValueType::Of(wanted)) {
                    Some(Conversion::None) => Ok(Source::Copy { place, table: None }),
                    Some(Conversion::Table(table)) => Ok(Source::Copy {
                        place,
                        table: Some(table),
                    }),
                    None => {
                        let wanted = self.types.describe(wanted);
                        Err(self.mismatch(found, wanted, tree.span))
                    }
                }
            }
            Operand::Value(expr) => {
                let expr = self.coerce(expr, ValueType::Of(wanted))?;
                self.check_constant(&expr.kind, wanted, tree.span);
                Ok(Source::Value(expr))
            }
        }
    }

    fn if_statement(
        &mut self,
        trees: &[tree::Branch<'s>],
        otherwise: Option<&(Span, Vec<tree::Statement<'s>>)>,
    ) -> Resolved<StatementKind> {
        let mut branches = Vec::new();
        let mut failed = false;
        for tree in trees {
            let test = self.condition(&tree.test);
            let point = self.point(PointKind::Branch, None, tree.span);
            let body = self.statements(&tree.body);
            match test {
                Ok(test) => branches.push(Branch {
                    test: Some(test),
                    body,
                    point,
                }),
                Err(Reported) => failed = true,
            }
        }
        if let Some((span, body)) = otherwise {
            let point = self.point(PointKind::Branch, None, *span);
            let body = self.statements(body);
            branches.push(Branch {
                test: None,
                body,
                point,
            });
        }
        match failed {
            true => Err(Reported),
            false => Ok(StatementKind::If { branches }),
        }
    }

    fn switch(
        &mut self,
        subject: &tree::Expr<'s>,
        trees: &[(Span, Vec<tree::Expr<'s>>, Vec<tree::Statement<'s>>)],
        otherwise: Option<&(Span, Vec<tree::Statement<'s>>)>,
    ) -> Resolved<StatementKind> {
        let subject = self.expr(subject).and_then(|expr| match expr.value_type {
            ValueType::Of(id) if !self.types[id].is_simple() => {
                let wanted = "a simple value".into();
                Err(self.mismatch(expr.value_type, wanted, expr.span))
            }
            _ => Ok(expr),
        });
        let wanted = subject.as_ref().ok().map(|subject| subject.value_type);
        let mut arms = Vec::new();
        let mut failed = false;
        for (span, values, body) in trees {
            let values: Vec<Resolved<Expr>> = values
                .iter()
                .map(|value| self.case_value(value, wanted))
                .collect();
            let point = self.point(PointKind::Arm, None, *span);
            let body = self.statements(body);
            match values.into_iter().collect::<Resolved<Vec<Expr>>>() {
                Ok(values) => arms.push(Arm {
                    values,
                    body,
                    point,
                }),
                Err(Reported) => failed = true,
            }
        }
        let otherwise = otherwise.map(|(span, body)| {
            let point = self.point(PointKind::Arm, None, *span);
            (point, self.statements(body))
        });
        if failed {
            return Err(Reported);
        }
        Ok(StatementKind::Switch {
            subject: subject?,
            arms,
            otherwise,
        })
    }

    fn case_value(&mut self, tree: &tree::Expr<'s>, wanted: Option<ValueType>) -> Resolved<Expr> {
        let value = self.expr(tree)?;
        match wanted {
            Some(wanted) => self.coerce(value, wanted),
            None => Err(Reported),
        }
    }

    fn for_statement(
        &mut self,
        quantifiers: &[Quantifier<'s>],
        body: &[tree::Statement<'s>],
        span: Span,
    ) -> Resolved<StatementKind> {
        let mut bound = Vec::new();
        for quantifier in quantifiers {
            bound.push(self.quantifier(quantifier));
        }
        let mut body = self.scoped(|r| r.statements(body));
        let mut outermost = None;
        for quantifier in bound.into_iter().rev() {
            if let Some(kind) = outermost.take() {
                body = vec![Statement { kind, span }];
            }
            let (slot, domain) = quantifier?;
            outermost = Some(StatementKind::For { slot, domain, body });
            body = Vec::new();
        }
        outermost.ok_or(Reported)
    }

    fn property_statement(
        &mut self,
        kind: PropertyKind,
        name: Option<&str>,
        tree: &tree::Expr<'s>,
        span: Span,
    ) -> Resolved<StatementKind> {
        let point = match kind {
            PropertyKind::Invariant => PointKind::Assertion,
            PropertyKind::Assume => {
                self.saw_assume = true;
                PointKind::LocalAssumption
            }
            PropertyKind::Cover => PointKind::Cover,
        };
        let point = self.point(point, name, span);
        let before = std::mem::replace(&mut self.counts_vacuity, kind != PropertyKind::Cover);
        let condition = self.condition(tree);
        self.counts_vacuity = before;
        let condition = condition?;
        Ok(match kind {
            PropertyKind::Invariant => StatementKind::Assert {
                condition,
                name: name.map(Into::into),
                point,
            },
            PropertyKind::Assume => StatementKind::Assume { condition, point },
            PropertyKind::Cover => StatementKind::Cover { condition, point },
        })
    }

    /// Aliases, whose names are declared in the innermost scope.
    pub(super) fn aliases(&mut self, trees: &[AliasTree<'s>]) -> Resolved<Vec<Alias>> {
        let mut aliases = Vec::new();
        let mut failed = false;
        for tree in trees {
            match self.operand(&tree.meaning) {
                // A name for a constant is a constant, also in ranges.
                Ok(Operand::Value(Expr {
                    kind: ExprKind::Constant(value),
                    value_type,
                    ..
                })) => self.declare(tree.name, Symbol::Constant(value, value_type)),
                Ok(operand) => aliases.push(self.alias(tree, operand)),
                Err(Reported) => {
                    self.declare(tree.name, Symbol::Broken);
                    failed = true;
                }
            }
        }
        match failed {
            true => Err(Reported),
            false => Ok(aliases),
        }
    }

    fn alias(&mut self, tree: &AliasTree<'s>, operand: Operand) -> Alias {
        let (kind, writable, meaning) = match operand {
            Operand::Designator(place) => {
                let writable = self.is_writable(&place);
                (
                    SlotKind::Reference(place.type_id),
                    writable,
                    AliasTarget::Designator(place),
                )
            }
            Operand::Value(expr) => (
                SlotKind::Value(expr.value_type),
                false,
                AliasTarget::Value(expr),
            ),
        };
        let slot = self.slot(tree.name.text, kind, writable);
        self.declare(tree.name, Symbol::Slot(slot));
        Alias { slot, meaning }
    }

    fn return_statement(
        &mut self,
        value: Option<&tree::Expr<'s>>,
        span: Span,
    ) -> Resolved<StatementKind> {
        let found = match (self.returns, value) {
            (Returns::Value(wanted), Some(value)) => {
                self.saw_return = true;
                let source = self.source_of(value, Some(wanted))?;
                return Ok(StatementKind::Return(Some(source)));
            }
            (Returns::Nothing, None) => return Ok(StatementKind::Return(None)),
            (Returns::Nothing, Some(_)) => "with a value",
            (Returns::Value(_), None) => "without a value",
        };
        Err(self.report(ModelErrorKind::WrongReturn { found }, span))
    }

    fn multiset_add(
        &mut self,
        element: &tree::Expr<'s>,
        multiset: &tree::Expr<'s>,
    ) -> Resolved<StatementKind> {
        let multiset = self.multiset_target(multiset);
        let wanted = match &multiset {
            Ok(multiset) => match self.types[multiset.type_id].kind {
                TypeKind::Multiset { element, .. } => Some(element),
                _ => None,
            },
            Err(Reported) => None,
        };
        let element = self.source_of(element, wanted)?;
        Ok(StatementKind::MultisetAdd {
            element,
            multiset: multiset?,
        })
    }

    fn multiset_target(&mut self, tree: &tree::Expr<'s>) -> Resolved<Designator> {
        self.multiset(tree)?;
        self.target(tree, "change")
    }
}
