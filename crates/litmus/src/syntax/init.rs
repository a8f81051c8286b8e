//! The initial state: `{ x=1; int y; uint64_t 0:rax=2; 0:rbx=x; int z[2]={1,2}; }`.

use crate::code::Width;
use crate::limits::Limits;
use crate::parse_error::SpannedError;
use crate::parse_error_kind::{ParseErrorKind, Unterminated};
use crate::test::Architecture;
use fencepost_diagnostics::quoted;

use super::lexer::{Lexer, Span, Token};
use super::target::{number, target, value, values};
use super::tree::{DeclaredType, Initial, MemoryRef, Target};

/// Reads up to and including the `}`.
pub(super) fn read_initial_state<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
    limits: &Limits,
) -> Result<Vec<Initial<'s>>, SpannedError> {
    let opened = Span {
        start: lexer.here().start - 1,
        ..lexer.here()
    };
    let mut entries = Vec::new();
    let mut cells = 0_usize;
    loop {
        while lexer.take_mark(";")? {}
        if lexer.take_mark("}")? {
            return Ok(entries);
        }
        if lexer.peek()?.0 == Token::End {
            return Err(unterminated(opened));
        }
        let entry = read_entry(lexer, architecture, limits)?;
        cells += entry.length.unwrap_or(0);
        if cells > limits.cells {
            return Err(
                ParseErrorKind::limit("cells of memory", limits.cells).at(entry.target.span())
            );
        }
        entries.push(entry);
        match lexer.peek()? {
            (Token::Mark(";" | "}"), _) => {}
            (Token::End, _) => return Err(unterminated(opened)),
            (_, span) => return Err(lexer.unexpected(span, "`;` or `}`")),
        }
    }
}

fn unterminated(opened: Span) -> SpannedError {
    let mut span = opened;
    span.position.column = span.position.column.saturating_sub(1).max(1);
    ParseErrorKind::Unterminated(Unterminated::InitialState).at(span)
}

fn read_entry<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
    limits: &Limits,
) -> Result<Initial<'s>, SpannedError> {
    let begin = lexer.peek()?.1;
    let declared = read_type(lexer, architecture)?;
    // Stars follow the words.
    let words = source_words(lexer.source(), begin.start, lexer.here().start);
    let type_at = words.map(|end| Span { end, ..begin });
    if let Some((token, name, length)) = array_declaration(lexer, declared.is_some(), limits)? {
        let reference = MemoryRef {
            name,
            index: None,
            span: token,
        };
        let mut entry = Initial {
            declared,
            type_at,
            target: Target::Memory(reference),
            values: Vec::new(),
            length: Some(length),
        };
        if lexer.take_mark("=")? {
            lexer.expect_mark("{", "`{` and the contents of the elements")?;
            entry.values = values(lexer, limits.cells)?;
            if entry.values.len() != length {
                let (name, found) = (quoted(name), entry.values.len());
                let kind = ParseErrorKind::WrongCount {
                    name,
                    length,
                    found,
                };
                return Err(kind.at(token));
            }
        }
        return Ok(entry);
    }
    let target = target(lexer)?;
    if let Target::Memory(MemoryRef {
        name,
        index: Some(index),
        span,
    }) = target
    {
        let kind = ParseErrorKind::ElementInitialized {
            name: quoted(name),
            index,
        };
        return Err(kind.at(span));
    }
    let mut entry = Initial {
        declared,
        type_at,
        target,
        values: Vec::new(),
        length: None,
    };
    if lexer.take_mark("=")? {
        if let (Token::Mark("{"), span) = lexer.peek()? {
            return Err(lexer.unexpected(span, "a number or the name of a location"));
        }
        entry.values.push(value(lexer)?);
    }
    Ok(entry)
}

/// The end of the words between two places of the source, before stars and blanks; none if there
/// are no words.
fn source_words(source: &str, begin: usize, end: usize) -> Option<usize> {
    let text = source.get(begin..end)?;
    let words = text.trim_end_matches(|c: char| c == '*' || c.is_whitespace());
    (!words.is_empty()).then_some(begin + words.len())
}

