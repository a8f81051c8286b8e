//! The end of a file: `locations`, `filter`, the condition and `with`.
//!
//! Implication binds more tightly than conjunction, and that more tightly than disjunction, as in
//! herd7's grammar: `a /\ b => c` is `a /\ (b => c)`.

use crate::limits::Limits;
use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::test::Quantifier;

use super::lexer::{Lexer, Token};
use super::target::{target, value, values};
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
) -> Result<Ending<'s>, SpannedError> {
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
        (Token::Name("with"), _) => {
            read_claims_of_models(lexer)?;
            Ok(ending)
        }
        (_, span) => Err(lexer.unexpected(span, "`/\\`, `\\/`, `=>` or the end of the file")),
    }
}

/// `tso: ~exists; sc: forall`: what the author claims of the condition under other models. As herd7
/// does, the quantifier of the condition is taken under every model, and these are not used.
fn read_claims_of_models(lexer: &mut Lexer<'_>) -> Result<(), SpannedError> {
    loop {
        match lexer.next()? {
            (Token::Name(_), _) => {}
            (_, span) => return Err(lexer.unexpected(span, "the name of a model after `with`")),
        }
        lexer.expect_mark(":", "`:` after the name of a model")?;
        lexer.take_mark("~")?;
        match lexer.next()? {
            (Token::Name("exists" | "forall"), _) => {}
            (_, span) => return Err(lexer.unexpected(span, "`exists`, `~exists` or `forall`")),
        }
        let is_last = !lexer.take_mark(";")?;
        match lexer.peek()? {
            (Token::End, _) => return Ok(()),
            (_, span) if is_last => {
                return Err(lexer.unexpected(span, "`;` or the end of the file"));
            }
            _ => {}
        }
    }
}

/// `[x; 0:EAX;]`. A type after a location is for other tools.
fn read_locations<'s>(
    lexer: &mut Lexer<'s>,
    locations: &mut Vec<Target<'s>>,
) -> Result<(), SpannedError> {
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
fn observed<'s>(lexer: &mut Lexer<'s>, limits: &Limits) -> Result<Claim<'s>, SpannedError> {
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

fn claim<'s>(lexer: &mut Lexer<'s>, limits: &Limits) -> Result<Claim<'s>, SpannedError> {
    let deepest = limits.nesting.min(Limits::DEEPEST_NESTING);
    let reader = ClaimReader {
        lexer,
        deepest,
        depth: 0,
    };
    reader.read()
}

/// The part of a parenthesized proposition that has been read so far.
#[derive(Default)]
struct Group<'s> {
    /// Parts between `\/`.
    alternatives: Vec<Claim<'s>>,
    /// Parts between `/\`, after the last `\/`.
    conjuncts: Vec<Claim<'s>>,
    /// Parts before `=>`, after the last `/\`.
    premises: Vec<Claim<'s>>,
    /// Negations before the next part.
    negations: usize,
}

/// Reads a proposition without recursion: what is open is kept in groups, not on the stack.
struct ClaimReader<'l, 's> {
    lexer: &'l mut Lexer<'s>,
    deepest: usize,
    /// How many parentheses, negations and implications are around what is read now.
    depth: usize,
}

impl<'s> ClaimReader<'_, 's> {
    fn read(mut self) -> Result<Claim<'s>, SpannedError> {
        let mut around: Vec<Group<'s>> = Vec::new();
        let mut group = Group::default();
        loop {
            let mut part = match self.operand()? {
                Begin::Not => {
                    self.deepen()?;
                    group.negations += 1;
                    continue;
                }
                Begin::Parenthesis => {
                    self.deepen()?;
                    around.push(std::mem::take(&mut group));
                    continue;
                }
                Begin::Claim(claim) => claim,
            };
            loop {
                part = self.negated(&mut group, part);
                if self.lexer.take_mark("=>")? {
                    self.deepen()?;
                    group.premises.push(part);
                    break;
                }
                let conclusion = self.implied(&mut group, part);
                group.conjuncts.push(conclusion);
                if self.lexer.take_mark("/\\")? {
                    break;
                }
                let conjunction = all_or_one(std::mem::take(&mut group.conjuncts), Claim::And);
                group.alternatives.push(conjunction);
                if self.lexer.take_mark("\\/")? {
                    break;
                }
                part = all_or_one(std::mem::take(&mut group.alternatives), Claim::Or);
                let Some(outer) = around.pop() else {
                    return Ok(part);
                };
                let wanted = "`/\\`, `\\/`, `=>` or `)`";
                self.lexer.expect_mark(")", wanted)?;
                self.depth -= 1;
                group = outer;
            }
        }
    }

    fn negated(&mut self, group: &mut Group<'s>, mut part: Claim<'s>) -> Claim<'s> {
        self.depth -= group.negations;
        for _ in 0..std::mem::take(&mut group.negations) {
            part = Claim::Not(Box::new(part));
        }
        part
    }

    fn implied(&mut self, group: &mut Group<'s>, mut conclusion: Claim<'s>) -> Claim<'s> {
        self.depth -= group.premises.len();
        while let Some(premise) = group.premises.pop() {
            conclusion = Claim::Implies(Box::new(premise), Box::new(conclusion));
        }
        conclusion
    }

    fn deepen(&mut self) -> Result<(), SpannedError> {
        if self.depth == self.deepest {
            let kind = ParseErrorKind::limit("nested parts of a proposition", self.deepest);
            return Err(kind.at(self.lexer.here()));
        }
        self.depth += 1;
        Ok(())
    }

    fn operand(&mut self) -> Result<Begin<'s>, SpannedError> {
        let before = *self.lexer;
        Ok(match self.lexer.next()? {
            (Token::Name("not") | Token::Mark("~"), _) => Begin::Not,
            (Token::Mark("("), _) => Begin::Parenthesis,
            (Token::Name("true"), _) => Begin::Claim(Claim::Constant(true)),
            (Token::Name("false"), _) => Begin::Claim(Claim::Constant(false)),
            (Token::Name("fault" | "Fault"), span) => {
                return Err(ParseErrorKind::FaultClaim.at(span));
            }
            _ => {
                *self.lexer = before;
                Begin::Claim(self.comparison()?)
            }
        })
    }

    fn comparison(&mut self) -> Result<Claim<'s>, SpannedError> {
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

/// The start of a part of a proposition.
enum Begin<'s> {
    Not,
    Parenthesis,
    Claim(Claim<'s>),
}

fn all_or_one<'s>(
    mut parts: Vec<Claim<'s>>,
    all: impl FnOnce(Vec<Claim<'s>>) -> Claim<'s>,
) -> Claim<'s> {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => all(parts),
    }
}
