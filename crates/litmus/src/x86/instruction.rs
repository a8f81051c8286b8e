//! Instructions as they are written: which they are, and which operand is what.

use crate::code::{Part, Width};
use crate::excerpt::quoted;
use crate::parse_error::{Misread, Problem};
use crate::syntax::lexer::{Lexer, Span, Token};
use crate::syntax::tree::Column;
use crate::test::Architecture;

use super::mnemonics::{self, Mnemonic};
use super::operands::{Operand, read_operand};
use super::registers::{COUNTER, Which, WrittenRegister};

/// An instruction whose operands are of the right kinds.
#[derive(Clone, Debug)]
pub(crate) struct WrittenInstruction<'s> {
    /// What it does.
    pub mnemonic: Mnemonic,
    /// Whether it has the prefix `LOCK`.
    pub is_locked: bool,
    /// How many bytes it works on, if the suffix or a register says so.
    pub width: Option<Width>,
    /// What is written; the left side of a comparison.
    pub destination: Option<Operand<'s>>,
    /// What is read.
    pub source: Option<Operand<'s>>,
    /// The label of a jump.
    pub target: Option<(&'s str, Span)>,
    /// As it is written, with spaces tidied.
    pub text: String,
    /// Where.
    pub span: Span,
}

impl<'s> WrittenInstruction<'s> {
    /// Its operands.
    pub fn operands(&self) -> impl Iterator<Item = &Operand<'s>> {
        self.destination.iter().chain(&self.source)
    }
}

/// Reads a cell of the program: labels, and an instruction or none.
pub(crate) fn read_cell<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
    column: &mut Column<'s>,
) -> Result<(), Misread> {
    loop {
        let mut ahead = *lexer;
        match ahead.next()? {
            (Token::Mark("|" | ";") | Token::End, _) => return Ok(()),
            (Token::Name(name), span) if ahead.peek()?.0 == Token::Mark(":") => {
                ahead.next()?;
                *lexer = ahead;
                let next = column.instructions.len();
                column.labels.push((name, next, span));
            }
            (Token::Name(_), _) => {
                let instruction = read_instruction(lexer, architecture)?;
                column.instructions.push(instruction);
                return Ok(());
            }
            (_, span) => return Err(lexer.unexpected(span, "an instruction or a label")),
        }
    }
}

fn read_instruction<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
) -> Result<WrittenInstruction<'s>, Misread> {
    let (mut name, mut name_span) = read_name(lexer)?;
    let begin = name_span;
    let mut named = find(name, name_span)?;
    let is_locked = named.mnemonic == Mnemonic::Lock;
    if is_locked {
        // herd7 prints and reads `LOCK; INC [x]`.
        lexer.take_mark(";")?;
        (name, name_span) = read_name(lexer)?;
        named = find(name, name_span)?;
        if named.mnemonic == Mnemonic::Lock {
            return Err(lexer.unexpected(name_span, "an instruction after `LOCK`"));
        }
    }
    let mut instruction = WrittenInstruction {
        mnemonic: named.mnemonic,
        is_locked,
        width: named.suffix,
        destination: None,
        source: None,
        target: None,
        text: String::new(),
        span: begin,
    };
    let mut operands = Vec::new();
    if matches!(named.mnemonic, Mnemonic::Jump | Mnemonic::JumpIf(_)) {
        match lexer.next()? {
            (Token::Name(label), span) => instruction.target = Some((label, span)),
            (_, span) => return Err(lexer.unexpected(span, "the label to jump to")),
        }
    } else {
        operands = read_operands(lexer, architecture)?;
    }
    instruction.span = lexer.since(begin);
    instruction.text = tidy(&lexer.source()[begin.start..instruction.span.end]);
    let form = Form {
        name,
        span: name_span,
        architecture,
    };
    form.arrange(&mut instruction, &operands)?;
    form.settle_width(&mut instruction, named.suffix)?;
    form.check_lock(&instruction)?;
    Ok(instruction)
}

fn read_name<'s>(lexer: &mut Lexer<'s>) -> Result<(&'s str, Span), Misread> {
    match lexer.next()? {
        (Token::Name(name), span) => Ok((name, span)),
        (_, span) => Err(lexer.unexpected(span, "an instruction")),
    }
}

fn find(name: &str, span: Span) -> Result<mnemonics::Named, Misread> {
    mnemonics::find(name).ok_or_else(|| {
        let found = quoted(name);
        let problem = match mnemonics::refusal(name) {
            Some((why, needed)) => Problem::NotModelled { found, why, needed },
            None => Problem::UnknownInstruction {
                found,
                meant: mnemonics::nearest(name),
            },
        };
        problem.at(span)
    })
}

fn read_operands<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
) -> Result<Vec<Operand<'s>>, Misread> {
    let mut operands = Vec::new();
    if matches!(lexer.peek()?.0, Token::Mark("|" | ";") | Token::End) {
        return Ok(operands);
    }
    loop {
        operands.push(read_operand(lexer, architecture)?);
        // No instruction has more; how many are too many is said elsewhere.
        if operands.len() > 3 || !lexer.take_mark(",")? {
            return Ok(operands);
        }
    }
}

