//! Expressions.
//!
//! How tightly operators bind is as in CMurphi's grammar, with Rumur's additions: from loosest to
//! tightest `?:`, `->`, `||`, `&&`, `|`, `^`, `&`, `!`, comparisons, shifts, `+ -`, `* / %`. Note
//! that `!a = b` is `!(a = b)`.

use crate::model_error_kind::ModelErrorKind;
use crate::syntax::cursor::{Parse, Parser};
use crate::syntax::keywords::{Block, Keyword};
use crate::syntax::lexer::Token;
use crate::syntax::tree::{DomainTree, Expr, ExprKind, Quantifier};

const CONDITIONAL: u8 = 1;
const IMPLICATION: u8 = 2;
const COMPARISON: u8 = 9;
const SHIFT: u8 = 10;
const TIGHTEST: u8 = 13;

/// How tightly a binary operator binds.
fn level(operator: &str) -> Option<u8> {
    Some(match operator {
        "?" => CONDITIONAL,
        "->" => IMPLICATION,
        "||" => 3,
        "&&" => 4,
        "|" => 5,
        "^" => 6,
        "&" => 7,
        "<" | "<=" | ">" | ">=" | "=" | "==" | "!=" => COMPARISON,
        "<<" | ">>" => SHIFT,
        "+" | "-" => 11,
        "*" | "/" | "%" => 12,
        _ => return None,
    })
}

const VALUE: &str = "a value: a name, a number, `(`, an operator, `forall` or `exists`";

