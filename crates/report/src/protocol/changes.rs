//! The changes of a step.

use fencepost_protocol::Model;
use fencepost_protocol::model::types::{TypeId, TypeKind};
use fencepost_protocol::outcome::Value;

use super::values::{bag, compact, is_blank, keys};

/// A variable of the state, or a part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatePart {
    /// The variable.
    pub global: usize,
    /// The path to the part, from the outside to the inside.
    pub parts: Vec<Selection>,
}

/// One selection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selection {
    /// A field of a record of this type, by its number.
    Field(TypeId, usize),
    /// An element of an array, by the value of the index, which has this type.
    Index(TypeId, i64),
}

impl StatePart {
    /// The place in the syntax of the model.
    pub fn name(&self, model: &Model) -> String {
        self.name_without(model, usize::MAX)
    }

    /// The place without one of its parts.
    pub fn name_without(&self, model: &Model, left_out: usize) -> String {
        let mut name = model.globals[self.global].name.clone();
        for (number, part) in self.parts.iter().enumerate() {
            if number == left_out {
                continue;
            }
            match *part {
                Selection::Field(id, field) => {
                    if let TypeKind::Record(fields) = &model.types[id].kind {
                        name += &format!(".{}", fields[field].name);
                    }
                }
                Selection::Index(id, value) => {
                    name += &format!("[{}]", model.types.show(id, value))
                }
            }
        }
        name
    }
}

impl StatePart {
    /// Its value in a state.
    pub fn find<'v>(&self, model: &Model, state: &'v [Value]) -> Option<&'v Value> {
        let mut value = state.get(self.global)?;
        for part in &self.parts {
            let number = match *part {
                Selection::Field(_, number) => number,
                Selection::Index(id, key) => {
                    let (low, _) = model.types[id].bounds()?;
                    usize::try_from(key.checked_sub(low)?).ok()?
                }
            };
            value = match value {
                Value::Parts(parts) => parts.get(number)?,
                _ => return None,
            };
        }
        Some(value)
    }
}

/// A part of the state that is different now.
#[derive(Clone, Debug)]
pub enum Change<'v> {
    /// A simple value changed, or a record became defined or undefined as a whole.
    Value {
        /// The place that changed.
        place: StatePart,
        /// Its type.
        type_id: TypeId,
        /// The value before.
        before: &'v Value,
        /// The value after.
        after: &'v Value,
    },
    /// A multiset has other elements. Which of its places they are in does not matter.
    Bag {
        /// The multiset.
        place: StatePart,
        /// The type of its elements.
        element: TypeId,
        /// The removed elements.
        removed: Vec<&'v Value>,
        /// The added elements.
        added: Vec<&'v Value>,
    },
}

impl Change<'_> {
    /// The place that changed.
    pub fn place(&self) -> &StatePart {
        match self {
            Change::Value { place, .. } | Change::Bag { place, .. } => place,
        }
    }

    /// The change as text: `I → S`, or for multisets a line per added or removed element.
    pub fn lines(&self, model: &Model) -> Vec<String> {
        let types = &model.types;
        match self {
            Change::Value {
                type_id,
                before,
                after,
                ..
            } => {
                let show = |value| compact(types, *type_id, value);
                vec![format!("{} → {}", show(before), show(after))]
            }
            Change::Bag {
                element,
                removed,
                added,
                ..
            } => {
                let signed = |sign: &str, elements: &[&Value]| {
                    let shown = bag(types, *element, elements.iter().copied());
                    let lines = shown.into_iter().map(|each| format!("{sign} {each}"));
                    lines.collect::<Vec<String>>()
                };
                let mut lines = signed("-", removed);
                lines.extend(signed("+", added));
                lines
            }
        }
    }
}

/// The differences between two states, in the order of the variables.
pub fn changes<'v>(model: &Model, before: &'v [Value], after: &'v [Value]) -> Vec<Change<'v>> {
    let mut finder = Finder {
        model,
        found: Vec::new(),
        place: StatePart {
            global: 0,
            parts: Vec::new(),
        },
    };
    let states = before.iter().zip(after).zip(&model.globals);
    for (number, ((before, after), global)) in states.enumerate() {
        finder.place.global = number;
        finder.compare(global.type_id, before, after);
    }
    finder.found
}

struct Finder<'m, 'v> {
    model: &'m Model,
    found: Vec<Change<'v>>,
    place: StatePart,
}

impl<'v> Finder<'_, 'v> {
    fn compare(&mut self, id: TypeId, before: &'v Value, after: &'v Value) {
        if before == after {
            return;
        }
        match (&self.model.types[id].kind, before, after) {
            (TypeKind::Record(fields), Value::Parts(old), Value::Parts(new)) => {
                let becomes_whole = is_blank(before) != is_blank(after);
                if becomes_whole && self.model.types[id].depth == 1 && fields.len() > 1 {
                    return self.note_value(id, before, after);
                }
                for (number, field) in fields.iter().enumerate() {
                    self.place.parts.push(Selection::Field(id, number));
                    self.compare(field.type_id, &old[number], &new[number]);
                    self.place.parts.pop();
                }
            }
            (TypeKind::Array { index, element }, Value::Parts(old), Value::Parts(new)) => {
                let (index, element) = (*index, *element);
                for (key, (old, new)) in keys(&self.model.types, index).zip(old.iter().zip(new)) {
                    self.place.parts.push(Selection::Index(index, key));
                    self.compare(element, old, new);
                    self.place.parts.pop();
                }
            }
            (TypeKind::Multiset { element, .. }, Value::Elements(old), Value::Elements(new)) => {
                let (removed, added) = bag_difference(old, new);
                if !removed.is_empty() || !added.is_empty() {
                    self.found.push(Change::Bag {
                        place: self.place.clone(),
                        element: *element,
                        removed,
                        added,
                    });
                }
            }
            _ => self.note_value(id, before, after),
        }
    }

    fn note_value(&mut self, type_id: TypeId, before: &'v Value, after: &'v Value) {
        self.found.push(Change::Value {
            place: self.place.clone(),
            type_id,
            before,
            after,
        });
    }
}

/// The elements of the first only, and those of the second only.
fn bag_difference<'v>(
    old: &'v [Option<Value>],
    new: &'v [Option<Value>],
) -> (Vec<&'v Value>, Vec<&'v Value>) {
    let mut added: Vec<&Value> = new.iter().flatten().collect();
    let mut removed = Vec::new();
    for each in old.iter().flatten() {
        match added.iter().position(|other| *other == each) {
            Some(at) => {
                added.remove(at);
            }
            None => removed.push(each),
        }
    }
    (removed, added)
}
