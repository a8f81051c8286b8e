//! Operands: registers, constants and memory.

use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::lexer::{Lexer, Span, Token};
use crate::syntax::target::number;
use crate::syntax::tree::{MemoryRef, Number};
use crate::test::Architecture;
use fencepost_diagnostics::quoted;

use super::registers::{self, Which, WrittenRegister};

/// An operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Operand<'s> {
    /// A part of a register.
    Register(WrittenRegister<'s>, Span),
    /// A number.
    Number(Number, Span),
    /// The address of a location: `$x`.
    Address(MemoryRef<'s>),
    /// Memory.
    Memory(Memory<'s>),
}

impl Operand<'_> {
    /// Where it is written.
    pub fn span(&self) -> Span {
        match self {
            Operand::Register(_, span) | Operand::Number(_, span) => *span,
            Operand::Address(reference) => reference.span,
            Operand::Memory(memory) => memory.span,
        }
    }

    /// Its kind, for error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Operand::Register(..) => "a register",
            Operand::Number(..) => "a constant",
            Operand::Address(_) => "an address",
            Operand::Memory(_) => "memory",
        }
    }
}

/// A memory operand: `symbol + base + index * scale + displacement`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Memory<'s> {
    /// A location.
    pub symbol: Option<MemoryRef<'s>>,
    /// A register.
    pub base: Option<Which<'s>>,
    /// A register and its factor.
    pub index: Option<(Which<'s>, u8)>,
    /// A number, in two's complement.
    pub displacement: u64,
    /// Where it is written.
    pub span: Span,
}

impl<'s> Memory<'s> {
    /// The location, if no register takes part.
    pub fn direct(&self) -> Option<MemoryRef<'s>> {
        match (self.base, self.index) {
            (None, None) => self.symbol,
            _ => None,
        }
    }
}

/// Reads an operand.
pub(super) fn read_operand<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
) -> Result<Operand<'s>, SpannedError> {
    let mut reader = OperandReader {
        lexer,
        architecture,
    };
    reader.read()
}

const AN_OPERAND: &str = "an operand: a register, a constant or memory";

struct OperandReader<'l, 's> {
    lexer: &'l mut Lexer<'s>,
    architecture: Architecture,
}