impl<'s> Parser<'s, '_> {
    /// An expression.
    pub fn expression(&mut self) -> Parse<Expr<'s>> {
        self.expression_at(CONDITIONAL)
    }

    /// An expression without comparisons, as the ends of a range are.
    pub fn arithmetic(&mut self) -> Parse<Expr<'s>> {
        self.expression_at(SHIFT)
    }

    fn operator(&self) -> Option<(&'static str, u8)> {
        match self.token() {
            Token::Mark(mark) => Some((mark, level(mark)?)),
            _ => None,
        }
    }

    fn expression_at(&mut self, least: u8) -> Parse<Expr<'s>> {
        self.nested(|parser| {
            let mut left = parser.prefix()?;
            while let Some((operator, level)) = parser.operator().filter(|(_, l)| *l >= least) {
                left = parser.binary(left, operator, level)?;
            }
            Ok(left)
        })
    }

    fn binary(&mut self, left: Expr<'s>, operator: &'static str, level: u8) -> Parse<Expr<'s>> {
        match operator {
            "?" => self.conditional(left),
            "&" | "&&" | "|" | "||" => self.chain(left, operator, level),
            _ => {
                self.advance();
                let right = self.expression_at(level + 1)?;
                let (span, depth) = (left.span.to(right.span), left.depth.max(right.depth));
                if matches!(level, IMPLICATION | COMPARISON) {
                    self.refuse_another(level)?;
                }
                let kind = ExprKind::Binary(operator, Box::new(left), Box::new(right));
                self.made(kind, span, depth)
            }
        }
    }

    /// Operators that do not chain are mistaken for ones that do too easily.
    fn refuse_another(&self, level: u8) -> Parse<()> {
        match self.operator() {
            Some((operator, other)) if other == level => {
                let operator = operator.into();
                Err(ModelErrorKind::Chained { operator }.at(self.span()))
            }
            _ => Ok(()),
        }
    }

    fn chain(&mut self, left: Expr<'s>, operator: &'static str, level: u8) -> Parse<Expr<'s>> {
        let (begin, mut depth) = (left.span, left.depth);
        let mut operands = vec![left];
        while self.take_mark(operator) {
            let operand = self.expression_at(level + 1)?;
            depth = depth.max(operand.depth);
            operands.push(operand);
        }
        let span = begin.to(self.previous());
        self.made(ExprKind::Chain(operator, operands), span, depth)
    }

    fn conditional(&mut self, test: Expr<'s>) -> Parse<Expr<'s>> {
        self.advance();
        let then = self.expression()?;
        self.expect_mark(":", "`:` and the other value")?;
        let otherwise = self.expression_at(IMPLICATION)?;
        self.refuse_another(CONDITIONAL)?;
        let span = test.span.to(otherwise.span);
        let depth = test.depth.max(then.depth).max(otherwise.depth);
        let kind = ExprKind::Conditional(Box::new([test, then, otherwise]));
        self.made(kind, span, depth)
    }

    fn prefix(&mut self) -> Parse<Expr<'s>> {
        let (operator, operand_level) = match self.token() {
            Token::Mark("!") => ("!", COMPARISON),
            Token::Mark("-") => ("-", TIGHTEST),
            Token::Mark("+") => ("+", TIGHTEST),
            Token::Mark("~") => ("~", TIGHTEST),
            _ => return self.postfix(),
        };
        let begin = self.advance();
        let operand = self.expression_at(operand_level)?;
        let (span, depth) = (begin.to(operand.span), operand.depth);
        let kind = ExprKind::Unary(operator, Box::new(operand));
        self.made(kind, span, depth)
    }

    /// A value with the fields and elements that are selected from it.
    fn postfix(&mut self) -> Parse<Expr<'s>> {
        let mut value = self.primary()?;
        loop {
            let depth = value.depth;
            if self.take_mark(".") {
                let field = self.expect_name("a field")?;
                let span = value.span.to(field.span);
                value = self.made(ExprKind::Field(Box::new(value), field), span, depth)?;
            } else if self.take_mark("[") {
                let index = self.expression()?;
                let end = self.expect_mark("]", "`]` after the index")?;
                let (span, depth) = (value.span.to(end), depth.max(index.depth));
                let kind = ExprKind::Index(Box::new(value), Box::new(index));
                value = self.made(kind, span, depth)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// A variable, or what stands for one.
    pub fn designator(&mut self, wanted: &'static str) -> Parse<Expr<'s>> {
        match self.token() {
            Token::Name => self.nested(Self::postfix),
            _ => Err(self.unexpected(wanted)),
        }
    }

    fn primary(&mut self) -> Parse<Expr<'s>> {
        let begin = self.span();
        match self.token() {
            Token::Number(number) => {
                self.advance();
                self.made(ExprKind::Number(number), begin, 0)
            }
            Token::Mark("(") => {
                self.advance();
                let inner = self.expression()?;
                self.expect_mark(")", "an operator or `)`")?;
                Ok(inner)
            }
            Token::Keyword(Keyword::Forall) => self.quantified(true),
            Token::Keyword(Keyword::Exists) => self.quantified(false),
            Token::Keyword(Keyword::IsUndefined) => {
                self.advance();
                self.expect_mark("(", "`(` and a variable")?;
                let operand = self.designator("a variable")?;
                let end = self.expect_mark(")", "`)` after the variable")?;
                let depth = operand.depth;
                self.made(
                    ExprKind::IsUndefined(Box::new(operand)),
                    begin.to(end),
                    depth,
                )
            }
            Token::Name if self.peek(1) == Token::Mark("(") => self.call(),
            Token::Name => {
                self.advance();
                self.made(ExprKind::Name(self.text(begin)), begin, 0)
            }
            _ => Err(self.unexpected(VALUE)),
        }
    }

    fn call(&mut self) -> Parse<Expr<'s>> {
        let begin = self.span();
        if self.is_word("multisetcount") && self.binder_follows() {
            self.advance();
            let (binder, multiset, condition) = self.bound_condition()?;
            let span = begin.to(self.previous());
            let depth = multiset.depth.max(condition.depth);
            let kind = ExprKind::MultisetCount {
                binder,
                multiset: Box::new(multiset),
                condition: Box::new(condition),
            };
            return self.made(kind, span, depth);
        }
        if self.is_word("ismember") {
            self.advance();
            self.advance();
            let operand = self.expression()?;
            self.expect_mark(",", "`,` and a type")?;
            let type_tree = self.type_tree()?;
            let end = self.expect_mark(")", "`)` after the type")?;
            let depth = operand.depth;
            let kind = ExprKind::IsMember(Box::new(operand), Box::new(type_tree));
            return self.made(kind, begin.to(end), depth);
        }
        let name = self.expect_name(VALUE)?;
        let arguments = self.arguments()?;
        let span = begin.to(self.previous());
        let depth = arguments.iter().map(|a| a.depth).max().unwrap_or(0);
        self.made(ExprKind::Call(name, arguments), span, depth)
    }

    /// Whether `( name :` follows this token.
    pub fn binder_follows(&self) -> bool {
        self.peek(1) == Token::Mark("(")
            && self.peek(2) == Token::Name
            && self.peek(3) == Token::Mark(":")
    }

    /// `(name : multiset, condition)`.
    pub fn bound_condition(
        &mut self,
    ) -> Parse<(crate::syntax::tree::Name<'s>, Expr<'s>, Expr<'s>)> {
        self.expect_mark("(", "`(` and a name for the element")?;
        let binder = self.expect_name("a name for the element")?;
        self.expect_mark(":", "`:` and a multiset")?;
        let multiset = self.designator("a multiset")?;
        self.expect_mark(",", "`,` and a condition")?;
        let condition = self.expression()?;
        self.expect_mark(")", "`)` after the condition")?;
        Ok((binder, multiset, condition))
    }

    /// Expressions in parentheses.
    pub fn arguments(&mut self) -> Parse<Vec<Expr<'s>>> {
        self.expect_mark("(", "`(`")?;
        let mut arguments = Vec::new();
        while !self.take_mark(")") {
            arguments.push(self.expression()?);
            if !self.take_mark(",") && !self.is_mark(")") {
                return Err(self.unexpected("an operator, `,` or `)`"));
            }
        }
        Ok(arguments)
    }

    fn quantified(&mut self, every: bool) -> Parse<Expr<'s>> {
        let begin = self.advance();
        let quantifiers = self.quantifiers()?;
        self.expect_do()?;
        let body = self.expression()?;
        let block = if every { Block::Forall } else { Block::Exists };
        let end = self.expect_end(block, begin)?;
        let deepest = quantifiers.iter().map(Quantifier::depth).max();
        let depth = body.depth.max(deepest.unwrap_or(0));
        let kind = ExprKind::Quantified {
            every,
            quantifiers,
            body: Box::new(body),
        };
        self.made(kind, begin.to(end), depth)
    }

    /// `i : T; j := 1 to 3 by 2`.
    pub fn quantifiers(&mut self) -> Parse<Vec<Quantifier<'s>>> {
        let mut quantifiers = vec![self.quantifier()?];
        while self.take_semicolons() && self.token() == Token::Name {
            quantifiers.push(self.quantifier()?);
        }
        Ok(quantifiers)
    }

    fn quantifier(&mut self) -> Parse<Quantifier<'s>> {
        let name = self.expect_name("a name")?;
        let domain = if self.take_mark(":=") {
            let from = self.expression()?;
            self.expect_keyword(Keyword::To, "`to` and the last value")?;
            let to = self.expression()?;
            let by = match self.take_keyword(Keyword::By) {
                true => Some(self.expression()?),
                false => None,
            };
            DomainTree::Steps { from, to, by }
        } else {
            self.expect_mark(":", "`:` and a type, or `:=` and the first value")?;
            DomainTree::Type(self.type_tree()?)
        };
        Ok(Quantifier { name, domain })
    }
}

impl Quantifier<'_> {
    fn depth(&self) -> u16 {
        match &self.domain {
            DomainTree::Type(_) => 0,
            DomainTree::Steps { from, to, by } => {
                let by = by.as_ref().map_or(0, |by| by.depth);
                from.depth.max(to.depth).max(by)
            }
        }
    }
}