/// Without comments, and with at most one blank where there was white space, and none around commas and in
/// operands.
fn tidy(text: &str) -> String {
    let mut tidied = String::new();
    let mut comments = 0_usize;
    let mut is_apart = false;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek()) {
            ('(', Some('*')) => {
                comments += 1;
                rest.next();
                is_apart = true;
            }
            ('*', Some(')')) if comments > 0 => {
                comments -= 1;
                rest.next();
            }
            _ if comments > 0 => {}
            _ if character.is_whitespace() => is_apart = true,
            _ => {
                let last = tidied.chars().last();
                let touches = |c: char| matches!(c, ',' | '(' | ')' | '[' | ']' | '+' | '*');
                let opens = matches!(character, '(' | '[');
                let is_wanted = match last {
                    None => false,
                    Some(last) if opens => !touches(last) && !last.is_ascii_digit(),
                    Some(last) => !touches(last) && !touches(character),
                };
                if is_apart && is_wanted {
                    tidied.push(' ');
                }
                is_apart = false;
                tidied.push(character);
            }
        }
    }
    tidied
}

/// What is needed to check the operands of an instruction.
struct Form<'s> {
    name: &'s str,
    span: Span,
    architecture: Architecture,
}

impl<'s> Form<'s> {
    fn name(&self) -> String {
        quoted(self.name)
    }

    /// Which operand is the destination, and whether both are of the right kinds.
    fn arrange(
        &self,
        instruction: &mut WrittenInstruction<'s>,
        operands: &[Operand<'s>],
    ) -> Result<(), Misread> {
        use Operand::{Memory, Register};
        let is_first_destination = self.architecture == Architecture::X86;
        let count = |wanted| {
            let problem = Problem::OperandCount {
                name: self.name(),
                found: operands.len(),
                wanted,
            };
            let at = operands.first().map_or(self.span, |first| {
                first.span().to(operands[operands.len() - 1].span())
            });
            problem.at(at)
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
                instruction.destination = Some(*destination);
                return Ok(());
            }
            Mnemonic::ShiftLeft if operands.len() == 1 => {
                self.check_destination(&operands[0])?;
                instruction.destination = Some(operands[0]);
                return Ok(());
            }
            _ => {}
        }
        let [first, second] = operands else {
            return Err(count("two operands"));
        };
        if let (Memory(_), Memory(_)) = (first, second) {
            let name = self.name();
            return Err(Problem::TwoMemoryOperands { name }.at(first.span().to(second.span())));
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
            let problem = Problem::OperandKind {
                name: self.name(),
                found: operand.kind(),
                wanted,
            };
            problem.at(operand.span())
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
        instruction.destination = Some(destination);
        instruction.source = Some(source);
        Ok(())
    }

    fn check_destination(&self, destination: &Operand<'s>) -> Result<(), Misread> {
        match destination {
            Operand::Register(..) | Operand::Memory(_) => Ok(()),
            _ => Err(self.constant_destination(destination)),
        }
    }

    fn constant_destination(&self, destination: &Operand<'s>) -> Misread {
        let problem = Problem::ConstantDestination {
            name: self.name(),
            architecture: self.architecture,
        };
        problem.at(destination.span())
    }

    /// How many bytes the instruction works on, by its suffix or its registers. In `X86` a suffix
    /// also says which part of a 32-bit register is meant, because herd7 has no names for parts
    /// there: `MOVB [x],EAX` stores `AL`. A symbolic register has the width that is asked of it.
    fn settle_width(
        &self,
        instruction: &mut WrittenInstruction<'s>,
        suffix: Option<Width>,
    ) -> Result<(), Misread> {
        let is_set = matches!(instruction.mnemonic, Mnemonic::SetIf(_));
        let is_shift = instruction.mnemonic == Mnemonic::ShiftLeft;
        let stated = match is_set {
            true => Some(Width::Byte),
            false => suffix,
        };
        let mut registers: Vec<&mut (WrittenRegister<'s>, Span)> = Vec::new();
        let mut pairs = [None, None];
        let slots = [instruction.destination, instruction.source];
        for (pair, slot) in pairs.iter_mut().zip(slots) {
            if let Some(Operand::Register(register, span)) = slot {
                *pair = Some((register, span));
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
            return Err(Problem::ByteMoveIf { name: self.name() }.at(self.span));
        }
        for (register, span) in registers {
            let is_adapted = is_symbolic(register)
                || self.architecture == Architecture::X86
                    && register.part == Part::Low(Width::Long)
                    && stated.is_some();
            if is_adapted {
                register.part = Part::Low(width);
            } else if register.part.width() != width {
                let problem = Problem::WidthMismatch {
                    name: self.name(),
                    bytes: width.bytes(),
                    register_bytes: register.part.width().bytes(),
                };
                return Err(problem.at(*span));
            }
        }
        let mut settled =
            pairs.map(|pair| pair.map(|(register, span)| Operand::Register(register, span)));
        instruction.destination = settled[0].take().or(instruction.destination);
        instruction.source = settled[1].take().or(instruction.source);
        instruction.width = Some(width);
        Ok(())
    }

    /// `LOCK` is for instructions that read and write memory; others fault.
    fn check_lock(&self, instruction: &WrittenInstruction<'s>) -> Result<(), Misread> {
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
        let has_memory = matches!(instruction.destination, Some(Operand::Memory(_)));
        match can_lock && has_memory {
            true => Ok(()),
            false => {
                let name = self.name();
                Err(Problem::LockNotAllowed { name, can_lock }.at(instruction.span))
            }
        }
    }
}