impl<'s> OperandReader<'_, 's> {
    fn read(&mut self) -> Result<Operand<'s>, SpannedError> {
        let (token, span) = self.lexer.next()?;
        match token {
            Token::Percent(name) => {
                let register = self.after_percent(name, span)?;
                Ok(Operand::Register(register, span))
            }
            Token::Mark("$") => self.immediate(span),
            Token::Number(text) => {
                let found = number(text, false, span)?;
                self.number_or_memory(found, span)
            }
            Token::Mark("-") => {
                let (text, last) = self.digits()?;
                let span = span.to(last);
                let found = number(text, true, span)?;
                self.number_or_memory(found, span)
            }
            Token::Mark("(" | "[") => self.memory(token, None, 0, span),
            Token::Name(name) => {
                if let Some(register) = registers::machine(name, self.architecture) {
                    return Ok(Operand::Register(register, span));
                }
                let symbol = MemoryRef {
                    name,
                    index: None,
                    span,
                };
                let (next, _) = self.lexer.peek()?;
                match next {
                    Token::Mark("(" | "[") => {
                        self.lexer.next()?;
                        self.memory(next, Some(symbol), 0, span)
                    }
                    _ => Err(self.bare_name(name, span)),
                }
            }
            _ => Err(self.lexer.unexpected(span, AN_OPERAND)),
        }
    }

    fn bare_name(&self, name: &str, span: Span) -> SpannedError {
        let found = quoted(name);
        if let Some((why, needed)) = registers::refusal(name) {
            return ParseErrorKind::NotModelled { found, why, needed }.at(span);
        }
        let is_wide = registers::is_only_in_64_bits(name);
        match self.architecture == Architecture::X86 && is_wide {
            true => ParseErrorKind::WideRegister { found }.at(span),
            false => ParseErrorKind::BareName { found }.at(span),
        }
    }

    fn after_percent(
        &self,
        name: &'s str,
        span: Span,
    ) -> Result<WrittenRegister<'s>, SpannedError> {
        registers::after_percent(name, self.architecture).map_err(|meant| {
            let found = format!("%{}", quoted(name));
            if let Some((why, needed)) = registers::refusal(name) {
                return ParseErrorKind::NotModelled { found, why, needed }.at(span);
            }
            let meant = meant.map(|meant| format!("%{meant}"));
            match self.architecture == Architecture::X86 && registers::is_only_in_64_bits(name) {
                true => ParseErrorKind::WideRegister { found }.at(span),
                false => ParseErrorKind::UnknownRegister { found, meant }.at(span),
            }
        })
    }

    fn digits(&mut self) -> Result<(&'s str, Span), SpannedError> {
        match self.lexer.next()? {
            (Token::Number(text), span) => Ok((text, span)),
            (_, span) => Err(self.lexer.unexpected(span, "a number after `-`")),
        }
    }

    fn immediate(&mut self, dollar: Span) -> Result<Operand<'s>, SpannedError> {
        let (token, span) = self.lexer.next()?;
        match token {
            Token::Number(text) => {
                let span = dollar.to(span);
                Ok(Operand::Number(number(text, false, span)?, span))
            }
            Token::Mark("-") => {
                let (text, last) = self.digits()?;
                let span = dollar.to(last);
                Ok(Operand::Number(number(text, true, span)?, span))
            }
            Token::Name(name) => {
                let mut reference = MemoryRef {
                    name,
                    index: None,
                    span: dollar.to(span),
                };
                if self.lexer.take_mark("[")? {
                    let (token, at) = self.lexer.next()?;
                    let Token::Number(text) = token else {
                        return Err(self.lexer.unexpected(at, "the number of an element"));
                    };
                    reference.index = Some(number(text, false, at)?.value);
                    reference.span = dollar.to(self.lexer.expect_mark("]", "`]`")?);
                }
                Ok(Operand::Address(reference))
            }
            _ => Err(self
                .lexer
                .unexpected(span, "a number or a location after `$`")),
        }
    }

    /// A number is a constant unless it is the displacement of what follows.
    fn number_or_memory(&mut self, found: Number, span: Span) -> Result<Operand<'s>, SpannedError> {
        let (next, _) = self.lexer.peek()?;
        match next {
            Token::Mark("(" | "[") => {
                self.lexer.next()?;
                self.memory(next, None, found.value, span)
            }
            _ => Ok(Operand::Number(found, span)),
        }
    }

    /// The address after `(` or `[`: a sum, and in AT&T syntax an index and its factor.
    fn memory(
        &mut self,
        opening: Token<'s>,
        symbol: Option<MemoryRef<'s>>,
        displacement: u64,
        begin: Span,
    ) -> Result<Operand<'s>, SpannedError> {
        let mut memory = Memory {
            symbol,
            base: None,
            index: None,
            displacement,
            span: begin,
        };
        if self.lexer.peek()?.0 != Token::Mark(",") {
            self.sum(&mut memory)?;
        }
        if self.lexer.take_mark(",")? {
            self.index_and_factor(&mut memory)?;
        }
        let (closing, wanted) = match opening {
            Token::Mark("(") => (")", "`)`"),
            _ => ("]", "`]`"),
        };
        let last = self.lexer.expect_mark(closing, wanted)?;
        memory.span = begin.to(last);
        if memory.symbol.is_none() && memory.base.is_none() && memory.index.is_none() {
            return Err(ParseErrorKind::NumericAddress.at(memory.span));
        }
        Ok(Operand::Memory(memory))
    }

    fn sum(&mut self, memory: &mut Memory<'s>) -> Result<(), SpannedError> {
        let mut is_negative = self.lexer.take_mark("-")?;
        loop {
            self.term(memory, is_negative)?;
            is_negative = if self.lexer.take_mark("+")? {
                self.lexer.take_mark("-")?
            } else if self.lexer.take_mark("-")? {
                true
            } else {
                return Ok(());
            };
        }
    }

    fn term(&mut self, memory: &mut Memory<'s>, is_negative: bool) -> Result<(), SpannedError> {
        const WANTED: &str = "a register, a location or a number in an address";
        let (token, span) = self.lexer.next()?;
        match token {
            Token::Number(text) => {
                let found = number(text, is_negative, span)?;
                memory.displacement = memory.displacement.wrapping_add(found.value);
                Ok(())
            }
            _ if is_negative => Err(self.lexer.unexpected(span, "a number after `-`")),
            Token::Percent(name) => {
                let register = self.after_percent(name, span)?;
                self.address_register(memory, register, span)
            }
            Token::Name(name) => match registers::machine(name, self.architecture) {
                Some(register) => self.address_register(memory, register, span),
                None if matches!(name.to_ascii_lowercase().as_str(), "rip" | "eip") => {
                    Err(self.bare_name(name, span))
                }
                None if memory.symbol.is_some() => Err(self
                    .lexer
                    .unexpected(span, "at most one location in an address")),
                None => {
                    let mut symbol = MemoryRef {
                        name,
                        index: None,
                        span,
                    };
                    if self.lexer.take_mark("[")? {
                        let (token, at) = self.lexer.next()?;
                        let Token::Number(text) = token else {
                            return Err(self.lexer.unexpected(at, "the number of an element"));
                        };
                        symbol.index = Some(number(text, false, at)?.value);
                        symbol.span = span.to(self.lexer.expect_mark("]", "`]`")?);
                    }
                    memory.symbol = Some(symbol);
                    Ok(())
                }
            },
            _ => Err(self.lexer.unexpected(span, WANTED)),
        }
    }

    /// A register, and a factor if `*` follows.
    fn address_register(
        &mut self,
        memory: &mut Memory<'s>,
        register: WrittenRegister<'s>,
        span: Span,
    ) -> Result<(), SpannedError> {
        if register.part.width().bytes() < 4 {
            return Err(ParseErrorKind::NarrowAddress.at(span));
        }
        if self.lexer.take_mark("*")? {
            let factor = self.factor()?;
            if memory.index.is_some() {
                return Err(self
                    .lexer
                    .unexpected(span, "at most one register with a factor"));
            }
            memory.index = Some((register.which, factor));
        } else if memory.base.is_none() {
            memory.base = Some(register.which);
        } else if memory.index.is_none() {
            memory.index = Some((register.which, 1));
        } else {
            return Err(self
                .lexer
                .unexpected(span, "at most two registers in an address"));
        }
        Ok(())
    }

    fn index_and_factor(&mut self, memory: &mut Memory<'s>) -> Result<(), SpannedError> {
        let (token, span) = self.lexer.next()?;
        let register = match token {
            Token::Percent(name) => Some(self.after_percent(name, span)?),
            Token::Name(name) => registers::machine(name, self.architecture),
            _ => None,
        };
        let Some(register) = register else {
            return Err(self.lexer.unexpected(span, "a register as the index"));
        };
        if register.part.width().bytes() < 4 {
            return Err(ParseErrorKind::NarrowAddress.at(span));
        }
        if memory.index.is_some() {
            return Err(self
                .lexer
                .unexpected(span, "at most two registers in an address"));
        }
        let factor = match self.lexer.take_mark(",")? {
            true => self.factor()?,
            false => 1,
        };
        memory.index = Some((register.which, factor));
        Ok(())
    }

    fn factor(&mut self) -> Result<u8, SpannedError> {
        match self.lexer.next()? {
            (Token::Number("1"), _) => Ok(1),
            (Token::Number("2"), _) => Ok(2),
            (Token::Number("4"), _) => Ok(4),
            (Token::Number("8"), _) => Ok(8),
            (_, span) => Err(self.lexer.unexpected(span, "the factor 1, 2, 4 or 8")),
        }
    }
}
