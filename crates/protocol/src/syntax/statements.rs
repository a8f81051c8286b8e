//! Statements.

use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::cursor::{Parse, Parser};
use crate::syntax::keywords::{Block, Keyword};
use crate::syntax::lexer::Token;
use crate::syntax::tree::{AliasTree, Body, Branch, Expr, PropertyKind, Statement, StatementKind};

impl<'s> Parser<'s, '_> {
    /// Declarations, `begin` if there are any, and statements.
    pub fn body(&mut self) -> Body<'s> {
        let mut body = Body::default();
        self.declarations(&mut body.declarations);
        self.take_keyword(Keyword::Begin);
        body.statements = self.statements();
        body
    }

    /// Statements up to what closes their block. Errors in them are noted.
    pub fn statements(&mut self) -> Vec<Statement<'s>> {
        let mut statements = Vec::new();
        self.take_semicolons();
        while !self.at_end_of_statements() && !self.gave_up() {
            let begin = self.at;
            match self.nested(Self::statement) {
                Ok(statement) => {
                    statements.push(statement);
                    if !self.take_semicolons() && !self.at_end_of_statements() {
                        let missing = self.unexpected("`;` or the end of the block");
                        self.report(missing);
                        self.skip_statement(begin);
                        self.take_semicolons();
                    }
                }
                Err(error) => {
                    self.report(error);
                    self.skip_statement(begin);
                    self.take_semicolons();
                }
            }
        }
        statements
    }

    fn statement(&mut self) -> Parse<Statement<'s>> {
        let begin = self.span();
        let kind = match self.token() {
            Token::Keyword(keyword) => self.keyword_statement(keyword, begin)?,
            Token::Name => self.name_statement()?,
            _ => return Err(self.unexpected("a statement")),
        };
        let span = begin.to(self.previous());
        Ok(Statement { kind, span })
    }

    fn keyword_statement(&mut self, keyword: Keyword, begin: Span) -> Parse<StatementKind<'s>> {
        match keyword {
            Keyword::If => self.if_statement(),
            Keyword::Switch => self.switch_statement(),
            Keyword::For => {
                self.advance();
                let quantifiers = self.quantifiers()?;
                self.expect_do()?;
                let body = self.statements();
                self.expect_end(Block::For, begin)?;
                Ok(StatementKind::For(quantifiers, body))
            }
            Keyword::While => {
                self.advance();
                let test = self.expression()?;
                self.expect_do()?;
                let body = self.statements();
                self.expect_end(Block::While, begin)?;
                Ok(StatementKind::While(test, body))
            }
            Keyword::Alias => {
                let aliases = self.aliases()?;
                let body = self.statements();
                self.expect_end(Block::Alias, begin)?;
                Ok(StatementKind::Alias(aliases, body))
            }
            Keyword::Clear => {
                self.advance();
                Ok(StatementKind::Clear(self.designator("a variable")?))
            }
            Keyword::Undefine => {
                self.advance();
                Ok(StatementKind::Undefine(self.designator("a variable")?))
            }
            Keyword::Error => {
                self.advance();
                match self.take_text() {
                    Some(text) => Ok(StatementKind::Error(text)),
                    None => Err(self.unexpected("a message in quotes")),
                }
            }
            Keyword::Assert => {
                self.advance();
                self.property_statement(PropertyKind::Invariant)
            }
            Keyword::Put => {
                self.advance();
                match self.take_text() {
                    Some(_) => Ok(StatementKind::Put(None)),
                    None => Ok(StatementKind::Put(Some(self.expression()?))),
                }
            }
            Keyword::Return => {
                self.advance();
                let nothing = self.is_mark(";") || self.at_end_of_statements();
                let value = match nothing {
                    true => None,
                    false => Some(self.expression()?),
                };
                Ok(StatementKind::Return(value))
            }
            Keyword::Const | Keyword::Type | Keyword::Var => {
                let error = ModelErrorKind::Misplaced {
                    what: "a declaration",
                    within: "statements",
                    belongs: "declarations before `begin` and all statements",
                };
                Err(error.at(begin))
            }
            _ => Err(self.unexpected("a statement")),
        }
    }

    /// `[text] condition [text]`.
    pub fn property(&mut self) -> Parse<(Option<&'s str>, Expr<'s>)> {
        let before = self.take_text();
        let condition = self.expression()?;
        let after = match before {
            Some(_) => None,
            None => self.take_text(),
        };
        Ok((before.or(after), condition))
    }

    fn property_statement(&mut self, kind: PropertyKind) -> Parse<StatementKind<'s>> {
        let (name, condition) = self.property()?;
        Ok(StatementKind::Property {
            kind,
            name,
            condition,
        })
    }

    fn if_statement(&mut self) -> Parse<StatementKind<'s>> {
        let opened = self.span();
        let mut branches = Vec::new();
        while branches.is_empty() || self.is_keyword(Keyword::Elsif) {
            let span = self.advance();
            let test = self.expression()?;
            let span = span.to(test.span);
            self.expect_keyword(Keyword::Then, "an operator or `then`")?;
            let body = self.statements();
            branches.push(Branch { span, test, body });
        }
        let otherwise = self.otherwise();
        self.expect_end(Block::If, opened)?;
        Ok(StatementKind::If {
            branches,
            otherwise,
        })
    }

    fn otherwise(&mut self) -> Option<(Span, Vec<Statement<'s>>)> {
        if !self.is_keyword(Keyword::Else) {
            return None;
        }
        let span = self.advance();
        Some((span, self.statements()))
    }

    fn switch_statement(&mut self) -> Parse<StatementKind<'s>> {
        let opened = self.advance();
        let subject = self.expression()?;
        self.take_semicolons();
        let mut arms = Vec::new();
        while self.is_keyword(Keyword::Case) {
            let begin = self.advance();
            let mut values = vec![self.expression()?];
            while self.take_mark(",") && !self.is_mark(":") {
                values.push(self.expression()?);
            }
            let span = begin.to(self.previous());
            self.expect_mark(":", "`,` or `:`")?;
            arms.push((span, values, self.statements()));
        }
        let otherwise = self.otherwise();
        if self.token() != Token::End && arms.is_empty() && otherwise.is_none() {
            let closed = matches!(self.token(), Token::Keyword(k) if k.is_end());
            if !closed {
                return Err(self.unexpected("an operator or `case`"));
            }
        }
        self.expect_end(Block::Switch, opened)?;
        Ok(StatementKind::Switch {
            subject,
            arms,
            otherwise,
        })
    }

    /// `alias a : x; b : y do`.
    pub fn aliases(&mut self) -> Parse<Vec<AliasTree<'s>>> {
        self.expect_keyword(Keyword::Alias, "`alias`")?;
        let mut aliases = Vec::new();
        self.take_semicolons();
        while self.token() == Token::Name || aliases.is_empty() {
            let name = self.expect_name("a name")?;
            self.expect_mark(":", "`:` and what the name stands for")?;
            let meaning = self.expression()?;
            aliases.push(AliasTree { name, meaning });
            while self.take_mark(";") || self.take_mark(",") {}
        }
        self.expect_do()?;
        Ok(aliases)
    }

    fn name_statement(&mut self) -> Parse<StatementKind<'s>> {
        let next = self.peek(1);
        let is_variable = matches!(next, Token::Mark(":=" | "." | "[" | "=" | "=="));
        if !is_variable {
            if self.is_word("cover") {
                self.advance();
                return self.property_statement(PropertyKind::Cover);
            }
            if self.is_word("assume") {
                self.advance();
                return self.property_statement(PropertyKind::Assume);
            }
            if self.is_word("liveness") && next != Token::Mark("(") {
                return Err(self.liveness());
            }
        }
        if next == Token::Mark("(") {
            return self.call_statement();
        }
        let target = self.designator("a variable")?;
        self.expect_mark(":=", "`:=` and a value, or arguments in parentheses")?;
        Ok(StatementKind::Assign(target, self.expression()?))
    }

    /// Liveness is refused by name.
    pub fn liveness(&self) -> crate::model_error::SpannedError {
        let error = ModelErrorKind::NotSupported {
            what: "liveness properties",
            instead: "`invariant`, `assert` or `cover`",
        };
        error.at(self.span())
    }

    fn call_statement(&mut self) -> Parse<StatementKind<'s>> {
        if self.is_word("multisetremovepred") && self.binder_follows() {
            self.advance();
            let (binder, multiset, condition) = self.bound_condition()?;
            return Ok(StatementKind::MultisetRemovePred {
                binder,
                multiset,
                condition,
            });
        }
        let adds = self.is_word("multisetadd");
        let removes = self.is_word("multisetremove");
        let name = self.expect_name("a procedure")?;
        let arguments = self.arguments()?;
        if !adds && !removes {
            return Ok(StatementKind::Call(name, arguments));
        }
        let found = arguments.len();
        match <[Expr<'s>; 2]>::try_from(arguments) {
            Ok([element, multiset]) if adds => Ok(StatementKind::MultisetAdd(element, multiset)),
            Ok([element, multiset]) => Ok(StatementKind::MultisetRemove(element, multiset)),
            Err(_) => {
                let error = ModelErrorKind::ArgumentCount {
                    name: name.text.into(),
                    found,
                    wanted: 2,
                };
                Err(error.at(name.span))
            }
        }
    }
}
