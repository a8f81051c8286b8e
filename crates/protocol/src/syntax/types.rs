//! Declarations and types.

use crate::model_error_kind::ModelErrorKind;
use crate::syntax::cursor::{Parse, Parser};
use crate::syntax::keywords::{Block, Keyword};
use crate::syntax::lexer::Token;
use crate::syntax::tree::{Declaration, Name, TypeTree, TypeTreeKind};

const TYPE: &str = "a type: a name, a range, `enum`, `record`, `array`, `scalarset`, `union` or \
                    `multiset`";

impl<'s> Parser<'s, '_> {
    /// The sections of constants, types and variables that begin here.
    pub fn declarations(&mut self, into: &mut Vec<Declaration<'s>>) {
        loop {
            let section = match self.token() {
                Token::Keyword(section @ (Keyword::Const | Keyword::Type | Keyword::Var)) => {
                    section
                }
                _ => return,
            };
            self.advance();
            self.take_semicolons();
            while self.at_declaration() && !self.gave_up() {
                match self.declaration(section) {
                    Ok(declaration) => into.push(declaration),
                    Err(error) => {
                        self.report(error);
                        self.skip_declaration();
                    }
                }
                self.take_semicolons();
            }
        }
    }

    /// Whether another declaration of the section follows: after its last one there may be a
    /// statement or a rule that begins with a name too.
    fn at_declaration(&self) -> bool {
        self.token() == Token::Name && matches!(self.peek(1), Token::Mark("," | ":"))
            || matches!(self.token(), Token::Keyword(_))
                && matches!(self.peek(1), Token::Mark(":" | ","))
    }

    fn declaration(&mut self, section: Keyword) -> Parse<Declaration<'s>> {
        let names = self.names("a name, which cannot be a keyword")?;
        self.expect_mark(":", "`:` after the names")?;
        Ok(match section {
            Keyword::Const => Declaration::Constant(names, self.expression()?),
            Keyword::Type => Declaration::Type(names, self.type_tree()?),
            _ => Declaration::Variable(names, self.type_tree()?),
        })
    }

    /// Names separated by commas.
    pub fn names(&mut self, wanted: &'static str) -> Parse<Vec<Name<'s>>> {
        let mut names = vec![self.expect_name(wanted)?];
        while self.take_mark(",") {
            if self.token() != Token::Name {
                break;
            }
            names.push(self.expect_name(wanted)?);
        }
        Ok(names)
    }

    /// A type.
    pub fn type_tree(&mut self) -> Parse<TypeTree<'s>> {
        self.nested(|parser| {
            let begin = parser.span();
            let kind = parser.type_kind()?;
            let span = begin.to(parser.previous());
            Ok(TypeTree { kind, span })
        })
    }

    fn type_kind(&mut self) -> Parse<TypeTreeKind<'s>> {
        match self.token() {
            Token::Keyword(Keyword::Enum) => self.enum_type(),
            Token::Keyword(Keyword::Record) => self.record_type(),
            Token::Keyword(Keyword::Array) => self.array_type(),
            Token::Keyword(Keyword::Scalarset) => {
                self.advance();
                self.expect_mark("(", "`(` and the size")?;
                let size = self.expression()?;
                self.expect_mark(")", "`)` after the size")?;
                Ok(TypeTreeKind::Scalarset(Box::new(size)))
            }
            Token::Name if self.is_word("union") && self.peek(1) == Token::Mark("{") => {
                self.union_type()
            }
            Token::Name if self.is_word("multiset") && self.peek(1) == Token::Mark("[") => {
                self.advance();
                self.advance();
                let capacity = self.expression()?;
                self.expect_mark("]", "`]` after the size")?;
                self.expect_keyword(Keyword::Of, "`of` and the type of the elements")?;
                let element = self.type_tree()?;
                Ok(TypeTreeKind::Multiset(
                    Box::new(capacity),
                    Box::new(element),
                ))
            }
            Token::Name if self.is_word("real") && self.peek(1) == Token::Mark("(") => {
                let error = ModelErrorKind::NotSupported {
                    what: "floating-point types",
                    instead: "an integer range",
                };
                Err(error.at(self.span()))
            }
            Token::Name if !self.range_follows() => {
                let name = self.expect_name(TYPE)?;
                Ok(TypeTreeKind::Named(name.text))
            }
            Token::Name | Token::Number(_) | Token::Mark("(" | "-" | "+" | "~") => {
                let low = self.arithmetic()?;
                self.expect_mark("..", "`..` and the end of the range")?;
                let high = self.arithmetic()?;
                Ok(TypeTreeKind::Range(Box::new(low), Box::new(high)))
            }
            _ => Err(self.unexpected(TYPE)),
        }
    }

    /// Whether a type that begins with a name is a range.
    fn range_follows(&self) -> bool {
        let marks = ["..", "+", "-", "*", "/", "%", "(", "[", ".", "<<", ">>"];
        matches!(self.peek(1), Token::Mark(mark) if marks.contains(&mark))
    }

    fn enum_type(&mut self) -> Parse<TypeTreeKind<'s>> {
        self.advance();
        self.expect_mark("{", "`{` and the members")?;
        let members = self.names("a member of the enum")?;
        self.expect_mark("}", "`,` or `}`")?;
        Ok(TypeTreeKind::Enum(members))
    }

    fn union_type(&mut self) -> Parse<TypeTreeKind<'s>> {
        self.advance();
        self.advance();
        let mut members = vec![self.type_tree()?];
        while self.take_mark(",") && !self.is_mark("}") {
            members.push(self.type_tree()?);
        }
        self.expect_mark("}", "`,` or `}`")?;
        Ok(TypeTreeKind::Union(members))
    }

    fn record_type(&mut self) -> Parse<TypeTreeKind<'s>> {
        let opened = self.advance();
        let mut fields = Vec::new();
        self.take_semicolons();
        while self.token() == Token::Name {
            let names = self.names("a field")?;
            self.expect_mark(":", "`:` and the type of the field")?;
            fields.push((names, self.type_tree()?));
            self.take_semicolons();
        }
        self.expect_end(Block::Record, opened)?;
        Ok(TypeTreeKind::Record(fields))
    }

    fn array_type(&mut self) -> Parse<TypeTreeKind<'s>> {
        self.advance();
        self.expect_mark("[", "`[` and the type of the index")?;
        let index = self.type_tree()?;
        self.expect_mark("]", "`]` after the type of the index")?;
        self.expect_keyword(Keyword::Of, "`of` and the type of the elements")?;
        let element = self.type_tree()?;
        Ok(TypeTreeKind::Array(Box::new(index), Box::new(element)))
    }
}
