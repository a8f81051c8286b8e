//! The observables of a final state, in the order in which they are printed, and the condition.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rustc_hash::FxHashSet;

use crate::code::{Part, Width};
use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::tree::{Claim, Compared, File, MemoryRef, RegisterRef, Target, Value};
use crate::test::{CellId, Observable, Proposition, Quantifier, Term};
use fencepost_diagnostics::quoted;

use super::memory::MemoryMap;
use super::{InitialRegisters, RegisterNames, ThreadTable};

/// The result.
pub(super) struct Observed {
    pub printed: Vec<Observable>,
    pub by_filter: Vec<Observable>,
    pub filter: Option<Proposition>,
    pub condition: Proposition,
    pub condition_text: String,
}

/// An observable, in herd7's order: registers by thread and by their index in the architecture,
/// then locations by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key<'s> {
    Register {
        thread_number: u32,
        /// Symbolic registers that are printed as such come last.
        rank: (bool, u8),
        name: String,
    },
    Cell(&'s str, Option<u64>),
}

/// Finds everything that is observed, and resolves the filter and the condition.
pub(super) fn observe<'s>(
    file: &File<'s>,
    memory: &MemoryMap<'s>,
    threads: &mut ThreadTable<'s>,
    initial: &InitialRegisters,
) -> Result<Observed, SpannedError> {
    // All registers must be known before symbolic ones get their names.
    let mut targets = Vec::new();
    targets.extend(&file.locations);
    collect(&file.condition, &mut targets);
    let printed = targets.len();
    if let Some(filter) = &file.filter {
        collect(filter, &mut targets);
    }
    let (shown, asked) = targets.split_at(file.locations.len());
    for target in asked {
        if let Target::Register(reference) = target {
            threads.resolve_observed(reference)?;
        }
    }
    for target in shown {
        if let Target::Register(reference) = target {
            threads.resolve(reference)?;
        }
    }
    let names = threads.names();
    let mut observer = Observer {
        file,
        memory,
        threads,
        initial,
        names: &names,
        numbers: BTreeMap::new(),
    };
    let observables = observer.number(&targets[..printed], &targets[printed..])?;
    let filter = match &file.filter {
        Some(filter) => Some(observer.proposition(filter)?),
        None => None,
    };
    let condition = observer.proposition(&file.condition)?;
    let mut text = String::new();
    observer.write(&file.condition, Around::Nothing, &mut text)?;
    let quantifier = match file.quantifier {
        Quantifier::Exists | Quantifier::Observed => "exists",
        Quantifier::NotExists => "~exists",
        Quantifier::ForAll => "forall",
    };
    Ok(Observed {
        printed: observables.0,
        by_filter: observables.1,
        filter,
        condition,
        condition_text: format!("{quantifier} ({text})"),
    })
}

fn collect<'f, 's>(claim: &'f Claim<'s>, targets: &mut Vec<&'f Target<'s>>) {
    match claim {
        Claim::Constant(_) => {}
        Claim::Equal(left, right) => {
            targets.push(left);
            if let Compared::Content(right) = right {
                targets.push(right);
            }
        }
        Claim::Not(inner) => collect(inner, targets),
        Claim::And(parts) | Claim::Or(parts) => {
            for part in parts {
                collect(part, targets);
            }
        }
        Claim::Implies(left, right) => {
            collect(left, targets);
            collect(right, targets);
        }
    }
}

/// The operator around a part of a condition, for parentheses.
#[derive(Clone, Copy, PartialEq)]
enum Around {
    Nothing,
    And,
    Or,
    LeftOfImplies,
    RightOfImplies,
}

struct Observer<'t, 's> {
    file: &'t File<'s>,
    memory: &'t MemoryMap<'s>,
    threads: &'t mut ThreadTable<'s>,
    initial: &'t InitialRegisters,
    names: &'t [RegisterNames<'s>],
    numbers: BTreeMap<Key<'s>, (usize, Width)>,
}

