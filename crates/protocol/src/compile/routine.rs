//! One routine while it is compiled: slots, memory accesses and faults.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{Block, FuncRef, InstBuilder, MemFlagsData, Value};
use cranelift_frontend::{FunctionBuilder, Variable};
use cranelift_module::{FuncId, Module};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::context::{field, status};
use super::unit::Unit;
use crate::model::code::{Frame, SlotId, SlotKind, ValueType};
use crate::model::points::{PointId, PointKind};
use crate::model::types::TypeId;
#[cfg(test)]
use crate::outcome::FaultKind;
use crate::source::Span;

/// The code for undefined in registers. No simple type has this value.
pub(super) const UNDEFINED: i64 = i64::MIN;

/// Copies of no more bytes than this are made without a call.
const INLINE_BYTES: u32 = 64;

/// A kind of fault, as a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FaultCode {
    Error = 1,
    Assertion,
    Undefined,
    UndefinedIndex,
    IndexOutside,
    OutOfRange,
    Arithmetic,
    MissingReturn,
    LoopTooLong,
    ZeroStep,
    MultisetFull,
    ElementGone,
}

impl FaultCode {
    /// The number that compiled code leaves for a fault of this kind.
    pub(crate) fn site(self, span: Span) -> u64 {
        (self as u64) << 32 | u64::from(span.start)
    }

    #[cfg(test)]
    pub(crate) fn of(kind: &FaultKind) -> FaultCode {
        match kind {
            FaultKind::Error(_) => FaultCode::Error,
            FaultKind::Assertion(_) => FaultCode::Assertion,
            FaultKind::Undefined => FaultCode::Undefined,
            FaultKind::UndefinedIndex => FaultCode::UndefinedIndex,
            FaultKind::IndexOutside { .. } => FaultCode::IndexOutside,
            FaultKind::OutOfRange { .. } => FaultCode::OutOfRange,
            FaultKind::Arithmetic(_) => FaultCode::Arithmetic,
            FaultKind::MissingReturn(_) => FaultCode::MissingReturn,
            FaultKind::LoopTooLong { .. } => FaultCode::LoopTooLong,
            FaultKind::ZeroStep => FaultCode::ZeroStep,
            FaultKind::MultisetFull { .. } => FaultCode::MultisetFull,
            FaultKind::ElementGone => FaultCode::ElementGone,
        }
    }
}

/// The location of a slot.
#[derive(Clone, Copy)]
pub(super) enum SlotHome {
    /// In memory, at this offset of the context.
    Memory(i32),
    /// Where the variable points to; with where the flag of the element is that it is in.
    Reference(Variable, Option<Variable>),
    /// A simple value.
    Value(Variable),
    /// The address of a composite value.
    Pointer(Variable),
}

/// The range of a value that is known at compile time.
#[derive(Clone, Copy)]
pub(super) struct ValueRange {
    pub low: i128,
    pub high: i128,
    pub may_be_undefined: bool,
}

impl ValueRange {
    pub const ANYTHING: ValueRange = ValueRange {
        low: i64::MIN as i128,
        high: i64::MAX as i128,
        may_be_undefined: true,
    };

    pub fn within(low: i64, high: i64) -> ValueRange {
        ValueRange {
            low: low.into(),
            high: high.into(),
            may_be_undefined: false,
        }
    }

    pub fn fits(&self, low: i64, high: i64) -> bool {
        self.low >= low.into() && self.high <= high.into()
    }

    pub fn or(&self, other: ValueRange) -> ValueRange {
        ValueRange {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            may_be_undefined: self.may_be_undefined || other.may_be_undefined,
        }
    }
}

/// An address in memory.
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub base: Value,
    pub offset: i32,
    /// Where the flag of the innermost element is that the place is in.
    pub flag: Option<Value>,
}

impl Address {
    /// Where a pointer points to, in no element.
    pub fn at(base: Value) -> Address {
        Address {
            base,
            offset: 0,
            flag: None,
        }
    }
}

