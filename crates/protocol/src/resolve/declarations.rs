//! Constants, types and variables.

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::scopes::Symbol;
use super::{Reported, Resolved, Resolver};
use crate::limits::Limits;
use crate::model::code::{SlotKind, ValueType};
use crate::model::types::{Field, TypeId, TypeKind, Types, UnionMember};
use crate::model::{Constant, Global, GlobalId};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::tree::{Declaration, Expr, File, Name, TypeTree, TypeTreeKind};
use fencepost_diagnostics::Position;
use fencepost_diagnostics::nearest;
use fencepost_diagnostics::quoted;

impl<'s> Resolver<'s, '_> {
    /// The declarations at the outermost level.
    pub(super) fn globals(&mut self, file: &File<'s>) {
        for declaration in &file.declarations {
            match declaration {
                Declaration::Variable(names, tree) => {
                    let type_id = self.type_id(tree);
                    for name in names {
                        self.global(*name, type_id);
                    }
                }
                Declaration::Constant(names, tree) => self.constant(names, tree, true),
                Declaration::Type(names, tree) => self.named_type(names, tree),
            }
        }
        let cells = self.globals.iter().map(|g| self.types[g.type_id].cells);
        let cells = cells.fold(0_u64, u64::saturating_add);
        if cells > self.limits.cells {
            let last = self.globals.last().map_or(Span::default(), |g| g.span);
            self.report(
                ModelErrorKind::limit("cells in the state", self.limits.cells),
                last,
            );
        }
    }

    fn global(&mut self, name: Name<'s>, type_id: Resolved<TypeId>) {
        let Ok(type_id) = type_id else {
            return self.declare(name, Symbol::Broken);
        };
        let id = GlobalId(self.globals.len() as u32);
        self.globals.push(Global {
            name: name.text.into(),
            type_id,
            span: name.span,
        });
        self.declare(name, Symbol::Global(id));
    }

    /// The declarations of a routine.
    pub(super) fn locals(&mut self, declarations: &[Declaration<'s>]) {
        for declaration in declarations {
            match declaration {
                Declaration::Variable(names, tree) => {
                    let type_id = self.type_id(tree);
                    for name in names {
                        let symbol = match type_id {
                            Ok(id) => {
                                self.count_local(id, name.span);
                                let kind = SlotKind::Variable(id);
                                Symbol::Slot(self.slot(name.text, kind, true))
                            }
                            Err(Reported) => Symbol::Broken,
                        };
                        self.declare(*name, symbol);
                    }
                }
                Declaration::Constant(names, tree) => self.constant(names, tree, false),
                Declaration::Type(names, tree) => self.named_type(names, tree),
            }
        }
    }

    fn count_local(&mut self, id: TypeId, span: Span) {
        let cells = self.types[id].cells;
        self.local_cells = self.local_cells.saturating_add(cells);
        if self.local_cells > self.limits.cells {
            let error = ModelErrorKind::limit("cells in local variables", self.limits.cells);
            self.report(error, span);
        }
    }

    fn named_type(&mut self, names: &[Name<'s>], tree: &TypeTree<'s>) {
        let type_id = self.type_id(tree);
        for name in names {
            let symbol = match type_id {
                Ok(id) => {
                    // Equal ranges are one type, so that the name of one would show in others.
                    let id = match self.types[id].kind {
                        TypeKind::Range(low, high) if self.types[id].name.is_none() => {
                            self.types.add(TypeKind::Range(low, high), tree.span)
                        }
                        _ => id,
                    };
                    self.types.name(id, name.text);
                    Symbol::Type(id)
                }
                Err(Reported) => Symbol::Broken,
            };
            self.declare(*name, symbol);
        }
    }

    fn constant(&mut self, names: &[Name<'s>], tree: &Expr<'s>, can_be_given: bool) {
        let value = self.constant_value(tree, "a constant");
        for name in names {
            let symbol = match value {
                Ok((value, value_type)) => {
                    let given = match can_be_given {
                        true => self.given_value(*name, value_type),
                        false => None,
                    };
                    let value = given.unwrap_or(value);
                    if can_be_given {
                        self.constants.push(Constant {
                            name: name.text.into(),
                            value,
                            is_given: given.is_some(),
                            is_boolean: self.is_boolean_type(value_type),
                        });
                    }
                    Symbol::Constant(value, value_type)
                }
                Err(Reported) => Symbol::Broken,
            };
            self.declare(*name, symbol);
        }
    }

    fn is_boolean_type(&self, value_type: ValueType) -> bool {
        match value_type {
            ValueType::Of(id) => matches!(self.types[id].kind, TypeKind::Boolean),
            _ => false,
        }
    }

    /// The override of a constant. The last one counts.
    fn given_value(&mut self, name: Name<'s>, value_type: ValueType) -> Option<i64> {
        let mut given = self.given.iter().rev();
        let (_, value) = given.find(|(given, _)| given == name.text)?;
        let fits = match value_type {
            ValueType::Integer => true,
            ValueType::Of(id) => match self.types[id].kind {
                TypeKind::Range(..) => true,
                TypeKind::Boolean => matches!(value, 0 | 1),
                _ => false,
            },
            ValueType::Element(_) => false,
        };
        if !fits {
            let error = ModelErrorKind::WrongOverride {
                found: self.describe(value_type),
                value: *value,
            };
            self.report(error, name.span);
            return None;
        }
        Some(*value)
    }

    /// Reports overrides of unknown constants.
    pub(super) fn check_given(&mut self) {
        for (name, _) in self.given {
            let is_there = self.constants.iter().any(|c| c.name == *name);
            if !is_there && self.errors.is_empty() {
                let names = self.constants.iter().map(|c| c.name.as_str());
                let error = ModelErrorKind::UnknownOverride {
                    name: quoted(name),
                    suggestion: nearest(name, names.clone()),
                    declared: names.map(str::to_owned).collect(),
                };
                self.report(error, Span::default());
            }
        }
    }

    /// A constant and its type.
    pub(super) fn constant_value(
        &mut self,
        tree: &Expr<'s>,
        used_as: &'static str,
    ) -> Resolved<(i64, ValueType)> {
        let expr = self.expr(tree)?;
        match expr.kind {
            crate::model::code::ExprKind::Constant(value) => Ok((value, expr.value_type)),
            _ => {
                let error = self.why_not_constant(&expr, used_as);
                Err(self.report(error, tree.span))
            }
        }
    }

    fn constant_integer(&mut self, tree: &Expr<'s>, used_as: &'static str) -> Resolved<i64> {
        let (value, value_type) = self.constant_value(tree, used_as)?;
        match self.is_integer(value_type) {
            true => Ok(value),
            false => Err(self.mismatch(value_type, "an integer".into(), tree.span)),
        }
    }

    /// A type.
    pub(super) fn type_id(&mut self, tree: &TypeTree<'s>) -> Resolved<TypeId> {
        let kind = match &tree.kind {
            TypeTreeKind::Named(name) => return self.type_named(name, tree.span),
            TypeTreeKind::Range(low, high) => return self.range(low, high, tree.span),
            TypeTreeKind::Enum(members) => return Ok(self.enum_type(members, tree.span)),
            TypeTreeKind::Record(fields) => return self.record(fields, tree.span),
            TypeTreeKind::Array(index, element) => {
                let index_id = self.type_id(index);
                let element = self.type_id(element)?;
                let index = self.simple(index_id?, index.span, "the index of an array")?;
                TypeKind::Array { index, element }
            }
            TypeTreeKind::Scalarset(size) => {
                let found = self.constant_integer(size, "the size of a scalarset")?;
                let allowed = self.limits.scalarset;
                TypeKind::Scalarset(self.size(found, allowed, "scalarset", size.span)?)
            }
            TypeTreeKind::Multiset(size, element) => {
                let found = self.constant_integer(size, "the size of a multiset");
                let element = self.type_id(element)?;
                let allowed = u32::try_from(self.limits.cells).unwrap_or(u32::MAX);
                let capacity = self.size(found?, allowed, "multiset", size.span)?;
                TypeKind::Multiset { capacity, element }
            }
            TypeTreeKind::Union(members) => self.union(members)?,
        };
        self.sized(kind, tree.span)
    }

    /// Adds a type, unless it is too large.
    fn sized(&mut self, kind: TypeKind, span: Span) -> Resolved<TypeId> {
        let id = self.types.add(kind, span);
        let (cells, depth) = (self.types[id].cells, usize::from(self.types[id].depth));
        if cells > self.limits.cells {
            let error = ModelErrorKind::limit("cells in a variable", self.limits.cells);
            return Err(self.report(error, span));
        }
        let nesting = self.limits.nesting.min(Limits::DEEPEST_NESTING);
        if depth > nesting {
            let error = ModelErrorKind::limit("levels of nesting", nesting as u64);
            return Err(self.report(error, span));
        }
        Ok(id)
    }

    fn type_named(&mut self, name: &str, span: Span) -> Resolved<TypeId> {
        match self.look_up(name, span, "type")? {
            Symbol::Type(id) => Ok(id),
            other => Err(self.other_kind(name, span, other, "a type")),
        }
    }

    fn size(&mut self, found: i64, allowed: u32, what: &'static str, span: Span) -> Resolved<u32> {
        if found < 1 {
            return Err(self.report(ModelErrorKind::BadSize { what, found }, span));
        }
        match u32::try_from(found) {
            Ok(size) if size <= allowed => Ok(size),
            _ => {
                let what = match what {
                    "scalarset" => "values in a scalarset",
                    _ => "elements in a multiset",
                };
                Err(self.report(ModelErrorKind::limit(what, u64::from(allowed)), span))
            }
        }
    }

    fn range(&mut self, low: &Expr<'s>, high: &Expr<'s>, span: Span) -> Resolved<TypeId> {
        let low = self.constant_integer(low, "the beginning of a range");
        let high = self.constant_integer(high, "the end of a range")?;
        let low = low?;
        if high < low {
            return Err(self.report(ModelErrorKind::EmptyRange { low, high }, span));
        }
        let types = &mut self.types;
        let known = self.ranges.entry((low, high));
        Ok(*known.or_insert_with(|| types.add(TypeKind::Range(low, high), span)))
    }

    fn enum_type(&mut self, members: &[Name<'s>], span: Span) -> TypeId {
        let names = members.iter().map(|name| name.text.into()).collect();
        let id = self.types.add(TypeKind::Enum(names), span);
        for (value, name) in members.iter().enumerate() {
            let symbol = Symbol::Constant(value as i64, ValueType::Of(id));
            self.declare(*name, symbol);
        }
        id
    }

    fn record(&mut self, groups: &[(Vec<Name<'s>>, TypeTree<'s>)], span: Span) -> Resolved<TypeId> {
        let mut fields: Vec<Field> = Vec::new();
        let mut names_before: HashMap<&'s str, (u32, Span), FxBuildHasher> = HashMap::default();
        let mut failed = false;
        for (names, tree) in groups {
            let Ok(type_id) = self.type_id(tree) else {
                failed = true;
                continue;
            };
            for name in names {
                let number = fields.len() as u32;
                if let Some((_, before)) = names_before.insert(name.text, (number, name.span)) {
                    failed = true;
                    if !self.is_full() {
                        let error = ModelErrorKind::Duplicate {
                            name: quoted(name.text),
                            before: Some(Position::of(self.source, before.start as usize)),
                        };
                        self.report(error, name.span);
                    }
                    continue;
                }
                fields.push(Field {
                    name: name.text.into(),
                    type_id,
                });
            }
        }
        if failed {
            return Err(Reported);
        }
        let id = self.sized(TypeKind::Record(fields), span)?;
        for (name, (number, _)) in names_before {
            self.fields.insert((id, name), number);
        }
        Ok(id)
    }

    fn union(&mut self, trees: &[TypeTree<'s>]) -> Resolved<TypeKind> {
        let mut ids: Vec<TypeId> = Vec::new();
        let mut known: HashSet<TypeId, FxBuildHasher> = HashSet::default();
        for tree in trees {
            let id = self.type_id(tree)?;
            let found = self.types.describe(id);
            let parts = match &self.types[id].kind {
                TypeKind::Enum(_) | TypeKind::Scalarset(_) => vec![id],
                TypeKind::Union(members) => members.iter().map(|m| m.type_id).collect(),
                _ => return Err(self.report(ModelErrorKind::BadUnionMember { found }, tree.span)),
            };
            for part in parts {
                if !known.insert(part) {
                    return Err(self.report(ModelErrorKind::UnionMemberTwice { found }, tree.span));
                }
                ids.push(part);
            }
        }
        // CMurphi goes through the values of a union in the order of declaration.
        ids.sort_unstable();
        let mut first = 0;
        let mut members = Vec::new();
        for type_id in ids {
            let (low, high) = self.types[type_id].bounds().unwrap_or((0, 0));
            let size = high - low + 1;
            members.push(UnionMember {
                type_id,
                first,
                size,
            });
            first += size;
        }
        Ok(TypeKind::Union(members))
    }

    /// A type whose values can be enumerated.
    pub(super) fn simple(
        &mut self,
        id: TypeId,
        span: Span,
        used_for: &'static str,
    ) -> Resolved<TypeId> {
        if self.types[id].is_simple() {
            return Ok(id);
        }
        let found = self.types.describe(id);
        Err(self.report(ModelErrorKind::NotEnumerable { found, used_for }, span))
    }

    /// Whether values of the type are integers.
    pub(super) fn is_integer(&self, value_type: ValueType) -> bool {
        match value_type {
            ValueType::Integer => true,
            ValueType::Of(id) => matches!(self.types[id].kind, TypeKind::Range(..)),
            ValueType::Element(_) => false,
        }
    }

    pub(super) fn is_boolean(&self, value_type: ValueType) -> bool {
        value_type == ValueType::Of(Types::BOOLEAN)
    }
}
