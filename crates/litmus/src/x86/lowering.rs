//! Instructions as operations.
//!
//! An instruction that reads and writes memory is a load, a computation and a store; locked ones
//! have them between [`BeginLocked`](Operation::BeginLocked) and
//! [`EndLocked`](Operation::EndLocked). After Intel's manual, volume 2:
//!
//! - `XCHG` with memory is locked, with or without the prefix.
//! - `CMPXCHG` always writes: if the comparison fails, what it has read. With `LOCK` nobody can
//!   tell whether it does, and here it does not.
//! - `CMOVcc` from memory always reads.

use rustc_hash::FxHashMap;

use crate::assemble::memory::MemoryMap;
use crate::code::{
    AddressOperand, Computation, FlagCondition, FlagTest, Operand as Input, Operation, Part,
    Register, Width,
};
use crate::excerpt::quoted;
use crate::parse_error::{Misread, Problem};
use crate::suggest;
use crate::syntax::lexer::Span;
use crate::syntax::tree::Column;
use crate::test::Architecture;

use super::instruction::WrittenInstruction;
use super::mnemonics::Mnemonic;
use super::operands::{Memory, Operand};
use super::registers::{ACCUMULATOR, Which, WrittenRegister};

/// The registers of a thread, numbered as they are met.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegisterFile<'s> {
    numbers: FxHashMap<Which<'s>, Register>,
    /// Which each is; the flags and temporary ones are none.
    pub which: Vec<Option<Which<'s>>>,
    temporary: [Option<Register>; 2],
}

/// A thread's operations number at most `u16::MAX`, its registers 255.
const MOST_REGISTERS: usize = 255;

impl<'s> RegisterFile<'s> {
    fn new() -> Self {
        RegisterFile {
            which: vec![None],
            ..RegisterFile::default()
        }
    }

    fn add(&mut self, which: Option<Which<'s>>, span: Span) -> Result<Register, Misread> {
        if self.which.len() == MOST_REGISTERS {
            return Err(Problem::limit("registers of a thread", MOST_REGISTERS).at(span));
        }
        self.which.push(which);
        Ok(Register((self.which.len() - 1) as u8))
    }

    /// The number of a register, which it gets if it has none.
    pub fn number(&mut self, which: Which<'s>, span: Span) -> Result<Register, Misread> {
        if let Some(number) = self.numbers.get(&which) {
            return Ok(*number);
        }
        let number = self.add(Some(which), span)?;
        self.numbers.insert(which, number);
        Ok(number)
    }

    /// Whether an instruction uses it.
    pub fn has(&self, which: Which<'s>) -> bool {
        self.numbers.contains_key(&which)
    }

    fn temporary(&mut self, which: usize, span: Span) -> Result<Register, Misread> {
        if let Some(number) = self.temporary[which] {
            return Ok(number);
        }
        let number = self.add(None, span)?;
        self.temporary[which] = Some(number);
        Ok(number)
    }
}

/// What a thread comes to.
pub(crate) struct LoweredThread<'s> {
    pub operations: Vec<Operation>,
    pub instruction_of: Vec<u32>,
    pub registers: RegisterFile<'s>,
}

