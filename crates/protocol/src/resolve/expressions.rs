//! Expressions other than operators.

use super::designators::Operand;
use super::scopes::Symbol;
use super::{Reported, Resolved, Resolver};
use crate::model::code::{Designator, Domain, Expr, ExprKind, SlotId, SlotKind, ValueType};
use crate::model::points::{PointId, PointKind};
use crate::model::types::{TypeKind, Types};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::tree::{self, DomainTree, Name, Quantifier};
use fencepost_diagnostics::quoted;

const BOOLEAN: ValueType = ValueType::Of(Types::BOOLEAN);

impl<'s> Resolver<'s, '_> {
    /// A value. Places are read.
    pub(super) fn expr(&mut self, tree: &tree::Expr<'s>) -> Resolved<Expr> {
        match self.operand(tree)? {
            Operand::Value(expr) => Ok(expr),
            Operand::Designator(place) => Ok(read(place)),
        }
    }

    /// Resolves an expression that is neither a name nor a selection.
    pub(super) fn value(&mut self, tree: &tree::Expr<'s>) -> Resolved<Expr> {
        let span = tree.span;
        let (kind, value_type) = match &tree.kind {
            tree::ExprKind::Number(number) => (ExprKind::Constant(*number), ValueType::Integer),
            tree::ExprKind::Unary(operator, operand) => {
                return self.unary(operator, operand, span);
            }
            tree::ExprKind::Binary(operator, left, right) => {
                return self.binary(operator, left, right, span);
            }
            tree::ExprKind::Chain(operator, operands) => {
                return self.chain(operator, operands, span);
            }
            tree::ExprKind::Conditional(parts) => return self.conditional(parts, span),
            tree::ExprKind::Quantified {
                every,
                quantifiers,
                body,
            } => {
                return self.scoped(|r| r.quantified(*every, quantifiers, body, span));
            }
            tree::ExprKind::Call(name, arguments) => {
                let (call, result) = self.call(*name, arguments)?;
                let Some(result) = result else {
                    let error = ModelErrorKind::OtherKind {
                        name: quoted(name.text),
                        found: "a procedure",
                        wanted: "a function, which returns a value",
                    };
                    return Err(self.report(error, name.span));
                };
                (ExprKind::Call(call), ValueType::Of(result))
            }
            tree::ExprKind::IsUndefined(operand) => self.is_undefined(operand)?,
            tree::ExprKind::IsMember(operand, type_tree) => self.is_member(operand, type_tree)?,
            tree::ExprKind::MultisetCount {
                binder,
                multiset,
                condition,
            } => {
                let point = self.quantifier_point(span);
                let (slot, multiset, condition) =
                    self.multiset_condition(*binder, multiset, condition)?;
                let kind = ExprKind::MultisetCount {
                    slot,
                    multiset: Box::new(multiset),
                    condition: Box::new(condition),
                    point,
                };
                (kind, ValueType::Integer)
            }
            // Names and selections are places or values already.
            tree::ExprKind::Name(_) | tree::ExprKind::Field(..) | tree::ExprKind::Index(..) => {
                return self.expr(tree);
            }
        };
        Ok(Expr {
            kind,
            value_type,
            span,
        })
    }

    fn conditional(&mut self, parts: &[tree::Expr<'s>; 3], span: Span) -> Resolved<Expr> {
        let [test, then, otherwise] = parts;
        let test = self.condition(test);
        let then = self.expr(then);
        let otherwise = self.expr(otherwise)?;
        let (test, then) = (test?, then?);
        let (then, otherwise) = match self.unify(then, otherwise) {
            Ok(both) => both,
            Err((then, otherwise)) => {
                let wanted = self.describe(then);
                return Err(self.mismatch(otherwise, wanted, parts[2].span));
            }
        };
        if let ExprKind::Constant(value) = test.kind {
            let chosen = if value != 0 { then } else { otherwise };
            return Ok(Expr { span, ..chosen });
        }
        // Two ranges have no common bounds.
        let value_type = match self.is_integer(then.value_type) {
            true => ValueType::Integer,
            false => then.value_type,
        };
        let kind = ExprKind::Conditional {
            test: Box::new(test),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        Ok(Expr {
            kind,
            value_type,
            span,
        })
    }

    fn quantified(
        &mut self,
        every: bool,
        quantifiers: &[Quantifier<'s>],
        body: &tree::Expr<'s>,
        span: Span,
    ) -> Resolved<Expr> {
        let mut bound = Vec::new();
        for quantifier in quantifiers {
            let resolved = self.quantifier(quantifier);
            let point = match &resolved {
                Ok((_, domain)) if !domain.is_never_empty() => self.quantifier_point(span),
                _ => None,
            };
            bound.push((resolved, point));
        }
        let mut expr = self.condition(body)?;
        for (resolved, point) in bound.into_iter().rev() {
            let (slot, domain) = resolved?;
            let kind = ExprKind::Quantified {
                every,
                slot,
                domain: Box::new(domain),
                body: Box::new(expr),
                point,
            };
            expr = Expr {
                kind,
                value_type: BOOLEAN,
                span,
            };
        }
        Ok(expr)
    }

    fn quantifier_point(&mut self, span: Span) -> Option<PointId> {
        self.counts_vacuity
            .then(|| self.point(PointKind::Quantifier, None, span))
    }

    /// A quantifier, whose name is declared in the innermost scope.
    pub(super) fn quantifier(&mut self, quantifier: &Quantifier<'s>) -> Resolved<(SlotId, Domain)> {
        let domain = self.domain(&quantifier.domain);
        let name = quantifier.name;
        match domain {
            Ok((domain, value_type)) => {
                let slot = self.slot(name.text, SlotKind::Value(value_type), false);
                self.declare(name, Symbol::Slot(slot));
                Ok((slot, domain))
            }
            Err(Reported) => {
                self.declare(name, Symbol::Broken);
                Err(Reported)
            }
        }
    }

    fn domain(&mut self, tree: &DomainTree<'s>) -> Resolved<(Domain, ValueType)> {
        let (from, to, by) = match tree {
            DomainTree::Type(tree) => {
                let id = self.type_id(tree)?;
                let id = self.simple(id, tree.span, "a loop, quantifier or ruleset")?;
                return Ok((Domain::Type(id), ValueType::Of(id)));
            }
            DomainTree::Steps { from, to, by } => (from, to, by),
        };
        let first = self.bound(from);
        let last = self.bound(to);
        let step = match by {
            Some(by) => self.bound(by)?,
            None => Expr {
                kind: ExprKind::Constant(1),
                value_type: ValueType::Integer,
                span: to.span,
            },
        };
        let (first, last) = (first?, last?);
        if let ExprKind::Constant(0) = step.kind {
            return Err(self.report(ModelErrorKind::ZeroStep, step.span));
        }
        let domain = match (&first.kind, &last.kind, &step.kind) {
            (ExprKind::Constant(from), ExprKind::Constant(to), ExprKind::Constant(by)) => {
                Domain::Steps {
                    from: *from,
                    to: *to,
                    by: *by,
                }
            }
            _ => Domain::Computed {
                from: first,
                to: last,
                by: step,
            },
        };
        Ok((domain, ValueType::Integer))
    }

    fn is_undefined(&mut self, tree: &tree::Expr<'s>) -> Resolved<(ExprKind, ValueType)> {
        let place = match self.operand(tree)? {
            Operand::Designator(place) => place,
            // Constants and loop variables are always defined.
            Operand::Value(_) => return Ok((ExprKind::Constant(0), BOOLEAN)),
        };
        if !self.types[place.type_id].is_simple() {
            let found = self.types.describe(place.type_id);
            return Err(self.report(ModelErrorKind::UndefinedComposite { found }, tree.span));
        }
        Ok((ExprKind::IsUndefined(Box::new(place)), BOOLEAN))
    }

    fn is_member(
        &mut self,
        tree: &tree::Expr<'s>,
        type_tree: &tree::TypeTree<'s>,
    ) -> Resolved<(ExprKind, ValueType)> {
        let operand = self.expr(tree);
        let id = self.type_id(type_tree)?;
        let operand = operand?;
        let (first, last) = match operand.value_type {
            ValueType::Of(of) if of == id => self.types[id].bounds().unwrap_or((0, -1)),
            ValueType::Of(of) => match &self.types[of].kind {
                TypeKind::Union(members) => match members.iter().find(|m| m.type_id == id) {
                    Some(member) => (member.first, member.first + member.size - 1),
                    None => (0, -1),
                },
                TypeKind::Enum(_) | TypeKind::Scalarset(_) => (0, -1),
                _ => {
                    let wanted = "a value of a union".into();
                    return Err(self.mismatch(operand.value_type, wanted, tree.span));
                }
            },
            other => return Err(self.mismatch(other, "a value of a union".into(), tree.span)),
        };
        let kind = ExprKind::IsMember {
            operand: Box::new(operand),
            first,
            last,
        };
        Ok((kind, BOOLEAN))
    }

    /// `name : multiset, condition`.
    pub(super) fn multiset_condition(
        &mut self,
        binder: Name<'s>,
        multiset: &tree::Expr<'s>,
        condition: &tree::Expr<'s>,
    ) -> Resolved<(SlotId, Designator, Expr)> {
        let multiset = self.multiset(multiset);
        self.scoped(|r| {
            let slot = match &multiset {
                Ok(multiset) => Ok(r.element_slot(binder, multiset)),
                Err(Reported) => {
                    r.declare(binder, Symbol::Broken);
                    Err(Reported)
                }
            };
            let condition = r.condition(condition)?;
            Ok((slot?, multiset?, condition))
        })
    }

    /// Declares a name for an element of a multiset.
    pub(super) fn element_slot(&mut self, binder: Name<'s>, multiset: &Designator) -> SlotId {
        let kind = SlotKind::Value(ValueType::Element(multiset.type_id));
        let slot = self.slot(binder.text, kind, false);
        self.declare(binder, Symbol::Slot(slot));
        slot
    }

    /// A multiset.
    pub(super) fn multiset(&mut self, tree: &tree::Expr<'s>) -> Resolved<Designator> {
        let place = self.place(tree, "take elements from")?;
        match self.types[place.type_id].kind {
            TypeKind::Multiset { .. } => Ok(place),
            _ => {
                let found = ValueType::Of(place.type_id);
                Err(self.mismatch(found, "a multiset".into(), tree.span))
            }
        }
    }
}

/// Reads a place.
pub(super) fn read(place: Designator) -> Expr {
    Expr {
        value_type: ValueType::Of(place.type_id),
        span: place.span,
        kind: ExprKind::Read(place),
    }
}
