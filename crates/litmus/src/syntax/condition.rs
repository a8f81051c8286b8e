//! What follows the program: `locations`, `filter` and the condition.
//!
//! Implication binds more tightly than conjunction, and that more tightly than disjunction, as in
//! herd7's grammar: `a /\ b => c` is `a /\ (b => c)`.

use crate::limits::Limits;
use crate::parse_error::{Misread, Problem};
use crate::test::Quantifier;

use super::lexer::{Lexer, Token};
use super::place::{target, value, values};
use super::tree::{Claim, Compared, Target};

/// Everything after the program.
pub(super) struct Ending<'s> {
    pub locations: Vec<Target<'s>>,
    pub filter: Option<Claim<'s>>,
    pub quantifier: Quantifier,
    pub condition: Claim<'s>,
}

/// Reads to the end of the file.
pub(super) fn read_ending<'s>(
    lexer: &mut Lexer<'s>,
    limits: &Limits,
) -> Result<Ending<'s>, Misread> {
    let mut ending = Ending {
        locations: Vec::new(),
        filter: None,
        quantifier: Quantifier::ForAll,
        condition: Claim::Constant(true),
    };
    loop {
        match lexer.peek()? {
            (Token::Name("locations"), _) => {
                lexer.next()?;
                read_locations(lexer, &mut ending.locations)?;
            }
            (Token::Name("filter"), span) => {
                lexer.next()?;
                if ending.filter.is_some() {
                    return Err(lexer.unexpected(span, "one filter"));
                }
                ending.filter = Some(claim(lexer, limits)?);
            }
            _ => break,
        }
    }
    let begin = *lexer;
    match lexer.next()? {
        (Token::End, _) => return Ok(ending),
        (Token::Name("exists" | "final"), _) => {
            ending.quantifier = Quantifier::Exists;
            ending.condition = claim(lexer, limits)?;
        }
        (Token::Name("forall"), _) => ending.condition = claim(lexer, limits)?,
        (Token::Mark("~"), _) => {
            let (token, span) = lexer.next()?;
            if token != Token::Name("exists") {
                return Err(lexer.unexpected(span, "`exists` after `~`"));
            }
            ending.quantifier = Quantifier::NotExists;
            ending.condition = claim(lexer, limits)?;
        }
        (Token::Mark("("), _) => {
            *lexer = begin;
            ending.quantifier = Quantifier::Exists;
            ending.condition = claim(lexer, limits)?;
        }
        (Token::Name("observed" | "Observed"), _) => {
            ending.quantifier = Quantifier::Observed;
            ending.condition = observed(lexer, limits)?;
        }
        (_, span) => return Err(lexer.unexpected(span, "`exists`, `~exists` or `forall`")),
    }
    lexer.take_mark(";")?;
    match lexer.next()? {
        (Token::End, _) => Ok(ending),
        (_, span) => Err(lexer.unexpected(span, "`/\\`, `\\/`, `=>` or the end of the file")),
    }
}

/// `[x; 0:EAX;]`. A type after a location is for other tools.
fn read_locations<'s>(
    lexer: &mut Lexer<'s>,
    locations: &mut Vec<Target<'s>>,
) -> Result<(), Misread> {
    lexer.expect_mark("[", "`[` and locations")?;
    loop {
        if lexer.take_mark("]")? {
            return Ok(());
        }
        locations.push(target(lexer)?);
        if matches!(lexer.peek()?.0, Token::Name(_)) {
            lexer.next()?;
        }
        while lexer.take_mark("*")? {}
        match lexer.next()? {
            (Token::Mark(";"), _) => {}
            (Token::Mark("]"), _) => return Ok(()),
            (_, span) => return Err(lexer.unexpected(span, "`;` or `]`")),
        }
    }
}

/// `observed x=1; y=1; and x=2; y=2;`, as litmus7's logs have it, or a proposition.
fn observed<'s>(lexer: &mut Lexer<'s>, limits: &Limits) -> Result<Claim<'s>, Misread> {
    let mut states = Vec::new();
    loop {
        let mut state = Vec::new();
        loop {
            match lexer.peek()?.0 {
                Token::Name("and") | Token::End => break,
                _ => {}
            }
            let part = claim(lexer, limits)?;
            let is_last = !lexer.take_mark(";")?;
            state.push(part);
            if is_last {
                break;
            }
        }
        states.push(match state.len() {
            1 => state.swap_remove(0),
            _ => Claim::And(state),
        });
        match lexer.peek()?.0 {
            Token::Name("and") => lexer.next()?,
            _ => break,
        };
    }
    Ok(match states.len() {
        1 => states.swap_remove(0),
        _ => Claim::Or(states),
    })
}

