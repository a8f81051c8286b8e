//! Instructions as operations.
//!
//! An instruction that reads and writes memory is a load, a computation and a store; locked ones
//! have them between [`BeginLocked`](Operation::BeginLocked) and
//! [`EndLocked`](Operation::EndLocked). `CMOVcc` from memory always reads. After Intel's manual,
//! volume 2.

use rustc_hash::FxHashMap;

use crate::assemble::memory::MemoryMap;
use crate::assembly::{Argument, AssemblyInstruction, MemoryArgument};
use crate::code::{
    AddressOperand, Computation, Operand as Input, Operation, Part, Register, Width,
};
use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::MAX_ERRORS;
use crate::syntax::lexer::Span;
use crate::syntax::tree::{Column, Number};
use crate::test::Architecture;
use fencepost_diagnostics::quoted;

use super::instruction::WrittenInstruction;
use super::mnemonics::Mnemonic;
use super::operands::{Memory, Operand};
use super::register_file::RegisterFile;
use super::registers::WrittenRegister;

/// The lowered code of a thread.
pub(crate) struct LoweredThread<'s> {
    pub operations: Vec<Operation>,
    pub instruction_of: Vec<u32>,
    pub assembly: Vec<AssemblyInstruction>,
    pub registers: RegisterFile<'s>,
}

/// Lowers a thread. Errors are collected as long as others may be found.
pub(crate) fn lower_thread<'s>(
    column: &Column<'s>,
    architecture: Architecture,
    memory: &MemoryMap<'s>,
    errors: &mut Vec<SpannedError>,
) -> Result<LoweredThread<'s>, SpannedError> {
    let labels = labels(column, errors)?;
    let mut lowering = Lowering {
        architecture,
        memory,
        labels: &column.labels[..column.labels.len().min(MOST_SUGGESTED)],
        registers: RegisterFile::new(),
        operations: Vec::new(),
        jumps: Vec::new(),
    };
    let mut instruction_of = Vec::new();
    let mut assembly = Vec::with_capacity(column.instructions.len());
    let mut starts = Vec::with_capacity(column.instructions.len() + 1);
    for (index, instruction) in column.instructions.iter().enumerate() {
        starts.push(lowering.operations.len() as u32);
        let lowered = lowering.lower(instruction, &labels);
        let lowered = lowered.and_then(|()| lowering.assembly(instruction, &labels));
        if let Err(error) = lowered.map(|instruction| assembly.push(instruction)) {
            let is_last = error.kind.is_limit() || errors.len() + 1 >= MAX_ERRORS;
            match is_last {
                true => return Err(error),
                false => errors.push(error),
            }
        }
        instruction_of.resize(lowering.operations.len(), index as u32);
        // One is kept for the end.
        if lowering.operations.len() >= usize::from(u16::MAX) {
            let kind = ParseErrorKind::limit("operations in a thread", usize::from(u16::MAX));
            return Err(kind.at(instruction.span));
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
        assembly,
        registers: lowering.registers,
    })
}

fn labels<'s>(
    column: &Column<'s>,
    errors: &mut Vec<SpannedError>,
) -> Result<FxHashMap<&'s str, usize>, SpannedError> {
    let mut labels: FxHashMap<&str, (usize, Span)> = FxHashMap::default();
    for (name, instruction, span) in &column.labels {
        let Some((_, before)) = labels.insert(name, (*instruction, *span)) else {
            continue;
        };
        let kind = ParseErrorKind::DuplicateLabel {
            name: quoted(name),
            before: before.position,
        };
        match errors.len() + 1 >= MAX_ERRORS {
            true => return Err(kind.at(*span)),
            false => errors.push(kind.at(*span)),
        }
    }
    let labels = labels.into_iter();
    Ok(labels
        .map(|(name, (instruction, _))| (name, instruction))
        .collect())
}

/// How many labels are considered as what was meant by another one.
const MOST_SUGGESTED: usize = 1000;

pub(super) struct Lowering<'m, 's> {
    architecture: Architecture,
    memory: &'m MemoryMap<'s>,
    labels: &'m [(&'s str, usize, Span)],
    pub(super) registers: RegisterFile<'s>,
    pub(super) operations: Vec<Operation>,
    /// Jumps to labels: the operation, and the instruction that it jumps to.
    jumps: Vec<(usize, usize)>,
}

/// A destination: a part of a register, or memory.
pub(super) enum To {
    Register(Register, Part),
    Memory(AddressOperand),
}

