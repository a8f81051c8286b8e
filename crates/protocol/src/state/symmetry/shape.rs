//! The positions of scalarset values in a state.

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
    /// A value of a scalarset, or of a union with one, in one byte: where it is in tables that have
    /// something for each value that can be stored.
    Byte(usize),
    /// The same in several bytes.
    Wide(Wide),
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
    /// The bytes of an element in which values of scalarsets can be. Nothing if scalarsets are
    /// indices within elements.
    pub holders: Option<Box<[u8]>>,
}

impl Array {
    /// Whether each element is one byte, and nothing that has parts of its own: a record of one
    /// byte can hold a value of a scalarset, too.
    pub fn is_of_bytes(&self) -> bool {
        self.stride == 1 && matches!(*self.element, Node::Run(_) | Node::Byte(_))
    }

    /// Whether an element holds no values of scalarsets, so that it is only bytes.
    pub fn is_only_bytes(&self, element: &[u8]) -> bool {
        let Some(holders) = &self.holders else {
            return false;
        };
        let (words, rest) = element.as_chunks::<8>();
        let (masks, last_masks) = holders.as_chunks::<8>();
        let held = words.iter().zip(masks).fold(0, |held, (word, mask)| {
            held | u64::from_le_bytes(*word) & u64::from_le_bytes(*mask)
        });
        let last = rest.iter().zip(last_masks);
        held == 0 && last.fold(0, |held, (byte, mask)| held | byte & mask) == 0
    }
}

/// Marks the bytes in which values of scalarsets can be; whether scalarsets are no indices.
fn mark_holders(node: &Node, holders: &mut [u8]) -> bool {
    match node {
        Node::Run(_) => true,
        Node::Byte(_) => {
            holders[0] = u8::MAX;
            true
        }
        Node::Wide(wide) => {
            holders[..wide.bytes].fill(u8::MAX);
            true
        }
        Node::Record(parts) => parts
            .iter()
            .all(|part| mark_holders(&part.node, &mut holders[part.at as usize..])),
        Node::Array(array) => {
            array.set.is_none()
                && (0..array.length).all(|number| {
                    mark_holders(&array.element, &mut holders[number * array.stride..])
                })
        }
        // The elements of multisets are sorted besides.
        Node::Multiset(_) => false,
    }
}

fn holders(node: &Node, bytes: usize) -> Option<Box<[u8]>> {
    let mut holders = vec![0; bytes].into_boxed_slice();
    mark_holders(node, &mut holders).then_some(holders)
}

/// A scalarset within a type: its first value there, the value after its last, and the number of
/// its first value among those of all scalarsets.
type Member = (u64, u64, usize);

/// A type whose values take one byte, some of which are of scalarsets.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// Where it begins in tables that have something for each value that can be stored.
    pub at: usize,
    /// How many values can be stored, undefined included.
    pub size: usize,
    members: Vec<Member>,
}

impl Kind {
    /// The number of a value among those of all scalarsets, with the number of the first one and
    /// what is stored for that.
    pub fn value(&self, stored: usize) -> Option<(usize, usize, usize)> {
        let (first, base) = member(&self.members, stored as u64)?;
        let first = first as usize;
        Some((base + stored - 1 - first, base, first + 1))
    }
}

/// A simple place of several bytes that may hold a value of a scalarset.
#[derive(Clone, Debug)]
pub(super) struct Wide {
    pub bytes: usize,
    members: Vec<Member>,
}

/// The first value of the scalarset that what is stored belongs to, and the number of that among
/// those of all scalarsets.
fn member(members: &[Member], stored: u64) -> Option<(u64, usize)> {
    let value = stored.checked_sub(1)?;
    let within = |(first, end, _): &&Member| (*first..*end).contains(&value);
    let member = members.iter().find(within)?;
    Some((member.0, member.2))
}

impl Wide {
    /// What is stored there.
    pub fn read(&self, bytes: &[u8], at: usize) -> u64 {
        let mut stored = [0; 8];
        stored[..self.bytes].copy_from_slice(&bytes[at..at + self.bytes]);
        u64::from_le_bytes(stored)
    }

    pub fn write(&self, bytes: &mut [u8], at: usize, stored: u64) {
        bytes[at..at + self.bytes].copy_from_slice(&stored.to_le_bytes()[..self.bytes]);
    }

    /// See [`member`].
    pub fn member(&self, stored: u64) -> Option<(u64, usize)> {
        member(&self.members, stored)
    }
}

/// Whether bytes are all zero. What is undefined throughout is the same in all permutations, so it
/// need not be looked at.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().all(|word| *word == [0; 8]) && rest.iter().all(|byte| *byte == 0)
}

