//! The beginning of a file, up to the initial state: architecture, name, documentation and
//! `Key=value` lines.

use crate::parse_error::SpannedError;
use crate::parse_error_kind::{ParseErrorKind, Unterminated};
use crate::test::Architecture;
use fencepost_diagnostics::quoted;

use super::lexer::{Lexer, Span};

/// The part of a file before the initial state.
pub(super) struct Header {
    pub architecture: Architecture,
    pub name: String,
    pub documentation: Option<String>,
    pub info: Vec<(String, String)>,
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r')
}

/// Reads up to and including the `{` of the initial state.
pub(super) fn read_header(lexer: &mut Lexer<'_>) -> Result<Header, SpannedError> {
    skip_space(lexer)?;
    let begin = lexer.here();
    let word = lexer.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
    let architecture = match word {
        "X86" => Architecture::X86,
        "X86_64" => Architecture::X86_64,
        "" if lexer.rest().is_empty() => {
            return Err(lexer.unexpected(begin, "`X86` or `X86_64` and the name of a test"));
        }
        _ => {
            let found = lexer.take_while(|c| !c.is_whitespace());
            let found = quoted(&format!("{word}{found}"));
            return Err(ParseErrorKind::UnknownArchitecture { found }.at(lexer.since(begin)));
        }
    };
    lexer.take_while(is_blank);
    let begin = lexer.here();
    let name = lexer.take_while(|c| !c.is_whitespace() && !matches!(c, '"' | '(' | ';' | '{'));
    if name.is_empty() {
        return Err(ParseErrorKind::MissingName.at(begin));
    }
    lexer.check_length(name, lexer.since(begin))?;
    let mut header = Header {
        architecture,
        name: name.to_owned(),
        documentation: None,
        info: Vec::new(),
    };
    read_info(lexer, &mut header)?;
    Ok(header)
}

fn skip_space(lexer: &mut Lexer<'_>) -> Result<(), SpannedError> {
    loop {
        lexer.take_while(char::is_whitespace);
        if !lexer.skip_comment()? {
            return Ok(());
        }
    }
}

/// As herd7 does, lines that are nothing known are skipped: other tools put words of their own
/// there. They are remembered for the case that no `{` follows.
fn read_info(lexer: &mut Lexer<'_>, header: &mut Header) -> Result<(), SpannedError> {
    let mut skipped: Option<Span> = None;
    loop {
        skip_space(lexer)?;
        let begin = lexer.here();
        match lexer.peek_character() {
            None => {
                let span = skipped.unwrap_or(begin);
                return Err(ParseErrorKind::MissingInitialState.at(span));
            }
            Some('{') => {
                lexer.take_character();
                return Ok(());
            }
            Some('"') => {
                let text = take_quoted(lexer)?;
                header.documentation.get_or_insert_with(|| text.to_owned());
            }
            Some(_) => match take_key(lexer) {
                Some(entry) => header.info.push(entry),
                None => {
                    lexer.take_while(|c| !matches!(c, '\n' | '{'));
                    skipped.get_or_insert(lexer.since(begin));
                }
            },
        }
    }
}

fn take_quoted<'s>(lexer: &mut Lexer<'s>) -> Result<&'s str, SpannedError> {
    let begin = lexer.here();
    lexer.take_character();
    let text = lexer.take_while(|c| c != '"');
    match lexer.take_character() {
        Some(_) => Ok(text),
        None => {
            let end = begin.start + 1;
            let span = Span { end, ..begin };
            Err(ParseErrorKind::Unterminated(Unterminated::Documentation).at(span))
        }
    }
}

fn take_key(lexer: &mut Lexer<'_>) -> Option<(String, String)> {
    let mut ahead = *lexer;
    if !ahead.peek_character()?.is_ascii_alphabetic() {
        return None;
    }
    let key = ahead.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-'));
    ahead.take_while(is_blank);
    if ahead.take_character()? != '=' {
        return None;
    }
    let value = ahead.take_while(|c| c != '\n').trim();
    *lexer = ahead;
    Some((key.to_owned(), value.to_owned()))
}