pub(super) struct Routine<'u, 'm, 'f> {
    pub unit: &'u mut Unit<'m>,
    pub b: FunctionBuilder<'f>,
    pub state: Value,
    pub context: Value,
    /// The other parameters.
    pub passed: Vec<Value>,
    pub slots: Vec<SlotHome>,
    pub known: Vec<ValueRange>,
    /// The type of each slot, if it has one.
    pub slot_types: Vec<Option<TypeId>>,
    /// For each slot, whether what it refers to may be in an element of a multiset.
    pub in_element: Vec<bool>,
    /// Whether the routine is a function, which returns a value besides its status.
    pub result: Option<Returned>,
    cold: HashMap<(Option<FaultCode>, u32, i64), Block, FxBuildHasher>,
    callees: HashMap<FuncId, FuncRef, FxBuildHasher>,
}

/// The result of a function.
#[derive(Clone, Copy)]
pub(super) enum Returned {
    Nothing,
    Simple(TypeId),
    /// A record, array or multiset, which is put at this place of the context.
    Memory(TypeId, i32),
}

pub(super) fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl<'u, 'm, 'f> Routine<'u, 'm, 'f> {
    /// Begins a routine whose first two parameters are the state and the context.
    pub fn new(unit: &'u mut Unit<'m>, mut b: FunctionBuilder<'f>) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let parameters = b.block_params(entry).to_vec();
        let (state, context) = (parameters[0], parameters[1]);
        Routine {
            unit,
            b,
            state,
            context,
            passed: parameters[2..].to_vec(),
            slots: Vec::new(),
            known: Vec::new(),
            slot_types: Vec::new(),
            in_element: Vec::new(),
            result: None,
            cold: HashMap::default(),
            callees: HashMap::default(),
        }
    }

    /// Assigns every slot a location. Local variables become undefined.
    pub fn open(&mut self, frame: &Frame, in_element: Option<&[bool]>) {
        self.in_element = match in_element {
            Some(known) => known.to_vec(),
            None => vec![false; frame.slots.len()],
        };
        let start = self.unit.frame_end;
        let in_elements = self.in_element.clone();
        for (slot, in_element) in frame.slots.iter().zip(in_elements) {
            let mut known = ValueRange::ANYTHING;
            let home = match slot.kind {
                SlotKind::Variable(id) => SlotHome::Memory(self.unit.reserve(id)),
                SlotKind::Parameter(_) | SlotKind::Reference(_) => {
                    // Whether an alias of a rule is in an element is known when it is bound.
                    let has_flag = in_element || !matches!(slot.kind, SlotKind::Parameter(_));
                    let flag = has_flag.then(|| self.b.declare_var(I64));
                    SlotHome::Reference(self.b.declare_var(I64), flag)
                }
                SlotKind::Value(ValueType::Of(id)) if !self.unit.model.types[id].is_simple() => {
                    SlotHome::Pointer(self.b.declare_var(I64))
                }
                SlotKind::Value(value_type) => {
                    if let ValueType::Of(id) = value_type {
                        let shape = self.unit.layout.shape(id);
                        known = ValueRange {
                            may_be_undefined: true,
                            ..ValueRange::within(shape.low, shape.high)
                        };
                    }
                    SlotHome::Value(self.b.declare_var(I64))
                }
            };
            let type_id = match slot.kind {
                SlotKind::Variable(id) | SlotKind::Parameter(id) | SlotKind::Reference(id) => {
                    Some(id)
                }
                SlotKind::Value(ValueType::Of(id)) => Some(id),
                SlotKind::Value(_) => None,
            };
            self.slots.push(home);
            self.known.push(known);
            self.slot_types.push(type_id);
        }
        let bytes = self.unit.frame_end - start;
        if bytes > 0 {
            let at = self.in_context(start as i32);
            self.zero(at, bytes as u32);
        }
    }

    /// Ends the routine.
    pub fn finish(mut self) {
        for ((wrong, start, status), block) in std::mem::take(&mut self.cold) {
            self.at(block);
            if let Some(wrong) = wrong {
                let site = wrong.site(Span { start, end: start });
                let site = self.int(site as i64);
                let context = self.context;
                self.b.ins().store(flags(), site, context, field::SITE);
            }
            self.leave(status, None);
        }
        self.b.seal_all_blocks();
        self.b.finalize(self.unit.module.target_config());
    }

    pub fn int(&mut self, value: i64) -> Value {
        self.b.ins().iconst(I64, value)
    }

    pub fn block(&mut self) -> Block {
        self.b.create_block()
    }

    pub fn go(&mut self, to: Block) {
        self.b.ins().jump(to, &[]);
    }

    /// Jumps to one of two blocks.
    pub fn choose(&mut self, condition: Value, yes: Block, no: Block) {
        self.b.ins().brif(condition, yes, &[], no, &[]);
    }

    pub fn at(&mut self, block: Block) {
        self.b.switch_to_block(block);
    }

    pub fn compare(&mut self, how: IntCC, left: Value, right: i64) -> Value {
        let right = self.int(right);
        self.b.ins().icmp(how, left, right)
    }

    pub fn add(&mut self, value: Value, more: i64) -> Value {
        if more == 0 {
            return value;
        }
        let more = self.int(more);
        self.b.ins().iadd(value, more)
    }

    pub fn in_context(&mut self, offset: i32) -> Address {
        Address {
            base: self.context,
            offset,
            flag: None,
        }
    }

    /// The address as one value.
    pub fn pointer(&mut self, at: Address) -> Value {
        self.add(at.base, at.offset.into())
    }

    /// Loads the stored form of a simple value: 1, 2, 4 or 8 bytes.
    pub fn load(&mut self, at: Address, bytes: u32) -> Value {
        let (base, offset) = (at.base, at.offset);
        let ins = self.b.ins();
        match bytes {
            1 => ins.uload8(I64, flags(), base, offset),
            2 => ins.uload16(I64, flags(), base, offset),
            4 => {
                let narrow = ins.load(I32, flags(), base, offset);
                self.b.ins().uextend(I64, narrow)
            }
            _ => ins.load(I64, flags(), base, offset),
        }
    }

    pub fn store(&mut self, at: Address, bytes: u32, value: Value) {
        let (base, offset) = (at.base, at.offset);
        let ins = self.b.ins();
        match bytes {
            1 => ins.istore8(flags(), value, base, offset),
            2 => ins.istore16(flags(), value, base, offset),
            4 => ins.istore32(flags(), value, base, offset),
            _ => ins.store(flags(), value, base, offset),
        };
    }

    /// Copies a variable.
    pub fn copy(&mut self, to: Address, from: Address, bytes: u32) {
        if bytes > INLINE_BYTES {
            let (to, from) = (self.pointer(to), self.pointer(from));
            let bytes = self.int(bytes.into());
            self.call_helper(self.unit.helpers.copy, &[to, from, bytes]);
            return;
        }
        let mut parts = Vec::new();
        let mut at = 0;
        while at < bytes {
            let (kind, wide) = match bytes - at {
                8.. => (I64, 8),
                4..8 => (I32, 4),
                2..4 => (I16, 2),
                _ => (I8, 1),
            };
            let offset = from.offset + at as i32;
            let part = self.b.ins().load(kind, flags(), from.base, offset);
            parts.push((part, to.offset + at as i32));
            at += wide;
        }
        for (part, offset) in parts {
            self.b.ins().store(flags(), part, to.base, offset);
        }
    }

    /// A copy of a variable, in a place of its own.
    pub fn kept(&mut self, id: TypeId, from: Address) -> Value {
        let room = self.unit.reserve(id);
        let to = self.in_context(room);
        let bytes = self.unit.layout.shape(id).bytes;
        self.copy(to, from, bytes);
        self.pointer(to)
    }

    /// Makes a variable undefined.
    pub fn zero(&mut self, at: Address, bytes: u32) {
        if bytes > INLINE_BYTES {
            let to = self.pointer(at);
            let bytes = self.int(bytes.into());
            self.call_helper(self.unit.helpers.zero, &[to, bytes]);
            return;
        }
        let mut done = 0;
        while done < bytes {
            let (kind, wide) = match bytes - done {
                8.. => (I64, 8),
                4..8 => (I32, 4),
                2..4 => (I16, 2),
                _ => (I8, 1),
            };
            let zero = self.b.ins().iconst(kind, 0);
            let offset = at.offset + done as i32;
            self.b.ins().store(flags(), zero, at.base, offset);
            done += wide;
        }
    }

    pub fn callee(&mut self, id: FuncId) -> FuncRef {
        let (module, b) = (&mut self.unit.module, &mut self.b);
        *self
            .callees
            .entry(id)
            .or_insert_with(|| module.declare_func_in_func(id, b.func))
    }

    /// Calls a helper; the value that it returns, if it returns one.
    pub fn call_helper(&mut self, id: FuncId, arguments: &[Value]) -> Option<Value> {
        let callee = self.callee(id);
        let call = self.b.ins().call(callee, arguments);
        self.b.inst_results(call).first().copied()
    }

    /// Leaves the routine.
    pub fn leave(&mut self, status: i64, value: Option<Value>) {
        let status = self.int(status);
        self.leave_with(status, value);
    }

    pub fn leave_with(&mut self, status: Value, value: Option<Value>) {
        match self.result {
            None => self.b.ins().return_(&[status]),
            Some(_) => {
                let value = match value {
                    Some(value) => value,
                    None => self.int(0),
                };
                self.b.ins().return_(&[status, value])
            }
        };
    }

    /// The block that reports a fault. There is one for each span and kind.
    pub fn fault(&mut self, wrong: FaultCode, span: Span) -> Block {
        self.way_out(Some(wrong), span.start, status::FAULT)
    }

    /// A block that leaves the routine with another status.
    pub fn way_out(&mut self, wrong: Option<FaultCode>, start: u32, status: i64) -> Block {
        if let Some(&block) = self.cold.get(&(wrong, start, status)) {
            return block;
        }
        let block = self.block();
        self.b.set_cold_block(block);
        self.cold.insert((wrong, start, status), block);
        block
    }

    /// A fault if the condition holds.
    pub fn fault_if(&mut self, condition: Value, wrong: FaultCode, span: Span) {
        let fault = self.fault(wrong, span);
        let on = self.block();
        self.choose(condition, fault, on);
        self.at(on);
    }

    /// Ends the routine as the status says, unless it is `DONE`.
    pub fn leave_unless_done(&mut self, status: Value) {
        let (out, on) = (self.block(), self.block());
        self.b.set_cold_block(out);
        self.choose(status, out, on);
        self.at(out);
        self.leave_with(status, None);
        self.at(on);
    }

    /// Counts an iteration of a loop that may run for long.
    pub fn spend(&mut self) {
        let context = self.context;
        let fuel = self.b.ins().load(I64, flags(), context, field::FUEL);
        let fuel = self.add(fuel, -1);
        self.b.ins().store(flags(), fuel, context, field::FUEL);
        let (empty, on) = (self.block(), self.block());
        self.b.set_cold_block(empty);
        self.choose(fuel, on, empty);
        self.at(empty);
        let refueled = self.call_helper(self.unit.helpers.refuel, &[context]);
        if let Some(status) = refueled {
            self.leave_unless_done(status);
        }
        self.go(on);
        self.at(on);
    }

    /// Counts a point.
    pub fn hit(&mut self, point: PointId) {
        let kind = self.unit.model.points[point.0 as usize].kind;
        let is_detail = matches!(kind, PointKind::Branch | PointKind::Arm);
        if is_detail && !self.unit.coverage {
            return;
        }
        let context = self.context;
        let at = field::HITS + 8 * point.0 as i32;
        let count = match self.unit.coverage {
            true => {
                let before = self.b.ins().load(I64, flags(), context, at);
                self.add(before, 1)
            }
            false => self.int(1),
        };
        self.b.ins().store(flags(), count, context, at);
    }

    pub fn value_of(&mut self, slot: SlotId) -> Value {
        match self.slots[slot.0 as usize] {
            SlotHome::Value(variable)
            | SlotHome::Pointer(variable)
            | SlotHome::Reference(variable, _) => self.b.use_var(variable),
            SlotHome::Memory(offset) => {
                let at = self.in_context(offset);
                self.pointer(at)
            }
        }
    }

    /// Puts a value in a slot, with its known range.
    pub fn hold(&mut self, slot: SlotId, value: Value, known: ValueRange) {
        if let SlotHome::Value(variable) | SlotHome::Pointer(variable) = self.slots[slot.0 as usize]
        {
            self.b.def_var(variable, value);
        }
        self.known[slot.0 as usize] = known;
    }

    /// Lets a slot refer to a place.
    pub fn refer(&mut self, slot: SlotId, at: Address) {
        let pointer = self.pointer(at);
        if let SlotHome::Reference(variable, flag) = self.slots[slot.0 as usize] {
            self.b.def_var(variable, pointer);
            self.in_element[slot.0 as usize] = at.flag.is_some();
            if let (Some(variable), Some(value)) = (flag, at.flag) {
                self.b.def_var(variable, value);
            }
        }
    }
}