/// The positions of scalarset values in a state.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    pub sets: Vec<Set>,
    /// How many values all scalarsets have together.
    pub values: usize,
    /// What has to do with scalarsets or multisets.
    pub parts: Vec<Part>,
    pub kinds: Vec<Kind>,
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
        let mut builder = Builder {
            types: &model.types,
            layout,
            first_of,
            kinds: Vec::new(),
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
            kinds: builder.kinds,
        };
        let parts = std::mem::take(&mut shapes.parts);
        parts
            .iter()
            .for_each(|part| shapes.find_deep(&part.node, false));
        shapes.parts = parts;
        Some(shapes)
    }

    /// `is_under` says whether it is within an element of an array with a scalarset as index, or
    /// of a multiset.
    fn find_deep(&mut self, node: &Node, is_under: bool) {
        match node {
            Node::Run(_) | Node::Byte(_) | Node::Wide(_) => {}
            Node::Record(parts) => {
                parts
                    .iter()
                    .for_each(|part| self.find_deep(&part.node, is_under));
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

impl Shapes {
    /// See [`Canonical`](super::Canonical).
    pub fn held_stored(&self) -> Vec<(usize, usize, usize, usize)> {
        let mut all = Vec::new();
        for kind in &self.kinds {
            for stored in 0..kind.size {
                if let Some((number, base, first)) = kind.value(stored) {
                    all.push((kind.at + stored, number, base, first));
                }
            }
        }
        all
    }
}

impl Node {
    /// Whether what it says about values depends on the colours of others.
    pub fn is_deep_below(&self) -> bool {
        match self {
            // A value that is held in a place of its own is told of the place only.
            Node::Run(_) | Node::Byte(_) | Node::Wide(_) => false,
            Node::Record(parts) => parts.iter().any(|part| part.node.is_deep_below()),
            Node::Array(array) => match array.set {
                Some(_) => array.is_deep,
                None => array.element.is_deep_below(),
            },
            Node::Multiset(array) => array.is_deep,
        }
    }
}

struct Builder<'m> {
    types: &'m Types,
    layout: &'m Layout,
    first_of: Vec<Option<usize>>,
    kinds: Vec<Kind>,
}

/// Whether values of scalarsets are held in it, or are indices within it.
fn is_deep(node: &Node) -> bool {
    match node {
        Node::Run(_) => false,
        Node::Byte(_) | Node::Wide(_) => true,
        Node::Record(parts) => parts.iter().any(|part| is_deep(&part.node)),
        Node::Array(array) | Node::Multiset(array) => array.set.is_some() || array.is_deep,
    }
}

impl Builder<'_> {
    fn node(&mut self, id: TypeId) -> Node {
        let (types, layout) = (self.types, self.layout);
        let shape = layout.shape(id);
        let node = match &types[id].kind {
            TypeKind::Scalarset(size) => self.value(id, &[(0, i64::from(*size), id)]),
            TypeKind::Union(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|m| (m.first, m.size, m.type_id))
                    .collect();
                self.value(id, &members)
            }
            TypeKind::Record(fields) => {
                let mut parts = Vec::new();
                for (field, &at) in fields.iter().zip(&shape.fields) {
                    match self.node(field.type_id) {
                        // The parts of a record within a record are parts of the whole.
                        Node::Record(inner) => parts.extend(inner.into_iter().map(|part| Part {
                            at: at + part.at,
                            node: part.node,
                        })),
                        node => parts.push(Part { at, node }),
                    }
                }
                Node::Record(joined(parts))
            }
            TypeKind::Array { index, element } => self.array(*index, *element, shape.stride),
            TypeKind::Multiset { capacity, element } => {
                let element = self.node(*element);
                Node::Multiset(Array {
                    set: None,
                    length: *capacity as usize,
                    stride: shape.stride as usize,
                    is_deep: is_deep(&element),
                    holders: holders(&element, shape.stride as usize - 1),
                    element: Box::new(element),
                })
            }
            _ => Node::Run(shape.bytes as usize),
        };
        match &node {
            Node::Record(parts) => match &parts[..] {
                [] => Node::Run(0),
                [
                    Part {
                        node: Node::Run(bytes),
                        ..
                    },
                ] => Node::Run(*bytes),
                _ => node,
            },
            Node::Array(array) if array.set.is_none() => match *array.element {
                Node::Run(bytes) => Node::Run(bytes * array.length),
                _ => node,
            },
            _ => node,
        }
    }

    fn value(&mut self, id: TypeId, members: &[(i64, i64, TypeId)]) -> Node {
        let members: Vec<Member> = members
            .iter()
            .filter_map(|&(first, size, id)| {
                let base = self.first_of[id.0 as usize]?;
                Some((first as u64, (first + size) as u64, base))
            })
            .collect();
        let bytes = self.layout.shape(id).bytes as usize;
        if members.is_empty() {
            return Node::Run(bytes);
        }
        if bytes > 1 {
            return Node::Wide(Wide { bytes, members });
        }
        if let Some(kind) = self.kinds.iter().find(|kind| kind.members == members) {
            return Node::Byte(kind.at);
        }
        let at = self.kinds.last().map_or(0, |kind| kind.at + kind.size);
        let values = self.types[id].cardinality().unwrap_or(0);
        self.kinds.push(Kind {
            at,
            // Types with the same scalarsets may have more values.
            size: (values as usize + 1).max(256),
            members,
        });
        Node::Byte(at)
    }

    /// An array whose index is a union is one array after the other.
    fn array(&mut self, index: TypeId, element: TypeId, stride: u32) -> Node {
        let element = self.node(element);
        let types = self.types;
        let one = |set: Option<usize>, length: i64| {
            Node::Array(Array {
                set,
                length: length as usize,
                stride: stride as usize,
                is_deep: is_deep(&element),
                holders: holders(&element, stride as usize),
                element: Box::new(element.clone()),
            })
        };
        match &types[index].kind {
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
