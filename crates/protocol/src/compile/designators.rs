//! Addresses of places.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::analysis::Analysis;
use super::routine::{Address, FaultCode, Routine, SlotHome, UNDEFINED, ValueRange};
use crate::model::code::{Designator, Expr, ExprKind, Root, SlotId, Step};
use crate::model::types::{TypeId, TypeKind};
use crate::source::Span;

impl Routine<'_, '_, '_> {
    /// Computes the address of a place. Like the reference, checks at each step that an element
    /// still exists.
    pub fn address(&mut self, place: &Designator) -> Address {
        let mut at = match place.root {
            Root::Global(id) => Address {
                base: self.state,
                offset: self.unit.layout.globals[id.0 as usize] as i32,
                flag: None,
            },
            Root::Slot(slot) => self.slot_address(slot, place.span),
        };
        let mut type_id = self.root_type(place);
        for step in &place.steps {
            at = self.step(at, &mut type_id, step, place.span);
        }
        at
    }

    fn slot_address(&mut self, slot: SlotId, span: Span) -> Address {
        match self.slots[slot.0 as usize] {
            SlotHome::Memory(offset) => self.in_context(offset),
            SlotHome::Reference(pointer, flag) => {
                let base = self.b.use_var(pointer);
                let flag = match flag {
                    Some(flag) if self.in_element[slot.0 as usize] => Some(self.b.use_var(flag)),
                    _ => None,
                };
                if let Some(flag) = flag {
                    self.check_flag(flag, span);
                }
                Address {
                    base,
                    offset: 0,
                    flag,
                }
            }
            SlotHome::Value(variable) | SlotHome::Pointer(variable) => {
                Address::at(self.b.use_var(variable))
            }
        }
    }

    /// The type of what a place is a part of.
    fn root_type(&self, place: &Designator) -> TypeId {
        match place.root {
            Root::Global(id) => self.unit.model.globals[id.0 as usize].type_id,
            Root::Slot(slot) => self.slot_types[slot.0 as usize].unwrap_or(place.type_id),
        }
    }

    fn step(&mut self, mut at: Address, type_id: &mut TypeId, step: &Step, span: Span) -> Address {
        let types = &self.unit.model.types;
        let shape = self.unit.layout.shape(*type_id);
        let (stride, length) = (shape.stride, shape.length);
        match (step, &types[*type_id].kind) {
            (Step::Field(number), TypeKind::Record(fields)) => {
                at.offset += shape.fields[*number as usize] as i32;
                *type_id = fields[*number as usize].type_id;
            }
            (Step::Index { index, low, high }, TypeKind::Array { element, .. }) => {
                *type_id = *element;
                at = self.indexed(at, index, *low, *high, stride);
                if let Some(flag) = at.flag
                    && Analysis::calls(index)
                {
                    self.check_flag(flag, span);
                }
            }
            (Step::Element(slot), TypeKind::Multiset { element, .. }) => {
                *type_id = *element;
                let number = self.value_of(*slot);
                let is_outside =
                    self.compare(IntCC::UnsignedGreaterThanOrEqual, number, i64::from(length));
                self.fault_if(is_outside, FaultCode::ElementGone, span);
                let element = self.scaled(number, stride);
                let start = self.pointer(at);
                let flag = self.b.ins().iadd(start, element);
                self.check_flag(flag, span);
                at = Address {
                    base: flag,
                    offset: 1,
                    flag: Some(flag),
                };
            }
            // Other combinations are not typed.
            _ => {}
        }
        at
    }

    fn indexed(
        &mut self,
        mut at: Address,
        index: &Expr,
        low: i64,
        high: i64,
        stride: u32,
    ) -> Address {
        if let ExprKind::Constant(value) = index.kind
            && (low..=high).contains(&value)
        {
            at.offset += ((value - low) * i64::from(stride)) as i32;
            return at;
        }
        let (value, known) = self.simple(index);
        if known.may_be_undefined {
            let is_undefined = self.compare(IntCC::Equal, value, UNDEFINED);
            self.fault_if(is_undefined, FaultCode::UndefinedIndex, index.span);
        }
        let number = self.add(value, low.wrapping_neg());
        if !known.fits(low, high) {
            let most = high.wrapping_sub(low);
            let is_outside = self.compare(IntCC::UnsignedGreaterThan, number, most);
            self.fault_if(is_outside, FaultCode::IndexOutside, index.span);
        }
        let distance = self.scaled(number, stride);
        at.base = self.b.ins().iadd(at.base, distance);
        at
    }

    pub fn scaled(&mut self, number: Value, stride: u32) -> Value {
        if stride == 1 {
            return number;
        }
        let stride = self.int(stride.into());
        self.b.ins().imul(number, stride)
    }

    /// A fault if an element was removed.
    pub fn check_flag(&mut self, flag: Value, span: Span) {
        let at = Address::at(flag);
        let flag = self.load(at, 1);
        let is_gone = self.compare(IntCC::Equal, flag, 0);
        self.fault_if(is_gone, FaultCode::ElementGone, span);
    }

    /// Reads a simple place; a fault if it is undefined and its type does not allow that.
    pub fn read(&mut self, place: &Designator) -> (Value, ValueRange) {
        let at = self.address(place);
        let shape = self.unit.layout.shape(place.type_id);
        let (bytes, low, high) = (shape.bytes, shape.low, shape.high);
        let stored = self.load(at, bytes);
        let is_undefined = self.compare(IntCC::Equal, stored, 0);
        let value = self.add(stored, low.wrapping_sub(1));
        let mut known = ValueRange::within(low, high);
        if self.unit.model.types[place.type_id].reads_undefined() {
            known.may_be_undefined = true;
            let undefined = self.int(UNDEFINED);
            let value = self.b.ins().select(is_undefined, undefined, value);
            return (value, known);
        }
        self.fault_if(is_undefined, FaultCode::Undefined, place.span);
        (value, known)
    }

    /// The stored form of a value of a simple type.
    pub fn stored(&mut self, value: Value, known: ValueRange, low: i64) -> Value {
        let stored = self.add(value, 1_i64.wrapping_sub(low));
        if !known.may_be_undefined {
            return stored;
        }
        let is_undefined = self.compare(IntCC::Equal, value, UNDEFINED);
        let zero = self.int(0);
        self.b.ins().select(is_undefined, zero, stored)
    }

    /// A fault if a value does not fit a simple type. Undefined fits.
    pub fn check_bounds(
        &mut self,
        value: Value,
        known: ValueRange,
        id: TypeId,
        span: Span,
    ) -> ValueRange {
        let shape = self.unit.layout.shape(id);
        let (low, high) = (shape.low, shape.high);
        let fitting = ValueRange {
            may_be_undefined: known.may_be_undefined,
            ..ValueRange::within(low, high)
        };
        if known.fits(low, high) {
            return known;
        }
        let fault = self.fault(FaultCode::OutOfRange, span);
        let number = self.add(value, low.wrapping_neg());
        let most = high.wrapping_sub(low);
        let is_outside = self.compare(IntCC::UnsignedGreaterThan, number, most);
        let on = self.block();
        if known.may_be_undefined {
            let outside = self.block();
            self.b.set_cold_block(outside);
            self.choose(is_outside, outside, on);
            self.at(outside);
            let is_undefined = self.compare(IntCC::Equal, value, UNDEFINED);
            self.choose(is_undefined, on, fault);
        } else {
            self.choose(is_outside, fault, on);
        }
        self.at(on);
        fitting
    }
}