impl<'s> Observer<'_, 's> {
    /// The observables of `printed`, and of `others` those that are not among them.
    fn number(
        &mut self,
        printed: &[&Target<'s>],
        others: &[&Target<'s>],
    ) -> Result<(Vec<Observable>, Vec<Observable>), SpannedError> {
        let mut groups = [Vec::new(), Vec::new()];
        let mut count = 0;
        let mut seen = FxHashSet::default();
        for (group, targets) in groups.iter_mut().zip([printed, others]) {
            let mut found: BTreeMap<Key<'s>, Observable> = BTreeMap::new();
            for target in targets {
                // An array that is named several times is visited once.
                if let Target::Memory(reference) = target {
                    if !seen.insert((reference.name, reference.index)) {
                        continue;
                    }
                }
                for (key, observable) in self.observables(target)? {
                    if !self.numbers.contains_key(&key) {
                        found.insert(key, observable);
                    }
                }
            }
            for (key, observable) in found {
                let width = match (&observable, &key) {
                    (Observable::Register { width, .. }, _) => *width,
                    (_, Key::Cell(name, _)) => self.memory.width(name),
                    (Observable::Cell { .. }, Key::Register { .. }) => continue,
                };
                self.numbers.insert(key, (count, width));
                group.push(observable);
                count += 1;
            }
        }
        let [printed, others] = groups;
        Ok((printed, others))
    }

    fn register(
        &mut self,
        reference: &RegisterRef<'s>,
    ) -> Result<(Key<'s>, Observable), SpannedError> {
        let (thread, register) = self.threads.resolve(reference)?;
        let Part::Low(width) = register.part else {
            let found = quoted(reference.name);
            return Err(ParseErrorKind::HighByteObserved { found }.at(reference.span));
        };
        let number = self.threads.files[thread].number(register.which, reference.span)?;
        let names = &self.names[thread];
        let thread_number = self.file.columns[thread].number;
        let name = names.part_name(register.which, register.part);
        let name = format!("{thread_number}:{name}");
        let rank = names.number(register.which);
        let initial = self.initial[thread].get(&number.index());
        let key = Key::Register {
            thread_number,
            rank: (rank.is_none(), rank.unwrap_or(0)),
            name: name.clone(),
        };
        let observable = Observable::Register {
            thread,
            register: number,
            width,
            unsigned: initial.is_some_and(|initial| initial.is_unsigned),
            name,
        };
        Ok((key, observable))
    }

    fn cell(&self, reference: &MemoryRef<'s>) -> Result<(Key<'s>, Observable), SpannedError> {
        let cell: CellId = self.memory.cell(reference)?;
        let name = cell_name(reference);
        let key = Key::Cell(reference.name, reference.index);
        Ok((key, Observable::Cell { cell, name }))
    }

    /// One, or all elements of an array.
    fn observables(
        &mut self,
        target: &Target<'s>,
    ) -> Result<Vec<(Key<'s>, Observable)>, SpannedError> {
        match target {
            Target::Register(reference) => Ok(vec![self.register(reference)?]),
            Target::Memory(reference) => self
                .elements(reference)
                .map(|reference| self.cell(&reference))
                .collect(),
        }
    }

    fn elements(&self, reference: &MemoryRef<'s>) -> impl Iterator<Item = MemoryRef<'s>> + use<'s> {
        let reference = *reference;
        let length = self
            .memory
            .length(&reference)
            .filter(|_| reference.index.is_none());
        (0..length.unwrap_or(1) as u64).map(move |index| MemoryRef {
            index: length.map(|_| index).or(reference.index),
            ..reference
        })
    }

    fn term(&mut self, target: &Target<'s>) -> Result<(usize, Width), SpannedError> {
        let (key, _) = match target {
            Target::Register(reference) => self.register(reference)?,
            Target::Memory(reference) => self.cell(reference)?,
        };
        Ok(self.numbers[&key])
    }

    fn compare_value(
        &mut self,
        target: &Target<'s>,
        value: &Value<'s>,
    ) -> Result<Proposition, SpannedError> {
        let (index, width) = self.term(target)?;
        let content = self.memory.content(value, width)?;
        Ok(Proposition::Equal(
            Term::Observed(index),
            Term::Constant(content),
        ))
    }

    fn compare_contents(
        &mut self,
        left: &Target<'s>,
        right: &Target<'s>,
    ) -> Result<Proposition, SpannedError> {
        let (left, right) = (self.term(left)?, self.term(right)?);
        Ok(Proposition::Equal(
            Term::Observed(left.0),
            Term::Observed(right.0),
        ))
    }

    fn compare_elements(
        &mut self,
        target: &Target<'s>,
        values: &[Value<'s>],
    ) -> Result<Proposition, SpannedError> {
        let reference = self.array(target, values.len())?;
        let mut parts = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let element = Target::Memory(MemoryRef {
                index: Some(index as u64),
                ..reference
            });
            parts.push(self.compare_value(&element, value)?);
        }
        Ok(Proposition::And(parts))
    }

    /// The recursion is as deep as the proposition, so this keeps little on the stack.
    fn proposition(&mut self, claim: &Claim<'s>) -> Result<Proposition, SpannedError> {
        Ok(match claim {
            Claim::Constant(value) => Proposition::Constant(*value),
            Claim::Equal(target, Compared::Value(value)) => self.compare_value(target, value)?,
            Claim::Equal(left, Compared::Content(right)) => self.compare_contents(left, right)?,
            Claim::Equal(target, Compared::Elements(values)) => {
                self.compare_elements(target, values)?
            }
            Claim::Not(inner) => Proposition::Not(Box::new(self.proposition(inner)?)),
            Claim::And(parts) => Proposition::And(self.propositions(parts)?),
            Claim::Or(parts) => Proposition::Or(self.propositions(parts)?),
            Claim::Implies(left, right) => Proposition::Implies(
                Box::new(self.proposition(left)?),
                Box::new(self.proposition(right)?),
            ),
        })
    }

    fn propositions(&mut self, claims: &[Claim<'s>]) -> Result<Vec<Proposition>, SpannedError> {
        let mut propositions = Vec::with_capacity(claims.len());
        for claim in claims {
            propositions.push(self.proposition(claim)?);
        }
        Ok(propositions)
    }

    fn array(&self, target: &Target<'s>, found: usize) -> Result<MemoryRef<'s>, SpannedError> {
        let reference = match target {
            Target::Memory(reference) if reference.index.is_none() => *reference,
            _ => {
                let name = "this".to_owned();
                return Err(ParseErrorKind::NotAnArray { name }.at(target.span()));
            }
        };
        let name = quoted(reference.name);
        match self.memory.length(&reference) {
            None => Err(ParseErrorKind::NotAnArray { name }.at(reference.span)),
            Some(length) if length != found => {
                let kind = ParseErrorKind::WrongCount {
                    name,
                    length,
                    found,
                };
                Err(kind.at(reference.span))
            }
            Some(_) => Ok(reference),
        }
    }

    /// Writes a condition as herd7 prints it.
    fn write(
        &mut self,
        claim: &Claim<'s>,
        around: Around,
        text: &mut String,
    ) -> Result<(), SpannedError> {
        match claim {
            Claim::Constant(value) => _ = write!(text, "{value}"),
            Claim::And(parts) if parts.is_empty() => text.push_str("true"),
            Claim::Or(parts) if parts.is_empty() => text.push_str("false"),
            Claim::Equal(left, right) => {
                self.write_target(left, text)?;
                text.push('=');
                match right {
                    Compared::Value(value) => write_value(value, text),
                    Compared::Content(right) => self.write_target(right, text)?,
                    Compared::Elements(values) => {
                        text.push('{');
                        for (index, value) in values.iter().enumerate() {
                            text.push_str(if index == 0 { "" } else { "," });
                            write_value(value, text);
                        }
                        text.push('}');
                    }
                }
            }
            Claim::Not(inner) => {
                text.push_str("not (");
                self.write(inner, Around::Nothing, text)?;
                text.push(')');
            }
            Claim::And(parts) => {
                let is_apart = matches!(around, Around::LeftOfImplies | Around::RightOfImplies);
                self.write_all(parts, " /\\ ", Around::And, is_apart, text)?;
            }
            Claim::Or(parts) => {
                let is_apart = !matches!(around, Around::Nothing | Around::Or);
                self.write_all(parts, " \\/ ", Around::Or, is_apart, text)?;
            }
            Claim::Implies(left, right) => {
                let is_apart = !matches!(around, Around::Nothing | Around::RightOfImplies);
                text.push_str(if is_apart { "(" } else { "" });
                self.write(left, Around::LeftOfImplies, text)?;
                text.push_str(" => ");
                self.write(right, Around::RightOfImplies, text)?;
                text.push_str(if is_apart { ")" } else { "" });
            }
        }
        Ok(())
    }

    fn write_all(
        &mut self,
        parts: &[Claim<'s>],
        between: &str,
        around: Around,
        is_apart: bool,
        text: &mut String,
    ) -> Result<(), SpannedError> {
        text.push_str(if is_apart { "(" } else { "" });
        for (index, part) in parts.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { between });
            self.write(part, around, text)?;
        }
        text.push_str(if is_apart { ")" } else { "" });
        Ok(())
    }

    fn write_target(&mut self, target: &Target<'s>, text: &mut String) -> Result<(), SpannedError> {
        match target {
            Target::Register(reference) => {
                let (_, observable) = self.register(reference)?;
                if let Observable::Register { name, .. } = observable {
                    text.push_str(&name);
                }
            }
            Target::Memory(reference) => text.push_str(&cell_name(reference)),
        }
        Ok(())
    }
}

fn cell_name(reference: &MemoryRef<'_>) -> String {
    match reference.index {
        Some(index) => format!("{}[{index}]", reference.name),
        None => format!("[{}]", reference.name),
    }
}

fn write_value(value: &Value<'_>, text: &mut String) {
    match value {
        Value::Number(number, _) => _ = write!(text, "{number}"),
        Value::Address(reference) => {
            text.push_str(reference.name);
            if let Some(index) = reference.index {
                _ = write!(text, "[{index}]");
            }
        }
    }
}
