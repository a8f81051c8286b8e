//! Checks the number, kinds and widths of the operands of an instruction, and decides which is the
//! destination.

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

/// The context for checking the operands of an instruction.
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

    /// Sets the destination and the source of an instruction, after checking their number and
    /// kinds.
    pub fn arrange(
        &self,
        instruction: &mut WrittenInstruction<'s>,
        operands: &[Operand<'s>],
    ) -> Result<(), SpannedError> {
        match instruction.mnemonic {
            Mnemonic::Jump
            | Mnemonic::JumpIf(_)
            | Mnemonic::Fence(_)
            | Mnemonic::Nothing(_)
            | Mnemonic::Return
            | Mnemonic::Lock => match operands {
                [] => Ok(()),
                _ => Err(self.wrong_count(operands, "no operand")),
            },
            Mnemonic::Unary(_) | Mnemonic::SetIf(_) => match operands {
                [destination] => self.arrange_one(instruction, destination),
                _ => Err(self.wrong_count(operands, "one operand")),
            },
            mnemonic => match (mnemonic, operands) {
                (Mnemonic::ShiftLeft, [destination]) => self.arrange_one(instruction, destination),
                (_, [first, second]) => self.arrange_two(instruction, first, second),
                _ => Err(self.wrong_count(operands, "two operands")),
            },
        }
    }

    fn wrong_count(&self, operands: &[Operand<'s>], wanted: &'static str) -> SpannedError {
        let kind = ParseErrorKind::OperandCount {
            name: self.name(),
            found: operands.len(),
            wanted,
        };
        let at = operands.first().map_or(self.span, |first| {
            first.span().to(operands[operands.len() - 1].span())
        });
        kind.at(at)
    }

    fn arrange_one(
        &self,
        instruction: &mut WrittenInstruction<'s>,
        destination: &Operand<'s>,
    ) -> Result<(), SpannedError> {
        self.check_destination(destination)?;
        instruction.destination = Some(Box::new(*destination));
        Ok(())
    }

    fn arrange_two(
        &self,
        instruction: &mut WrittenInstruction<'s>,
        first: &Operand<'s>,
        second: &Operand<'s>,
    ) -> Result<(), SpannedError> {
        if let (Operand::Memory(_), Operand::Memory(_)) = (first, second) {
            let name = self.name();
            let at = first.span().to(second.span());
            return Err(ParseErrorKind::TwoMemoryOperands { name }.at(at));
        }
        let (destination, source) = self.order(instruction.mnemonic, first, second);
        self.check_destination(&destination)?;
        self.check_kinds(instruction.mnemonic, &destination, &source)?;
        instruction.destination = Some(Box::new(destination));
        instruction.source = Some(Box::new(source));
        Ok(())
    }

    /// The destination and the source, in the order of the syntax, or in the one that makes sense.
    fn order(
        &self,
        mnemonic: Mnemonic,
        first: &Operand<'s>,
        second: &Operand<'s>,
    ) -> (Operand<'s>, Operand<'s>) {
        use Operand::{Memory, Register};
        let (destination, source) = match (mnemonic, self.architecture) {
            // herd7's order, where both orders make sense.
            (Mnemonic::CompareExchange, _) | (_, Architecture::X86) => (*first, *second),
            (_, Architecture::X86_64) => (*second, *first),
        };
        let is_swapped = matches!(
            (mnemonic, &destination, &source),
            (
                Mnemonic::Exchange | Mnemonic::ExchangeAdd | Mnemonic::CompareExchange,
                _,
                Memory(_)
            ) | (Mnemonic::MoveIf(_), Memory(_), Register(..))
        );
        match is_swapped {
            true => (source, destination),
            false => (destination, source),
        }
    }

    fn check_kinds(
        &self,
        mnemonic: Mnemonic,
        destination: &Operand<'s>,
        source: &Operand<'s>,
    ) -> Result<(), SpannedError> {
        use Operand::{Address, Memory, Number, Register};
        let (wrong, wanted) = match (mnemonic, destination, source) {
            (Mnemonic::MoveIf(_), Memory(_), _) => (destination, "a register as the destination"),
            (Mnemonic::MoveIf(_), _, Number(..) | Address(_)) => {
                (source, "a register or memory as the source")
            }
            (
                Mnemonic::Exchange | Mnemonic::ExchangeAdd | Mnemonic::CompareExchange,
                _,
                Number(..) | Address(_),
            ) => (source, "a register"),
            (Mnemonic::ShiftLeft, _, Number(..)) => return Ok(()),
            (Mnemonic::ShiftLeft, _, Register(register, _))
                if register.which == Which::Machine(COUNTER)
                    && register.part == Part::Low(Width::Byte) =>
            {
                return Ok(());
            }
            (Mnemonic::ShiftLeft, ..) => (source, "a constant or `CL` as the count"),
            _ => return Ok(()),
        };
        let kind = ParseErrorKind::OperandKind {
            name: self.name(),
            found: wrong.kind(),
            wanted,
        };
        Err(kind.at(wrong.span()))
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

    /// Determines the width of the instruction from its suffix or its registers. In `X86` a suffix
    /// also selects the part of a 32-bit register, because herd7 has no names for parts there:
    /// `MOVB [x],EAX` stores `AL`. A symbolic register has the width of the instruction.
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
