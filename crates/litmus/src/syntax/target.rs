//! Numbers, registers, locations and values, in the initial state, `locations`, the filter and the
//! condition.

use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use fencepost_diagnostics::quoted;

use super::lexer::{Lexer, Span, Token};
use super::tree::{MemoryRef, Number, RegisterRef, Target, Value};

const A_TARGET: &str = "a location such as `x` or a register such as `0:EAX`";
const A_VALUE: &str = "a number or the name of a location";

/// A number in decimal or, with `0x`, in hexadecimal digits.
pub(crate) fn number(text: &str, is_negative: bool, span: Span) -> Result<Number, SpannedError> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (lower.as_str(), 10),
    };
    let sign = if is_negative { "-" } else { "" };
    let found = || quoted(&format!("{sign}{text}"));
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(ParseErrorKind::BadNumber { found: found() }.at(span));
    }
    let magnitude = u64::from_str_radix(digits, radix).ok();
    let magnitude = magnitude.filter(|m| !is_negative || *m <= 1 << 63);
    let Some(magnitude) = magnitude else {
        return Err(ParseErrorKind::NumberTooLarge { found: found() }.at(span));
    };
    Ok(match is_negative {
        true => Number {
            value: magnitude.wrapping_neg(),
            is_negative: magnitude != 0,
        },
        false => Number {
            value: magnitude,
            is_negative: false,
        },
    })
}

/// The number of a thread: what follows `P`, if it is one.
pub(super) fn thread_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('P')?;
    match !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse().ok(),
        false => None,
    }
}

/// `x`, `[x]`, `x[1]`, `0:EAX`, `P0:EAX`, `0:%a` or `%a`.
pub(super) fn target<'s>(lexer: &mut Lexer<'s>) -> Result<Target<'s>, SpannedError> {
    let (token, span) = lexer.next()?;
    let register = |lexer: &mut Lexer<'s>, thread| {
        lexer.expect_mark(":", "`:` and a register after the number of a thread")?;
        let (token, last) = lexer.next()?;
        let (name, has_percent) = match token {
            Token::Name(name) => (name, false),
            Token::Percent(name) => (name, true),
            _ => return Err(lexer.unexpected(last, "a register such as `EAX` or `rax`")),
        };
        Ok(Target::Register(RegisterRef {
            thread: Some(thread),
            name,
            has_percent,
            span: span.to(last),
        }))
    };
    match token {
        Token::Number(text) => {
            let thread = number(text, false, span)?.value;
            register(lexer, thread)
        }
        Token::Name(name) => match thread_number(name) {
            Some(thread) if matches!(lexer.peek()?.0, Token::Mark(":")) => register(lexer, thread),
            _ => indexed(lexer, name, span).map(Target::Memory),
        },
        Token::Percent(name) => Ok(Target::Register(RegisterRef {
            thread: None,
            name,
            has_percent: true,
            span,
        })),
        Token::Mark("[") => bracketed(lexer, span).map(Target::Memory),
        _ => Err(lexer.unexpected(span, A_TARGET)),
    }
}

/// An optional index after a name.
fn indexed<'s>(
    lexer: &mut Lexer<'s>,
    name: &'s str,
    span: Span,
) -> Result<MemoryRef<'s>, SpannedError> {
    let mut reference = MemoryRef {
        name,
        index: None,
        span,
    };
    if lexer.take_mark("[")? {
        let (token, at) = lexer.next()?;
        let Token::Number(text) = token else {
            return Err(lexer.unexpected(at, "the number of an element"));
        };
        reference.index = Some(number(text, false, at)?.value);
        let last = lexer.expect_mark("]", "`]`")?;
        reference.span = span.to(last);
    }
    Ok(reference)
}

/// The name and the `]` after a `[`.
fn bracketed<'s>(lexer: &mut Lexer<'s>, begin: Span) -> Result<MemoryRef<'s>, SpannedError> {
    let (token, span) = lexer.next()?;
    let Token::Name(name) = token else {
        return Err(lexer.unexpected(span, "the name of a location"));
    };
    let reference = indexed(lexer, name, span)?;
    let last = lexer.expect_mark("]", "`]`")?;
    Ok(MemoryRef {
        span: begin.to(last),
        ..reference
    })
}

/// A number, or the address of a location: `1`, `-1`, `0x10`, `x`, `&x`, `x[1]`.
pub(super) fn value<'s>(lexer: &mut Lexer<'s>) -> Result<Value<'s>, SpannedError> {
    let (token, span) = lexer.next()?;
    match token {
        Token::Number(text) => Ok(Value::Number(number(text, false, span)?, span)),
        Token::Mark("-") => {
            let (token, last) = lexer.next()?;
            let Token::Number(text) = token else {
                return Err(lexer.unexpected(last, "a number after `-`"));
            };
            let span = span.to(last);
            Ok(Value::Number(number(text, true, span)?, span))
        }
        Token::Name(name) => Ok(Value::Address(indexed(lexer, name, span)?)),
        Token::Mark("&") => {
            let (token, last) = lexer.next()?;
            let Token::Name(name) = token else {
                return Err(lexer.unexpected(last, "the name of a location"));
            };
            let reference = indexed(lexer, name, last)?;
            Ok(Value::Address(reference))
        }
        _ => Err(lexer.unexpected(span, A_VALUE)),
    }
}

/// Values between braces, the opening one taken already.
pub(super) fn values<'s>(
    lexer: &mut Lexer<'s>,
    limit: usize,
) -> Result<Vec<Value<'s>>, SpannedError> {
    let mut values = Vec::new();
    loop {
        if values.len() == limit {
            return Err(ParseErrorKind::limit("cells of memory", limit).at(lexer.here()));
        }
        values.push(value(lexer)?);
        if !lexer.take_mark(",")? {
            lexer.expect_mark("}", "`,` or `}`")?;
            return Ok(values);
        }
    }
}
