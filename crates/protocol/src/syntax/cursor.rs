//! The position in the tokens, and error recovery.
//!
//! A part that cannot be read is an `Err` with its error. Lists (of declarations, statements,
//! rules) report it, skip to where the next part begins, and continue. So one run reports several
//! errors, and an error within a statement causes no others after it.

use crate::model_error::{ModelError, SpannedError};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::keywords::{Block, Keyword};
use crate::syntax::lexer::{SpannedToken, Token};
use crate::syntax::tree::{Expr, ExprKind, Name};
use fencepost_diagnostics::Position;
use fencepost_diagnostics::quoted;

/// A parsed part, or its error.
pub(crate) type Parse<T> = Result<T, SpannedError>;

pub(crate) struct Parser<'s, 'm> {
    source: &'s str,
    tokens: Vec<SpannedToken>,
    pub at: usize,
    depth: usize,
    nesting: usize,
    errors: &'m mut Vec<SpannedError>,
}

impl<'s, 'm> Parser<'s, 'm> {
    pub fn new(
        source: &'s str,
        tokens: Vec<SpannedToken>,
        nesting: usize,
        errors: &'m mut Vec<SpannedError>,
    ) -> Self {
        Parser {
            source,
            tokens,
            at: 0,
            depth: 0,
            nesting,
            errors,
        }
    }

