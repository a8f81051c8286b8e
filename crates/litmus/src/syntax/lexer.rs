//! Characters and tokens, with their positions.
//!
//! The lexer collects nothing: it is a position in the source. Copy it to look ahead.

use crate::parse_error::SpannedError;
use crate::parse_error_kind::{ParseErrorKind, Section, Unterminated};
use crate::test::Position;
use fencepost_diagnostics::quoted;

/// A part of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// Where it begins.
    pub position: Position,
}

impl Span {
    /// The beginning of the file.
    pub const START: Span = Span {
        start: 0,
        end: 0,
        position: Position { line: 1, column: 1 },
    };

    /// From the beginning of this to the end of the other.
    pub fn to(self, last: Span) -> Span {
        Span {
            end: last.end.max(self.end),
            ..self
        }
    }
}

/// A token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Token<'s> {
    /// Letters, digits, `_` and `.`, not beginning with a digit.
    Name(&'s str),
    /// A name after `%`, without it.
    Percent(&'s str),
    /// Digits, and whatever letters follow them.
    Number(&'s str),
    /// A mark of one or two characters.
    Mark(&'static str),
    /// The end of the file, or `<<`.
    End,
}

/// The marks, longer ones before those that they begin with.
const MARKS: [&str; 26] = [
    "==", "=>", "=", "!=", "<>", "/\\", "\\/", "(", ")", "[", "]", "{", "}", ";", ":", ",", "|",
    "~", "*", "&", "+", "-", "$", "\"", "@", "/",
];

/// A position in the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexer<'s> {
    source: &'s str,
    offset: usize,
    position: Position,
    longest_name: usize,
    /// Which part of the file this is, for messages.
    pub section: Section,
}

impl<'s> Lexer<'s> {
    /// The beginning of the source.
    pub fn new(source: &'s str, longest_name: usize) -> Self {
        Lexer {
            source,
            offset: 0,
            position: Span::START.position,
            longest_name,
            section: Section::Header,
        }
    }

    /// The whole source.
    pub fn source(&self) -> &'s str {
        self.source
    }

    /// The rest of the source.
    pub fn rest(&self) -> &'s str {
        &self.source[self.offset..]
    }

    /// The position as an empty span.
    pub fn here(&self) -> Span {
        Span {
            start: self.offset,
            end: self.offset,
            position: self.position,
        }
    }

    /// The text since an earlier position.
    pub fn since(&self, begin: Span) -> Span {
        Span {
            end: self.offset,
            ..begin
        }
    }

    /// The next character, without taking it.
    pub fn peek_character(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes a character.
    pub fn take_character(&mut self) -> Option<char> {
        let character = self.peek_character()?;
        self.offset += character.len_utf8();
        if character == '\n' {
            self.position.line += 1;
            self.position.column = 1;
        } else {
            self.position.column += 1;
        }
        Some(character)
    }

    /// Takes characters as long as they are such.
    pub fn take_while(&mut self, is_such: impl Fn(char) -> bool) -> &'s str {
        let begin = self.offset;
        while self.peek_character().is_some_and(&is_such) {
            self.take_character();
        }
        &self.source[begin..self.offset]
    }

    /// Takes a comment if one begins here: `(* *)`, which nests, or as assemblers have it, from `#`
    /// to the end of the line.
    pub fn skip_comment(&mut self) -> Result<bool, SpannedError> {
        if self.rest().starts_with('#') {
            self.take_while(|c| c != '\n');
            return Ok(true);
        }
        if !self.rest().starts_with("(*") {
            return Ok(false);
        }
        let begin = self.here();
        let mut depth = 0_usize;
        loop {
            let rest = self.rest();
            if rest.starts_with("(*") {
                depth += 1;
                self.take_character();
            } else if rest.starts_with("*)") {
                depth -= 1;
                self.take_character();
            }
            if self.take_character().is_none() {
                let span = Span {
                    end: begin.start + 2,
                    ..begin
                };
                return Err(ParseErrorKind::Unterminated(Unterminated::Comment).at(span));
            }
            if depth == 0 {
                return Ok(true);
            }
        }
    }

    /// The next token. After an error, the lexer is behind what is wrong.
    pub fn next(&mut self) -> Result<(Token<'s>, Span), SpannedError> {
        loop {
            self.take_while(char::is_whitespace);
            if !self.skip_comment()? {
                break;
            }
        }
        let begin = self.here();
        if self.rest().is_empty() || self.rest().starts_with("<<") {
            return Ok((Token::End, begin));
        }
        let Some(first) = self.peek_character() else {
            return Ok((Token::End, begin));
        };
        let token = if is_name_start(first) {
            Token::Name(self.take_while(is_name_part))
        } else if first.is_ascii_digit() {
            Token::Number(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_'))
        } else if first == '%' {
            self.take_character();
            Token::Percent(self.take_while(is_name_part))
        } else if let Some(mark) = MARKS.iter().find(|mark| self.rest().starts_with(**mark)) {
            for _ in 0..mark.len() {
                self.take_character();
            }
            Token::Mark(mark)
        } else {
            self.take_character();
            let found = first.escape_debug().to_string();
            return Err(ParseErrorKind::BadCharacter { found }.at(self.since(begin)));
        };
        let span = self.since(begin);
        match token {
            Token::Percent("") => Err(ParseErrorKind::BadCharacter { found: "%".into() }.at(span)),
            Token::Name(name) | Token::Percent(name) | Token::Number(name) => {
                self.check_length(name, span)?;
                Ok((token, span))
            }
            _ => Ok((token, span)),
        }
    }

    /// Whether a name is within the limit.
    pub fn check_length(&self, name: &str, span: Span) -> Result<(), SpannedError> {
        match name.len() > self.longest_name {
            true => Err(ParseErrorKind::limit("bytes in a name", self.longest_name).at(span)),
            false => Ok(()),
        }
    }

    /// The next token, without taking it.
    pub fn peek(&self) -> Result<(Token<'s>, Span), SpannedError> {
        self.clone().next()
    }

    /// Takes a mark if it is next.
    pub fn take_mark(&mut self, mark: &str) -> Result<bool, SpannedError> {
        let mut ahead = *self;
        match ahead.next()? {
            (Token::Mark(found), _) if found == mark => {
                *self = ahead;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Takes a mark that must be next.
    pub fn expect_mark(&mut self, mark: &str, wanted: &'static str) -> Result<Span, SpannedError> {
        let (token, span) = self.next()?;
        match token {
            Token::Mark(found) if found == mark => Ok(span),
            _ => Err(self.unexpected(span, wanted)),
        }
    }

    /// The error that something else is here than wanted.
    pub fn unexpected(&self, span: Span, wanted: &'static str) -> SpannedError {
        let text = &self.source[span.start..span.end];
        let kind = match text {
            "" => ParseErrorKind::UnexpectedEnd {
                wanted,
                section: self.section,
            },
            _ => ParseErrorKind::Unexpected {
                found: quoted(text),
                wanted,
                section: self.section,
            },
        };
        kind.at(span)
    }
}

fn is_name_start(character: char) -> bool {
    character.is_ascii_alphabetic() || matches!(character, '_' | '.')
}

fn is_name_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.')
}
