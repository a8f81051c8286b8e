//! Variables and their parts.

use super::scopes::Symbol;
use super::{Reported, Resolved, Resolver};
use crate::model::code::{Designator, Expr, ExprKind, Root, SlotId, SlotKind, Step, ValueType};
use crate::model::types::{TypeId, TypeKind};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::tree;
use fencepost_diagnostics::nearest;
use fencepost_diagnostics::quoted;

/// A resolved name with its selections.
pub(super) enum Operand {
    Designator(Designator),
    Value(Expr),
}

impl<'s> Resolver<'s, '_> {
    /// A place if it is one, a value otherwise.
    pub(super) fn operand(&mut self, tree: &tree::Expr<'s>) -> Resolved<Operand> {
        match &tree.kind {
            tree::ExprKind::Name(name) => self.name(name, tree.span),
            tree::ExprKind::Field(whole, field) => {
                let place = self.part_of(whole, tree.span)?;
                Ok(Operand::Designator(self.field(place, *field)?))
            }
            tree::ExprKind::Index(whole, index) => {
                let place = self.part_of(whole, tree.span)?;
                Ok(Operand::Designator(self.element(place, index)?))
            }
            _ => Ok(Operand::Value(self.value(tree)?)),
        }
    }

    /// Resolves the operand of a selection, with the span of the selection.
    fn part_of(&mut self, whole: &tree::Expr<'s>, span: Span) -> Resolved<Designator> {
        match self.operand(whole)? {
            Operand::Designator(place) => Ok(Designator { span, ..place }),
            Operand::Value(value) => {
                let found = self.describe(value.value_type);
                let error = match self.is_composite(value.value_type) {
                    true => ModelErrorKind::NotAVariable {
                        used_for: "select from",
                    },
                    false => ModelErrorKind::NotARecord { found },
                };
                Err(self.report(error, whole.span))
            }
        }
    }

    fn is_composite(&self, value_type: ValueType) -> bool {
        matches!(value_type, ValueType::Of(id) if !self.types[id].is_simple())
    }

    fn name(&mut self, name: &str, span: Span) -> Resolved<Operand> {
        let is_undefined = name.eq_ignore_ascii_case("undefined");
        if is_undefined && self.scopes.look_up(name).is_none() {
            return Err(self.report(ModelErrorKind::UndefinedValue, span));
        }
        let place = |root, type_id| {
            Operand::Designator(Designator {
                root,
                steps: Vec::new(),
                type_id,
                span,
            })
        };
        match self.look_up(name, span, "name")? {
            Symbol::Constant(value, value_type) => Ok(Operand::Value(Expr {
                kind: ExprKind::Constant(value),
                value_type,
                span,
            })),
            Symbol::Global(id) => {
                let type_id = self.globals[id.0 as usize].type_id;
                Ok(place(Root::Global(id), type_id))
            }
            Symbol::Slot(slot) => match self.frame.slots[slot.0 as usize].kind {
                SlotKind::Variable(type_id)
                | SlotKind::Parameter(type_id)
                | SlotKind::Reference(type_id) => Ok(place(Root::Slot(slot), type_id)),
                SlotKind::Value(value_type) => Ok(Operand::Value(Expr {
                    kind: ExprKind::Slot(slot),
                    value_type,
                    span,
                })),
            },
            other => Err(self.other_kind(name, span, other, "a variable or a constant")),
        }
    }

    fn field(&mut self, mut place: Designator, field: tree::Name<'s>) -> Resolved<Designator> {
        let TypeKind::Record(fields) = &self.types[place.type_id].kind else {
            let found = self.types.describe(place.type_id);
            return Err(self.report(ModelErrorKind::NotARecord { found }, field.span));
        };
        match self.fields.get(&(place.type_id, field.text)) {
            Some(&number) => {
                place.type_id = fields[number as usize].type_id;
                place.steps.push(Step::Field(number));
                Ok(place)
            }
            None if self.is_full() => Err(Reported),
            None => {
                let error = ModelErrorKind::NoField {
                    found: quoted(field.text),
                    suggestion: nearest(field.text, fields.iter().map(|f| f.name.as_str())),
                };
                Err(self.report(error, field.span))
            }
        }
    }

    fn element(&mut self, mut place: Designator, tree: &tree::Expr<'s>) -> Resolved<Designator> {
        match self.types[place.type_id].kind {
            TypeKind::Array { index, element } => {
                let expr = self.expr(tree)?;
                let found = expr.value_type;
                if self.conversion(found, ValueType::Of(index)).is_none() {
                    let error = ModelErrorKind::WrongIndex {
                        found: self.describe(found),
                        wanted: self.types.describe(index),
                    };
                    return Err(self.report(error, tree.span));
                }
                let expr = self.coerce(expr, ValueType::Of(index))?;
                let (low, high) = self.types[index].bounds().unwrap_or((0, 0));
                if let ExprKind::Constant(found) = expr.kind
                    && !(low..=high).contains(&found)
                {
                    self.warn(ModelErrorKind::IndexOutside { found, low, high }, tree.span);
                }
                place.steps.push(Step::Index {
                    index: expr,
                    low,
                    high,
                });
                place.type_id = element;
                Ok(place)
            }
            TypeKind::Multiset { element, .. } => {
                let slot = self.multiset_index(tree, place.type_id)?;
                place.steps.push(Step::Element(slot));
                place.type_id = element;
                Ok(place)
            }
            _ => {
                let found = self.types.describe(place.type_id);
                Err(self.report(ModelErrorKind::NotAnArray { found }, place.span))
            }
        }
    }

    /// The slot of a name that stands for an element of a multiset of this type.
    pub(super) fn multiset_index(
        &mut self,
        tree: &tree::Expr<'s>,
        multiset: TypeId,
    ) -> Resolved<SlotId> {
        let expr = self.expr(tree)?;
        match (expr.kind, expr.value_type) {
            (ExprKind::Slot(slot), ValueType::Element(of)) if self.types.same(of, multiset) => {
                Ok(slot)
            }
            (ExprKind::Slot(slot), ValueType::Element(_)) => {
                let name = self.frame.slots[slot.0 as usize].name.clone();
                Err(self.report(ModelErrorKind::OtherMultiset { name }, tree.span))
            }
            (_, found) => {
                let wanted = format!("an element of {}", self.types.describe(multiset));
                Err(self.mismatch(found, wanted, tree.span))
            }
        }
    }

    /// A place, whether or not it can be assigned.
    pub(super) fn place(
        &mut self,
        tree: &tree::Expr<'s>,
        used_for: &'static str,
    ) -> Resolved<Designator> {
        match self.operand(tree)? {
            Operand::Designator(place) => Ok(place),
            Operand::Value(_) => {
                Err(self.report(ModelErrorKind::NotAVariable { used_for }, tree.span))
            }
        }
    }

    /// Whether a place can be assigned.
    pub(super) fn is_writable(&self, place: &Designator) -> bool {
        match place.root {
            Root::Global(_) => true,
            Root::Slot(slot) => self.writable[slot.0 as usize],
        }
    }

    /// A place that can be assigned.
    pub(super) fn target(
        &mut self,
        tree: &tree::Expr<'s>,
        used_for: &'static str,
    ) -> Resolved<Designator> {
        let place = match self.operand(tree)? {
            Operand::Designator(place) => place,
            Operand::Value(value) => return Err(self.fixed_value(tree, &value, used_for)),
        };
        match place.root {
            Root::Slot(slot) if !self.writable[slot.0 as usize] => {
                let name = &self.frame.slots[slot.0 as usize].name;
                let is_parameter = matches!(
                    self.frame.slots[slot.0 as usize].kind,
                    SlotKind::Parameter(_)
                );
                let (what, instead) = match is_parameter {
                    true => (
                        format!("parameter `{name}`"),
                        "declare it as a `var` parameter, or copy it to a local variable",
                    ),
                    false => (
                        format!("`{name}`"),
                        "it stands for a part of a parameter that is not `var`",
                    ),
                };
                Err(self.report(ModelErrorKind::ReadOnly { what, instead }, tree.span))
            }
            _ => Ok(place),
        }
    }

    fn fixed_value(
        &mut self,
        tree: &tree::Expr<'s>,
        value: &Expr,
        used_for: &'static str,
    ) -> Reported {
        let error = match (&tree.kind, &value.kind) {
            (tree::ExprKind::Name(name), ExprKind::Constant(_)) => ModelErrorKind::ReadOnly {
                what: format!("constant `{}`", quoted(name)),
                instead: "declare it in a `var` section if it changes",
            },
            (tree::ExprKind::Name(name), ExprKind::Slot(_)) => ModelErrorKind::ReadOnly {
                what: format!("`{}`", quoted(name)),
                instead: "parameters of rules, loop variables and names of values are fixed",
            },
            _ => ModelErrorKind::NotAVariable { used_for },
        };
        self.report(error, tree.span)
    }
}
