//! Instructions as they are written: which they are, and which operand is what.

use crate::code::Width;
use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::lexer::{Lexer, Span, Token};
use crate::syntax::tree::Column;
use crate::test::Architecture;
use fencepost_diagnostics::quoted;

use super::form::Form;
use super::mnemonics::{self, Mnemonic};
use super::operands::{Operand, read_operand};

/// An instruction whose operands are of the right kinds.
#[derive(Clone, Debug)]
pub(crate) struct WrittenInstruction<'s> {
    /// Its mnemonic.
    pub mnemonic: Mnemonic,
    /// Whether it has the prefix `LOCK`.
    pub is_locked: bool,
    /// Its width, if the suffix or a register determines it.
    pub width: Option<Width>,
    /// The destination; the left side of a comparison. In a box, because there may be very many
    /// instructions without.
    pub(super) destination: Option<Box<Operand<'s>>>,
    /// The source.
    pub(super) source: Option<Box<Operand<'s>>>,
    /// The label of a jump.
    pub target: Option<(&'s str, Span)>,
    /// Where.
    pub span: Span,
}

impl<'s> WrittenInstruction<'s> {
    /// The destination; the left side of a comparison.
    pub fn destination(&self) -> Option<&Operand<'s>> {
        self.destination.as_deref()
    }

    /// The source.
    pub fn source(&self) -> Option<&Operand<'s>> {
        self.source.as_deref()
    }

    /// Its operands.
    pub fn operands(&self) -> impl Iterator<Item = &Operand<'s>> {
        self.destination().into_iter().chain(self.source())
    }

    /// As it is written, with spaces tidied.
    pub fn text(&self, source: &str) -> String {
        tidy(&source[self.span.start..self.span.end])
    }
}

/// Reads a cell of the program: labels, and an instruction or none.
pub(crate) fn read_cell<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
    column: &mut Column<'s>,
) -> Result<(), SpannedError> {
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
) -> Result<WrittenInstruction<'s>, SpannedError> {
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
        span: begin,
    };
    let mut operands = Vec::new();
    if matches!(named.mnemonic, Mnemonic::Jump | Mnemonic::JumpIf(_)) {
        match lexer.next()? {
            (Token::Name(label), span) => instruction.target = Some((label, span)),
            (_, span) => return Err(lexer.unexpected(span, "the label to jump to")),
        }
    } else if is_long_nop(named.mnemonic, name) {
        skip_operands(lexer)?;
    } else {
        operands = read_operands(lexer, architecture)?;
    }
    instruction.span = lexer.since(begin);
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

fn read_name<'s>(lexer: &mut Lexer<'s>) -> Result<(&'s str, Span), SpannedError> {
    match lexer.next()? {
        (Token::Name(name), span) => Ok((name, span)),
        (_, span) => Err(lexer.unexpected(span, "an instruction")),
    }
}

fn find(name: &str, span: Span) -> Result<mnemonics::Named, SpannedError> {
    mnemonics::find(name).ok_or_else(|| {
        let found = quoted(name);
        let kind = match mnemonics::refusal(name) {
            Some((why, needed)) => ParseErrorKind::NotModelled { found, why, needed },
            None => ParseErrorKind::UnknownInstruction {
                found,
                meant: mnemonics::nearest(name),
            },
        };
        kind.at(span)
    })
}

fn read_operands<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
) -> Result<Vec<Operand<'s>>, SpannedError> {
    let mut operands = Vec::new();
    if matches!(lexer.peek()?.0, Token::Mark("|" | ";") | Token::End) {
        return Ok(operands);
    }
    loop {
        operands.push(read_operand(lexer, architecture)?);
        // No instruction has more; `form` reports the error.
        if operands.len() > 3 || !lexer.take_mark(",")? {
            return Ok(operands);
        }
    }
}

/// Whether an instruction may have an operand that is not accessed: `nopw 0x0(%rax,%rax,1)`.
fn is_long_nop(mnemonic: Mnemonic, name: &str) -> bool {
    matches!(mnemonic, Mnemonic::Nothing(_)) && name.to_ascii_uppercase().starts_with("NOP")
}

fn skip_operands(lexer: &mut Lexer<'_>) -> Result<(), SpannedError> {
    while !matches!(lexer.peek()?.0, Token::Mark("|" | ";") | Token::End) {
        lexer.next()?;
    }
    Ok(())
}

/// Without comments, and with at most one blank where there was white space, and none around commas
/// and in operands.
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
            ('#', _) => {
                while rest.next_if(|c| *c != '\n').is_some() {}
                is_apart = true;
            }
            _ if character.is_whitespace() => is_apart = true,
            _ => {
                let last = tidied.chars().last();
                let touches = |c: char| matches!(c, ',' | '(' | ')' | '[' | ']' | '+' | '*');
                let opens = matches!(character, '(' | '[');
                let is_wanted = match last {
                    None => false,
                    Some(last) if opens => !touches(last) && !last.is_ascii_digit(),
                    Some(last) => !touches(last) && !touches(character) && character != ';',
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