fn claim<'s>(lexer: &mut Lexer<'s>, limits: &Limits) -> Result<Claim<'s>, Misread> {
    let deepest = limits.nesting.min(Limits::DEEPEST_NESTING);
    ClaimReader { lexer, deepest }.disjunction(0)
}

struct ClaimReader<'l, 's> {
    lexer: &'l mut Lexer<'s>,
    deepest: usize,
}

impl<'s> ClaimReader<'_, 's> {
    fn disjunction(&mut self, depth: usize) -> Result<Claim<'s>, Misread> {
        let mut parts = vec![self.conjunction(depth)?];
        while self.lexer.take_mark("\\/")? {
            parts.push(self.conjunction(depth)?);
        }
        Ok(match parts.len() {
            1 => parts.swap_remove(0),
            _ => Claim::Or(parts),
        })
    }

    fn conjunction(&mut self, depth: usize) -> Result<Claim<'s>, Misread> {
        let mut parts = vec![self.implication(depth)?];
        while self.lexer.take_mark("/\\")? {
            parts.push(self.implication(depth)?);
        }
        Ok(match parts.len() {
            1 => parts.swap_remove(0),
            _ => Claim::And(parts),
        })
    }

    fn implication(&mut self, depth: usize) -> Result<Claim<'s>, Misread> {
        let left = self.negation(depth)?;
        if !self.lexer.take_mark("=>")? {
            return Ok(left);
        }
        let right = self.implication(self.deeper(depth)?)?;
        Ok(Claim::Implies(Box::new(left), Box::new(right)))
    }

    fn negation(&mut self, depth: usize) -> Result<Claim<'s>, Misread> {
        let before = *self.lexer;
        match self.lexer.next()? {
            (Token::Name("not") | Token::Mark("~"), _) => {
                let negated = self.negation(self.deeper(depth)?)?;
                Ok(Claim::Not(Box::new(negated)))
            }
            (Token::Name("true"), _) => Ok(Claim::Constant(true)),
            (Token::Name("false"), _) => Ok(Claim::Constant(false)),
            (Token::Mark("("), _) => {
                let inner = self.disjunction(self.deeper(depth)?)?;
                let wanted = "`/\\`, `\\/`, `=>` or `)`";
                self.lexer.expect_mark(")", wanted)?;
                Ok(inner)
            }
            (Token::Name("fault" | "Fault"), span) => Err(Problem::FaultClaim.at(span)),
            _ => {
                *self.lexer = before;
                self.comparison()
            }
        }
    }

    fn deeper(&self, depth: usize) -> Result<usize, Misread> {
        if depth == self.deepest {
            let problem = Problem::limit("nested parts of a proposition", self.deepest);
            return Err(problem.at(self.lexer.here()));
        }
        Ok(depth + 1)
    }

    fn comparison(&mut self) -> Result<Claim<'s>, Misread> {
        let lexer = &mut *self.lexer;
        let left = target(lexer)?;
        let is_equal = match lexer.next()? {
            (Token::Mark("=" | "=="), _) => true,
            (Token::Mark("!=" | "<>"), _) => false,
            (_, span) => return Err(lexer.unexpected(span, "`=` or `!=`")),
        };
        let mut ahead = *lexer;
        let right = match ahead.next()? {
            (Token::Mark("{"), _) => {
                *lexer = ahead;
                Compared::Elements(values(lexer, usize::MAX)?)
            }
            (Token::Mark("*"), _) => {
                *lexer = ahead;
                Compared::Content(target(lexer)?)
            }
            (Token::Mark("[") | Token::Percent(_), _) => Compared::Content(target(lexer)?),
            (Token::Name(_) | Token::Number(_), _)
                if matches!(ahead.next(), Ok((Token::Mark(":"), _))) =>
            {
                Compared::Content(target(lexer)?)
            }
            _ => Compared::Value(value(lexer)?),
        };
        let claim = Claim::Equal(left, right);
        Ok(match is_equal {
            true => claim,
            false => Claim::Not(Box::new(claim)),
        })
    }
}