/// `name[length]` after a type.
fn array_declaration<'s>(
    lexer: &mut Lexer<'s>,
    has_type: bool,
    limits: &Limits,
) -> Result<Option<(Span, &'s str, usize)>, SpannedError> {
    let mut ahead = *lexer;
    let (Token::Name(name), begin) = ahead.next()? else {
        return Ok(None);
    };
    if !has_type || !ahead.take_mark("[")? {
        return Ok(None);
    }
    let (token, span) = ahead.next()?;
    let Token::Number(text) = token else {
        return Err(ahead.unexpected(span, "the length of the array"));
    };
    let length = number(text, false, span)?.value;
    if length > limits.cells as u64 {
        return Err(ParseErrorKind::limit("cells of memory", limits.cells).at(span));
    }
    if length == 0 {
        return Err(ahead.unexpected(span, "a length of at least 1"));
    }
    let last = ahead.expect_mark("]", "`]`")?;
    *lexer = ahead;
    Ok(Some((begin.to(last), name, length as usize)))
}

/// The words and stars before what is declared, if there are any.
fn read_type(
    lexer: &mut Lexer<'_>,
    architecture: Architecture,
) -> Result<Option<DeclaredType>, SpannedError> {
    let mut words = Vec::new();
    let mut span: Option<Span> = None;
    // A word belongs to the type if something that can be declared follows it.
    loop {
        let mut ahead = *lexer;
        let (Token::Name(word), at) = ahead.next()? else {
            break;
        };
        let after = ahead;
        let is_type = match ahead.next()?.0 {
            Token::Name(_) | Token::Percent(_) | Token::Number(_) | Token::Mark("*") => true,
            Token::Mark("[") => matches!(ahead.next()?.0, Token::Name(_)),
            _ => false,
        };
        if !is_type {
            break;
        }
        if words.len() < 4 {
            words.push(word);
        }
        span = Some(span.map_or(at, |first| first.to(at)));
        *lexer = after;
    }
    let mut is_pointer = false;
    while lexer.take_mark("*")? {
        is_pointer = true;
    }
    let pointer = match architecture {
        Architecture::X86 => Width::Long,
        Architecture::X86_64 => Width::Quad,
    };
    let Some(span) = span else {
        return Ok(is_pointer.then_some(DeclaredType {
            width: pointer,
            is_unsigned: false,
            is_pointer,
        }));
    };
    words.retain(|word| !matches!(*word, "_Atomic" | "volatile" | "const" | "signed"));
    let named = match words.as_slice() {
        [] => (Width::Long, false),
        ["char" | "int8_t"] => (Width::Byte, false),
        ["uint8_t"] | ["unsigned", "char"] => (Width::Byte, true),
        ["short" | "int16_t"] => (Width::Word, false),
        ["uint16_t"] | ["unsigned", "short"] => (Width::Word, true),
        ["int" | "int32_t"] => (Width::Long, false),
        ["uint32_t" | "unsigned" | "uint"] | ["unsigned", "int"] => (Width::Long, true),
        ["int64_t"] | ["long", "long"] => (Width::Quad, false),
        ["uint64_t"] | ["unsigned", "long", "long"] => (Width::Quad, true),
        ["long" | "intptr_t"] => (pointer, false),
        ["ulong" | "uintptr_t" | "size_t"] | ["unsigned", "long"] => (pointer, true),
        _ if is_pointer => (pointer, false),
        _ => {
            let found = quoted(&lexer.source()[span.start..span.end]);
            return Err(ParseErrorKind::UnknownType { found }.at(span));
        }
    };
    let (width, is_unsigned) = match is_pointer {
        true => (pointer, false),
        false => named,
    };
    Ok(Some(DeclaredType {
        width,
        is_unsigned,
        is_pointer,
    }))
}
