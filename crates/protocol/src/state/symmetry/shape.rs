//! Where values of scalarsets are in a state.

use std::ops::Range;

use crate::compile::Layout;
use crate::model::Model;
use crate::model::types::{TypeId, TypeKind, Types};

/// A scalarset with something to permute. Its values have numbers of their own among those of all
/// scalarsets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    pub first: u32,
    pub size: u32,
    /// Whether what is stored for its values, as indices of arrays, is each in a place of its own
    /// and holds no values of scalarsets. Then values that are held nowhere and for which the same
    /// is stored can be exchanged.
    pub is_plain: bool,
}

impl Set {
    pub fn values(&self) -> Range<usize> {
        self.first as usize..(self.first + self.size) as usize
    }
}

/// A part of a state.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Bytes that have nothing to do with scalarsets.
    Run(usize),
    /// A value of a scalarset, or of a union with one.
    Value(Value),
    Record(Vec<Part>),
    Array(Array),
    Multiset(Array),
}

#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Where it is, within what it is a part of.
    pub at: u32,
    pub node: Node,
}

#[derive(Clone, Debug)]
pub(super) struct Array {
    /// The number of the first value of the scalarset that is the index.
    pub set: Option<usize>,
    pub length: usize,
    pub stride: usize,
    pub element: Box<Node>,
    /// Whether values of scalarsets are held in elements, or are indices within them.
    pub is_deep: bool,
}

/// A simple place that may hold a value of a scalarset.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub bytes: usize,
    /// For each scalarset: its first value here, the value after its last, and the number of its
    /// first value among those of all scalarsets.
    members: Vec<(u64, u64, usize)>,
}

impl Value {
    /// What is stored there.
    pub fn read(&self, bytes: &[u8], at: usize) -> u64 {
        match self.bytes {
            1 => bytes[at].into(),
            2 => u16::from_le_bytes([bytes[at], bytes[at + 1]]).into(),
            wide => {
                let mut stored = [0; 8];
                stored[..wide].copy_from_slice(&bytes[at..at + wide]);
                u64::from_le_bytes(stored)
            }
        }
    }

    pub fn write(&self, bytes: &mut [u8], at: usize, stored: u64) {
        bytes[at..at + self.bytes].copy_from_slice(&stored.to_le_bytes()[..self.bytes]);
    }

    /// The first value of the scalarset that what is stored belongs to, and the number of that
    /// among those of all scalarsets.
    pub fn member(&self, stored: u64) -> Option<(u64, usize)> {
        let value = stored.checked_sub(1)?;
        let within = |(first, end, _): &&(u64, u64, usize)| (*first..*end).contains(&value);
        let member = self.members.iter().find(within)?;
        Some((member.0, member.2))
    }
}

/// Where values of scalarsets are in a state.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    pub sets: Vec<Set>,
    /// How many values all scalarsets have together.
    pub values: usize,
    /// What has to do with scalarsets or multisets.
    pub parts: Vec<Part>,
}

impl Shapes {
    pub fn new(model: &Model, layout: &Layout) -> Option<Shapes> {
        let mut sets = Vec::new();
        let mut first_of = vec![None; model.types.len()];
        let mut values = 0;
        for (id, size) in model.types.scalarsets() {
            first_of[id.0 as usize] = Some(values as usize);
            sets.push(Set {
                first: values,
                size,
                is_plain: true,
            });
            values += size;
        }
        if sets.is_empty() {
            return None;
        }
        let builder = Builder {
            types: &model.types,
            layout,
            first_of,
        };
        let mut parts = Vec::new();
        for (global, &at) in model.globals.iter().zip(&layout.globals) {
            let node = builder.node(global.type_id);
            if !matches!(node, Node::Run(_)) {
                parts.push(Part { at, node });
            }
        }
        let mut shapes = Shapes {
            sets,
            values: values as usize,
            parts,
        };
        let parts = std::mem::take(&mut shapes.parts);
        parts.iter().for_each(|part| shapes.find_deep(&part.node, false));
        shapes.parts = parts;
        Some(shapes)
    }