    /// The token `ahead` tokens after this one.
    pub fn peek(&self, ahead: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + ahead).min(last)].token
    }

    /// This token.
    pub fn token(&self) -> Token {
        self.peek(0)
    }

    /// Where this token is.
    pub fn span(&self) -> Span {
        self.tokens[self.at.min(self.tokens.len() - 1)].span
    }

    /// Where the token before is.
    pub fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// The text of a span.
    pub fn text(&self, span: Span) -> &'s str {
        &self.source[span.start as usize..span.end as usize]
    }

    /// Takes this token.
    pub fn advance(&mut self) -> Span {
        let span = self.span();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        span
    }

    pub fn is_mark(&self, mark: &str) -> bool {
        matches!(self.token(), Token::Mark(here) if here == mark)
    }

    pub fn is_keyword(&self, keyword: Keyword) -> bool {
        self.token() == Token::Keyword(keyword)
    }

    /// Whether this is a word that is a keyword only here.
    pub fn is_word(&self, word: &str) -> bool {
        self.token() == Token::Name && self.text(self.span()).eq_ignore_ascii_case(word)
    }

    pub fn take_mark(&mut self, mark: &str) -> bool {
        let found = self.is_mark(mark);
        if found {
            self.advance();
        }
        found
    }

    pub fn take_keyword(&mut self, keyword: Keyword) -> bool {
        let found = self.is_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    /// Takes semicolons, of which there may be any number.
    pub fn take_semicolons(&mut self) -> bool {
        let mut any = false;
        while self.take_mark(";") {
            any = true;
        }
        any
    }

    /// The error for an unexpected token.
    pub fn unexpected(&self, wanted: &'static str) -> SpannedError {
        let span = self.span();
        match self.token() {
            Token::End => ModelErrorKind::UnexpectedEnd { wanted }.at(span),
            _ => {
                let found = quoted(self.text(span));
                ModelErrorKind::Unexpected { found, wanted }.at(span)
            }
        }
    }

    pub fn expect_mark(&mut self, mark: &str, wanted: &'static str) -> Parse<Span> {
        match self.is_mark(mark) {
            true => Ok(self.advance()),
            false => Err(self.unexpected(wanted)),
        }
    }

    pub fn expect_keyword(&mut self, keyword: Keyword, wanted: &'static str) -> Parse<Span> {
        match self.is_keyword(keyword) {
            true => Ok(self.advance()),
            false => Err(self.unexpected(wanted)),
        }
    }

    pub fn expect_name(&mut self, wanted: &'static str) -> Parse<Name<'s>> {
        match self.token() {
            Token::Name => {
                let span = self.advance();
                let text = self.text(span);
                Ok(Name { text, span })
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// The text in quotes, if there is one here.
    pub fn take_text(&mut self) -> Option<&'s str> {
        if self.token() != Token::Text {
            return None;
        }
        let span = self.advance();
        let text = self.text(span);
        Some(
            text.trim_start_matches(['"', '“'])
                .trim_end_matches(['"', '”']),
        )
    }

    /// `do`, or `:` in its place.
    pub fn expect_do(&mut self) -> Parse<()> {
        if self.take_keyword(Keyword::Do) || self.take_mark(":") {
            return Ok(());
        }
        Err(self.unexpected("`do`"))
    }

    /// What closes a block. Another closing word is taken too, and noted.
    pub fn expect_end(&mut self, block: Block, opened: Span) -> Parse<Span> {
        let (name, wanted) = block.names();
        match self.token() {
            Token::Keyword(keyword) if block.closed_by(keyword) => Ok(self.advance()),
            Token::Keyword(keyword) if keyword.is_end() => {
                let span = self.advance();
                let error = ModelErrorKind::WrongEnd {
                    found: self.text(span).into(),
                    opened: name,
                    at: Position::of(self.source, opened.start as usize),
                    wanted,
                };
                self.report(error.at(span));
                Ok(span)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// Reports an error.
    pub fn report(&mut self, error: SpannedError) {
        self.errors.push(error);
    }

    /// Whether the most errors were reported.
    pub fn gave_up(&self) -> bool {
        self.errors.len() >= ModelError::MAX
            || self.errors.last().is_some_and(|m| m.kind.is_limit())
    }

    /// Reads something within something.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= self.nesting {
            return Err(self.too_deep(self.span()));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn too_deep(&self, span: Span) -> SpannedError {
        ModelErrorKind::limit("levels of nesting", self.nesting as u64).at(span)
    }

    /// An expression of parts, unless it is too deep.
    pub fn made(&self, kind: ExprKind<'s>, span: Span, deepest: u16) -> Parse<Expr<'s>> {
        let depth = deepest + 1;
        if usize::from(depth) > self.nesting {
            return Err(self.too_deep(span));
        }
        Ok(Expr { kind, span, depth })
    }

    /// Whether the next arrow `==>` is the guard's of the rule that begins here.
    pub fn guard_follows(&self) -> bool {
        use Keyword::{Function, Invariant, Procedure, Rule, Ruleset, Startstate};
        let mut ahead = self.tokens[self.at.min(self.tokens.len() - 1)..].iter();
        let stop = ahead.find(|placed| {
            matches!(
                placed.token,
                Token::Mark("==>")
                    | Token::Keyword(
                        Rule | Ruleset | Startstate | Invariant | Function | Procedure
                    )
            )
        });
        stop.is_some_and(|placed| placed.token == Token::Mark("==>"))
    }

    /// Skips to the arrow after a guard and takes it.
    pub fn skip_guard(&mut self) {
        while !self.take_mark("==>") && self.token() != Token::End {
            self.advance();
        }
    }

    /// Whether this begins a rule, a function or a section at the outermost level.
    pub fn at_part(&self) -> bool {
        use Keyword::{Function, Invariant, Procedure, Rule, Ruleset, Startstate};
        matches!(
            self.token(),
            Token::End
                | Token::Keyword(Rule | Ruleset | Startstate | Invariant | Function | Procedure)
        )
    }

    /// Whether a list of statements ends here.
    pub fn at_end_of_statements(&self) -> bool {
        match self.token() {
            Token::Keyword(Keyword::Else | Keyword::Elsif | Keyword::Case) => true,
            Token::Keyword(keyword) => keyword.is_end() || self.at_part(),
            Token::End => true,
            _ => false,
        }
    }

    /// After an error in the statement that begins at token `begin`: skips to its end, over the
    /// blocks that it opens.
    pub fn skip_statement(&mut self, begin: usize) {
        use Keyword::{Alias, Exists, For, Forall, If, Switch, While};
        let failed_at = self.at;
        self.at = begin;
        let mut open = 0_usize;
        loop {
            let passed = self.at >= failed_at;
            if self.at_part() && (passed || self.token() == Token::End) {
                return;
            }
            match self.token() {
                Token::Mark(";") if passed && open == 0 => return,
                Token::Keyword(If | Switch | For | While | Alias | Forall | Exists) => open += 1,
                Token::Keyword(keyword) if keyword.is_end() => match open {
                    0 if passed => return,
                    0 => {}
                    _ => open -= 1,
                },
                _ if passed && open == 0 && self.at_end_of_statements() => return,
                _ => {}
            }
            self.advance();
        }
    }

    /// After an error in a declaration: skips to its end.
    pub fn skip_declaration(&mut self) {
        use Keyword::{Begin, Const, Type, Var};
        loop {
            let stops = matches!(self.token(), Token::Keyword(Begin | Const | Type | Var));
            if stops || self.at_part() || self.take_mark(";") {
                return;
            }
            self.advance();
        }
    }

    /// After an error between rules: skips to the next one, or to the end of what they are in.
    pub fn skip_to_part(&mut self) {
        while !self.at_part() {
            let section = matches!(
                self.token(),
                Token::Keyword(Keyword::Const | Keyword::Type | Keyword::Var)
            );
            if section {
                return;
            }
            self.advance();
        }
    }
}