impl<'s> Lowering<'_, 's> {
    fn lower(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        labels: &FxHashMap<&'s str, usize>,
    ) -> Result<(), SpannedError> {
        match instruction.mnemonic {
            Mnemonic::Nothing(_) | Mnemonic::Lock => return Ok(()),
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
    ) -> Result<(), SpannedError> {
        let Some((label, span)) = instruction.target else {
            return Ok(());
        };
        let Some(target) = labels.get(label) else {
            let kind = ParseErrorKind::UnknownLabel {
                found: quoted(label),
                meant: fencepost_diagnostics::nearest(
                    label,
                    self.labels.iter().map(|(name, ..)| *name),
                ),
            };
            return Err(kind.at(span));
        };
        self.jumps.push((self.operations.len(), *target));
        self.operations.push(operation);
        Ok(())
    }

    fn lower_computing(
        &mut self,
        instruction: &WrittenInstruction<'s>,
    ) -> Result<(), SpannedError> {
        let Some(destination) = instruction.destination() else {
            return Ok(());
        };
        let span = instruction.span;
        let width = match instruction.width {
            Some(width) => width,
            None => self.memory.width_of_unsized(instruction),
        };
        let to = self.destination(destination)?;
        match (instruction.mnemonic, to) {
            (Mnemonic::Move, to) => self.lower_move(instruction, to, width),
            (Mnemonic::Binary(computation), to) => {
                let right = self.source(instruction, width, 0)?;
                self.update(instruction, to, width, computation, right)
            }
            (Mnemonic::ShiftLeft, to) => {
                let right = match instruction.source() {
                    None => Input::Constant(1),
                    Some(Operand::Number(number, span)) => {
                        check_fit(*number, Width::Byte, *span)?;
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
    ) -> Result<(), SpannedError> {
        match (to, instruction.source()) {
            // The load clears the upper bytes, as the instruction does.
            (To::Register(to, part), Some(Operand::Memory(memory))) if width >= Width::Long => {
                let at = self.address(memory)?;
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
    ) -> Result<(), SpannedError> {
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

    pub(super) fn begin(&mut self, is_locked: bool) {
        if is_locked {
            self.operations.push(Operation::BeginLocked);
        }
    }

    pub(super) fn end(&mut self, is_locked: bool) {
        if is_locked {
            self.operations.push(Operation::EndLocked);
        }
    }

    pub(super) fn load(&mut self, to: Register, at: AddressOperand, width: Width) {
        self.operations.push(Operation::Load { to, at, width });
    }

    pub(super) fn store(&mut self, at: AddressOperand, value: Input, width: Width) {
        self.operations.push(Operation::Store { at, value, width });
    }

    pub(super) fn move_to(&mut self, to: (Register, Part), from: Input, width: Width) {
        self.operations.push(Operation::Compute {
            computation: Computation::Move,
            width,
            to: Some(to),
            left: from,
            right: Input::Constant(0),
            sets_flags: false,
        });
    }

    pub(super) fn compute(
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

    fn register(
        &mut self,
        written: WrittenRegister<'s>,
        span: Span,
    ) -> Result<Register, SpannedError> {
        self.registers.number(written.which, span)
    }

    fn destination(&mut self, operand: &Operand<'s>) -> Result<To, SpannedError> {
        match operand {
            Operand::Register(register, span) => Ok(To::Register(
                self.register(*register, *span)?,
                register.part,
            )),
            Operand::Memory(memory) => Ok(To::Memory(self.address(memory)?)),
            // The form of an instruction is checked when it is read.
            Operand::Number(_, span) => Err(ParseErrorKind::NumericAddress.at(*span)),
            Operand::Address(reference) => Err(ParseErrorKind::NumericAddress.at(reference.span)),
        }
    }

    pub(super) fn source_register(
        &mut self,
        instruction: &WrittenInstruction<'s>,
    ) -> Result<(Register, Part), SpannedError> {
        match instruction.source() {
            Some(Operand::Register(register, span)) => {
                Ok((self.register(*register, *span)?, register.part))
            }
            // Checked when the instruction is read.
            _ => Err(ParseErrorKind::NumericAddress.at(instruction.span)),
        }
    }

    /// The source as a value; memory is loaded into a temporary register.
    fn source(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        width: Width,
        temporary: usize,
    ) -> Result<Input, SpannedError> {
        match instruction.source() {
            None => Ok(Input::Constant(0)),
            Some(Operand::Register(register, span)) => Ok(Input::Register(
                self.register(*register, *span)?,
                register.part,
            )),
            Some(Operand::Number(number, span)) => {
                check_fit(*number, width, *span)?;
                Ok(Input::Constant(number.value & width.mask()))
            }
            Some(Operand::Address(reference)) => {
                let address = self.memory.address(reference)?;
                if address > width.mask() {
                    let kind = ParseErrorKind::DoesNotFit {
                        found: format!("the address of `{}`", quoted(reference.name)),
                        bytes: width.bytes(),
                    };
                    return Err(kind.at(reference.span));
                }
                Ok(Input::Constant(address))
            }
            Some(Operand::Memory(memory)) => {
                let at = self.address(memory)?;
                let to = self.registers.temporary(temporary, memory.span)?;
                self.load(to, at, width);
                Ok(Input::Register(to, Part::Low(width)))
            }
        }
    }

    /// The content of a destination.
    pub(super) fn content(
        &mut self,
        to: &To,
        width: Width,
        span: Span,
    ) -> Result<Input, SpannedError> {
        match to {
            To::Register(register, part) => Ok(Input::Register(*register, *part)),
            To::Memory(at) => {
                let held = self.registers.temporary(0, span)?;
                self.load(held, *at, width);
                Ok(Input::Register(held, Part::Low(width)))
            }
        }
    }

    fn address(&mut self, memory: &Memory<'s>) -> Result<AddressOperand, SpannedError> {
        let width = match self.architecture {
            Architecture::X86 => Width::Long,
            Architecture::X86_64 => Width::Quad,
        };
        let mut displacement = memory.displacement;
        if let Some(symbol) = &memory.symbol {
            displacement = displacement.wrapping_add(self.memory.address(symbol)?);
        }
        if let Some(reference) = memory.direct() {
            if !self.memory.is_cell(displacement) {
                let kind = ParseErrorKind::NoSuchCell {
                    name: quoted(reference.name),
                    offset: memory.displacement as i64,
                };
                return Err(kind.at(memory.span));
            }
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

impl<'s> Lowering<'_, 's> {
    /// The instruction as it is written, after it was lowered: all its operands are known to be right.
    fn assembly(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        labels: &FxHashMap<&'s str, usize>,
    ) -> Result<AssemblyInstruction, SpannedError> {
        let width = match instruction.width {
            Some(width) => width,
            None => self.memory.width_of_unsized(instruction),
        };
        let source_width = match instruction.mnemonic {
            Mnemonic::ShiftLeft => Width::Byte,
            _ => width,
        };
        let destination = instruction.destination();
        let source = instruction.source();
        Ok(AssemblyInstruction {
            mnemonic: instruction.mnemonic,
            is_locked: instruction.is_locked,
            width,
            destination: destination.map(|o| self.argument(o, width)).transpose()?,
            source: source.map(|o| self.argument(o, source_width)).transpose()?,
            target: instruction
                .target
                .and_then(|(label, _)| labels.get(label))
                .map(|target| *target as u32),
        })
    }

    fn argument(&mut self, operand: &Operand<'s>, width: Width) -> Result<Argument, SpannedError> {
        Ok(match operand {
            Operand::Register(register, span) => {
                Argument::Register(self.register(*register, *span)?, register.part)
            }
            Operand::Number(number, _) => Argument::Constant(number.value & width.mask()),
            Operand::Address(reference) => Argument::Address(self.memory.address(reference)?),
            Operand::Memory(memory) => {
                let symbol = memory.symbol.as_ref();
                let mut number = |which| self.registers.number(which, memory.span);
                let base = memory.base.map(&mut number).transpose()?;
                let index = match memory.index {
                    Some((which, factor)) => Some((number(which)?, factor)),
                    None => None,
                };
                Argument::Memory(MemoryArgument {
                    symbol: symbol
                        .map(|symbol| self.memory.address(symbol))
                        .transpose()?,
                    offset: memory.displacement,
                    base,
                    index,
                })
            }
        })
    }
}

fn check_fit(number: Number, width: Width, span: Span) -> Result<(), SpannedError> {
    match number.fits(width) {
        true => Ok(()),
        false => {
            let kind = ParseErrorKind::DoesNotFit {
                found: number.to_string(),
                bytes: width.bytes(),
            };
            Err(kind.at(span))
        }
    }
}
