//! The outermost level: functions, rules, and the rulesets around them.

use crate::model_error::SpannedError;
use crate::model_error_kind::ModelErrorKind;
use crate::syntax::cursor::{Parse, Parser};
use crate::syntax::keywords::{Block, Keyword};
use crate::syntax::lexer::Token;
use crate::syntax::tree::{File, Function, ParameterTree, PropertyKind, RuleTree};

const PART: &str = "a declaration, a function or a rule";

impl<'s> Parser<'s, '_> {
    /// A whole file. CMurphi wants declarations first, then functions, then rules; any order is
    /// read.
    pub fn file(mut self) -> File<'s> {
        let mut file = File::default();
        loop {
            self.take_semicolons();
            if self.gave_up() {
                return file;
            }
            match self.token() {
                Token::End => return file,
                Token::Keyword(Keyword::Const | Keyword::Type | Keyword::Var) => {
                    self.declarations(&mut file.declarations);
                }
                Token::Keyword(Keyword::Function | Keyword::Procedure) => match self.function() {
                    Ok(function) => file.functions.push(function),
                    Err(error) => self.give_up_part(error),
                },
                _ if self.at_rule() => match self.nested(Self::rule) {
                    Ok(rule) => file.rules.push(rule),
                    Err(error) => self.give_up_part(error),
                },
                _ => {
                    let error = self.refused().unwrap_or_else(|| self.unexpected(PART));
                    self.give_up_part(error);
                }
            }
        }
    }

    fn give_up_part(&mut self, error: SpannedError) {
        self.report(error);
        let before = self.at;
        self.skip_to_part();
        if self.at == before && self.token() != Token::End && !self.at_part() {
            self.advance();
        }
    }

    /// Reports syntax of other tools that is not supported.
    fn refused(&self) -> Option<SpannedError> {
        let (what, instead) = if self.is_word("pctl") {
            ("probabilistic formulas", "`invariant`, `assert` or `cover`")
        } else if self.is_word("externfun") || self.is_word("externproc") {
            ("functions in C++", "a function in Murphi")
        } else if self.is_word("traceuntil") {
            ("`traceuntil` conditions", "an invariant that fails there")
        } else if self.is_word("liveness") {
            return Some(self.liveness());
        } else {
            return None;
        };
        Some(ModelErrorKind::NotSupported { what, instead }.at(self.span()))
    }

    fn at_rule(&self) -> bool {
        use Keyword::{Alias, Assert, Invariant, Rule, Ruleset, Startstate};
        let keyword = matches!(
            self.token(),
            Token::Keyword(Rule | Ruleset | Startstate | Invariant | Assert | Alias)
        );
        keyword || self.is_word("choose") || self.is_word("cover") || self.is_word("assume")
    }

    fn rules(&mut self, block: Block) -> Parse<Vec<RuleTree<'s>>> {
        let opened = self.previous();
        let mut rules = Vec::new();
        loop {
            self.take_semicolons();
            if self.gave_up() {
                return Ok(rules);
            }
            if self.at_rule() {
                match self.nested(Self::rule) {
                    Ok(rule) => rules.push(rule),
                    Err(error) => {
                        self.report(error);
                        while !self.at_part() && !self.closes(block) {
                            self.advance();
                        }
                    }
                }
                continue;
            }
            if let Some(refused) = self.refused() {
                return Err(refused);
            }
            let ended = matches!(self.token(), Token::Keyword(k) if k.is_end());
            if !ended {
                return Err(self.unexpected("a rule, or the end of the block"));
            }
            self.expect_end(block, opened)?;
            return Ok(rules);
        }
    }

    fn closes(&self, block: Block) -> bool {
        matches!(self.token(), Token::Keyword(k) if k != Keyword::End && block.closed_by(k))
    }

    fn rule(&mut self) -> Parse<RuleTree<'s>> {
        let begin = self.span();
        match self.token() {
            Token::Keyword(Keyword::Rule) => self.simple_rule(),
            Token::Keyword(Keyword::Startstate) => {
                self.advance();
                let name = self.take_text();
                let span = begin.to(self.previous());
                let body = self.body();
                self.expect_end(Block::Startstate, begin)?;
                Ok(RuleTree::Startstate { name, body, span })
            }
            Token::Keyword(Keyword::Invariant | Keyword::Assert) => {
                self.property_rule(PropertyKind::Invariant)
            }
            Token::Keyword(Keyword::Ruleset) => {
                self.advance();
                let quantifiers = self.quantifiers()?;
                self.expect_do()?;
                Ok(RuleTree::Ruleset(quantifiers, self.rules(Block::Ruleset)?))
            }
            Token::Keyword(Keyword::Alias) => {
                let aliases = self.aliases()?;
                Ok(RuleTree::Alias(aliases, self.rules(Block::Alias)?))
            }
            _ if self.is_word("choose") => {
                self.advance();
                let binder = self.expect_name("a name for the element")?;
                self.expect_mark(":", "`:` and a multiset")?;
                let multiset = self.designator("a multiset")?;
                self.expect_do()?;
                let rules = self.rules(Block::Choose)?;
                Ok(RuleTree::Choose {
                    binder,
                    multiset,
                    rules,
                })
            }
            _ if self.is_word("cover") => self.property_rule(PropertyKind::Cover),
            _ => self.property_rule(PropertyKind::Assume),
        }
    }

    fn property_rule(&mut self, kind: PropertyKind) -> Parse<RuleTree<'s>> {
        let begin = self.advance();
        let (name, condition) = self.property()?;
        let span = begin.to(self.previous());
        Ok(RuleTree::Property {
            kind,
            name,
            condition,
            span,
        })
    }

    fn simple_rule(&mut self) -> Parse<RuleTree<'s>> {
        let begin = self.advance();
        let priority = match (self.token(), self.peek(1)) {
            (Token::Number(priority), Token::Text | Token::Name | Token::Keyword(_)) => {
                self.advance();
                priority
            }
            _ => 0,
        };
        let name = self.take_text();
        let span = begin.to(self.previous());
        let guard = match self.guard_follows() {
            true => {
                let guard = self.expression().and_then(|guard| {
                    self.expect_mark("==>", "an operator or `==>`")?;
                    Ok(guard)
                });
                match guard {
                    Ok(guard) => Some(guard),
                    Err(error) => {
                        self.report(error);
                        self.skip_guard();
                        None
                    }
                }
            }
            false => None,
        };
        let body = self.body();
        self.expect_end(Block::Rule, begin)?;
        Ok(RuleTree::Rule {
            name,
            priority,
            guard,
            body,
            span,
        })
    }

    fn function(&mut self) -> Parse<Function<'s>> {
        let is_function = self.is_keyword(Keyword::Function);
        let begin = self.advance();
        let name = self.expect_name("a name")?;
        let parameters = self.parameters()?;
        let result = match self.take_mark(":") {
            true => Some(self.type_tree()?),
            false => None,
        };
        self.take_semicolons();
        let body = self.body();
        let block = match is_function {
            true => Block::Function,
            false => Block::Procedure,
        };
        let end = self.expect_end(block, begin)?;
        Ok(Function {
            name,
            parameters,
            is_function: result.is_some(),
            result,
            body,
            end,
        })
    }

    fn parameters(&mut self) -> Parse<Vec<ParameterTree<'s>>> {
        self.expect_mark("(", "`(` and the parameters")?;
        let mut parameters = Vec::new();
        while !self.take_mark(")") {
            let by_reference = self.take_keyword(Keyword::Var);
            let names = self.names("a parameter or `)`")?;
            self.expect_mark(":", "`,` and another name, or `:` and a type")?;
            let type_tree = self.type_tree()?;
            parameters.push(ParameterTree {
                names,
                by_reference,
                type_tree,
            });
            let separated = self.take_semicolons() || self.take_mark(",");
            if !separated && !self.is_mark(")") {
                return Err(self.unexpected("`;` or `)`"));
            }
        }
        Ok(parameters)
    }
}
