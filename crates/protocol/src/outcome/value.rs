//! Values of variables, as trees.

use crate::model::Model;
use crate::model::types::{TypeId, TypeKind, Types};

/// The value of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A simple variable that is undefined.
    Undefined,
    /// A simple variable with a value.
    Simple(i64),
    /// The fields of a record, or the elements of an array.
    Parts(Vec<Value>),
    /// A multiset, with a place for each element that it may hold.
    Elements(Vec<Option<Value>>),
}

impl Value {
    /// A variable of the type, with everything undefined and multisets empty.
    pub fn undefined(types: &Types, id: TypeId) -> Value {
        Value::filled(types, id, &|_| Value::Undefined)
    }

    /// A variable of the type, with the least value everywhere and multisets empty.
    pub fn cleared(types: &Types, id: TypeId) -> Value {
        Value::filled(types, id, &|(low, _)| Value::Simple(low))
    }

    fn filled(types: &Types, id: TypeId, simple: &dyn Fn((i64, i64)) -> Value) -> Value {
        let this = &types[id];
        match &this.kind {
            TypeKind::Record(fields) => {
                let fields = fields.iter();
                Value::Parts(
                    fields
                        .map(|field| Value::filled(types, field.type_id, simple))
                        .collect(),
                )
            }
            TypeKind::Array { index, element } => {
                let size = types[*index].cardinality().unwrap_or(0) as usize;
                vec![Value::filled(types, *element, simple); size].into()
            }
            TypeKind::Multiset { capacity, .. } => Value::Elements(vec![None; *capacity as usize]),
            _ => simple(this.bounds().unwrap_or((0, 0))),
        }
    }

    /// All variables of a state, undefined.
    pub fn blank_state(model: &Model) -> Vec<Value> {
        let globals = model.globals.iter();
        globals
            .map(|global| Value::undefined(&model.types, global.type_id))
            .collect()
    }

    /// Visits each simple place, with its name as it is written in a model.
    pub fn visit(
        &self,
        types: &Types,
        id: TypeId,
        name: &str,
        visit: &mut dyn FnMut(&str, String),
    ) {
        match (self, &types[id].kind) {
            (Value::Undefined, _) => visit(name, "undefined".into()),
            (Value::Simple(value), _) => visit(name, types.show(id, *value)),
            (Value::Parts(parts), TypeKind::Record(fields)) => {
                for (part, field) in parts.iter().zip(fields) {
                    let name = format!("{name}.{}", field.name);
                    part.visit(types, field.type_id, &name, visit);
                }
            }
            (Value::Parts(parts), TypeKind::Array { index, element }) => {
                let (low, _) = types[*index].bounds().unwrap_or((0, 0));
                for (offset, part) in (0_i64..).zip(parts) {
                    let index = types.show(*index, low.wrapping_add(offset));
                    part.visit(types, *element, &format!("{name}[{index}]"), visit);
                }
            }
            (Value::Elements(elements), TypeKind::Multiset { element, .. }) => {
                let present = elements.iter().flatten();
                for (number, each) in present.enumerate() {
                    each.visit(types, *element, &format!("{name}{{{number}}}"), visit);
                }
            }
            _ => {}
        }
    }
}

impl From<Vec<Value>> for Value {
    fn from(parts: Vec<Value>) -> Value {
        Value::Parts(parts)
    }
}
