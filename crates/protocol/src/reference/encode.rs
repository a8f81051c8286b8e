//! States as bytes: equal states have equal bytes.
//!
//! Each simple place is 0 if it is undefined, or its number among the values of its type from 1;
//! one byte if the type has fewer than 255 values, nine otherwise. Multisets are the number of
//! their elements and the elements, sorted.

use super::symmetry::Permutation;
use crate::model::Model;
use crate::model::types::{TypeId, TypeKind, Types};
use crate::outcome::Value;

const ONE_BYTE: u128 = 255;

/// The bytes of a state, with the values of scalarsets permuted.
pub(super) fn encode(model: &Model, state: &[Value], permutation: &Permutation) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (value, global) in state.iter().zip(&model.globals) {
        write(&model.types, global.type_id, value, permutation, &mut bytes);
    }
    bytes
}

fn write(types: &Types, id: TypeId, value: &Value, by: &Permutation, bytes: &mut Vec<u8>) {
    let this = &types[id];
    match (value, &this.kind) {
        (Value::Parts(parts), TypeKind::Record(fields)) => {
            for (part, field) in parts.iter().zip(fields) {
                write(types, field.type_id, part, by, bytes);
            }
        }
        (Value::Parts(parts), TypeKind::Array { index, element }) => {
            for position in 0..parts.len() {
                let from = by.origin(types, *index, position as i64) as usize;
                write(types, *element, &parts[from], by, bytes);
            }
        }
        (Value::Elements(elements), TypeKind::Multiset { element, .. }) => {
            let mut encoded: Vec<Vec<u8>> = Vec::new();
            for each in elements.iter().flatten() {
                let mut bytes = Vec::new();
                write(types, *element, each, by, &mut bytes);
                encoded.push(bytes);
            }
            encoded.sort_unstable();
            bytes.extend((encoded.len() as u32).to_le_bytes());
            bytes.extend(encoded.concat());
        }
        (value, _) => {
            let (low, _) = this.bounds().unwrap_or((0, 0));
            let number = match value {
                Value::Simple(value) => {
                    let value = by.image(types, id, *value);
                    u128::from(value.wrapping_sub(low) as u64) + 1
                }
                _ => 0,
            };
            match this.cardinality() {
                Some(many) if many >= ONE_BYTE => bytes.extend(&number.to_be_bytes()[7..]),
                _ => bytes.push(number as u8),
            }
        }
    }
}

/// The state of some bytes that were encoded.
pub(super) fn decode(model: &Model, bytes: &[u8]) -> Vec<Value> {
    let mut rest = bytes;
    let globals = model.globals.iter();
    globals
        .map(|global| read(&model.types, global.type_id, &mut rest))
        .collect()
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> &'b [u8] {
    let (taken, left) = rest.split_at(length);
    *rest = left;
    taken
}

fn read(types: &Types, id: TypeId, rest: &mut &[u8]) -> Value {
    let this = &types[id];
    match &this.kind {
        TypeKind::Record(fields) => {
            let fields = fields.iter();
            Value::Parts(fields.map(|f| read(types, f.type_id, rest)).collect())
        }
        TypeKind::Array { index, element } => {
            let size = types[*index].cardinality().unwrap_or(0);
            Value::Parts((0..size).map(|_| read(types, *element, rest)).collect())
        }
        TypeKind::Multiset { capacity, element } => {
            let count = take(rest, 4).iter().rev();
            let count = count.fold(0, |count, byte| count << 8 | usize::from(*byte));
            let mut elements: Vec<Option<Value>> = (0..count)
                .map(|_| Some(read(types, *element, rest)))
                .collect();
            elements.resize(*capacity as usize, None);
            Value::Elements(elements)
        }
        _ => {
            let (low, _) = this.bounds().unwrap_or((0, 0));
            let length = match this.cardinality() {
                Some(many) if many >= ONE_BYTE => 9,
                _ => 1,
            };
            let number = take(rest, length).iter();
            match number.fold(0_u128, |number, byte| number << 8 | u128::from(*byte)) {
                0 => Value::Undefined,
                number => Value::Simple(low.wrapping_add((number - 1) as i64)),
            }
        }
    }
}
