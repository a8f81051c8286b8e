//! Whether an instruction has operands of the right number, kinds and widths, and which is what.

use crate::code::{Part, Width};
use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::lexer::Span;
use crate::test::Architecture;
use fencepost_diagnostics::quoted;

use super::instruction::WrittenInstruction;
use super::mnemonics::Mnemonic;
use super::operands::Operand;
use super::registers::{COUNTER, Which, WrittenRegister};

/// What is needed to check the operands of an instruction.
pub(super) struct Form<'s> {
    /// The instruction's name.
    pub name: &'s str,
    /// Where that is written.
    pub span: Span,
    /// The syntax.
    pub architecture: Architecture,
}

impl<'s> Form<'s> {
    fn name(&self) -> String {
        quoted(self.name)
    }

    /// Which operand is the destination, and whether both are of the right kinds.
    pub fn arrange(
        &self,
        instruction: &mut WrittenInstruction<'s>,
        operands: &[Operand<'s>],
    ) -> Result<(), SpannedError> {
        use Operand::{Memory, Register};
        let is_first_destination = self.architecture == Architecture::X86;
        let count = |wanted| {
            let kind = ParseErrorKind::OperandCount {
                name: self.name(),
                found: operands.len(),
                wanted,
            };
            let at = operands.first().map_or(self.span, |first| {
                first.span().to(operands[operands.len() - 1].span())
            });
            kind.at(at)
        };
        match instruction.mnemonic {
            Mnemonic::Jump
            | Mnemonic::JumpIf(_)
            | Mnemonic::Fence(_)
            | Mnemonic::Nothing
            | Mnemonic::Return
            | Mnemonic::Lock => {
                return match operands {
                    [] => Ok(()),
                    _ => Err(count("no operand")),
                };
            }
            Mnemonic::Unary(_) | Mnemonic::SetIf(_) => {
                let [destination] = operands else {
                    return Err(count("one operand"));
                };
                self.check_destination(destination)?;
                instruction.destination = Some(Box::new(*destination));
                return Ok(());
            }
            Mnemonic::ShiftLeft if operands.len() == 1 => {
                self.check_destination(&operands[0])?;
                instruction.destination = Some(Box::new(operands[0]));
                return Ok(());
            }
            _ => {}
        }
        let [first, second] = operands else {
            return Err(count("two operands"));
        };
        if let (Memory(_), Memory(_)) = (first, second) {
            let name = self.name();
            return Err(
                ParseErrorKind::TwoMemoryOperands { name }.at(first.span().to(second.span()))
            );
        }
        let (mut destination, mut source) = match is_first_destination {
            true => (*first, *second),
            false => (*second, *first),
        };
        match instruction.mnemonic {
            // herd7's order, where both orders make sense.
            Mnemonic::CompareExchange => (destination, source) = (*first, *second),
            Mnemonic::Compare(_) if !matches!(destination, Register(..) | Memory(_)) => {
                return Err(self.constant_destination(&destination));
            }
            _ => {}
        }
        let is_either_order = matches!(
            instruction.mnemonic,
            Mnemonic::Exchange | Mnemonic::ExchangeAdd | Mnemonic::CompareExchange
        );
        if is_either_order && matches!(source, Memory(_)) {
            (destination, source) = (source, destination);
        }
        if let (Mnemonic::MoveIf(_), Memory(_), Register(..)) =
            (instruction.mnemonic, &destination, &source)
        {
            (destination, source) = (source, destination);
        }
        self.check_destination(&destination)?;
        let kind = |operand: &Operand<'s>, wanted| {
            let kind = ParseErrorKind::OperandKind {
                name: self.name(),
                found: operand.kind(),
                wanted,
            };
            kind.at(operand.span())
        };
        match (instruction.mnemonic, &destination, &source) {
            (Mnemonic::MoveIf(_), Memory(_), _) => {
                return Err(kind(&destination, "a register as the destination"));
            }
            (Mnemonic::MoveIf(_), _, Operand::Number(..) | Operand::Address(_)) => {
                return Err(kind(&source, "a register or memory as the source"));
            }
            (
                Mnemonic::Exchange | Mnemonic::ExchangeAdd | Mnemonic::CompareExchange,
                _,
                Operand::Number(..) | Operand::Address(_),
            ) => return Err(kind(&source, "a register")),
            (Mnemonic::ShiftLeft, _, Operand::Number(..)) => {}
            (Mnemonic::ShiftLeft, _, Register(register, _))
                if register.which == Which::Machine(COUNTER)
                    && register.part == Part::Low(Width::Byte) => {}
            (Mnemonic::ShiftLeft, ..) => {
                return Err(kind(&source, "a constant or `CL` as the count"));
            }
            _ => {}
        }
        instruction.destination = Some(Box::new(destination));
        instruction.source = Some(Box::new(source));
        Ok(())
    }

