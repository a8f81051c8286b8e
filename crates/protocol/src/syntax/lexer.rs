//! The lexer.
//!
//! It produces all tokens at once, because the parser looks far ahead to see whether a rule has a
//! guard.

use crate::limits::Limits;
use crate::model_error::{ModelError, SpannedError};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::keywords::Keyword;
use fencepost_diagnostics::quoted;

/// A token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    /// A word that is no keyword.
    Name,
    Keyword(Keyword),
    /// A number that fits.
    Number(i64),
    /// A text in quotes; the span includes them.
    Text,
    /// An operator or a mark, in its plain spelling.
    Mark(&'static str),
    /// The end of the file.
    End,
}

/// A token and its span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpannedToken {
    pub token: Token,
    pub span: Span,
}

/// The marks, longer ones before those that they begin with.
const MARKS: [&str; 35] = [
    "==>", ":=", "..", "==", "<=", ">=", "!=", "->", "<<", ">>", "&&", "||", "(", ")", "[", "]",
    "{", "}", ";", ":", ",", ".", "<", ">", "=", "!", "&", "|", "^", "~", "+", "-", "*", "/", "%",
];

/// Other spellings, which Rumur reads.
const SPELLINGS: [(&str, &str); 14] = [
    ("≔", ":="),
    ("≥", ">="),
    ("≤", "<="),
    ("≠", "!="),
    ("→", "->"),
    ("⇒", "==>"),
    ("¬", "!"),
    ("∧", "&"),
    ("∨", "|"),
    ("−", "-"),
    ("×", "*"),
    ("÷", "/"),
    ("∀", "forall"),
    ("∃", "exists"),
];

/// The tokens of a source, the last of which is [`Token::End`].
pub(crate) fn tokens(
    source: &str,
    limits: &Limits,
    errors: &mut Vec<SpannedError>,
) -> Vec<SpannedToken> {
    let mut lexer = Lexer {
        source,
        at: 0,
        name_bytes: limits.name_bytes,
        errors,
    };
    let mut tokens = Vec::new();
    while let Some(placed) = lexer.next() {
        tokens.push(placed);
        if lexer.errors.len() >= ModelError::MAX {
            break;
        }
    }
    tokens.push(SpannedToken {
        token: Token::End,
        span: Span::new(lexer.at, lexer.at),
    });
    tokens
}

struct Lexer<'s, 'm> {
    source: &'s str,
    at: usize,
    name_bytes: usize,
    errors: &'m mut Vec<SpannedError>,
}

impl<'s> Lexer<'s, '_> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn take_while(&mut self, is_such: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let length = rest.find(|c| !is_such(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn error(&mut self, error: ModelErrorKind, start: usize) {
        self.errors.push(error.at(Span::new(start, self.at)));
    }

    /// The next token; nothing at the end of the source.
    fn next(&mut self) -> Option<SpannedToken> {
        loop {
            self.skip_blank();
            let start = self.at;
            let first = self.rest().chars().next()?;
            let token = match first {
                'a'..='z' | 'A'..='Z' | '_' => Some(self.word()),
                '0'..='9' => self.number(),
                '"' | '“' => self.text(),
                _ => self.mark(),
            };
            if let Some(token) = token {
                let span = Span::new(start, self.at);
                return Some(SpannedToken { token, span });
            }
        }
    }

    fn skip_blank(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            let rest = self.rest();
            if rest.starts_with("--") {
                self.take_while(|c| c != '\n');
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let start = self.at;
                match comment.find("*/") {
                    Some(length) => self.at += length + 4,
                    None => {
                        self.at += 2;
                        self.error(ModelErrorKind::UnterminatedComment, start);
                        self.at = self.source.len();
                    }
                }
            } else {
                return;
            }
        }
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if word.len() > self.name_bytes {
            self.error(
                ModelErrorKind::limit("bytes of a name", self.name_bytes as u64),
                start,
            );
        }
        match Keyword::of(word) {
            Some(keyword) => Token::Keyword(keyword),
            None => Token::Name,
        }
    }

    fn number(&mut self) -> Option<Token> {
        let start = self.at;
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let rest = self.rest();
        let fraction = rest.strip_prefix('.').and_then(|r| r.chars().next());
        if fraction.is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            self.take_while(|c| c.is_ascii_alphanumeric());
            let error = ModelErrorKind::NotSupported {
                what: "floating-point numbers",
                instead: "an integer",
            };
            self.error(error, start);
            return Some(Token::Number(0));
        }
        let (digits, radix) = match word.strip_prefix("0x").or(word.strip_prefix("0X")) {
            Some(digits) => (digits, 16),
            None => (word, 10),
        };
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            let found = quoted(word);
            self.error(ModelErrorKind::BadNumber { found }, start);
            return Some(Token::Number(0));
        }
        match i64::from_str_radix(digits, radix) {
            Ok(number) => Some(Token::Number(number)),
            Err(_) => {
                let found = quoted(word);
                self.error(ModelErrorKind::NumberTooLarge { found }, start);
                Some(Token::Number(0))
            }
        }
    }

    fn text(&mut self) -> Option<Token> {
        let start = self.at;
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((offset, character)) = characters.next() {
            match character {
                '"' | '”' => {
                    self.at = start + offset + character.len_utf8();
                    return Some(Token::Text);
                }
                '\\' => {
                    characters.next();
                }
                '\n' => break,
                _ => {}
            }
        }
        self.take_while(|c| c != '\n' && c != '\r');
        self.error(ModelErrorKind::UnterminatedText, start);
        Some(Token::Text)
    }

    fn mark(&mut self) -> Option<Token> {
        let (start, rest) = (self.at, self.rest());
        if let Some(mark) = MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
            self.at += mark.len();
            return Some(Token::Mark(mark));
        }
        if rest.starts_with('?') {
            self.at += 1;
            return Some(Token::Mark("?"));
        }
        let spelling = SPELLINGS
            .into_iter()
            .find(|(spelling, _)| rest.starts_with(spelling));
        if let Some((spelling, plain)) = spelling {
            self.at += spelling.len();
            return Some(match plain {
                "forall" => Token::Keyword(Keyword::Forall),
                "exists" => Token::Keyword(Keyword::Exists),
                mark => Token::Mark(mark),
            });
        }
        let known = |c: char| {
            let mut buffer = [0; 4];
            let character: &str = c.encode_utf8(&mut buffer);
            c.is_whitespace()
                || c.is_ascii_alphanumeric()
                || "_\"“?".contains(c)
                || MARKS.iter().any(|mark| mark.starts_with(c))
                || SPELLINGS.iter().any(|(spelling, _)| *spelling == character)
        };
        let found = quoted(self.take_while(|c| !known(c)));
        self.error(ModelErrorKind::BadCharacter { found }, start);
        None
    }
}
