//! Canonical multisets: elements are sorted, absent ones last.

use super::bytes_of_mut;
use crate::compile::Layout;
use crate::model::Model;
use crate::model::types::{TypeId, TypeKind, Types};

/// The layout of a multiset.
#[derive(Clone, Copy, Debug)]
struct MultisetLayout {
    at: u32,
    length: u32,
    stride: u32,
}

/// All multisets of a state, those within elements of others first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Multisets {
    bags: Vec<MultisetLayout>,
}

impl Multisets {
    pub fn new(model: &Model, layout: &Layout) -> Multisets {
        let mut all = Multisets::default();
        for (global, &at) in model.globals.iter().zip(&layout.globals) {
            all.find(&model.types, layout, global.type_id, at);
        }
        all
    }

    fn find(&mut self, types: &Types, layout: &Layout, id: TypeId, at: u32) {
        let shape = layout.shape(id);
        if !shape.has_multiset {
            return;
        }
        match &types[id].kind {
            TypeKind::Record(fields) => {
                for (field, offset) in fields.iter().zip(&shape.fields) {
                    self.find(types, layout, field.type_id, at + offset);
                }
            }
            TypeKind::Array { element, .. } => {
                for number in 0..shape.length {
                    self.find(types, layout, *element, at + number * shape.stride);
                }
            }
            TypeKind::Multiset { element, .. } => {
                if layout.shape(*element).has_multiset {
                    for number in 0..shape.length {
                        self.find(types, layout, *element, at + number * shape.stride + 1);
                    }
                }
                let (length, stride) = (shape.length, shape.stride);
                if length > 1 {
                    self.bags.push(MultisetLayout { at, length, stride });
                }
            }
            _ => {}
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bags.is_empty()
    }

    /// Sorts the elements of all multisets.
    pub fn sort(&self, state: &mut [u64]) {
        let bytes = bytes_of_mut(state);
        for bag in &self.bags {
            let end = (bag.at + bag.length * bag.stride) as usize;
            sort(&mut bytes[bag.at as usize..end], bag.stride as usize);
        }
    }
}

/// Sorts records of equal length, the greatest first: those that are not there are zero.
/// They are few and nearly sorted, so each is moved to where it belongs.
pub(crate) fn sort(bytes: &mut [u8], stride: usize) {
    let count = bytes.len() / stride;
    for number in 1..count {
        let start = number * stride;
        let mut place = number;
        while place > 0 {
            let before = (place - 1) * stride;
            if bytes[before..before + stride] >= bytes[start..start + stride] {
                break;
            }
            place -= 1;
        }
        if place < number {
            bytes[place * stride..start + stride].rotate_right(stride);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sort;

    #[test]
    fn records_are_sorted_from_the_greatest_to_the_least() {
        let mut bytes = *b"0b2a1c2b0a1c";
        sort(&mut bytes, 2);
        assert_eq!(&bytes, b"2b2a1c1c0b0a");
    }
}
