//! Whether a proposition can still hold when only a part of the final state is known.

use crate::test::{Proposition, Term, Test};

/// The contents of [`Test::observables`], as far as they are known.
pub(super) type PartialState = Vec<Option<u64>>;

/// Whether a proposition holds: `None` if that depends on what is not known.
fn holds(proposition: &Proposition, state: &[Option<u64>]) -> Option<bool> {
    let content = |term: &Term| match term {
        Term::Observed(index) => state[*index],
        Term::Constant(value) => Some(*value),
    };
    match proposition {
        Proposition::Constant(value) => Some(*value),
        Proposition::Equal(left, right) => Some(content(left)? == content(right)?),
        Proposition::Not(inner) => holds(inner, state).map(|inner| !inner),
        Proposition::And(parts) => all(parts.iter().map(|part| holds(part, state))),
        Proposition::Or(parts) => {
            let none = all(parts
                .iter()
                .map(|part| holds(part, state).map(|part| !part)));
            none.map(|none| !none)
        }
        Proposition::Implies(left, right) => match (holds(left, state), holds(right, state)) {
            (Some(false), _) | (_, Some(true)) => Some(true),
            (Some(true), Some(false)) => Some(false),
            _ => None,
        },
    }
}

fn all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = Some(true);
    for part in parts {
        match part {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = None,
        }
    }
    known
}

/// Whether a final state that agrees with what is known may be one that is looked for.
pub(super) fn may_hold(test: &Test, wanted: &Proposition, state: &[Option<u64>]) -> bool {
    let filter = test.filter.as_ref();
    holds(wanted, state) != Some(false)
        && filter.is_none_or(|filter| holds(filter, state) != Some(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_memory::Random;

    fn random(random: &mut Random, depth: u64) -> Proposition {
        let term = |random: &mut Random| match random.below(4) {
            0 => Term::Constant(random.below(2)),
            index => Term::Observed(index as usize - 1),
        };
        let kinds = if depth == 0 { 2 } else { 6 };
        let inner = |r: &mut Random| self::random(r, depth - 1);
        match random.below(kinds) {
            0 => Proposition::Constant(random.below(2) == 0),
            1 => Proposition::Equal(term(random), term(random)),
            2 => Proposition::Not(Box::new(inner(random))),
            3 => Proposition::And((0..random.below(3)).map(|_| inner(random)).collect()),
            4 => Proposition::Or((0..random.below(3)).map(|_| inner(random)).collect()),
            _ => Proposition::Implies(Box::new(inner(random)), Box::new(inner(random))),
        }
    }

    #[test]
    fn what_is_said_of_a_part_is_true_of_every_whole() {
        let mut source = Random::new(11);
        let (mut decided, mut open) = (0, 0);
        for _ in 0..5_000 {
            let proposition = random(&mut source, 3);
            let known: PartialState = (0..3)
                .map(|_| (source.below(2) == 0).then(|| source.below(2)))
                .collect();
            let said = holds(&proposition, &known);
            for whole in 0..8u64 {
                let state = [whole & 1, whole >> 1 & 1, whole >> 2];
                let agrees = known
                    .iter()
                    .zip(state)
                    .all(|(known, is)| known.is_none_or(|k| k == is));
                if agrees {
                    assert!(said.is_none_or(|said| said == proposition.holds(&state)));
                }
            }
            match said {
                Some(_) => decided += 1,
                None => open += 1,
            }
        }
        assert!(decided > 500 && open > 500, "{decided} {open}");
    }
}