/// Lowers a thread. Mistakes are collected as long as others may be found.
pub(crate) fn lower_thread<'s>(
    column: &Column<'s>,
    architecture: Architecture,
    memory: &MemoryMap<'s>,
    mistakes: &mut Vec<Misread>,
) -> Result<LoweredThread<'s>, Misread> {
    let labels = labels(column, mistakes);
    let mut lowering = Lowering {
        architecture,
        memory,
        registers: RegisterFile::new(),
        operations: Vec::new(),
        jumps: Vec::new(),
    };
    let mut instruction_of = Vec::new();
    let mut starts = Vec::with_capacity(column.instructions.len() + 1);
    for (index, instruction) in column.instructions.iter().enumerate() {
        starts.push(lowering.operations.len() as u32);
        if let Err(mistake) = lowering.lower(instruction, &labels) {
            match mistake.problem.is_limit() {
                true => return Err(mistake),
                false => mistakes.push(mistake),
            }
        }
        instruction_of.resize(lowering.operations.len(), index as u32);
        // One is kept for the end.
        if lowering.operations.len() >= usize::from(u16::MAX) {
            let problem = Problem::limit("operations of a thread", usize::from(u16::MAX));
            return Err(problem.at(instruction.span));
        }
    }
    starts.push(lowering.operations.len() as u32);
    for (operation, instruction) in &lowering.jumps {
        match &mut lowering.operations[*operation] {
            Operation::Jump(target) | Operation::JumpIf(_, target) => {
                *target = starts[*instruction];
            }
            _ => {}
        }
    }
    lowering.operations.push(Operation::End);
    instruction_of.push(column.instructions.len() as u32);
    Ok(LoweredThread {
        operations: lowering.operations,
        instruction_of,
        registers: lowering.registers,
    })
}

fn labels<'s>(column: &Column<'s>, mistakes: &mut Vec<Misread>) -> FxHashMap<&'s str, usize> {
    let mut labels = FxHashMap::default();
    let mut places: FxHashMap<&str, Span> = FxHashMap::default();
    for (name, instruction, span) in &column.labels {
        if let Some(before) = places.insert(name, *span) {
            let problem = Problem::DuplicateLabel {
                name: quoted(name),
                before: before.position,
            };
            mistakes.push(problem.at(*span));
        }
        labels.insert(*name, *instruction);
    }
    labels
}

struct Lowering<'m, 's> {
    architecture: Architecture,
    memory: &'m MemoryMap<'s>,
    registers: RegisterFile<'s>,
    operations: Vec<Operation>,
    /// Jumps to labels: the operation, and the instruction that it jumps to.
    jumps: Vec<(usize, usize)>,
}

/// A destination: a part of a register, or memory.
enum To {
    Register(Register, Part),
    Memory(AddressOperand),
}

