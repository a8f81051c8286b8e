//! The interpreter's state: variables and call frames.

use std::time::Instant;

use super::interruption::{EvalResult, Interruption};
use crate::model::Model;
use crate::model::code::{Designator, Frame, Root, SlotId, SlotKind, Step};
use crate::model::points::PointId;
use crate::model::types::TypeId;
use crate::outcome::{FaultKind, Value};
use crate::source::Span;

/// The address of a part of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Address {
    base: Base,
    path: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    Global(usize),
    Slot { frame: usize, slot: usize },
}

/// The contents of a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SlotContents {
    Nothing,
    Value(Value),
    Reference(Address),
}

pub(super) struct Machine<'m> {
    pub model: &'m Model,
    pub state: Vec<Value>,
    frames: Vec<Vec<SlotContents>>,
    /// Whether the state was changed.
    pub is_changed: bool,
    /// The number of hits of each coverage point.
    pub hits: Vec<u64>,
    pub rounds_allowed: u64,
    deadline: Option<Instant>,
    steps: u64,
}

impl<'m> Machine<'m> {
    pub fn new(model: &'m Model, rounds_allowed: u64, deadline: Option<Instant>) -> Self {
        Machine {
            model,
            state: Value::blank_state(model),
            frames: Vec::new(),
            is_changed: false,
            hits: vec![0; model.points.len()],
            rounds_allowed,
            deadline,
            steps: 0,
        }
    }

    pub fn hit(&mut self, point: PointId) {
        self.hits[point.0 as usize] += 1;
    }

    /// Counts a step, and stops if there is no time left.
    pub fn step(&mut self) -> EvalResult<()> {
        self.steps += 1;
        let looks = self.steps.is_multiple_of(1 << 14);
        match self.deadline {
            Some(deadline) if looks && Instant::now() >= deadline => Err(Interruption::Exhausted),
            _ => Ok(()),
        }
    }

    /// Removes the deadline.
    pub fn forget_deadline(&mut self) {
        self.deadline = None;
    }

    /// Opens a frame; local variables are undefined.
    pub fn enter(&mut self, frame: &Frame) {
        let slots = frame.slots.iter().map(|slot| match slot.kind {
            SlotKind::Variable(id) => SlotContents::Value(Value::undefined(&self.model.types, id)),
            _ => SlotContents::Nothing,
        });
        self.frames.push(slots.collect());
    }

    pub fn leave(&mut self) {
        self.frames.pop();
    }

    /// Drops all frames, also after a fault.
    pub fn reset(&mut self) {
        self.frames.clear();
        self.is_changed = false;
    }

    fn frame(&self) -> &[SlotContents] {
        self.frames.last().map_or(&[], Vec::as_slice)
    }

    pub fn hold(&mut self, slot: SlotId, held: SlotContents) {
        if let Some(frame) = self.frames.last_mut() {
            frame[slot.0 as usize] = held;
        }
    }

    pub fn hold_value(&mut self, slot: SlotId, value: i64) {
        self.hold(slot, SlotContents::Value(Value::Simple(value)));
    }

    /// The value in a slot that has one.
    pub fn held(&self, slot: SlotId) -> Value {
        match &self.frame()[slot.0 as usize] {
            SlotContents::Value(value) => value.clone(),
            SlotContents::Reference(address) => self.load(address).clone(),
            SlotContents::Nothing => Value::Undefined,
        }
    }

    /// The index of an element in a slot.
    pub fn held_index(&self, slot: SlotId) -> usize {
        match self.held(slot) {
            Value::Simple(index) => index as usize,
            _ => usize::MAX,
        }
    }

    /// The address of a place.
    pub fn address(&mut self, place: &Designator) -> EvalResult<Address> {
        let mut address = match place.root {
            Root::Global(id) => Address {
                base: Base::Global(id.0 as usize),
                path: Vec::new(),
            },
            Root::Slot(slot) => match &self.frame()[slot.0 as usize] {
                SlotContents::Reference(address) => address.clone(),
                _ => Address {
                    base: Base::Slot {
                        frame: self.frames.len() - 1,
                        slot: slot.0 as usize,
                    },
                    path: Vec::new(),
                },
            },
        };
        self.check(&address, place.span)?;
        for step in &place.steps {
            let part = match step {
                Step::Field(number) => *number as usize,
                Step::Index { index, low, high } => {
                    let (low, high) = (*low, *high);
                    match self.evaluate(index)? {
                        Value::Simple(value) if (low..=high).contains(&value) => {
                            (value - low) as usize
                        }
                        Value::Simple(value) => {
                            let index_kind = FaultKind::IndexOutside {
                                index: value,
                                low,
                                high,
                            };
                            return Err(index_kind.at(index.span));
                        }
                        _ => return Err(FaultKind::UndefinedIndex.at(index.span)),
                    }
                }
                Step::Element(slot) => self.held_index(*slot),
            };
            address.path.push(part);
            self.check(&address, place.span)?;
        }
        Ok(address)
    }

    /// Checks that an element of a multiset still exists.
    fn check(&self, address: &Address, span: Span) -> EvalResult<()> {
        match self.find(address) {
            Some(_) => Ok(()),
            None => Err(FaultKind::ElementGone.at(span)),
        }
    }

    fn find(&self, address: &Address) -> Option<&Value> {
        let mut value = match address.base {
            Base::Global(id) => &self.state[id],
            Base::Slot { frame, slot } => match &self.frames[frame][slot] {
                SlotContents::Value(value) => value,
                _ => return None,
            },
        };
        for &part in &address.path {
            value = match value {
                Value::Parts(parts) => parts.get(part)?,
                Value::Elements(elements) => elements.get(part)?.as_ref()?,
                _ => return None,
            };
        }
        Some(value)
    }

    /// The value at an address.
    pub fn load(&self, address: &Address) -> &Value {
        self.find(address).unwrap_or(&Value::Undefined)
    }

    /// The value at an address, mutably.
    pub fn load_mut(&mut self, address: &Address) -> Option<&mut Value> {
        let mut value = match address.base {
            Base::Global(id) => {
                self.is_changed = true;
                &mut self.state[id]
            }
            Base::Slot { frame, slot } => match &mut self.frames[frame][slot] {
                SlotContents::Value(value) => value,
                _ => return None,
            },
        };
        for &part in &address.path {
            value = match value {
                Value::Parts(parts) => parts.get_mut(part)?,
                Value::Elements(elements) => elements.get_mut(part)?.as_mut()?,
                _ => return None,
            };
        }
        Some(value)
    }

    /// Assigns a value after checking its range. `span` is the target.
    pub fn store(
        &mut self,
        address: &Address,
        id: TypeId,
        value: Value,
        span: Span,
    ) -> EvalResult<()> {
        self.check_bounds(id, &value, span)?;
        match self.load_mut(address) {
            Some(target) => {
                *target = value;
                Ok(())
            }
            None => Err(FaultKind::ElementGone.at(span)),
        }
    }

    /// Whether a simple value is one of the type.
    pub fn check_bounds(&self, id: TypeId, value: &Value, span: Span) -> EvalResult<()> {
        match (value, self.model.types[id].bounds()) {
            (Value::Simple(value), Some((low, high))) if !(low..=high).contains(value) => {
                let value = *value;
                Err(FaultKind::OutOfRange { value, low, high }.at(span))
            }
            _ => Ok(()),
        }
    }
}
