//! Type compatibility and conversions.

use std::sync::Arc;

use super::{Reported, Resolved, Resolver};
use crate::model::code::{Expr, ExprKind, ValueType};
use crate::model::types::{TypeId, TypeKind, UnionMember};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;

/// The conversion of values of one type to another.
pub(super) enum Conversion {
    /// The same value.
    None,
    /// By a table.
    Table(Arc<[i64]>),
}

impl Resolver<'_, '_> {
    /// The type in messages.
    pub(super) fn describe(&self, value_type: ValueType) -> String {
        match value_type {
            ValueType::Integer => "an integer".into(),
            ValueType::Of(id) => self.types.describe(id),
            ValueType::Element(id) => format!("an element of {}", self.types.describe(id)),
        }
    }

    pub(super) fn mismatch(&mut self, found: ValueType, wanted: String, span: Span) -> Reported {
        let found = self.describe(found);
        self.report(ModelErrorKind::TypeMismatch { found, wanted }, span)
    }

    /// The enums and scalarsets whose values a simple type has.
    fn members(&self, id: TypeId) -> Vec<UnionMember> {
        match &self.types[id].kind {
            TypeKind::Union(members) => members.clone(),
            TypeKind::Enum(_) | TypeKind::Scalarset(_) => {
                let (_, last) = self.types[id].bounds().unwrap_or((0, 0));
                vec![UnionMember {
                    type_id: id,
                    first: 0,
                    size: last + 1,
                }]
            }
            _ => Vec::new(),
        }
    }

    /// The conversion from one type to another, if they are compatible. Integers of all ranges are
    /// compatible, a union is compatible with its members and with unions that share some, and any
    /// other type only with itself.
    pub(super) fn conversion(&mut self, from: ValueType, to: ValueType) -> Option<Conversion> {
        if self.is_integer(from) && self.is_integer(to) {
            return Some(Conversion::None);
        }
        let (ValueType::Of(from), ValueType::Of(to)) = (from, to) else {
            return None;
        };
        if self.types.same(from, to) {
            return Some(Conversion::None);
        }
        if let Some(known) = self.conversions.get(&(from, to)) {
            return known.clone().map(Conversion::Table);
        }
        let table = self.table(from, to);
        self.conversions.insert((from, to), table.clone());
        table.map(Conversion::Table)
    }

    /// The table of converted values of an enum, scalarset or union.
    fn table(&mut self, from: TypeId, to: TypeId) -> Option<Arc<[i64]>> {
        let (sources, targets) = (self.members(from), self.members(to));
        let size = self.types[from].cardinality().unwrap_or(0);
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        if !sources
            .iter()
            .any(|s| targets.iter().any(|t| t.type_id == s.type_id))
        {
            return None;
        }
        self.converted_values = self.converted_values.saturating_add(size);
        if self.converted_values > self.limits.cells {
            let span = self.types[from].span;
            self.report(
                ModelErrorKind::limit("values to convert", self.limits.cells),
                span,
            );
            return None;
        }
        let mut table = Vec::new();
        for source in sources {
            let target = targets.iter().find(|t| t.type_id == source.type_id);
            for offset in 0..source.size {
                table.push(match target {
                    Some(target) => target.first + offset,
                    None => -1 - (source.first + offset),
                });
            }
        }
        Some(table.into())
    }

    /// Converts an expression to the wanted type.
    pub(super) fn coerce(&mut self, expr: Expr, wanted: ValueType) -> Resolved<Expr> {
        match self.conversion(expr.value_type, wanted) {
            Some(Conversion::None) => Ok(expr),
            Some(Conversion::Table(table)) => Ok(converted(expr, table, wanted)),
            None => {
                let wanted = self.describe(wanted);
                Err(self.mismatch(expr.value_type, wanted, expr.span))
            }
        }
    }

    /// Two values made comparable, or their types.
    pub(super) fn unify(
        &mut self,
        left: Expr,
        right: Expr,
    ) -> Result<(Expr, Expr), (ValueType, ValueType)> {
        let types = (left.value_type, right.value_type);
        let is_union = |value_type| match value_type {
            ValueType::Of(id) => matches!(self.types[id].kind, TypeKind::Union(_)),
            _ => false,
        };
        let keeps_left = is_union(left.value_type) || !is_union(right.value_type);
        // A member becomes a value of the union, so that no value is lost.
        if keeps_left {
            match self.conversion(right.value_type, left.value_type) {
                Some(Conversion::None) => Ok((left, right)),
                Some(Conversion::Table(table)) => {
                    let wanted = left.value_type;
                    Ok((left, converted(right, table, wanted)))
                }
                None => Err(types),
            }
        } else {
            match self.conversion(left.value_type, right.value_type) {
                Some(Conversion::None) => Ok((left, right)),
                Some(Conversion::Table(table)) => {
                    let wanted = right.value_type;
                    Ok((converted(left, table, wanted), right))
                }
                None => Err(types),
            }
        }
    }
}

fn converted(expr: Expr, table: Arc<[i64]>, value_type: ValueType) -> Expr {
    let span = expr.span;
    let kind = match expr.kind {
        ExprKind::Constant(value) if (0..table.len() as i64).contains(&value) => {
            ExprKind::Constant(table[value as usize])
        }
        _ => ExprKind::Convert {
            operand: Box::new(expr),
            table,
        },
    };
    Expr {
        kind,
        value_type,
        span,
    }
}
