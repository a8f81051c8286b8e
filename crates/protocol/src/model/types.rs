//! The table of types.

use std::ops::Index;

use crate::source::Span;

/// The id of a type: an index into [`Types`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub u32);

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Type {
    /// The first name that was given to it.
    pub name: Option<String>,
    /// What it is.
    pub kind: TypeKind,
    /// Where it is written; empty for what is built in.
    pub span: Span,
    /// The number of simple places of a variable. An element of a multiset has one more, which
    /// says whether the element is there.
    pub cells: u64,
    /// The number of bits of a packed variable; undefined counts as a value.
    pub bits: u64,
    /// How deep types are nested in it; 0 for simple ones.
    pub depth: u16,
    /// Whether values of a scalarset, or a union with one, are in it. A scalarset of one value
    /// counts too.
    pub has_scalarset: bool,
}

/// The kind of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// `boolean`.
    Boolean,
    /// `enum`, with its members in order.
    Enum(Vec<String>),
    /// Integers from the first to the last.
    Range(i64, i64),
    /// `scalarset`, with its size.
    Scalarset(u32),
    /// `union`, with its members in the order of their declaration.
    Union(Vec<UnionMember>),
    /// `record`, with its fields in order.
    Record(Vec<Field>),
    /// `array`.
    Array {
        /// The type of the index, which is simple.
        index: TypeId,
        /// The type of the elements.
        element: TypeId,
    },
    /// `multiset`.
    Multiset {
        /// How many elements it holds at most.
        capacity: u32,
        /// The type of the elements.
        element: TypeId,
    },
}

/// A part of a union.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnionMember {
    /// An enum or a scalarset.
    pub type_id: TypeId,
    /// The value of the union that its first value is.
    pub first: i64,
    /// How many values it has.
    pub size: i64,
}

/// A field of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_id: TypeId,
}

impl Type {
    /// The least and the greatest value, if it is simple.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        match &self.kind {
            TypeKind::Boolean => Some((0, 1)),
            TypeKind::Enum(members) => Some((0, members.len() as i64 - 1)),
            TypeKind::Range(low, high) => Some((*low, *high)),
            TypeKind::Scalarset(size) => Some((0, i64::from(*size) - 1)),
            TypeKind::Union(members) => {
                let size: i64 = members.iter().map(|member| member.size).sum();
                Some((0, size - 1))
            }
            TypeKind::Record(_) | TypeKind::Array { .. } | TypeKind::Multiset { .. } => None,
        }
    }

    /// Whether it is no record, array or multiset.
    pub fn is_simple(&self) -> bool {
        self.bounds().is_some()
    }

    /// How many values it has, without undefined, if it is simple. A range may have 2^64.
    pub fn cardinality(&self) -> Option<u128> {
        self.bounds()
            .map(|(low, high)| (i128::from(high) - i128::from(low) + 1) as u128)
    }

    /// Whether an undefined value of it can be read without an error, as in CMurphi: it is equal to
    /// undefined values and different from all others.
    pub fn reads_undefined(&self) -> bool {
        matches!(self.kind, TypeKind::Scalarset(_) | TypeKind::Union(_))
    }
}

/// All types of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Types {
    all: Vec<Type>,
}

impl Index<TypeId> for Types {
    type Output = Type;

    fn index(&self, id: TypeId) -> &Type {
        &self.all[id.0 as usize]
    }
}

impl Types {
    /// `boolean`, which is always there.
    pub const BOOLEAN: TypeId = TypeId(0);

    /// Only what is built in.
    pub(crate) fn new() -> Types {
        let boolean = Type {
            name: Some("boolean".into()),
            kind: TypeKind::Boolean,
            span: Span::default(),
            cells: 1,
            bits: 2,
            depth: 0,
            has_scalarset: false,
        };
        Types { all: vec![boolean] }
    }

    /// Adds a type whose parts are there. Sizes that do not fit are [`u64::MAX`]; whoever adds
    /// compares them with the limits.
    pub(crate) fn add(&mut self, kind: TypeKind, span: Span) -> TypeId {
        let mut made = Type {
            name: None,
            kind,
            span,
            cells: 1,
            bits: 1,
            depth: 0,
            has_scalarset: false,
        };
        if let Some(cardinality) = made.cardinality() {
            // One more value for undefined; n values take the bits of n - 1.
            made.bits = u64::from(u128::BITS - cardinality.leading_zeros());
            made.has_scalarset = self.has_scalarset_values(&made.kind);
        } else {
            self.measure(&mut made);
        }
        let id = TypeId(self.all.len() as u32);
        self.all.push(made);
        id
    }

    fn has_scalarset_values(&self, kind: &TypeKind) -> bool {
        match kind {
            TypeKind::Scalarset(_) => true,
            TypeKind::Union(members) => members.iter().any(|m| self[m.type_id].has_scalarset),
            _ => false,
        }
    }