impl<'s> Lowering<'_, 's> {
    fn lower(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        labels: &FxHashMap<&'s str, usize>,
    ) -> Result<(), Misread> {
        match instruction.mnemonic {
            Mnemonic::Nothing | Mnemonic::Lock => return Ok(()),
            Mnemonic::Fence(fence) => self.operations.push(Operation::Fence(fence)),
            Mnemonic::Return => self.operations.push(Operation::End),
            Mnemonic::Jump => self.jump(instruction, labels, Operation::Jump(0))?,
            Mnemonic::JumpIf(condition) => {
                self.jump(instruction, labels, Operation::JumpIf(condition, 0))?;
            }
            _ => return self.lower_computing(instruction),
        }
        Ok(())
    }

    fn jump(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        labels: &FxHashMap<&'s str, usize>,
        operation: Operation,
    ) -> Result<(), Misread> {
        let Some((label, span)) = instruction.target else {
            return Ok(());
        };
        let Some(target) = labels.get(label) else {
            let problem = Problem::UnknownLabel {
                found: quoted(label),
                meant: suggest::nearest(label, labels.keys().copied()),
            };
            return Err(problem.at(span));
        };
        self.jumps.push((self.operations.len(), *target));
        self.operations.push(operation);
        Ok(())
    }

    fn lower_computing(&mut self, instruction: &WrittenInstruction<'s>) -> Result<(), Misread> {
        let Some(destination) = instruction.destination else {
            return Ok(());
        };
        let span = instruction.span;
        let width = match instruction.width {
            Some(width) => width,
            None => self.memory.width_of_unsized(instruction),
        };
        let to = self.destination(&destination)?;
        match (instruction.mnemonic, to) {
            (Mnemonic::Move, to) => self.lower_move(instruction, to, width),
            (Mnemonic::Binary(computation), to) => {
                let right = self.source(instruction, width, 0)?;
                self.update(instruction, to, width, computation, right)
            }
            (Mnemonic::ShiftLeft, to) => {
                let right = match instruction.source {
                    None => Input::Constant(1),
                    Some(Operand::Number(number, span)) => {
                        self.check_fit(number, Width::Byte, span)?;
                        Input::Constant(number.value & Width::Byte.mask())
                    }
                    _ => self.source(instruction, Width::Byte, 0)?,
                };
                self.update(instruction, to, width, Computation::ShiftLeft, right)
            }
            (Mnemonic::Unary(computation), to) => {
                self.update(instruction, to, width, computation, Input::Constant(0))
            }
            (Mnemonic::Compare(computation), to) => {
                // At most one operand is memory, so one temporary register is enough.
                let right = self.source(instruction, width, 0)?;
                let left = self.content(&to, width, span)?;
                self.compute(computation, width, None, left, right);
                Ok(())
            }
            (Mnemonic::MoveIf(condition), To::Register(register, part)) => {
                let from = self.source(instruction, width, 0)?;
                let to = (register, part);
                self.operations.push(Operation::MoveIf {
                    condition,
                    to,
                    from,
                });
                Ok(())
            }
            (Mnemonic::SetIf(condition), to) => {
                let register = match &to {
                    To::Register(register, part) => (*register, *part),
                    To::Memory(_) => (self.registers.temporary(0, span)?, Part::Low(Width::Byte)),
                };
                let to_register = register;
                self.operations.push(Operation::SetIf {
                    condition,
                    to: to_register,
                });
                if let To::Memory(at) = to {
                    self.store(at, Input::Register(register.0, register.1), width);
                }
                Ok(())
            }
            (Mnemonic::Exchange, to) => self.exchange(instruction, to, width),
            (Mnemonic::ExchangeAdd, to) => self.exchange_add(instruction, to, width),
            (Mnemonic::CompareExchange, to) => self.compare_exchange(instruction, to, width),
            _ => Ok(()),
        }
    }

    fn lower_move(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        to: To,
        width: Width,
    ) -> Result<(), Misread> {
        match (to, instruction.source) {
            // The load clears the upper bytes, as the instruction does.
            (To::Register(to, part), Some(Operand::Memory(memory))) if width >= Width::Long => {
                let at = self.address(&memory)?;
                debug_assert_eq!(part, Part::Low(width));
                self.operations.push(Operation::Load { to, at, width });
            }
            (To::Register(register, part), _) => {
                let from = self.source(instruction, width, 0)?;
                self.move_to((register, part), from, width);
            }
            (To::Memory(at), _) => {
                let value = self.source(instruction, width, 0)?;
                self.store(at, value, width);
            }
        }
        Ok(())
    }

    /// `destination = computation(destination, right)`.
    fn update(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        to: To,
        width: Width,
        computation: Computation,
        right: Input,
    ) -> Result<(), Misread> {
        match to {
            To::Register(register, part) => {
                let left = Input::Register(register, part);
                self.compute(computation, width, Some((register, part)), left, right);
            }
            To::Memory(at) => {
                let held = self.registers.temporary(0, instruction.span)?;
                let part = Part::Low(width);
                self.begin(instruction.is_locked);
                self.load(held, at, width);
                let left = Input::Register(held, part);
                self.compute(computation, width, Some((held, part)), left, right);
                self.store(at, left, width);
                self.end(instruction.is_locked);
            }
        }
        Ok(())
    }

    fn exchange(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        to: To,
        width: Width,
    ) -> Result<(), Misread> {
        let (other, other_part) = self.source_register(instruction)?;
        let held = self.registers.temporary(0, instruction.span)?;
        let held_part = Part::Low(width);
        let (other_value, held_value) = (
            Input::Register(other, other_part),
            Input::Register(held, held_part),
        );
        match to {
            To::Register(register, part) => {
                self.move_to((held, held_part), Input::Register(register, part), width);
                self.move_to((register, part), other_value, width);
                self.move_to((other, other_part), held_value, width);
            }
            To::Memory(at) => {
                self.begin(true);
                self.load(held, at, width);
                self.store(at, other_value, width);
                self.move_to((other, other_part), held_value, width);
                self.end(true);
            }
        }
        Ok(())
    }

    fn exchange_add(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        to: To,
        width: Width,
    ) -> Result<(), Misread> {
        let (other, other_part) = self.source_register(instruction)?;
        let sum = self.registers.temporary(1, instruction.span)?;
        let part = Part::Low(width);
        let (other_value, sum_value) = (
            Input::Register(other, other_part),
            Input::Register(sum, part),
        );
        let is_locked = instruction.is_locked;
        match to {
            To::Register(register, register_part) => {
                let held = Input::Register(register, register_part);
                self.compute(
                    Computation::Add,
                    width,
                    Some((sum, part)),
                    held,
                    other_value,
                );
                self.move_to((other, other_part), held, width);
                self.move_to((register, register_part), sum_value, width);
            }
            To::Memory(at) => {
                let held = self.registers.temporary(0, instruction.span)?;
                let held_value = Input::Register(held, part);
                self.begin(is_locked);
                self.load(held, at, width);
                self.compute(
                    Computation::Add,
                    width,
                    Some((sum, part)),
                    held_value,
                    other_value,
                );
                self.store(at, sum_value, width);
                self.move_to((other, other_part), held_value, width);
                self.end(is_locked);
            }
        }
        Ok(())
    }

    fn compare_exchange(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        to: To,
        width: Width,
    ) -> Result<(), Misread> {
        const DIFFERENT: FlagCondition = FlagCondition {
            test: FlagTest::Equal,
            negated: true,
        };
        let (new, new_part) = self.source_register(instruction)?;
        let new_value = Input::Register(new, new_part);
        let part = Part::Low(width);
        let span = instruction.span;
        let expected = self.registers.number(Which::Machine(ACCUMULATOR), span)?;
        let expected_value = Input::Register(expected, part);
        let is_locked = instruction.is_locked;
        if matches!(to, To::Memory(_)) {
            self.begin(is_locked);
        }
        let held_value = self.content(&to, width, span)?;
        self.compute(
            Computation::Subtract,
            width,
            None,
            expected_value,
            held_value,
        );
        let branch = self.operations.len();
        self.operations.push(Operation::JumpIf(DIFFERENT, 0));
        match to {
            To::Register(register, part) => self.move_to((register, part), new_value, width),
            To::Memory(at) => self.store(at, new_value, width),
        }
        let over = self.operations.len();
        self.operations.push(Operation::Jump(0));
        self.operations[branch] = Operation::JumpIf(DIFFERENT, over as u32 + 1);
        if let To::Memory(at) = to
            && !is_locked
        {
            self.store(at, held_value, width);
        }
        self.move_to((expected, part), held_value, width);
        self.operations[over] = Operation::Jump(self.operations.len() as u32);
        if matches!(to, To::Memory(_)) {
            self.end(is_locked);
        }
        Ok(())
    }

    fn begin(&mut self, is_locked: bool) {
        if is_locked {
            self.operations.push(Operation::BeginLocked);
        }
    }

    fn end(&mut self, is_locked: bool) {
        if is_locked {
            self.operations.push(Operation::EndLocked);
        }
    }

    fn load(&mut self, to: Register, at: AddressOperand, width: Width) {
        self.operations.push(Operation::Load { to, at, width });
    }

    fn store(&mut self, at: AddressOperand, value: Input, width: Width) {
        self.operations.push(Operation::Store { at, value, width });
    }

    fn move_to(&mut self, to: (Register, Part), from: Input, width: Width) {
        self.operations.push(Operation::Compute {
            computation: Computation::Move,
            width,
            to: Some(to),
            left: from,
            right: Input::Constant(0),
            sets_flags: false,
        });
    }

    fn compute(
        &mut self,
        computation: Computation,
        width: Width,
        to: Option<(Register, Part)>,
        left: Input,
        right: Input,
    ) {
        self.operations.push(Operation::Compute {
            computation,
            width,
            to,
            left,
            right,
            sets_flags: computation != Computation::Not,
        });
    }

    fn register(&mut self, written: WrittenRegister<'s>, span: Span) -> Result<Register, Misread> {
        self.registers.number(written.which, span)
    }

    fn destination(&mut self, operand: &Operand<'s>) -> Result<To, Misread> {
        match operand {
            Operand::Register(register, span) => Ok(To::Register(
                self.register(*register, *span)?,
                register.part,
            )),
            Operand::Memory(memory) => Ok(To::Memory(self.address(memory)?)),
            // The form of an instruction is checked when it is read.
            Operand::Number(_, span) => Err(Problem::NumericAddress.at(*span)),
            Operand::Address(place) => Err(Problem::NumericAddress.at(place.span)),
        }
    }

    fn source_register(
        &mut self,
        instruction: &WrittenInstruction<'s>,
    ) -> Result<(Register, Part), Misread> {
        match instruction.source {
            Some(Operand::Register(register, span)) => {
                Ok((self.register(register, span)?, register.part))
            }
            // Checked when the instruction is read.
            _ => Err(Problem::NumericAddress.at(instruction.span)),
        }
    }

    /// The source as a value; memory is loaded into a temporary register.
    fn source(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        width: Width,
        temporary: usize,
    ) -> Result<Input, Misread> {
        match instruction.source {
            None => Ok(Input::Constant(0)),
            Some(Operand::Register(register, span)) => Ok(Input::Register(
                self.register(register, span)?,
                register.part,
            )),
            Some(Operand::Number(number, span)) => {
                self.check_fit(number, width, span)?;
                Ok(Input::Constant(number.value & width.mask()))
            }
            Some(Operand::Address(place)) => {
                let address = self.memory.address(&place)?;
                if address > width.mask() {
                    let problem = Problem::DoesNotFit {
                        found: format!("the address of `{}`", quoted(place.name)),
                        bytes: width.bytes(),
                    };
                    return Err(problem.at(place.span));
                }
                Ok(Input::Constant(address))
            }
            Some(Operand::Memory(memory)) => {
                let at = self.address(&memory)?;
                let to = self.registers.temporary(temporary, memory.span)?;
                self.load(to, at, width);
                Ok(Input::Register(to, Part::Low(width)))
            }
        }
    }

    fn check_fit(
        &self,
        number: crate::syntax::tree::Number,
        width: Width,
        span: Span,
    ) -> Result<(), Misread> {
        match number.fits(width) {
            true => Ok(()),
            false => {
                let problem = Problem::DoesNotFit {
                    found: number.to_string(),
                    bytes: width.bytes(),
                };
                Err(problem.at(span))
            }
        }
    }

    /// The content of a destination.
    fn content(&mut self, to: &To, width: Width, span: Span) -> Result<Input, Misread> {
        match to {
            To::Register(register, part) => Ok(Input::Register(*register, *part)),
            To::Memory(at) => {
                let held = self.registers.temporary(0, span)?;
                self.load(held, *at, width);
                Ok(Input::Register(held, Part::Low(width)))
            }
        }
    }

    fn address(&mut self, memory: &Memory<'s>) -> Result<AddressOperand, Misread> {
        let width = match self.architecture {
            Architecture::X86 => Width::Long,
            Architecture::X86_64 => Width::Quad,
        };
        let mut displacement = memory.displacement;
        if let Some(symbol) = &memory.symbol {
            displacement = displacement.wrapping_add(self.memory.address(symbol)?);
        }
        if let Some(place) = memory.direct()
            && !self.memory.is_cell(displacement)
        {
            let problem = Problem::NoSuchCell {
                name: quoted(place.name),
                offset: memory.displacement as i64,
            };
            return Err(problem.at(memory.span));
        }
        let base = match memory.base {
            Some(which) => Some(self.registers.number(which, memory.span)?),
            None => None,
        };
        let index = match memory.index {
            Some((which, factor)) => Some((self.registers.number(which, memory.span)?, factor)),
            None => None,
        };
        Ok(AddressOperand {
            base,
            index,
            displacement: displacement & width.mask(),
            width,
        })
    }
}