    /// `is_under` says whether it is within an element of an array with a scalarset as index, or
    /// of a multiset.
    fn find_deep(&mut self, node: &Node, is_under: bool) {
        match node {
            Node::Run(_) | Node::Value(_) => {}
            Node::Record(parts) => {
                parts.iter().for_each(|part| self.find_deep(&part.node, is_under));
            }
            Node::Array(array) => {
                if let Some(base) = array.set
                    && (array.is_deep || is_under)
                {
                    let sets = self.sets.iter_mut();
                    let mut sets = sets.filter(|set| set.first as usize == base);
                    if let Some(set) = sets.next() {
                        set.is_plain = false;
                    }
                }
                self.find_deep(&array.element, is_under || array.set.is_some());
            }
            Node::Multiset(array) => self.find_deep(&array.element, true),
        }
    }
}

struct Builder<'m> {
    types: &'m Types,
    layout: &'m Layout,
    first_of: Vec<Option<usize>>,
}

/// Whether values of scalarsets are held in it, or are indices within it.
fn is_deep(node: &Node) -> bool {
    match node {
        Node::Run(_) => false,
        Node::Value(_) => true,
        Node::Record(parts) => parts.iter().any(|part| is_deep(&part.node)),
        Node::Array(array) | Node::Multiset(array) => array.set.is_some() || array.is_deep,
    }
}

impl Builder<'_> {
    fn node(&self, id: TypeId) -> Node {
        let shape = self.layout.shape(id);
        let node = match &self.types[id].kind {
            TypeKind::Scalarset(size) => self.value(shape.bytes, &[(0, i64::from(*size), id)]),
            TypeKind::Union(members) => {
                let members: Vec<_> = members.iter().map(|m| (m.first, m.size, m.type_id)).collect();
                self.value(shape.bytes, &members)
            }
            TypeKind::Record(fields) => {
                let parts = fields.iter().zip(&shape.fields);
                let parts = parts.map(|(field, &at)| Part {
                    at,
                    node: self.node(field.type_id),
                });
                Node::Record(joined(parts.collect()))
            }
            TypeKind::Array { index, element } => self.array(*index, *element, shape.stride),
            TypeKind::Multiset { capacity, element } => {
                let element = self.node(*element);
                Node::Multiset(Array {
                    set: None,
                    length: *capacity as usize,
                    stride: shape.stride as usize,
                    is_deep: is_deep(&element),
                    element: Box::new(element),
                })
            }
            _ => Node::Run(shape.bytes as usize),
        };
        match &node {
            Node::Record(parts) => match &parts[..] {
                [] => Node::Run(0),
                [Part { node: Node::Run(bytes), .. }] => Node::Run(*bytes),
                _ => node,
            },
            Node::Array(array) if array.set.is_none() => match *array.element {
                Node::Run(bytes) => Node::Run(bytes * array.length),
                _ => node,
            },
            _ => node,
        }
    }

    fn value(&self, bytes: u32, members: &[(i64, i64, TypeId)]) -> Node {
        let members: Vec<_> = members
            .iter()
            .filter_map(|&(first, size, id)| {
                let base = self.first_of[id.0 as usize]?;
                Some((first as u64, (first + size) as u64, base))
            })
            .collect();
        let bytes = bytes as usize;
        match members.is_empty() {
            true => Node::Run(bytes),
            false => Node::Value(Value { bytes, members }),
        }
    }

    /// An array whose index is a union is one array after the other.
    fn array(&self, index: TypeId, element: TypeId, stride: u32) -> Node {
        let element = self.node(element);
        let one = |set: Option<usize>, length: i64| {
            Node::Array(Array {
                set,
                length: length as usize,
                stride: stride as usize,
                is_deep: is_deep(&element),
                element: Box::new(element.clone()),
            })
        };
        match &self.types[index].kind {
            TypeKind::Union(members) => {
                let parts = members.iter().map(|member| Part {
                    at: member.first as u32 * stride,
                    node: one(self.first_of[member.type_id.0 as usize], member.size),
                });
                Node::Record(parts.collect())
            }
            _ => {
                let length = self.types[index].cardinality().unwrap_or(0) as i64;
                one(self.first_of[index.0 as usize], length)
            }
        }
    }
}

/// Runs that follow each other become one.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::new();
    for part in parts {
        match (all.last_mut(), &part.node) {
            (
                Some(Part {
                    node: Node::Run(before),
                    ..
                }),
                Node::Run(bytes),
            ) => *before += bytes,
            _ => all.push(part),
        }
    }
    all
}