    /// The sizes of a record, an array or a multiset.
    fn measure(&self, made: &mut Type) {
        let (parts, times, flags): (Vec<TypeId>, u64, u64) = match &made.kind {
            TypeKind::Record(fields) => (fields.iter().map(|f| f.type_id).collect(), 1, 0),
            TypeKind::Array { index, element } => {
                let size = self[*index].cardinality().unwrap_or(1);
                (vec![*element], u64::try_from(size).unwrap_or(u64::MAX), 0)
            }
            TypeKind::Multiset { capacity, element } => (vec![*element], u64::from(*capacity), 1),
            _ => return,
        };
        let total = |of: fn(&Type) -> u64| {
            let sizes = parts.iter().map(|&part| of(&self[part]));
            let one = sizes.fold(flags, u64::saturating_add);
            one.saturating_mul(times)
        };
        (made.cells, made.bits) = (total(|t| t.cells), total(|t| t.bits));
        let deepest = parts.iter().map(|&part| self[part].depth).max();
        made.depth = deepest.unwrap_or(0).saturating_add(1);
        made.has_scalarset = parts.iter().any(|&part| self[part].has_scalarset);
    }

    /// Gives a name to a type that has none.
    pub(crate) fn name(&mut self, id: TypeId, name: &str) {
        let named = &mut self.all[id.0 as usize].name;
        if named.is_none() {
            *named = Some(name.into());
        }
    }

    /// The number of types.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Always false: `boolean` is built in.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        let ids = (0..).map(TypeId);
        ids.zip(&self.all)
    }

    /// The scalarsets that have something to permute, with their sizes.
    pub fn scalarsets(&self) -> Vec<(TypeId, u32)> {
        self.iter()
            .filter_map(|(id, each)| match each.kind {
                TypeKind::Scalarset(size) if size > 1 => Some((id, size)),
                _ => None,
            })
            .collect()
    }

    /// Whether variables of the two types have the same values, so that one can be copied to the
    /// other as a whole. Enums and scalarsets are the same only as themselves.
    pub fn same(&self, left: TypeId, right: TypeId) -> bool {
        if left == right {
            return true;
        }
        match (&self[left].kind, &self[right].kind) {
            (TypeKind::Range(a, b), TypeKind::Range(c, d)) => (a, b) == (c, d),
            (TypeKind::Union(a), TypeKind::Union(b)) => a == b,
            (TypeKind::Record(a), TypeKind::Record(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(b)
                        .all(|(a, b)| a.name == b.name && self.same(a.type_id, b.type_id))
            }
            (
                TypeKind::Array { index, element },
                TypeKind::Array {
                    index: other_index,
                    element: other,
                },
            ) => self.same(*index, *other_index) && self.same(*element, *other),
            (
                TypeKind::Multiset { capacity, element },
                TypeKind::Multiset {
                    capacity: other_capacity,
                    element: other,
                },
            ) => capacity == other_capacity && self.same(*element, *other),
            _ => false,
        }
    }

    /// The type in messages: its name, or how it is written.
    pub fn describe(&self, id: TypeId) -> String {
        let this = &self[id];
        let named = |kind: &str| match &this.name {
            Some(name) => format!("{kind} `{name}`"),
            None => format!("{kind} without a name"),
        };
        match &this.kind {
            TypeKind::Boolean => "a boolean".into(),
            TypeKind::Enum(_) => named("a value of enum"),
            TypeKind::Range(low, high) => match &this.name {
                Some(name) => format!("an integer of `{name}` ({low}..{high})"),
                None => format!("an integer of {low}..{high}"),
            },
            TypeKind::Scalarset(_) => named("a value of scalarset"),
            TypeKind::Union(_) => named("a value of union"),
            TypeKind::Record(_) => named("a record"),
            TypeKind::Array { .. } => named("an array"),
            TypeKind::Multiset { .. } => named("a multiset"),
        }
    }

    /// A value as the model would write it. Values of scalarsets are called after their type, as
    /// CMurphi calls them: `Proc_1`.
    pub fn show(&self, id: TypeId, value: i64) -> String {
        let this = &self[id];
        match &this.kind {
            TypeKind::Boolean => (value != 0).to_string(),
            TypeKind::Enum(members) => match members.get(value as usize) {
                Some(member) => member.clone(),
                None => value.to_string(),
            },
            TypeKind::Scalarset(_) => {
                let name = this.name.as_deref().unwrap_or("scalarset");
                format!("{name}_{}", value + 1)
            }
            TypeKind::Union(members) => {
                let within = |m: &&UnionMember| (m.first..m.first + m.size).contains(&value);
                match members.iter().find(within) {
                    Some(member) => self.show(member.type_id, value - member.first),
                    None => value.to_string(),
                }
            }
            _ => value.to_string(),
        }
    }
}