    fn check_destination(&self, destination: &Operand<'s>) -> Result<(), SpannedError> {
        match destination {
            Operand::Register(..) | Operand::Memory(_) => Ok(()),
            _ => Err(self.constant_destination(destination)),
        }
    }

    fn constant_destination(&self, destination: &Operand<'s>) -> SpannedError {
        let kind = ParseErrorKind::ConstantDestination {
            name: self.name(),
            architecture: self.architecture,
        };
        kind.at(destination.span())
    }

    /// How many bytes the instruction works on, by its suffix or its registers. In `X86` a suffix
    /// also says which part of a 32-bit register is meant, because herd7 has no names for parts
    /// there: `MOVB [x],EAX` stores `AL`. A symbolic register has the width that is asked of it.
    pub fn settle_width(
        &self,
        instruction: &mut WrittenInstruction<'s>,
        suffix: Option<Width>,
    ) -> Result<(), SpannedError> {
        let is_set = matches!(instruction.mnemonic, Mnemonic::SetIf(_));
        let is_shift = instruction.mnemonic == Mnemonic::ShiftLeft;
        let stated = match is_set {
            true => Some(Width::Byte),
            false => suffix,
        };
        let mut registers: Vec<&mut (WrittenRegister<'s>, Span)> = Vec::new();
        let mut pairs = [None, None];
        let slots = [instruction.destination(), instruction.source()];
        for (pair, slot) in pairs.iter_mut().zip(slots) {
            if let Some(Operand::Register(register, span)) = slot {
                *pair = Some((*register, *span));
            }
        }
        if is_shift {
            pairs[1] = None;
        }
        registers.extend(pairs.iter_mut().flatten());
        let is_symbolic =
            |register: &WrittenRegister<'_>| matches!(register.which, Which::Symbolic(_));
        let of_machine = registers.iter().find(|pair| !is_symbolic(&pair.0));
        let by_register = of_machine
            .or(registers.first())
            .map(|pair| pair.0.part.width());
        let Some(width) = stated.or(by_register) else {
            instruction.width = None;
            return Ok(());
        };
        if matches!(instruction.mnemonic, Mnemonic::MoveIf(_)) && width == Width::Byte {
            return Err(ParseErrorKind::ByteMoveIf { name: self.name() }.at(self.span));
        }
        for (register, span) in registers {
            let is_adapted = is_symbolic(register)
                || self.architecture == Architecture::X86
                    && register.part == Part::Low(Width::Long)
                    && stated.is_some();
            if is_adapted {
                register.part = Part::Low(width);
            } else if register.part.width() != width {
                let kind = ParseErrorKind::WidthMismatch {
                    name: self.name(),
                    bytes: width.bytes(),
                    register_bytes: register.part.width().bytes(),
                };
                return Err(kind.at(*span));
            }
        }
        let operands = [&mut instruction.destination, &mut instruction.source];
        for (operand, pair) in operands.into_iter().zip(pairs) {
            if let (Some(operand), Some((register, span))) = (operand, pair) {
                **operand = Operand::Register(register, span);
            }
        }
        instruction.width = Some(width);
        Ok(())
    }

    /// `LOCK` is for instructions that read and write memory; others fault.
    pub fn check_lock(&self, instruction: &WrittenInstruction<'s>) -> Result<(), SpannedError> {
        if !instruction.is_locked {
            return Ok(());
        }
        let can_lock = matches!(
            instruction.mnemonic,
            Mnemonic::Binary(_)
                | Mnemonic::Unary(_)
                | Mnemonic::Exchange
                | Mnemonic::ExchangeAdd
                | Mnemonic::CompareExchange
        );
        let has_memory = matches!(instruction.destination(), Some(Operand::Memory(_)));
        match can_lock && has_memory {
            true => Ok(()),
            false => {
                let name = self.name();
                Err(ParseErrorKind::LockNotAllowed { name, can_lock }.at(instruction.span))
            }
        }
    }
}
